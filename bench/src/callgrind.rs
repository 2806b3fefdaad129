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
    let program = std::env::current_exe().ok()?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(program)
        .args(["--work", case.name, &share.to_string()])
        .output()
        .ok()?;
    let packets = std::str::from_utf8(&output.stdout).ok()?.trim().parse().ok()?;
    let report = String::from_utf8_lossy(&output.stderr);
    let line = report.lines().find(|line| line.contains("Collected"))?;
    let instructions = line.rsplit(' ').next()?.parse().ok()?;
    Some(Count { instructions, packets })
}

/// Shares of a case's duration that are run under callgrind.
const SHORT: f64 = 0.01;
const LONG: f64 = 0.03;
