//! How drivers take packets from the queues into their rings.

use super::node::{Frame, Load};
use super::turns::{Offer, Turns};
use super::{ACCESS_POINT, Air, is_counted};
use crate::network::{Component, Network};
use crate::packet::Handle;
use crate::probe::Probe;
use sojourn_aqm::{Dequeued, Instant, Meta};
use std::sync::atomic::Ordering;

impl<P: Probe> Network<P> {
    /// A driver asks its queue for packets until its ring is full or the queue empty.
    pub fn pull(&mut self, now: Instant, l: usize) {
        let at = loop {
            match self.air.wlan().nodes[l].asks_at() {
                None => break Instant::NEVER,
                Some(at) if at > now && self.links[l].tally.waiting() > 0 => break at,
                Some(_) => {}
            }
            if let Err(at) = self.feed_ring(now, l) {
                break at;
            }
        };
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    /// A packet reaches the queue of `l`: it may be counted below its socket, and have its station wait for its turn.
    pub fn enters_host(&mut self, l: usize, handle: Handle, slot: u32) {
        let counts = is_counted(l, self.packets.header(handle));
        let wlan = self.air.wlan();
        if counts {
            wlan.sockets.entered(slot);
        }
        if l == ACCESS_POINT && wlan.asked.is_some() {
            let station = self.station_of(self.packets.packet(handle));
            let turns = self.air.wlan().nodes[l].turns.as_mut();
            turns.expect("queues of stations take turns").has_packet(station);
        }
    }

    /// Puts something into the ring of `l`. If there is nothing, tells when there may be.
    fn feed_ring(&mut self, now: Instant, l: usize) -> Result<(), Instant> {
        if let Some(mut turns) = self.air.wlan().nodes[l].turns.take() {
            let load = self.load_in_turn(now, l, &mut turns);
            self.air.wlan().nodes[l].turns = Some(turns);
            self.air.wlan().enters_ring(now, l, load?);
        } else {
            let frame = self.take_packet(now, l)?;
            self.air.wlan().enters_ring(now, l, Load::Frame(frame));
        }
        self.expect_channel();
        Ok(())
    }

    /// What is sent to the receiver whose turn it is.
    #[inline(never)]
    fn load_in_turn(&mut self, now: Instant, l: usize, turns: &mut Turns) -> Result<Load, Instant> {
        let receiver = self.receiver_in_turn(now, l, turns)?;
        turns.served(receiver);
        let node = &mut self.air.wlan().nodes[l];
        if !node.tids[receiver].aggregates() {
            return Ok(Load::Frame(node.tids[receiver].pop()));
        }
        let mut aggregate = node.begin_aggregate();
        while self.air.wlan().nodes[l].tids[receiver].fill(&mut aggregate) {
            if !self.sort_packet(now, l, turns).is_ok_and(|enough| enough.is_none_or(|other| other == receiver)) {
                break;
            }
        }
        Ok(Load::Aggregate(aggregate))
    }

    /// Who is served now; there is something to send to it.
    fn receiver_in_turn(&mut self, now: Instant, l: usize, turns: &mut Turns) -> Result<usize, Instant> {
        let mut is_enough = self.has_queue_per_receiver(l);
        loop {
            let mut later = None;
            let next = turns.next(|receiver| {
                self.offers(now, l, receiver).unwrap_or_else(|at| {
                    // It keeps its turn: there is a packet, which its queue does not yet let go.
                    later = Some(at);
                    Offer::Now
                })
            });
            match (next, later) {
                (_, Some(at)) => return Err(at),
                (Some(receiver), None) => return Ok(receiver),
                (None, None) if is_enough => return Err(Instant::NEVER),
                // One queue for all: what is next in it decides.
                (None, None) => is_enough = self.sort_packet(now, l, turns)?.is_some(),
            }
        }
    }

    /// What can be sent to a receiver; takes a packet from its own queue if it has one and nothing else is there.
    fn offers(&mut self, now: Instant, l: usize, receiver: usize) -> Result<Offer, Instant> {
        let wlan = self.air.wlan();
        if let Some(asked) = wlan.asked.as_ref().filter(|_| l == ACCESS_POINT) {
            asked.store(receiver, Ordering::Relaxed);
        }
        if let Some(offer) = wlan.nodes[l].tids[receiver].offers() {
            return Ok(offer);
        }
        if !self.has_queue_per_receiver(l) {
            return Ok(Offer::Nothing);
        }
        match self.take_packet(now, l) {
            Ok(frame) => {
                self.air.wlan().nodes[l].tids[receiver].push(frame);
                Ok(Offer::Now)
            }
            Err(Instant::NEVER) => Ok(Offer::Nothing),
            Err(at) => Err(at),
        }
    }

    fn has_queue_per_receiver(&mut self, l: usize) -> bool {
        l == ACCESS_POINT && self.air.wlan().asked.is_some()
    }

    /// Takes a packet and lays it to the others for its receiver; which receiver that is, if it has enough now.
    fn sort_packet(&mut self, now: Instant, l: usize, turns: &mut Turns) -> Result<Option<usize>, Instant> {
        let frame = self.take_packet(now, l)?;
        let node = &mut self.air.wlan().nodes[l];
        let receiver = node.receiver(frame.station);
        node.tids[receiver].push(frame);
        turns.has_packet(receiver);
        Ok(node.tids[receiver].is_full().then_some(receiver))
    }

    /// Takes a packet from the queue of `l`. If there is none, tells when there may be.
    #[inline(always)]
    fn take_packet(&mut self, now: Instant, l: usize) -> Result<Frame, Instant> {
        match self.dequeue(now, l) {
            Dequeued::Packet(meta, handle) => Ok(self.frame_of(now, l, &meta, handle)),
            Dequeued::Empty => Err(Instant::NEVER),
            Dequeued::NotBefore(at) => Err(at),
        }
    }

    #[inline(always)]
    fn frame_of(&mut self, now: Instant, l: usize, meta: &Meta, handle: Handle) -> Frame {
        let (packet, header) = (*self.packets.packet(handle), *self.packets.header(handle));
        let station = self.station_of(&packet);
        let wlan = self.air.wlan();
        if l != ACCESS_POINT && packet.to_sink {
            wlan.rtts.tapped(now, packet.slot, &header);
        }
        let chain = wlan.nodes[l].choose(now, station);
        wlan.nodes[l].took(now, meta.len);
        let mut frame = Frame::new(now, handle, packet.len, station, chain);
        (frame.slot, frame.counts) = (packet.slot, is_counted(l, &header));
        frame
    }
}
