use super::*;
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::params::Config as _;
use crate::qdisc::{Dequeued, Qdisc};
use crate::rng::Rng;
use crate::single::SingleQueue;
use crate::testing::{self, LINK, cx, queue_under};
use crate::time::{Duration, Instant};
use alloc::collections::VecDeque;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;

mod mahimahi;

fn ms(millis: f64) -> Instant {
    Instant::from_nanos(libm::round(millis * 1e6) as u64)
}

/// The configuration of `codel@profile` with `params` set.
fn config(profile: &str, params: &[(&str, &str)]) -> Config {
    testing::config(profile, params)
}

fn state<A: Aqm>(aqm: &A, name: &str) -> f64 {
    let mut value = f64::NAN;
    aqm.observe(&mut |n, x| {
        if n == name {
            value = x
        }
    });
    value
}

/// A saturated link: packets that all arrived at time 0, one of which is sent each millisecond.
struct Saturated {
    queue: SingleQueue<Codel, u32>,
    ecn: Ecn,
}

impl Saturated {
    fn new(config: &Config, ecn: Ecn) -> Self {
        let mut queue = queue_under(Codel::new(config), Limits::default(), LINK);
        for id in 0..3000 {
            queue.enqueue(Instant::ZERO, Meta::new(1500, 0).with_ecn(ecn), id, &mut |_, _, _| {});
        }
        Self { queue, ecn }
    }

    /// Dequeues once; how many packets were dropped, and whether the one delivered was marked.
    fn dequeue(&mut self, now: Instant) -> (usize, bool) {
        let mut drops = 0;
        let out = self.queue.dequeue(now, &mut |_, _, _| drops += 1);
        let Dequeued::Packet(meta, _) = out else { panic!("the queue is long") };
        (drops, meta.ecn != self.ecn)
    }

    /// The milliseconds, up to `until`, at which packets are dropped or marked.
    fn signals(&mut self, until: u64) -> Vec<u64> {
        let mut times = vec![];
        for t in 0..=until {
            let (drops, marked) = self.dequeue(ms(t as f64));
            times.extend(core::iter::repeat_n(t, drops + usize::from(marked)));
        }
        times
    }
}

/// Above target from 5 ms on, so ok to drop from 105 ms on; then the law, rounded up to the next departure:
/// 105 + 100 = 205, + 70.71 = 275.71, + 57.74 = 333.45, + 50 = 383.45, + 44.72 = 428.17, + 40.82 = 468.99 ms.
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
        ("act", &[], law),
        ("acm2012", &[], one_interval_later),
        ("hardlimit", &[("max_delay", "99 s")], one_interval_later),
        ("linux", &[], linux),
        ("linux-3.10", &[], linux),
        ("linux", &[("law", "float")], law),
        ("rfc8289", &[("law", "linux")], linux),
        ("count-n", &[("n", "1")], [105, 205, 305, 405, 505, 605, 705]),
        ("count-n", &[("n", "4")], [105, 155, 205, 255, 305, 355, 405]),
        ("rfc8289", &[("interval", "50 ms")], [55, 105, 141, 170, 195, 217, 237]),
        ("rfc8289", &[("target", "20 ms")], [120, 220, 291, 349, 399, 444, 484]),
    ] {
        let config = config(profile, params);
        let drops = Saturated::new(&config, Ecn::NotEct).signals(710);
        assert_eq!(drops[..7], expected, "{profile} {params:?}");
        // With ECN the same instants bring marks, and nothing is dropped.
        let mut marking = Saturated::new(&Config { ecn: true, ..config }, Ecn::Ect0);
        assert_eq!(marking.signals(710)[..7], expected, "{profile} {params:?} ecn");
        assert_eq!(marking.queue.stats().dropped_total().packets, 0);
    }
}

#[test]
fn the_next_drop_is_scheduled_from_the_last_one_not_from_now() {
    for (profile, schedule_ms) in [("rfc8289", 205.0 + 70.710678), ("linux", (200_193 + 48_829) as f64 * 1.024e-3)] {
        let mut link = Saturated::new(&config(profile, &[]), Ecn::NotEct);
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
        let mut dropping = Saturated::new(&config(profile, &[]), Ecn::NotEct);
        dropping.signals(entry);
        assert_eq!(dropping.dequeue(ms(late)), (6, false), "{profile}");
        let mut marking = Saturated::new(&config(profile, &[("ecn", "on")]), Ecn::Ect0);
        marking.signals(entry);
        assert_eq!(marking.dequeue(ms(late)), (0, true), "{profile}");
        assert_eq!(marking.queue.stats().marked.packets, 2, "{profile}: one at entry, one late");
        assert_eq!(state(marking.queue.aqm(), "count"), 2.0, "{profile}: and one step of the law");
    }
}

/// A line of packets at one instant, made by hand; beside it other flows' bytes.
#[derive(Default)]
struct Line {
    packets: VecDeque<Meta>,
    others: u64,
    dropped: Vec<DropReason>,
}

impl Line {
    fn of(enqueued_ms: &[f64]) -> Self {
        let packet = |&t| Meta { enqueued: ms(t), ..Meta::new(1500, 0) };
        Self { packets: enqueued_ms.iter().map(packet).collect(), ..Self::default() }
    }
}

impl Fifo for Line {
    fn len(&self) -> usize {
        self.packets.len()
    }
    fn bytes(&self) -> u64 {
        self.packets.iter().map(|p| p.len as u64).sum()
    }
    fn total_backlog(&self) -> Backlog {
        Backlog { packets: self.len() as u32, bytes: self.bytes() + self.others }
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        self.packets.get(i).copied()
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let is_ect = self.packets[i].ecn.is_ect();
        if is_ect {
            self.packets[i].ecn = Ecn::Ce
        } else {
            self.drop(i, reason)
        }
        is_ect
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        self.packets.remove(i);
        self.dropped.push(reason);
    }
    fn pop(&mut self) -> Option<Popped> {
        self.packets.pop_front().map(|meta| Popped { meta })
    }
}

/// Dequeues from `line` at `now_ms`.
fn dequeue(codel: &mut Codel, now_ms: f64, line: &mut Line) -> Option<Meta> {
    let mut rng = Rng::from_state(1);
    let mut cx = cx(ms(now_ms), &mut rng, line.total_backlog(), LINK);
    codel.dequeue(&mut cx, line).map(|popped| popped.meta)
}

#[test]
fn a_small_backlog_protects_its_packet() {
    use DropReason::Late;
    // Heads of 1500 bytes and 10 ms, at 10 ms and at 120 ms, that leave `behind` bytes in the queue.
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
    ] {
        let mut codel = Codel::new(&config(profile, &[("entry", "at-once")]));
        for now in [10.0, 120.0] {
            // T8: other flows' bytes are backlog as well.
            let mut line = Line { others: behind - 1000, ..Line::of(&[now - 10.0, now]) };
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
        ("act", true),
        ("linux-3.10", true),
    ] {
        let mut codel = Codel::new(&config(profile, &[]));
        let mut line = Line { others: 400, ..Line::of(&[0.0]) };
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
        // The interval of 97,656 ticks from tick 10,000.
        let mut codel = Codel::new(&config(profile, &[("interval", "99.999744 ms")]));
        let line = || Line { others: 9000, ..Line::of(&[0.0, 0.0]) };
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
        dequeue(&mut codel, 10.0, &mut Line { others: 9000, ..Line::of(&[0.0]) });
        assert!(state(&codel, "first_above_time") > 0.0, "{profile}: other flows keep the backlog large");
        codel.dropping = true;
        dequeue(&mut codel, 11.0, &mut Line::default());
        assert!(!codel.dropping, "{profile}");
        assert_eq!(state(&codel, "first_above_time") > 0.0, kept, "{profile}");
    }
}

#[test]
fn count_after_a_phase_of_one_entry_and_two_more_drops() {
    // Entry at 120 ms, drops at 220 and 291 ms; behind the last one either a packet above target follows,
    // so that the phase ends at the next dequeue, or one below, so that it ends inside the loop.
    for (profile, behind_ms, count) in [
        ("rfc8289", 0.0, 3),
        ("rfc8289", 290.0, 2),
        ("draft00", 290.0, 2),
        ("linux", 290.0, 3),
        ("linux", 0.0, 3),
        ("acm2012", 290.0, 3),
    ] {
        let mut codel = Codel::new(&config(profile, &[("entry", "at-once")]));
        let step = |codel: &mut Codel, now, behind| {
            let mut line = Line { others: 9000, ..Line::of(&[0.0, behind]) };
            dequeue(codel, now, &mut line);
            line.dropped.len()
        };
        let drops: Vec<usize> = [(10.0, 0.0), (120.0, 0.0), (220.0, 0.0), (291.0, behind_ms)]
            .iter()
            .map(|&(now, behind)| step(&mut codel, now, behind))
            .collect();
        assert_eq!(drops, [0, 1, 1, 1], "{profile}");
        assert_eq!(state(&codel, "count") as u32, count, "{profile}, next packet of {behind_ms} ms");
        assert_eq!(state(&codel, "dropping") == 1.0, behind_ms == 0.0, "{profile}");
    }
}

/// `count` at re-entry, the last drop `intervals` ago.
fn reentry(rule: &str, count: u32, lastcount: u32, intervals: f64) -> u32 {
    let mut codel = Codel::new(&config("rfc8289", &[("reentry", rule), ("n", "77")]));
    (codel.count, codel.lastcount) = (count, lastcount);
    let now = 10_000_000_000u64;
    codel.drop_next = now.wrapping_add_signed((-intervals * 1e8) as i64);
    codel.reentry_count(now)
}

#[test]
fn re_entry_counts() {
    for (rule, count, lastcount, intervals, expected) in [
        ("sub2", 10, 0, 0.1, 8),
        ("sub2", 10, 0, 7.9, 8),
        ("sub2", 10, 0, 8.0, 1),
        ("sub2", 10, 0, -0.5, 8), // drop_next still ahead after a quick exit
        ("sub2", 3, 0, 0.1, 1),
        ("sub2", 2, 0, 0.1, 1),
        ("sub2", 5000, 0, 0.1, 4998),
        ("acm", 10, 0, 0.9, 8),
        ("acm", 10, 0, 1.0, 1),
        ("acm", 2, 0, 0.1, 1),
        ("acm", 0, 0, 0.1, 1),
        ("delta", 10, 3, 0.1, 7),
        ("delta", 10, 8, 0.1, 2),
        ("delta", 10, 9, 0.1, 1),
        ("delta", 10, 3, 15.9, 7),
        ("delta", 10, 3, 16.0, 1),
        ("const", 10, 3, 0.1, 77),
        ("const", 10, 3, 99.0, 77),
    ] {
        let result = reentry(rule, count, lastcount, intervals);
        assert_eq!(result, expected, "{rule}: count {count}, lastcount {lastcount}, {intervals} intervals ago");
    }
}

#[test]
fn lastcount_is_count_after_the_entry() {
    let mut codel = Codel::new(&config("linux", &[]));
    (codel.count, codel.lastcount) = (10, 3);
    codel.drop_next = codel.law.law().clock(ms(1000.0));
    let mut rng = Rng::from_state(1);
    let cx = cx(ms(1100.0), &mut rng, Backlog::default(), LINK);
    codel.enter_dropping(codel.law.law().clock(cx.now), &cx, &mut Line::of(&[0.0]));
    assert_eq!((codel.count, codel.lastcount), (7, 7));
}

#[test]
fn act_decays_count_geometrically_above_126() {
    for (count, expected) in [(2, 1), (3, 1), (4, 2), (127, 125), (128, 126), (129, 126), (130, 127), (200, 196)] {
        assert_eq!(reentry("act", count, 0, 0.1), expected, "from {count}");
    }
    let mut count = 1300;
    for expected in [1279, 1259, 1239, 1219, 1199, 1180, 1161, 1142] {
        count = reentry("act", count, 0, 0.1);
        assert_eq!(count, expected);
    }
    assert_eq!(reentry("act", 1300, 0, 8.0), 1);
}

#[test]
fn act_waits_less_only_after_a_recent_phase_that_counted_past_one() {
    for (count, intervals, window_ms) in
        [(1, 0.5, 100.0), (4, 0.5, 50.0), (4, 7.9, 50.0), (4, 8.0, 100.0), (100, 1.0, 10.0)]
    {
        let mut codel = Codel::new(&config("act", &[]));
        codel.count = count;
        let now = 10_000_000_000u64;
        codel.drop_next = now - (intervals * 1e8) as u64;
        assert_eq!(codel.window(now) as f64, window_ms * 1e6, "count {count}, {intervals} intervals ago");
    }
}

#[test]
fn a_fresh_phase_of_2012_waits_two_intervals_a_repeated_one() {
    // (since first_above_time, since drop_next) in intervals
    for (above, dropped, enters) in
        [(0.0, 5.0, false), (0.9, 5.0, false), (1.0, 5.0, true), (0.0, 0.9, true), (0.0, 1.0, false)]
    {
        let mut codel = Codel::new(&config("acm2012", &[]));
        let now = 10_000_000_000u64;
        codel.first_above_time = now - (above * 1e8) as u64;
        codel.drop_next = now - (dropped * 1e8) as u64;
        assert_eq!(codel.may_enter(now), enters, "{above} {dropped}");
    }
}

#[test]
fn hard_limit_drops_what_waited_too_long_whatever_the_backlog() {
    use DropReason::{HardLimit, Late};
    for (ages_ms, dropped, delivered_age) in [
        (vec![50.0], vec![], Some(50.0)),
        (vec![50.1], vec![HardLimit], None),
        (vec![70.0, 60.0, 10.0], vec![HardLimit; 2], Some(10.0)),
        (vec![70.0, 60.0, 55.0], vec![HardLimit; 3], None),
    ] {
        for profile in ["hardlimit", "hardlimit-strict"] {
            let mut codel = Codel::new(&config(profile, &[]));
            let mut line = Line::of(&ages_ms.iter().map(|age| 1000.0 - age).collect::<Vec<_>>());
            let delivered = dequeue(&mut codel, 1000.0, &mut line);
            assert_eq!(line.dropped, dropped, "{profile} {ages_ms:?}");
            assert_eq!(delivered.map(|meta| meta.enqueued), delivered_age.map(|age| ms(1000.0 - age)));
            assert_eq!(state(&codel, "count"), 0.0, "hard drops do not count");
        }
    }
    // As printed, the packet behind a drop of the control law is not tested. In a plain queue it is younger than
    // the dropped one anyway; a host that puts packets back can make it older.
    for (profile, dropped, delivered_age) in
        [("hardlimit", vec![Late], 60.0), ("hardlimit-strict", vec![Late, HardLimit], 1.0)]
    {
        let mut codel = Codel::new(&config(profile, &[("entry", "at-once")]));
        codel.first_above_time = codel.law.law().clock(ms(900.0));
        let mut line = Line { others: 9000, ..Line::of(&[980.0, 940.0, 999.0]) };
        let delivered = dequeue(&mut codel, 1000.0, &mut line).expect("one is left");
        assert_eq!(line.dropped, dropped, "{profile}");
        assert_eq!(delivered.enqueued, ms(1000.0 - delivered_age), "{profile}");
    }
}

#[test]
fn a_packet_beyond_the_hard_limit_is_ok_to_drop_and_keeps_a_phase_going() {
    for (age_behind_ms, dropping) in [(60.0, true), (40.0, false)] {
        let mut codel = Codel::new(&config("hardlimit", &[]));
        codel.first_above_time = codel.law.law().clock(ms(900.0));
        codel.drop_next = codel.law.law().clock(ms(999.0));
        codel.dropping = true;
        // Nothing waits behind the second packet, which alone would end the phase.
        let mut line = Line::of(&[980.0, 1000.0 - age_behind_ms]);
        assert!(dequeue(&mut codel, 1000.0, &mut line).is_some());
        assert_eq!(line.dropped, [DropReason::Late]);
        assert_eq!(codel.dropping, dropping, "{age_behind_ms} ms behind");
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
            let mut line = Line::of(&[0.0]);
            line.packets[0].ecn = ecn;
            let meta = dequeue(&mut codel, wait_ms, &mut line).expect("nothing is dropped");
            assert_eq!(meta.ecn, delivered, "{profile} {ecn:?} after {wait_ms} ms");
        }
    }
}

#[test]
fn count_saturates() {
    let mut codel = Codel::new(&config("linux", &[]));
    codel.set_count(MAX_COUNT + 1);
    assert_eq!(codel.count, MAX_COUNT);
}

#[test]
fn target_must_be_below_interval() {
    let refused = config("rfc8289", &[("target", "100 ms")]).validate().unwrap_err().to_string();
    assert_eq!(refused, "target (100 ms) must be below interval (100 ms); write e.g. target 5ms interval 100ms");
    assert!(config("rfc8289", &[("target", "99 ms")]).validate().is_ok());
    for (profile, _) in Config::PROFILES {
        assert!(config(profile, &[]).validate().is_ok(), "{profile}");
    }
    assert_eq!(config("rfc8289", &[]), Config::default(), "the plain name's profile is the default");
    assert!(Duration::from_secs(3600) == Config::default().ce_threshold);
}
