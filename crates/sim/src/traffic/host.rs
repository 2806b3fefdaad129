//! The two ends of a flow, and the services of their hosts.

use super::app::ConnectionEvent;
use super::exchange::Exchange;
use crate::endpoint::EndId;
use crate::hosts::Hosts;
use crate::ledger::Ledger;
use crate::media::MediaEvent;
use crate::packet::ReceivedPacket;
use crate::payload::{PayloadPacket, Payloads};
use crate::status::Status;
use sojourn_aqm::Instant;
use sojourn_tcp::{Header, Wire};
use std::net::SocketAddr;

/// The two ends of a flow.
pub(super) trait Endpoints {
    /// Runs the source's timers, which may not be due yet.
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host);
    /// Runs the sink's timers, which may not be due yet.
    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host);
    /// The host of one end, the source or the sink, accepts data again.
    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        let _ = (now, at_source, host);
    }
    /// A packet of the source has left its host's device; only for a source that waits for it.
    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
    }
    /// Sends a request of the client, which is at the sink.
    fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        let _ = (now, exchange, host);
        unreachable!("only client connections send requests");
    }
    /// Closes a client's connection.
    fn close(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
        unreachable!("only client connections are closed by the client");
    }
    /// Delivers a packet to the sink.
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host);
    /// Delivers a packet to the source.
    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host);
    /// When the source's timer is due.
    fn source_deadline(&self) -> Instant;
    /// When the sink's timer is due.
    fn sink_deadline(&self) -> Instant;
    /// Counters and current state.
    fn status(&self) -> Status;
    /// Takes a snapshot at a possible window start.
    fn on_window_start(&mut self) {}
    /// Datagrams received after window start `number`, counted from 0, and sent before it.
    fn strays(&self, number: usize) -> u64 {
        let _ = number;
        0
    }
}

/// Services for an end of a flow: sending packets and reporting events.
pub(crate) trait Host: Wire {
    /// A transfer of `bytes` is requested or starts.
    fn offered(&mut self, bytes: u64);
    /// The last byte of a transfer that started at `begun` has arrived.
    fn completed(&mut self, begun: Instant, bytes: u64);
    /// Both ends have closed; called once.
    fn closed(&mut self);
    /// Notifies the connection's client.
    fn notify_client(&mut self, event: ConnectionEvent);
    /// Reports an event of a media flow.
    fn record_media(&mut self, event: &MediaEvent);
    /// The end that the host is of.
    fn end(&self) -> EndId {
        unreachable!("only endpoints have programs")
    }
    /// Payloads of the datagrams in flight.
    fn payloads(&mut self) -> &mut Payloads {
        unreachable!("only endpoints have programs")
    }
    /// The parts of the run that an end with a program uses.
    fn program_parts(&mut self) -> ProgramParts<'_> {
        unreachable!("only endpoints have programs")
    }
    /// Sends a packet with a program's payload.
    fn transmit_payload(&mut self, packet: &PayloadPacket) {
        let _ = packet;
        unreachable!("only endpoints have programs")
    }
    /// Whether super-packets of the end reach a queue whole.
    fn keeps_super_packets(&self) -> bool {
        false
    }
    /// Lets later packets of both ends take path number `path` of the group.
    fn switch_path(&mut self, path: u32) {
        let _ = path;
        unreachable!("only endpoints have several paths")
    }
    /// Ends the current step of the run, so that its caller can take an event.
    fn pause(&mut self) {}
}

/// The parts of the run that an end with a program uses.
pub(crate) struct ProgramParts<'a> {
    pub end: EndId,
    pub group: u32,
    /// The flow number of the end's slot, and the next free one.
    pub flow: u32,
    pub next_flow: &'a mut u32,
    pub hosts: &'a mut Hosts,
    pub payloads: &'a mut Payloads,
    pub ledger: &'a mut Ledger,
}

impl ProgramParts<'_> {
    /// Adds a value to the statistics of the end.
    pub fn note(self, now: Instant, name: &str, value: f64) {
        self.ledger.endpoint(now, self.group).note(self.end.side, name, value);
    }

    /// Addresses of the end and of its peer.
    #[inline]
    pub fn addresses(&self) -> [SocketAddr; 2] {
        let EndId { slot, side } = self.end;
        [side, side.peer()].map(|side| self.hosts.address(EndId { slot, side }))
    }
}
