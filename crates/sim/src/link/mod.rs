//! A link: a queue discipline, a server that takes one packet at a time, and a pipe that delays.
//!
//! The queue is asked for a packet when transmission can start; that is when its sojourn time ends. The packet
//! reaches the far end when its last bit does.

mod below;
mod bucket;
mod cox;
mod medium;
mod one_by_one;
mod opportunity;
pub(crate) mod outside;
mod poisson;
pub(crate) mod steps;
mod trace;

use crate::network::{AirOf, InFlight, Network};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::scenario::{Framing, LinkSpec};
use crate::summary::Tally;
use crate::window::Window;
use crate::wlan::Air;
use below::Below;
use bucket::Bucket;
use medium::Medium;
use one_by_one::{OneByOne, Pace};
use opportunity::Opportunities;
use sojourn_aqm::{Duration, Host, Instant, Link as LinkInfo, Meta, Qdisc, Rng, Serializer};
use steps::{Fluid, Latch};

/// One direction of a bottleneck.
pub(crate) struct Link {
    pub qdisc: Box<dyn Qdisc<Handle> + Send>,
    pub server: Server,
    /// Whether it is a constant rate with a constant delay, no buffer below and no framing but an overhead.
    plain: bool,
    /// One-way propagation delay.
    pub delay: Duration,
    /// Bytes that framing adds to each packet, where it is plain.
    overhead: u32,
    framing: Framing,
    /// Loss and changes of the delay, where there are any.
    pub medium: Option<Box<Medium>>,
    /// The buffer between the queue and the server.
    below: Option<Below>,
    /// Packets on their way to the queue over access links.
    pub entry: InFlight,
    /// Packets on their way to the far end.
    pub pipe: InFlight,
    /// Packets travelling back to their sources, over the pipe and then over access links.
    pub exit: InFlight,
    pub tally: Tally,
}

/// The queue of a link.
pub(crate) fn queue(spec: &LinkSpec, rng: Rng) -> Box<dyn Qdisc<Handle> + Send> {
    let link = LinkInfo { rate: spec.service.nominal_rate(spec.mtu), mtu: spec.framing.accounted(spec.mtu) };
    spec.aqm.config.build(spec.limits, Host { link, rng })
}

/// How a link serves its queue: paces of one packet after the other, or opportunities.
pub(crate) enum Server {
    /// A constant rate.
    Fixed(OneByOne<Serializer>),
    /// A rate that changes, also for the packet in transmission.
    Fluid(OneByOne<Fluid>),
    /// A rate that changes from packet to packet.
    Latch(OneByOne<Latch>),
    /// A token bucket.
    Bucket(OneByOne<Bucket>),
    /// Delivery opportunities, from wherever they come.
    Opportunities(Opportunities),
    /// The channel of a wireless LAN, which is no part of the link.
    Channel,
}

/// Where a server sits.
pub(crate) struct Seat {
    /// Number of its link.
    pub index: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Bytes that one opportunity carries.
    pub mtu: u32,
    /// When the statistics can begin.
    pub window: Window,
}

impl Seat {
    /// The server's own random stream.
    fn rng(&self) -> Rng {
        Rng::stream(self.seed, "link", self.index as u64)
    }
}

impl Link {
    /// Link `index` of a run with `seed`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window) -> Self {
        let framing = spec.framing;
        let seat = Seat { index, seed, mtu: spec.mtu, window: window.clone() };
        let (server, medium) = (spec.service.server(&seat), Medium::new(spec, index, seed));
        let constant = matches!(server, Server::Fixed(_)) && medium.is_none();
        Self {
            qdisc: queue(spec, Rng::stream(seed, "queue", index as u64)),
            server,
            plain: constant && spec.below.is_none() && framing.is_plain(),
            delay: spec.delay,
            overhead: framing.overhead,
            framing,
            medium,
            below: spec.below.map(Below::new),
            entry: InFlight::new(),
            pipe: InFlight::new(),
            exit: InFlight::new(),
            tally: Tally::new(window),
        }
    }

    /// Bytes of a packet as the queue counts them.
    #[inline]
    pub fn accounted(&self, ip_bytes: u32) -> u32 {
        if self.plain { ip_bytes + self.overhead } else { self.framing.accounted(ip_bytes) }
    }

    /// Bytes on the medium of a packet that the queue counts as so many.
    fn wire(&self, accounted: u32) -> u32 {
        if self.framing.adjusted { accounted } else { self.framing.wire(accounted) }
    }

    /// What the link has used until `now` and could have used: time, bits, or bytes of opportunity.
    pub fn used_and_usable(&mut self, now: Instant) -> (u64, u64) {
        match &mut self.server {
            Server::Fixed(server) => used_and_usable(server, &self.tally, now),
            Server::Fluid(server) => used_and_usable(server, &self.tally, now),
            Server::Latch(server) => used_and_usable(server, &self.tally, now),
            Server::Bucket(server) => used_and_usable(server, &self.tally, now),
            Server::Opportunities(server) => (self.tally.total_used, server.bytes_until(now)),
            Server::Channel => (self.tally.total_used, (now - Instant::ZERO).as_nanos() as u64),
        }
    }

    /// Books that the transmission of a packet began at `now`, as another host has seen it.
    pub fn replay_transmission(&mut self, now: Instant, meta: &Meta, marked: bool) {
        self.tally.departure(now, meta, marked);
        let bytes = self.wire(meta.len);
        let tally = &mut self.tally;
        match &mut self.server {
            Server::Fixed(server) => server.replay(now, bytes, tally),
            Server::Fluid(server) => server.replay(now, bytes, tally),
            Server::Latch(server) => server.replay(now, bytes, tally),
            Server::Bucket(server) => server.replay(now, bytes, tally),
            Server::Opportunities(_) => tally.opportunity(now, bytes),
            Server::Channel => unreachable!("no other host has a wireless LAN"),
        }
    }

    /// What it could have used in the statistics that begin at instant `number` of the window, in the same measure.
    pub fn usable_from(&mut self, number: usize) -> u64 {
        let window = self.tally.window();
        let (from, to) = (window.starts()[number], window.end);
        match &mut self.server {
            Server::Fixed(server) => server.pace.capacity(from, to),
            Server::Fluid(server) => server.pace.capacity(from, to),
            Server::Latch(server) => server.pace.capacity(from, to),
            Server::Bucket(server) => server.pace.capacity(from, to),
            Server::Opportunities(server) => server.bytes_in_window(number),
            Server::Channel => (to - from).as_nanos() as u64,
        }
    }
}

fn used_and_usable<T: Pace>(server: &OneByOne<T>, tally: &Tally, now: Instant) -> (u64, u64) {
    let ahead = server.pace.capacity(now, server.busy_until.max(now));
    (tally.total_used - ahead, server.pace.capacity(Instant::ZERO, now))
}

/// What a server does in the network. Most links are plain: the code of the others stays out of their way.
impl<P: Probe> Network<P> {
    /// A link's transmitter is free, or an opportunity is due.
    #[inline]
    pub fn on_server(&mut self, now: Instant, l: usize) {
        if AirOf::<P>::PRESENT {
            return self.pull(now, l);
        }
        if self.links[l].plain { self.serve_next::<Serializer, true>(now, l) } else { self.serve_any(now, l) }
    }

    /// Something waits: sees to it that it is served.
    #[inline]
    pub fn wake(&mut self, now: Instant, l: usize) {
        if AirOf::<P>::PRESENT {
            return self.pull(now, l);
        }
        if self.links[l].plain { self.wake_next::<Serializer, true>(now, l) } else { self.wake_any(now, l) }
    }

    /// Takes an arriving packet straight through the queue if its link is idle and its discipline agrees.
    #[inline]
    pub fn passes(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) -> bool {
        if self.links[l].plain {
            return self.passes_next::<Serializer, true>(now, l, meta, handle, packet);
        }
        self.passes_any(now, l, meta, handle, packet)
    }

    #[inline(never)]
    fn serve_any(&mut self, now: Instant, l: usize) {
        match self.links[l].server {
            Server::Fixed(_) => self.serve_next::<Serializer, false>(now, l),
            Server::Fluid(_) => self.serve_next::<Fluid, false>(now, l),
            Server::Latch(_) => self.serve_next::<Latch, false>(now, l),
            Server::Bucket(_) => self.serve_next::<Bucket, false>(now, l),
            Server::Opportunities(_) => self.serve_opportunity(now, l),
            Server::Channel => unreachable!("{IN_A_CELL}"),
        }
    }

    #[inline(never)]
    fn wake_any(&mut self, now: Instant, l: usize) {
        match self.links[l].server {
            Server::Fixed(_) => self.wake_next::<Serializer, false>(now, l),
            Server::Fluid(_) => self.wake_next::<Fluid, false>(now, l),
            Server::Latch(_) => self.wake_next::<Latch, false>(now, l),
            Server::Bucket(_) => self.wake_next::<Bucket, false>(now, l),
            Server::Opportunities(_) => self.wake_opportunities(now, l),
            Server::Channel => unreachable!("{IN_A_CELL}"),
        }
    }

    #[inline(never)]
    fn passes_any(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) -> bool {
        match self.links[l].server {
            Server::Fixed(_) => self.passes_next::<Serializer, false>(now, l, meta, handle, packet),
            Server::Fluid(_) => self.passes_next::<Fluid, false>(now, l, meta, handle, packet),
            Server::Latch(_) => self.passes_next::<Latch, false>(now, l, meta, handle, packet),
            Server::Bucket(_) => self.passes_next::<Bucket, false>(now, l, meta, handle, packet),
            Server::Opportunities(_) | Server::Channel => false,
        }
    }
}

const IN_A_CELL: &str = "links over a channel are in a cell, which is compiled apart";
