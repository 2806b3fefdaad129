use super::table::jhash_3words;
use crate::aqm::{DropReason, Link};
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{Dequeued, Enqueued, Host, Qdisc};
use crate::rate::Rate;
use crate::registry;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

const LINK: Link = Link { rate: Rate::from_bps(12_000_000), mtu: 1514 };

/// A discipline under test; packets are numbered as they come.
struct Bench {
    queue: Box<dyn Qdisc<u32> + Send>,
    now: Instant,
    next: u32,
    dropped: Vec<(u32, u32)>,
}

impl Bench {
    fn new(aqm: &str) -> Self {
        Self::seeded(aqm, 1)
    }

    fn seeded(aqm: &str, seed: u64) -> Self {
        let config = registry::parse(aqm).expect("an AQM");
        let queue = config.build(Limits::default(), Host { link: LINK, rng: Rng::from_state(seed) });
        Self { queue, now: Instant::ZERO, next: 0, dropped: Vec::new() }
    }

    fn push(&mut self, flow: u32, len: u32) -> Enqueued {
        self.push_meta(Meta::new(len, flow))
    }

    fn push_meta(&mut self, meta: Meta) -> Enqueued {
        self.next += 1;
        let dropped = &mut self.dropped;
        self.queue.enqueue(self.now, meta, self.next, &mut |meta: Meta, id, reason| {
            assert_eq!(reason, DropReason::Limit);
            dropped.push((meta.flow, id));
        })
    }

    /// The next packet: its flow, its number and its size.
    fn pop(&mut self) -> Option<(u32, u32, u32)> {
        match self.queue.dequeue(self.now, &mut |_, _, _| {}) {
            Dequeued::Packet(meta, id) => Some((meta.flow, id, meta.len)),
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
    // Multiples of 8, as SFQ counts.
    let sizes = [40, 576, 1000, 1504, 304];
    for aqm in
        ["fq(droptail)", "drr", "sfq limit 10000 depth 10000", "fq scheduler ns2", "fq_codel target 1s interval 10s"]
    {
        for quantum in [300u64, 1514, 9000] {
            let mut bench = Bench::new(&format!("{aqm} hash perfect quantum {quantum}B"));
            let mut sent = [0u64; 5];
            for flow in (0..5).cycle().take(100) {
                bench.push(flow, sizes[flow as usize]);
            }
            for _ in 0..20_000 {
                let (flow, _, len) = bench.pop().expect("saturated");
                bench.push(flow, sizes[flow as usize]);
                sent[flow as usize] += len as u64;
                let (least, most) = (sent.iter().min().unwrap(), sent.iter().max().unwrap());
                // fq.md §6: one quantum and one packet; SFQ's credit is in units of 8 bytes, so its quantum is.
                assert!(most - least <= quantum.next_multiple_of(8) + 1504, "{aqm} {quantum}: {sent:?}");
            }
            let [sum, squares] = [1, 2].map(|n| sent.iter().map(|&bytes| (bytes as f64).powi(n)).sum::<f64>());
            assert!(sum * sum / (5.0 * squares) > 0.999, "{aqm} {quantum}: Jain's index of {sent:?}");
        }
    }
}

#[test]
fn packets_take_turns_where_the_quantum_is_zero() {
    let mut bench = Bench::new("sfqcodel");
    for (flow, len) in [(1, 1500), (2, 40), (3, 600)] {
        (0..4).for_each(|_| {
            bench.push(flow, len);
        });
    }
    assert_eq!(bench.flows(12), [1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3]);
}

#[test]
fn new_bins_of_sfqcodel_go_before_the_others_and_behind_new_ones() {
    let mut bench = Bench::new("sfqcodel hash modulo");
    for flow in [1, 2] {
        (0..4).for_each(|_| {
            bench.push(flow, 1000);
        });
    }
    assert_eq!(bench.flows(2), [1, 2]);
    bench.push(3, 1000);
    bench.push(4, 1000);
    assert_eq!(bench.flows(4), [3, 4, 1, 2]);
    // An empty bin keeps its place for a turn: it is not new again by a packet that comes in between.
    bench.push(4, 1000);
    assert_eq!(bench.flows(3), [4, 1, 2]);
}

#[test]
fn drr_plus_plus_serves_new_flows_first_and_makes_the_emptied_wait_among_the_old() {
    let mut bench = Bench::new("fq hash perfect quantum 1000B");
    (0..6).for_each(|_| {
        bench.push(1, 1000);
    });
    assert_eq!(bench.flows(2), [1, 1], "alone");
    bench.push(2, 1000);
    assert_eq!(bench.flows(1), [2], "new before old");
    // Flow 2 has used up its credit as a new flow: it is an old one now, as flow 1 without credit before it.
    bench.push(2, 100);
    assert_eq!(bench.flows(1), [2]);
    assert_eq!((bench.state("new_flows"), bench.state("old_flows")), (0.0, 2.0));
    // A flow of single small packets, served as a new one and empty, does not become new again at once.
    bench.push(3, 100);
    assert_eq!(bench.flows(1), [3]);
    assert_eq!(bench.flows(1), [1], "flow 3 is found empty and goes to the old ones");
    bench.push(3, 100);
    assert_eq!((bench.state("new_flows"), bench.state("new_flow_count")), (0.0, 3.0));
}

#[test]
fn a_flow_that_returns_has_one_quantum_whatever_it_left() {
    for (aqm, scheduler) in [("drr", "drr"), ("fq", "drr++"), ("sfq", "sfq")] {
        let mut bench =
            Bench::new(&format!("{aqm} scheduler {scheduler} hash perfect quantum 1000B limit 10000 depth 10000"));
        // Flow 1 comes and goes a hundred times with a small packet each, and leaves credit behind.
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
fn a_batch_leaves_the_head_of_the_fattest_flow_and_only_it() {
    let mut bench = Bench::new("fq_codel@linux limit 100 hash modulo");
    for i in 0..20 {
        bench.push(5, 100);
        bench.push(7, 1500);
        if i % 2 == 0 {
            bench.push(9, 1400);
            bench.push(9, 1400);
        }
    }
    (0..40).for_each(|_| {
        bench.push(5, 100);
    });
    assert!(bench.dropped.is_empty());
    assert_eq!(bench.push(5, 100), Enqueued::Queued, "another flow lost packets");
    // Flow 7 has 30,000 bytes, the others less, though more packets: half of it goes, from the head.
    let lost: Vec<_> = bench.dropped.iter().map(|&(flow, _)| flow).collect();
    assert_eq!(lost, [7; 10]);
    assert!(bench.dropped.is_sorted_by_key(|&(_, id)| id) && bench.dropped[0].1 == 2);
    assert_eq!(bench.queue.backlog().packets, 91);
    // Flow 7's CoDel counts them; the others' do not.
    let counts: Vec<_> = (0..30).map(|_| (bench.pop().map(|(flow, ..)| flow), bench.state("count"))).collect();
    assert!(counts.contains(&(Some(7), 10.0)) && !counts.contains(&(Some(5), 10.0)), "{counts:?}");
}

#[test]
fn a_batch_ends_at_drop_batch_and_before_4_7_at_one() {
    for (aqm, lost, count) in [("fq_codel@linux drop_batch 3", 3, 3.0), ("fq_codel@linux-3.10", 1, 0.0)] {
        let mut bench = Bench::new(&format!("{aqm} limit 20"));
        (0..20).for_each(|_| {
            bench.push(1, 1000);
        });
        bench.push(1, 1000);
        let ids: Vec<_> = bench.dropped.iter().map(|&(_, id)| id).collect();
        assert_eq!(ids, (1..=lost).collect::<Vec<_>>(), "{aqm}");
        bench.pop();
        assert_eq!(bench.state("count"), count, "{aqm}");
    }
}

#[test]
fn of_equally_fat_flows_the_first_queue_loses() {
    let mut bench = Bench::new("fq_codel@linux-3.10 hash modulo limit 6");
    for flow in [9, 4, 6, 9, 4, 6] {
        bench.push(flow, 500);
    }
    bench.push(2, 100);
    assert_eq!(bench.dropped, [(4, 2)]);
}

#[test]
fn an_arrival_that_is_dropped_itself_is_said_to_be() {
    let mut bench = Bench::new("fq_codel memory_limit 3000B");
    bench.push(1, 1000);
    assert_eq!(bench.push(2, 2500), Enqueued::Dropped(DropReason::Limit), "the fattest flow is the new one");
    assert_eq!(bench.dropped, [(2, 2)]);
    assert_eq!(bench.push(3, 3001), Enqueued::Dropped(DropReason::Limit), "it never fits");
    assert_eq!((bench.dropped.len(), bench.queue.backlog().packets), (2, 1), "and nobody else had to go");
}

#[test]
fn sfq_makes_room_at_the_tail_of_the_longest_or_at_its_head() {
    for (params, id) in [("", 4), ("headdrop", 2)] {
        let mut bench = Bench::new(&format!("sfq limit 4 hash modulo {params}"));
        for flow in [1, 2, 2, 2] {
            bench.push(flow, 1000);
        }
        assert_eq!(bench.push(3, 1000), Enqueued::Queued);
        assert_eq!(bench.dropped, [(2, id)], "{params}");
    }
    // Of equals, the one that became so long last; where all have one packet, the one whose turn is next.
    let mut bench = Bench::new("sfq limit 4 hash modulo");
    for flow in [1, 2, 2, 1] {
        bench.push(flow, 1000);
    }
    bench.push(3, 1000);
    bench.push(4, 1000);
    bench.push(5, 1000);
    assert_eq!(bench.dropped, [(1, 4), (2, 3), (1, 1)]);
    assert_eq!(bench.flows(9), [2, 3, 4, 5]);
}

#[test]
fn sfq_bounds_each_flow_by_its_depth() {
    for (params, id) in [("", 3), ("headdrop", 1)] {
        let mut bench = Bench::new(&format!("sfq depth 2 {params}"));
        (0..3).for_each(|_| {
            bench.push(1, 1000);
        });
        assert_eq!(bench.dropped, [(1, id)], "{params}");
        assert_eq!(bench.push(2, 1000), Enqueued::Queued);
    }
}

#[test]
fn sfqcodel_drops_the_tail_of_the_longest_bin_and_spares_the_last_victim() {
    let mut bench = Bench::new("sfqcodel hash modulo limit 6");
    for flow in [1, 2, 1, 2, 1, 2] {
        bench.push(flow, 1000);
    }
    bench.push(3, 1000);
    bench.push(2, 1000);
    bench.push(3, 1000);
    // Equal: the higher number; then bin 1 is longest; then both have three again after bin 2's arrival.
    assert_eq!(bench.dropped, [(2, 6), (1, 5), (2, 8)]);
}

#[test]
fn collisions_are_as_probable_as_with_random_numbers() {
    let runs = 3000;
    for (flows, expected) in [(4, 0.994), (16, 0.889), (64, 0.134)] {
        let mut apart = 0;
        let mut sharing = 0;
        for seed in 0..runs {
            let mut bench = Bench::seeded("fq", seed);
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
            // 64 - 1024 (1 - (1 - 1/1024)^64) flows find their queue taken; with those there before them, 3.8 share.
            let taken = sharing as f64 / runs as f64;
            assert!((taken - 1.93).abs() < 0.1, "{taken}");
        }
    }
}

#[test]
fn without_collisions_flows_come_and_go_in_as_many_places_as_asked_for() {
    let mut bench = Bench::new("fq hash perfect flows 8");
    // Ten flows at once need ten places; a hundred thousand that follow each other do not.
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
            let mut bench = Bench::new(&format!("fq isolation {isolation} hash {hash} flows 65536"));
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
    let mut bench = Bench { queue: Box::new(by_code_point), ..Bench::new("fq") };
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
        let mut bench = Bench::new(aqm);
        let mut load = Rng::from_state(3);
        let mut seen = vec![];
        let mut drops = vec![];
        for id in 0..20_000 {
            let flow = load.below(6) as u32;
            let ecn = if flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
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
    let mut bench = Bench::new("fq_pie hash perfect");
    let mut dropped = [0; 3];
    for id in 0..40_000u32 {
        // Flow 1 offers what the link carries; flow 2 a twentieth; flow 0 comes and goes.
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
    // Overload drives p up; ten idle seconds let it decay, by 1/64 every 15 ms, before the flow returns.
    let p_after = |idle_ms: i64| {
        let mut bench = Bench::new("fq(pie activation always)");
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
