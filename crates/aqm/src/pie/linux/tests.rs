use super::*;
use crate::aqm::DropReason;
use crate::limits::Limits;
use crate::packet::Ecn;
use crate::qdisc::{EnqueueResult, Qdisc};
use crate::testing::{self, ETHERNET, cx, ms, push, queue_under};

fn config() -> Config {
    testing::config("linux", &[])
}

fn share(p: f64) -> u64 {
    (p * MAX_PROB as f64) as u64
}

/// Controller during congestion, with a constant `prob`.
fn congested(config: Config, p: f64) -> Linux {
    let far = WheelTimer { jiffy: 1_000_000, expires: Instant::NEVER };
    Linux { prob: share(p), qdelay: TICKS_PER_SEC, burst_time: 0, timer: far, ..Linux::new(&config) }
}

#[test]
fn units_of_the_kernel() {
    let pie = Linux::new(&config());
    assert_eq!((pie.target, pie.burst_time), (234_375, 2_343_750));
    // tc's 2 and 20.
    assert_eq!(pie.alpha, (2 * (MAX_PROB / 15_625_000)) >> 4);
    assert_eq!(pie.beta, (20 * (MAX_PROB / 15_625_000)) >> 4);
    assert_eq!(gain(0.13), gain(0.125), "no finer than a sixteenth");
}

#[test]
fn the_timer_wheel_is_late() {
    const MS: u64 = 1_000_000;
    // (HZ, creation, first update, tupdate, second update), in ms.
    for (hz, created, first, tupdate, second) in [
        // 500 jiffies are in the wheel's second level with slots of 8 jiffies; the slot after the next one is served.
        (1000, 0, 504, 15, 520),
        (1000, 3, 504, 15, 520),
        (1000, 4, 512, 15, 528),
        (1000, 655_000, 655_504, 15, 655_520),
        (1000, 0, 504, 1, 506),
        (1000, 0, 504, 63, 568),
        (1000, 0, 504, 64, 576), // the second level again
        // 125 jiffies of 4 ms and slots of 32 ms; 15 ms are 4 jiffies.
        (250, 0, 512, 15, 532),
        // 50 jiffies of 10 ms in the first level.
        (100, 0, 510, 15, 540),
    ] {
        let (created, jiffy) = (Duration::from_millis(created), Duration::from_nanos(1_000_000_000 / hz));
        let mut timer = WheelTimer::started(created, jiffy);
        assert_eq!(timer.expires, Instant::from_nanos(first * MS), "{hz} Hz, made at {created}");
        timer.restart(timer.expires, Duration::from_millis(tupdate));
        assert_eq!(timer.expires, Instant::from_nanos(second * MS), "{hz} Hz, every {tupdate} ms");
    }
}

#[test]
fn probability_after_an_update() {
    for (p, qdelay, qdelay_old, expected) in [
        // RFC 8033's controller: check vectors, in this order: the cap, then 2 % for more than 250 ms.
        (0.0, 0.100, 0.050, 3.5706e-5),
        (0.005, 0.030, 0.020, 0.0067969),
        (0.2, 0.3, 0.1, 0.24),
        (0.05, 0.0, 0.0, 0.0482959),
        (0.0, 0.0, 0.2, 0.0),
    ] {
        let mut pie = congested(config(), p);
        let ticks = |secs: f64| libm::round(secs * TICKS_PER_SEC as f64) as u64;
        (pie.qdelay, pie.qdelay_old) = (ticks(qdelay), ticks(qdelay_old));
        pie.calculate_probability(0);
        let found = pie.prob as f64 / MAX_PROB as f64;
        assert!((found - expected).abs() <= 5e-5 * expected, "from p {p}, {qdelay}, {qdelay_old}: {found}");
        assert_eq!(pie.qdelay_old, pie.qdelay);
    }
}

#[test]
fn a_zero_delay_before_a_backlog_does_not_decay() {
    for (backlog, decays) in [(0, true), (1500, false)] {
        let mut pie = Linux { qdelay: 0, ..congested(config(), 0.05) };
        let undecayed = pie.prob.wrapping_add_signed(pie.delta(0));
        pie.calculate_probability(backlog);
        assert_eq!(pie.prob < undecayed, decays, "{backlog} bytes");
    }
}

#[test]
fn probability_may_pass_one_as_in_the_kernel() {
    let mut pie = congested(config(), 0.99);
    pie.calculate_probability(9000);
    assert!(pie.prob > MAX_PROB, "only a wrap at 64 bits is stopped");
    pie.prob = u64::MAX - 1;
    pie.calculate_probability(9000);
    assert_eq!(pie.prob, MAX_PROB);
}

#[test]
fn once_congestion_is_over_the_state_starts_again() {
    for (p, qdelay, reset) in [(0.0, 117_186, true), (0.0, 117_187, false), (0.3, 0, false)] {
        let mut pie = Linux { qdelay, qdelay_old: qdelay, accu_prob: 7, dq_tstamp: Some(1), ..congested(config(), p) };
        pie.calculate_probability(0);
        let expected = if reset { (2_343_750, 0, None) } else { (0, 7, Some(1)) };
        assert_eq!((pie.burst_time, pie.accu_prob, pie.dq_tstamp), expected, "p {p}, delay {qdelay}");
    }
}

#[test]
fn the_burst_allowance_is_used_up_between_departures() {
    let mut queue = queue_under(Linux::new(&config()), Limits::packets(99), ETHERNET);
    for _ in 0..3 {
        push(&mut queue, ms(0), 1500, Ecn::NotEct);
    }
    for (at, left_ms) in [(1, 150), (5, 146), (200, 0)] {
        queue.dequeue(ms(at), &mut |_, _, _| {});
        assert_eq!(queue.aqm().burst_time, ticks(Duration::from_millis(left_ms)), "after {at} ms");
    }
    assert_eq!(queue.aqm().qdelay, 0, "the last packet leaves an empty queue");
}

#[test]
fn uncongested_queues_are_left_alone() {
    for (name, qdelay, p, backlog, dropped) in [
        ("congested", 999_999, 0.9, 3028, true),
        ("less than two packets", 999_999, 0.9, 3027, false),
        ("short delay, low p", 117_186, 0.19, 9000, false),
        ("short delay, high p", 117_186, 0.21, 9000, true),
        ("half the target", 117_187, 0.19, 9000, true),
    ] {
        let mut pie = Linux { qdelay, accu_prob: MAX_PROB / 2 * 17, ..congested(config(), p) };
        assert_eq!(pie.drop_early(backlog, 1500, 1514, &mut Rng::from_state(1)), dropped, "{name}");
    }
    let mut idle = Linux { accu_prob: 5, ..congested(config(), 0.0) };
    assert!(!idle.drop_early(9000, 1500, 1514, &mut Rng::from_state(1)));
    assert_eq!(idle.accu_prob, 0, "p = 0 starts the accumulation again");
}

#[test]
fn a_mark_that_was_due_leaves_the_sum_and_a_random_one_clears_it() {
    // The stream's first word is 0x910a…: a hit at p = 0.6, a miss at p = 0.5.
    for (ecn, packet, p, accu, expected, accu_after) in [
        (true, Ecn::Ect0, 0.05, 8.5, EnqueueResult::Marked, 8.55),
        (true, Ecn::Ce, 0.05, 8.5, EnqueueResult::Queued, 8.55),
        (true, Ecn::NotEct, 0.05, 8.5, EnqueueResult::Dropped(DropReason::Early), 0.0),
        (true, Ecn::Ect0, 0.11, 8.5, EnqueueResult::Dropped(DropReason::Early), 0.0),
        (false, Ecn::Ect0, 0.05, 8.5, EnqueueResult::Dropped(DropReason::Early), 0.0),
        (false, Ecn::Ect0, 0.6, 1.0, EnqueueResult::Dropped(DropReason::Early), 0.0),
        (false, Ecn::Ect0, 0.5, 1.0, EnqueueResult::Queued, 1.5),
        (false, Ecn::Ect0, 0.5, 0.34, EnqueueResult::Queued, 0.84),
    ] {
        let pie = Linux { accu_prob: share(accu), ..congested(Config { ecn, ..config() }, p) };
        let mut queue = queue_under(pie, Limits::packets(9), ETHERNET);
        push(&mut queue, ms(1), 3028, Ecn::NotEct);
        assert_eq!(push(&mut queue, ms(1), 1500, packet), expected, "ecn {ecn}, {packet:?}, p {p}");
        let accu = queue.aqm().accu_prob as f64 / MAX_PROB as f64;
        assert!((accu - accu_after).abs() < 1e-9, "ecn {ecn}, {packet:?}, p {p}: {accu}");
    }
}

#[test]
fn bytemode_scales_with_the_size_up_to_the_mtu() {
    for (bytemode, len, p) in [(false, 757, 0.2), (true, 757, 0.1), (true, 1514, 0.2), (true, 9000, 0.2)] {
        let mut pie = congested(Config { bytemode, ..config() }, 0.2);
        pie.drop_early(9000, len, 1514, &mut Rng::from_state(1));
        let found = pie.accu_prob as f64 / MAX_PROB as f64;
        assert!((found - p).abs() < 1e-9, "bytemode {bytemode}, {len} bytes: {found}");
    }
}

#[test]
fn the_estimator_times_departures_in_whole_ticks() {
    let mut pie = Linux::new(&Config { dq_rate_estimator: true, ..config() });
    let at = |n: u64| 1_000_000 + 15_625 * n; // one packet per millisecond
    assert_eq!(pie.measure(at(0), 1500, 16_383), 0, "too short a queue");
    assert_eq!(pie.dq_count, None);
    // The first packet starts the measurement and counts in it: 11 packets in 10 ms.
    let times: u64 = (0..11).map(|n| pie.measure(at(n), 1500, 16_384)).sum();
    assert_eq!((times, pie.avg_dq_rate), (156_250, (16_500 << 8) / 156_250));
    assert_eq!((pie.dq_count, pie.dq_tstamp), (Some(0), Some(at(10))));
    // 11 packets in 11 ms; then the queue is too short for another measurement.
    let times: u64 = (11..22).map(|n| pie.measure(at(n), 1500, 16_383)).sum();
    let (first, second) = (27, (16_500 << 8) / 171_875);
    assert_eq!((times, pie.avg_dq_rate), (171_875, first - (first >> 3) + (second >> 3)));
    assert_eq!(pie.dq_count, None);
    // Little's law.
    pie.calculate_probability(150_000);
    assert_eq!(pie.qdelay, (150_000 << 8) / pie.avg_dq_rate as u64);
    assert_eq!(pie.qdelay_old, 0);
}

#[test]
fn a_skipped_timer_is_due_when_one_that_expired_each_time_is() {
    let mut rng = Rng::from_state(5);
    for (hz, span) in [(1000, 15), (1000, 1), (1000, 62), (1000, 63), (1000, 64), (1000, 700), (250, 15), (100, 15)] {
        let (jiffy, span) = (Duration::from_nanos(1_000_000_000 / hz), Duration::from_millis(span));
        for _ in 0..50 {
            let created = Duration::from_millis(rng.below(100_000) as i64);
            let mut each = WheelTimer::started(created, jiffy);
            let until = each.expires + Duration::from_millis(rng.below(60_000) as i64 - 500);
            let mut skipped = each.clone();
            skipped.skip(span, until);
            while each.expires < until {
                each.restart(each.expires, span);
            }
            assert_eq!(skipped.expires, each.expires, "{hz} Hz, {span}, until {until:?}");
        }
    }
}

#[test]
fn an_idle_queue_comes_to_rest_in_the_state_of_a_fresh_one() {
    for estimator in [false, true] {
        let config = Config { dq_rate_estimator: estimator, ..config() };
        // Congestion is over: empty queue, high prob.
        let mut pie = Linux { prob: share(0.7), qdelay: 0, burst_time: 0, avg_dq_rate: 9, ..Linux::new(&config) };
        let vars = |pie: &Linux| (pie.prob, pie.accu_prob, pie.qdelay, pie.qdelay_old, pie.burst_time, pie.avg_dq_rate);
        let fresh = Linux::new(&config);
        let mut updates = 0;
        while !pie.is_fresh() {
            let before = pie.timer.expires;
            pie.skip_idle(ms(1_000_000));
            assert_eq!(pie.timer.expires, before, "it is not at rest yet");
            update(&mut pie);
            updates += 1;
            assert!(updates < 500, "{pie:?}");
        }
        assert_eq!(vars(&pie), vars(&fresh));
        // Further updates change nothing.
        for _ in 0..10 {
            update(&mut pie);
            assert_eq!(vars(&pie), vars(&fresh));
        }
        pie.skip_idle(ms(1_000_000));
        assert!((ms(1_000_000)..ms(1_000_016)).contains(&pie.timer.expires), "{:?}", pie.timer);
    }
}

/// Runs the due update of an empty queue.
fn update(pie: &mut Linux) {
    let at = pie.timer.expires;
    let mut rng = Rng::from_state(1);
    pie.update(at, &mut cx(at, &mut rng, Default::default(), ETHERNET));
}
