//! Values from the specification, and the table of a second implementation (`tests/steered/bbr3.py`).

use super::bounds::{LOSS_THRESH, NONE};
use super::*;
use crate::cc::bbr::units::bytes_per_s;
use crate::cc::call_table::{CallRow, apply, flight, lines, window};

#[test]
fn the_constants_are_those_of_the_specification() {
    let gains = [STARTUP_PACING_GAIN, DRAIN_GAIN, CWND_GAIN, UP_GAIN, DOWN_GAIN, CWND_GAIN + UP_CWND_GAIN];
    assert_eq!(gains, [710, 88, 512, 320, 232, 576]);
    assert_eq!([bounds::BETA, bounds::HEADROOM, LOSS_THRESH], [76, 38, 5]);
    let (mut bbr, mut window) = (Bbr3::default(), window(10));
    let mut flight = flight(&mut window, 100_000);
    bbr.on_established(&mut flight);
    let rate = bytes_per_s(1_677, 1448, 710);
    assert_eq!(flight.pacing_rate.map(|rate| rate.as_bps() / 8), Some(rate), "ten packets in 100 ms");
}

#[test]
fn a_loss_names_what_was_in_flight_when_it_became_too_much() {
    // 2 % (5/256) of the 99 packets before it are 2 (rounded up): with none lost before, 2 / 0.98 segments after the
    // 99.
    for (tx_in_flight, lost, found) in [(100, 1, 101), (100, 2, 100), (100, 3, 99), (100, 60, 99), (1, 1, 0)] {
        let (mut bbr, mut window) = (Bbr3::default(), window(10));
        bbr.cycle.bw_probe_samples = true;
        let loss = LostSegment { tx_in_flight, lost, is_app_limited: false, continues: false };
        bbr.on_loss(&mut flight(&mut window, 40_000), &loss);
        let too_many = u64::from(lost) > u64::from(tx_in_flight) * LOSS_THRESH / 256;
        let minimum = (bbr.target_inflight(&flight(&mut window, 40_000)) * 180) >> 8;
        let expected = if too_many { found.max(minimum) } else { NONE };
        assert_eq!(bbr.bounds.inflight_hi, expected, "{lost} of {tx_in_flight}");
        assert_eq!(bbr.cycle.prev_probe_too_high, too_many);
    }
}

fn table() -> impl Iterator<Item = CallRow> {
    lines(include_str!("../../../tests/steered/bbr3.txt"))
}

/// First difference between the two implementations, with our state.
fn first_difference(mut change: impl FnMut(&mut Bbr3)) -> Option<String> {
    let (mut bbr, mut window) = (Bbr3::default(), window(10));
    bbr.seed(Rng::from_state(7));
    bbr.on_established(&mut flight(&mut window, 40_000));
    table().enumerate().find_map(|(n, line)| {
        let undone = apply(&mut bbr, &mut window, &line);
        assert!(undone.is_none_or(|cwnd| cwnd == bbr.prior_cwnd), "line {}", n + 1);
        change(&mut bbr);
        let bound = |bound: u32| if bound == NONE { -1 } else { bound as i64 };
        let (hi, lo) = (bound(bbr.bounds.inflight_hi), bound(bbr.bounds.inflight_lo));
        let (mode, min_rtt) = (bbr.mode, bbr.min_rtt_us.unwrap_or(0));
        let (cwnd, ssthresh, rate) = (window.cwnd, window.ssthresh, bbr.pacer.rate());
        let found = format!("{cwnd} {ssthresh} {rate} {mode:?} {min_rtt} {} {hi} {lo}", bbr.bw());
        (found != line.expected)
            .then(|| format!("line {} ({}): {found} instead of {}", n + 1, line.event, line.expected))
    })
}

#[test]
fn a_second_implementation_finds_the_same_after_every_call() {
    assert_eq!(first_difference(|_| ()), None, "tests/steered/bbr3.txt");
    for mode in ["Startup", "Drain", "ProbeUp", "ProbeDown", "ProbeCruise", "ProbeRefill", "ProbeRtt"] {
        let visits = table().filter(|line| line.expected.contains(mode)).count();
        assert!(visits > 3, "the table visits {mode} {visits} times");
    }
}

/// Removes one part of the model.
type Mutation = fn(&mut Bbr3);

#[test]
fn each_part_of_the_model_is_seen_in_the_table() {
    let parts: [(&str, Mutation); 14] = [
        ("aggregation", |bbr| bbr.extra.reset()),
        ("the upper bound", |bbr| bbr.bounds.inflight_hi = NONE),
        ("the lower bounds", |bbr| bbr.bounds.reset_lower()),
        ("losses of the round", |bbr| bbr.bounds.loss_in_round = false),
        ("the latest signals", |bbr| bbr.bounds.reset_signals()),
        ("the round of losses", |bbr| bbr.bounds.loss_round_delivered = 0),
        ("the saved bounds", |bbr| bbr.bounds.save()),
        ("samples of a search", |bbr| bbr.cycle.bw_probe_samples = false),
        ("a search that went too far", |bbr| bbr.cycle.prev_probe_too_high = false),
        ("rounds since a search", |bbr| bbr.cycle.rounds_since_probe = 0),
        ("the window before recovery", |bbr| bbr.prior_cwnd = 0),
        ("restart after a pause", |bbr| bbr.idle_restart = false),
        ("the fast path", |bbr| bbr.try_fast_path = false),
        ("the plateau", |bbr| bbr.full_bw_cnt = 0),
    ];
    for (name, without) in parts {
        assert!(first_difference(without).is_some(), "without {name} the table still holds");
    }
}
