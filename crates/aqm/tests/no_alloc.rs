//! A single queue does not allocate after construction; any other queue not after it has reached its maximum length.
//!
//! Runs without the test harness, whose second thread may allocate during the count.

use sojourn_aqm::conformance::case::{SHAPERS, TREES};
use sojourn_aqm::registry::{ALGORITHMS, QueueLayout, parse};
use sojourn_aqm::{Duration, Ecn, Host, Instant, Limits, Link, Meta, Qdisc, Rate, Rng, SingleQueue, codel};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const LINK: Link = Link::new(Rate::from_bps(12_000_000), 1500);

fn main() {
    let profiles = ALGORITHMS.iter().flat_map(|algorithm| algorithm.spellings());
    for spelling in profiles.chain(SHAPERS.iter().chain(TREES).map(|tree| tree.to_string())) {
        let config = parse(&spelling).expect("it is valid");
        let algorithm = config.algorithm();
        for limits in [Limits::packets(300), Limits::bytes(3_000_000)] {
            let mut queue = config.build::<u32>(limits, Host { link: LINK, rng: Rng::from_state(1) });
            let mut now = Instant::ZERO;
            let mut dropped = 0u64;
            // Twice the link's rate, so that the queue fills, is managed and overflows.
            let mut run = |packets: u32| {
                for id in 0..packets {
                    let meta = Meta { dscp: (id % 64) as u8, hosts: (id % 8, 1), ..Meta::new(1500, id % 8) };
                    let meta = meta.with_ecn(if id % 3 == 0 { Ecn::Ect0 } else { Ecn::NotEct });
                    queue.enqueue(now, meta, id, &mut |_, _, _| dropped += 1);
                    if id % 2 == 0 {
                        now += Duration::from_millis(1);
                        queue.dequeue(now, &mut |_, _, _| dropped += 1);
                    }
                }
            };
            // A single queue has this capacity from the start.
            if !matches!(algorithm.queues, QueueLayout::One | QueueLayout::Two) || limits.packets.is_none() {
                run(10_000);
            }
            let region = Region::new(ALLOCATOR);
            run(10_000);
            let change = region.change();
            assert_eq!((change.allocations, change.reallocations), (0, 0), "{spelling}, {limits}");
            assert!(dropped > 1_000, "{spelling} is overloaded");
        }
    }
    with_room();
    println!("nothing is allocated per packet: ok");
}

/// A limit in bytes implies no number of packets: the capacity can be given.
fn with_room() {
    let host = Host { link: LINK, rng: Rng::from_state(1) };
    let codel = codel::Codel::new(&codel::Config::default());
    let mut queue = SingleQueue::with_capacity(codel, Limits::bytes(3_000_000), host, 2_000);
    let region = Region::new(ALLOCATOR);
    for id in 0..3_000u32 {
        queue.enqueue(Instant::ZERO, Meta::new(1500, 0), id, &mut |_, _, _| {});
    }
    assert_eq!(queue.backlog().packets, 2_000);
    let change = region.change();
    assert_eq!((change.allocations, change.reallocations), (0, 0), "with_capacity");
}
