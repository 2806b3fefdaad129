use super::*;
use crate::backlog::Backlog;
use crate::codel::testing::{MockFifo, dequeue, ms, state};
use crate::rng::Rng;
use crate::testing::{LINK, config, cx};

/// State of an idle queue under `codel@profile`.
fn codel(profile: &str) -> Linux {
    Linux::new(&config(profile, &[]))
}

/// State after `count` has risen from 1 in steps of one.
fn risen_to(count: u32) -> Linux {
    let mut codel = codel("linux");
    (codel.count, codel.rec_inv_sqrt) = (1, ONE);
    (2..=count).for_each(|count| codel.set_count(count));
    codel
}

#[test]
fn the_inverse_square_root_as_count_rises() {
    assert_eq!(Ticks::of(Duration::from_millis(100)), Ticks(97_656));
    assert_eq!(Ticks::of(Duration::from_millis(5)), Ticks(4_882));
    for (count, rec, ticks) in [
        (1, 65_535, 97_654),
        (2, 32_769, 48_829),
        (3, 36_864, 54_931),
        (4, 31_968, 47_635),
        (5, 28_935, 43_116),
        (6, 26_481, 39_459),
        (8, 23_037, 34_327),
        (10, 20_647, 30_766),
        (16, 16_360, 24_378),
        (25, 13_099, 19_518),
        (39, 10_491, 15_632),
        (5000, 926, 1_379),
    ] {
        let codel = risen_to(count);
        assert_eq!((codel.rec_inv_sqrt, codel.control_law(Ticks(7))), (rec, Ticks(7 + ticks)), "count {count}");
    }
}

#[test]
fn a_jump_of_count_takes_one_step_and_stays_inaccurate() {
    let mut codel = risen_to(20);
    assert_eq!(codel.rec_inv_sqrt, 14_640);
    codel.set_count(10);
    assert_eq!(codel.rec_inv_sqrt, 18_307, "0.2793 where the inverse square root of 10 is 0.3162");
}

/// A queue above target for long, after a phase with `count` and `lastcount` whose last drop was `intervals` ago, and
/// with the drop that starts the next phase at 10 s.
fn entered(count: u32, lastcount: u32, intervals: i64) -> Linux {
    let mut codel = risen_to(count);
    codel.lastcount = lastcount;
    codel.first_above_time = Ticks::at(ms(9_900.0));
    codel.drop_next = Ticks((Ticks::at(ms(10_000.0)).0 as i64 - intervals * codel.interval.0 as i64) as u32);
    let mut line = MockFifo { others: 9000, ..MockFifo::of(&[9_000.0, 9_500.0]) };
    dequeue(&mut codel, 10_000.0, &mut line);
    assert_eq!(line.dropped.len(), 1);
    codel
}

#[test]
fn re_entry_counts_and_lastcount_is_count_after_the_entry() {
    for (count, lastcount, intervals, expected) in
        [(10, 3, 0, 7), (10, 8, 0, 2), (10, 9, 0, 1), (10, 3, 15, 7), (10, 3, 16, 1), (10, 3, -1, 7)]
    {
        let codel = entered(count, lastcount, intervals);
        let found = (codel.count, codel.lastcount);
        assert_eq!(found, (expected, expected), "{count}, {lastcount}, {intervals} intervals ago");
    }
    assert_eq!(entered(10, 9, 0).rec_inv_sqrt, ONE, "a count of one is set, not approximated");
    assert_eq!(entered(20, 10, 0).rec_inv_sqrt, 18_307, "one step");
}

/// Found by comparison with 6.1 and 6.12: fq_codel, seed 32, pattern 250.
#[test]
fn a_first_phase_after_drops_over_the_limit_drops_all_that_is_late() {
    for (shed, uptime, dropped) in [(0, 0, 1), (1, 0, 1), (2, 0, 4), (30, 0, 4), (30, 10, 1)] {
        let uptime = Duration::from_secs(uptime);
        let mut codel = codel("linux");
        codel.attach(Link { uptime, ..LINK });
        let mut rng = Rng::from_state(1);
        codel.shed(&mut cx(ms(1.0), &mut rng, Backlog::default(), LINK), shed);
        codel.first_above_time = Ticks::at(ms(500.0) + uptime);
        // At 0.9 s the clock is less than 16 intervals from `drop_next`, which is still 0.
        let mut line = MockFifo { others: 9000, ..MockFifo::of(&[1.0; 5]) };
        dequeue(&mut codel, 900.0, &mut line);
        assert_eq!(line.dropped.len(), 1, "{shed}: the drop with which the phase begins");
        dequeue(&mut codel, 930.0, &mut line);
        assert_eq!(line.dropped.len(), dropped, "{shed} drops over the limit, {uptime:?} after the boot");
    }
}

#[test]
fn the_state_is_shown_on_the_clock_of_the_host() {
    let mut codel = codel("linux");
    codel.attach(Link { uptime: Duration::from_nanos(10_000_000_100), ..LINK });
    assert_eq!((state(&codel, "first_above_time"), state(&codel, "drop_next")), (0.0, -10.000_000_1));
    let mut line = MockFifo { others: 9000, ..MockFifo::of(&[1.0; 5]) };
    for at in [900.0, 1_050.0] {
        dequeue(&mut codel, at, &mut line);
    }
    // Ticks of the kernel's clock: 11.050000100 s is tick 10,791,015; the first step of the control law is 97,654
    // ticks.
    let tick = |tick: u64| (tick << 10) as f64 / 1e9 - 10.000_000_1;
    assert_eq!(state(&codel, "drop_next"), tick(10_791_015 + 97_654));
}

#[test]
fn differences_are_signed_and_wrap_at_32_bits() {
    assert!(Ticks(3).is_before(Ticks(5)) && Ticks(5).is_after(Ticks(3)));
    assert!(!Ticks(5).is_before(Ticks(5)) && !Ticks(5).is_after(Ticks(5)));
    let wrapped = Ticks::at(Instant::from_nanos(((1 << 32) + 3) << 10));
    assert_eq!(wrapped, Ticks(3));
    assert_eq!(Ticks::of(Duration::from_secs(3600)), Ticks(i32::MAX as u32));
    // 2,199 s after it was set, a drop time appears to lie in the future.
    assert!(!Ticks((1 << 31) - 1).is_before(Ticks::ZERO) && Ticks(1 << 31).is_before(Ticks::ZERO));
    assert_eq!(Ticks(1 << 31).as_secs_f64(), 2199.023255552);
}

#[test]
fn the_clock_wraps_without_a_trace() {
    // The same queue at 1 s, and 11.264 ms before the 32 bits wrap: 10,000 and 11,000 ticks before.
    let drop_times = |start: u64| {
        let mut codel = codel("linux");
        let at = |tick: u64| ((start + tick) << 10) as f64 / 1e6;
        (0..800_000u64)
            .step_by(1_000)
            .filter(|&tick| {
                let old = at(tick) - 50.0;
                let mut line = MockFifo { others: 9000, ..MockFifo::of(&[old, old]) };
                dequeue(&mut codel, at(tick), &mut line);
                !line.dropped.is_empty()
            })
            .collect::<alloc::vec::Vec<_>>()
    };
    let expected = drop_times(1_000_000);
    assert!(expected.len() > 5, "{expected:?}");
    assert_eq!(drop_times((1 << 32) - 11_000), expected);
}

#[test]
fn count_saturates() {
    let mut codel = codel("linux");
    codel.set_count(MAX_COUNT + 1);
    assert_eq!(codel.count, MAX_COUNT);
}
