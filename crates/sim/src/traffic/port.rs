//! The host of an end in the simulator: packets go into the network, events into the ledger.

use super::app::ConnectionEvent;
use super::host::{Host, ProgramParts};
use super::super_packet::SuperPacket;
use crate::endpoint::{EndId, Side};
use crate::media::MediaEvent;
use crate::network::{Network, Topology};
use crate::payload::{PayloadPacket, Payloads};
use crate::probe::Probe;
use crate::senders::SenderId;
use sojourn_aqm::{Ecn, Instant};
use sojourn_tcp::{Header, SenderEvent, Wire};

/// Port of one end: its packets go into the network on its flow's route, its events into the ledger.
pub(crate) struct Port<'a, P: Probe, T: Topology> {
    pub network: &'a mut Network<P, T>,
    pub now: Instant,
    pub slot: u32,
    pub from_source: bool,
    /// During a burst: its segments so far, if any.
    burst: Option<Option<SuperPacket>>,
}

impl<'a, P: Probe, T: Topology> Port<'a, P, T> {
    /// The port of one end of the flow in `slot`.
    #[inline(always)]
    pub fn new(network: &'a mut Network<P, T>, now: Instant, slot: u32, from_source: bool) -> Self {
        Self { network, now, slot, from_source, burst: None }
    }

    /// Adds a segment to the burst; sends what is complete.
    #[inline(never)]
    fn add(&mut self, header: &Header, len: u32, ecn: Ecn) {
        let Some(burst) = &mut self.burst else { return };
        if burst.as_mut().is_some_and(|burst| burst.add(header, len, ecn)) {
            return;
        }
        if let Some(before) = burst.replace(SuperPacket::new(header, len, ecn)) {
            self.network.send_joined(self.now, self.slot, self.from_source, &before);
        }
    }
}

impl<P: Probe, T: Topology> Wire for Port<'_, P, T> {
    #[inline(never)]
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_some() {
            self.add(header, len, ecn);
        } else if self.from_source {
            self.network.send_from_source(self.now, self.slot, header, (len, ecn));
        } else {
            self.network.send_from_sink(self.now, self.slot, header, (len, ecn));
        }
    }

    #[inline(always)]
    fn send_data(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_none() && self.from_source {
            return self.network.send_from_source(self.now, self.slot, header, (len, ecn));
        }
        // A copy, so that the caller's header need not be in memory.
        let header = *header;
        self.transmit(&header, len, ecn);
    }

    #[inline(always)]
    fn send_ack(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.burst.is_none() && !self.from_source {
            return self.network.send_from_sink(self.now, self.slot, header, (len, ecn));
        }
        let header = *header;
        self.transmit(&header, len, ecn);
    }

    fn begin_burst(&mut self) {
        self.burst = Some(None);
    }

    fn end_burst(&mut self) {
        if let Some(Some(burst)) = self.burst.take() {
            self.network.send_joined(self.now, self.slot, self.from_source, &burst);
        }
    }

    #[inline]
    fn has_room(&self) -> bool {
        self.network.has_room(self.slot, self.from_source)
    }

    #[inline]
    fn drain_time(&self) -> Instant {
        self.network.drain_time(self.slot, self.from_source)
    }

    #[inline(always)]
    fn bytes_below(&self) -> Option<u64> {
        if self.from_source { self.network.backlog_bytes(self.slot) } else { None }
    }

    fn notify_on_departure(&mut self) {
        self.network.block_sender(self.slot);
    }

    fn is_pacing(&self) -> bool {
        self.from_source && self.network.paces(self.slot)
    }

    fn set_departure(&mut self, at: Instant) {
        self.network.set_next_departure(at);
    }

    #[inline]
    fn observes_sender(&self) -> bool {
        self.network.probe.observes_senders()
    }

    #[inline]
    fn notify<'e>(&mut self, event: impl FnOnce() -> SenderEvent<'e>) {
        if self.network.probe.observes_senders() {
            let (flow, _) = self.network.current_flow(self.slot);
            let sender = SenderId { flow, slot: self.slot, at_source: self.from_source };
            self.network.probe.on_sender_event(self.now, sender, event());
        }
    }
}

impl<P: Probe, T: Topology> Host for Port<'_, P, T> {
    fn offered(&mut self, bytes: u64) {
        let (_, group) = self.network.current_flow(self.slot);
        self.network.ledger.offered(self.now, group, bytes);
    }

    fn completed(&mut self, begun: Instant, bytes: u64) {
        let tenant = self.network.current_flow(self.slot);
        self.network.ledger.completed(self.now, tenant, begun, bytes);
    }

    fn closed(&mut self) {
        self.network.ledger.ended.push(self.slot);
    }

    fn notify_client(&mut self, event: ConnectionEvent) {
        self.network.ledger.notifications.push_back((self.slot, event));
    }

    fn record_media(&mut self, event: &MediaEvent) {
        let tenant = self.network.current_flow(self.slot);
        self.network.ledger.media(self.now, tenant, event);
    }

    #[inline]
    fn end(&self) -> EndId {
        EndId { slot: self.slot, side: Side::of(self.from_source) }
    }

    #[inline]
    fn payloads(&mut self) -> &mut Payloads {
        &mut self.network.packets.payloads
    }

    // Inlined, so that callers pay for the parts that they use.
    #[inline(always)]
    fn program_parts(&mut self) -> ProgramParts<'_> {
        let (flow, group) = self.network.current_flow(self.slot);
        let end = self.end();
        let network = &mut *self.network;
        ProgramParts {
            end,
            group,
            flow,
            next_flow: &mut network.next_flow,
            hosts: network.hosts.as_mut().expect("a scenario with endpoints has hosts"),
            payloads: &mut network.packets.payloads,
            ledger: &mut network.ledger,
        }
    }

    fn transmit_payload(&mut self, packet: &PayloadPacket) {
        self.network.send_payload(self.now, (self.slot, self.from_source), packet);
    }

    fn keeps_super_packets(&self) -> bool {
        !self.from_source || !self.network.has_access_rate(self.slot)
    }

    fn switch_path(&mut self, path: u32) {
        self.network.switch_path(self.slot, path);
    }

    fn pause(&mut self) {
        self.network.pause();
    }
}
