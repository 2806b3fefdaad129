//! Compares each control with a second implementation of its rules (tests/media/generate.py).

use sojourn_aqm::{Duration, Ecn, Instant};
use sojourn_media::Source;
use sojourn_media::control::{self, CONTROLS, Control, Feedback, NewFrame, PacketResult, SentPacket};
use std::path::Path;

#[test]
fn controls_answer_as_a_second_implementation_does() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls");
    let mut missing: Vec<&str> = CONTROLS.iter().map(|entry| entry.name).collect();
    for file in std::fs::read_dir(&folder).expect("the folder of scripts") {
        let path = file.expect("a script").path();
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let (name, ecn) = match stem.split_once('+') {
            Some((name, "ect0")) => (name, Ecn::Ect0),
            Some((name, "ect1")) => (name, Ecn::Ect1),
            _ => (stem.as_str(), Ecn::NotEct),
        };
        missing.retain(|known| *known != name);
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut control = control::new(name).unwrap_or_else(|| panic!("no control is called {name}"));
        control.set_ecn(ecn);
        let compared = play(&stem, &text, control);
        assert!(compared > 100, "{stem}: {compared} rates");
    }
    assert!(missing.is_empty(), "without a script: {missing:?}");
}

/// Plays a script to a control; returns the number of compared rates.
fn play(name: &str, text: &str, mut control: Box<dyn Control>) -> u32 {
    let (mut packets, mut compared): (Vec<PacketResult>, u32) = (Vec::new(), 0);
    let (mut has_window, mut waiting, mut remote) = (false, 0, control.remote());
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split(' ');
        let command = words.next().unwrap();
        let values: Vec<Option<f64>> = words.map(|word| word.parse().ok()).collect();
        let value = |i: usize| values[i].unwrap();
        let at = |i: usize| Instant::from_nanos(value(i) as u64);
        match command {
            "begin" => {
                let (min_bps, start_bps, max_bps, fps) = (value(0), value(1), value(2), value(3) as u32);
                let source = Source { min_bps, start_bps, max_bps, fps, ..Source::default() };
                control.begin(Instant::ZERO, &source);
            }
            "frame" => {
                let waited = Duration::from_nanos(value(2) as i64);
                on_time(&mut *control, at(0), waiting);
                control.on_frame(&NewFrame { at: at(0), bytes: value(1) as u64, waited });
            }
            "sent" => {
                has_window = true;
                on_time(&mut *control, at(0), waiting);
                control.on_sent(&SentPacket { bytes: value(1) as u32, at: at(0), probe: None }, value(2) as u64);
                waiting = value(3) as u64;
            }
            "packet" => packets.push(PacketResult {
                seq: value(0) as u64,
                bytes: value(1) as u32,
                sent: at(2),
                arrived: values[3].map(|ns| Instant::from_nanos(ns as u64)),
                ecn: if value(4) == 1.0 { Ecn::Ce } else { Ecn::Ect1 },
                probe: values.get(5).map(|id| id.unwrap() as u32),
            }),
            "report" => {
                let last: &PacketResult = packets.last().expect("a report tells of packets");
                if has_window {
                    on_time(&mut *control, at(0), waiting);
                } else {
                    control.on_sent(&SentPacket { bytes: last.bytes, at: last.sent, probe: None }, 0);
                    if control.deadline() <= at(0) {
                        control.on_timer(at(0), 0);
                    }
                }
                if let Some(remote) = &mut remote {
                    let mut arrived: Vec<&PacketResult> =
                        packets.iter().filter(|packet| packet.arrived.is_some()).collect();
                    arrived.sort_by_key(|packet| packet.arrived);
                    arrived
                        .iter()
                        .for_each(|packet| remote.on_packet(packet.arrived.unwrap(), packet.sent, packet.bytes));
                }
                let remb_bps = remote.as_mut().and_then(|remote| remote.estimate_bps());
                let in_flight = values.get(2).map_or(0, |bytes| bytes.unwrap() as u64);
                control.on_feedback(&Feedback { now: at(0), sent_at: at(1), packets: &packets, in_flight, remb_bps });
                packets.clear();
            }
            _ => {
                let rates = control.rates(value(0) as u64);
                for (found, expected) in [(rates.target_bps, value(1)), (rates.pacing_bps, value(2))] {
                    let same = (found / expected - 1.0).abs() < 1e-9;
                    assert!(same, "{name}, line {number}: {found}, expected {expected}");
                }
                let window = control.window_bytes().map_or(-1, |bytes| bytes as i64);
                let expected = values.get(3).map_or(-1, |bytes| bytes.unwrap() as i64);
                // Windows are whole bytes; rounding may differ by one.
                assert!((window - expected).abs() <= 1, "{name}, line {number}: {window}, expected {expected}");
                compared += 1;
            }
        }
    }
    compared
}

/// Runs the timers due by `now`.
fn on_time(control: &mut dyn Control, now: Instant, waiting: u64) {
    while control.deadline() <= now {
        let due = control.deadline();
        control.on_timer(due, waiting);
    }
}
