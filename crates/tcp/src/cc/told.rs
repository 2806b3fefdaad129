//! What a made-up connection tells a control, call by call (`tests/steered/connection.py`).

use super::{Counting, Flight, Loss, SteeringControl, Window};
use crate::rate_sample::RateSample;
use crate::state::State;
use sojourn_aqm::{Duration, Instant};

pub fn window(cwnd: u32) -> Window {
    let ssthresh = Window::INFINITE_SSTHRESH;
    Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: Counting::Packets }
}

pub fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

pub fn span(us: u64) -> Duration {
    Duration::from_micros(us as i64)
}

/// A connection whose handshake took `rtt` microseconds, at 5 s.
pub fn flight(window: &mut Window, rtt: u64) -> Flight<'_> {
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

/// A line of a table: a call, what is told, what is found after it.
pub struct Line {
    pub event: &'static str,
    told: Vec<i64>,
    pub found: &'static str,
}

pub fn lines(table: &'static str) -> impl Iterator<Item = Line> {
    table.lines().map(|line| {
        let (told, found) = line.split_once(" | ").expect("a line has two parts");
        let mut told = told.split(' ');
        let event = told.next().expect("an event");
        let told = told.map(|word| word.parse().expect("a number")).collect();
        Line { event, told, found }
    })
}

/// Takes a line's call. Returns the window after an undo.
pub fn take(control: &mut impl SteeringControl, window: &mut Window, line: &Line) -> Option<u32> {
    let told = |i: usize| line.told[i] as u64;
    let state = [State::Open, State::Disorder, State::Cwr, State::Recovery, State::Loss][line.told[1] as usize];
    let mut flight = Flight {
        now: at(told(0)),
        state,
        in_flight: told(2) as u32,
        delivered: told(3),
        delivered_at: at(told(4)),
        lost: told(5),
        is_app_limited: told(6) != 0,
        next_departure: at(told(7)),
        is_cwnd_limited: told(8) != 0,
        ..flight(window, 40_000)
    };
    match line.event {
        "ack" => {
            let some = |i: usize| (line.told[i] >= 0).then_some(line.told[i]);
            let sample = RateSample {
                delivered: some(9).map(|n| n as u32),
                interval: some(10).map(Duration::from_micros),
                prior_delivered: told(11),
                acked_sacked: told(12) as u32,
                losses: told(13) as u32,
                prior_in_flight: told(14) as u32,
                rtt: some(15).map(Duration::from_micros),
                is_app_limited: told(16) != 0,
                is_ack_delayed: told(17) != 0,
                tx_in_flight: told(18) as u32,
                lost: told(19) as u32,
                acks_probe: told(20) != 0,
                ..RateSample::default()
            };
            control.steer(&mut flight, &sample);
        }
        "lost" => {
            let (tx_in_flight, lost) = (told(9) as u32, told(10) as u32);
            let loss = Loss { tx_in_flight, lost, is_app_limited: told(11) != 0, continues: told(12) != 0 };
            control.lost(&mut flight, &loss);
        }
        "repair" => control.probe_repaired(&mut flight, told(11) != 0),
        "enter" => control.entered(&mut flight, state),
        "reduce" => control.before_reduction(flight.window),
        "resume" => control.resumed(&mut flight),
        "undo" => return Some(control.undone(flight.window)),
        other => panic!("{other} is no event"),
    }
    None
}
