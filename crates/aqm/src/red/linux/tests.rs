use super::*;
use crate::packet::Ecn;
use crate::testing::{self, cx};

const MBIT10: Rate = Rate::from_bps(10_000_000);
const LINK: Link = Link::new(MBIT10, 1500);

fn config() -> Config {
    testing::config("linux", &[("min", "10 kB"), ("max", "30 kB"), ("burst", "17"), ("probability", "0.1")])
}

fn red(config: &Config) -> LinuxRed {
    LinuxRed::new(config, &Limits::default(), LINK)
}

fn us(micros: i64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// Queue with a constant average of `bytes`.
fn standing(config: &Config, bytes: u64) -> LinuxRed {
    let red = red(config);
    LinuxRed { vars: Vars { qavg: bytes << red.params.wlog, ..Vars::new() }, ..red }
}

fn arrive(red: &mut LinuxRed, rng: &mut Rng, ecn: Ecn, bytes: u64) -> Verdict {
    let backlog = Backlog { packets: 1, bytes };
    red.arrive(&mut cx(us(1), rng, backlog, LINK), &Meta::new(1500, 0).with_ecn(ecn), backlog)
}

#[test]
fn thresholds_burst_and_weight_of_a_target_delay() {
    // Khademi et al. 2013 at 10 Mbit/s, and at 27 Mbit/s on Wi-Fi.
    for (mbps, target_ms, avpkt, min, max, burst_, wlog_) in [
        (10, 1, 1500, 1500, 3000, 1, 1), // a burst of 2 would need a weight near zero
        (10, 5, 1500, 3125, 9375, 4, 3),
        (10, 1, 1000, 1500, 3000, 2, 1),
        (10, 5, 1000, 3125, 9375, 6, 3),
        (10, 10, 1000, 6250, 18_750, 11, 3),
        (10, 20, 1000, 12_500, 37_500, 21, 4),
        (10, 30, 1000, 18_750, 56_250, 32, 5),
        (27, 5, 1000, 8437, 25_312, 15, 4),
    ] {
        let (avpkt, target) = (Bytes(avpkt), Duration::from_millis(target_ms));
        let config = Config { min: Bytes(0), max: Bytes(0), burst: 0, avpkt, target, ..config() };
        let link = Link::new(Rate::from_bps(mbps * 1_000_000), 1500);
        let thresholds = thresholds(&config, &Limits::default(), link);
        assert_eq!(thresholds, (min, max), "{mbps} Mbit/s, {target_ms} ms");
        assert_eq!(config.burst(min, max), burst_, "{mbps} Mbit/s, {target_ms} ms");
        assert_eq!(wlog(min, burst_, avpkt.0), Some(wlog_), "{mbps} Mbit/s, {target_ms} ms, {avpkt:?}");
    }
}

#[test]
fn tc_chooses_the_weight() {
    // tc's burst is rounded down.
    for (min, max, avpkt, burst_, wlog_) in [
        (1500, 3000, 1500, 1, 1),
        (3125, 9375, 1500, 3, 2),
        (6250, 18_750, 1500, 6, 2),
        (12_500, 37_500, 1500, 13, 3),
        (18_750, 56_250, 1500, 20, 4),
        (1500, 3000, 1000, 2, 1),
        (3125, 9375, 1000, 5, 2),
        (6250, 18_750, 1000, 10, 3),
        (12_500, 37_500, 1000, 20, 4),
        (18_750, 56_250, 1000, 31, 4),
    ] {
        let config = Config { min: Bytes(min), max: Bytes(max), burst: 0, avpkt: Bytes(avpkt), ..config() };
        assert_eq!(config.burst(min, max), burst_);
        assert_eq!(wlog(min, burst_, avpkt), Some(wlog_), "min {min}, avpkt {avpkt}");
    }
    assert_eq!(wlog(10_000, 3, 1000), None, "less than min/avpkt");
    assert_eq!(wlog(500, 3, 1000), None, "min is less than a packet");
}

#[test]
fn tc_derives_thresholds_from_the_limit() {
    let free = Config { min: Bytes(0), max: Bytes(0), ..config() };
    let thresholds = |config: &Config, limits| thresholds(config, &limits, LINK);
    assert_eq!(thresholds(&free, Limits::bytes(400_000)), (33_333, 100_000));
    assert_eq!(thresholds(&free, Limits::packets(100)), (12_500, 37_500));
    assert_eq!(thresholds(&free, Limits::default()), (125_000, 375_000));
    assert_eq!(thresholds(&Config { max: Bytes(9000), ..free.clone() }, Limits::default()), (3000, 9000));
    assert_eq!(thresholds(&Config { min: Bytes(9000), ..free }, Limits::default()), (9000, 27_000));
}

#[test]
fn the_average_is_a_sum_of_shifts() {
    let params = Params::new(10_000, 30_000, 3, 0.1);
    let mut vars = Vars::new();
    // qavg += backlog - qavg / 8: 8000, 8000 + 8000 - 1000, 15000 - 1875, …
    for (backlog, qavg) in [(8000, 8000), (8000, 15_000), (0, 13_125), (1, 11_486)] {
        vars.sample(&params, backlog);
        assert_eq!(vars.qavg, qavg);
    }
}

#[test]
fn idle_time_decays_the_average_and_its_end_adds_nothing() {
    let params = Params::new(10_000, 30_000, 3, 0.1);
    let idle = IdleTable::new(3, 1000, MBIT10);
    // A packet takes 800 us, 12,500 of tc's ticks; a cell of 1024 ticks shifts by 0.0109.
    let lw = -libm::log(7.0 / 8.0) / 12_500.0;
    assert_eq!(idle.scell_log, 13);
    for (i, &bits) in idle.stab.iter().enumerate().take(255) {
        assert_eq!(bits, ((8192.0 * i as f64 * lw) as u8).min(31), "cell {i}");
    }
    assert_eq!(idle.stab[255], 31);
    for (idle_us, qavg) in [
        (0, 160_000),
        (100, 160_000 - ((160_000 * 100) >> 13)),
        (8191, 80_000), // linear only down to one half
        (8192 * 11, 80_000),
        (8192 * 12, 80_000),
        (8192 * 24, 40_000),
        (8192 * 255, 0),
        (i64::MAX / 1000, 0),
    ] {
        let mut vars = Vars { qavg: 160_000, ..Vars::new() };
        vars.fall_idle(us(0));
        vars.fall_idle(us(50)); // already idle
        let decayed = vars.decayed(&idle, us(idle_us));
        assert_eq!(decayed, qavg, "{idle_us} us");
        vars.average(&params, &idle, 9000, us(idle_us));
        assert_eq!((vars.qavg, vars.qidlestart), (decayed, None), "the backlog is not added");
    }
    let odd = Vars { qavg: 7, qidlestart: Some(us(0)), ..Vars::new() };
    assert_eq!(odd.decayed(&idle, us(8000)), 3, "half of it, rounded down");
}

#[test]
fn marks_are_uniformly_spaced_between_the_thresholds() {
    // In the middle p = 0.05: qR is uniform below 200,000, and each packet counts 10,000.
    let mut red = standing(&config(), 20_000);
    let mut rng = Rng::from_state(3);
    let (mut bins, mut since) = ([0u32; 64], 0);
    assert_eq!(arrive(&mut red, &mut rng, Ecn::NotEct, 20_000), Verdict::Accept, "the first one draws qR");
    assert_eq!(red.vars.qcount, 0);
    for _ in 0..400_000 {
        since += 1;
        if arrive(&mut red, &mut rng, Ecn::NotEct, 20_000) == Verdict::Drop {
            bins[since] += 1;
            since = 0;
        }
    }
    let drops: u32 = bins.iter().sum();
    assert_eq!(bins[1..=20].iter().sum::<u32>(), drops, "{bins:?}");
    let mean = drops as f64 / 20.0;
    let chi2: f64 = bins[1..=20].iter().map(|&n| (n as f64 - mean) * (n as f64 - mean) / mean).sum();
    assert!(chi2 < 43.8, "99.9 % of uniform samples: {chi2}");
}

#[test]
fn actions_beyond_the_thresholds() {
    let mut rng = Rng::from_state(1);
    for (bytes, verdict, qcount) in [
        (9999, Verdict::Accept, -1),
        (10_000, Verdict::Accept, 0),
        (29_999, Verdict::Accept, 0),
        (30_000, Verdict::Drop, -1),
    ] {
        let mut red = standing(&config(), bytes);
        assert_eq!(arrive(&mut red, &mut rng, Ecn::NotEct, bytes), verdict, "{bytes}");
        assert_eq!(red.vars.qcount, qcount, "{bytes}");
    }
}

#[test]
fn marks_and_drops_by_flag() {
    let flags = |ecn, harddrop, nodrop| Config { ecn, harddrop, nodrop, ..config() };
    for (name, config, ecn, drawn, beyond) in [
        ("plain", flags(false, false, false), Ecn::Ect0, Verdict::Drop, Verdict::Drop),
        ("ecn", flags(true, false, false), Ecn::Ect0, Verdict::Mark, Verdict::Mark),
        ("ecn", flags(true, false, false), Ecn::Ce, Verdict::Mark, Verdict::Mark),
        ("ecn", flags(true, false, false), Ecn::NotEct, Verdict::Drop, Verdict::Drop),
        ("harddrop", flags(true, true, false), Ecn::Ect1, Verdict::Mark, Verdict::Drop),
        ("nodrop", flags(true, false, true), Ecn::NotEct, Verdict::Accept, Verdict::Accept),
        ("nodrop", flags(true, false, true), Ecn::Ect0, Verdict::Mark, Verdict::Mark),
        ("both", flags(true, true, true), Ecn::NotEct, Verdict::Accept, Verdict::Drop),
    ] {
        let mut rng = Rng::from_state(1);
        let mut between = standing(&config, 20_000);
        between.vars = Vars { qcount: 100, ..between.vars };
        assert_eq!(arrive(&mut between, &mut rng, ecn, 20_000), drawn, "{name}, {ecn:?}, between");
        let mut above = standing(&config, 40_000);
        assert_eq!(arrive(&mut above, &mut rng, ecn, 40_000), beyond, "{name}, {ecn:?}, above");
    }
}

#[test]
fn adaptation_steps_within_its_bounds() {
    let params = |p| Params::new(10_000, 30_000, 3, p);
    assert_eq!((params(0.1).target_min, params(0.1).target_max), (18_000, 22_000));
    for (avg, first, expected) in [
        (22_001, 0.02, [0.025, 0.03125, 0.0390625, 0.048828]),
        (22_001, 0.495, [0.505, 0.505, 0.505, 0.505]), // up to 51 %, because the bound is checked before the step
        (17_999, 0.1, [0.09, 0.081, 0.0729, 0.06561]),
        (17_999, 0.0108, [0.00972, 0.00972, 0.00972, 0.00972]),
        (18_000, 0.1, [0.1; 4]),
        (22_000, 0.1, [0.1; 4]),
    ] {
        let mut params = params(first);
        for max_p in expected {
            params.adapt(avg << 3);
            assert!((params.max_p as f64 / TWO_TO_32 - max_p).abs() < 1e-6, "{avg}: {} not {max_p}", params.max_p);
            assert_eq!(params.max_p_delta, libm::round(params.max_p as f64 / 20_000.0) as u32);
        }
    }
    // Even without a change the divisor is rounded again; initially it was rounded down.
    let mut rounded = Params::new(0, 7, 1, 6.0 / TWO_TO_32);
    assert_eq!(rounded.max_p_delta, 1, "at least 1");
    rounded.adapt(6);
    assert_eq!(rounded.max_p_delta, 1);
}

#[test]
fn thresholds_gigabytes_apart_wrap_as_in_the_kernel() {
    let mut params = Params { max_p: 40 * PERCENT, qth_delta: u32::MAX - 10, ..red(&config()).params };
    let idle = params.target_min << params.wlog;
    params.adapt(idle);
    assert_eq!((params.max_p, params.max_p_delta), (40 * PERCENT, 1), "at 40 % nothing wraps");
    params.max_p = 51 * PERCENT;
    params.adapt(idle);
    assert_eq!(params.max_p_delta, 1);
}

#[test]
fn the_timer_runs_every_interval_from_the_origin_and_sees_idle_time() {
    let config = Config { adaptive: AdaptiveMode::Aimd, ..config() };
    let mut red = red(&config);
    red.vars = Vars { qavg: 40_000 << red.params.wlog, qidlestart: Some(Instant::ZERO), ..Vars::new() };
    assert_eq!(red.next_update(), Some(us(500_000)));
    red.update(us(500_000));
    assert_eq!(red.next_update(), Some(us(1_000_000)));
    let max_p = red.params.max_p as f64 / TWO_TO_32;
    assert!((max_p - 0.09).abs() < 1e-6, "the average has decayed while idle: {max_p}");
    assert_eq!(red.vars.qavg, 40_000 << red.params.wlog, "only an arrival writes the decay down");
    assert_eq!(LinuxRed { adaptive: false, ..red }.next_update(), None);
}
