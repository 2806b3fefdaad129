use super::*;
use crate::codel::testing::{MockFifo, dequeue, ms, state};
use crate::params::Config as _;
use crate::testing;
use alloc::vec;
use alloc::vec::Vec;

/// State of an idle queue under `codel@profile` with `params` set.
fn codel(profile: &str, params: &[(&str, &str)]) -> HistoricCodel {
    let config: Config = testing::config(profile, params);
    assert_eq!(config.validate(), Ok(()), "{profile}");
    match config.version.engine() {
        crate::codel::config::Engine::Historic(variant) => HistoricCodel::new(&config, variant),
        other => panic!("{profile} is computed by {other:?}"),
    }
}

/// `count` at re-entry, `intervals` after the last drop.
fn reentry(profile: &str, count: u32, intervals: f64) -> u32 {
    let mut codel = codel(profile, if profile == "count-n" { &[("n", "77")] } else { &[] });
    codel.count = count;
    codel.drop_next = ms(10_000.0 - 100.0 * intervals);
    codel.reentry_count(ms(10_000.0))
}

#[test]
fn re_entry_counts() {
    for (profile, count, intervals, expected) in [
        ("draft00", 10, 0.1, 8),
        ("draft00", 10, 7.9, 8),
        ("draft00", 10, 8.0, 1),
        ("draft00", 10, -0.5, 8), // drop_next in the future after a quick exit
        ("draft00", 3, 0.1, 1),
        ("draft00", 2, 0.1, 1),
        ("ns2-2012", 5000, 0.1, 4998),
        ("acm2012", 10, 0.9, 8),
        ("acm2012", 10, 1.0, 1),
        ("acm2012", 2, 0.1, 1),
        ("acm2012", 0, 0.1, 1),
        ("ns2-patch", 10, 0.1, 9),
        ("ns2-patch", 2, 15.9, 1),
        ("ns2-patch", 9, 16.0, 1),
        ("hardlimit-ns2", 9, 15.9, 8),
        ("count-n", 10, 0.1, 77),
        ("count-n", 10, 99.0, 77),
    ] {
        let result = reentry(profile, count, intervals);
        assert_eq!(result, expected, "{profile}: count {count}, {intervals} intervals ago");
    }
}

#[test]
fn act_decays_count_geometrically_above_126() {
    for (count, expected) in [(2, 1), (3, 1), (4, 2), (127, 125), (128, 126), (129, 126), (130, 127), (200, 196)] {
        assert_eq!(reentry("act", count, 0.1), expected, "from {count}");
    }
    let mut count = 1300;
    for expected in [1279, 1259, 1239, 1219, 1199, 1180, 1161, 1142] {
        count = reentry("act", count, 0.1);
        assert_eq!(count, expected);
    }
    assert_eq!(reentry("act", 1300, 8.0), 1);
}

#[test]
fn act_waits_less_only_after_a_recent_phase_that_counted_past_one() {
    for (count, intervals, window_ms) in
        [(1, 0.5, 100.0), (4, 0.5, 50.0), (4, 7.9, 50.0), (4, 8.0, 100.0), (100, 1.0, 10.0)]
    {
        let mut codel = codel("act", &[]);
        codel.count = count;
        codel.drop_next = ms(10_000.0 - 100.0 * intervals);
        let window = codel.window(ms(10_000.0)).as_millis_f64();
        assert_eq!(window, window_ms, "count {count}, {intervals} intervals ago");
    }
}

#[test]
fn a_fresh_phase_of_2012_waits_two_intervals_a_repeated_one() {
    // (time since first_above_time, time since drop_next) in intervals
    for (above, dropped, enters) in
        [(0.0, 5.0, false), (0.9, 5.0, false), (1.0, 5.0, true), (0.0, 0.9, true), (0.0, 1.0, false)]
    {
        let mut codel = codel("acm2012", &[]);
        codel.first_above_time = ms(10_000.0 - 100.0 * above);
        codel.drop_next = ms(10_000.0 - 100.0 * dropped);
        assert_eq!(codel.may_enter(ms(10_000.0)), enters, "{above} {dropped}");
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
            let mut codel = codel(profile, &[]);
            let mut line = MockFifo::of(&ages_ms.iter().map(|age| 1000.0 - age).collect::<Vec<_>>());
            let delivered = dequeue(&mut codel, 1000.0, &mut line);
            assert_eq!(line.dropped, dropped, "{profile} {ages_ms:?}");
            assert_eq!(delivered.map(|meta| meta.enqueued), delivered_age.map(|age| ms(1000.0 - age)));
            assert_eq!(state(&codel, "count"), 0.0, "hard drops do not count");
        }
    }
    // As printed, the packet after a drop of the control law is not tested. In a plain queue it is younger than the
    // dropped one anyway; a host that requeues packets can make it older.
    for (profile, dropped, delivered_age) in
        [("hardlimit", vec![Late], 60.0), ("hardlimit-strict", vec![Late, HardLimit], 1.0)]
    {
        let mut codel = codel(profile, &[]);
        codel.first_above_time = ms(900.0);
        let mut line = MockFifo { others: 9000, ..MockFifo::of(&[980.0, 940.0, 999.0]) };
        let delivered = dequeue(&mut codel, 1000.0, &mut line).expect("one is left");
        assert_eq!(line.dropped, dropped, "{profile}");
        assert_eq!(delivered.enqueued, ms(1000.0 - delivered_age), "{profile}");
    }
}

#[test]
fn a_packet_beyond_the_hard_limit_is_ok_to_drop_and_keeps_a_phase_going() {
    for (age_behind_ms, dropping) in [(60.0, true), (40.0, false)] {
        let mut codel = codel("hardlimit", &[]);
        codel.first_above_time = ms(900.0);
        codel.drop_next = ms(999.0);
        codel.dropping = true;
        // Nothing waits after the second packet, which alone would end the phase.
        let mut line = MockFifo::of(&[980.0, 1000.0 - age_behind_ms]);
        assert!(dequeue(&mut codel, 1000.0, &mut line).is_some());
        assert_eq!(line.dropped, [DropReason::Late]);
        assert_eq!(codel.dropping, dropping, "{age_behind_ms} ms behind");
    }
}

#[test]
fn the_last_packet_of_a_bin_is_spared_where_the_knob_says_so() {
    for (small_backlog, above) in [("at-most", true), ("at-most-or-last", false)] {
        let mut codel = codel("ns2-2012", &[("small_backlog", small_backlog)]);
        dequeue(&mut codel, 10.0, &mut MockFifo { others: 9000, ..MockFifo::of(&[0.0]) });
        assert_eq!(codel.first_above_time > Instant::ZERO, above, "{small_backlog}");
    }
}
