//! SFQ and SFQ-RED beyond scheduling: maximum number of flows, perturbation, head drop, ns-2's fair share.

use super::{LINK, QdiscHarness};
use crate::aqm::DropReason;
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::registry;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

#[test]
fn no_more_flows_wait_than_there_are_places() {
    let mut bench = QdiscHarness::new("sfq hash perfect flows 4 divisor 8 limit 1000");
    for flow in 0..4 {
        assert_eq!(bench.push(flow, 1000), EnqueueResult::Queued);
    }
    assert_eq!(bench.push(4, 1000), EnqueueResult::Dropped(DropReason::Limit));
    assert_eq!(bench.push(3, 1000), EnqueueResult::Queued, "a flow that waits may have more");
    assert_eq!(bench.flows(1), [0]);
    assert_eq!(bench.push(4, 1000), EnqueueResult::Queued, "flow 0 has left its place");
    // No more slots than packets.
    let mut bench = QdiscHarness::new("sfq hash perfect flows 4 divisor 8 limit 2");
    for (flow, verdict) in
        [(0, EnqueueResult::Queued), (1, EnqueueResult::Queued), (2, EnqueueResult::Dropped(DropReason::Limit))]
    {
        assert_eq!(bench.push(flow, 1000), verdict);
    }
    // tc's default: 128 flows.
    let mut bench = QdiscHarness::new("sfq hash perfect limit 1000");
    let refused: Vec<_> = (0..150).filter(|&flow| bench.push(flow, 1000) != EnqueueResult::Queued).collect();
    assert_eq!(refused, (128..150).collect::<Vec<_>>());
}

#[test]
fn perturbation_hashes_waiting_packets_anew_and_keeps_each_flow_in_order() {
    let mut bench = QdiscHarness::new("sfq perturb_period 10s flows 64 divisor 64 limit 1000 depth 1000");
    // 48 flows on 64 values: some share one, and each of these gets half the turns.
    let flows = 48;
    (0..10 * flows).for_each(|i| {
        bench.push(i % flows, 1000);
    });
    let places = |bench: &QdiscHarness| bench.state("old_flows");
    let before = places(&bench);
    assert!((20.0..44.0).contains(&before), "{before}");
    bench.wait_ms(10_000);
    bench.pop();
    assert_eq!(places(&bench), before, "not before its time has passed");
    bench.wait_ms(1);
    let served = bench.pop().map(|(flow, id, _)| (flow, id)).expect("packets wait");
    assert_ne!(places(&bench), before, "other flows share a value now");
    // All packets are still queued, and no flow is reordered.
    let mut last = vec![0; flows as usize];
    let rest: Vec<_> = core::iter::from_fn(|| bench.pop()).map(|(flow, id, _)| (flow, id)).collect();
    assert_eq!((rest.len(), bench.dropped.len()), (478, 0));
    for (flow, id) in core::iter::once(served).chain(rest) {
        assert!(id > last[flow as usize], "flow {flow}: {id} after {}", last[flow as usize]);
        last[flow as usize] = id;
    }
}

#[test]
fn a_marked_packet_joins_its_new_flow_after_that_was_looked_at() {
    let mut bench = QdiscHarness::new("sfq perturb_period 1s exclude_ce");
    for flow in [5, 5, 7] {
        let meta = Meta { ecn: Ecn::Ce, ..Meta::new(576, flow) };
        bench.queue.enqueue(bench.now, meta, flow, &mut |_: Meta, _, _| {});
    }
    bench.wait_ms(1_001);
    let left: Vec<_> = core::iter::from_fn(|| bench.pop()).map(|(flow, ..)| flow).collect();
    assert_eq!((left.len(), bench.dropped.len()), (3, 0));
}

#[test]
fn what_perturbation_finds_no_place_for_is_dropped() {
    // Two flows with four packets each, on as many values as flows; eventually they share one, of depth 4.
    let mut bench = QdiscHarness::new("sfq perturb_period 1s flows 4 divisor 4 limit 100 depth 4");
    (0..8).for_each(|i| {
        bench.push(i % 2, 1000);
    });
    for _ in 0..40 {
        bench.wait_ms(1_000);
        let (packets, bytes) = (bench.queue.backlog().packets, bench.queue.backlog().bytes);
        // An arrival and a departure of a third flow's packet run the timer and leave the queue unchanged.
        assert_eq!(bytes, 1000 * packets as u64);
        bench.queue.dequeue(bench.now, &mut |meta: Meta, id, reason| {
            assert_eq!(reason, DropReason::Limit);
            bench.dropped.push((meta.flow, id));
        });
        bench.push(0, 1000);
    }
    assert!(!bench.dropped.is_empty());
    let stats = bench.queue.stats();
    assert_eq!(stats.arrived.packets, 48);
    assert_eq!(stats.arrived.packets - 40 - stats.dropped_total().packets, bench.queue.backlog().packets as u64);
}

#[test]
fn a_head_that_gives_way_leaves_its_flow_as_long_as_it_was() {
    // Flow 2 reaches two packets after flow 1; a third packet of flow 1 replaces its head.
    let mut bench = QdiscHarness::new("sfq limit 4 depth 2 headdrop hash modulo");
    for flow in [1, 2, 1, 2, 1] {
        bench.push(flow, 1000);
    }
    assert_eq!(bench.dropped, [(1, 1)]);
    bench.push(3, 1000);
    assert_eq!(bench.dropped, [(1, 1), (2, 2)], "so flow 2 is still the last that became so long");
}

#[test]
fn ns2_refuses_what_exceeds_half_of_the_room_or_a_share_of_it() {
    let mut bench = QdiscHarness::new("sfq@ns2");
    let packet = |from, to| Meta { hosts: (from, to), ..Meta::new(1000, from) };
    let mut fill =
        |from, n: usize| (0..n).filter(|_| bench.push_meta(packet(from, 1)) == EnqueueResult::Queued).count();
    // Of 40 slots: 13 >= (40 - 13) / 2; then 9 >= (27 - 9) / 2; then of 18, 6 >= (18 - 6) / 2, and below 16 left the
    // share is 40 / 16.
    assert_eq!([fill(1, 50), fill(2, 50), fill(3, 50)], [13, 9, 3]);
    // One packet of each in turn, regardless of size.
    assert_eq!(bench.flows(10), [1, 2, 3, 1, 2, 3, 1, 2, 3, 1]);
}

#[test]
fn ns2_mixes_the_sum_of_the_hosts() {
    // k + (k >> 8) + ~(k >> 4), modulo 16.
    for (from, to, alike) in [(1, 2, (2, 1)), (10, 6, (1, 14)), (0x12345, 0, (0, 0x12345))] {
        let packet = |(from, to)| Meta { hosts: (from, to), ..Meta::new(1000, 0) };
        let mut bench = QdiscHarness::new("sfq@ns2");
        bench.push_meta(packet((from, to)));
        bench.push_meta(packet(alike));
        assert_eq!(bench.state("old_flows"), 1.0);
    }
    for (sum, bucket) in
        [(1u32, 0), (3, 2), (16, 14), (255, 239), (256, 240), (0x12345, 0x12345 + 0x123 - 0x1235), (0, 0)]
    {
        assert_eq!(super::super::table::host_sum(sum), bucket % 0xfffff, "{sum}");
    }
}

/// A queue under SFQ-RED with packets of one flow.
struct Slot {
    queue: Box<dyn Qdisc<u32> + Send>,
    dropped: Vec<u32>,
    next: u32,
}

impl Slot {
    fn new(params: &str) -> Self {
        let config = registry::parse(&format!("sfq_red hash perfect limit 1000 {params}")).expect("an AQM");
        let queue = config.build(Limits::default(), Host { link: LINK, rng: Rng::from_state(1) });
        Self { queue, dropped: vec![], next: 0 }
    }

    fn push(&mut self, ecn: Ecn) -> EnqueueResult {
        self.next += 1;
        let meta = Meta::new(1000, 7).with_ecn(ecn);
        self.queue.enqueue(Instant::ZERO, meta, self.next, &mut |_, id, reason| {
            assert_eq!(reason, DropReason::Early);
            self.dropped.push(id);
        })
    }

    fn pop(&mut self) -> Option<(u32, Ecn)> {
        match self.queue.dequeue(Instant::ZERO, &mut |_, _, _| {}) {
            DequeueResult::Packet(meta, id) => Some((id, meta.ecn)),
            _ => None,
        }
    }

    fn state(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.queue.observe(&mut |n, value| found = if n == name { value } else { found });
        found
    }
}

/// The average is the backlog (weight 1/2), and exceeds max from the fourth packet.
const STEEP: &str = "min 1000B max 2000B avpkt 1000B burst 1";

#[test]
fn red_looks_at_a_flow_from_its_second_packet_on_and_forgets_one_that_runs_empty() {
    let mut slot = Slot::new(STEEP);
    let avg = |slot: &mut Slot| {
        slot.push(Ecn::NotEct);
        slot.pop();
        slot.state("avg")
    };
    // Every arrival finds one packet: 500, 750, 875, …
    slot.push(Ecn::NotEct);
    let averages: Vec<_> = (0..3).map(|_| avg(&mut slot)).collect();
    assert_eq!(averages, [500.0, 750.0, 875.0]);
    while slot.pop().is_some() {}
    assert_eq!(slot.state("avg"), 0.0);
    slot.push(Ecn::NotEct);
    assert_eq!((slot.state("avg"), slot.state("count")), (0.0, -1.0), "a flow's first packet is no sample");
}

#[test]
fn headdrop_turns_drops_and_marks_to_the_head() {
    use Ecn::{Ce, Ect0, NotEct};
    // Queued packets when the packet above max arrives, and that packet; dropped packets, marked packets.
    for (params, head, arrival, answer, dropped, marked) in [
        ("", NotEct, NotEct, EnqueueResult::Dropped(DropReason::Early), &[5][..], &[][..]),
        ("ecn", NotEct, Ect0, EnqueueResult::Marked, &[], &[5]),
        ("ecn", Ect0, NotEct, EnqueueResult::Dropped(DropReason::Early), &[5], &[]),
        ("ecn harddrop", Ect0, Ect0, EnqueueResult::Dropped(DropReason::Early), &[5], &[]),
        ("headdrop", NotEct, NotEct, EnqueueResult::Queued, &[1], &[]),
        ("headdrop ecn", Ect0, NotEct, EnqueueResult::Queued, &[], &[1]),
        ("headdrop ecn", NotEct, Ect0, EnqueueResult::Marked, &[], &[5]),
        ("headdrop ecn", NotEct, NotEct, EnqueueResult::Queued, &[1], &[]),
        ("headdrop ecn harddrop", Ect0, Ect0, EnqueueResult::Queued, &[1], &[]),
    ] {
        // The first four arrive below the thresholds; only the fifth exceeds them.
        let mut slot = Slot::new(&format!("min 2000B max 3000B probability 0.000001 avpkt 1000B burst 2 {params}"));
        for ecn in [head, NotEct, NotEct, NotEct] {
            assert_eq!(slot.push(ecn), EnqueueResult::Queued);
        }
        let mut answers = vec![];
        while slot.dropped.is_empty() && slot.queue.stats().marked.packets == 0 {
            answers.push(slot.push(arrival));
            assert!(slot.next < 20, "{params}: nothing happens");
        }
        let shift = slot.next - 5;
        let renamed = |ids: &[u32]| ids.iter().map(|&id| if id == 5 { 5 + shift } else { id }).collect::<Vec<_>>();
        assert_eq!(answers.last(), Some(&answer), "{params}, {head:?}, {arrival:?}");
        assert_eq!(slot.dropped, renamed(dropped), "{params}, {head:?}, {arrival:?}");
        let left = core::iter::from_fn(|| slot.pop());
        let ce: Vec<_> = left.filter(|&(_, ecn)| ecn == Ce).map(|(id, _)| id).collect();
        assert_eq!(ce, renamed(marked), "{params}, {head:?}, {arrival:?}");
    }
}

#[test]
fn tcs_rules_for_the_thresholds_and_the_weight() {
    for (params, avg) in [
        // max 25,000, min 8333, burst (2 * 8333 + 25,000) / 3000 = 13; tc computes Wlog 3: (1 - (7/8)^13) 8 = 6.6 is at
        // least 13 + 1 - 8.3, and (1 - (3/4)^13) 4 = 3.9 is not.
        ("", 1000.0 / 8.0),
        ("min 8000B max 60000B", 1000.0 / 64.0),
        ("min 8000B max 60000B burst 13", 1000.0 / 8.0),
    ] {
        let mut slot = Slot::new(params);
        (0..2).for_each(|_| {
            slot.push(Ecn::NotEct);
        });
        slot.pop();
        assert_eq!(slot.state("avg"), avg, "{params}");
    }
    for (aqm, error) in [
        ("sfq_red min 9kB max 8kB", "min (9000 B) must be below max (8000 B); write e.g. min 8000B max 24000B"),
        (
            "sfq_red max 200kB",
            "max (200000 B) must not be above redflowlimit (100000 B); write e.g. redflowlimit 200000B",
        ),
        (
            "sfq perturb_period 10ms",
            "perturb_period (10 ms) must be 1 s or more, or zero, and needs hash perturbed; write e.g. perturb_period 10s hash perturbed",
        ),
        ("sfq divisor 64", "divisor (64) must not be less than flows (128); write e.g. divisor 128"),
    ] {
        assert_eq!(registry::parse(aqm).unwrap_err().to_string(), error);
    }
}
