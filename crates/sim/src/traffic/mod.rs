//! What runs at the two ends of a flow. One kind, one file, one line in [`AnyFlow`].

mod tcp;
mod udp;

use crate::network::Network;
use crate::packet::Packet;
use crate::probe::Probe;
use crate::scenario::{FlowSpec, Traffic};
use crate::tcp::{Header, Wire};
use sojourn_aqm::{Ecn, Instant, Rng};
use tcp::TcpFlow;
use udp::UdpFlow;

/// A flow's two ends.
pub(crate) trait Endpoints {
    /// The source's deadline has come, or an earlier one.
    fn on_source_timer(&mut self, now: Instant, wire: &mut impl Wire);
    /// The sink's deadline has come, or an earlier one.
    fn on_sink_timer(&mut self, now: Instant, wire: &mut impl Wire);
    /// A packet reached the sink.
    fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: Packet, wire: &mut impl Wire);
    /// A packet reached the source.
    fn on_source_packet(&mut self, now: Instant, header: &Header, wire: &mut impl Wire);
    /// When the source's timer is due.
    fn source_deadline(&self) -> Instant;
    /// When the sink's timer is due.
    fn sink_deadline(&self) -> Instant;
    /// What there is to see.
    fn status(&self) -> Status;
}

/// A flow at a glance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// Payload bytes delivered in order.
    pub delivered: u64,
    /// Data packets sent.
    pub sent: u64,
    pub retransmissions: u64,
    pub timeouts: u64,
    /// Congestion window in segments; not a number without one.
    pub cwnd: f64,
    pub ssthresh: f64,
    pub srtt_ms: f64,
    /// Segments in the network.
    pub in_flight: u32,
}

macro_rules! flows {
    ($( $kind:ident => $type:ident, $name:literal; )+) => {
        /// Any kind of flow.
        #[allow(clippy::large_enum_variant)]
        pub(crate) enum AnyFlow { $( $kind($type), )+ }

        impl AnyFlow {
            /// The kind's name.
            pub fn kind(&self) -> &'static str {
                match self { $( Self::$kind(_) => $name, )+ }
            }
        }

        impl Endpoints for AnyFlow {
            fn on_source_timer(&mut self, now: Instant, wire: &mut impl Wire) {
                match self { $( Self::$kind(flow) => flow.on_source_timer(now, wire), )+ }
            }
            fn on_sink_timer(&mut self, now: Instant, wire: &mut impl Wire) {
                match self { $( Self::$kind(flow) => flow.on_sink_timer(now, wire), )+ }
            }
            fn on_sink_packet(&mut self, now: Instant, header: &Header, packet: Packet, wire: &mut impl Wire) {
                match self { $( Self::$kind(flow) => flow.on_sink_packet(now, header, packet, wire), )+ }
            }
            fn on_source_packet(&mut self, now: Instant, header: &Header, wire: &mut impl Wire) {
                match self { $( Self::$kind(flow) => flow.on_source_packet(now, header, wire), )+ }
            }
            fn source_deadline(&self) -> Instant {
                match self { $( Self::$kind(flow) => flow.source_deadline(), )+ }
            }
            fn sink_deadline(&self) -> Instant {
                match self { $( Self::$kind(flow) => flow.sink_deadline(), )+ }
            }
            fn status(&self) -> Status {
                match self { $( Self::$kind(flow) => flow.status(), )+ }
            }
        }
    };
}

flows! {
    Tcp => TcpFlow, "tcp";
    Cbr => UdpFlow, "cbr";
    Poisson => UdpFlow, "poisson";
}

impl AnyFlow {
    /// Flow `index` of a run with `seed`.
    pub fn new(spec: &FlowSpec, index: u32, seed: u64) -> Self {
        let mut start_rng = Rng::stream(seed, "start", index as u64);
        let start = Instant::ZERO + spec.start + spec.spread.mul_f64(start_rng.uniform());
        let stop = spec.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop);
        let rng = Rng::stream(seed, "source", index as u64);
        match &spec.traffic {
            Traffic::Tcp(tcp) => Self::Tcp(TcpFlow::new(tcp, start, stop)),
            Traffic::Cbr(udp) => Self::Cbr(UdpFlow::constant(udp, start, stop)),
            Traffic::Poisson(udp) => Self::Poisson(UdpFlow::poisson(udp, start, stop, rng)),
        }
    }
}

/// Where an end's packets go: into the network, on its flow's route.
pub(crate) struct Port<'a, P> {
    pub network: &'a mut Network<P>,
    pub now: Instant,
    pub flow: u32,
    pub from_source: bool,
}

impl<P: Probe> Wire for Port<'_, P> {
    #[inline]
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn) {
        if self.from_source {
            self.network.send_from_source(self.now, self.flow, header, len, ecn);
        } else {
            self.network.send_from_sink(self.now, self.flow, header, len, ecn);
        }
    }
}
