//! The two ends of a flow, and the host that each runs on.

use super::app::ConnectionEvent;
use super::exchange::Exchange;
use crate::media::MediaEvent;
use crate::packet::ReceivedPacket;
use crate::status::Status;
use sojourn_aqm::Instant;
use sojourn_tcp::{Header, Wire};

/// A flow's two ends.
pub(super) trait Endpoints {
    /// The source's deadline has come, or an earlier one.
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host);
    /// The sink's deadline has come, or an earlier one.
    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host);
    /// The host of one end, the source or the sink, takes data again.
    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        let _ = (now, at_source, host);
    }
    /// Something of what the source has sent has left its host's device, for which it was waiting.
    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
    }
    /// The client of a connection, which is at the sink, asks.
    fn request(&mut self, now: Instant, exchange: Exchange, host: &mut impl Host) {
        let _ = (now, exchange, host);
        unreachable!("only the connections of a client are asked");
    }
    /// The client of a connection closes it.
    fn close(&mut self, now: Instant, host: &mut impl Host) {
        let _ = (now, host);
        unreachable!("only the connections of a client are closed by it");
    }
    /// A packet reached the sink.
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host);
    /// A packet reached the source.
    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host);
    /// When the source's timer is due.
    fn source_deadline(&self) -> Instant;
    /// When the sink's timer is due.
    fn sink_deadline(&self) -> Instant;
    /// What there is to see.
    fn status(&self) -> Status;
    /// The statistics can begin now.
    fn on_window_start(&mut self) {}
    /// Datagrams that were received after instant `number` of the window, from 0 on, and sent before it.
    fn strays(&self, number: usize) -> u64 {
        let _ = number;
        0
    }
}

/// Services for the end of a flow: to send, and to report events.
pub(crate) trait Host: Wire {
    /// A transfer of `bytes` begins, or is asked for.
    fn offered(&mut self, bytes: u64);
    /// The last byte of a transfer has arrived that began at `begun`.
    fn completed(&mut self, begun: Instant, bytes: u64);
    /// Both ends know that nothing more will come. Said once.
    fn closed(&mut self);
    /// The client of the connection wants to know.
    fn notify_client(&mut self, news: ConnectionEvent);
    /// A flow of media has something for the books.
    fn record_media(&mut self, news: &MediaEvent);
}
