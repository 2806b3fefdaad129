//! Table of a second implementation (`tests/steered/bbr3_draft.py`), and values from the draft.

use super::*;
use crate::cc::call_table::{CallRow, apply, at, flight, lines, span, window};

fn table() -> impl Iterator<Item = CallRow> {
    lines(include_str!("../../../tests/steered/bbr3_draft.txt"))
}

/// First difference between the two implementations, with our state.
fn first_difference(mut change: impl FnMut(&mut Bbr3Draft)) -> Option<String> {
    let (mut bbr, mut window) = (Bbr3Draft::default(), window(10));
    bbr.seed(Rng::from_state(7));
    bbr.on_established(&mut flight(&mut window, 40_000));
    table().enumerate().find_map(|(n, line)| {
        if let Some(cwnd) = apply(&mut bbr, &mut window, &line) {
            window.cwnd = cwnd;
        }
        change(&mut bbr);
        let bound = |bound: f64| if bound.is_finite() { format!("{bound:.3}") } else { "-1".into() };
        let (long, short) = (bound(bbr.bounds.inflight_longterm), bound(bbr.bounds.inflight_shortterm));
        let (cwnd, rate, state, rtt, bw) = (bbr.cwnd, bbr.pacing_rate, bbr.state, bbr.min_rtt, bbr.bw);
        let found = format!("{cwnd:.3} {rate:.3} {state:?} {rtt:.6} {bw:.3} {long} {short}");
        (found != line.expected)
            .then(|| format!("line {} ({}): {found} instead of {}", n + 1, line.event, line.expected))
    })
}

#[test]
fn a_second_implementation_finds_the_same_after_every_call() {
    assert_eq!(first_difference(|_| ()), None, "tests/steered/bbr3_draft.txt");
    for state in ["Startup", "Drain", "ProbeBwDown", "ProbeBwCruise", "ProbeBwRefill", "ProbeBwUp", "ProbeRtt"] {
        let visits = table().filter(|line| line.expected.contains(state)).count();
        assert!(visits > 8, "the table visits {state} {visits} times");
    }
}

/// Removes one part of the model.
type Mutation = fn(&mut Bbr3Draft);

#[test]
fn each_part_of_the_model_is_seen_in_the_table() {
    let parts: [(&str, Mutation); 13] = [
        ("aggregation", |bbr| *bbr.extra_acked_filter = [0.0; EXTRA_ACKED_ROUNDS]),
        ("the long-term bound", |bbr| bbr.bounds.inflight_longterm = f64::INFINITY),
        ("the short-term model", |bbr| bbr.bounds.reset_short_term()),
        ("losses of the round", |bbr| bbr.bounds.is_loss_in_round = false),
        ("the latest signals", |bbr| bbr.bounds.reset_congestion_signals()),
        ("the state to come back to", |bbr| bbr.bounds.undo_state = None),
        ("samples of a search", |bbr| bbr.cycle.is_bw_probe_sample = false),
        ("a search that went too far", |bbr| bbr.cycle.prev_probe_too_high = false),
        ("rounds since a search", |bbr| bbr.cycle.rounds_since_probe_up = 0),
        ("the window before recovery", |bbr| bbr.prior_cwnd = 0.0),
        ("restart after a pause", |bbr| bbr.idle_restart = false),
        ("the two cycles of the filter", |bbr| bbr.cycle_count = 0),
        ("the plateau", |bbr| bbr.full_bw_count = 0),
    ];
    for (name, without) in parts {
        assert!(first_difference(without).is_some(), "without {name} the table still holds");
    }
}

#[test]
fn drain_ends_after_three_rounds_whatever_is_in_flight() {
    let (mut bbr, mut window) = (Bbr3Draft::default(), window(10));
    bbr.on_established(&mut flight(&mut window, 40_000));
    (bbr.state, bbr.full_bw_reached, bbr.max_bw, bbr.bw) = (Mode::Drain, true, 1_000.0, 1_000.0);
    let rounds = (1u64..).find(|&round| {
        let mut flight = Flight { in_flight: 1_000, delivered: 10 * round + 1, ..flight(&mut window, 40_000) };
        let sample = RateSample { delivered: Some(10), prior_delivered: 10 * round - 9, ..RateSample::default() };
        bbr.steer(&mut flight, &sample);
        bbr.state != Mode::Drain
    });
    assert_eq!((rounds, bbr.state), (Some(4), Mode::ProbeBwDown), "round_count > drain_start_round + 3");
}

#[test]
fn a_spurious_loss_that_ended_startup_or_a_search_is_taken_back() {
    for (undo_state, state, expected) in [
        (Some(Mode::Startup), Mode::Drain, Mode::Startup),
        (Some(Mode::Startup), Mode::ProbeRtt, Mode::ProbeRtt),
        (Some(Mode::ProbeBwUp), Mode::ProbeBwDown, Mode::ProbeBwRefill),
        (None, Mode::ProbeBwDown, Mode::ProbeBwDown),
    ] {
        let (mut bbr, mut window) = (Bbr3Draft::default(), window(10));
        bbr.on_established(&mut flight(&mut window, 40_000));
        (bbr.state, bbr.full_bw_reached, bbr.bounds.undo_state) = (state, true, undo_state);
        bbr.undo_cwnd(&window);
        bbr.finish_undo(&flight(&mut window, 40_000));
        assert_eq!(bbr.state, expected, "{undo_state:?} from {state:?}");
        assert_eq!(bbr.full_bw_reached, undo_state != Some(Mode::Startup));
    }
}

#[test]
fn pauses_of_the_application_are_no_aggregation() {
    // Ten segments every 50 ms: data delivered before a pause does not count for the time after it.
    let (mut bbr, mut window) = (Bbr3Draft::default(), window(10));
    bbr.on_established(&mut flight(&mut window, 40_000));
    for n in 1..100u64 {
        let now = at(5_000_000 + 50_000 * n);
        let (delivered, acked) = (10 * n, 10);
        bbr.on_restart(&mut Flight { now, delivered, is_app_limited: true, ..flight(&mut window, 40_000) });
        let sample = RateSample {
            delivered: Some(acked),
            interval: Some(span(40_000)),
            prior_delivered: delivered,
            acked_sacked: acked,
            is_app_limited: true,
            ..RateSample::default()
        };
        let now = at(5_040_000 + 50_000 * n);
        let mut flight = Flight { now, delivered: delivered + 10, is_app_limited: true, ..flight(&mut window, 40_000) };
        bbr.steer(&mut flight, &sample);
    }
    assert!(bbr.extra_acked() <= 10.0, "{}", bbr.extra_acked());
    assert!(window.cwnd < 60, "{}", window.cwnd);
}
