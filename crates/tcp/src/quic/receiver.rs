//! Receiving endpoint: received packets, acknowledgment scheduling and the stream.
//!
//! Source: RFC 9000 §13.2. An acknowledgment is sent at once for every second packet, for an out-of-order packet and
//! for a CE mark, otherwise after 25 ms. Every twentieth carries a PING (§13.2.4, as in Chromium, from memory); when
//! the PING is acknowledged, the receiver forgets the ranges that its packet reported. A lost PING is not repeated; the
//! next one follows.

use super::ack::round_delay;
use super::ranges::RangeSet;
use super::{AckFrame, EcnCounts, MAX_ACK_DELAY, MIN_DATAGRAM, SHORT_HEADER, UDP_IP, kind, number_bytes};
use crate::{Header, Wire};
use sojourn_aqm::{Ecn, Instant};
use std::collections::VecDeque;

/// Receiving endpoint of a connection.
#[derive(Clone, Debug)]
pub struct Receiver {
    numbers: RangeSet,
    /// Packets below this number have arrived or are no longer reported.
    reported_below: u64,
    /// Largest packet number and its arrival time.
    largest: Option<(u64, Instant)>,
    counts: EcnCounts,
    /// Packets not acknowledged yet, and their maximum.
    unreported: u32,
    max_unreported: u32,
    due: Instant,
    /// The receiver's own packets: next number, largest acknowledged number, packets since the last PING.
    next: u64,
    acked: Option<u64>,
    packets_since_ping: u32,
    /// Outstanding packets with a PING, and the largest number that each acknowledges.
    pings: VecDeque<(u64, u64)>,
    /// Frames in transit: number of the first one, the frames not yet taken, and spare frames for reuse.
    first_frame: u64,
    frames: VecDeque<Option<AckFrame>>,
    spare_frames: Vec<AckFrame>,
    stream: RangeSet,
    arrived: u64,
}

impl Receiver {
    /// A receiver before the first packet. With `delayed_ack` it acknowledges every second packet, otherwise each.
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

    /// A packet of the sender arrives.
    pub fn on_packet(&mut self, now: Instant, header: &Header, ecn: Ecn, wire: &mut impl Wire) {
        if header.ts_val & kind::INITIAL != 0 {
            // The response: the server's part of the handshake in one datagram.
            let response = Header { ack: header.seq, ts_val: kind::INITIAL, ..Header::default() };
            return wire.transmit(&response, MIN_DATAGRAM + UDP_IP, Ecn::NotEct);
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
        // RFC 9000 §13.2.1: a gap or a late packet is acknowledged at once, so that the sender detects losses early.
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

    /// Handles the expiry of [`Self::deadline`]; an early call does nothing.
    pub fn on_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        if self.due <= now {
            self.acknowledge(now, wire);
        }
    }

    /// Takes the frame of a packet that has reached the sender; none for a duplicate. Return it with
    /// [`Self::recycle_frame`].
    pub fn take_frame(&mut self, header: &Header) -> Option<AckFrame> {
        let index = header.seq.checked_sub(self.first_frame)?;
        let frame = self.frames.get_mut(index as usize)?.take();
        // Frames of lost packets are never taken.
        while self.frames.len() as u64 > KEPT && self.first_frame + KEPT < header.seq
            || matches!(self.frames.front(), Some(None))
        {
            self.frames.pop_front();
            self.first_frame += 1;
        }
        frame
    }

    /// Keeps the memory of a frame for reuse.
    pub fn recycle_frame(&mut self, frame: AckFrame) {
        self.spare_frames.push(frame);
    }

    /// Whether a packet of the receiver belongs to the handshake and has no frame.
    pub fn is_of_handshake(header: &Header) -> bool {
        header.ts_val & kind::INITIAL != 0
    }

    /// Time at which to call [`Self::on_timer`].
    #[inline]
    pub fn deadline(&self) -> Instant {
        self.due
    }

    /// Number of the next packet of this receiver.
    #[cfg(test)]
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Contiguous bytes from the start of the stream.
    #[inline]
    pub fn delivered(&self) -> u64 {
        self.stream.prefix()
    }

    /// Received stream bytes, without duplicates.
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

    /// The sender has received packet `number`, which had a PING: its ranges need not be reported again.
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

/// Packets per acknowledgment (RFC 9000 §13.2.2).
const EVERY: u32 = 2;

/// Acknowledgments per PING.
const PING_EVERY: u32 = 20;

/// Maximum number of ranges in a frame, at the receiver's choice (RFC 9000 §13.2.3).
const MAX_RANGES: usize = 32;

/// Maximum number of later acknowledgments that may overtake one that is still used.
const KEPT: u64 = 256;
