use super::*;
use crate::packet::Ecn;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc};
use crate::single::SingleQueue;
use crate::time::Instant;
use alloc::vec::Vec;

const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);
/// The average follows the queue at once: a weight of 1/2.
const QUICK: Config = Config {
    min: 4,
    max: 40,
    avpkt: Bytes(1000),
    burst: 4,
    bandwidth: Rate::from_bps(0),
    probability: 1e-6,
    ecn: false,
    harddrop: false,
};

fn queue(config: Config, limits: Limits) -> SingleQueue<Choke, u32> {
    SingleQueue::new(Choke::new(&config), limits, Host { link: LINK, rng: Rng::from_state(1) })
}

fn push(queue: &mut SingleQueue<Choke, u32>, id: u32, flow: u32, dropped: &mut Vec<u32>) -> EnqueueResult {
    let meta = Meta::new(1000, flow).with_ecn(Ecn::Ect0);
    queue.enqueue(Instant::ZERO, meta, id, &mut |_, id, _| dropped.push(id))
}

#[test]
fn both_packets_of_a_flow_are_dropped_above_min() {
    let mut queue = queue(QUICK, Limits::packets(100));
    let mut dropped = Vec::new();
    let below: Vec<_> = (0..5).map(|id| push(&mut queue, id, 7, &mut dropped)).collect();
    assert_eq!(below, [EnqueueResult::Queued; 5], "the average is still at most min");
    while queue.aqm().matched == 0 {
        push(&mut queue, 6, 7, &mut dropped);
    }
    assert_eq!(dropped.len(), 2, "{dropped:?}");
    assert_eq!(dropped[1], 6, "the queued one is dropped first, then the arrival");
    assert_eq!(queue.stats().dropped[DropReason::Early as usize].packets, 2);
    // A packet of another flow does not match.
    let before = queue.backlog().packets;
    assert_eq!(push(&mut queue, 99, 8, &mut dropped), EnqueueResult::Queued);
    assert_eq!((queue.backlog().packets, dropped.len()), (before + 1, 2));
}

#[test]
fn an_average_at_min_is_not_above_it() {
    // With a weight of 1/2 the halves of the average are 22, 12, 8, 7 and then 8: exactly min.
    let choke = Choke { vars: Vars { qavg: 44, ..Vars::new() }, ..Choke::new(&QUICK) };
    let mut queue = SingleQueue::new(choke, Limits::packets(100), Host { link: LINK, rng: Rng::from_state(1) });
    for (id, qavg, qcount) in [(0, 22, 0), (1, 12, 1), (2, 8, -1), (3, 7, -1), (4, 8, -1)] {
        assert_eq!(push(&mut queue, id, id, &mut Vec::new()), EnqueueResult::Queued);
        assert_eq!((queue.aqm().vars.qavg, queue.aqm().vars.qcount), (qavg, qcount), "packet {id}");
    }
}

#[test]
fn beyond_max_every_arrival_is_dropped_or_marked() {
    for (ecn, harddrop, expected) in [
        (false, false, EnqueueResult::Dropped(DropReason::Early)),
        (true, false, EnqueueResult::Marked),
        (true, true, EnqueueResult::Dropped(DropReason::Early)),
    ] {
        let mut queue = queue(Config { ecn, harddrop, max: 20, ..QUICK }, Limits::packets(1000));
        let mut dropped = Vec::new();
        // Each packet belongs to another flow.
        let last = (0..200).map(|id| push(&mut queue, id, id, &mut dropped)).last();
        assert_eq!(last, Some(expected), "ecn {ecn}, harddrop {harddrop}");
        assert_eq!(queue.aqm().matched, 0);
        assert_eq!(queue.aqm().vars.qcount, -1);
    }
}

#[test]
fn places_and_holes_as_in_linuxs_array() {
    // Differs: Linux's ring counts packets without the holes that dropped ones leave, so its tail can reach its head
    // and packets are lost. Random comparisons leave such patterns out and count them.
    let mut slots = Slots::default();
    (0..6).for_each(|_| slots.push());
    slots.remove(2);
    slots.remove(4);
    assert_eq!((slots.head, slots.tail), (0, 6));
    assert_eq!([0, 1, 3, 5].map(|slot| slots.index(slot)), [0, 1, 2, 3]);
    slots.remove(1);
    slots.remove(0); // removes the holes behind the head too
    assert_eq!((slots.head, slots.holes.len()), (3, 1));
    slots.remove(5);
    assert_eq!((slots.tail, slots.holes.len()), (6, 2), "a hole at the tail stays");
    slots.remove(3);
    assert_eq!((slots.head, slots.tail), (6, 6));
    assert_eq!(slots.draw(&mut Rng::from_state(1)), None);
}

#[test]
fn three_draws_of_a_hole_take_the_head() {
    let mut slots = Slots::default();
    (0..1000).for_each(|_| slots.push());
    (1..1000).for_each(|slot| slots.remove(slot));
    let mut rng = Rng::from_state(1);
    assert_eq!(slots.draw(&mut rng), Some(0));
    let mut three = Rng::from_state(1);
    (0..3).for_each(|_| assert!((random32(&mut three) as u64 * 1000) >> 32 > 0));
    assert_eq!(rng, three, "after three draws");
}

#[test]
fn what_does_not_fit_leaves_no_place() {
    let mut queue = queue(QUICK, Limits::packets(3));
    let mut dropped = Vec::new();
    for id in 0..4 {
        let expected = if id < 3 { EnqueueResult::Queued } else { EnqueueResult::Dropped(DropReason::Limit) };
        assert_eq!(push(&mut queue, id, id, &mut dropped), expected);
    }
    assert!(matches!(queue.dequeue(Instant::ZERO, &mut |_, _, _| {}), DequeueResult::Packet(_, 0)));
    assert_eq!((queue.aqm().slots.head, queue.aqm().slots.tail), (1, 3));
}

#[test]
fn thresholds_follow_from_the_limit() {
    let free = Config { min: 0, max: 0, burst: 0, ..QUICK };
    for (limits, min, max) in [
        (Limits::packets(1000), 83, 250),
        (Limits::default(), 83, 250),
        (Limits::bytes(150_000), 8, 25),
        (Limits { bytes: Some(150_000), ..Limits::packets(40) }, 3, 10),
    ] {
        let (params, _) = params(&free, limit(&limits, LINK), LINK);
        assert_eq!((params.qth_min >> params.wlog, params.qth_max >> params.wlog), (min, max), "{limits}");
    }
}

/// A reserved array without room for another hole renumbers its slots; the packets keep their order.
#[test]
fn holes_beyond_the_reserved_room_are_squeezed_out() {
    let mut slots = Slots { head: 5, tail: 13, most_holes: Some(2), ..Slots::default() };
    slots.remove(6);
    slots.remove(8);
    assert_eq!([5, 7, 9, 10, 11, 12].map(|slot| slots.index(slot)), [0, 1, 2, 3, 4, 5]);
    slots.remove(10);
    assert_eq!((slots.head, slots.tail), (5, 11));
    assert_eq!(slots.holes, [8], "the fourth of six packets");
    assert_eq!([5, 6, 7, 9, 10].map(|slot| slots.index(slot)), [0, 1, 2, 3, 4]);
}
