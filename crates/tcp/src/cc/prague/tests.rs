//! Values from the specification, and the tables of a second implementation (`tests/steered/prague.py`).

use super::v0_6::Config06;
use super::*;
use crate::cc::GrowthCounting;
use sojourn_aqm::{Duration, Instant};

fn window() -> Window {
    let ssthresh = Window::INFINITE_SSTHRESH;
    Window { cwnd: 10, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: GrowthCounting::Packets }
}

/// A line of a table: callback, arguments and expected state after it.
struct CallRow {
    event: &'static str,
    args: Vec<u64>,
    expected: &'static str,
}

fn lines(table: &'static str) -> impl Iterator<Item = CallRow> {
    table.lines().map(|line| {
        let (args, expected) = line.split_once(" | ").expect("a line has two parts");
        let mut words = args.split(' ');
        let event = words.next().expect("an event");
        CallRow { event, args: words.map(|word| word.parse().expect("a number")).collect(), expected }
    })
}

const STATES: [CaState; 5] = [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss];

fn flight<'a>(window: &'a mut Window, args: &[u64]) -> Flight<'a> {
    let now = Instant::from_nanos(args[0] * 1_000);
    Flight {
        now,
        state: STATES[args[1] as usize],
        una: args[3],
        nxt: args[4],
        packets_out: args[2] as u32,
        in_flight: args[2] as u32,
        is_cwnd_limited: args[8] != 0,
        delivered: args[5],
        delivered_ce: args[6],
        delivered_at: now,
        lost: 0,
        is_app_limited: false,
        srtt: Duration::from_nanos(args[7] as i64 * 125),
        min_rtt: None,
        next_departure: now,
        pacing_rate: None,
        window,
        limits_by_application: false,
    }
}

/// First difference between the control `cc` and the table, with its state.
fn first_difference<C: SteeringControl>(
    table: &'static str,
    mut cc: C,
    inside: impl Fn(&C) -> (u64, u64),
    mut change: impl FnMut(&mut C),
) -> Option<String> {
    let (mut window, mut rate) = (window(), None);
    cc.on_established(&mut flight(&mut window, &[1_000_000, 0, 0, 1, 1, 1, 0, 160_000, 1]));
    lines(table).enumerate().find_map(|(n, line)| {
        if ["mark", "lose"].contains(&line.event) {
            cc.before_reduction(&window);
        }
        if line.event == "undo" {
            window.cwnd = cc.undo_cwnd(&window);
        } else {
            let mut flight = flight(&mut window, &line.args);
            if line.event == "ack" {
                let (acked_sacked, ce) = (line.args[9] as u32, line.args[10] as u32);
                cc.steer(&mut flight, &RateSample { acked_sacked, ce, ..RateSample::default() });
                rate = flight.pacing_rate;
            } else {
                cc.on_state(&mut flight, STATES[line.args[1] as usize]);
            }
        }
        change(&mut cc);
        let (frac, alpha) = inside(&cc);
        let pacing = rate.map_or(0, |rate| rate.as_bps() / 8);
        let Window { cwnd, ssthresh, mss, .. } = window;
        let found = format!("{cwnd} {ssthresh} {pacing} {mss} {frac} {alpha}");
        let expected = line.expected.rsplit_once(' ').expect("a burst is last").0;
        (found != expected && rate.is_some()).then(|| format!("line {}: {found} instead of {expected}", n + 1))
    })
}

fn new(change: fn(&mut Prague)) -> Option<String> {
    let table = include_str!("../../../tests/steered/prague-0.7.txt");
    first_difference(table, Prague::default(), |cc| (cc.frac_cwnd, cc.upscaled_alpha), change)
}

fn old(change: fn(&mut Prague06)) -> Option<String> {
    let table = include_str!("../../../tests/steered/prague-0.6.txt");
    first_difference(table, Prague06::default(), Prague06::inside, change)
}

#[test]
fn a_second_implementation_finds_the_same_after_every_call() {
    assert_eq!((new(|_| ()), old(|_| ())), (None, None), "tests/steered/prague-0.7.txt and -0.6.txt");
}

#[test]
fn parameters_of_0_7_act_as_in_the_second_implementation() {
    let rate = Config {
        prague_rtt_transition: 9,
        prague_rtt_target: Duration::from_millis(40),
        prague_alpha_mode: 1,
        prague_cwnd_transit: 7,
        ..Config::default()
    };
    let (window, fixed) = (
        Config { prague_cwnd_mode: 0, ..Config::default() },
        Config { prague_cwnd_mode: 1, prague_rtt_transition: 2, ..Config::default() },
    );
    let differs =
        |table, config| first_difference(table, Prague::from(config), |cc| (cc.frac_cwnd, cc.upscaled_alpha), |_| ());
    assert_eq!(differs(include_str!("../../../tests/steered/prague-0.7-window.txt"), window), None);
    assert_eq!(differs(include_str!("../../../tests/steered/prague-0.7-fixed.txt"), fixed), None);
    let table = include_str!("../../../tests/steered/prague-0.7-rate.txt");
    assert_eq!(differs(table, rate.clone()), None);
    let plain = Config::default();
    for without in [
        Config { prague_rtt_transition: plain.prague_rtt_transition, ..rate.clone() },
        Config { prague_rtt_target: plain.prague_rtt_target, ..rate.clone() },
        Config { prague_alpha_mode: plain.prague_alpha_mode, ..rate.clone() },
        Config { prague_cwnd_transit: plain.prague_cwnd_transit, ..rate.clone() },
    ] {
        assert!(differs(table, without.clone()).is_some(), "{without:?}");
    }
}

#[test]
fn parameters_of_0_6_act_as_in_the_second_implementation() {
    let config = |prague_rtt_scaling, target_us| Config06 {
        prague_rtt_scaling,
        prague_rtt_transition: 6,
        prague_rtt_target: Duration::from_micros(target_us),
        ..Config06::default()
    };
    let differs = |table, config| first_difference(table, Prague06::from(config), Prague06::inside, |_| ());
    for (table, scaling, target_us) in [
        (include_str!("../../../tests/steered/prague-0.6-none.txt"), 0, 25_000),
        (include_str!("../../../tests/steered/prague-0.6-scalable.txt"), 2, 40_000),
        (include_str!("../../../tests/steered/prague-0.6-additive.txt"), 3, 12_000),
    ] {
        assert_eq!(differs(table, config(scaling, target_us)), None, "scaling {scaling}");
        assert!(differs(table, config(1, 25_000)).is_some(), "scaling {scaling}");
    }
    // Without a target there is no RTT independence.
    assert_eq!(differs(include_str!("../../../tests/steered/prague-0.6-none.txt"), config(1, 127)), None);
}

#[test]
fn a_burst_has_its_duration_and_its_maximum() {
    for (shift, max, burst) in [(12, 0, 2), (10, 0, 10), (8, 0, 41), (8, 7, 7), (31, 0, 1)] {
        let set = Config { prague_burst_shift: shift, prague_max_tso_segs: max, ..Config::default() };
        let old = Config06 { prague_burst_shift: shift, prague_max_tso_segs: max, ..Config06::default() };
        let (mut new, mut old, mut window) = (Prague::from(set), Prague06::from(old), window());
        window.cwnd = 105;
        window.ssthresh = 100;
        let args = [1_000_000, 0, 0, 1, 1, 1, 0, 80_000, 1];
        // 105 packets per 10 ms are 10,500 per second.
        new.on_established(&mut flight(&mut window, &args));
        old.on_established(&mut flight(&mut window, &args));
        old.update_pacing_rate(&mut flight(&mut window, &args));
        assert_eq!(new.burst(None), BurstSize::Exactly(burst), "shift {shift}, at most {max}");
        assert_eq!(old.burst(None), BurstSize::Exactly(burst.max(if max > 0 { 1 } else { 2 })), "shift {shift}");
    }
}

/// Removes one part of the control.
type Mutation = fn(&mut Prague);

#[test]
fn each_part_is_seen_in_the_table() {
    let parts: [(&str, Mutation); 7] = [
        ("the halving at the first mark", |cc| cc.saw_ce = true),
        ("rate mode", |cc| cc.by_rate = false),
        ("RTT independence", |cc| cc.rounds.count = 0),
        ("the spacing of reductions", |cc| cc.cwr_us = 0),
        ("no growth after a loss", |cc| cc.loss.reduced = false),
        ("what was before a loss", |cc| cc.loss.amount = 0),
        ("the slow RTT", |cc| cc.hsrtt = cc.path.srtt8 << HSRTT_SHIFT),
    ];
    for (name, without) in parts {
        assert!(new(without).is_some(), "without {name} the table still holds");
    }
}

#[test]
fn growth_is_that_of_the_specification() {
    for (rtt_us, growth) in [(1_000, 1_678), (5_000, 41_943), (10_000, 167_772), (20_000, 671_089), (25_000, 1 << 20)] {
        let path = PathState { mtu: 1_500, srtt8: rtt_us * 8, now_us: 0 };
        let rounds = RoundCounters { count: 4, ..RoundCounters::default() };
        let mut prague = Prague { path, rounds, ..Prague::default() };
        prague.cwnd_changed();
        assert_eq!(prague.ai_ack_increase, growth, "{rtt_us} µs");
    }
}

#[test]
fn alpha_has_no_dead_zone() {
    // A tenth marked, from zero; one in a hundred for 500 rounds.
    let after = |marked: u64, rounds: usize| {
        let mut alpha = 0u64;
        (0..rounds).for_each(|_| alpha = alpha - (alpha >> SHIFT_G) + (marked << ALPHA_BITS) / 100);
        alpha
    };
    let first = [1, 2, 3, 4, 5, 6].map(|n| ((after(10, n) >> SHIFT_G) as f64 / MAX_ALPHA as f64 * 1e5).round() / 1e5);
    assert_eq!(first, [0.00625, 0.01211, 0.0176, 0.02275, 0.02758, 0.03211]);
    assert_eq!(after(1, 500), 2_684_352);
}

#[test]
fn a_reduction_is_half_of_alpha() {
    let tenth = MAX_ALPHA / 10;
    assert_eq!(reduction_of(10 * ONE_CWND, tenth, ALPHA_BITS), ONE_CWND / 2);
    assert_eq!(reduction_of(100 * ONE_CWND, MAX_ALPHA, ALPHA_BITS), 50 * ONE_CWND);
}
