//! Behaviour that several versions of CoDel share or differ in, through the public interface.

use super::testing::{MockFifo, SaturatedLink, dequeue, ms, state};
use super::{Codel, Config};
use crate::aqm::DropReason;
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, Qdisc};
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::testing;
use crate::time::Instant;
use alloc::vec;
use alloc::vec::Vec;

/// The configuration of `codel@profile` with `params` set.
fn config(profile: &str, params: &[(&str, &str)]) -> Config {
    testing::config(profile, params)
}

/// Above target from 5 ms on, so ok to drop from 105 ms on; then the control law, rounded up to the next departure: 105
/// + 100 = 205, + 70.71 = 275.71, + 57.74 = 333.45, + 50 = 383.45, + 44.72 = 428.17, + 40.82 = 468.99 ms.
#[test]
fn drop_times_under_constant_overload_are_those_by_hand() {
    let law = [105, 205, 276, 334, 384, 429, 469];
    let one_interval_later = [205, 305, 376, 434, 484, 529, 569];
    // Linux, in ticks of 1024 ns: 102,539 + 97,654 (count 1), + 48,829 (2), + 54,931 (3), + 47,635, ….
    let linux = [105, 205, 255, 312, 361, 405, 445];
    for (profile, params, expected) in [
        ("rfc8289", &[][..], law),
        ("draft00", &[], law),
        ("ns2-2012", &[], law),
        ("ns2-patch", &[], law),
        ("hardlimit-ns2", &[("max_delay", "99 s")], law),
        ("act", &[], law),
        ("acm2012", &[], one_interval_later),
        ("hardlimit", &[("max_delay", "99 s")], one_interval_later),
        ("linux", &[], linux),
        ("linux-3.10", &[], linux),
        ("count-n", &[("n", "1")], [105, 205, 305, 405, 505, 605, 705]),
        ("count-n", &[("n", "4")], [105, 155, 205, 255, 305, 355, 405]),
        ("rfc8289", &[("interval", "50 ms")], [55, 105, 141, 170, 195, 217, 237]),
        ("rfc8289", &[("target", "20 ms")], [120, 220, 291, 349, 399, 444, 484]),
    ] {
        let config = config(profile, params);
        let drops = SaturatedLink::new(&config, Ecn::NotEct).signals(710);
        assert_eq!(drops[..7], expected, "{profile} {params:?}");
        // With ECN the same instants are marks, and nothing is dropped.
        let mut marking = SaturatedLink::new(&Config { ecn: true, ..config }, Ecn::Ect0);
        assert_eq!(marking.signals(710)[..7], expected, "{profile} {params:?} ecn");
        assert_eq!(marking.queue.stats().dropped_total().packets, 0);
    }
}

#[test]
fn the_next_drop_is_scheduled_from_the_last_one_not_from_now() {
    for (profile, schedule_ms) in [("rfc8289", 205.0 + 70.710678), ("linux", (200_193 + 48_829) as f64 * 1.024e-3)] {
        let mut link = SaturatedLink::new(&config(profile, &[]), Ecn::NotEct);
        link.signals(105);
        assert_eq!(link.dequeue(ms(214.0)), (1, false), "{profile}: nine milliseconds late");
        let drop_next = state(link.queue.aqm(), "drop_next") * 1e3;
        assert!((drop_next - schedule_ms).abs() < 1e-5, "{profile}: {drop_next}");
    }
}

#[test]
fn a_late_dequeue_catches_up_with_drops_but_marks_once() {
    // Six drop times lie between the entry and `late`, see above.
    for (profile, entry, late) in
        [("rfc8289", 105, 470.0), ("draft00", 105, 470.0), ("linux", 105, 470.0), ("acm2012", 205, 570.0)]
    {
        let mut dropping = SaturatedLink::new(&config(profile, &[]), Ecn::NotEct);
        dropping.signals(entry);
        assert_eq!(dropping.dequeue(ms(late)), (6, false), "{profile}");
        let mut marking = SaturatedLink::new(&config(profile, &[("ecn", "on")]), Ecn::Ect0);
        marking.signals(entry);
        assert_eq!(marking.dequeue(ms(late)), (0, true), "{profile}");
        assert_eq!(marking.queue.stats().marked.packets, 2, "{profile}: one at entry, one late");
        assert_eq!(state(marking.queue.aqm(), "count"), 2.0, "{profile}: and one step of the law");
    }
}

#[test]
fn a_small_backlog_protects_its_packet() {
    use DropReason::Late;
    // Heads of 1500 bytes with a sojourn time of 10 ms, at 10 ms and at 220 ms, with `behind` bytes left in the queue.
    for (profile, behind, dropped) in [
        ("rfc8289", 1500, vec![]),
        ("rfc8289", 1501, vec![Late]),
        ("linux", 1500, vec![]),
        ("linux", 1501, vec![Late]),
        ("linux-3.10", 1500, vec![]),
        ("linux-3.10", 1501, vec![Late]),
        ("draft00", 1500, vec![]),
        ("draft00", 1501, vec![Late]),
        ("act", 1500, vec![]),
        ("act", 1501, vec![Late]),
        ("acm2012", 1499, vec![]),
        ("acm2012", 1500, vec![Late]),
        ("hardlimit", 1499, vec![]),
        ("hardlimit", 1500, vec![Late]),
        ("ns2-patch", 1500, vec![]),
        ("ns2-patch", 1501, vec![Late]),
    ] {
        let mut codel = Codel::new(&config(profile, &[]));
        for now in [10.0, 220.0] {
            // T8: the bytes of other flows count as backlog too.
            let mut line = MockFifo { others: behind - 1000, ..MockFifo::of(&[now - 10.0, now]) };
            line.packets[1].len = 1000;
            dequeue(&mut codel, now, &mut line).expect("the second packet is fine");
            assert_eq!(
                line.dropped,
                if now > 100.0 { &dropped[..] } else { &[] },
                "{profile}, {behind} bytes at {now} ms"
            );
        }
    }
}

#[test]
fn the_largest_packet_is_the_links_or_the_largest_seen() {
    // Heads of 300 bytes with 400 bytes behind them.
    for (profile, above) in [
        ("rfc8289", false),
        ("linux", false),
        ("draft00", false),
        ("acm2012", false),
        ("hardlimit", false),
        ("ns2-2012", true),
        ("ns2-patch", true),
        ("act", true),
        ("linux-3.10", true),
    ] {
        let mut codel = Codel::new(&config(profile, &[]));
        let mut line = MockFifo { others: 400, ..MockFifo::of(&[0.0]) };
        line.packets[0].len = 300;
        dequeue(&mut codel, 10.0, &mut line);
        assert_eq!(state(&codel, "first_above_time") > 0.0, above, "{profile}");
    }
}

#[test]
fn a_head_is_ok_to_drop_at_first_above_time_and_in_linux_after_it() {
    const TICK_MS: f64 = 1.024e-3;
    for (profile, ticks_after, drops) in
        [("rfc8289", -1.0, 0), ("rfc8289", 0.0, 1), ("linux", 0.0, 0), ("linux", 0.9, 0), ("linux", 1.0, 1)]
    {
        // From tick 10,000, with an interval of 97,656 ticks.
        let mut codel = Codel::new(&config(profile, &[("interval", "99.999744 ms")]));
        let line = || MockFifo { others: 9000, ..MockFifo::of(&[0.0, 0.0]) };
        dequeue(&mut codel, 10_000.0 * TICK_MS, &mut line());
        let mut late = line();
        dequeue(&mut codel, (107_656.0 + ticks_after) * TICK_MS, &mut late);
        assert_eq!(late.dropped.len(), drops, "{profile}, {ticks_after} ticks after");
    }
}

#[test]
fn only_older_linux_keeps_first_above_time_on_an_empty_queue() {
    for (profile, kept) in [("rfc8289", false), ("draft00", false), ("linux", false), ("linux-3.10", true)] {
        let mut codel = Codel::new(&config(profile, &[]));
        // Other flows keep the backlog large, so the second packet after a drop is above target too.
        for now in [10.0, 120.0] {
            dequeue(&mut codel, now, &mut MockFifo { others: 9000, ..MockFifo::of(&[0.0, 0.0]) });
            assert!(state(&codel, "first_above_time") > 0.0, "{profile}");
        }
        assert_eq!(state(&codel, "dropping"), 1.0, "{profile}");
        assert_eq!(dequeue(&mut codel, 121.0, &mut MockFifo::default()), None);
        assert_eq!(state(&codel, "dropping"), 0.0, "{profile}");
        assert_eq!(state(&codel, "first_above_time") > 0.0, kept, "{profile}");
    }
}

#[test]
fn count_after_a_phase_of_one_entry_and_two_more_drops() {
    // Entry at 220 ms, drops at 320 and 391 ms. The packet after the last drop is either above target, so that the
    // phase ends at the next dequeue, or below, so that it ends inside the loop.
    for (profile, behind_ms, count) in [
        ("rfc8289", 0.0, 3),
        ("rfc8289", 390.0, 2),
        ("draft00", 390.0, 2),
        ("linux", 390.0, 3),
        ("linux", 0.0, 3),
        ("acm2012", 390.0, 3),
        ("ns2-patch", 390.0, 3),
    ] {
        let mut codel = Codel::new(&config(profile, &[]));
        let step = |codel: &mut Codel, now, behind| {
            let mut line = MockFifo { others: 9000, ..MockFifo::of(&[0.0, behind]) };
            dequeue(codel, now, &mut line);
            line.dropped.len()
        };
        let drops: Vec<usize> = [(10.0, 0.0), (220.0, 0.0), (320.0, 0.0), (391.0, behind_ms)]
            .iter()
            .map(|&(now, behind)| step(&mut codel, now, behind))
            .collect();
        assert_eq!(drops, [0, 1, 1, 1], "{profile}");
        assert_eq!(state(&codel, "count") as u32, count, "{profile}, next packet of {behind_ms} ms");
        assert_eq!(state(&codel, "dropping") == 1.0, behind_ms == 0.0, "{profile}");
    }
}

#[test]
fn ce_threshold_marks_ecn_capable_packets_only_and_drops_none() {
    for (ecn, wait_ms, delivered) in [
        (Ecn::Ect0, 2.0, Ecn::Ect0),
        (Ecn::Ect0, 2.1, Ecn::Ce),
        (Ecn::Ect1, 9.0, Ecn::Ce),
        (Ecn::NotEct, 9.0, Ecn::NotEct),
    ] {
        for profile in ["rfc8289", "linux"] {
            let mut codel = Codel::new(&config(profile, &[("ce_threshold", "2 ms")]));
            let mut line = MockFifo::of(&[0.0]);
            line.packets[0].ecn = ecn;
            let meta = dequeue(&mut codel, wait_ms, &mut line).expect("nothing is dropped");
            assert_eq!(meta.ecn, delivered, "{profile} {ecn:?} after {wait_ms} ms");
        }
    }
}

#[test]
fn a_queues_state_is_a_cache_line() {
    assert_eq!(size_of::<Codel>(), 64, "fq_codel has 1024 of them");
}

/// An idle link with a queue that lets packets bypass it, and one without bypass: for any arrivals both send the same,
/// count the same and have the same state.
#[test]
fn a_packet_that_is_handed_on_leaves_nothing_that_the_queue_would_not_have_left() {
    for (profile, params) in
        [("rfc8289", &[][..]), ("linux", &[]), ("linux-3.10", &[]), ("rfc8289", &[("target", "1 us")])]
    {
        let config = config(profile, params);
        let queue = || testing::queue_under(Codel::new(&config), Limits::default(), testing::LINK);
        let (mut plain, mut quick) = (queue(), queue());
        let (mut rng, mut now, mut free, mut handed) = (Rng::from_state(7), 0, 0, 0);
        let drop = &mut |_: Meta, _: u32, _: DropReason| {};
        for n in 0..30_000_u32 {
            // Busy for most of a second, then idle for a long time.
            now += if n % 1_000 < 700 { rng.below(2_000_000) } else { rng.below(9_000_000) };
            while free <= now && plain.backlog().packets > 0 {
                let at = Instant::from_nanos(free);
                assert_eq!(plain.dequeue(at, drop), quick.dequeue(at, drop), "{profile}, packet {n}");
                free += 1_200_000;
            }
            let (at, mut meta) = (Instant::from_nanos(now), Meta::new(1500, 0));
            plain.enqueue(at, meta, n, drop);
            if free > now {
                quick.enqueue(at, meta, n, drop);
            } else {
                free = now + 1_200_000;
                let sent = plain.dequeue(at, drop);
                if quick.try_pass(at, &mut meta) {
                    handed += 1;
                    assert_eq!(sent, DequeueResult::Packet(meta, n), "{profile}, packet {n}");
                } else {
                    quick.enqueue(at, meta, n, drop);
                    assert_eq!(sent, quick.dequeue(at, drop), "{profile}, packet {n}");
                }
            }
            let seen = |queue: &SingleQueue<Codel, u32>| {
                let mut seen = vec![];
                queue.observe(&mut |name, value| seen.push((name, value)));
                (seen, *queue.stats(), queue.backlog())
            };
            assert_eq!(seen(&plain), seen(&quick), "{profile}, packet {n}");
        }
        let dropped = plain.stats().dropped_total().packets;
        assert!(dropped > 100 && (handed > 5_000) == (profile != "linux-3.10"), "{profile}: {handed}, {dropped}");
    }
}
