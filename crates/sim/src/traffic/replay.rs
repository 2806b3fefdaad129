//! Replays of a capture: the packets of a flow at their original times, or the bytes of connections as transfers.
//!
//! Header of a packet: `ack` is its send time in ns, `seq` its payload's offset in the flow; `ts_val` and `ts_ecr` are
//! the number and the offset of the first packet sent with it, modulo 2^32. So the segments of a super-packet differ
//! only in the offset, and NICs can merge and cut them.

use super::exchange::Exchange;
use super::host::{Endpoints, Host};
use super::job::Job;
use super::pattern::Pattern;
use super::udp::DatagramSink;
use crate::capture::replay::{Replay, ReplayPacket};
use crate::packet::ReceivedPacket;
use crate::scenario::{PcapSpec, TcpSpec};
use crate::status::{Payload, Status};
use sojourn_aqm::Instant;
use sojourn_tcp::{Flags, Header};
use std::sync::Arc;

pub(crate) struct ReplayFlow {
    replay: Arc<Replay>,
    /// Index of the flow in the replay, and of its next packet.
    flow: usize,
    next: usize,
    /// When the capture starts.
    start: Instant,
    stop: Instant,
    mtu: u32,
    /// Whether packets above the MTU leave as super-packets.
    gso: bool,
    /// Payload bytes sent, packets sent, and payload bytes received.
    bytes: u64,
    sent: u64,
    payload: u64,
    sink: DatagramSink,
}

impl ReplayFlow {
    /// Flow number `flow` of a capture that starts at `start`.
    pub fn new(spec: &PcapSpec, flow: u32, start: Instant, stop: Instant) -> Self {
        Self {
            replay: Arc::clone(&spec.replay),
            flow: flow as usize,
            next: 0,
            start,
            stop,
            mtu: spec.keys.mtu,
            gso: spec.keys.tcp.gso == Some(true),
            bytes: 0,
            sent: 0,
            payload: 0,
            sink: DatagramSink::default(),
        }
    }

    fn due(&self) -> Option<(Instant, ReplayPacket)> {
        let sent = *self.replay.flows[self.flow].get(self.next)?;
        Some((self.start + sent.at, sent)).filter(|&(at, _)| at < self.stop)
    }

    /// Sends a packet, in segments if it is above the MTU: together, or in several bursts if a header cannot hold their
    /// length.
    fn send(&mut self, now: Instant, packet: ReplayPacket, host: &mut impl Host) {
        let segment = packet.segment(self.mtu);
        let per_burst = (u32::from(u16::MAX) / segment).max(1);
        let (pieces, mut left) = (packet.pieces(self.mtu), packet.payload);
        let in_bursts = self.gso && pieces > 1;
        let flags = if in_bursts { Flags::ACK } else { Flags::default() };
        let (number, offset) = (self.sent, self.bytes);
        for piece in 0..pieces {
            if in_bursts && piece % per_burst == 0 {
                host.begin_burst();
            }
            let len = left.min(segment);
            let header = Header {
                seq: self.bytes,
                ack: now.as_nanos(),
                len: len as u16,
                flags,
                ts_val: number as u32,
                ts_ecr: offset as u32,
                ..Header::default()
            };
            host.transmit(&header, packet.headers + len, packet.ecn);
            left -= len;
            self.bytes += u64::from(len);
            self.sent += 1;
            if in_bursts && (piece + 1 == pieces || (piece + 1) % per_burst == 0) {
                host.end_burst();
            }
        }
    }
}

impl Endpoints for ReplayFlow {
    // Out of line: inlined, every packet of the other kinds would pay for the size of the function that matches kinds.
    #[inline(never)]
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        while let Some((_, packet)) = self.due().filter(|&(at, _)| at <= now) {
            self.next += 1;
            self.send(now, packet, host);
        }
    }

    fn on_sink_timer(&mut self, _: Instant, _: &mut impl Host) {}

    #[inline(never)]
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, _: &mut impl Host) {
        let (len, segment) = (u32::from(header.len), u32::from(packet.segment));
        let pieces = if segment == 0 { 1 } else { len.div_ceil(segment) };
        let headers = packet.len.saturating_sub(len) / pieces;
        let piece = (header.seq as u32).wrapping_sub(header.ts_ecr) / self.mtu.saturating_sub(headers).max(1);
        // Packets in flight have numbers less than 2^32 apart.
        let number = self.sent - u64::from((self.sent as u32).wrapping_sub(header.ts_val.wrapping_add(piece)));
        self.payload += u64::from(header.len);
        self.sink.on_datagrams(now, Instant::from_nanos(header.ack), number, pieces.into());
    }

    fn on_source_packet(&mut self, _: Instant, _: &Header, _: ReceivedPacket, _: &mut impl Host) {}

    fn source_deadline(&self) -> Instant {
        self.due().map_or(Instant::NEVER, |(at, _)| at)
    }

    fn sink_deadline(&self) -> Instant {
        Instant::NEVER
    }

    fn status(&self) -> Status {
        let payload = Payload { arrived: self.payload, delivered: self.payload };
        self.sink.status(payload, self.sent)
    }

    fn on_window_start(&mut self) {
        self.sink.begin(self.sent);
    }

    fn strays(&self, number: usize) -> u64 {
        self.sink.strays(number)
    }
}

/// The transfers of a capture.
pub(super) struct Transfers {
    replay: Arc<Replay>,
    tcp: TcpSpec,
    start: Instant,
    next: usize,
}

/// Connections with the bytes of a capture's connections; the capture starts at `start`.
pub(super) fn transfers(spec: &PcapSpec, start: Instant) -> Transfers {
    let (replay, tcp) = (Arc::clone(&spec.replay), spec.keys.tcp.clone());
    Transfers { replay, tcp, start, next: 0 }
}

impl Pattern for Transfers {
    fn due(&self) -> Instant {
        self.replay.transfers.get(self.next).map_or(Instant::NEVER, |transfer| self.start + transfer.at)
    }

    fn draw(&mut self, _: &mut Vec<Exchange>) -> Job {
        let bytes = self.replay.transfers[self.next].bytes;
        self.next += 1;
        Job::Upload(bytes)
    }

    fn tcp(&self) -> &TcpSpec {
        &self.tcp
    }
}
