//! The specification's numbers, and the table of a second implementation (`tests/steered/bbr.py`).

use super::*;
use crate::cc::Counting;
use sojourn_aqm::Instant;

pub(in crate::cc) fn window(cwnd: u32) -> Window {
    let ssthresh = Window::INFINITE_SSTHRESH;
    Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: Counting::Packets }
}

pub(in crate::cc) fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

pub(in crate::cc) fn span(us: u64) -> Duration {
    Duration::from_micros(us as i64)
}

/// A connection whose handshake took `rtt` microseconds, at 5 s.
pub(in crate::cc) fn flight(window: &mut Window, rtt: u64) -> Flight<'_> {
    Flight {
        now: at(5_000_000),
        state: State::Open,
        una: 1,
        nxt: 1,
        packets_out: 0,
        in_flight: 0,
        is_cwnd_limited: false,
        delivered: 1,
        delivered_ce: 0,
        delivered_at: at(5_000_000),
        lost: 0,
        is_app_limited: false,
        srtt: span(rtt),
        min_rtt: (rtt > 0).then(|| span(rtt)),
        next_departure: at(0),
        pacing_rate: None,
        window,
        limits_by_application: false,
    }
}

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
        bbr.opened(&mut flight);
        assert_eq!(flight.pacing_rate.map(|rate| rate.as_bps() / 8), Some(rate), "RTT {rtt}");
    }
}

#[test]
fn windows_are_those_of_the_specification() {
    // bw, RTT; goal, bdp(1), bdp(2), inflight(1), window in PROBE_BW, target of the probe.
    for (mbit, rtt, [goal, one, two, inflight, cwnd], probe) in [
        (10.0, 40_000, [2, 35, 70, 42, 76], None),
        (10.0, 100_000, [2, 87, 173, 94, 180], Some(116)),
        (1.0, 20_000, [1, 2, 4, 6, 8], None),
        (100.0, 20_000, [8, 173, 346, 198, 370], None),
    ] {
        let bw = (mbit * 1e6 / 8.0 / 1448.0 / 1e6 * BW_UNIT as f64) as u64;
        let pacing_rate = bytes_per_s(bw, 1448, UNIT);
        let bbr = Bbr { min_rtt_us: Some(rtt), pacing_rate, ..Bbr::default() };
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

/// A line of the table: a call, what is told, what is found after it.
struct Line<'a> {
    event: &'a str,
    told: Vec<i64>,
    found: &'a str,
}

fn table() -> impl Iterator<Item = Line<'static>> {
    include_str!("../../../tests/steered/bbr.txt").lines().map(|line| {
        let (told, found) = line.split_once(" | ").expect("a line has two parts");
        let mut told = told.split(' ');
        let event = told.next().expect("an event");
        let told = told.map(|word| word.parse().expect("a number")).collect();
        Line { event, told, found }
    })
}

/// Takes a line's call.
fn take(bbr: &mut Bbr, window: &mut Window, line: &Line) {
    let told = |i: usize| line.told[i] as u64;
    let mut flight = Flight {
        now: at(told(0)),
        state: [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss][line.told[1] as usize],
        in_flight: told(2) as u32,
        delivered: told(3),
        delivered_at: at(told(4)),
        lost: told(5),
        is_app_limited: told(6) != 0,
        next_departure: at(told(7)),
        ..flight(window, 40_000)
    };
    match line.event {
        "ack" => {
            let some = |i: usize| (line.told[i] >= 0).then_some(line.told[i]);
            let sample = RateSample {
                delivered: some(8).map(|n| n as u32),
                interval: some(9).map(Duration::from_micros),
                prior_delivered: told(10),
                acked_sacked: told(11) as u32,
                losses: told(12) as u32,
                prior_in_flight: told(13) as u32,
                rtt: some(14).map(Duration::from_micros),
                is_app_limited: told(15) != 0,
                is_ack_delayed: told(16) != 0,
                ..RateSample::default()
            };
            bbr.steer(&mut flight, &sample);
        }
        "loss" => {
            bbr.ssthresh(flight.window);
            bbr.entered(&mut flight, State::Loss);
        }
        "resume" => bbr.resumed(&mut flight),
        "ssthresh" => assert_eq!(bbr.ssthresh(flight.window), flight.window.ssthresh),
        "undo" => assert_eq!(bbr.undone(flight.window), flight.window.cwnd),
        other => panic!("{other} is no event"),
    }
}

/// The first line after which the two implementations differ, and what was found instead.
fn first_difference(mut change: impl FnMut(&mut Bbr)) -> Option<String> {
    let (mut bbr, mut window) = (Bbr::default(), window(10));
    bbr.seed(Rng::from_state(7));
    bbr.opened(&mut flight(&mut window, 40_000));
    table().enumerate().find_map(|(n, line)| {
        take(&mut bbr, &mut window, &line);
        change(&mut bbr);
        let mode = format!("{:?}", bbr.mode);
        let (min_rtt, lt) = (bbr.min_rtt_us.unwrap_or(0), bbr.lt.in_use().is_some() as u8);
        let found =
            format!("{} {} {} {mode} {min_rtt} {} {lt}", window.cwnd, window.ssthresh, bbr.pacing_rate, bbr.bw());
        (found != line.found).then(|| format!("line {}: {found} instead of {}", n + 1, line.found))
    })
}

#[test]
fn a_second_implementation_finds_the_same_after_every_call() {
    assert_eq!(first_difference(|_| ()), None, "tests/steered/bbr.txt");
    for mode in ["Startup", "Drain", "ProbeBw", "ProbeRtt"] {
        assert!(table().any(|line| line.found.contains(mode)), "the table visits {mode}");
    }
}

/// Takes something out.
type Change = fn(&mut Bbr);

#[test]
fn each_part_of_the_model_is_seen_in_the_table() {
    let parts: [(&str, Change); 8] = [
        ("policers", |bbr| bbr.lt.forget()),
        ("aggregation", |bbr| bbr.extra.forget()),
        ("packet conservation", |bbr| bbr.packet_conservation = false),
        ("the window before recovery", |bbr| bbr.prior_cwnd = 0),
        ("restart after a pause", |bbr| bbr.idle_restart = false),
        ("the round of PROBE_RTT", |bbr| bbr.probe_rtt_round_done = false),
        ("the cycle of gains", |bbr| bbr.cycle_idx = 2),
        ("the full pipe", |bbr| bbr.full_bw_cnt = 0),
    ];
    for (name, without) in parts {
        assert!(first_difference(without).is_some(), "without {name} the table still holds");
    }
}
