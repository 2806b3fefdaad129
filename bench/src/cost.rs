//! Cost of qdiscs: an enqueue and a dequeue at a standing queue.

use crate::{callgrind, case};
use sojourn_aqm::params::Value;
use sojourn_aqm::registry::{self, ALGORITHMS};
use sojourn_aqm::{DequeueResult, Duration, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng};

/// Load of a qdisc.
#[derive(Clone, Copy)]
pub struct Load {
    /// Name in the table and on the command line.
    pub name: &'static str,
    /// Backlog in packets; the limit if `overloaded`.
    packets: u32,
    /// Number of flows; packets are assigned to flows at random.
    flows: u32,
    overloaded: bool,
}

/// Columns of the table. A standing queue is far below every target: no packet is dropped or marked, and each arrival
/// meets the same backlog. Under overload, a link of 10 Mbit/s is offered 12.5 Mbit/s and the AQM drops; the cost is
/// per arrival, and four of five packets depart.
pub const LOADS: [Load; 6] = [
    Load { name: "100/1", packets: 100, flows: 1, overloaded: false },
    Load { name: "100/1000", packets: 100, flows: 1000, overloaded: false },
    Load { name: "1000/100", packets: 1000, flows: 100, overloaded: false },
    Load { name: "10000/1", packets: 10_000, flows: 1, overloaded: false },
    Load { name: "10000/1000", packets: 10_000, flows: 1000, overloaded: false },
    Load { name: "overload", packets: 1000, flows: 16, overloaded: true },
];

/// Cost of an enqueue and a dequeue.
pub struct Cost {
    /// CPU time in nanoseconds, the minimum of several runs.
    pub ns: f64,
    /// Instructions, if valgrind is installed.
    pub instructions: Option<f64>,
}

/// A qdisc of the registry.
pub struct Discipline {
    /// Configuration in tc's syntax.
    pub name: String,
    /// Bytes of state per queue, or per flow if each flow has a queue.
    pub state_bytes: usize,
}

/// Every qdisc of the registry with every profile, and configured shapers.
pub fn disciplines() -> Vec<Discipline> {
    let of = |algorithm: &registry::Algorithm| {
        let state_bytes = algorithm.state_bytes;
        algorithm.spellings().map(|name| Discipline { name, state_bytes }).collect::<Vec<_>>()
    };
    let shaping = SHAPING.iter().map(|&name| {
        let config = registry::parse(name).expect("a discipline with parameters in range");
        Discipline { name: name.to_string(), state_bytes: config.state_bytes() }
    });
    ALGORITHMS.iter().flat_map(of).chain(shaping).collect()
}

/// Shapers with a rate, because their cost without one means little. Each flow has its own hosts here; for other qdiscs
/// all flows share two hosts, and CAKE's host fairness then needs many rounds per packet.
const SHAPING: [&str; 3] = [
    "cake diffserv4 triple-isolate bandwidth 12gbit",
    "tbf rate 12gbit burst 30kB { droptail }",
    "htb default 10 { class 1 rate 12gbit; class 10 parent 1 rate 6gbit ceil 12gbit { droptail } }",
];

impl Load {
    /// The load called `name`.
    pub fn find(name: &str) -> Option<&'static Self> {
        LOADS.iter().find(|load| load.name == name)
    }

    /// Measures a qdisc over `share` of the usual number of pairs, and its `instructions` in a separate process if
    /// requested.
    pub fn measure(&self, aqm: &str, share: f64, instructions: bool) -> Cost {
        let mut bench = Bench::new(aqm, *self);
        let pairs = (PAIRS_TIMED as f64 * share) as u32;
        let time = |_| {
            let start = case::cpu_s();
            bench.pairs(pairs);
            (case::cpu_s() - start) * 1e9 / pairs as f64
        };
        let ns = (0..RUNS).map(time).fold(f64::INFINITY, f64::min);
        let dropped = bench.queue.stats().dropped_total().packets;
        assert_eq!(dropped > 0, self.overloaded, "{aqm}, {}: {dropped} packets were dropped", self.name);
        Cost { ns, instructions: if instructions { self.instructions(aqm) } else { None } }
    }

    /// Instructions of an enqueue and a dequeue, counted in a separate process; `None` if that fails.
    pub fn instructions(&self, aqm: &str) -> Option<f64> {
        let (counts, _) = callgrind::collected_in(COUNTED, &["--pairs", aqm, self.name], false)?;
        Some(counts.instructions as f64 / PAIRS_COUNTED as f64)
    }

    /// Runs the counted pairs, in the separate process.
    pub fn count(&self, aqm: &str) {
        counted_pairs(&mut Bench::new(aqm, *self));
    }
}

/// The function counted by callgrind; see [`COUNTED`].
#[inline(never)]
fn counted_pairs(bench: &mut Bench) {
    bench.pairs(PAIRS_COUNTED);
}

/// A qdisc under load.
struct Bench {
    queue: Box<dyn Qdisc<u32> + Send>,
    now: Instant,
    step: Duration,
    /// Every `surplus`-th arrival has no departure.
    surplus: u64,
    to_surplus: u64,
    next: u32,
    arrivals: Vec<Meta>,
}

impl Bench {
    fn new(aqm: &str, load: Load) -> Self {
        let mut rng = Rng::from_state(1);
        let flow = |_| {
            let flow = rng.below(load.flows as u64) as u32;
            let hosts = if SHAPING.contains(&aqm) { (flow, flow) } else { (0, 0) };
            Meta { hosts, ..Meta::new(LEN, flow) }.with_ecn(Ecn::NotEct)
        };
        let arrivals = (0..ARRIVALS).map(flow).collect();
        // 10,000 packets are 0.1 ms of queue, or more if flows of a shared queue wait for others.
        // Shapers are dequeued slightly below their rate, so that a packet may always leave.
        let rate = Rate::from_bps(match load.overloaded {
            true => 10_000_000,
            false if SHAPING.contains(&aqm) => 11_000_000_000,
            false => 1_200_000_000_000,
        });
        let surplus = if load.overloaded { 5 } else { u64::MAX };
        let step =
            rate.time_for(LEN as u64) - if load.overloaded { rate.time_for(LEN as u64 / 5) } else { Duration::ZERO };
        let (queue, now) = (queue(aqm, load, rate), Instant::ZERO);
        let mut bench = Self { queue, now, step, surplus, to_surplus: surplus, next: 0, arrivals };
        if load.overloaded {
            bench.pairs(200_000);
        } else {
            (0..load.packets).for_each(|_| bench.enqueue());
            bench.pairs(2 * load.packets + ARRIVALS);
            assert_eq!(bench.queue.backlog().packets, load.packets, "{aqm}, {}: packets wait", load.name);
        }
        bench
    }

    fn pairs(&mut self, n: u32) {
        for _ in 0..n {
            self.now += self.step;
            self.enqueue();
            self.to_surplus -= 1;
            if self.to_surplus == 0 {
                self.to_surplus = self.surplus;
            } else {
                let out = self.queue.dequeue(self.now, &mut |_, _, _| {});
                debug_assert!(!matches!(out, DequeueResult::NotBefore(_)));
            }
        }
    }

    #[inline]
    fn enqueue(&mut self) {
        let meta = self.arrivals[(self.next % ARRIVALS) as usize];
        self.next = self.next.wrapping_add(1);
        self.queue.enqueue(self.now, meta, self.next, &mut |_, _, _| {});
    }
}

/// Builds the qdisc with a limit far above the load, so that a standing queue does not reach thresholds derived from
/// the limit, and with as many flow slots as hash values.
fn queue(aqm: &str, load: Load, rate: Rate) -> Box<dyn Qdisc<u32> + Send> {
    let plain = registry::parse(aqm).expect("a discipline of the registry");
    let limit = if load.overloaded { load.packets } else { 20 * load.packets.max(1000) };
    let bytes = limit as u64 * LEN as u64;
    let mut own: String = ["limit", "depth", "flow_limit", "direct_qlen"]
        .map(|param| (param, limit.to_string()))
        .into_iter()
        .chain([("redflowlimit", format!("{bytes}B"))])
        .filter(|(param, text)| {
            let in_bytes = matches!(plain.value(param), Some(Value::Bytes(_)));
            let takes_it = plain.value(param).is_some() && in_bytes == text.ends_with('B');
            // Children in braces use the host's limit.
            !load.overloaded && takes_it && !aqm.contains('{')
        })
        .map(|(param, value)| format!(" {param} {value}"))
        .collect();
    own += &match plain.name() {
        _ if load.overloaded => String::new(),
        "sfb" => format!(" max {0} target {0}", limit.min(u16::MAX.into())), // Per bin.
        // The kernel rejects the default burst with a limit this large.
        "sfq_red" => format!(" burst {}", bytes / 12_000),
        "cake" | "cake_mq" => " rtt 1000s".into(), // Flows above their fair share have long sojourn times.
        _ => String::new(),
    };
    if let Some(Value::Count(values @ 1..)) = plain.value("divisor") {
        own += &format!(" flows {values}");
    }
    let config = registry::parse(&format!("{aqm}{own}")).expect("a limit that large is in range");
    config.build(Limits::packets(limit), Host { link: Link::new(rate, LEN), rng: Rng::from_state(1) })
}

const LEN: u32 = 1500;
/// Length of the repeated sequence of arrivals; a power of two.
const ARRIVALS: u32 = 1 << 13;
const PAIRS_TIMED: u32 = 200_000;
const RUNS: u32 = 9;
const PAIRS_COUNTED: u32 = 10_000;
/// Pattern of the counted function's name.
const COUNTED: &str = "*counted_pairs*";

#[cfg(test)]
mod tests {
    use super::*;

    /// A hundredth of the timed pairs, with the full backlog.
    #[test]
    fn every_discipline_is_measured_under_every_load() {
        for Discipline { name, state_bytes } in disciplines() {
            for load in &LOADS {
                let cost = load.measure(&name, 0.01, false);
                assert!(cost.ns >= 0.0 && cost.instructions.is_none(), "{name}, {}", load.name);
            }
            assert!(state_bytes < 10_000, "{name}");
        }
    }
}
