//! Benchmark cases of the simulator.

use crate::{alloc, callgrind};
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::Scenario;
use sojourn_sim::{LinkCounters, Simulation};
use sojourn_tcp::{cc, stack};
use std::path::Path;

/// A case: by default, a dumbbell with CoDel at the bottleneck and saturated TCP sources.
pub struct Case {
    /// Name on the command line.
    pub name: &'static str,
    /// Description.
    pub set_up: &'static str,
    rate: &'static str,
    /// Delay of the bottleneck in each direction.
    delay: &'static str,
    aqm: &'static str,
    flows: u32,
    /// Kind of the flows and its parameters, in TOML.
    traffic: &'static str,
    /// The senders' TCP stack and congestion control.
    sender: (&'static str, &'static str),
    seconds: f64,
    /// Start and end of the counted span of the steady state, in seconds.
    window_s: (f64, f64),
    topology: CaseTopology,
}

/// Topology of a case, and the packets that it counts.
#[derive(Clone, Copy)]
enum CaseTopology {
    /// A dumbbell; packets sent by its bottleneck.
    Dumbbell,
    /// A dumbbell; packets sent by each queue, data and ACKs.
    DumbbellByHop,
    /// The topology of [`graph`], counted like `DumbbellByHop`.
    Graph,
    /// The WLAN of [`WIRELESS`], counted like `DumbbellByHop`.
    Wireless,
}

/// Sender of the oldest cases, kept so that their results remain comparable.
const FIRST_SENDER: (&str, &str) = ("linux-2.6.29", "reno");

/// Sender of a scenario that names none.
const DEFAULT_SENDER: (&str, &str) = (stack::NEWEST, cc::DEFAULT);

/// All cases.
pub const CASES: &[Case] = &[
    Case {
        sender: DEFAULT_SENDER,
        delay: "20 ms",
        ..Case::tcp("default", "10 Mbit/s, RTT 40 ms, 4 flows, as compare", ("10 Mbit/s", 4), 2000.0, (20.0, 60.0))
    },
    Case {
        sender: DEFAULT_SENDER,
        delay: "10 ms",
        ..Case::tcp("calm", "100 Mbit/s, RTT 20 ms, 16 flows, 200 s", ("100 Mbit/s", 16), 200.0, (4.0, 8.0))
    },
    Case {
        sender: DEFAULT_SENDER,
        delay: "10 ms",
        ..Case::tcp("large", "10 Gbit/s, RTT 20 ms, 1 flow, 10 s", ("10 Gbit/s", 1), 10.0, (1.0, 1.2))
    },
    Case::tcp("a", "10 Mbit/s, RTT 10 ms, 16 flows, 2000 s", ("10 Mbit/s", 16), 2000.0, (20.0, 60.0)),
    Case {
        aqm: "fq_codel",
        ..Case::tcp("b", "100 Mbit/s, RTT 10 ms, 64 flows, FQ-CoDel, 200 s", ("100 Mbit/s", 64), 200.0, (2.0, 6.0))
    },
    Case::tcp("c", "1 Gbit/s, RTT 10 ms, 128 flows, 20 s", ("1 Gbit/s", 128), 20.0, (0.5, 0.9)),
    Case::tcp("d", "1 Gbit/s, RTT 10 ms, 1000 flows, 10 s", ("1 Gbit/s", 1000), 10.0, (0.5, 0.9)),
    Case::tcp("t", "1 Gbit/s, RTT 10 ms, 1024 flows, 10 s", ("1 Gbit/s", 1024), 10.0, (0.5, 0.9)),
    Case::tcp("e", "10 Mbit/s, RTT 10 ms, 1 flow, 2000 s", ("10 Mbit/s", 1), 2000.0, (20.0, 60.0)),
    Case {
        aqm: "codel ecn",
        traffic: "kind = \"tcp\"\necn = true",
        ..Case::tcp("r", "as a, with ECN", ("10 Mbit/s", 16), 2000.0, (20.0, 60.0))
    },
    Case {
        aqm: "codel ecn",
        traffic: "kind = \"tcp\"\necn = true",
        sender: ("linux-2.6.29", "cubic"),
        ..Case::tcp("k", "as r, with CUBIC", ("10 Mbit/s", 16), 2000.0, (20.0, 60.0))
    },
    Case {
        sender: DEFAULT_SENDER,
        ..Case::tcp("n", "as a, CUBIC of linux-6.1", ("10 Mbit/s", 16), 2000.0, (20.0, 60.0))
    },
    Case {
        sender: (stack::NEWEST, "bbr"),
        ..Case::tcp("p", "as n, with BBR", ("10 Mbit/s", 16), 2000.0, (20.0, 60.0))
    },
    Case::tcp("m", "10 Gbit/s, RTT 10 ms, 10,000 flows, 1 s", ("10 Gbit/s", 10_000), 1.0, (0.4, 0.45)),
    Case {
        traffic: "kind = \"packmime\"\nconnections_per_second = 80",
        ..Case::tcp("w", "100 Mbit/s, RTT 10 ms, PackMime 80/s, 300 s", ("100 Mbit/s", 1), 300.0, (3.0, 30.0))
    },
    Case {
        topology: CaseTopology::DumbbellByHop,
        ..Case::tcp("h", "200 Mbit/s, RTT 10 ms, 200 flows, by hop, 100 s", ("200 Mbit/s", 200), 100.0, (1.0, 3.0))
    },
    Case {
        topology: CaseTopology::Graph,
        ..Case::tcp("g", "20 nodes, 60 links, 200 flows, by hop, 20 s", ("20 Mbit/s", 1), 20.0, (0.5, 1.0))
    },
    Case {
        topology: CaseTopology::Wireless,
        ..Case::tcp("l", "802.11g, 4 stations, 5 flows, by hop, 500 s", ("", 5), 500.0, (5.0, 25.0))
    },
];

/// Instruction counts of a case.
pub struct CaseCounts {
    /// Packets, counted as [`CaseTopology`] defines.
    pub packets: u64,
    /// Counts of callgrind for all packets.
    pub counts: callgrind::Counts,
}

/// Cost of a whole run of a case.
pub struct RunCost {
    /// Packets sent over the bottleneck.
    pub packets: u64,
    /// Events processed.
    pub events: u64,
    /// CPU time of the process.
    pub cpu_s: f64,
    /// Allocations after the first tenth of the run.
    pub allocations: u64,
    /// Maximum resident set size of the process in bytes.
    pub peak_bytes: u64,
}

impl Case {
    const fn tcp(
        name: &'static str,
        set_up: &'static str,
        (rate, flows): (&'static str, u32),
        seconds: f64,
        window_s: (f64, f64),
    ) -> Self {
        Self {
            name,
            set_up,
            rate,
            delay: "5 ms",
            aqm: "codel",
            flows,
            traffic: "kind = \"tcp\"",
            sender: FIRST_SENDER,
            seconds,
            window_s,
            topology: CaseTopology::Dumbbell,
        }
    }

    /// The case called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        CASES.iter().find(|case| case.name == name)
    }

    /// Runs the case for `share` of its duration.
    pub fn measure(&self, share: f64) -> RunCost {
        let mut simulation = Simulation::new(&self.scenario(share), 1);
        let start = cpu_s();
        let warm = self.seconds * share / 10.0;
        while simulation.now().as_secs_f64() < warm && !simulation.advance(CHUNK) {}
        let allocated = alloc::allocations();
        while !simulation.advance(CHUNK) {}
        let (cpu_s, allocations) = (cpu_s() - start, alloc::allocations() - allocated);
        let packets = self.packets(&simulation.links());
        let events = simulation.finish().summary.events;
        RunCost { packets, events, cpu_s, allocations, peak_bytes: peak_bytes() }
    }

    /// Counts the steady state with callgrind in a separate process; `None` if that fails.
    pub fn count(&self, cache_and_branches: bool) -> Option<CaseCounts> {
        let (counts, stdout) = callgrind::collected_in(COUNTED, &["--work", self.name], cache_and_branches)?;
        Some(CaseCounts { packets: stdout.trim().parse().ok()?, counts })
    }

    /// Runs the counted span, in the separate process, and returns the packets sent in it.
    pub fn work(&self) -> u64 {
        let (from, to) = self.window_s;
        let at = |seconds: f64| Instant::ZERO + Duration::from_nanos((seconds * 1e9) as i64);
        // The run is longer than the counted span, so that no flow stops within it.
        let mut simulation = Simulation::new(&self.scenario(2.0 * to / self.seconds), 1);
        simulation.advance_until(at(from));
        let before = self.packets(&simulation.links());
        counted_span(&mut simulation, at(to));
        self.packets(&simulation.links()) - before
    }

    /// Packets sent, counted as [`CaseTopology`] defines.
    fn packets(&self, links: &[LinkCounters]) -> u64 {
        let count = if matches!(self.topology, CaseTopology::Dumbbell) { 1 } else { links.len() };
        links[..count].iter().map(|link| link.sent).sum()
    }

    fn scenario(&self, share: f64) -> Scenario {
        let (stack, cc) = self.sender;
        match self.topology {
            CaseTopology::Graph => return parse(&graph(self, self.seconds * share), &[]),
            CaseTopology::Wireless => {
                let duration = ("duration".into(), format!("{} s", self.seconds * share));
                return parse(WIRELESS, &[duration, ("warmup".into(), "0 s".into())]);
            }
            CaseTopology::Dumbbell | CaseTopology::DumbbellByHop => (),
        }
        let text = format!(
            r#"
            duration = "{} s"
            [link]
            rate = "{}"
            delay = "{}"
            aqm = "{}"
            [[flows]]
            {}
            stack = "{stack}"
            cc = "{cc}"
            count = {}
            spread = "100 ms"
            "#,
            self.seconds * share,
            self.rate,
            self.delay,
            self.aqm,
            self.traffic,
            self.flows,
        );
        parse(&text, &[])
    }
}

/// The function counted by callgrind; see [`COUNTED`].
#[inline(never)]
fn counted_span(simulation: &mut Simulation, until: Instant) {
    simulation.advance_until(until);
}

fn parse(text: &str, set: &[(String, String)]) -> Scenario {
    Scenario::parse(text, set, Path::new(".")).expect("the benchmark's scenario is right")
}

/// A ring of 20 nodes with chords of 3 and 7 steps (60 links with the case's rate and its AQM in both directions), and
/// 200 flows between pseudo-random nodes.
fn graph(case: &Case, seconds: f64) -> String {
    let (stack, cc) = case.sender;
    let mut text = format!("duration = \"{seconds} s\"\n");
    for node in 0..NODES {
        text += &format!("[[nodes]]\nname = \"n{node}\"\n");
    }
    for (near, step) in (0..NODES).flat_map(|near| [1, 3, 7].map(|step| (near, step))) {
        let (far, delay_us) = ((near + step) % NODES, 700 * step + 130 * (near % 7));
        text += &format!(
            "[[links]]\nname = \"{near} to {far}\"\nfrom = \"n{near}\"\nto = \"n{far}\"\nrate = \"{}\"\naqm = \"{}\"\n\
             delay = \"{delay_us} us\"\nreverse = {{ aqm = \"{}\" }}\n",
            case.rate, case.aqm, case.aqm
        );
    }
    for flow in 0..FLOWS {
        let (from, step) = (7 * flow % NODES, 1 + 3 * flow % (NODES - 1));
        text += &format!(
            "[[flows]]\n{}\nstack = \"{stack}\"\ncc = \"{cc}\"\nspread = \"100 ms\"\nfrom = \"n{from}\"\nto = \"n{}\"\n",
            case.traffic,
            (from + step) % NODES
        );
    }
    text
}

/// Downloads by four stations, one of them slow, and an upload.
const WIRELESS: &str = include_str!("../../scenarios/wlan.toml");

/// Pattern of the counted function's name.
const COUNTED: &str = "*counted_span*";

const NODES: u32 = 20;
const FLOWS: u32 = 200;

impl RunCost {
    /// Encodes the cost as a line.
    pub fn encode(&self) -> String {
        format!("{} {} {} {} {}", self.packets, self.events, self.cpu_s, self.allocations, self.peak_bytes)
    }

    /// Decodes a line of [`Self::encode`].
    pub fn decode(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        let [packets, events, cpu_s, allocations, peak_bytes] = words[..] else { return None };
        Some(Self {
            packets: packets.parse().ok()?,
            events: events.parse().ok()?,
            cpu_s: cpu_s.parse().ok()?,
            allocations: allocations.parse().ok()?,
            peak_bytes: peak_bytes.parse().ok()?,
        })
    }
}

fn usage() -> libc::rusage {
    // SAFETY: `getrusage` fills a valid rusage; all zero is a valid value of it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    }
}

/// CPU time of the process in seconds.
pub fn cpu_s() -> f64 {
    let usage = usage();
    let seconds = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

fn peak_bytes() -> u64 {
    usage().ru_maxrss as u64 * 1024
}

/// Events per call of `advance`.
const CHUNK: u64 = 10_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundredth_of_every_case_runs() {
        for case in CASES {
            let measured = case.measure(0.01);
            assert!(measured.packets > 100 && measured.events > measured.packets, "case {}", case.name);
            let again = RunCost::decode(&measured.encode()).expect("what was encoded");
            assert_eq!((again.packets, again.events), (measured.packets, measured.events), "case {}", case.name);
        }
    }
}
