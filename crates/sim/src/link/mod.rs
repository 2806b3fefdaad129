//! A link: a queue discipline, a server that takes one packet at a time, and a pipe that delays.
//!
//! The queue is asked for a packet when transmission can start; that is when its sojourn time ends. The packet
//! reaches the far end when its last bit does.

mod fixed;
mod opportunity;

use crate::network::{InFlight, Network};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::scenario::{LinkSpec, Service};
use crate::summary::Tally;
use fixed::FixedRate;
use opportunity::Opportunities;
use sojourn_aqm::{Duration, Host, Instant, Link as LinkInfo, Meta, Qdisc, Rng};

/// One direction of the bottleneck.
pub(crate) struct Link {
    pub qdisc: Box<dyn Qdisc<Handle> + Send>,
    pub server: Server,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Framing bytes on the wire, counted by the queue too.
    pub overhead: u32,
    /// Packets on their way to the queue over access links.
    pub entry: InFlight,
    /// Packets on their way to the far end.
    pub pipe: InFlight,
    /// Packets on their way back to their sources, over the pipe and then over access links.
    pub exit: InFlight,
    pub tally: Tally,
}

/// How a link serves its queue. One file, and one line here.
pub(crate) enum Server {
    /// A constant rate.
    Fixed(FixedRate),
    /// Delivery opportunities from a trace.
    Opportunities(Opportunities),
}

impl Link {
    /// Link `index` of a run with `seed`, statistics from `warmup` to `end`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, warmup: Instant, end: Instant) -> Self {
        let mtu = spec.mtu + spec.overhead;
        let info = LinkInfo { rate: spec.service.mean_rate(spec.mtu), mtu };
        let host = Host { link: info, rng: Rng::stream(seed, "queue", index as u64) };
        let server = match &spec.service {
            Service::Rate(rate) => Server::Fixed(FixedRate::new(*rate)),
            Service::Trace(trace) => {
                Server::Opportunities(Opportunities::new(trace.trace.clone(), trace.once, spec.mtu))
            }
        };
        Self {
            qdisc: spec.aqm.config.build(spec.limits, host),
            server,
            delay: spec.delay,
            overhead: spec.overhead,
            entry: InFlight::new(),
            pipe: InFlight::new(),
            exit: InFlight::new(),
            tally: Tally::new(warmup, end),
        }
    }

    /// What the link has used until `now`: nanoseconds of transmission, or bytes of opportunity.
    pub fn used(&self, now: Instant) -> u64 {
        match &self.server {
            Server::Fixed(server) => {
                let ahead = (server.busy_until - now).max(Duration::ZERO);
                (self.tally.total_busy - ahead).as_nanos() as u64
            }
            Server::Opportunities(_) => self.tally.total_carried,
        }
    }

    /// What the link could use in a span, in the same measure.
    pub fn usable(&self, from: Instant, to: Instant) -> u64 {
        match &self.server {
            Server::Fixed(_) => (to - from).as_nanos() as u64,
            Server::Opportunities(server) => server.capacity_bytes(from, to),
        }
    }

    /// On a trace, the bytes of opportunity in the statistics window.
    pub fn opportunity_bytes(&self) -> Option<u64> {
        let (from, to) = self.tally.window();
        matches!(self.server, Server::Opportunities(_)).then(|| self.usable(from, to))
    }
}

/// What a kind of server does in the network.
impl<P: Probe> Network<P> {
    /// A link's transmitter is free, or an opportunity is due.
    #[inline]
    pub fn on_server(&mut self, now: Instant, l: usize) {
        match self.links[l].server {
            Server::Fixed(_) => self.serve_fixed(now, l),
            Server::Opportunities(_) => self.serve_opportunity(now, l),
        }
    }

    /// Something waits: sees to it that it is served.
    #[inline]
    pub fn wake(&mut self, now: Instant, l: usize) {
        match self.links[l].server {
            Server::Fixed(_) => self.wake_fixed(now, l),
            Server::Opportunities(_) => self.wake_opportunities(now, l),
        }
    }

    /// Takes an arriving packet straight through the queue if its link is idle and its discipline agrees.
    #[inline]
    pub fn passes(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) -> bool {
        match self.links[l].server {
            Server::Fixed(_) => self.passes_fixed(now, l, meta, handle, packet),
            Server::Opportunities(_) => false,
        }
    }
}
