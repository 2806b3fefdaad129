//! A TCP connection whose source sends, without end or a given number of bytes.

use super::host::{Endpoints, Host};
use super::nic_queue::{NicQueue, polled};
use crate::packet::ReceivedPacket;
use crate::scenario::TcpSpec;
use crate::status::{Payload, RoundTrips, Status};
use sojourn_aqm::{Duration, Ecn, Instant, Rng};
use sojourn_tcp::cc::AnyCc;
use sojourn_tcp::stack::Stack;
use sojourn_tcp::{Header, Receiver, ReceiverConfig, Sender, SenderConfig};

/// A connection. The fields used for every packet come first; then both ends, each at the start of a cache line, the
/// receiver first because its size leaves the least padding.
#[repr(C)]
pub(crate) struct TcpFlow {
    /// Whether this is a transfer whose connection has not closed yet.
    open: bool,
    /// When the connection is opened; never once it is.
    start: Instant,
    /// When the application stops; never once it has.
    stop: Instant,
    /// Bytes that complete the transfer when delivered; out of reach once they are.
    goal: u64,
    /// The receiver's NIC queue, if it merges segments (GRO).
    nic_queue: Option<Box<NicQueue>>,
    receiver: Receiver,
    sender: Sender,
    begun: Instant,
    size: Option<u64>,
}

impl TcpFlow {
    /// A connection that is opened at `start` for `size` bytes, or without end; its congestion control draws from
    /// `rng`.
    pub fn new(template: &TcpTemplate, (start, stop): (Instant, Instant), size: Option<u64>, rng: Rng) -> Self {
        let goal = size.unwrap_or(OUT_OF_REACH);
        let (sender, receiver, nic_queue) = (template.sender(rng), template.receiver(), template.nic_queue());
        Self { open: size.is_some(), start, stop, goal, nic_queue, sender, receiver, begun: start, size }
    }

    /// Becomes a transfer like that of [`Self::new`], of `bytes` requested at `begun`, in the memory of a closed one.
    pub fn reinitialize(
        &mut self,
        template: &TcpTemplate,
        (start, stop): (Instant, Instant),
        (begun, bytes): (Instant, u64),
        rng: Rng,
    ) {
        template.reset(&mut self.sender, &mut self.receiver, rng);
        (self.nic_queue, self.open) = (template.nic_queue(), true);
        (self.start, self.stop, self.begun) = (start, stop, begun);
        (self.goal, self.size) = (bytes, Some(bytes));
    }

    /// Passes a segment, or several merged ones, to the receiver.
    #[inline(always)]
    fn on_segment(&mut self, now: Instant, header: &Header, ecn: Ecn, host: &mut impl Host) {
        self.receiver.on_segment(now, header, ecn, host);
        if self.open && self.receiver.delivered() >= self.goal {
            self.goal = OUT_OF_REACH;
            host.completed(self.begun, self.receiver.delivered());
        }
    }

    #[inline(never)]
    fn poll(&mut self, now: Instant, host: &mut impl Host) {
        for (left, header, ecn) in polled(self.nic_queue.as_deref_mut(), now) {
            self.receiver.set_more_segments(left > 0);
            self.on_segment(now, &header, ecn, host);
        }
    }

    /// Sets the request time of the transfer, before the connection is opened.
    pub fn with_request_time(self, begun: Instant) -> Self {
        Self { begun, ..self }
    }
}

/// Sender and receiver of one direction, as at the start of a connection. They are built once per group of connections;
/// each connection gets a copy.
pub(crate) struct TcpTemplate {
    sender: Sender,
    receiver: Receiver,
    gro: Option<Duration>,
}

impl TcpTemplate {
    /// The ends with the parameters of `spec`.
    pub(super) fn new(spec: &TcpSpec) -> Self {
        Self::of(spec, spec.cc.control.clone())
    }

    /// The same with another congestion control, which the stack must support.
    pub(super) fn of(spec: &TcpSpec, cc: AnyCc) -> Self {
        let stack = Stack::find(&spec.stack).expect("a scenario names a stack that exists");
        let needs = cc.needs();
        let sender = Sender::new(SenderConfig {
            stack,
            cc,
            mss: spec.mss,
            sack: spec.sack,
            ecn: spec.ecn,
            initial_window: spec.initial_window,
            receive_window: spec.receive_window,
        });
        let sender = match spec.abc {
            Some(limit) => sender.with_byte_counting(limit),
            None => sender,
        };
        let sender = if spec.gso == Some(true) { sender.with_segmentation_offload() } else { sender };
        let sender = if spec.is_paced() { sender.with_pacing(spec.max_pacing_rate, stack) } else { sender };
        let sender = match spec.send_buffer {
            Some(bytes) => sender.with_send_buffer(bytes),
            None => sender,
        };
        let sender = if spec.nagle == Some(true) { sender.with_nagle() } else { sender };
        let (mss, sack, delayed_ack, ecn) = (spec.mss, spec.sack, spec.delayed_ack, spec.ecn);
        let receive_window = spec.receive_window;
        let receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window });
        let receiver = if spec.gso == Some(true) { receiver.with_fragments() } else { receiver };
        Self { sender, receiver: receiver.serving(&needs), gro: spec.gro }
    }

    /// The sender of a connection whose congestion control draws from `rng`.
    #[inline]
    pub(super) fn sender(&self, rng: Rng) -> Sender {
        self.sender.clone().with_rng(rng)
    }

    /// The receiver.
    #[inline]
    pub(super) fn receiver(&self) -> Receiver {
        self.receiver.clone()
    }

    /// Resets both ends for a new connection, reusing the memory of a closed one.
    pub(super) fn reset(&self, sender: &mut Sender, receiver: &mut Receiver, rng: Rng) {
        sender.become_like(&self.sender, rng);
        receiver.clone_from(&self.receiver);
    }

    /// The NIC queue of a receiving host, if it merges segments (GRO).
    pub(super) fn nic_queue(&self) -> Option<Box<NicQueue>> {
        self.gro.map(|wait| Box::new(NicQueue::new(wait)))
    }
}

/// Status of a sender and its receiver.
pub(super) fn status(sender: &Sender, receiver: &Receiver) -> Status {
    let (stats, window) = (sender.stats(), sender.window());
    let delivered = receiver.delivered();
    let infinite = window.ssthresh == sojourn_tcp::cc::Window::INFINITE_SSTHRESH;
    Status {
        payload: Payload { arrived: delivered + receiver.waiting(), delivered },
        sent: stats.sent,
        retransmissions: stats.retransmissions,
        timeouts: stats.timeouts,
        cwnd: window.cwnd as f64,
        ssthresh: if infinite { f64::INFINITY } else { window.ssthresh as f64 },
        srtt_ms: sender.srtt_s() * 1e3,
        rtts: RoundTrips::of(sender.rtt_total()),
        in_flight: sender.in_flight(),
        ..Status::default()
    }
}

impl Endpoints for TcpFlow {
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

    fn on_sink_timer(&mut self, now: Instant, host: &mut impl Host) {
        self.poll(now, host);
        self.receiver.on_timer(now, host);
    }

    fn on_room(&mut self, now: Instant, at_source: bool, host: &mut impl Host) {
        if at_source {
            self.sender.on_room(now, host);
        }
    }

    fn on_departure(&mut self, now: Instant, host: &mut impl Host) {
        self.sender.on_departure(now, host);
    }

    #[inline(always)]
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: ReceivedPacket, host: &mut impl Host) {
        match &mut self.nic_queue {
            None => self.on_segment(now, header, packet.ecn, host),
            Some(nic_queue) => nic_queue.receive(now, header, packet.ecn),
        }
    }

    #[inline]
    fn on_source_packet(&mut self, now: Instant, header: &Header, _: ReceivedPacket, host: &mut impl Host) {
        self.sender.on_segment(now, header, host);
        if self.open && self.sender.is_finished() {
            self.open = false;
            host.closed();
        }
    }

    #[inline]
    fn source_deadline(&self) -> Instant {
        self.sender.deadline().min(self.start).min(self.stop)
    }

    #[inline]
    fn sink_deadline(&self) -> Instant {
        let receiver = self.receiver.deadline();
        self.nic_queue.as_ref().map_or(receiver, |nic_queue| nic_queue.due().min(receiver))
    }

    fn status(&self) -> Status {
        status(&self.sender, &self.receiver)
    }
}

const OUT_OF_REACH: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn both_ends_begin_with_a_cache_line() {
        // A flow is preceded by its timers and the tag of its kind, in one cache line with the fields used for every
        // packet.
        const IN_FRONT: usize = 24;
        let at = [offset_of!(TcpFlow, receiver), offset_of!(TcpFlow, sender)].map(|at| IN_FRONT + at);
        assert!(at.iter().all(|at| at % 64 == 0), "{at:?}: change the order of the fields behind the first end");
    }
}
