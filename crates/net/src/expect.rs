//! Expectations: sentences that a test demands, and what it prints if they do not hold.

use crate::report::{Report, Verdict};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Demands that a sentence about the run of a [`Report`] holds, as `sojourn hunt` reads them:
/// `expect!(report, "p99(delay, call.rtp) <= 30 ms and share(call) >= 30 %")`.
///
/// # Panics
///
/// If it does not hold or cannot be read. The message has both sides' numbers, the seed, the fingerprint of the run, the
/// hash of its decisions, the files written, and a command that repeats the run.
#[macro_export]
macro_rules! expect {
    ($report:expr, $sentence:expr $(,)?) => {
        if let Err(message) = $crate::expectation(&$report, $sentence) {
            panic!("{message}");
        }
    };
}

/// Judges a sentence as [`expect!`](crate::expect) does.
///
/// # Errors
///
/// The message that `expect!` panics with.
pub fn expectation(report: &Report, sentence: &str) -> Result<(), String> {
    let reads_seed = crate::seeds::is_running();
    expectation_with(report, sentence, &TestRunner { command: command(), reads_seed, folder: default_folder() })
}

/// A runner of tests other than cargo.
#[derive(Clone, Debug)]
pub struct TestRunner {
    /// Command that runs the test again.
    pub command: String,
    /// Whether the test takes its seed from `SOJOURN_SEED`.
    pub reads_seed: bool,
    /// Folder for the files of failures, unless `SOJOURN_NET_OUT` names one.
    pub folder: PathBuf,
}

/// [`expectation`] for a test of another runner.
///
/// # Errors
///
/// As [`expectation`].
pub fn expectation_with(report: &Report, sentence: &str, runner: &TestRunner) -> Result<(), String> {
    let verdict = report.judge(sentence).map_err(|error| error.to_string())?;
    crate::seeds::observe(report.seed(), &verdict);
    if verdict.holds { Ok(()) } else { Err(message(report, &verdict, runner)) }
}

fn message(report: &Report, verdict: &Verdict, runner: &TestRunner) -> String {
    let mut out = format!("{}: {:?} does not hold\n", report.name(), verdict.sentence);
    for (text, unit, [left, right]) in &verdict.sides {
        let _ = writeln!(out, "  {text}: {} against {}", number(*left, unit), number(*right, unit));
    }
    let _ = writeln!(
        out,
        "  seed {}, fingerprint {}, decisions {} ({} datagrams)",
        report.seed(),
        report.fingerprint(),
        report.decisions(),
        report.datagrams()
    );
    let folder = std::env::var_os("SOJOURN_NET_OUT").map_or_else(|| runner.folder.clone(), PathBuf::from);
    match report.write(&folder) {
        Ok(log) => {
            let _ = writeln!(out, "  decision log: {0}; without the programs: sojourn net replay {0}", log.display());
        }
        Err(error) => {
            let _ = writeln!(out, "  no decision log: {error}");
        }
    }
    let seed = if runner.reads_seed { format!("SOJOURN_SEED={} ", report.seed()) } else { String::new() };
    let _ = write!(out, "  repeat: {seed}{}", runner.command);
    out
}

/// A number with its unit, in four digits.
fn number(value: f64, unit: &str) -> String {
    if value.is_nan() {
        return "nothing".to_string();
    }
    let digits = if value == 0.0 { 0 } else { (3 - value.abs().log10().floor() as i32).clamp(0, 9) };
    let value = format!("{value:.*}", digits as usize);
    if unit.is_empty() { value } else { format!("{value} {unit}") }
}

/// Folder for the files of failures: beside the test's build, whose folder `deps` has the program; else the system's for
/// temporary files.
fn default_folder() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    let deps = program.ancestors().find(|folder| folder.file_name().is_some_and(|name| name == "deps"));
    let target = deps.and_then(|deps| deps.parent()?.parent()).map(PathBuf::from);
    target.unwrap_or_else(std::env::temp_dir).join("sojourn-net")
}

/// The command that runs this test again: nextest runs each in a process of its own.
fn command() -> String {
    let thread = std::thread::current();
    let test = thread.name().filter(|name| *name != "main").unwrap_or_default();
    let runner = if std::env::var_os("NEXTEST").is_some() { "cargo nextest run" } else { "cargo test" };
    let exactly = if runner == "cargo test" { " -- --exact" } else { "" };
    if test.is_empty() { runner.to_string() } else { format!("{runner} {test}{exactly}") }
}
