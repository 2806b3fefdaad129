//! Outstanding packets and loss detection (RFC 9002, appendix A).

use super::rtt::Rtt;
use super::stream::Chunk;
use super::{AckFrame, MAX_ACK_DELAY};
use crate::timer::TimerPurpose;
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// A sent packet. Every packet is ack-eliciting and counts as in flight.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentPacket {
    pub number: u64,
    /// Bytes without IP and UDP headers (`sent_bytes`).
    pub size: u32,
    /// `time_sent`.
    pub at: Instant,
    /// Whether it was sent ECN-capable.
    pub ect: bool,
    pub chunk: Chunk,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Out,
    Acked,
    Lost,
}

/// Outstanding packets and the single loss detection timer.
#[derive(Clone, Debug)]
pub(super) struct Recovery {
    /// `sent_packets` from the oldest outstanding one; later packets stay with their state.
    sent: VecDeque<SentPacket>,
    /// Number of the first packet in `sent`.
    base: u64,
    out: u32,
    pub rtt: Rtt,
    largest_acked: Option<u64>,
    loss_time: Option<Instant>,
    pto_count: u32,
    /// `time_of_last_ack_eliciting_packet`.
    last_sent: Instant,
    /// Packets newly acknowledged by the last frame, and packets last detected as lost, each in order of their numbers.
    pub acked: Vec<SentPacket>,
    pub lost: Vec<SentPacket>,
}

impl SentPacket {
    /// A packet of `size` bytes sent at `at`.
    pub fn new(number: u64, size: u32, at: Instant, ect: bool, chunk: Chunk) -> Self {
        Self { number, size, at, ect, chunk, state: State::Out }
    }
}

impl Recovery {
    /// State before any packet is sent.
    pub fn new() -> Self {
        Self {
            sent: VecDeque::new(),
            base: 0,
            out: 0,
            rtt: Rtt::new(),
            largest_acked: None,
            loss_time: None,
            pto_count: 0,
            last_sent: Instant::ZERO,
            acked: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// `OnPacketSent`; packet numbers are consecutive.
    pub fn on_sent(&mut self, packet: SentPacket) {
        debug_assert_eq!(packet.number, self.next_number(), "packet numbers are contiguous");
        self.last_sent = packet.at;
        self.out += 1;
        self.sent.push_back(packet);
    }

    /// First part of `OnAckReceived`: finds the newly acknowledged packets and takes an RTT sample if the largest
    /// number is among them. Returns whether it is.
    pub fn on_ack(&mut self, now: Instant, frame: &AckFrame) -> bool {
        self.acked.clear();
        self.lost.clear();
        let largest = frame.largest();
        if largest >= self.next_number() {
            return false;
        }
        self.largest_acked = Some(self.largest_acked.map_or(largest, |acked| acked.max(largest)));
        for &(from, to) in frame.ranges.iter().rev() {
            for number in from.max(self.base)..=to.min(largest) {
                let Some(packet) = self.sent.get_mut((number - self.base) as usize) else { break };
                if packet.state == State::Out {
                    packet.state = State::Acked;
                    self.out -= 1;
                    self.acked.push(*packet);
                }
            }
        }
        // RFC 9002 §5.1: only the largest number, if newly acknowledged, yields an RTT sample.
        let newest = self.acked.last().filter(|packet| packet.number == largest);
        if let Some(packet) = newest {
            self.rtt.update(now, now - packet.at, frame.delay);
        }
        newest.is_some()
    }

    /// `DetectAndRemoveLostPackets`.
    pub fn detect_lost_packets(&mut self, now: Instant) {
        self.lost.clear();
        self.loss_time = None;
        let Some(largest) = self.largest_acked else { return };
        let delay = self.rtt.loss_delay();
        for packet in self.sent.iter_mut().take_while(|packet| packet.number <= largest) {
            if packet.state != State::Out {
                continue;
            }
            let lost_at = packet.at + delay;
            if lost_at > now && largest < packet.number + PACKET_THRESHOLD {
                // Later packets were sent later.
                self.loss_time = Some(lost_at);
                break;
            }
            packet.state = State::Lost;
            self.out -= 1;
            self.lost.push(*packet);
        }
    }

    /// `InPersistentCongestion`: whether two of the packets just detected as lost were sent more than three probe
    /// time-outs apart, both after the first RTT sample, and no packet between them was acknowledged.
    pub fn is_congested_persistently(&self) -> bool {
        let Some(first_sample) = self.rtt.first_sample() else { return false };
        let duration = self.rtt.pto(MAX_ACK_DELAY) * PERSISTENT_CONGESTION_THRESHOLD;
        let mut first: Option<&SentPacket> = None;
        for packet in self.lost.iter().filter(|packet| packet.at > first_sample) {
            let begins = first.is_none_or(|first| self.is_any_acked(first.number, packet.number));
            let since = if begins { packet } else { first.expect("it does not begin here") };
            if packet.at - since.at > duration {
                return true;
            }
            first = Some(since);
        }
        false
    }

    /// Last part of `OnAckReceived`, if any packet was newly acknowledged.
    pub fn finish_ack(&mut self) {
        self.pto_count = 0;
        self.remove_finished();
    }

    /// Removes acknowledged and lost packets from the front of the queue.
    pub fn remove_finished(&mut self) {
        while self.sent.front().is_some_and(|packet| packet.state != State::Out) {
            self.sent.pop_front();
            self.base += 1;
        }
    }

    /// The probe time-out has expired, and probes were sent.
    pub fn on_pto(&mut self) {
        self.pto_count += 1;
    }

    /// `SetLossDetectionTimer`: purpose and expiry.
    pub fn timer(&self) -> Option<(TimerPurpose, Instant)> {
        if let Some(at) = self.loss_time {
            return Some((TimerPurpose::Reordering, at));
        }
        (self.out > 0).then(|| (TimerPurpose::LossProbe, self.last_sent + self.backed_off(MAX_ACK_DELAY)))
    }

    /// Probe time-out with back-off.
    pub fn backed_off(&self, max_ack_delay: Duration) -> Duration {
        self.rtt.pto(max_ack_delay) * (1 << self.pto_count.min(MAX_DOUBLINGS))
    }

    /// Probe time-outs since the last newly acknowledged packet.
    pub fn pto_count(&self) -> u32 {
        self.pto_count
    }

    /// Number of the next packet.
    pub fn next_number(&self) -> u64 {
        self.base + self.sent.len() as u64
    }

    /// Number of the oldest outstanding packet, otherwise of the next one.
    pub fn oldest(&self) -> u64 {
        self.base
    }

    /// Largest acknowledged packet number.
    pub fn largest_acked(&self) -> Option<u64> {
        self.largest_acked
    }

    /// Outstanding packets, oldest first.
    pub fn out(&self) -> impl Iterator<Item = &SentPacket> {
        self.sent.iter().filter(|packet| packet.state == State::Out)
    }

    fn is_any_acked(&self, from: u64, to: u64) -> bool {
        let between = (from - self.base) as usize..(to - self.base) as usize;
        self.sent.range(between).any(|packet| packet.state == State::Acked)
    }
}

/// `kPacketThreshold`.
const PACKET_THRESHOLD: u64 = 3;

/// `kPersistentCongestionThreshold`.
const PERSISTENT_CONGESTION_THRESHOLD: i64 = 3;

/// Maximum number of doublings of the probe time-out, so that it does not overflow: about a day from the initial value.
const MAX_DOUBLINGS: u32 = 16;
