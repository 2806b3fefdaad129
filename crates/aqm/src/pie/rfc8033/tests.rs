use super::*;
use crate::aqm::DropReason;
use crate::packet::Ecn;
use crate::pie::{Decay, Scaling};
use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc};
use crate::single::SingleQueue;
use crate::testing::{self, LINK, ms};
use alloc::vec::Vec;

fn config(profile: &str) -> Config {
    testing::config(profile, &[])
}

fn queue(config: &Config, limits: Limits) -> SingleQueue<Rfc8033, u32> {
    queue_under(Rfc8033::new(config), limits)
}

fn queue_under(pie: Rfc8033, limits: Limits) -> SingleQueue<Rfc8033, u32> {
    testing::queue_under(pie, limits, LINK)
}

fn push(queue: &mut SingleQueue<Rfc8033, u32>, now: Instant, ecn: Ecn) -> EnqueueResult {
    testing::push(queue, now, 1500, ecn)
}

fn pop(queue: &mut SingleQueue<Rfc8033, u32>, now: Instant) -> bool {
    matches!(queue.dequeue(now, &mut |_, _, _| panic!("PIE drops arrivals only")), DequeueResult::Packet(..))
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 5e-5 * b.abs()
}

#[test]
fn probability_after_an_update() {
    let (rfc8033, draft00) = (config("rfc8033"), config("draft00"));
    // The other reading of the draft: four levels of damping, and decay below half the target.
    let damped = Config { scaling: Scaling::FourLevels, decay: Decay::Short, ..config("draft00") };
    for (config, p, qdelay, qdelay_old, expected) in [
        // RFC 8033's controller: check vectors.
        (&rfc8033, 0.0, 0.100, 0.050, 3.5706e-5),
        (&rfc8033, 0.005, 0.030, 0.020, 0.0067969),
        (&rfc8033, 0.2, 0.3, 0.1, 0.24), // the cap of 2 %, and 2 % for more than 250 ms
        (&rfc8033, 0.05, 0.0, 0.0, 0.0482959),
        // draft-00: 0.125 × (100 - 16) ms + 1.25 × 50 ms = 0.073, damped by 2048.
        (&draft00, 0.0, 0.100, 0.050, 3.56445e-5),
        (&draft00, 0.005, 0.030, 0.020, 0.0067813),
        (&draft00, 0.2, 0.3, 0.1, 0.22),
        (&damped, 0.0, 0.100, 0.050, 0.00228125),
        (&damped, 0.05, 0.007, 0.007, 0.0484488),
        (&damped, 0.05, 0.009, 0.007, 0.0508125),
        // Bounds.
        (&rfc8033, 0.0, 0.0, 0.2, 0.0),
        (&rfc8033, 0.99, 0.4, 0.0, 1.0),
        (&draft00, 0.0, 0.0, 0.2, 0.0),
    ] {
        let p_new = updated_probability(config, p, qdelay, qdelay_old);
        assert!(close(p_new, expected), "{} from p {p}, {qdelay}, {qdelay_old}: {p_new}", config.target);
    }
}

#[test]
fn small_probabilities_change_slowly() {
    for (p, seven, four) in [
        (0.0, 2048.0, 32.0),
        (1e-6, 512.0, 32.0),
        (1e-5, 128.0, 32.0),
        (1e-4, 32.0, 32.0),
        (1e-3, 8.0, 8.0),
        (1e-2, 2.0, 2.0),
        (1e-1, 1.0, 1.0),
        (1.0, 1.0, 1.0),
    ] {
        assert_eq!((Scaling::SevenLevels.divisor(p), Scaling::FourLevels.divisor(p)), (seven, four), "p {p}");
    }
}

/// Controller during congestion, with a constant `p`.
fn congested(config: Config, p: f64) -> Rfc8033 {
    Rfc8033 { active: true, p, qdelay_old: 1.0, ..Rfc8033::new(&config) }
}

/// Arrivals from one drop to the next, for `drops` drops.
fn gaps(pie: &mut Rfc8033, drops: usize) -> Vec<u32> {
    let mut rng = Rng::from_state(3);
    let mut gap = || {
        (1..)
            .find(|_| {
                let dropped = pie.drop_early(1_000_000, &mut rng);
                if dropped {
                    pie.accu_prob = 0.0; // as `enqueue` does
                }
                dropped
            })
            .expect("p is positive")
    };
    (0..drops).map(|_| gap()).collect()
}

#[test]
fn derandomised_drops_are_85_to_850_arrivals_apart_at_one_percent() {
    let gaps = gaps(&mut congested(config("draft00"), 0.01), 20_000);
    let (min, max) = (*gaps.iter().min().unwrap(), *gaps.iter().max().unwrap());
    // 850 hundredths add up to slightly less than 8.5 in floating point: one arrival more.
    assert!(min == 85 && (800..=851).contains(&max), "{min}..{max}");
    // Never before 0.85 and always at 8.5, for any random number.
    for (accu_prob, p, dropped) in
        [(0.83, 0.01, Some(false)), (0.84, 1.0, Some(true)), (8.49, 1e-9, None), (8.5, 1e-9, Some(true))]
    {
        let mut pie = Rfc8033 { accu_prob, ..congested(config("draft00"), p) };
        let drop = pie.drop_early(1_000_000, &mut Rng::from_state(1));
        assert_eq!(drop, dropped.unwrap_or(false), "accu_prob {accu_prob}, p {p}");
    }
}

#[test]
fn random_drops_are_geometric_without_derandomisation() {
    let mut pie = congested(Config { derandomise: false, ..config("draft00") }, 0.01);
    let gaps = gaps(&mut pie, 20_000);
    let mean = gaps.iter().sum::<u32>() as f64 / gaps.len() as f64;
    // The standard deviation of the mean of 20,000 is 0.7.
    assert!((mean - 100.0).abs() < 3.0, "{mean}");
    assert!(gaps.contains(&1), "drops can follow each other");
}

#[test]
fn uncongested_queues_are_left_alone() {
    for (name, qdelay_old, p, bytes, dropped) in [
        ("congested", 0.1, 1.0, 2049, true),
        ("two packets", 0.1, 1.0, 2048, false),
        ("short delay, low p", 0.0079, 0.19, 9000, false),
        ("short delay, high p", 0.0079, 0.2, 9000, true),
        ("half the target", 0.0080, 0.19, 9000, true),
    ] {
        let mut pie = Rfc8033 { qdelay_old, accu_prob: 8.5, ..congested(config("draft00"), p) };
        assert_eq!(pie.drop_early(bytes, &mut Rng::from_state(1)), dropped, "{name}");
    }
    let mut idle = congested(config("draft00"), 0.0);
    idle.accu_prob = 5.0;
    assert!(!idle.drop_early(9000, &mut Rng::from_state(1)));
    assert_eq!(idle.accu_prob, 0.0, "p = 0 starts the accumulation again");
}

#[test]
fn the_control_starts_at_a_third_of_the_buffer() {
    for (limits, packets) in [
        (Limits::packets(30), 11),
        (Limits::bytes(45_000), 11),
        (Limits::bytes(44_999), 10),
        (Limits { time: Some(Duration::from_millis(30)), ..Limits::default() }, 11),
        (Limits { bytes: Some(90_000), ..Limits::packets(30) }, 11),
        (Limits { bytes: Some(9_000), ..Limits::packets(30) }, 3),
        (Limits::default(), 1),
    ] {
        let mut queue = queue(&config("draft00"), limits);
        let started = (1..).find(|_| {
            push(&mut queue, ms(1), Ecn::NotEct);
            queue.aqm().active
        });
        assert_eq!(started, Some(packets), "{limits}");
        assert_eq!(queue.aqm().burst_allowance, Duration::from_millis(100));
    }
    let mut always = queue(&Config { activation: Activation::Always, ..config("draft00") }, Limits::packets(1000));
    push(&mut always, ms(1), Ecn::NotEct);
    assert!(always.aqm().active);
}

#[test]
fn updates_come_at_the_multiples_of_t_update_while_active() {
    let mut queue = queue(&config("draft00"), Limits::packets(3));
    assert_eq!(queue.aqm().clone().next_update(), None);
    push(&mut queue, ms(100), Ecn::NotEct);
    push(&mut queue, ms(100), Ecn::NotEct);
    assert_eq!(queue.aqm().clone().next_update(), Some(ms(112)));
    queue.settle(ms(112));
    assert_eq!(queue.aqm().clone().next_update(), Some(ms(128)));
    queue.settle(ms(127));
    assert_eq!(queue.aqm().clone().next_update(), Some(ms(128)));
}

#[test]
fn the_control_rests_when_the_queue_is_empty_and_congestion_over() {
    let on_off = Config { activation: Activation::OnOff, ..config("draft00") };
    let mut queue = queue(&on_off, Limits::packets(3));
    (0..3).for_each(|_| assert_eq!(push(&mut queue, ms(1), Ecn::NotEct), EnqueueResult::Queued));
    assert!(queue.aqm().active);
    (0..3).for_each(|_| assert!(pop(&mut queue, ms(1))));
    assert!(!queue.aqm().active, "p and both delays are zero");
    assert_eq!(queue.aqm().clone().next_update(), None);

    let last_of_congestion = Rfc8033 { next_update: ms(16), qdelay_old: 0.0, ..congested(on_off, 0.001) };
    let mut queue = queue_under(last_of_congestion, Limits::packets(3));
    push(&mut queue, ms(1), Ecn::NotEct);
    assert!(pop(&mut queue, ms(1)));
    assert!(queue.aqm().active, "p has not decayed yet");
    queue.settle(ms(1_000));
    assert!(!queue.aqm().active);

    let mut once = super::tests::queue(&config("draft00"), Limits::packets(3));
    (0..3).for_each(|_| assert_eq!(push(&mut once, ms(1), Ecn::NotEct), EnqueueResult::Queued));
    (0..3).for_each(|_| assert!(pop(&mut once, ms(1))));
    assert!(once.aqm().active, "once on, it stays on");
}

#[test]
fn bursts_are_allowed_again_once_congestion_is_over() {
    for (p, qdelay_old, burst_ms) in [(0.0, 0.0079, 100), (0.0, 0.0081, 0), (0.5, 0.0, 0)] {
        let pie = Rfc8033 { next_update: ms(16), qdelay_old, ..congested(config("draft00"), p) };
        let mut queue = queue_under(pie, Limits::packets(9));
        push(&mut queue, ms(1), Ecn::NotEct);
        queue.settle(ms(16));
        assert_eq!(queue.aqm().burst_allowance, Duration::from_millis(burst_ms), "p {p}, qdelay_old {qdelay_old}");
        assert!(queue.aqm().active, "a packet waits");
    }
}

#[test]
fn departures_of_dq_threshold_bytes_are_timed_and_averaged() {
    // One packet per millisecond: 16,384 bytes have departed with the 11th packet after the start.
    let mut pie = congested(config("draft00"), 0.0);
    let mut depart = |from: u64, backlog: u64| {
        (0..12).for_each(|i| pie.measure(ms(from + i), 1500, backlog));
        pie.avg_dq_time
    };
    assert_eq!(depart(0, 16_383), 0.0, "too short a queue starts no measurement");
    assert_eq!(depart(100, 16_384), 0.011, "the first measurement is taken unchanged");
    // The next measurement started at 111 ms with the end of the first, and lasts until 210 ms.
    assert!(close(depart(200, 16_384), 0.25 * (0.210 - 0.111) + 0.75 * 0.011));
}

#[test]
fn two_updates_by_hand() {
    // 100 packets at 0 activate the control; one leaves at 0, 1, 2, … ms.
    let mut queue = queue(&Config { scaling: Scaling::FourLevels, ..config("draft00") }, Limits::packets(100));
    (0..100).for_each(|_| assert_eq!(push(&mut queue, ms(0), Ecn::NotEct), EnqueueResult::Queued));
    let mut t = 0;
    // The first 11 packets have departed after 10 ms, the next 11 after another 11: 0.75 × 10 + 0.25 × 11 = 10.25 ms.
    // Delay: 84 × 1500 B × 10 ms / 16384 B = 76.904 ms, then 68 × 1500 B × 10.25 ms / 16384 B = 63.812 ms.
    // Change of p: (0.125 × 60.904 ms + 1.25 × 76.904 ms) / 32, then (0.125 × 47.812 ms - 1.25 × 13.092 ms) / 8.
    for (at, qdelay, p, burst_ms) in [(16, 0.076904, 0.0032420, 84), (32, 0.063812, 0.0019434, 68)] {
        while t < at {
            assert!(pop(&mut queue, ms(t)));
            t += 1;
        }
        queue.settle(ms(at));
        let pie = queue.aqm();
        assert!(close(pie.qdelay, qdelay) && close(pie.p, p), "{pie:?} at {at} ms");
        assert_eq!(pie.qdelay_old, pie.qdelay);
        assert_eq!(pie.burst_allowance, Duration::from_millis(burst_ms));
    }
}

#[test]
fn nothing_is_dropped_during_the_burst_allowance() {
    // Twice the link's rate, starting with a full queue.
    let mut queue = queue(&config("draft00"), Limits::packets(2000));
    let first_drop = (0..2000u64).find(|&t| {
        let arrivals = if t == 0 { 700 } else { 2 };
        let dropped =
            (0..arrivals).any(|_| push(&mut queue, ms(t), Ecn::NotEct) == EnqueueResult::Dropped(DropReason::Early));
        pop(&mut queue, ms(t));
        dropped
    });
    // Active from 0: the 7th update at 112 ms has used up the 100 ms.
    let first_drop = first_drop.expect("twice the rate is dropped sooner or later");
    assert!((112..250).contains(&first_drop), "{first_drop}");
}

#[test]
fn every_drop_and_mark_starts_the_accumulation_again() {
    for (ecn, packet, p, limit, expected) in [
        (false, Ecn::Ect0, 0.05, 9, EnqueueResult::Dropped(DropReason::Early)),
        (true, Ecn::NotEct, 0.05, 9, EnqueueResult::Dropped(DropReason::Early)),
        (true, Ecn::Ect0, 0.05, 9, EnqueueResult::Marked),
        (true, Ecn::Ect0, 0.1, 9, EnqueueResult::Dropped(DropReason::Early)),
        (true, Ecn::Ect0, 0.05, 1, EnqueueResult::Dropped(DropReason::Limit)),
    ] {
        let pie = Rfc8033 { accu_prob: 8.5, ..congested(Config { ecn, ..config("draft00") }, p) };
        let mut queue = queue_under(pie, Limits::packets(limit));
        queue.enqueue(ms(1), Meta::new(3000, 0), 0, &mut |_, _, _| {});
        assert_eq!(queue.aqm().accu_prob, 8.5, "an empty queue accepts");
        assert_eq!(push(&mut queue, ms(1), packet), expected, "ecn {ecn}, {packet:?}, p {p}");
        assert_eq!(queue.aqm().accu_prob, 0.0);
    }
}
