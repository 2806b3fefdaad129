//! Instruction counts by valgrind's callgrind, which are exactly repeatable for the same binary.

use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

/// Counts of a part of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Instructions executed.
    pub instructions: u64,
    /// Reads and writes that miss a first-level data cache of [`D1`].
    pub d1_misses: u64,
    /// Conditional and indirect branches that callgrind's predictor mispredicts.
    pub mispredictions: u64,
}

/// Whether valgrind is installed.
pub fn available() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Whether instructions `of` something cannot be counted; says so.
pub fn cannot_count(of: &str) -> bool {
    let missing = !available();
    if missing {
        println!("skipped: instructions{of}, because valgrind is not installed");
    }
    missing
}

/// Counts several programs in parallel, which does not change the counts; results are in order of `programs`.
pub fn count_in_parallel<T: Sync, C: Send>(programs: &[T], count: impl Fn(&T) -> C + Sync) -> Vec<C> {
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(programs.len())));
    let work = || {
        loop {
            let index = next.fetch_add(1, Relaxed);
            let Some(program) = programs.get(index) else { break };
            let counted = count(program);
            results.lock().expect("nobody panics").push((index, counted));
        }
    };
    let workers = thread::available_parallelism().map_or(1, usize::from).min(programs.len());
    thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
    let mut results = results.into_inner().expect("nobody panics");
    results.sort_unstable_by_key(|&(index, _)| index);
    results.into_iter().map(|(_, counted)| counted).collect()
}

/// Runs this program with `args`, and returns its counts within functions that match `pattern`, and its output.
/// `cache_and_branches` doubles the time. `None` if valgrind or the program fails.
pub fn collected_in(pattern: &str, args: &[&str], cache_and_branches: bool) -> Option<(Counts, String)> {
    let program = std::env::current_exe().ok()?;
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(format!("--toggle-collect={pattern}"));
    if cache_and_branches {
        valgrind.args(["--cache-sim=yes", "--branch-sim=yes", I1, D1, LL]);
    }
    let output = valgrind.arg(program).args(args).output().ok()?;
    let counts = parsed(&String::from_utf8_lossy(&output.stderr))?;
    Some((counts, String::from_utf8(output.stdout).ok()?))
}

/// Parses callgrind's report: a line with the event names, and a line with their counts.
fn parsed(report: &str) -> Option<Counts> {
    let words = |label: &str| {
        let line = report.lines().find(|line| line.contains(label))?;
        Some(line.split_once(" : ")?.1.split_whitespace().collect::<Vec<_>>())
    };
    let (names, values) = (words("Events")?, words("Collected")?);
    let sum = |wanted: &[&str]| -> u64 {
        let pairs = names.iter().zip(&values).filter(|(name, _)| wanted.contains(name));
        pairs.filter_map(|(_, value)| value.parse::<u64>().ok()).sum()
    };
    let instructions = sum(&["Ir"]);
    let counts = Counts { instructions, d1_misses: sum(&["D1mr", "D1mw"]), mispredictions: sum(&["Bcm", "Bim"]) };
    (instructions > 0).then_some(counts)
}

/// Fixed cache sizes, independent of the machine: 32 KiB, 8-way for instructions and data; 8 MiB last level.
const I1: &str = "--I1=32768,8,64";
const D1: &str = "--D1=32768,8,64";
const LL: &str = "--LL=8388608,16,64";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_by_the_names_of_its_events() {
        let report = "==7== Events    : Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw Bc Bcm Bi Bim\n\
                      ==7== Collected : 1000 200 100 1 20 3 0 2 0 90 8 7 5\n";
        assert_eq!(parsed(report), Some(Counts { instructions: 1000, d1_misses: 23, mispredictions: 13 }));
        let report = "==7== Events    : Ir\n==7== Collected : 1000\n";
        assert_eq!(parsed(report), Some(Counts { instructions: 1000, ..Counts::default() }));
        assert_eq!(parsed("==7== Events    : Ir\n==7== Collected : 0\n"), None, "the pattern fits nothing");
    }
}
