//! Instructions of each qdisc under overload: recorded for the scorecard, and compared with the records.

use crate::callgrind;
use crate::cost::{Discipline, Load, disciplines};
use crate::recorded::{BUILD, CostComparison};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Counts every qdisc and writes the table.
pub fn record() -> io::Result<()> {
    if callgrind::cannot_count(" of queue disciplines") {
        return Ok(());
    }
    let mut text = String::from(HEADER);
    for (name, count) in counted() {
        let count = count.ok_or_else(|| io::Error::other(format!("{name} did not run under callgrind")))?;
        text += &line(&name, count);
    }
    fs::write(file(), text)
}

/// Compares every qdisc with the records of this build, and returns whether none has become more expensive.
pub fn check() -> bool {
    if callgrind::cannot_count(" of queue disciplines") {
        return true;
    }
    let text = match fs::read_to_string(file()) {
        Ok(text) => text,
        Err(error) => {
            eprintln!("{}: {error}", file().display());
            return false;
        }
    };
    if !text.lines().any(|line| line.split(',').next() == Some(BUILD)) {
        println!("skipped: instructions of queue disciplines, because nothing is recorded of {BUILD}");
        return true;
    }
    let compared = |(name, now): (String, Option<f64>)| {
        let verdict = CostComparison::of_instructions(recorded(&text, &name), now);
        println!("{}", verdict.line(&name));
        verdict.is_good()
    };
    counted().into_iter().map(compared).fold(true, |all_good, good| all_good & good)
}

/// Every qdisc, and its instructions; `None` if it did not run under callgrind.
fn counted() -> Vec<(String, Option<f64>)> {
    let load = Load::find(LOAD).expect("a load of the table");
    let queues = disciplines();
    let counts = callgrind::count_in_parallel(&queues, |queue| load.instructions(&queue.name));
    queues.into_iter().map(|Discipline { name, .. }| name).zip(counts).collect()
}

/// A line of the table.
fn line(name: &str, instructions: f64) -> String {
    format!("{BUILD},{},{instructions:.0}\n", quoted(name))
}

/// The instructions of a qdisc in the table `text`.
fn recorded(text: &str, name: &str) -> Option<f64> {
    let start = format!("{BUILD},{},", quoted(name));
    text.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
}

/// Quotes a CSV field if it contains a comma.
fn quoted(text: &str) -> String {
    if text.contains(',') { format!("\"{text}\"") } else { text.to_string() }
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../python/sojourn/studies/score/instructions.csv")
}

const HEADER: &str = "build,discipline,instructions\n";

/// 16 flows offer 12.5 Mbit/s to a link of 10 Mbit/s, so the AQM drops.
const LOAD: &str = "overload";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_back_what_it_records() {
        let text = [HEADER.to_string(), line("codel", 226.6), line("htb { a, b }", 900.0)].concat();
        assert_eq!(
            ["codel", "htb { a, b }", "pie"].map(|name| recorded(&text, name)),
            [Some(227.0), Some(900.0), None]
        );
    }
}
