//! Super-packets in a network: sent by hosts with segmentation offload (TSO), built by NICs with receive offload (GRO),
//! and split for queues that need segments.
//!
//! A discipline cannot create packets, so one that splits super-packets is offered their segments. Differs: Linux's
//! CAKE queues all segments before it drops for its memory limit; here each is offered by itself.

use super::hop::link_of;
use super::{Component, Datagram, Network, Topology, link_context};
use crate::packet::{Arrival, Handle};
use crate::probe::Probe;
use crate::traffic::SuperPacket;
use sojourn_aqm::Instant;

impl<P: Probe, T: Topology> Network<P, T> {
    /// Sends a super-packet from a source or a sink to its first link. An access link with a rate is that first link,
    /// and the NIC's: it sends segments.
    pub fn send_joined(&mut self, now: Instant, slot: u32, from_source: bool, super_packet: &SuperPacket) {
        let &SuperPacket { mut header, mut len, ecn, segment, count } = super_packet;
        let on_access_link = from_source && self.slots.detail(slot).uplink.has_rate();
        if count == 1 || !on_access_link {
            let segment = if count == 1 { 0 } else { segment };
            return self.send(now, slot, Datagram { header: &header, len, ecn, segment }, from_source);
        }
        let headers = (len - u32::from(header.len)) / count;
        for _ in 1..count {
            let first = header.cut(segment);
            let bytes = headers + u32::from(segment);
            len -= bytes;
            self.send(now, slot, Datagram { header: &first, len: bytes, ecn, segment: 0 }, from_source);
        }
        self.send(now, slot, Datagram { header: &header, len, ecn, segment: 0 }, from_source);
    }

    /// A NIC receives a packet, which waits for the poll.
    pub(super) fn receive(&mut self, now: Instant, l: usize, handle: Handle) {
        if let Some(at) = link_of(l, &mut self.links, &self.air).receive(now, handle, &mut self.packets) {
            self.set(Component::Poll(l), at);
        }
    }

    /// Polls a NIC: the packets it has received arrive at the queue.
    pub fn on_poll(&mut self, now: Instant, l: usize) {
        self.set(Component::Poll(l), Instant::NEVER);
        let mut polled = std::mem::take(&mut self.polled);
        link_of(l, &mut self.links, &self.air).poll(&mut polled);
        for handle in polled.drain(..) {
            self.offer(now, l, self.arrival_of(handle));
        }
        self.polled = polled;
    }

    /// Offers a packet to a link's queue, or the segments of a super-packet if the queue discipline splits these.
    pub(super) fn offer(&mut self, now: Instant, l: usize, arrival: Arrival) {
        let Arrival { handle, packet, origin } = arrival;
        if packet.segment == 0 || !link_of(l, &mut self.links, &self.air).splits() {
            let served = link_of(l, &mut self.links, &self.air).on_arrival(now, arrival, &mut link_context!(self, l));
            return self.apply_result(l, served);
        }
        loop {
            let segment = self.packets.take_segment(handle);
            let arrival = Arrival { handle: segment, packet: *self.packets.packet(segment), origin };
            let served = link_of(l, &mut self.links, &self.air).on_arrival(now, arrival, &mut link_context!(self, l));
            self.apply_result(l, served);
            if segment == handle {
                return;
            }
        }
    }
}
