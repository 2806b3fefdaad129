//! Instructions by valgrind's callgrind: repeatable to the digit for the same binary.

use crate::case::Case;
use std::process::Command;

/// Whether valgrind can be run.
pub fn available() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|o| o.status.success())
}

/// Instructions per packet: the difference of a longer and a shorter run, so that start-up cancels out.
pub fn instructions_per_packet(case: &Case) -> Option<f64> {
    let (short, long) = (count(case, SHORT)?, count(case, LONG)?);
    Some((long.instructions - short.instructions) as f64 / (long.packets - short.packets) as f64)
}

struct Count {
    instructions: u64,
    packets: u64,
}

fn count(case: &Case, share: f64) -> Option<Count> {
    let run = run(&[], &["--work", case.name, &share.to_string()])?;
    let packets = run.stdout.trim().parse().ok()?;
    Some(Count { instructions: run.collected, packets })
}

/// Instructions within functions called like `pattern`, in a run of this program with `args`.
pub fn collected_in(pattern: &str, args: &[&str]) -> Option<u64> {
    run(&[&format!("--toggle-collect={pattern}")], args).map(|run| run.collected)
}

struct Run {
    stdout: String,
    collected: u64,
}

fn run(options: &[&str], args: &[&str]) -> Option<Run> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .args(options)
        .arg(program)
        .args(args)
        .output()
        .ok()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find(|line| line.contains("Collected"))?;
    let collected = line.rsplit(' ').next()?.parse().ok()?;
    Some(Run { stdout: String::from_utf8(output.stdout).ok()?, collected })
}

/// Shares of a case's duration that are run under callgrind.
const SHORT: f64 = 0.01;
const LONG: f64 = 0.03;
