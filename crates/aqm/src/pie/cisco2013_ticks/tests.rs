use super::*;
use crate::limits::Limits;
use crate::packet::Ecn;
use crate::qdisc::{EnqueueResult, Qdisc};
use crate::testing::{self, ETHERNET, ms, push, queue_under};

fn config() -> Config {
    testing::config("cisco2013-ticks", &[])
}

fn pie(prob: u32, qdelay: u64, avg_dq_rate: u32) -> Cisco2013Ticks {
    Cisco2013Ticks { prob, qdelay, avg_dq_rate, burst_time: 7, ..Cisco2013Ticks::new(&config()) }
}

#[test]
fn units_of_the_module() {
    let pie = Cisco2013Ticks::new(&config());
    assert_eq!((pie.target, pie.burst_time, pie.next_update), (312_500, 1_562_500, ms(500)));
    // 274 per sixteenth: per tick at the three levels of the probability.
    assert_eq!((pie.alpha, pie.beta), (2 * 274, 20 * 274));
    assert_eq!([7, 5, 4].map(|shift| (pie.alpha >> shift, pie.beta >> shift)), [(4, 42), (17, 171), (34, 342)]);
    assert_eq!(gain(0.13), gain(0.125), "no finer than a sixteenth");
}

#[test]
fn probability_after_an_update() {
    // Computed by another program from the formulas, with big integers that wrap when the module's wrap.
    for (prob, qdelay_old, backlog, rate, qdelay, expected) in [
        (0, 312_500, 37_119, 20, 475_123, 7_480_658),
        // Just below 1 %, and 1 %.
        (42_949_671, 300_001, 40_003, 23, 445_250, 49_581_129),
        (42_949_672, 300_001, 40_003, 23, 445_250, 70_044_001),
        // 10 %: at most 2 % more per update, twice that beyond 250 ms.
        (429_496_729, 500_123, 51_777, 17, 779_700, 515_396_073),
        // From 0 to 328 ms: the sum wraps, and the result is below the cap or not.
        (3_000_000_000, 0, 399_999, 20, 5_119_987, 3_171_798_689),
        (3_900_000_000, 0, 250_007, 16, 4_000_112, 4_071_798_689),
        (1_000, 0, 1_300_000, 20, 16_640_000, 850_090_345),
        // Decay, below 1/98 and above it, when the product wraps.
        (40_000_000, 0, 0, 20, 0, 37_975_000),
        (4_000_000_000, 0, 0, 20, 0, 1_167_260),
        // Down to 0, up to 1.
        (1_000_000, 400_000, 11, 20, 140, 0),
        (4_294_000_000, 5_000_000, 345_678, 20, 4_424_678, u32::MAX),
    ] {
        let mut pie = pie(prob, qdelay_old, rate);
        pie.calculate_probability(backlog);
        assert_eq!((pie.qdelay, pie.prob), (qdelay, expected), "from {prob}, {qdelay_old}, {backlog} B at {rate}");
        assert_eq!((pie.qdelay_old, pie.burst_time), (qdelay_old, 7), "nothing starts again");
    }
}

#[test]
fn a_rate_of_ten_megabits_sticks_at_its_first_measurement() {
    // Frames of 1538 bytes with 1514 counted, at 10 Mbit/s: 7 packets are timed; the first measurement starts at a
    // departure.
    let mut pie = Cisco2013Ticks::new(&config());
    let departure = |i: u64| (i * 1_230_400) >> TICK_SHIFT;
    (0..7).for_each(|i| pie.measure(departure(i), 1514, 20_000));
    assert_eq!((pie.avg_dq_rate, pie.burst_time), (23, 1_562_500 - 115_350));
    // From now on each measurement yields 20, whose eighth is 2, as is that of 23.
    (7..7_000).for_each(|i| pie.measure(departure(i), 1514, 20_000));
    assert_eq!((pie.avg_dq_rate, pie.burst_time), (23, 0), "the delay is a seventh too short for ever");
    // At 100 Mbit/s the average moves, but does not reach 201.
    let mut pie = Cisco2013Ticks { avg_dq_rate: 100, ..Cisco2013Ticks::new(&config()) };
    (0..7_000).for_each(|i| pie.measure((i * 123_040) >> TICK_SHIFT, 1514, 20_000));
    assert_eq!(pie.avg_dq_rate, 200);
}

#[test]
fn a_measurement_ends_with_the_backlog() {
    let mut pie = Cisco2013Ticks::new(&config());
    (0..9).for_each(|i| pie.measure(i, 1500, 9_999));
    assert_eq!(pie.dq_count, None, "too short a queue to begin");
    pie.measure(100, 9_000, 10_000);
    pie.measure(100, 1_000, 9_999);
    assert_eq!((pie.dq_count, pie.avg_dq_rate), (Some(10_000), 0), "at one instant nothing is measured");
    pie.measure(164, 77, 9_999);
    assert_eq!((pie.dq_count, pie.avg_dq_rate), (None, (10_077 << 8) / 64));
}

#[test]
fn short_queues_bursts_and_low_delays_are_left_alone() {
    for (name, burst_time, qdelay, prob, backlog, dropped) in [
        ("congested", 0, 500_000, u32::MAX, 3028, true),
        ("less than two packets", 0, 500_000, u32::MAX, 3027, false),
        ("burst", 1, 500_000, u32::MAX, 9000, false),
        ("low delay and low probability", 0, 156_249, u32::MAX / 5 - 1, 9000, false),
        ("half the target", 0, 156_250, u32::MAX, 9000, true),
    ] {
        let mut pie = Cisco2013Ticks { burst_time, qdelay, prob, ..Cisco2013Ticks::new(&config()) };
        assert_eq!(pie.drop_early(backlog, 1514, 1514, &mut Rng::from_state(1)), dropped, "{name}");
    }
}

#[test]
fn drops_are_geometric_and_in_bytemode_proportional_to_size() {
    for (bytemode, len, p) in [(false, 757, 0.02), (true, 757, 0.01), (true, 9000, 0.02)] {
        let config = Config { bytemode, ..config() };
        let prob = (0.02 * f64::from(MAX_PROB)) as u32;
        let mut pie = Cisco2013Ticks { burst_time: 0, qdelay: 500_000, prob, ..Cisco2013Ticks::new(&config) };
        let mut rng = Rng::from_state(3);
        let drops = (0..1_000_000).filter(|_| pie.drop_early(9000, len, 1514, &mut rng)).count() as f64;
        assert!((drops / 1e6 - p).abs() < 5e-4, "bytemode {bytemode}, {len} bytes: {drops}");
    }
}

#[test]
fn marks_up_to_ten_percent() {
    for (ecn, packet, prob, expected) in [
        (true, Ecn::Ect0, MAX_PROB / 10, true),
        (true, Ecn::Ect0, MAX_PROB / 10 + 1, false),
        (true, Ecn::NotEct, MAX_PROB / 10, false),
        (false, Ecn::Ect0, MAX_PROB / 10, false),
    ] {
        let config = Config { ecn, ..config() };
        let pie = Cisco2013Ticks {
            burst_time: 0,
            qdelay: 1 << 40,
            prob,
            next_update: Instant::NEVER,
            ..Cisco2013Ticks::new(&config)
        };
        let mut queue = queue_under(pie, Limits::packets(9999), ETHERNET);
        push(&mut queue, ms(1), 3028, Ecn::NotEct);
        let verdicts: alloc::vec::Vec<_> = (0..999).map(|_| push(&mut queue, ms(1), 1500, packet)).collect();
        let marked = verdicts.iter().filter(|&&verdict| verdict == EnqueueResult::Marked).count();
        let dropped = verdicts.iter().filter(|&&verdict| matches!(verdict, EnqueueResult::Dropped(_))).count();
        let (chosen, other) = if expected { (marked, dropped) } else { (dropped, marked) };
        assert!((70..130).contains(&chosen) && other == 0, "ecn {ecn}, {packet:?}, {prob}: {marked}, {dropped}");
        assert_eq!(queue.backlog().packets as usize, 1000 - dropped);
    }
}
