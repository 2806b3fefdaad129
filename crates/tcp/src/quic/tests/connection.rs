//! A sender and a receiver over a path with a bottleneck.

use super::config;
use crate::quic::{Receiver, Sender};
use crate::segment::LossMark;
use crate::sender_event::SenderEvent;
use crate::{Header, Wire};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use std::collections::VecDeque;

/// A path with packets in transit, a bottleneck and random loss.
struct TestPath {
    now: Instant,
    /// Arrival, header, bytes and codepoint.
    data: VecDeque<(Instant, Header, u32, Ecn)>,
    acks: VecDeque<(Instant, Header, u32)>,
    /// Time at which the bottleneck becomes idle.
    free: Instant,
    rate_bps: u64,
    queue: Duration,
    loss: f64,
    rng: Rng,
    sent: Vec<(Instant, Header, u32, Ecn)>,
    lost_by_sender: u32,
    dropped: u32,
}

struct ForwardWire<'a>(&'a mut TestPath);
struct ReturnWire<'a>(&'a mut TestPath);

impl Wire for ForwardWire<'_> {
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        let path = &mut *self.0;
        path.sent.push((path.now, *header, len, ecn));
        let begins = path.free.max(path.now);
        if path.rng.uniform() < path.loss || begins - path.now > path.queue {
            path.dropped += 1;
            return;
        }
        path.free = begins + Duration::from_nanos((u64::from(len) * 8_000_000_000 / path.rate_bps) as i64);
        path.data.push_back((path.free + HALF, *header, len, ecn));
    }

    fn observes_sender(&self) -> bool {
        true
    }

    fn notify<'e>(&mut self, event: impl FnOnce() -> SenderEvent<'e>) {
        if matches!(event(), SenderEvent::LossMarked(LossMark::Original(_))) {
            self.0.lost_by_sender += 1;
        }
    }
}

impl Wire for ReturnWire<'_> {
    fn transmit(&mut self, header: &Header, len: u32, _: Ecn) {
        self.0.acks.push_back((self.0.now + HALF, *header, len));
    }
}

impl TestPath {
    fn new(rate_bps: u64, queue_ms: i64, loss: f64, seed: u64) -> Self {
        Self {
            now: Instant::ZERO,
            data: VecDeque::new(),
            acks: VecDeque::new(),
            free: Instant::ZERO,
            rate_bps,
            queue: Duration::from_millis(queue_ms),
            loss,
            rng: Rng::from_state(seed),
            sent: Vec::new(),
            lost_by_sender: 0,
            dropped: 0,
        }
    }

    /// Sends `bytes` with `cc`, or for `seconds`. Returns both endpoints.
    fn carry(&mut self, cc: &str, bytes: Option<u64>, seconds: u64) -> (Sender, Receiver) {
        let config = config(cc, 1448, false);
        let (mut sender, mut receiver) = (Sender::new(&config), Receiver::new(true));
        sender.open(self.now, bytes, &mut ForwardWire(self));
        let end = Instant::from_nanos(seconds * 1_000_000_000);
        while !sender.is_finished() {
            let data = self.data.front().map_or(Instant::NEVER, |packet| packet.0);
            let acks = self.acks.front().map_or(Instant::NEVER, |packet| packet.0);
            let next = data.min(acks).min(sender.deadline()).min(receiver.deadline());
            if next >= end {
                break;
            }
            assert!(next >= self.now, "nobody asks for a time that is over");
            self.now = next;
            if data == next {
                let (_, header, _, ecn) = self.data.pop_front().expect("a packet");
                receiver.on_packet(next, &header, ecn, &mut ReturnWire(self));
            } else if acks == next {
                let (_, header, len) = self.acks.pop_front().expect("an acknowledgment");
                if Receiver::is_of_handshake(&header) {
                    sender.on_handshake(next, &header, &mut ForwardWire(self));
                } else if let Some(frame) = receiver.take_frame(&header) {
                    sender.on_ack(next, (&header, len), &frame, &mut ForwardWire(self));
                    receiver.recycle_frame(frame);
                }
            } else {
                sender.on_timer(next, &mut ForwardWire(self));
                receiver.on_timer(next, &mut ReturnWire(self));
            }
        }
        (sender, receiver)
    }
}

#[test]
fn everything_arrives_whatever_is_lost() {
    for (cc, loss, seed) in
        [("newreno", 0.0, 1), ("newreno", 0.07, 2), ("cubic", 0.11, 3), ("bbr", 0.04, 4), ("bbr3", 0.3, 5)]
    {
        let mut path = TestPath::new(7_777_777, 1_000, loss, seed);
        let (sender, receiver) = path.carry(cc, Some(723_457), 600);
        assert!(sender.is_finished(), "{cc} at {loss}");
        assert_eq!((receiver.delivered(), receiver.arrived()), (723_457, 723_457), "{cc} at {loss}");
        let numbers: Vec<u64> = path.sent.iter().filter(|sent| sent.1.len > 0).map(|sent| sent.1.seq).collect();
        assert!(numbers.iter().enumerate().all(|(place, &number)| place as u64 == number), "no number is used twice");
        assert_eq!(sender.stats().retransmissions > 0, loss > 0.0, "{cc}");
    }
}

#[test]
fn packets_are_as_large_as_their_headers_say() {
    let mut path = TestPath::new(10_000_000, 1_000, 0.0, 1);
    path.carry("newreno", Some(230_000), 600);
    let sizes: Vec<u32> = path.sent.iter().map(|sent| sent.2).collect();
    // The handshake datagram; the first packet has no offset, the following ones have offsets of two bytes, then four.
    assert_eq!(sizes[..4], [1_228, 1_476, 1_476, 1_476]);
    let payload: Vec<u16> = path.sent.iter().map(|sent| sent.1.len).collect();
    assert_eq!(payload[1..4], [1_448 - 25 - 1 - 2, 1_448 - 25 - 1 - 4, 1_448 - 25 - 1 - 4]);
    let late = path.sent.iter().filter(|sent| sent.1.ack > 16_384 && sent.1.ts_ecr == 0).map(|sent| sent.1.len);
    assert!(late.clone().count() > 40 && late.clone().max() == Some(1_448 - 25 - 1 - 6));
    // A packet that acknowledges a PING has an ACK frame of five bytes: type, number, delay, range count, first range.
    let with_ack = path.sent.iter().filter(|sent| sent.1.ts_ecr > 0);
    assert!(with_ack.clone().count() > 0 && with_ack.clone().all(|sent| sent.1.len == 1_448 - 25 - 1 - 6 - 5));
}

#[test]
fn ten_packets_leave_at_once_and_then_they_are_paced() {
    let mut path = TestPath::new(100_000_000, 1_000, 0.0, 1);
    path.carry("newreno", None, 1);
    let data: Vec<Instant> = path.sent.iter().filter(|sent| sent.1.len > 0).map(|sent| sent.0).collect();
    assert!(data[..10].iter().all(|&at| at == data[0]));
    // From the second round on: at least 1.25 windows per RTT of 40 ms, with half of a packet's time as allowance.
    let gaps: Vec<Duration> = data[20..60].windows(2).map(|pair| pair[1] - pair[0]).collect();
    let in_bursts = gaps.iter().filter(|gap| **gap < Duration::from_micros(100)).count();
    assert!(in_bursts < gaps.len() / 4, "{gaps:?}");
}

#[test]
fn every_second_packet_is_acknowledged_and_the_last_one_after_25_ms() {
    let mut path = TestPath::new(10_000_000, 1_000, 0.0, 1);
    let (sender, receiver) = path.carry("newreno", Some(41 * 1_400), 600);
    let packets = path.sent.iter().filter(|sent| sent.1.len > 0).count() as u64;
    assert_eq!(receiver.next_number(), packets.div_ceil(2));
    assert!(sender.stats().timeouts == 0);
}

#[test]
fn a_lost_tail_is_found_by_probes() {
    let mut path = TestPath::new(10_000_000, 1_000, 0.0, 1);
    // All packets of the flight after the handshake are lost; probes arrive.
    path.loss = 1.0;
    let config = config("newreno", 1448, false);
    let (mut sender, mut receiver) = (Sender::new(&config), Receiver::new(true));
    sender.open(path.now, Some(4_000), &mut ForwardWire(&mut path));
    assert_eq!(sender.deadline(), Instant::from_nanos(999_000_000), "333 ms and four times half of it");
    path.now = sender.deadline();
    path.loss = 0.0;
    sender.on_timer(path.now, &mut ForwardWire(&mut path));
    let (at, header, _, ecn) = path.data.pop_front().expect("the second datagram");
    receiver.on_packet(at, &header, ecn, &mut ReturnWire(&mut path));
    let (_, header, _) = path.acks.pop_front().expect("its answer");
    path.now += Duration::from_millis(100);
    path.loss = 1.0;
    sender.on_handshake(path.now, &header, &mut ForwardWire(&mut path));
    assert_eq!(sender.in_flight(), 3);
    // 100 ms, plus four times 50 ms, plus the receiver's maximum ACK delay.
    assert_eq!(sender.deadline(), path.now + Duration::from_millis(325));
    path.now = sender.deadline();
    sender.on_timer(path.now, &mut ForwardWire(&mut path));
    assert_eq!((sender.in_flight(), sender.stats().retransmissions, sender.stats().timeouts), (5, 2, 2));
    assert_eq!(sender.deadline(), path.now + Duration::from_millis(650));
    assert_eq!(path.lost_by_sender, 0, "a probe time-out is no loss");
}

/// Half of the RTT.
const HALF: Duration = Duration::from_millis(20);
