//! The receiving end: which packets have arrived, when that is told, and the stream.
//!
//! Source: RFC 9000 §13.2. An acknowledgment goes at once for every second packet, for one out of order and for one with a
//! congestion mark, else after 25 ms. Every twentieth carries a PING (§13.2.4, as Chromium does): what its sender acknowledges
//! need not be told again.

use super::ack::round_delay;
use super::ranges::RangeSet;
use super::{AckFrame, EcnCounts, MAX_ACK_DELAY, MIN_DATAGRAM, SHORT_HEADER, UDP_IP, kind, number_bytes};
use crate::{Header, Wire};
use sojourn_aqm::{Ecn, Instant};
use std::collections::VecDeque;

/// The receiving half of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    numbers: RangeSet,
    /// Everything below has arrived, or is not told of any more.
    reported_below: u64,
    /// The largest number, and when it arrived.
    largest: Option<(u64, Instant)>,
    counts: EcnCounts,
    /// Packets of which nobody was told, and how many may be.
    unreported: u32,
    max_unreported: u32,
    due: Instant,
    /// Of its own packets: the next number, the largest that is acknowledged, those since the last PING.
    next: u64,
    acked: Option<u64>,
    packets_since_ping: u32,
    /// Packets with a PING that are out, and the largest number that they tell of.
    pings: VecDeque<(u64, u64)>,
    /// Frames under way: the number of the first of them, and those that nobody has taken; and some to be used again.
    first_frame: u64,
    frames: VecDeque<Option<AckFrame>>,
    spare_frames: Vec<AckFrame>,
    stream: RangeSet,
    arrived: u64,
}

impl Receiver {
    /// Nothing has arrived. With `delayed_ack` every second packet is acknowledged, else each.
    pub fn new(delayed_ack: bool) -> Self {
        Self {
            numbers: RangeSet::default(),
            reported_below: 0,
            largest: None,
            counts: EcnCounts::default(),
            unreported: 0,
            max_unreported: if delayed_ack { EVERY } else { 1 },
            due: Instant::NEVER,
            next: 0,
            acked: None,
            packets_since_ping: 0,
            pings: VecDeque::new(),
            first_frame: 0,
            frames: VecDeque::new(),
            spare_frames: Vec::new(),
            stream: RangeSet::default(),
            arrived: 0,
        }
    }

    /// A packet of the sender has come.
    pub fn on_packet(&mut self, now: Instant, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        if header.ts_val & kind::INITIAL != 0 {
            // Its answer: the server's part of the handshake in one datagram.
            let answer = Header { ack: header.seq, ts_val: kind::INITIAL, ..Header::default() };
            return wire.transmit(&answer, MIN_DATAGRAM + UDP_IP, Ecn::NotEct);
        }
        let number = header.seq;
        if number < self.reported_below || self.numbers.insert(number, number + 1) == 0 {
            return;
        }
        self.counts.count(ecn);
        if header.ts_ecr > 0 {
            self.on_ack_of_ping(u64::from(header.ts_ecr) - 1);
        }
        if header.ts_val & kind::STREAM != 0 {
            self.arrived += self.stream.insert(header.ack, header.ack + u64::from(header.len));
        }
        let in_order = self.largest.map_or(number == 0, |(largest, _)| number == largest + 1);
        if self.largest.is_none_or(|(largest, _)| number > largest) {
            self.largest = Some((number, now));
        }
        self.unreported += 1;
        if self.unreported >= self.max_unreported || !in_order || ecn == Ecn::Ce {
            self.acknowledge(now, wire);
        } else {
            self.due = self.due.min(now + MAX_ACK_DELAY);
        }
    }

    /// The time of [`Self::deadline`] has come (or may have: an early call does nothing).
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        if self.due <= now {
            self.acknowledge(now, wire);
        }
    }

    /// Takes the frame of a packet that has reached the sender; none of one that came before. Give it back to
    /// [`Self::reuse`].
    pub fn take_frame(&mut self, header: &Header) -> Option<AckFrame> {
        let place = header.seq.checked_sub(self.first_frame)?;
        let frame = self.frames.get_mut(place as usize)?.take();
        // What was lost on the way is never asked for.
        while self.frames.len() as u64 > KEPT && self.first_frame + KEPT < header.seq
            || matches!(self.frames.front(), Some(None))
        {
            self.frames.pop_front();
            self.first_frame += 1;
        }
        frame
    }

    /// The memory of a frame is used again.
    pub fn recycle_frame(&mut self, frame: AckFrame) {
        self.spare_frames.push(frame);
    }

    /// Whether a packet of the receiver belongs to the handshake, and has no frame.
    pub fn is_of_handshake(header: &Header) -> bool {
        header.ts_val & kind::INITIAL != 0
    }

    /// When [`Self::on_timer`] is to be called.
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.due
    }

    /// Number of its next packet.
    #[cfg(test)]
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Bytes of the stream from its beginning on without a gap.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.stream.prefix()
    }

    /// Bytes of the stream that have arrived, each counted once.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    fn acknowledge(&mut self, now: Instant, wire: &mut impl Wire) {
        let Some((largest, arrived)) = self.largest else { return };
        (self.unreported, self.due) = (0, Instant::NEVER);
        let mut frame = self.spare_frames.pop().unwrap_or_default();
        frame.ranges.clear();
        frame.ranges.extend(self.numbers.iter().rev().map(|(from, end)| (from, end - 1)));
        frame.delay = round_delay(now - arrived);
        frame.ecn = (!self.counts.is_empty()).then_some(self.counts);
        let number = self.next;
        self.next += 1;
        self.packets_since_ping += 1;
        let pings = self.packets_since_ping >= PING_EVERY;
        if pings {
            self.packets_since_ping = 0;
            self.pings.push_back((number, largest));
        }
        let bytes = SHORT_HEADER + number_bytes(number, self.acked) + frame.bytes() + u32::from(pings);
        let ts_val = kind::ACK | if pings { kind::PING } else { 0 };
        self.frames.push_back(Some(frame));
        wire.transmit(&Header { seq: number, ts_val, ..Header::default() }, bytes + UDP_IP, Ecn::NotEct);
        if let Some(end) = self.numbers.keep_highest(MAX_RANGES) {
            self.reported_below = self.reported_below.max(end);
        }
    }

    /// The sender has got packet `number`, which had a PING: what it told is known.
    fn on_ack_of_ping(&mut self, number: u64) {
        self.acked = Some(self.acked.map_or(number, |acked| acked.max(number)));
        while let Some(&(ping, largest)) = self.pings.front().filter(|&&(ping, _)| ping <= number) {
            self.pings.pop_front();
            if ping == number {
                self.numbers.remove_below(largest + 1);
                self.reported_below = self.reported_below.max(largest + 1);
            }
        }
    }
}

/// Packets for an acknowledgment (RFC 9000 §13.2.2).
const EVERY: u32 = 2;

/// Acknowledgments for a PING.
const PING_EVERY: u32 = 20;

/// Ranges that a frame has at the most; a receiver may choose (RFC 9000 §13.2.3).
const MAX_RANGES: usize = 32;

/// Acknowledgments that may overtake another one which still counts.
const KEPT: u64 = 256;
