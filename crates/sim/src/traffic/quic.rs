//! A QUIC connection whose source sends, without end or a given number of bytes.

use super::host::{Endpoints, Host};
use crate::packet::ReceivedPacket;
use crate::scenario::TcpSpec;
use crate::status::{Payload, RoundTrips, Status};
use sojourn_aqm::{Instant, Rng};
use sojourn_tcp::Header;
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::quic::{Receiver, Sender};

/// A connection.
pub(crate) struct QuicFlow {
    /// Whether this is a transfer whose connection has not closed yet.
    open: bool,
    /// When the connection is opened; never once it is.
    start: Instant,
    /// When the application stops; never once it has.
    stop: Instant,
    /// Bytes that complete the transfer when delivered; out of reach once they are.
    goal: u64,
    sender: Sender,
    receiver: Receiver,
    begun: Instant,
    size: Option<u64>,
}

/// Parameters of the two ends of a connection.
pub(crate) struct QuicTemplate {
    sender: Sender,
    receiver: Receiver,
}

impl QuicTemplate {
    /// The ends with the parameters of `spec`.
    pub fn new(spec: &TcpSpec) -> Self {
        Self::of(spec, spec.cc.control.clone())
    }

    /// The same with another congestion control.
    pub fn of(spec: &TcpSpec, cc: AnyCc) -> Self {
        let config = spec.quic(cc);
        Self { sender: Sender::new(&config), receiver: Receiver::new(config.delayed_ack) }
    }
}

impl QuicFlow {
    /// A connection that is opened at `start` for `size` bytes, or without end; its congestion control draws from
    /// `rng`.
    pub fn new(ends: &QuicTemplate, start: Instant, stop: Instant, size: Option<u64>, rng: Rng) -> Self {
        let (sender, receiver) = (ends.sender.clone().with_rng(rng), ends.receiver.clone());
        let goal = size.unwrap_or(OUT_OF_REACH);
        Self { open: size.is_some(), start, stop, goal, sender, receiver, begun: start, size }
    }

    /// Sets the request time of the transfer, before the connection is opened.
    pub fn with_request_time(self, begun: Instant) -> Self {
        Self { begun, ..self }
    }
}

// Out of line: inlined, every packet of the other kinds would pay for the size of the function that matches kinds.
impl Endpoints for QuicFlow {
    #[inline(never)]
    fn on_source_timer(&mut self, now: Instant, host: &mut impl Host) {
        if now >= self.start {
            self.start = Instant::NEVER;
            host.offered(self.size.unwrap_or(0));
            self.sender.open(now, self.size, host);
        }
        if now >= self.stop {
            self.stop = Instant::NEVER;
            self.sender.close(now, host);
        }
        self.sender.on_timer(now, host);
    }

    #[inline(never)]
    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        self.receiver.on_timer(now, host);
    }

    #[inline(never)]
    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        if at_source {
            self.sender.on_room(now, host);
        }
    }

    #[inline(never)]
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        self.receiver.on_packet(now, header, packet.ecn, host);
        if self.open && self.receiver.delivered() >= self.goal {
            self.goal = OUT_OF_REACH;
            host.completed(self.begun, self.receiver.delivered());
        }
    }

    #[inline(never)]
    fn on_source_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        if Receiver::is_of_handshake(header) {
            return self.sender.on_handshake(now, header, host);
        }
        let Some(frame) = self.receiver.take_frame(header) else { return };
        self.sender.on_ack(now, (header, packet.len), &frame, host);
        self.receiver.recycle_frame(frame);
        if self.open && self.sender.is_finished() {
            self.open = false;
            host.closed();
        }
    }

    fn source_deadline(&self) -> Instant {
        self.sender.deadline().min(self.start).min(self.stop)
    }

    fn sink_deadline(&self) -> Instant {
        self.receiver.deadline()
    }

    fn status(&self) -> Status {
        let stats = self.sender.stats();
        let (cwnd, ssthresh) = self.sender.window();
        Status {
            payload: Payload { arrived: self.receiver.arrived(), delivered: self.receiver.delivered() },
            sent: stats.sent,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            cwnd,
            ssthresh,
            srtt_ms: self.sender.srtt_s() * 1e3,
            rtts: RoundTrips::of(self.sender.rtt_total()),
            in_flight: self.sender.in_flight(),
            ..Status::default()
        }
    }
}

const OUT_OF_REACH: u64 = u64::MAX;
