//! Datagrams from a source that nothing holds back: constant gaps, or a Poisson process.

use super::{Endpoints, Status};
use crate::packet::Packet;
use crate::scenario::UdpSpec;
use crate::tcp::{Header, Wire};
use sojourn_aqm::{Duration, Ecn, Instant, Rng, Serializer};

pub(crate) struct UdpFlow {
    gaps: Gaps,
    size: u32,
    ecn: Ecn,
    next: Instant,
    stop: Instant,
    sent: u64,
    delivered: u64,
}

enum Gaps {
    /// The long-run rate is exact.
    Constant(Serializer),
    /// Exponential, of this mean.
    Poisson(Duration, Rng),
}

impl UdpFlow {
    pub fn constant(spec: &UdpSpec, start: Instant, stop: Instant) -> Self {
        Self::new(spec, Gaps::Constant(Serializer::new(spec.rate)), start, stop)
    }

    pub fn poisson(spec: &UdpSpec, start: Instant, stop: Instant, rng: Rng) -> Self {
        let mean = spec.rate.time_for(spec.size as u64);
        let mut flow = Self::new(spec, Gaps::Poisson(mean, rng), start, stop);
        // The first packet, too, comes after a gap: the process is already running when it is looked at.
        let gap = flow.gap();
        flow.next += gap;
        flow
    }

    fn new(spec: &UdpSpec, gaps: Gaps, start: Instant, stop: Instant) -> Self {
        Self { gaps, size: spec.size, ecn: spec.ecn, next: start, stop, sent: 0, delivered: 0 }
    }

    fn gap(&mut self) -> Duration {
        match &mut self.gaps {
            Gaps::Constant(serializer) => serializer.time_for(self.size),
            Gaps::Poisson(mean, rng) => mean.mul_f64(rng.exponential()),
        }
    }
}

impl Endpoints for UdpFlow {
    fn on_source_timer(&mut self, now: Instant, wire: &mut impl Wire) {
        while self.next <= now && self.next < self.stop {
            let header = Header { seq: self.sent, ..Header::default() };
            wire.transmit(&header, self.size, self.ecn);
            self.sent += 1;
            let gap = self.gap();
            self.next += gap;
        }
    }

    fn on_sink_timer(&mut self, _: Instant, _: &mut impl Wire) {}

    fn on_sink_packet(&mut self, _: Instant, _: &Header, packet: Packet, _: &mut impl Wire) {
        self.delivered += (packet.len - UDP_IP_HEADERS.min(packet.len)) as u64;
    }

    fn on_source_packet(&mut self, _: Instant, _: &Header, _: &mut impl Wire) {}

    fn source_deadline(&self) -> Instant {
        if self.next < self.stop { self.next } else { Instant::NEVER }
    }

    fn sink_deadline(&self) -> Instant {
        Instant::NEVER
    }

    fn status(&self) -> Status {
        let nothing = f64::NAN;
        let (delivered, sent) = (self.delivered, self.sent);
        Status { delivered, sent, cwnd: nothing, ssthresh: nothing, srtt_ms: nothing, ..Status::default() }
    }
}

/// IPv4 and UDP.
const UDP_IP_HEADERS: u32 = 28;
