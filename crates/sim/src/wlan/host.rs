//! What the channel does in a network: drivers take packets from the queues, frames arrive.

use super::node::Frame;
use super::{ACCESS_POINT, Air, Outcome, is_counted};
use crate::network::{Component, NONE, Network};
use crate::packet::Handle;
use crate::probe::Probe;
use sojourn_aqm::{Dequeued, Instant, Meta};

impl<P: Probe> Network<P> {
    /// An access starts, or one ends that has consequences.
    pub fn on_channel(&mut self, now: Instant) {
        if self.air.wlan().ends_at == Some(now) {
            self.access_ends(now);
        } else {
            let links = &mut self.links;
            self.air.wlan().access_begins(now, |node, airtime| {
                links[node].tally.transmission(now, now + airtime, |from, to| (to - from).as_nanos() as u64);
            });
        }
        self.expect_channel();
    }

    /// A driver asks its queue for packets until its ring is full or the queue empty.
    pub fn pull(&mut self, now: Instant, l: usize) {
        let at = loop {
            match self.air.wlan().nodes[l].asks_at() {
                None => break Instant::NEVER,
                Some(at) if at > now && self.links[l].tally.waiting() > 0 => break at,
                Some(_) => {}
            }
            match self.dequeue(now, l) {
                Dequeued::Packet(meta, handle) => self.hand_down(now, l, &meta, handle),
                Dequeued::Empty => break Instant::NEVER,
                Dequeued::NotBefore(at) => break at,
            }
        };
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    /// A packet reaches the queue of `l`: it may be counted below its socket.
    pub fn enters_host(&mut self, l: usize, handle: Handle, slot: u32) {
        if is_counted(l, self.packets.header(handle)) {
            self.air.wlan().sockets.entered(slot);
        }
    }

    fn hand_down(&mut self, now: Instant, l: usize, meta: &Meta, handle: Handle) {
        let (packet, header) = (*self.packets.packet(handle), *self.packets.header(handle));
        let station = self.station_of(&packet);
        let wlan = self.air.wlan();
        if l != ACCESS_POINT && packet.to_sink {
            wlan.rtts.tapped(now, packet.slot, &header);
        }
        let frame = Frame {
            handle,
            slot: packet.slot,
            counts: is_counted(l, &header),
            bytes: packet.len,
            station,
            chain: wlan.nodes[l].choose(now, station),
            attempts: 0,
            received: false,
            entered: now,
            first: now,
        };
        wlan.enters_ring(now, l, frame, meta.len);
        self.expect_channel();
    }

    fn access_ends(&mut self, now: Instant) {
        let wlan = self.air.wlan();
        wlan.ends_at = None;
        let mut outcomes = std::mem::take(&mut wlan.outcomes);
        for outcome in outcomes.drain(..) {
            self.take_outcome(now, outcome);
        }
        self.air.wlan().outcomes = outcomes;
    }

    fn take_outcome(&mut self, now: Instant, Outcome { node, arrives, through }: Outcome) {
        let head = self.air.wlan().nodes[node].head();
        let handle = head.handle;
        if arrives {
            // From now on the packet belongs to who receives it.
            head.handle = NONE;
            self.leave_channel(now, node, handle);
        }
        let Some(acknowledged) = through else { return };
        let wlan = self.air.wlan();
        let frame = wlan.nodes[node].pop(now, acknowledged);
        wlan.tally.through(now, node, acknowledged, frame.entered, frame.first);
        if frame.counts {
            wlan.sockets.left(frame.slot);
        }
        if !frame.received {
            self.links[node].tally.loss(now);
            self.packets.remove(frame.handle);
        }
        self.pull(now, node);
        let wlan = self.air.wlan();
        if wlan.nodes[node].is_empty() {
            wlan.dcf.is_empty(node);
        }
    }

    /// Sees to it that the channel's next event comes.
    pub fn expect_channel(&mut self) {
        let at = self.air.wlan().next_event();
        self.events.set(self.layout.slot(Component::Channel), at);
    }
}
