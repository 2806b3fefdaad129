//! Loss detection and window against a second implementation; whole connections over a path.

mod connection;

use super::congestion::Congestion;
use super::control::PathControl;
use super::recovery::SentPacket;
use super::stream::Chunk;
use super::{AckFrame, Config, EcnCounts};
use crate::RateSample;
use crate::cc::{AnyCc, CongestionControl, Flight, Needs, SteeringControl};
use crate::state::CaState;
use crate::timer::TimerPurpose;
use sojourn_aqm::{Duration, Instant};
use std::str::{FromStr, SplitWhitespace};
use std::sync::{Arc, Mutex};

/// Event script of RFC 9002 from a second implementation in Python, `tests/quic/generate.py`.
const SCRIPT: &str = include_str!("../../tests/quic/recovery.txt");

fn config(cc: &str, max_datagram_size: u32, ecn: bool) -> Config {
    let cc = AnyCc::new(cc).expect("a control");
    Config { cc, max_datagram_size, ecn, initial_window: None, delayed_ack: true }
}

#[test]
fn loss_detection_and_newreno_follow_a_second_implementation() {
    let mut control = PathControl::new(&config("newreno", 1448, true));
    for (number, line) in SCRIPT.lines().enumerate() {
        let (event, expected) = line.split_once(" = ").expect("an event and what follows");
        let mut words = event.split_whitespace();
        let kind = words.next().expect("an event");
        control.recovery.lost.clear();
        play(&mut control, kind, &mut words);
        assert_eq!(format_state(&control), expected, "line {}: {event}", number + 1);
    }
}

fn play(control: &mut PathControl, kind: &str, words: &mut SplitWhitespace) {
    match kind {
        "new" => *control = PathControl::new(&config("newreno", word(words), true)),
        "open" => {
            let now = Instant::from_nanos(word(words));
            control.open(now, Duration::from_nanos(word(words)));
        }
        "send" => {
            let (now, size) = (Instant::from_nanos(word(words)), word(words));
            let ect = word::<u8>(words) == 1;
            if ect {
                control.ecn.mark();
            }
            control.on_sent(SentPacket::new(control.recovery.next_number(), size, now, ect, Chunk::default()));
        }
        "stop" => control.congestion.on_blocked(word::<u8>(words) == 1),
        "ack" => {
            let now = Instant::from_nanos(word(words));
            control.on_ack(now, &frame(words));
        }
        "time" => {
            assert_eq!(control.recovery.timer().map(|(purpose, _)| purpose), Some(TimerPurpose::Reordering));
            control.on_loss_time(Instant::from_nanos(word(words)));
        }
        "pto" => {
            let now = Instant::from_nanos(word(words));
            let due = control.recovery.timer().filter(|&(_, at)| at <= now).map(|(purpose, _)| purpose);
            assert_eq!(due, Some(TimerPurpose::LossProbe));
        }
        "probed" => control.recovery.on_pto(),
        other => panic!("{other} is no event"),
    }
}

fn frame(words: &mut SplitWhitespace) -> AckFrame {
    let delay = Duration::from_nanos(word(words));
    let counts: Vec<u64> = words.next().expect("counts").split(',').filter_map(|count| count.parse().ok()).collect();
    let ecn = (counts.len() == 3).then(|| EcnCounts { ect0: counts[0], ect1: counts[1], ce: counts[2] });
    let range = |text: &str| {
        let (first, last) = text.split_once('-').expect("a range");
        (first.parse().expect("a number"), last.parse().expect("a number"))
    };
    AckFrame { ranges: words.next().expect("ranges").split(',').map(range).collect(), delay, ecn }
}

fn format_state(control: &PathControl) -> String {
    let PathControl { recovery, congestion, .. } = control;
    let lost: Vec<String> = recovery.lost.iter().map(|packet| packet.number.to_string()).collect();
    let lost = if lost.is_empty() { "-".to_string() } else { lost.join(",") };
    let rtt = &recovery.rtt;
    let [latest, smoothed, var, min] =
        [rtt.latest(), rtt.smoothed(), rtt.var(), rtt.min().unwrap_or(Duration::ZERO)].map(Duration::as_nanos);
    let ssthresh = congestion.ssthresh().map_or(-1, |bytes| bytes as i64);
    let timer = recovery.timer().map_or("-".to_string(), |(_, at)| at.as_nanos().to_string());
    let (cwnd, in_flight, ptos) = (congestion.window(), Congestion::bytes_in_flight(congestion), recovery.pto_count());
    format!("{lost} {latest} {smoothed} {var} {min} {cwnd} {ssthresh} {in_flight} {ptos} {timer}")
}

fn word<T: FromStr>(words: &mut SplitWhitespace) -> T {
    words.next().and_then(|word| word.parse().ok()).expect("a number")
}

/// Control that records the states it enters.
#[derive(Clone, Debug)]
struct StateRecorder {
    long_recovery: bool,
    entered: Arc<Mutex<Vec<CaState>>>,
}

impl CongestionControl for StateRecorder {
    fn needs(&self) -> Needs {
        Needs { steers: true, long_recovery: self.long_recovery, ..Needs::default() }
    }
    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for StateRecorder {
    fn on_state(&mut self, _: &mut Flight, state: CaState) {
        self.entered.lock().expect("one thread").push(state);
    }
    fn steer(&mut self, _: &mut Flight, _: &RateSample) {}
}

#[test]
fn a_recovery_lasts_until_a_round_trip_brings_no_loss_where_the_control_asks_for_that() {
    let states = |long_recovery| {
        let entered = Arc::new(Mutex::new(Vec::new()));
        let cc = AnyCc::custom(StateRecorder { long_recovery, entered: Arc::clone(&entered) });
        let mut control = PathControl::new(&Config { cc, ..config("reno", 1448, false) });
        let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        control.open(ms(0), Duration::from_millis(40));
        // Ten packets per round trip; the first packet of two rounds is lost.
        for (round, ranges) in [vec![(1, 9)], vec![(11, 19), (1, 9)], vec![(20, 29), (11, 19)]].into_iter().enumerate()
        {
            let sent = ms(50 * round as u64);
            for number in 0..10 {
                let number = 10 * round as u64 + number;
                control.on_sent(SentPacket::new(number, 1448, sent, false, Chunk::default()));
            }
            control.on_ack(sent + Duration::from_millis(40), &AckFrame { ranges, delay: Duration::ZERO, ecn: None });
        }
        drop(control);
        Arc::into_inner(entered).expect("the control is gone").into_inner().expect("one thread")
    };
    assert_eq!(states(true), [CaState::Recovery, CaState::Open]);
    assert_eq!(states(false), [CaState::Recovery, CaState::Open, CaState::Recovery, CaState::Open]);
}
