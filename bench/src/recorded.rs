//! Recorded costs of the cases, in `bench/engine.txt` and, derived from it, `docs/data/cost-engine.csv`; and the check
//! for regressions.

use crate::callgrind;
use crate::case::{CASES, Case, CaseCounts};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Cost of a case per packet of its steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Packets in the counted span; the same in every build with the same results.
    pub packets: u64,
    /// Instructions, first-level data cache misses and mispredicted branches per packet.
    pub per_packet: [f64; 3],
}

impl Cost {
    /// Cost from the counts of a case.
    pub fn of(counted: &CaseCounts) -> Self {
        let callgrind::Counts { instructions, d1_misses, mispredictions } = counted.counts;
        let per_packet = [instructions, d1_misses, mispredictions].map(|n| n as f64 / counted.packets as f64);
        Self { packets: counted.packets, per_packet }
    }
}

/// Costs by build and case.
type Table = BTreeMap<(String, String), Cost>;

/// Compares `cases` with the records of this build, and returns whether no case has become more expensive.
pub fn check(cases: &[&Case]) -> bool {
    if callgrind::cannot_count(" of the engine") {
        return true;
    }
    let table = match read(&file()) {
        Ok(table) => table,
        Err(error) => {
            eprintln!("{}: {error}", file().display());
            return false;
        }
    };
    if !table.keys().any(|(build, _)| build == BUILD) {
        println!(
            "skipped: instructions of the engine, because nothing is recorded of {BUILD} (make bench-record does)"
        );
        return true;
    }
    let found = count(cases);
    println!("{:<8} {:>9} {:>9} {:>8}", "case", "recorded", "now", "change");
    let verdicts =
        found.iter().map(|(case, cost)| (case.name, CostComparison::of(table.get(&key(case)), cost.as_ref())));
    let verdicts: Vec<_> = verdicts.collect();
    verdicts.iter().for_each(|(case, verdict)| println!("{}", verdict.line(case)));
    verdicts.iter().all(|(_, verdict)| verdict.is_good())
}

/// Counts `cases`, updates the records of this build, and writes the CSV file.
pub fn record(cases: &[&Case]) -> io::Result<()> {
    if callgrind::cannot_count(" of the engine") {
        return Ok(());
    }
    let mut table = read(&file())?;
    for (case, cost) in count(cases) {
        let cost = cost.ok_or_else(|| io::Error::other(format!("case {} did not run under callgrind", case.name)))?;
        table.insert(key(case), cost);
    }
    // Remove cases that no longer exist.
    table.retain(|(_, case), _| Case::find(case).is_some());
    fs::write(file(), format!("{HEADER}{}", lines(&table)))?;
    // The CSV file is made from the rounded values of engine.txt: 1923.498 is 1923.50 there and 1924 in the CSV file.
    let table = read(&file())?;
    fs::write(csv_file(), csv(&table, BUILD))
}

/// Comparison of a case or a qdisc with its record.
#[derive(Debug, PartialEq)]
pub enum CostComparison {
    /// Recorded and current instructions per packet.
    Compared(f64, f64),
    /// The runs differ, so the costs cannot be compared: recorded and current packets.
    RunsDiffer(u64, u64),
    /// There is no record.
    NotRecorded,
    /// It did not run under callgrind.
    DidNotRun,
}

impl CostComparison {
    fn of(recorded: Option<&Cost>, now: Option<&Cost>) -> Self {
        match (recorded, now) {
            (_, None) => Self::DidNotRun,
            (None, _) => Self::NotRecorded,
            (Some(recorded), Some(now)) if recorded.packets != now.packets => {
                Self::RunsDiffer(recorded.packets, now.packets)
            }
            (Some(recorded), Some(now)) => Self::of_instructions(Some(recorded.per_packet[0]), Some(now.per_packet[0])),
        }
    }

    /// Compares instructions alone.
    pub fn of_instructions(recorded: Option<f64>, now: Option<f64>) -> Self {
        match (recorded, now) {
            (_, None) => Self::DidNotRun,
            (None, _) => Self::NotRecorded,
            (Some(recorded), Some(now)) => Self::Compared(recorded, now),
        }
    }

    /// Whether it costs at most 2 % more.
    pub fn is_good(&self) -> bool {
        match self {
            Self::Compared(recorded, now) => now / recorded <= MAX_RATIO,
            _ => false,
        }
    }

    /// The line that the check prints of `case`.
    pub fn line(&self, case: &str) -> String {
        match self {
            Self::Compared(recorded, now) => {
                let change = 100.0 * (now / recorded - 1.0);
                let verdict = if self.is_good() { "" } else { "  costs more" };
                format!("{case:<8} {recorded:>9.1} {now:>9.1} {change:>+7.2}%{verdict}")
            }
            Self::RunsDiffer(recorded, now) => {
                format!("{case:<8} is another run: {now} packets, not {recorded}; record it again (make bench-record)")
            }
            Self::NotRecorded => format!("{case:<8} is not recorded (make bench-record)"),
            Self::DidNotRun => format!("{case:<8} did not run under callgrind"),
        }
    }
}

/// Counts the cases, in order of the table.
fn count<'a>(cases: &[&'a Case]) -> Vec<(&'a Case, Option<Cost>)> {
    let mut cases = cases.to_vec();
    cases.sort_by_key(|case| CASES.iter().position(|known| known.name == case.name));
    let costs = callgrind::count_in_parallel(&cases, |case| case.count(true).map(|counted| Cost::of(&counted)));
    cases.into_iter().zip(costs).collect()
}

fn key(case: &Case) -> (String, String) {
    (BUILD.to_string(), case.name.to_string())
}

fn read(path: &Path) -> io::Result<Table> {
    let text = fs::read_to_string(path)?;
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| parsed(line).ok_or_else(|| io::Error::other(format!("not a line of the table: {line}")))).collect()
}

fn parsed(line: &str) -> Option<((String, String), Cost)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [build, case, packets, instructions, misses, mispredictions] = words[..] else { return None };
    let per_packet = [instructions.parse().ok()?, misses.parse().ok()?, mispredictions.parse().ok()?];
    Some(((build.into(), case.into()), Cost { packets: packets.parse().ok()?, per_packet }))
}

fn lines(table: &Table) -> String {
    let line = |((build, case), cost): (&(String, String), &Cost)| {
        let [instructions, misses, mispredictions] = cost.per_packet;
        format!("{build} {case} {} {instructions:.2} {misses:.3} {mispredictions:.3}\n", cost.packets)
    };
    table.iter().map(line).collect()
}

/// The costs of `build` for docs/cost.md as CSV, in the order of the cases.
fn csv(table: &Table, build: &str) -> String {
    let head = "case,set_up,instructions,d1_misses,mispredictions,build\n".to_string();
    let rows = CASES.iter().filter_map(|case| {
        let [instructions, misses, mispredictions] = table.get(&(build.into(), case.name.into()))?.per_packet;
        let set_up = case.set_up;
        Some(format!("{},\"{set_up}\",{instructions:.0},{misses:.1},{mispredictions:.1},{build}\n", case.name))
    });
    rows.fold(head, |text, row| text + &row)
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("engine.txt")
}

fn csv_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/data/cost-engine.csv")
}

/// Compiler, processor, and differences from the release profile.
pub const BUILD: &str = env!("SOJOURN_BUILD");

/// Maximum ratio of instructions to the record.
const MAX_RATIO: f64 = 1.02;

const HEADER: &str = "\
# What the engine's cases cost per packet, by build: make bench-check compares, make bench-record writes it anew.
# build case packets instructions d1_misses mispredictions
";

#[cfg(test)]
mod tests {
    use super::*;

    const COST: Cost = Cost { packets: 1000, per_packet: [2000.0, 2.5, 10.25] };

    #[test]
    fn a_case_may_cost_two_in_a_hundred_more() {
        let now = |packets, instructions| Cost { packets, per_packet: [instructions, 9.0, 9.0] };
        for (now, good) in [(now(1000, 1000.0), true), (now(1000, 2040.0), true), (now(1000, 2041.0), false)] {
            let verdict = CostComparison::of(Some(&COST), Some(&now));
            assert_eq!(verdict.is_good(), good, "{verdict:?}");
            assert_eq!(verdict.line("a").contains("costs more"), !good);
        }
        let unlike = CostComparison::of(Some(&COST), Some(&now(1001, 2000.0)));
        assert_eq!((&unlike, unlike.is_good()), (&CostComparison::RunsDiffer(1000, 1001), false));
        assert!(!CostComparison::of(None, Some(&COST)).is_good() && !CostComparison::of(Some(&COST), None).is_good());
    }

    #[test]
    fn the_table_reads_what_it_writes() {
        let table: Table = [(("rustc-1.2.3-x".to_string(), "a".to_string()), COST)].into();
        let text = lines(&table);
        assert_eq!(text.lines().filter_map(parsed).collect::<Table>(), table);
        assert_eq!(parsed("rustc-1.2.3-x a 1000 2000.0"), None);
    }

    /// Every case is recorded, and docs/data has the costs of one build.
    #[test]
    fn the_csv_file_has_the_table() {
        let table = read(&file()).expect("the table is there");
        let builds: Vec<&String> = table.keys().map(|(build, _)| build).collect();
        for build in builds {
            for case in CASES {
                assert!(table.contains_key(&(build.clone(), case.name.into())), "{build}: case {}", case.name);
            }
        }
        let text = fs::read_to_string(csv_file()).expect("the file is there");
        let written = table.keys().any(|(build, _)| csv(&table, build) == text);
        assert!(written, "docs/data/cost-engine.csv is not what make bench-record writes");
    }
}
