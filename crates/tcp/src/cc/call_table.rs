//! Replays tables of callbacks on a control; a second implementation generates them (`tests/steered/connection.py`).

use super::{Flight, GrowthCounting, LostSegment, SteeringControl, Window};
use crate::rate_sample::RateSample;
use crate::state::CaState;
use sojourn_aqm::{Duration, Instant};

pub fn window(cwnd: u32) -> Window {
    let ssthresh = Window::INFINITE_SSTHRESH;
    Window { cwnd, ssthresh, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: GrowthCounting::Packets }
}

pub fn at(us: u64) -> Instant {
    Instant::from_nanos(us * 1_000)
}

pub fn span(us: u64) -> Duration {
    Duration::from_micros(us as i64)
}

/// Connection whose handshake took `rtt` microseconds, at time 5 s.
pub fn flight(window: &mut Window, rtt: u64) -> Flight<'_> {
    Flight {
        now: at(5_000_000),
        state: CaState::Open,
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

/// A line of a table: callback, arguments and expected state after it.
pub struct CallRow {
    pub event: &'static str,
    args: Vec<i64>,
    pub expected: &'static str,
}

pub fn lines(table: &'static str) -> impl Iterator<Item = CallRow> {
    table.lines().map(|line| {
        let (args, expected) = line.split_once(" | ").expect("a line has two parts");
        let mut words = args.split(' ');
        let event = words.next().expect("an event");
        let args = words.map(|word| word.parse().expect("a number")).collect();
        CallRow { event, args, expected }
    })
}

/// Applies the callback of a line. Returns the window after an undo.
pub fn apply(control: &mut impl SteeringControl, window: &mut Window, line: &CallRow) -> Option<u32> {
    let arg = |i: usize| line.args[i] as u64;
    let state =
        [CaState::Open, CaState::Disorder, CaState::Cwr, CaState::Recovery, CaState::Loss][line.args[1] as usize];
    let mut flight = Flight {
        now: at(arg(0)),
        state,
        in_flight: arg(2) as u32,
        delivered: arg(3),
        delivered_at: at(arg(4)),
        lost: arg(5),
        is_app_limited: arg(6) != 0,
        next_departure: at(arg(7)),
        is_cwnd_limited: arg(8) != 0,
        ..flight(window, 40_000)
    };
    match line.event {
        "ack" => {
            let some = |i: usize| (line.args[i] >= 0).then_some(line.args[i]);
            let sample = RateSample {
                delivered: some(9).map(|n| n as u32),
                interval: some(10).map(Duration::from_micros),
                prior_delivered: arg(11),
                acked_sacked: arg(12) as u32,
                losses: arg(13) as u32,
                prior_in_flight: arg(14) as u32,
                rtt: some(15).map(Duration::from_micros),
                is_app_limited: arg(16) != 0,
                is_ack_delayed: arg(17) != 0,
                tx_in_flight: arg(18) as u32,
                lost: arg(19) as u32,
                acks_probe: arg(20) != 0,
                ..RateSample::default()
            };
            control.steer(&mut flight, &sample);
        }
        "lost" => {
            let (tx_in_flight, lost) = (arg(9) as u32, arg(10) as u32);
            let loss = LostSegment { tx_in_flight, lost, is_app_limited: arg(11) != 0, continues: arg(12) != 0 };
            control.on_loss(&mut flight, &loss);
        }
        "repair" => control.probe_repaired(&mut flight, arg(11) != 0),
        "enter" => control.on_state(&mut flight, state),
        "reduce" => control.before_reduction(flight.window),
        "resume" => control.on_restart(&mut flight),
        "undo" => return Some(control.undo_cwnd(flight.window)),
        other => panic!("{other} is no event"),
    }
    None
}
