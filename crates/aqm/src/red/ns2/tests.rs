use super::*;
use crate::packet::Ecn;
use crate::params::Bytes;
use crate::rate::Rate;
use crate::testing::cx;
use crate::time::Duration;
use alloc::vec::Vec;

/// 1250 packets of 1000 bytes per second.
const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);

/// Thresholds of 5 and 15 packets of 1000 bytes.
fn packets() -> Config {
    let in_packets = Config { bytes: false, queue_in_bytes: false, ..Config::default() };
    Config { min: Bytes(5000), max: Bytes(15_000), avpkt: Bytes(1000), ..in_packets }
}

fn ms(millis: i64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 + 1e-5 * b.abs()
}

/// Arrival of `meta` that finds `q` packets of 1000 bytes.
fn arrive(red: &mut Ns2Red, now: Instant, rng: &mut Rng, meta: Meta, q: u32) -> Verdict {
    let backlog = Backlog { packets: q, bytes: 1000 * q as u64 };
    red.arrive(&mut cx(now, rng, backlog, LINK), &meta, backlog)
}

/// Queue with a constant average of `q` packets.
fn standing(config: Config, q: u32) -> Ns2Red {
    let red = Ns2Red::new(&config, LINK);
    let unit = if config.queue_in_bytes { 1000.0 } else { 1.0 };
    Ns2Red { ave: q as f64 * unit, old: true, idle_since: None, ..red }
}

#[test]
fn the_drop_curve_over_the_average() {
    let below = |x: f64| x * (1.0 - 1e-12);
    let averages = [0.0, 4.0, 5.0, 10.0, below(15.0), 15.0, 22.5, below(30.0), 30.0, 40.0];
    for (gentle, expected) in [
        (true, [0.0, 0.0, 0.0, 0.05, 0.1, 0.1, 0.55, 1.0, 1.0, 1.0]),
        (false, [0.0, 0.0, 0.0, 0.05, 0.1, 1.0, 1.0, 1.0, 1.0, 1.0]),
    ] {
        let red = Ns2Red::new(&Config { gentle, ..packets() }, LINK);
        for (ave, p) in averages.into_iter().zip(expected) {
            assert!(close(red.probability(ave), p), "gentle {gentle}, {ave}: {}", red.probability(ave));
        }
        let curve: Vec<_> = (0..=4000).map(|i| red.probability(i as f64 / 100.0)).collect();
        assert!(curve.windows(2).all(|p| p[0] <= p[1]), "the curve never falls");
        let steepest = curve.windows(2).map(|p| p[1] - p[0]).fold(0.0, f64::max);
        assert_eq!(steepest < 0.0007, gentle, "only the curve that is not gentle jumps: {steepest}");
    }
}

#[test]
fn the_gentle_segment_starts_at_the_adapted_probability() {
    for (gentle_slope, at_max, at_twice) in [(GentleSlope::Recomputed, 0.4, 1.0), (GentleSlope::Initial, 0.1, 1.0)] {
        let mut red = Ns2Red::new(&Config { gentle_slope, adaptive: AdaptiveMode::Aimd, ..packets() }, LINK);
        red.ave = 14.0;
        (1..=30).for_each(|i| red.adapt(ms(501 * i)));
        assert!(close(red.cur_max_p, 0.4), "{}", red.cur_max_p);
        let before = red.probability(15.0 * (1.0 - 1e-12));
        assert!(close(before, 0.4));
        // ns-3 keeps the initial slope: its curve falls from 0.4 to 0.1 at max.
        assert!(close(red.probability(15.0), at_max), "{gentle_slope:?}: {}", red.probability(15.0));
        assert!(close(red.probability(22.5), (at_max + 1.0) / 2.0));
        assert!(close(red.probability(30.0), at_twice));
    }
}

#[test]
fn automatic_parameters() {
    let red = |config: Config, mbps: u64| Ns2Red::new(&config, Link { rate: Rate::from_bps(mbps * 1_000_000), ..LINK });
    let auto = Config { min: Bytes(0), max: Bytes(0), ..packets() };
    let at_10 = red(auto.clone(), 10);
    assert_eq!((at_10.ptc, at_10.th_min, at_10.th_max), (1250.0, 5.0, 15.0), "5 ms / 2 are 3.1 packets");
    assert!(close(at_10.q_w, 1.0 - libm::exp(-1.0 / 1250.0)));
    assert_eq!(at_10.bottom, 0.008);
    let at_100 = red(auto.clone(), 100);
    assert_eq!((at_100.th_min, at_100.th_max, at_100.bottom), (31.25, 93.75, 0.0008));
    assert_eq!(red(auto.clone(), 1).bottom, 0.01);
    let bytes = red(Config { queue_in_bytes: true, ..auto.clone() }, 100);
    assert_eq!((bytes.th_min, bytes.th_max), (31_250.0, 93_750.0));
    let only_max = red(Config { max: Bytes(9000), ..auto.clone() }, 10);
    assert_eq!((only_max.th_min, only_max.th_max), (3.0, 9.0));

    // Weight in the paper of seed 003: 1 - exp(-1/833.3) at 1500 bytes.
    let paper = Config { avpkt: Bytes(1500), ..auto.clone() };
    for (weight, expected) in [(0.0, 0.0011993), (-1.0, 0.0011993), (-2.0, 0.0119283), (0.002, 0.002)] {
        let q_w = red(Config { weight, ..paper.clone() }, 10).q_w;
        assert!(close_to_4_digits(q_w, expected), "{weight}: {q_w}");
    }
    // Three packet times exceed 100 ms.
    let slow = red(Config { weight: -1.0, bandwidth: Rate::from_bps(80_000), ..auto }, 10);
    assert!(close(slow.q_w, 1.0 - libm::exp(-1.0 / 30.0)));
}

fn close_to_4_digits(a: f64, b: f64) -> bool {
    (a - b).abs() < 5e-5 * b
}

#[test]
fn the_average_is_geometric_and_decays_in_idle_time() {
    let config = Config { weight: 0.1, ..packets() };
    let mut red = Ns2Red::new(&config, LINK);
    let mut rng = Rng::from_state(1);
    for n in 1..=50 {
        arrive(&mut red, ms(0), &mut rng, Meta::new(1000, 0), 4);
        assert!(close(red.ave, 4.0 * (1.0 - libm::pow(0.9, n as f64))), "after {n}: {}", red.ave);
    }
    // 8 ms are ten packet times; with the arrival eleven steps towards an empty queue.
    let before = red.ave;
    red.fall_idle(ms(100));
    red.fall_idle(ms(107)); // polling again does not shorten the idle period
    arrive(&mut red, ms(108), &mut rng, Meta::new(1000, 0), 0);
    assert!(close(red.ave, before * libm::pow(0.9, 11.0)));
    let before = red.ave;
    arrive(&mut red, ms(500), &mut rng, Meta::new(1000, 0), 0);
    assert!(close(red.ave, before * 0.9), "the pause is over");
}

#[test]
fn spacing() {
    let no_wait = Config { wait: false, ..packets() };
    let bytes = Config { bytes: true, ..packets() };
    for (config, p, count, count_bytes, len, expected) in [
        (&packets(), 0.05, 19, 0, 1000, 0.0),
        (&packets(), 0.05, 20, 0, 1000, 0.05),
        (&packets(), 0.05, 30, 0, 1000, 0.1),
        (&packets(), 0.05, 40, 0, 1000, 1.0),
        (&no_wait, 0.05, 0, 0, 1000, 0.05),
        (&no_wait, 0.05, 10, 0, 1000, 0.1),
        (&no_wait, 0.05, 20, 0, 1000, 1.0),
        // In byte mode 30,000 bytes are thirty packets, and a packet of half the size has half the probability.
        (&bytes, 0.05, 0, 30_000, 500, 0.05),
        (&bytes, 0.05, 0, 30_999, 1000, 0.05 / 0.5), // whole packets
        (&bytes, 0.5, 0, 3000, 9000, 1.0),
        (&bytes, 0.05, 99, 19_000, 1500, 0.0),
        (&bytes, 0.05, 0, 40_000, 100, 1.0),
    ] {
        let red = Ns2Red { count, count_bytes, ..Ns2Red::new(config, LINK) };
        let spaced = red.spaced(p, len);
        assert!(close(spaced, expected), "{p} after {count} packets, {count_bytes} B, for {len} B: {spaced}");
    }
}

#[test]
fn drops_are_uniformly_spaced_at_a_constant_average() {
    // Ten packets give p = 0.05: from 1/p to 2/p with wait, up to 1/p without.
    for (wait, expected) in [(true, 20..=39), (false, 1..=19)] {
        let mut red = standing(Config { wait, ..packets() }, 10);
        let mut rng = Rng::from_state(7);
        let (mut bins, mut since) = ([0u32; 64], 0);
        for _ in 0..400_000 {
            since += 1;
            if arrive(&mut red, ms(1), &mut rng, Meta::new(1000, 0), 10) == Verdict::Drop {
                bins[since] += 1;
                since = 0;
            }
        }
        let drops: u32 = bins.iter().sum();
        assert!(drops > 10_000);
        assert_eq!(bins[expected.clone()].iter().sum::<u32>(), drops, "all in {expected:?}: {bins:?}");
        let mean = drops as f64 / expected.clone().count() as f64;
        let chi2: f64 = bins[expected].iter().map(|&n| (n as f64 - mean) * (n as f64 - mean) / mean).sum();
        assert!(chi2 < 43.8, "99.9 % of uniform samples: {chi2}");
    }
}

#[test]
fn the_first_packet_beyond_min_starts_the_spacing_and_is_let_in() {
    let mut red = Ns2Red { old: false, count: 1000, count_bytes: 9, ..standing(packets(), 14) };
    let mut rng = Rng::from_state(1);
    assert_eq!(arrive(&mut red, ms(1), &mut rng, Meta::new(1000, 0), 14), Verdict::Accept);
    assert_eq!((red.old, red.count, red.count_bytes), (true, 1, 1000));
    assert_eq!(rng, Rng::from_state(1), "no draw");
    // An average beyond min with at most one packet in the queue drops nothing, and restarts the spacing.
    arrive(&mut red, ms(1), &mut rng, Meta::new(1000, 0), 1);
    assert!(!red.old);
    assert_eq!(rng, Rng::from_state(1));
}

#[test]
fn marks_end_where_the_probability_reaches_mark_p() {
    let ecn = Config { ecn: true, ..packets() };
    for (config, q, packet, expected) in [
        (ecn.clone(), 14, Ecn::Ect0, Verdict::Mark),
        (ecn.clone(), 14, Ecn::Ect1, Verdict::Mark),
        (ecn.clone(), 14, Ecn::Ce, Verdict::Mark),
        (ecn.clone(), 14, Ecn::NotEct, Verdict::Drop),
        (packets(), 14, Ecn::Ect0, Verdict::Drop),
        (Config { mark_p: 0.05, ..ecn.clone() }, 9, Ecn::Ect0, Verdict::Mark),
        (Config { mark_p: 0.05, ..ecn.clone() }, 10, Ecn::Ect0, Verdict::Drop), // p = 0.05
        (ecn.clone(), 15, Ecn::Ect0, Verdict::Drop),
        (ecn.clone(), 40, Ecn::Ect0, Verdict::Drop),
        (Config { mark_p: 0.5, ..ecn.clone() }, 20, Ecn::Ect0, Verdict::Mark),
        (Config { use_mark_p: false, ..ecn.clone() }, 29, Ecn::Ect0, Verdict::Mark),
        // Without mark_p a drop beyond the end of the curve is forced.
        (Config { use_mark_p: false, ..ecn.clone() }, 30, Ecn::Ect0, Verdict::Drop),
        (Config { use_mark_p: false, gentle: false, ..ecn.clone() }, 15, Ecn::Ect0, Verdict::Drop),
        (Config { use_mark_p: false, gentle: false, ..ecn }, 14, Ecn::Ect0, Verdict::Mark),
    ] {
        let mut red = Ns2Red { count: 1000, ..standing(config.clone(), q) };
        let verdict = arrive(&mut red, ms(1), &mut Rng::from_state(1), Meta::new(1000, 0).with_ecn(packet), q);
        assert_eq!(verdict, expected, "{packet:?} at {q} with {config:?}");
        assert_eq!((red.count, red.count_bytes), (0, 0), "the spacing starts again");
    }
}

#[test]
fn steps_of_additive_increase_and_multiplicative_decrease() {
    // The target range is from 9 to 11 packets.
    for (ave, first, expected) in [
        (11.1, 0.02, [0.025, 0.03125, 0.0390625, 0.048828125, 0.058828125, 0.068828125]),
        (8.9, 0.1, [0.09, 0.081, 0.0729, 0.06561, 0.059049, 0.0531441]),
        (9.0, 0.1, [0.1; 6]),
        (11.0, 0.1, [0.1; 6]),
        // The bounds are checked before the step.
        (11.1, 0.495, [0.505; 6]),
        (8.9, 0.0081, [0.00729; 6]),
    ] {
        let config = Config { adaptive: AdaptiveMode::Aimd, probability: first, ..packets() };
        let mut red = Ns2Red { ave, ..Ns2Red::new(&config, LINK) };
        for (i, max_p) in (1..).zip(expected) {
            red.adapt(ms(501 * i));
            assert!(close(red.cur_max_p, max_p), "step {i} at {ave}: {} instead of {max_p}", red.cur_max_p);
        }
    }
}

#[test]
fn the_interval_counts_from_the_last_change() {
    let mut red = Ns2Red { ave: 10.0, ..Ns2Red::new(&Config { adaptive: AdaptiveMode::Aimd, ..packets() }, LINK) };
    for (at_ms, ave, max_p) in [
        (500, 8.0, 0.1), // not yet more than an interval
        (600, 10.0, 0.1),
        (700, 8.0, 0.09), // nothing changed at 600 ms
        (1200, 8.0, 0.09),
        (1201, 8.0, 0.081),
    ] {
        red.ave = ave;
        red.adapt(ms(at_ms));
        assert!(close(red.cur_max_p, max_p), "{at_ms} ms: {}", red.cur_max_p);
    }
}

#[test]
fn feng_steps_when_the_average_leaves_the_thresholds() {
    let config = Config { adaptive: AdaptiveMode::Mimd, alpha: 3.0, beta: 2.0, ..packets() };
    let mut red = Ns2Red::new(&config, LINK);
    for (ave, max_p) in [
        (3.0, 0.1),
        (10.0, 0.1),
        (16.0, 0.2),
        (17.0, 0.2),
        (10.0, 0.2),
        (16.0, 0.4),
        (4.0, 0.4 / 3.0),
        (3.0, 0.4 / 3.0),
    ] {
        red.ave = ave;
        red.adapt(ms(1));
        assert!(close(red.cur_max_p, max_p), "{ave}: {}", red.cur_max_p);
    }
}
