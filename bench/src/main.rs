//! Measures the simulator on fixed set-ups: `sojourn-bench [CASE…] [--once CASE DURATION]`.
//!
//! Without arguments every case runs in a process of its own, so that peak memory is the case's own, and a
//! table is printed: bottleneck packets, packets per CPU second, nanoseconds per packet, events per packet,
//! allocations after warm-up, peak memory, and, where valgrind is installed, instructions per packet as the
//! difference of two runs of different length. CPU time is noisy on shared machines; instruction counts are not.

mod alloc;
mod callgrind;
mod case;

use case::{CASES, Case, Measured};
use std::process::{Command, ExitCode};

#[global_allocator]
static ALLOCATOR: alloc::Counting = alloc::Counting;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--once") => once(&args[1..]),
        Some("--work") => work(&args[1..]),
        _ => table(&args),
    }
}

/// Runs one case and prints its measurements, for the table's parent process.
fn once(args: &[String]) -> ExitCode {
    let Some(case) = args.first().and_then(|name| Case::find(name)) else { return usage() };
    println!("{}", case.measure().encode());
    ExitCode::SUCCESS
}

/// Runs one case for a share of its duration and prints its packets, for counting instructions.
fn work(args: &[String]) -> ExitCode {
    let (Some(case), Some(share)) =
        (args.first().and_then(|n| Case::find(n)), args.get(1).and_then(|s| s.parse().ok()))
    else {
        return usage();
    };
    println!("{}", case.packets(share));
    ExitCode::SUCCESS
}

fn table(names: &[String]) -> ExitCode {
    let chosen: Vec<&Case> = CASES.iter().filter(|c| names.is_empty() || names.iter().any(|n| n == c.name)).collect();
    if chosen.is_empty() {
        return usage();
    }
    let instructions = callgrind::available();
    if !instructions {
        println!("skipped: instructions per packet, because valgrind is not installed");
    }
    println!(
        "{:<4} {:<44} {:>10} {:>9} {:>7} {:>8} {:>8} {:>8} {:>11}",
        "case", "set-up", "packets", "Mpkt/cpu s", "ns/pkt", "events", "allocs", "peak MB", "instr/pkt"
    );
    for case in chosen {
        let Some(measured) = in_own_process(case) else {
            eprintln!("case {} did not finish", case.name);
            return ExitCode::FAILURE;
        };
        let counted = if instructions { callgrind::instructions_per_packet(case) } else { None };
        print_row(case, &measured, counted);
    }
    ExitCode::SUCCESS
}

fn print_row(case: &Case, m: &Measured, instructions: Option<f64>) {
    println!(
        "{:<4} {:<44} {:>10} {:>10.2} {:>7.0} {:>8.2} {:>8} {:>8.1} {:>11}",
        case.name,
        case.set_up,
        m.packets,
        m.packets as f64 / m.cpu_s / 1e6,
        m.cpu_s * 1e9 / m.packets as f64,
        m.events as f64 / m.packets as f64,
        m.allocations,
        m.peak_bytes as f64 / 1e6,
        instructions.map_or("-".to_string(), |n| format!("{n:.0}")),
    );
}

fn in_own_process(case: &Case) -> Option<Measured> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(["--once", case.name]).output().ok()?;
    Measured::decode(std::str::from_utf8(&output.stdout).ok()?.trim())
}

fn usage() -> ExitCode {
    let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
    eprintln!("usage: sojourn-bench [CASE…]; cases: {}", names.join(", "));
    ExitCode::from(2)
}
