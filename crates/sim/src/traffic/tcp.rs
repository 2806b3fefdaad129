//! A TCP connection with a saturated source.

use super::{Endpoints, Status};
use crate::packet::Packet;
use crate::scenario::TcpSpec;
use crate::tcp::cc::AnyCc;
use crate::tcp::stack::Stack;
use crate::tcp::{Header, Receiver, ReceiverConfig, Sender, SenderConfig, Wire};
use sojourn_aqm::Instant;

pub(crate) struct TcpFlow {
    sender: Sender,
    receiver: Receiver,
    /// When the connection is opened; never once it is.
    start: Instant,
    /// When the application stops; never once it has.
    stop: Instant,
}

impl TcpFlow {
    pub fn new(spec: &TcpSpec, start: Instant, stop: Instant) -> Self {
        let stack = Stack::find(&spec.stack).expect("a scenario names a stack that exists");
        let cc = AnyCc::new(&spec.cc).expect("a scenario names a congestion control that exists");
        let sender = Sender::new(SenderConfig {
            stack,
            cc,
            mss: spec.mss,
            sack: spec.sack,
            ecn: spec.ecn,
            initial_window: spec.initial_window,
            receive_window: spec.receive_window,
        });
        let (mss, sack, delayed_ack, ecn) = (spec.mss, spec.sack, spec.delayed_ack, spec.ecn);
        let receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn });
        Self { sender, receiver, start, stop }
    }
}

impl Endpoints for TcpFlow {
    fn on_source_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        if now >= self.start {
            self.start = Instant::NEVER;
            self.sender.open(now, None, wire);
        }
        if now >= self.stop {
            self.stop = Instant::NEVER;
            self.sender.close(now, wire);
        }
        self.sender.on_timer(now, wire);
    }

    fn on_sink_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        self.receiver.on_timer(now, wire);
    }

    #[inline]
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: Packet, wire: &mut impl Wire) {
        self.receiver.on_segment(now, header, packet.ecn, wire);
    }

    #[inline]
    fn on_source_packet(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
        self.sender.on_segment(now, header, wire);
    }

    #[inline]
    fn source_deadline(&self) -> Instant {
        self.sender.deadline().min(self.start).min(self.stop)
    }

    #[inline]
    fn sink_deadline(&self) -> Instant {
        self.receiver.deadline()
    }

    fn status(&self) -> Status {
        let (stats, window) = (self.sender.stats(), self.sender.window());
        let infinite = window.ssthresh == crate::tcp::cc::Window::INFINITE_SSTHRESH;
        Status {
            delivered: self.receiver.delivered(),
            sent: stats.sent,
            retransmissions: stats.retransmissions,
            timeouts: stats.timeouts,
            cwnd: window.cwnd as f64,
            ssthresh: if infinite { f64::INFINITY } else { window.ssthresh as f64 },
            srtt_ms: self.sender.srtt_s() * 1e3,
            in_flight: self.sender.in_flight(),
        }
    }
}
