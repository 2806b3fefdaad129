//! The stack `ns2` against the agents of ns-2.35: with the same acknowledgments at the same times it sends the same
//! packets.
//!
//! `ns2/*.txt` are from Debian's ns-2.35: single senders among 64 `TCP/Newreno`, `TCP/Reno` or `TCP/Sack1` at 4 Mbit/s
//! and 100 ms with tail drop at 50 packets, which lose a sixth of their packets, including SYNs. Each line is a packet
//! on the access link with its time in microseconds: `+` a data packet with its number, `<` an acknowledgment with its
//! number and SACK blocks (first, and one past the last). `phase` is the offset of an agent's 10 ms clock at time 0
//! (`boot_time_`, random), to a quarter of a millisecond.

use sojourn_aqm::{Duration, Ecn, Instant};
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{Flags, Header, Sender, SenderConfig};
use std::cell::RefCell;
use std::fs;
use std::path::Path;

const MSS: u64 = 1460;
/// Times are in whole microseconds, so those of a packet and of an acknowledgment may each be off by one.
const OFF: Duration = Duration::from_micros(2);

/// Contents of a file.
struct Recording {
    phase: Duration,
    sent: Vec<(Instant, u64)>,
    acknowledgments: Vec<Acknowledgment>,
}

/// Arrival time, acknowledged packet number and SACK blocks.
type Acknowledgment = (Instant, u64, Vec<(u64, u64)>);

#[test]
fn newreno_sends_what_ns_2_s_agents_send() {
    // The SYN is lost (3); frequent time-outs (4); a partial window of one segment (6); limited transmit after a
    // time-out continues with new data (7); RTT timing in recovery (24).
    for number in [3, 4, 6, 7, 24] {
        compare("newreno", number, "newreno", false);
    }
}

#[test]
fn reno_sends_what_ns_2_s_agent_sends() {
    compare("reno", 26, "reno", false);
}

#[test]
fn sack1_sends_what_ns_2_s_agent_sends() {
    compare("sack", 26, "reno", true);
}

fn compare(name: &str, number: u32, cc: &str, sack: bool) {
    let recorded = read(&format!("{name}-{number}.txt"));
    let replayed = replay(&recorded, cc, sack);
    assert!(recorded.sent.len() >= 40);
    for (i, (&(at, packet), ours)) in recorded.sent.iter().zip(&replayed).enumerate() {
        let (our_at, our_packet) = *ours;
        assert_eq!(our_packet, packet, "{name} {number}: packet {i}, at {at:?} there and {our_at:?} here");
        let apart = if at < our_at { our_at - at } else { at - our_at };
        assert!(apart <= OFF, "{name} {number}: packet {i}, number {packet}, at {at:?} there and {our_at:?} here");
    }
    assert!(replayed.len() >= recorded.sent.len(), "{name} {number}: {} of {}", replayed.len(), recorded.sent.len());
}

/// Packets sent by our sender in response to the recorded acknowledgments.
fn replay(recorded: &Recording, cc: &str, sack: bool) -> Vec<(Instant, u64)> {
    let mut sender = Sender::new(SenderConfig {
        stack: Stack::find("ns2").expect("the stack is registered"),
        cc: AnyCc::new(cc).expect("the control is registered"),
        mss: MSS as u32,
        sack,
        ecn: false,
        initial_window: Some(4),
        receive_window: Some(100_000 * MSS),
    });
    let (sent, now) = (RefCell::new(Vec::new()), RefCell::new(recorded.sent[0].0 + recorded.phase));
    let mut wire = |header: &Header, _: Ecn| {
        if header.flags.contains(Flags::SYN) || header.len > 0 {
            sent.borrow_mut().push((*now.borrow() - recorded.phase, header.seq.div_ceil(MSS)));
        }
    };
    let start = *now.borrow();
    sender.open(start, None, &mut wire);
    let timers = |sender: &mut Sender, until: Instant, wire: &mut dyn FnMut(&Header, Ecn)| {
        while sender.deadline() <= until {
            let due = sender.deadline();
            now.replace(due);
            sender.on_timer(due, &mut |header: &Header, ecn: Ecn| wire(header, ecn));
        }
    };
    for (at, number, blocks) in &recorded.acknowledgments {
        let at = *at + recorded.phase;
        // A time-out precedes an acknowledgment at the same instant.
        timers(&mut sender, at + OFF, &mut wire);
        now.replace(at);
        let flags = Flags::ACK.with_if(Flags::SYN, sender.in_flight() == 0 && *number == 0);
        let mut header = Header { ack: 1 + number * MSS, flags, ..Header::default() };
        blocks.iter().for_each(|&(first, end)| header.sack.push((1 + (first - 1) * MSS, 1 + (end - 1) * MSS)));
        sender.on_segment(at, &header, &mut wire);
    }
    let end = recorded.sent.last().expect("something is sent").0;
    timers(&mut sender, end + recorded.phase + OFF, &mut wire);
    sent.into_inner()
}

fn read(file: &str) -> Recording {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ns2").join(file);
    let text = fs::read_to_string(path).expect("the record is there");
    let mut recorded = Recording { phase: Duration::ZERO, sent: Vec::new(), acknowledgments: Vec::new() };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let micros = |word: &str| word.parse::<u64>().expect("a time in microseconds");
        match words[0] {
            "phase" => recorded.phase = Duration::from_micros(micros(words[1]) as i64),
            "+" => recorded.sent.push((instant(micros(words[1])), words[2].parse().expect("a number"))),
            _ => {
                let block = |word: &&str| {
                    let (first, end) = word.split_once('-').expect("a block");
                    (first.parse().expect("a number"), end.parse().expect("a number"))
                };
                let blocks = words[3..].iter().map(block).collect();
                recorded.acknowledgments.push((instant(micros(words[1])), words[2].parse().expect("a number"), blocks));
            }
        }
    }
    recorded
}

fn instant(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}
