//! Values from the specification, and the table of a second implementation (`tests/steered/bbr.py`).

use super::*;
use crate::cc::call_table::{CallRow, apply, flight, lines, window};
use units::bytes_per_s;

#[test]
fn rates_are_those_of_the_specification() {
    for (packets, us, bw, plain, high) in
        [(10, 100_000, 1_677, 143_290, 413_638), (83, 100_000, 13_925, 1_189_813, 3_434_658)]
    {
        let sampled = packets * BW_UNIT / us;
        let rates = (bytes_per_s(sampled, 1448, UNIT), bytes_per_s(sampled, 1448, HIGH_GAIN));
        assert_eq!((sampled, rates), (bw, (plain, high)));
    }
    assert_eq!((HIGH_GAIN, DRAIN_GAIN), (739, 88));
    for (rtt, rate) in [(100_000, 413_638), (0, 41_381_651)] {
        let (mut bbr, mut window) = (Bbr::default(), window(10));
        let mut flight = flight(&mut window, rtt);
        bbr.on_established(&mut flight);
        assert_eq!(flight.pacing_rate.map(|rate| rate.as_bps() / 8), Some(rate), "RTT {rtt}");
    }
}

#[test]
fn windows_are_those_of_the_specification() {
    // Bandwidth, RTT; goal, bdp(1), bdp(2), inflight(1), window in PROBE_BW, target of the probe.
    for (mbit, rtt, [goal, one, two, inflight, cwnd], probe) in [
        (10.0, 40_000, [2, 35, 70, 42, 76], None),
        (10.0, 100_000, [2, 87, 173, 94, 180], Some(116)),
        (1.0, 20_000, [1, 2, 4, 6, 8], None),
        (100.0, 20_000, [8, 173, 346, 198, 370], None),
    ] {
        let bw = (mbit * 1e6 / 8.0 / 1448.0 / 1e6 * BW_UNIT as f64) as u64;
        let (mut bbr, mut window) = (Bbr { min_rtt_us: Some(rtt), ..Bbr::default() }, window(10));
        bbr.pacer.set(&mut flight(&mut window, 0), bw, UNIT, true);
        let found = [bbr.tso_segs_goal(1448), bbr.bdp(bw, UNIT), bbr.bdp(bw, CWND_GAIN)];
        assert_eq!(found, [goal, one, two], "{mbit} Mbit/s, {rtt} µs");
        assert_eq!(bbr.quantized(1448, found[1]), inflight, "{mbit} Mbit/s, {rtt} µs");
        assert_eq!(bbr.quantized(1448, found[2]), cwnd, "{mbit} Mbit/s, {rtt} µs");
        if let Some(probe) = probe {
            let probing = Bbr { mode: Mode::ProbeBw, cycle_idx: 0, ..bbr.clone() };
            assert_eq!(probing.quantized(1448, bbr.bdp(bw, CYCLE[0])), probe);
        }
    }
    assert_eq!(Bbr::default().bdp(1 << 20, UNIT), INITIAL_CWND, "before there is an RTT");
}

fn table() -> impl Iterator<Item = CallRow> {
    lines(include_str!("../../../tests/steered/bbr.txt"))
}

/// First difference between the two implementations, with our state.
fn first_difference(mut change: impl FnMut(&mut Bbr)) -> Option<String> {
    let (mut bbr, mut window) = (Bbr::default(), window(10));
    bbr.seed(Rng::from_state(7));
    bbr.on_established(&mut flight(&mut window, 40_000));
    table().enumerate().find_map(|(n, line)| {
        let undone = apply(&mut bbr, &mut window, &line);
        assert!(undone.is_none_or(|cwnd| cwnd == window.cwnd), "line {}", n + 1);
        change(&mut bbr);
        let mode = format!("{:?}", bbr.mode);
        let (min_rtt, lt) = (bbr.min_rtt_us.unwrap_or(0), bbr.lt.in_use().is_some() as u8);
        let found =
            format!("{} {} {} {mode} {min_rtt} {} {lt}", window.cwnd, window.ssthresh, bbr.pacer.rate(), bbr.bw());
        (found != line.expected)
            .then(|| format!("line {} ({}): {found} instead of {}", n + 1, line.event, line.expected))
    })
}

#[test]
fn a_second_implementation_finds_the_same_after_every_call() {
    assert_eq!(first_difference(|_| ()), None, "tests/steered/bbr.txt");
    for mode in ["Startup", "Drain", "ProbeBw", "ProbeRtt"] {
        assert!(table().any(|line| line.expected.contains(mode)), "the table visits {mode}");
    }
}

/// Removes one part of the model.
type Mutation = fn(&mut Bbr);

#[test]
fn each_part_of_the_model_is_seen_in_the_table() {
    let parts: [(&str, Mutation); 8] = [
        ("policers", |bbr| bbr.lt.reset()),
        ("aggregation", |bbr| bbr.extra.reset()),
        ("packet conservation", |bbr| bbr.packet_conservation = false),
        ("the window before recovery", |bbr| bbr.prior_cwnd = 0),
        ("restart after a pause", |bbr| bbr.idle_restart = false),
        ("the round of PROBE_RTT", |bbr| bbr.probe_rtt.round_done = false),
        ("the cycle of gains", |bbr| bbr.cycle_idx = 2),
        ("the full pipe", |bbr| bbr.full_bw_cnt = 0),
    ];
    for (name, without) in parts {
        assert!(first_difference(without).is_some(), "without {name} the table still holds");
    }
}
