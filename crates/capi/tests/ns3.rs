//! The queue disc for ns-3 (examples/ns3), built with the distribution's headers: every decision on one TCP flow is
//! compared with the qdisc's own.
#![cfg(target_os = "linux")]

use crate::common::{HERE, command, libraries, succeeds};
use sojourn_aqm::registry::parse;
use sojourn_aqm::{DequeueResult, DropReason, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Module names for the linker. pkg-config's own library lists are not used: in Debian, some contain paths that only
/// other development packages provide.
const MODULES: [&str; 6] = ["applications", "internet", "point-to-point", "traffic-control", "network", "core"];

/// Compiles examples/ns3/one-flow.cc into `folder`; prints a note and returns `None` if ns-3 is not installed.
fn one_flow(folder: &Path) -> Option<PathBuf> {
    let modules = MODULES.map(|name| format!("ns3-{name}"));
    let found = Command::new("pkg-config").arg("--exists").args(&modules).status();
    if !found.is_ok_and(|status| status.success()) {
        println!("skipped: the queue disc for ns-3, whose headers are absent (Debian: libns3-dev, pkg-config)");
        return None;
    }
    let (source, program) = (Path::new(HERE).join("../../examples/ns3"), folder.join("one-flow"));
    let mut cc = Command::new("g++");
    cc.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"]).arg(Path::new(HERE).join("include"));
    cc.args(["one-flow.cc", "sojourn-queue-disc.cc"].map(|name| source.join(name)));
    cc.arg("-o").arg(&program).args(modules.map(|name| format!("-l{name}")));
    cc.arg(libraries().join("libsojourn_capi.so"));
    succeeds(&mut cc);
    Some(program)
}

/// A line of the trace.
struct Event<'a> {
    at: Instant,
    kind: &'a str,
    /// Packet number, bytes, ECN field or drop reason, flow.
    packet: Vec<&'a str>,
}

impl<'a> Event<'a> {
    fn of(line: &'a str) -> Self {
        let mut words = line.split(' ');
        let at = words.next().and_then(|word| word.parse().ok()).expect("a line begins with a time");
        let kind = words.next().expect("what happened is behind it");
        Self { at: Instant::from_nanos(at), kind, packet: words.collect() }
    }

    fn number(&self, place: usize) -> u32 {
        self.packet[place].parse().expect("a number")
    }
}

/// The trace of the qdisc `aqm` itself for the arrivals and dequeue attempts of `trace`.
fn repeated(aqm: &str, trace: &str) -> Vec<String> {
    let host = Host { link: Link::new(Rate::from_bps(10_000_000), 1500), rng: Rng::stream(1, "queue", 0) };
    let mut queue: Box<dyn Qdisc<u32>> = parse(aqm).expect("it is registered").build(Limits::packets(1000), host);
    let mut lines = Vec::new();
    for line in trace.lines() {
        let event = Event::of(line);
        let at = event.at.as_nanos();
        let mut lost = Vec::new();
        let mut lose = |meta: Meta, number: u32, reason: DropReason| {
            lost.push(format!("{at} d {number} {} {} {}", meta.len, reason.name(), meta.flow));
        };
        match event.kind {
            "+" => {
                let ecn = Ecn::ALL[event.number(2) as usize];
                let meta = Meta::new(event.number(1), event.number(3)).with_ecn(ecn);
                queue.enqueue(event.at, meta, event.number(0), &mut lose);
                lines.push(line.to_string());
                lines.append(&mut lost);
            }
            "-" | "?" => {
                let found = queue.dequeue(event.at, &mut lose);
                lines.append(&mut lost);
                lines.push(match found {
                    DequeueResult::Packet(meta, number) => {
                        format!("{at} - {number} {} {} {}", meta.len, meta.ecn as u8, meta.flow)
                    }
                    _ => format!("{at} ?"),
                });
            }
            _ => {} // A drop: its enqueue or dequeue repeats it.
        }
    }
    lines
}

/// Number of `trace`'s lines of a kind.
fn count(trace: &str, kind: &str) -> usize {
    trace.lines().filter(|line| Event::of(line).kind == kind).count()
}

#[test]
fn a_flow_in_ns3_meets_the_decisions_of_the_queue_discipline_itself() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let Some(program) = one_flow(folder.path()) else { return };
    let run = |aqm: &str| succeeds(command(folder.path(), &program).args([aqm, "20"]));
    for aqm in ["codel", "fq_codel", "codel target 2ms", "fq_codel ecn", "pie"] {
        let trace = run(aqm);
        let expected = repeated(aqm, &trace);
        assert!(count(&trace, "-") > 10_000, "{aqm}: {} packets", count(&trace, "-"));
        let marks = trace.lines().map(Event::of).filter(|event| event.kind == "-" && event.packet[2] == "3").count();
        let judged = if aqm.contains("ecn") { marks } else { count(&trace, "d") };
        assert!(judged > 0, "{aqm}: {judged} drops or marks");
        for (number, (line, expected)) in trace.lines().zip(&expected).enumerate() {
            assert_eq!(line, expected, "{aqm}, line {number}");
        }
        assert_eq!(trace.lines().count(), expected.len(), "{aqm}");
    }
}
