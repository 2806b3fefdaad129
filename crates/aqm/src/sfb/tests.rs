use super::*;
use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::packet::Ecn::{self, Ect0, NotEct};
use crate::qdisc::{EnqueueResult, Qdisc};
use crate::registry::parse;
use crate::single::SingleQueue;
use crate::testing::{LINK, config, cx, ms, push, queue_under};
use alloc::string::ToString;
use alloc::vec::Vec;

fn queue(params: &[(&str, &str)]) -> SingleQueue<Sfb, u32> {
    queue_under(Sfb::new(&config("linux", params)), Limits::default(), LINK)
}

fn offer(queue: &mut SingleQueue<Sfb, u32>, now: Instant, flow: u32, ecn: Ecn) -> EnqueueResult {
    queue.enqueue(now, Meta::new(1500, flow).with_ecn(ecn), 0, &mut |_, _, _| {})
}

fn drain(queue: &mut SingleQueue<Sfb, u32>, now: Instant) {
    while queue.backlog().packets > 0 {
        queue.dequeue(now, &mut |_, _, _| panic!("SFB drops on arrival"));
    }
}

#[test]
fn units_and_lengths_are_tcs() {
    for (profile, params, max, target, increment, decrement) in [
        ("linux", &[][..], 25, 20, 66, 11),
        ("tc", &[], 25, 20, 33, 3),
        ("linux", &[("target", "41")], 51, 41, 66, 11),
        ("linux", &[("max", "4")], 4, 3, 66, 11),
        ("linux", &[("max", "100"), ("target", "1")], 100, 1, 66, 11),
        ("linux", &[("increment", "1"), ("decrement", "0.5")], 25, 20, 65_535, 32_768),
    ] {
        let sfb = Sfb::new(&config(profile, params));
        let BinParams { bin_size, increment: up, decrement: down } = sfb.steps;
        assert_eq!((sfb.max, bin_size, up, down), (max, target, increment, decrement), "{profile} {params:?}");
    }
}

#[test]
fn a_single_flow_raises_its_bins_from_the_21st_packet_on_and_has_25_at_most() {
    let mut queue = queue(&[]);
    for i in 1..=40u64 {
        let queued = push(&mut queue, ms(1), 1500, NotEct);
        let expected = if i <= 25 { EnqueueResult::Queued } else { EnqueueResult::Dropped(DropReason::Early) };
        assert_eq!(queued, expected, "packet {i}");
        assert_eq!(queue.aqm().p_min as u64, 66 * i.saturating_sub(20), "packet {i}");
    }
    assert_eq!(queue.aqm().drops, Drops { bucketdrop: 15, ..Drops::default() });
}

#[test]
fn from_none_to_one_it_takes_993_arrivals() {
    let mut queue = queue(&[]);
    let mut arrivals = 0;
    while queue.aqm().p_min < u16::MAX {
        let _ = push(&mut queue, ms(1), 1500, NotEct);
        arrivals += 1;
    }
    // 65,535 / 66 = 992.95, after the 20 that found shorter bins.
    assert_eq!(arrivals - 20, 993);
    // An arrival lowers the probability only if it finds the bins empty: by 11 each time.
    drain(&mut queue, ms(2));
    assert_eq!(offer(&mut queue, ms(3), 0, Ect0), EnqueueResult::Dropped(DropReason::Early));
    assert_eq!(queue.aqm().p_min, 65_524);
    assert_eq!(offer(&mut queue, ms(4), 0, Ect0), EnqueueResult::Dropped(DropReason::Early));
    assert_eq!(queue.aqm().p_min, 65_513);
}

#[test]
fn sixteen_bits_decide_and_above_a_half_some_is_dropped_whatever_it_understands() {
    // The first 16 bits of the stream from 11 are 20,725.
    for (p_min, ecn, verdict) in [
        (20_725, NotEct, Verdict::Accept),
        (20_726, NotEct, Verdict::Drop),
        (20_726, Ect0, Verdict::Mark),
        (20_726, Ecn::Ce, Verdict::Mark),
        (32_768, Ect0, Verdict::Mark),
        // Drops below 2 (p - 32,767).
        (43_129, Ect0, Verdict::Mark),
        (43_130, Ect0, Verdict::Drop),
    ] {
        let (mut sfb, mut rng) = (Sfb::new(&config("linux", &[])), Rng::from_state(11));
        assert_eq!(sfb.decide(p_min, &Meta::new(100, 0).with_ecn(ecn), &mut rng), verdict, "{p_min} {ecn:?}");
    }
}

#[test]
fn tokens_come_by_whole_jiffies_since_they_were_last_asked_for() {
    let mut sfb = Sfb::new(&config("linux", &[("penalty_burst", "3"), ("jiffy", "4 ms")]));
    for (at_ms, limited) in [
        (0, false),
        (0, false),
        (0, false),
        (0, true),
        (99, true),   // 24 jiffies of 4 ms are less than a token of 0.1 s and are lost
        (195, true),  // so are 48 - 24
        (295, false), // 73 - 48 = 25 are one
        (299, true),
        (20_000, false), // at most ten seconds count, and three tokens
        (20_000, false),
        (20_000, false),
        (20_000, true),
    ] {
        let jiffies = sfb.clock.jiffies(ms(at_ms));
        assert_eq!(sfb.rate_limit(jiffies), limited, "{at_ms} ms");
    }
    for (rate, burst) in [("0", "20"), ("10", "0")] {
        let mut none = Sfb::new(&config("linux", &[("penalty_rate", rate), ("penalty_burst", burst)]));
        assert!(none.rate_limit(1_000_000), "{rate} {burst}");
    }
}

/// Bins of one packet are long, and two steps make a flow inelastic.
const HASTY: [(&str, &str); 6] = [
    ("target", "1"),
    ("max", "60000"),
    ("increment", "0.5"),
    ("rehash", "100 ms"),
    ("db", "40 ms"),
    ("penalty_burst", "1000"),
];

#[test]
fn slots_change_places_after_a_warm_up_by_what_does_not_listen() {
    let mut queue = queue(&HASTY);
    let state = |queue: &SingleQueue<Sfb, u32>| (queue.aqm().slot, queue.aqm().double_buffering);
    // Flow 7 is inelastic at its third packet, flow 8 sends one packet only.
    for flow in [7, 8, 7, 7, 7] {
        let _ = offer(&mut queue, ms(0), flow, NotEct);
    }
    let p = |queue: &mut SingleQueue<Sfb, u32>, now, flow| {
        let _ = offer(queue, now, flow, NotEct);
        queue.aqm().p_min
    };
    assert_eq!((p(&mut queue, ms(60), 7), state(&queue)), (u16::MAX, (0, false)), "not yet after 100 - 40 ms");
    assert_eq!((p(&mut queue, ms(61), 7), state(&queue)), (u16::MAX, (0, true)));
    let _ = offer(&mut queue, ms(62), 7, NotEct);
    let counted: Vec<bool> = queue.aqm().hashes.iter().map(|hashes| hashes[1] != 0).collect();
    assert!(counted.ends_with(&[true, true]) && counted.iter().filter(|&&both| both).count() == 2, "{counted:?}");
    assert_eq!((p(&mut queue, ms(100), 7), state(&queue)), (u16::MAX, (0, true)));
    let keys = queue.aqm().keys;
    // After 101 ms slot 1 judges, except for the packet that triggers the swap: slot 0 under its new key has no bins
    // for it.
    assert_eq!((p(&mut queue, ms(101), 7), state(&queue)), (0, (1, false)));
    // Slot 1 has bins for flow 7 from the warm-up, none for flow 8.
    assert_eq!(p(&mut queue, ms(101), 7), u16::MAX);
    assert_eq!(p(&mut queue, ms(101), 8), 0);
    let after = queue.aqm().keys;
    assert!(after.map(|keys| keys[1]) == keys.map(|keys| keys[1]), "the key that the warm-up used");
    assert!(after.map(|keys| keys[0]) != keys.map(|keys| keys[0]), "the slot that is left gets another one");
    // The probabilities of slot 0 come back with it.
    drain(&mut queue, ms(150));
    let learnt = queue.aqm().bins[0].summary();
    let _ = offer(&mut queue, ms(300), 9, NotEct);
    assert_eq!((state(&queue), learnt.1), ((0, false), u16::MAX));
    assert_eq!(queue.aqm().bins[0].summary().1, u16::MAX);
}

#[test]
fn without_rehash_or_warm_up_nothing_turns() {
    for (rehash, db, slot) in [("0 s", "0 s", 0), ("100 ms", "0 s", 1)] {
        let mut queue = queue(&[("rehash", rehash), ("db", db)]);
        for at in 0..=101 {
            let _ = offer(&mut queue, ms(at), 1, NotEct);
            assert!(!queue.aqm().double_buffering, "{at} ms");
        }
        assert_eq!(queue.aqm().slot, slot, "{rehash}");
    }
}

#[test]
fn the_stream_is_drawn_from_in_the_order_that_is_written_down() {
    let (mut sfb, mut rng) = (Sfb::new(&config("linux", &HASTY)), Rng::from_state(5));
    let mut expected = Rng::from_state(5);
    let keys = [drawn(&mut expected), drawn(&mut expected)];
    let arrive = |sfb: &mut Sfb, rng: &mut Rng, at| {
        sfb.enqueue(&mut cx(ms(at), rng, Backlog::default(), LINK), &Meta::new(1500, 3), &mut EmptyQueue)
    };
    assert_eq!(arrive(&mut sfb, &mut rng, 1), Verdict::Accept);
    expected.next_u64();
    assert_eq!((sfb.keys, &rng), (Some(keys), &expected), "two keys, and 16 bits for the verdict");
    assert_eq!(arrive(&mut sfb, &mut rng, 2), Verdict::Accept);
    expected.next_u64();
    assert_eq!(rng, expected);
    // The queue is empty, so the bins stay empty. At the swap a key is drawn for the inactive slot.
    assert_eq!(arrive(&mut sfb, &mut rng, 102), Verdict::Accept);
    let fresh = drawn(&mut expected);
    expected.next_u64();
    assert_eq!((sfb.keys, &rng), (Some([fresh, keys[1]]), &expected));
}

/// Empty queue.
struct EmptyQueue;

impl Fifo for EmptyQueue {
    fn len(&self) -> usize {
        0
    }
    fn bytes(&self) -> u64 {
        0
    }
    fn total_backlog(&self) -> Backlog {
        Backlog::default()
    }
    fn meta(&self, _: usize) -> Option<Meta> {
        None
    }
    fn mark(&mut self, _: usize, _: DropReason) -> bool {
        false
    }
    fn drop(&mut self, _: usize, _: DropReason) {}
    fn pop(&mut self) -> Option<PoppedPacket> {
        None
    }
}

#[test]
fn every_packet_is_counted_in_eight_bins_of_its_slots_while_it_waits() {
    let limits = Limits::packets(40);
    let mut queue = queue_under(Sfb::new(&config("linux", &HASTY)), limits, LINK);
    let mut load = Rng::from_state(9);
    let mut both = 0;
    for step in 0..20_000u64 {
        let now = Instant::from_nanos(step * 700_000);
        let _ = offer(&mut queue, now, load.below(5) as u32, Ecn::ALL[load.below(4) as usize]);
        if load.uniform() < 0.6 {
            queue.dequeue(now, &mut |_, _, _| panic!("SFB drops on arrival"));
        }
        let sfb = queue.aqm();
        assert_eq!(sfb.hashes.len(), queue.backlog().packets as usize);
        for slot in 0..2 {
            let counted = sfb.hashes.iter().filter(|hashes| hashes[slot] != 0).count();
            assert_eq!(sfb.bins[slot].lengths(), [counted; 8], "step {step}, slot {slot}");
        }
        both += sfb.hashes.iter().filter(|hashes| !hashes.contains(&0)).count();
    }
    assert!(both > 100, "some are counted in both: {both}");
    assert!(queue.aqm().drops.queuedrop > 0 && queue.aqm().drops.marked > 0, "{:?}", queue.aqm().drops);
}

#[test]
fn under_flows_what_makes_room_is_counted_out() {
    let config = parse("fq(sfb max 60000 rehash 0s) limit 10 hash perfect").expect("flow queueing");
    let host = crate::qdisc::Host { link: LINK, rng: Rng::from_state(1) };
    let mut queue = config.build::<u32>(Limits::default(), host);
    let mut longest = 0.0f64;
    for i in 0..500 {
        queue.enqueue(ms(i), Meta::new(1500, 0), 0, &mut |_, _, _| {});
        queue.observe(&mut |name, value| {
            if name == "maxqlen" {
                longest = longest.max(value)
            }
        });
    }
    assert!(longest <= 11.0, "no bin is longer than the queue: {longest}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (text, error) in [
        ("sfb target 30 max 25", "target (30) must not exceed max (25); write e.g. target 20 max 25"),
        ("sfb rehash 50s", "db (60 s) must be below rehash (50 s); write e.g. rehash 600s db 60s"),
        ("sfb rehash 600", r#"rehash: "600" has no unit; write e.g. "5 ms""#),
        ("sfb db -1s", r#"db: "-1s" is negative; write e.g. "5 ms""#),
        ("sfb max 70000", "max = 70000 is out of range; from 0 to 65535"),
        ("sfb target 1.5", r#"target: "1.5" is not a whole number"#),
        ("sfb increment 1.1", "increment = 1.1 is out of range; from 0 to 1"),
        ("sfb decrement -1", "decrement = -1 is out of range; from 0 to 1"),
        ("sfb penalty_rate 10pps", r#"penalty_rate: "10pps" is not a whole number"#),
        ("sfb penalty_burst 2000000", "penalty_burst = 2000000 is out of range; from 0 to 1000000"),
        ("sfb jiffy 20ms", "jiffy = 20 ms is out of range; from 1 ms to 10 ms"),
        ("sfb created 1", r#"created: "1" has no unit; write e.g. "5 ms""#),
        ("sfb limit 1000", r#"unknown parameter "limit"; did you mean "db"?"#),
    ] {
        let found = parse(text).expect_err(text).to_string();
        assert!(
            found == error || text.contains("limit") && found.starts_with("unknown parameter \"limit\""),
            "{text}: {found}"
        );
    }
}
