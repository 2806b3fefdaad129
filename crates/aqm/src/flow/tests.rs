mod fq_pie;
mod overflow;
mod sfq;

use super::table::jhash_3words;
use crate::aqm::{Aqm, Cx, DropReason, Lifecycle, Timer};
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::rate::Rate;
use crate::registry;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(12_000_000), 1514);

/// A discipline under test; packets are numbered by arrival.
struct QdiscHarness {
    queue: Box<dyn Qdisc<u32> + Send>,
    now: Instant,
    next: u32,
    dropped: Vec<(u32, u32)>,
}

impl QdiscHarness {
    fn new(aqm: &str) -> Self {
        Self::seeded(aqm, 1)
    }

    fn seeded(aqm: &str, seed: u64) -> Self {
        let config = registry::parse(aqm).expect("an AQM");
        let queue = config.build(Limits::default(), Host { link: LINK, rng: Rng::from_state(seed) });
        Self { queue, now: Instant::ZERO, next: 0, dropped: Vec::new() }
    }

    fn push(&mut self, flow: u32, len: u32) -> EnqueueResult {
        self.push_meta(Meta::new(len, flow))
    }

    fn push_meta(&mut self, meta: Meta) -> EnqueueResult {
        self.next += 1;
        let dropped = &mut self.dropped;
        self.queue.enqueue(self.now, meta, self.next, &mut |meta: Meta, id, reason| {
            assert_eq!(reason, DropReason::Limit);
            dropped.push((meta.flow, id));
        })
    }

    /// The next packet: flow, number and size.
    fn pop(&mut self) -> Option<(u32, u32, u32)> {
        match self.queue.dequeue(self.now, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, id) => Some((meta.flow, id, meta.len)),
            _ => None,
        }
    }

    /// The flows of the next packets.
    fn flows(&mut self, n: usize) -> Vec<u32> {
        (0..n).map_while(|_| self.pop()).map(|(flow, ..)| flow).collect()
    }

    fn wait_ms(&mut self, ms: i64) {
        self.now += Duration::from_millis(ms);
    }

    fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.queue.observe(&mut |n, value| {
            if n == name {
                found = value;
            }
        });
        found
    }
}

#[test]
fn saturated_flows_of_any_packet_sizes_get_equal_bytes() {
    // Multiples of 8, as SFQ counted.
    let sizes = [40, 576, 1000, 1504, 304];
    for aqm in [
        "fq(droptail)",
        "drr",
        "sfq limit 10000 depth 10000",
        "sfq@linux-3.10 limit 10000 depth 10000",
        "sfq_red limit 10000 depth 10000 redflowlimit 1GB min 900MB max 1GB burst 900000",
        "fq(droptail) scheduler ns2",
        "sfqcodel limit 10000 target 1s interval 10s",
        "fq_codel target 1s interval 10s",
        "fq_pie target 50s",
    ] {
        for quantum in [300u64, 1514, 9000] {
            let mut bench = QdiscHarness::new(&format!("{aqm} hash perfect quantum {quantum}B"));
            let mut sent = [0u64; 5];
            for flow in (0..5).cycle().take(100) {
                bench.push(flow, sizes[flow as usize]);
            }
            for _ in 0..20_000 {
                let (flow, _, len) = bench.pop().expect("saturated");
                bench.push(flow, sizes[flow as usize]);
                sent[flow as usize] += len as u64;
                let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
                // One quantum and one packet; the older SFQ counts in units of 8 bytes, its quantum too.
                assert!(most - least <= quantum.next_multiple_of(8) + 1504, "{aqm} {quantum}: {sent:?}");
            }
            let [sum, squares] = [1, 2].map(|n| sent.iter().map(|&bytes| (bytes as f64).powi(n)).sum::<f64>());
            assert!(sum * sum / (5.0 * squares) > 0.999, "{aqm} {quantum}: Jain's index of {sent:?}");
        }
    }
}

#[test]
fn a_flow_of_deficit_round_robin_waits_until_its_credit_covers_its_head() {
    let mut bench = QdiscHarness::new("drr hash modulo quantum 500B");
    for (flow, len) in [(1, 1200), (1, 300), (2, 500), (2, 500), (2, 400), (2, 600)] {
        bench.push(flow, len);
    }
    // Flow 1 accumulates 1500 in three rounds, enough for both its packets; flow 2 accumulates 100 in its third.
    assert_eq!(bench.flows(9), [2, 2, 1, 1, 2, 2]);
}

#[test]
fn packets_take_turns_where_the_quantum_is_zero() {
    let mut bench = QdiscHarness::new("sfqcodel");
    for (flow, len) in [(1, 1500), (2, 40), (3, 600)] {
        (0..4).for_each(|_| {
            bench.push(flow, len);
        });
    }
    assert_eq!(bench.flows(12), [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn new_bins_of_sfqcodel_go_before_the_others_and_behind_new_ones() {
    let mut bench = QdiscHarness::new("sfqcodel hash modulo");
    for flow in [1, 2] {
        (0..4).for_each(|_| {
            bench.push(flow, 1000);
        });
    }
    assert_eq!(bench.flows(2), [1, 2]);
    bench.push(3, 1000);
    bench.push(4, 1000);
    assert_eq!(bench.flows(4), [3, 4, 1, 2]);
    // An empty bin stays for a turn: a packet that arrives meanwhile does not make it new.
    bench.push(4, 1000);
    assert_eq!(bench.flows(3), [4, 1, 2]);
}

#[test]
fn drr_plus_plus_serves_new_flows_first_and_makes_the_emptied_wait_among_the_old() {
    let mut bench = QdiscHarness::new("fq(droptail) hash perfect quantum 1000B");
    (0..6).for_each(|_| {
        bench.push(1, 1000);
    });
    assert_eq!(bench.flows(2), [1, 1], "alone");
    bench.push(2, 1000);
    assert_eq!(bench.flows(1), [2], "new before old");
    // Flow 2 has used up its deficit as a new flow: it is old now, like flow 1 without deficit before it.
    bench.push(2, 100);
    assert_eq!(bench.flows(1), [2]);
    assert_eq!((bench.state("new_flows"), bench.state("old_flows")), (0.0, 2.0));
    // A flow of single small packets, served as new and then empty, does not become new again at once.
    bench.push(3, 100);
    assert_eq!(bench.flows(1), [3]);
    assert_eq!(bench.flows(1), [1], "flow 3 is found empty and goes to the old ones");
    bench.push(3, 100);
    assert_eq!((bench.state("new_flows"), bench.state("new_flow_count")), (0.0, 3.0));
}

#[test]
fn a_flow_that_returns_has_one_quantum_whatever_it_left() {
    for (aqm, scheduler) in [("drr", "drr"), ("fq(droptail)", "drr++"), ("sfq", "sfq")] {
        let mut bench = QdiscHarness::new(&format!(
            "{aqm} scheduler {scheduler} hash perfect quantum 1000B limit 10000 depth 10000"
        ));
        // Flow 1 appears a hundred times with a small packet each, and leaves deficit unused.
        for _ in 0..100 {
            bench.push(1, 104);
            assert_eq!(bench.flows(2), [1]);
        }
        for flow in [1, 2] {
            (0..50).for_each(|_| {
                bench.push(flow, 1000);
            });
        }
        let first = bench.flows(20);
        let ahead = first.iter().take_while(|&&flow| flow == 1).count();
        assert!(ahead <= 2, "{aqm}: {first:?}");
    }
}

#[test]
fn collisions_are_as_probable_as_with_random_numbers() {
    let runs = 3000;
    for (flows, expected) in [(4, 0.994), (16, 0.889), (64, 0.134)] {
        let mut apart = 0;
        let mut sharing = 0;
        for seed in 0..runs {
            let mut bench = QdiscHarness::seeded("fq(droptail)", seed);
            let found = (0..flows).map(|flow| {
                bench.push(flow, 100);
                bench.state("new_flow_count") as u32
            });
            let active = found.last().expect("there are flows");
            apart += u32::from(active == flows);
            sharing += flows - active;
        }
        let share = apart as f64 / runs as f64;
        let tolerance = 4.0 * libm::sqrt(expected * (1.0 - expected) / runs as f64);
        assert!((share - expected).abs() < tolerance, "{flows} flows: {share}, expected {expected}");
        if flows == 64 {
            // 64 - 1024 (1 - (1 - 1/1024)^64) flows find their queue taken; with the flows that took it first, 3.8
            // share.
            let taken = sharing as f64 / runs as f64;
            assert!((taken - 1.93).abs() < 0.1, "{taken}");
        }
    }
}

#[test]
fn without_collisions_flows_come_and_go_in_as_many_places_as_asked_for() {
    let mut bench = QdiscHarness::new("fq(droptail) hash perfect flows 8");
    // Ten simultaneous flows need ten slots; a hundred thousand successive ones do not.
    (0..10).for_each(|flow| {
        bench.push(flow, 100);
    });
    assert_eq!(bench.state("new_flows"), 10.0);
    assert_eq!(bench.flows(11), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    for flow in 10..100_000 {
        bench.push(flow, 100);
        bench.push(flow / 2, 100);
        assert_eq!(bench.flows(3), [flow, flow / 2], "each is found again while it waits");
    }
}

#[test]
fn flows_are_isolated_by_what_is_asked_for() {
    let packet = |flow, from, to| Meta { hosts: (from, to), ..Meta::new(100, flow) };
    let packets = [packet(1, 1, 8), packet(2, 1, 9), packet(3, 2, 8), packet(4, 2, 9), packet(4, 2, 9)];
    for (isolation, flows) in [("flow", 4.0), ("src-host", 2.0), ("dst-host", 2.0), ("host-pair", 4.0)] {
        for hash in ["perfect", "modulo", "jenkins", "perturbed"] {
            let mut bench = QdiscHarness::new(&format!("fq(droptail) isolation {isolation} hash {hash} flows 65536"));
            packets.into_iter().for_each(|meta| {
                bench.push_meta(meta);
            });
            let expected = if (isolation, hash) == ("host-pair", "modulo") { 2.0 } else { flows };
            assert_eq!(bench.state("new_flows"), expected, "{isolation} {hash}");
        }
    }
    let host = Host { link: LINK, rng: Rng::from_state(1) };
    let make = || crate::droptail::DropTail;
    let by_code_point = super::FlowQueue::new(&super::Config::default(), make, Limits::default(), host)
        .classified_by(Box::new(|meta| meta.dscp as u64));
    let mut bench = QdiscHarness { queue: Box::new(by_code_point), ..QdiscHarness::new("fq(droptail)") };
    packets.into_iter().for_each(|meta| {
        bench.push_meta(Meta { dscp: (meta.flow % 3) as u8, ..meta });
    });
    assert_eq!(bench.state("new_flows"), 3.0);
}

#[test]
fn lookup3_of_three_words() {
    for (words, hash) in
        [([0, 0, 0], 0xfb293fc1), ([1, 2, 3], 0x45d677c8), ([0xdead_beef, 7, 80 << 16 | 4000], 0x2c5eb513)]
    {
        assert_eq!(jhash_3words(words, 0), hash, "{words:?}");
    }
}

#[test]
fn the_same_manager_in_brackets_gives_the_same_discipline() {
    let run = |aqm: &str| {
        let mut bench = QdiscHarness::new(aqm);
        let mut load = Rng::from_state(3);
        let mut seen = vec![];
        let mut drops = vec![];
        for id in 0..20_000 {
            let flow = load.below(6) as u32;
            let ecn = if flow % 2 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let meta = Meta::new([40, 1500, 700][flow as usize % 3], flow).with_ecn(ecn);
            bench.queue.enqueue(bench.now, meta, id, &mut |_, id, _| drops.push(id));
            bench.now += Duration::from_micros(300);
            if id % 3 != 0 {
                seen.push(bench.queue.dequeue(bench.now, &mut |_, id, _| drops.push(id)));
            }
        }
        assert!(bench.queue.stats().marked.packets > 50 && drops.len() > 50, "{aqm}: {:?}", bench.queue.stats());
        (seen, drops)
    };
    assert_eq!(run("fq_codel"), run("fq(codel ecn)"));
    assert_eq!(run("fq_codel@linux quantum 300B"), run("fq(codel@linux ecn) quantum 300B"));
    assert_ne!(run("fq_codel"), run("fq_codel quantum 300B"));
}

#[test]
fn pie_steers_by_its_own_flow_and_leaves_the_others_alone() {
    let mut bench = QdiscHarness::new("fq_pie hash perfect");
    let mut dropped = [0; 3];
    for id in 0..40_000u32 {
        // Flow 1 offers the link's rate; flow 2 a twentieth; flow 0 is intermittent.
        let flow = if id % 20 == 0 { 2 } else { u32::from(id % 4000 < 3000) };
        let mut refused = 0;
        bench.queue.enqueue(bench.now, Meta::new(1500, flow), id, &mut |meta: Meta, _, _| refused = meta.flow + 1);
        if refused > 0 {
            dropped[refused as usize - 1] += 1;
        }
        bench.now += Duration::from_micros(950);
        if bench.now.as_nanos() / 1_000_000 > (bench.now.as_nanos() - 950_000) / 1_000_000 {
            bench.pop();
        }
    }
    assert!(dropped[1] > 100 && dropped[2] == 0, "{dropped:?}");
}

#[test]
fn an_idle_flow_is_updated_before_its_next_packet_is_judged() {
    // Overload raises p; ten idle seconds let it decay, by 1/64 every 15 ms, before the flow returns.
    let p_after = |idle_ms: i64| {
        let mut bench = QdiscHarness::new("fq(pie activation always)");
        for id in 0..4_000u32 {
            bench.queue.enqueue(bench.now, Meta::new(1500, 1), id, &mut |_, _, _| {});
            bench.now += Duration::from_micros(700);
            if id % 2 == 0 {
                bench.pop();
            }
        }
        while bench.pop().is_some() {
            bench.wait_ms(1);
        }
        bench.wait_ms(idle_ms);
        bench.queue.enqueue(bench.now, Meta::new(1500, 1), 0, &mut |_, _, _| {});
        bench.state("p")
    };
    let (soon, late) = (p_after(20), p_after(2_000));
    assert!(soon > 0.001 && late < soon / 4.0, "{soon} {late}");
}

#[test]
fn the_only_packet_of_a_bin_is_never_dropped_by_sfqcodel() {
    let dropped_of_flow_0 = |aqm: &str| {
        let mut bench = QdiscHarness::new(aqm);
        let mut lost = 0;
        for ms in 0..2_000u32 {
            // Flow 0's one packet waits a round of forty backlogged flows.
            let flow = if ms % 40 == 0 { 0 } else { 1 + ms % 40 };
            bench.queue.enqueue(bench.now, Meta::new(1500, flow), ms, &mut |_, _, _| {});
            if ms < 200 {
                bench.queue.enqueue(bench.now, Meta::new(1500, 1 + ms % 40), ms, &mut |_, _, _| {});
            }
            bench.wait_ms(1);
            bench.queue.dequeue(bench.now, &mut |meta: Meta, _, _| lost += u32::from(meta.flow == 0));
        }
        lost
    };
    let own = "fq(codel@ns2-2012 small_backlog at-most-or-last) scheduler ns2 quantum 0B hash perfect";
    assert_eq!(dropped_of_flow_0(own), 0);
    assert!(dropped_of_flow_0("fq(codel@ns2-2012) scheduler ns2 quantum 0B hash perfect") > 0);
    assert_eq!(registry::parse("sfqcodel").unwrap().value("small_backlog").unwrap().to_string(), "at-most-or-last");
}

/// Records the notifications to a flow's manager.
#[derive(Default)]
struct Spy {
    limit: Option<u32>,
    next_update: Option<Instant>,
    own: u64,
    total: u64,
    unscheduled: u32,
    emptied: u32,
}

impl Aqm for Spy {
    fn attach(&mut self, limits: &Limits, _: Link) {
        self.limit = limits.packets;
        self.next_update = Some(Instant::from_nanos(5_000_000));
    }
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("limit", self.limit.map_or(f64::NAN, f64::from));
        see("own", self.own as f64);
        see("total", self.total as f64);
        see("unscheduled", self.unscheduled as f64);
        see("emptied", self.emptied as f64);
    }
}

impl Timer for Spy {
    fn next_update(&mut self) -> Option<Instant> {
        self.next_update
    }
    fn update(&mut self, at: Instant, cx: &mut Cx) {
        self.next_update = Some(at + Duration::from_millis(5));
        (self.own, self.total) = (cx.backlog.bytes, cx.total_backlog.bytes);
    }
}

impl Lifecycle for Spy {
    fn emptied(&mut self, _: &mut Cx) {
        self.emptied += 1;
    }
    fn unscheduled(&mut self) {
        self.unscheduled += 1;
    }
}

#[test]
fn a_flow_s_manager_is_told_of_its_own_queue_of_all_and_of_its_turns() {
    let host = Host { link: LINK, rng: Rng::from_state(1) };
    let queue = super::FlowQueue::new(&super::Config::default(), Spy::default, Limits::packets(50), host);
    let mut bench = QdiscHarness { queue: Box::new(queue), ..QdiscHarness::new("fq(droptail)") };
    for (flow, len) in [(1, 1000), (1, 600), (2, 700)] {
        bench.push(flow, len);
    }
    bench.wait_ms(12);
    assert_eq!(bench.flows(1), [1]);
    let seen = |bench: &QdiscHarness| ["limit", "own", "total", "emptied", "unscheduled"].map(|name| bench.state(name));
    assert_eq!(seen(&bench), [50.0, 1600.0, 2300.0, 0.0, 0.0], "at 10 ms everything waited");
    bench.wait_ms(5);
    assert_eq!(bench.flows(1), [1]);
    assert_eq!(seen(&bench), [50.0, 600.0, 1300.0, 1.0, 0.0], "empty, and still on the schedule");
    assert_eq!(bench.flows(2), [2]);
    assert_eq!(bench.state("unscheduled"), 1.0, "the last to be found empty");
    assert_eq!((bench.state("new_flows"), bench.state("old_flows")), (0.0, 0.0));
}
