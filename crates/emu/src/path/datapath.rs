//! Parts of a direction around its queue: packets, counters, logs, and the path from the link to the exit.

use super::counters::Counters;
use super::on_off::OnOff;
use super::packets::{Packet, Packets};
use crate::log::{PacketFate, RecordKind, Recorder};
use sojourn_aqm::{Duration, Ecn, Instant, Meta};
use sojourn_sim::Medium;
use std::collections::VecDeque;

/// Everything that a packet passes except the queue.
pub struct Datapath {
    pub packets: Packets,
    pub counters: Counters,
    pub recorder: Recorder,
    /// Packets on their way to the exit, by departure time.
    pub exits: VecDeque<(Instant, u32)>,
    /// Loss and delay after the link; `None` for an on-off link.
    pub medium: Option<Medium>,
    on_off: Option<OnOff>,
}

impl Datapath {
    pub fn new(medium: Option<Medium>, on_off: Option<OnOff>, recorder: Recorder) -> Self {
        let (packets, counters, exits) = (Packets::default(), Counters::default(), VecDeque::new());
        Self { packets, counters, recorder, exits, medium, on_off }
    }

    /// Logs an arrival at `now`, with the TCP header if the queue can query it.
    pub fn arrived(&mut self, now: Instant, meta: &Meta, handle: u32, with_tcp: bool) {
        let packet = self.packets.get(handle);
        if with_tcp && self.recorder.logs() {
            if let Some(view) = self.packets.tcp(handle) {
                self.recorder.header(now, packet.number, &view);
            }
        }
        self.recorder.arrived(now, meta, packet, &self.packets);
    }

    /// Creates the copy of packet `handle` that the queue makes at `now`, logs its arrival, and returns its handle.
    pub fn duplicated(&mut self, now: Instant, meta: &Meta, handle: u32, with_tcp: bool) -> u32 {
        let original = *self.packets.get(handle);
        let copy = Packet { number: self.counters.offered as u32, ecn: meta.ecn, ..original };
        let bytes = self.packets.page(copy.page).ip_bytes(&copy);
        self.counters.offered += 1;
        self.counters.arrived.0 += u64::from(copy.segments);
        self.counters.arrived.1 += u64::from(bytes);
        let copy = self.packets.insert(copy);
        self.arrived(now, meta, copy, with_tcp);
        copy
    }

    /// Logs that the free link polled the queue and got no packet.
    pub fn on_idle_poll(&mut self, now: Instant) {
        self.recorder.event(now, RecordKind::Idle, 0, 0);
    }

    /// Handles a dequeue at `now`, when the transmission begins; the segments of a super-packet begin with
    /// [`Self::cut`].
    pub fn sent(&mut self, now: Instant, meta: &Meta, handle: u32) {
        let packet = self.packets.get_mut(handle);
        let marked = meta.ecn == Ecn::Ce && packet.ecn != Ecn::Ce;
        packet.ecn = meta.ecn;
        self.counters.marked += u64::from(marked) * u64::from(packet.segments);
        let kind = if marked { RecordKind::Marked } else { RecordKind::Sent };
        let packet = self.packets.get(handle);
        let sojourn = now - meta.enqueued;
        self.counters.sojourn.0 += 1;
        self.counters.sojourn.1 += sojourn.as_nanos() as u64;
        self.recorder.decided(PacketFate { at: now, kind, sojourn }, meta, packet);
        if packet.segments == 1 {
            self.recorder.leaves(now, packet, &self.packets);
        }
    }

    /// Begins the transmission of a super-packet's next segment at `now`. Returns the segment's handle, which for the
    /// last segment is that of the super-packet.
    pub fn cut(&mut self, now: Instant, whole: u32) -> u32 {
        let handle = self.packets.cut(whole);
        self.recorder.leaves(now, self.packets.get(handle), &self.packets);
        handle
    }

    /// Handles a drop by the queue.
    pub fn dropped(&mut self, fate: PacketFate, meta: &Meta, handle: u32) {
        let packet = self.packets.get(handle);
        self.recorder.decided(fate, meta, packet);
        self.discard(handle);
    }

    /// Whether a packet whose last bit leaves the link at `end` is lost after it.
    pub fn is_lost(&mut self, end: Instant) -> bool {
        self.on_off.as_mut().is_some_and(|on_off| !on_off.is_on(end))
            || self.medium.as_mut().is_some_and(|medium| medium.is_lost(end))
    }

    /// Handles the departure of a packet's last bit from the link at `end`: loss, unless already `decided`, then delay.
    pub fn on_link_exit(&mut self, end: Instant, handle: u32, decided: Option<bool>) {
        if decided.unwrap_or_else(|| self.is_lost(end)) {
            let number = self.packets.get(handle).number;
            self.recorder.event(end, RecordKind::Lost, number, 1);
            self.discard(handle);
            return;
        }
        let at = self.medium.as_mut().map_or(end, |medium| medium.delayed(end));
        // If the medium allows reordering, a falling delay lets packets overtake others.
        let later = self.exits.iter().rev().take_while(|&&(due, _)| due > at).count();
        if later == 0 {
            self.exits.push_back((at, handle));
        } else {
            self.exits.insert(self.exits.len() - later, (at, handle));
        }
    }

    /// Passes a packet on at once, in a direction without a queue.
    pub fn forward(&mut self, now: Instant, meta: &Meta, handle: u32) {
        self.arrived(now, meta, handle, false);
        let packet = self.packets.get(handle);
        self.recorder.decided(PacketFate { at: now, kind: RecordKind::Sent, sojourn: Duration::ZERO }, meta, packet);
        self.recorder.leaves(now, packet, &self.packets);
        self.on_link_exit(now, handle, None);
    }

    fn discard(&mut self, handle: u32) {
        self.counters.dropped += u64::from(self.packets.get(handle).segments);
        self.packets.release(handle);
    }
}
