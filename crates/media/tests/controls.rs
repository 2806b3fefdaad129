//! Every control beside a second implementation of its rules (tests/media/generate.py).

use sojourn_aqm::{Ecn, Instant};
use sojourn_media::Source;
use sojourn_media::control::{self, CONTROLS, Control, PacketResult, Results, Sent};
use std::path::Path;

#[test]
fn controls_answer_as_a_second_implementation_does() {
    for entry in CONTROLS {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controls").join(format!("{}.txt", entry.name));
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let compared = play(&text, control::new(entry.name).unwrap());
        assert!(compared > 100, "{}: {compared} rates", entry.name);
    }
}

/// Plays a file to a control; returns how many rates were compared.
fn play(text: &str, mut control: Box<dyn Control>) -> u32 {
    let (mut packets, mut compared): (Vec<PacketResult>, u32) = (Vec::new(), 0);
    for (number, line) in (1..).zip(text.lines()) {
        let mut words = line.split(' ');
        let what = words.next().unwrap();
        let values: Vec<Option<f64>> = words.map(|word| word.parse().ok()).collect();
        let value = |i: usize| values[i].unwrap();
        let at = |i: usize| Instant::from_nanos(value(i) as u64);
        match what {
            "begin" => {
                let (least_bps, start_bps, most_bps, fps) = (value(0), value(1), value(2), value(3) as u32);
                let source = Source { least_bps, start_bps, most_bps, fps, ..Source::default() };
                control.begin(Instant::ZERO, &source);
            }
            "packet" => packets.push(PacketResult {
                seq: value(0) as u64,
                bytes: value(1) as u32,
                sent: at(2),
                arrived: values[3].map(|ns| Instant::from_nanos(ns as u64)),
                ecn: if value(4) == 1.0 { Ecn::Ce } else { Ecn::Ect1 },
            }),
            "report" => {
                let last: &PacketResult = packets.last().expect("a report tells of packets");
                control.on_sent(&Sent { bytes: last.bytes, at: last.sent }, 0);
                if control.deadline() <= at(0) {
                    control.on_timer(at(0));
                }
                control.on_results(&Results { now: at(0), made: at(1), packets: &packets, in_flight: 0 });
                packets.clear();
            }
            _ => {
                let rates = control.rates(value(0) as u64);
                for (found, expected) in [(rates.target_bps, value(1)), (rates.pacing_bps, value(2))] {
                    assert!((found / expected - 1.0).abs() < 1e-9, "line {number}: {found}, expected {expected}");
                }
                compared += 1;
            }
        }
    }
    compared
}
