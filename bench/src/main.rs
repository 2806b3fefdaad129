//! Benchmarks of the simulator on fixed cases, and of each qdisc:
//! `sojourn-bench [CASE…] [queues] [DISCIPLINE…]`, or all without arguments.
//!
//! Every case runs in a separate process, so that peak memory is its own. The first table lists bottleneck packets,
//! packets per CPU second, nanoseconds per packet, events per packet, allocations after warm-up, peak memory, and, if
//! valgrind is installed, instructions, first-level data cache misses and mispredicted branches per packet in a span of
//! the steady state. `sojourn-bench --check [CASE…] [queues]` compares the instructions with the recorded ones and fails
//! if a case or a qdisc needs over 2 % more; `sojourn-bench --record [CASE…]` records them (`recorded.rs`), and
//! `--record queues` records those of qdiscs (`instructions.rs`). `sojourn-bench --peers` compares with other
//! simulators (`peers.rs`).
//!
//! The second table has a line per qdisc: bytes of state, and instructions and nanoseconds of an enqueue and a dequeue
//! under each load. CPU time is noisy on shared machines; instruction counts are not.

mod alloc;
mod callgrind;
mod case;
mod cost;
mod instructions;
mod peers;
mod recorded;

use case::{CASES, Case, RunCost};
use cost::{Discipline, LOADS, Load};
use recorded::Cost;
use std::io::Write;
use std::process::{Command, ExitCode};

#[global_allocator]
static ALLOCATOR: alloc::CountingAllocator = alloc::CountingAllocator;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--once") => once(&args[1..]),
        Some("--work") => work(&args[1..]),
        Some("--pairs") => pairs(&args[1..]),
        Some("--check") => check(&args[1..]),
        Some("--record") => record(&args[1..]),
        Some("--peers") => peers::compare(),
        Some("--peer-work") => {
            let number = |i: usize| args.get(i).and_then(|number| number.parse().ok()).unwrap_or(usize::MAX);
            peers::work(number(1), number(2))
        }
        _ => tables(&args),
    }
}

/// Runs one case and prints its measurements, for the table's parent process.
fn once(args: &[String]) -> ExitCode {
    let Some(case) = args.first().and_then(|name| Case::find(name)) else { return usage() };
    println!("{}", case.measure(1.0).encode());
    ExitCode::SUCCESS
}

/// Runs one case to the end of the counted span, under callgrind, and prints the packets in the span.
fn work(args: &[String]) -> ExitCode {
    let Some(case) = args.first().and_then(|name| Case::find(name)) else { return usage() };
    println!("{}", case.work());
    ExitCode::SUCCESS
}

/// Compares cases and qdiscs with their recorded costs.
fn check(args: &[String]) -> ExitCode {
    let (queues, names): (Vec<String>, Vec<String>) = args.iter().cloned().partition(|name| name == QUEUES);
    let Some(cases) = cases(&names) else { return usage() };
    let all = args.is_empty();
    let cases_are_good = !all && names.is_empty() || recorded::check(&cases);
    let queues_are_good = !all && queues.is_empty() || instructions::check();
    if cases_are_good && queues_are_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Records the costs of cases, or of qdiscs.
fn record(args: &[String]) -> ExitCode {
    let recorded = match args {
        [name] if name == QUEUES => instructions::record(),
        names => {
            let Some(cases) = cases(names) else { return usage() };
            recorded::record(&cases)
        }
    };
    match recorded {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Looks up cases by name; all cases if `names` is empty.
fn cases(names: &[String]) -> Option<Vec<&'static Case>> {
    if names.is_empty() {
        return Some(CASES.iter().collect());
    }
    names.iter().map(|name| Case::find(name)).collect()
}

/// Runs the counted pairs of one qdisc under one load, for callgrind.
fn pairs(args: &[String]) -> ExitCode {
    let [aqm, load] = args else { return usage() };
    let Some(load) = Load::find(load) else { return usage() };
    load.count(aqm);
    ExitCode::SUCCESS
}

fn tables(names: &[String]) -> ExitCode {
    let chosen = |name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let cases: Vec<&Case> = CASES.iter().filter(|case| chosen(case.name)).collect();
    let mut queues = cost::disciplines();
    queues.retain(|queue| chosen(QUEUES) || chosen(&queue.name));
    let known = |name: &String| {
        name == QUEUES || Case::find(name).is_some() || cost::disciplines().iter().any(|queue| queue.name == *name)
    };
    if !names.iter().all(known) {
        return usage();
    }
    let instructions = !callgrind::cannot_count("");
    if !cases.is_empty() && !case_table(&cases, instructions) {
        return ExitCode::FAILURE;
    }
    if !queues.is_empty() {
        queue_table(&queues, instructions);
    }
    ExitCode::SUCCESS
}

fn case_table(cases: &[&Case], instructions: bool) -> bool {
    println!(
        "{:<8} {:<44} {:>10} {:>9} {:>7} {:>8} {:>8} {:>8} {:>9} {:>7} {:>7}",
        "case",
        "set-up",
        "packets",
        "Mpkt/cpu s",
        "ns/pkt",
        "events",
        "allocs",
        "peak MB",
        "instr/pkt",
        "D1 miss",
        "mispr."
    );
    for case in cases {
        let Some(measured) = in_own_process(case) else {
            eprintln!("case {} did not finish", case.name);
            return false;
        };
        let counted = if instructions { case.count(true) } else { None };
        print_row(case, &measured, counted.as_ref().map(Cost::of));
    }
    true
}

/// Prints a line per qdisc: state, and instructions and nanoseconds of an enqueue and a dequeue under each load.
fn queue_table(queues: &[Discipline], instructions: bool) {
    print!("{:<22} {:>7}", "", "");
    LOADS.iter().for_each(|load| print!(" {:>14}", load.name));
    print!("\n{:<22} {:>7}", "discipline", "state B");
    LOADS.iter().for_each(|_| print!(" {:>7} {:>6}", "instr", "ns"));
    println!();
    for queue in queues {
        print!("{:<22} {:>7}", queue.name, queue.state_bytes);
        for load in &LOADS {
            let cost = load.measure(&queue.name, 1.0, instructions);
            let counted = cost.instructions.map_or("-".to_string(), |n| format!("{n:.0}"));
            print!(" {counted:>7} {:>6.1}", cost.ns);
            let _ = std::io::stdout().flush();
        }
        println!();
    }
}

fn print_row(case: &Case, m: &RunCost, cost: Option<Cost>) {
    let counted = cost.map_or(["-"; 3].map(String::from), |cost| {
        let [instructions, misses, mispredictions] = cost.per_packet;
        [format!("{instructions:.0}"), format!("{misses:.1}"), format!("{mispredictions:.1}")]
    });
    println!(
        "{:<8} {:<44} {:>10} {:>10.2} {:>7.0} {:>8.2} {:>8} {:>8.1} {:>9} {:>7} {:>7}",
        case.name,
        case.set_up,
        m.packets,
        m.packets as f64 / m.cpu_s / 1e6,
        m.cpu_s * 1e9 / m.packets as f64,
        m.events as f64 / m.packets as f64,
        m.allocations,
        m.peak_bytes as f64 / 1e6,
        counted[0],
        counted[1],
        counted[2],
    );
}

fn in_own_process(case: &Case) -> Option<RunCost> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new(program).args(["--once", case.name]).output().ok()?;
    RunCost::decode(std::str::from_utf8(&output.stdout).ok()?.trim())
}

fn usage() -> ExitCode {
    let names: Vec<&str> = CASES.iter().map(|c| c.name).collect();
    eprintln!("usage: sojourn-bench [--check | --record] [CASE…] [queues], --peers, or [CASE…] [queues] [DISCIPLINE…]");
    eprintln!("cases: {}", names.join(", "));
    ExitCode::from(2)
}

/// Argument that selects every qdisc.
const QUEUES: &str = "queues";
