//! One packet of 1500 bytes through changes of the rate, and exactness over long runs.

use super::*;
use proptest::prelude::*;
use sojourn_aqm::{Duration, Serializer};

fn schedule(text: &str) -> Schedule {
    Schedule::new(&Steps::parse(text).unwrap())
}

fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

#[test]
fn one_packet_through_changes() {
    for (rates, latch_us, fluid_us) in [
        ("1mbit@0s,10mbit@6ms", 12_000, 6_600),
        ("10mbit@0s,1mbit@0.6ms", 1_200, 6_600),
        ("1mbit@0s,0bit@6ms,2mbit@1000ms", 12_000, 1_003_000),
        ("1mbit@0s,2mbit@4ms,4mbit@6ms", 12_000, 7_000),
        // A change at the instant of completion: the packet is sent at the old rate.
        ("1mbit@0s,1kbit@12ms", 12_000, 12_000),
        ("1mbit@0s,0bit@12ms", 12_000, 12_000),
    ] {
        assert_eq!(schedule(rates).latched_end(us(0), 1500), us(latch_us), "latch, {rates}");
        assert_eq!(schedule(rates).fluid_end(us(0), 1500), us(fluid_us), "fluid, {rates}");
    }
}

#[test]
fn a_change_holds_from_the_next_packet_on() {
    let mut latch = schedule("1mbit@0s,10mbit@6ms");
    assert_eq!(latch.latched_end(us(0), 1500), us(12_000));
    assert_eq!(latch.latched_end(us(12_000), 1500), us(13_200));
}

#[test]
fn a_rate_of_zero_freezes_and_at_the_end_forever() {
    let mut fluid = schedule("1mbit@0s,0bit@6ms,2mbit@1s,0bit@2s");
    assert_eq!(fluid.fluid_end(us(0), 1500), us(1_003_000));
    assert_eq!(fluid.fluid_end(us(1_999_000), 1500), FAR);
}

#[test]
fn bits_add_up_over_the_schedule_of_the_published_experiments() {
    let schedule = schedule("100mbit@0s,10mbit@50s,1mbit@100s,50mbit@150s,1mbit@200s,100mbit@250s");
    let megabytes = |s: u64| schedule.bits_until(us(s * 1_000_000)) as f64 / 8e6;
    let parts: Vec<f64> = (0..6).map(|i| megabytes(50 * (i + 1)) - megabytes(50 * i)).collect();
    assert_eq!(parts, [625.0, 62.5, 6.25, 312.5, 6.25, 625.0]);
    assert_eq!(megabytes(300), 1637.5);
}

proptest! {
    /// Steps to the same rate equal the constant rate to the nanosecond, idle times included.
    #[test]
    fn equal_rates_are_a_constant_rate(
        bps in 1_000u64..10_000_000_000,
        packets in prop::collection::vec((1u32..9000, 0u64..3_000_000), 1..60),
        cut_ms in prop::collection::vec(1u64..400, 1..4),
    ) {
        let rate = Rate::from_bps(bps);
        let mut steps = format!("{bps}bit@0s");
        let mut at = 0;
        for ms in cut_ms {
            at += ms;
            steps += &format!(",{bps}bit@{at}ms");
        }
        let (mut fluid, mut single, mut fixed) =
            (schedule(&steps), Schedule::new(&Steps::constant(rate)), Serializer::new(rate));
        let mut now = Instant::ZERO;
        for (bytes, idle) in packets {
            let exact = now + fixed.time_for(bytes);
            prop_assert_eq!(single.fluid_end(now, bytes), exact);
            // An idle link drops a part of a nanosecond at a change, so the result may be off by one.
            let off = (fluid.fluid_end(now, bytes) - exact).as_nanos();
            prop_assert!(off.abs() <= 1, "{off} ns");
            now = exact + Duration::from_nanos(idle as i64);
        }
    }

    /// At every completion a saturated fluid server has sent all that was possible until then, within a nanosecond of
    /// work.
    #[test]
    fn a_saturated_server_wastes_nothing(
        rates in prop::collection::vec(0u64..50_000_000, 1..8),
        bytes in 40u32..1500,
    ) {
        let text: Vec<String> = rates.iter().enumerate().map(|(i, bps)| format!("{bps}bit@{}ms", 7 * i)).collect();
        let mut fluid = schedule(&format!("{},1mbit@{}ms", text.join(","), 7 * rates.len()));
        let (mut now, mut work) = (Instant::ZERO, 0u128);
        for _ in 0..200 {
            now = fluid.fluid_end(now, bytes);
            work += bytes as u128 * NANOS_PER_BYTE_AT_1_BPS as u128;
            let step = fluid.steps.partition_point(|&(since, ..)| since <= now) - 1;
            let (since, rate, done) = fluid.steps[step];
            let possible = done + work_in(rate, since, now);
            let fastest = *rates.iter().max().unwrap().max(&1_000_000) as u128;
            prop_assert!(possible <= work && work - possible < fastest, "{possible} {work}");
        }
    }
}
