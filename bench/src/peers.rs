//! Comparison with other simulators on the same workload: `sojourn-bench --peers`.
//!
//! A set-up is a dumbbell with tail drop, saturated TCP sources and an ACK for every packet. The programs run in turn,
//! in several rounds, so that other load on the machine affects all of them. The CPU time of each process, start
//! included, is divided by the packets delivered in order; the medians of these costs and of their ratios per round are
//! printed. Missing programs are skipped with a note: htsim unless `SOJOURN_HTSIM` is the directory `sim` of its
//! sources with `libhtsim.a`, ns-2 unless `ns` is in the path.

use sojourn_sim::Simulation;
use sojourn_sim::scenario::Scenario;
use sojourn_tcp::{cc, stack};
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Workload of all programs.
struct Setup {
    mbit_per_s: u32,
    rtt_ms: u32,
    flows: u32,
    /// Queue limit in packets.
    limit: u32,
    seconds: u32,
}

const SET_UPS: &[Setup] = &[
    Setup { mbit_per_s: 10, rtt_ms: 10, flows: 16, limit: 100, seconds: 1000 },
    Setup { mbit_per_s: 1000, rtt_ms: 10, flows: 128, limit: 1000, seconds: 10 },
];
/// Number of rounds; odd, for the median.
const ROUNDS: usize = 11;

/// A program that runs the workload.
struct Peer {
    name: &'static str,
    command: fn(&Tools, usize) -> Option<Command>,
}

/// Stack and control of this project's senders: those of a scenario that names none, and the oldest.
const SENDERS: [(&str, &str); 2] = [(stack::NEWEST, cc::DEFAULT), ("linux-2.6.29", "reno")];

/// The first is compared with the others.
const PEERS: &[Peer] = &[
    Peer { name: "sojourn, default sender", command: |_, number| sojourn(number, 0) },
    Peer { name: "sojourn, Reno of linux-2.6.29", command: |_, number| sojourn(number, 1) },
    Peer { name: "htsim", command: htsim },
    Peer { name: "ns-2", command: ns2 },
];

/// Available programs, or the reasons why they are missing.
struct Tools {
    /// This project's program on htsim's library.
    htsim: Result<PathBuf, String>,
    /// The program of ns-2.
    ns2: Result<PathBuf, String>,
}

/// Runs every set-up with every available program, and prints a table.
pub fn compare() -> ExitCode {
    let tools = Tools { htsim: build_htsim(), ns2: find_ns2() };
    for reason in [&tools.htsim, &tools.ns2].into_iter().filter_map(|tool| tool.as_ref().err()) {
        println!("skipped: {reason}");
    }
    println!("| set-up | program | packets delivered | ns per packet | times ours |");
    println!("|---|---|--:|--:|--:|");
    for (number, set_up) in SET_UPS.iter().enumerate() {
        let mut rounds: Vec<Vec<Option<ProcessCost>>> = Vec::new();
        for _ in 0..ROUNDS {
            let round = PEERS.iter().map(|peer| (peer.command)(&tools, number).map(measure).transpose());
            match round.collect() {
                Ok(round) => rounds.push(round),
                Err(reason) => {
                    eprintln!("{reason}");
                    return ExitCode::FAILURE;
                }
            }
        }
        for (column, peer) in PEERS.iter().enumerate() {
            print_row(set_up, peer, &rounds, column);
        }
    }
    ExitCode::SUCCESS
}

/// Runs a set-up with one of the senders in this process, for [`compare`], and prints the delivered packets.
pub fn work(number: usize, sender: usize) -> ExitCode {
    let (Some(set_up), Some((stack, cc))) = (SET_UPS.get(number), SENDERS.get(sender)) else {
        return ExitCode::from(2);
    };
    let Setup { mbit_per_s, rtt_ms, flows, limit, seconds } = set_up;
    let text = format!(
        "duration = \"{seconds} s\"\n[link]\nrate = \"{mbit_per_s} Mbit/s\"\nlimit = \"{limit} packets\"\n[[flows]]\n\
         kind = \"tcp\"\nstack = \"{stack}\"\ncc = \"{cc}\"\nrtt = \"{rtt_ms} ms\"\ncount = {flows}\n\
         spread = \"100 ms\"\ndelayed_ack = false\n"
    );
    let scenario = Scenario::parse(&text, &[], Path::new(".")).expect("the set-up is right");
    let summary = Simulation::new(&scenario, 1).finish().summary;
    println!("delivered {}", (summary.delivered_bps * f64::from(*seconds) / 8.0 / PAYLOAD) as u64);
    ExitCode::SUCCESS
}

/// Cost of a process.
#[derive(Clone, Copy)]
struct ProcessCost {
    cpu_s: f64,
    packets: u64,
}

impl ProcessCost {
    fn ns_per_packet(self) -> f64 {
        self.cpu_s * 1e9 / self.packets as f64
    }
}

fn print_row(set_up: &Setup, peer: &Peer, rounds: &[Vec<Option<ProcessCost>>], column: usize) {
    let each = |cost: fn(&ProcessCost, &ProcessCost) -> f64| -> Option<f64> {
        let found: Option<Vec<f64>> =
            rounds.iter().map(|round| Some(cost(round[column].as_ref()?, round[0].as_ref()?))).collect();
        found.map(median)
    };
    let Some(ns) = each(|peer, _| peer.ns_per_packet()) else { return };
    let times = each(|peer, sojourn| peer.ns_per_packet() / sojourn.ns_per_packet()).expect("sojourn ran");
    let packets = rounds[0][column].expect("it ran").packets;
    let Setup { mbit_per_s, rtt_ms, flows, limit, .. } = set_up;
    println!(
        "| {mbit_per_s} Mbit/s, RTT {rtt_ms} ms, {flows} flows, {limit} packets | {} | {packets} | {ns:.0} | {times:.2} |",
        peer.name
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a program that prints the delivered packets.
fn measure(mut command: Command) -> Result<ProcessCost, String> {
    let program = PathBuf::from(command.get_program());
    let failed = |why: String| format!("{}: {why}", program.display());
    let before = children_cpu_s();
    let output = command.stderr(Stdio::inherit()).output();
    let cpu_s = children_cpu_s() - before;
    let output = output.map_err(|error| failed(error.to_string()))?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let packets = stdout.lines().rev().find_map(|line| line.strip_prefix("delivered ")?.trim().parse().ok());
    match packets {
        Some(packets) if output.status.success() => Ok(ProcessCost { cpu_s, packets }),
        _ => Err(failed(format!("{}, and it says nothing of what it delivered", output.status))),
    }
}

/// CPU time in seconds of all child processes that have ended.
fn children_cpu_s() -> f64 {
    // SAFETY: `getrusage` fills a valid rusage; all zero is a valid value of it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn sojourn(number: usize, sender: usize) -> Option<Command> {
    let mut command = Command::new(env::current_exe().ok()?);
    command.args(["--peer-work", &number.to_string(), &sender.to_string()]);
    Some(command)
}

fn htsim(tools: &Tools, number: usize) -> Option<Command> {
    let mut command = Command::new(tools.htsim.as_ref().ok()?);
    command.args(arguments(&SET_UPS[number]));
    Some(command)
}

fn ns2(tools: &Tools, number: usize) -> Option<Command> {
    let mut command = Command::new(tools.ns2.as_ref().ok()?);
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/dumbbell.tcl")).args(arguments(&SET_UPS[number]));
    Some(command)
}

fn arguments(set_up: &Setup) -> [String; 5] {
    let Setup { mbit_per_s, rtt_ms, flows, limit, seconds } = set_up;
    [mbit_per_s, rtt_ms, flows, limit, seconds].map(u32::to_string)
}

/// Compiles this project's program on htsim's library.
fn build_htsim() -> Result<PathBuf, String> {
    let sources =
        env::var_os("SOJOURN_HTSIM").map(PathBuf::from).ok_or("htsim, because SOJOURN_HTSIM names no sources")?;
    let library = sources.join("libhtsim.a");
    if !library.is_file() {
        return Err(format!(
            "htsim, because there is no {}; make -C {} libhtsim.a",
            library.display(),
            sources.display()
        ));
    }
    let program = env::temp_dir().join(format!("sojourn-htsim-{}", std::process::id()));
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/htsim.cpp");
    let mut compiler = Command::new("g++");
    compiler.args(["-std=c++11", "-O3", "-o"]).arg(&program).arg("-I").arg(&sources).arg(main).arg(library);
    match compiler.output() {
        Ok(output) if output.status.success() => Ok(program),
        Ok(output) => Err(format!("htsim, because g++ failed: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Err(format!("htsim, because g++ cannot be run: {error}")),
    }
}

fn find_ns2() -> Result<PathBuf, String> {
    let folders = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&folders).map(|folder| folder.join("ns")).find(|program| program.is_file());
    found.ok_or_else(|| "ns-2, because there is no program ns".to_string())
}

/// Payload of a full packet with time stamps, in bytes.
const PAYLOAD: f64 = 1448.0;
