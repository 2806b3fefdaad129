//! A link: a queue discipline, a server, and a pipe that delays.
//!
//! The queue is asked for a packet when transmission can start; that is when its sojourn time ends. The packet
//! reaches the far end when its last bit does.
//!
//! A link is called: a packet arrives, or the time has come at which it wanted to be called again. It answers with
//! [`Served`]: what leaves, when that reaches the far end, and when to call next. It knows neither routes nor flows.

mod below;
mod body;
mod books;
mod bucket;
mod build;
mod cox;
mod medium;
mod one_by_one;
mod opportunity;
pub(crate) mod outside;
mod pipe;
mod poisson;
mod queue;
mod server;
mod steps;
mod trace;

pub(crate) use books::Books;
pub(crate) use pipe::Pipe;
pub(crate) use queue::{Discipline, Metered, NONE, Queue, discipline};
pub(crate) use server::{Again, Left, Served};

use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use crate::scenario::LinkSpec;
use crate::summary::Tally;
use crate::window::Window;
use body::Body;
use build::Seat;
use server::{AnyServer, Server};
use sojourn_aqm::{Instant, Meta, Qdisc};

/// One direction of a bottleneck.
pub(crate) struct Link {
    server: AnyServer,
    /// Whether it is a constant rate with a constant delay, no buffer below and no framing but an overhead.
    plain: bool,
    body: Body,
    /// Packets on their way to the far end.
    pub pipe: Pipe,
}

impl Link {
    /// Link `index` of a run with `seed`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window) -> Self {
        let seat = Seat { index, seed, mtu: spec.mtu, window: window.clone() };
        let server = build::server(&spec.service, &seat).expect("a scenario has a channel's queues in its cell only");
        let body = Body::new(spec, index, seed, window);
        Self { plain: matches!(server, AnyServer::Constant(_)) && body.is_plain(), server, body, pipe: Pipe::new() }
    }

    /// A packet arrives between two `hosts`.
    #[inline(always)]
    pub fn arrive<P: Probe>(
        &mut self,
        now: Instant,
        handle: Handle,
        packet: Packet,
        hosts: (u32, u32),
        books: &mut Books<P>,
    ) -> Served {
        let bytes = if self.plain { packet.len + self.body.overhead() } else { self.body.accounted(packet.len) };
        let meta = Meta { ecn: packet.ecn, hosts, ..Meta::new(bytes, packet.flow) };
        books.probe.arrived(now, books.link, handle, &meta, books.packets);
        match &mut self.server {
            AnyServer::Constant(server) if self.plain => {
                server.offer::<true, P>(now, meta, handle, packet, &mut self.body, books)
            }
            server => offer_any(server, now, meta, handle, packet, &mut self.body, books),
        }
    }

    /// The time has come for which the server asked.
    #[inline(always)]
    pub fn on_server<P: Probe>(&mut self, now: Instant, books: &mut Books<P>) -> Served {
        match &mut self.server {
            AnyServer::Constant(server) if self.plain => server.serve::<true, P>(now, &mut self.body, books),
            server => serve_any(server, now, &mut self.body, books),
        }
    }

    /// Books that the transmission of a packet began at `now`, as another host has seen it.
    pub fn replay_transmission(&mut self, now: Instant, meta: &Meta, marked: bool) {
        let bytes = self.body.wire(meta.len);
        let tally = &mut self.body.queue.tally;
        tally.departure(now, meta, marked);
        self.server.replay(now, bytes, tally);
    }
}

/// Links as what is measured of them.
pub(crate) fn metered(links: &mut [Link]) -> impl Iterator<Item = &mut dyn Metered> {
    links.iter_mut().map(|link| link as &mut dyn Metered)
}

impl Metered for Link {
    fn tally(&self) -> &Tally {
        &self.body.queue.tally
    }
    fn tally_mut(&mut self) -> &mut Tally {
        &mut self.body.queue.tally
    }
    fn qdisc(&mut self) -> &mut dyn Qdisc<Handle> {
        &mut *self.body.queue.qdisc
    }
    fn used_and_usable(&mut self, now: Instant) -> (u64, u64) {
        self.server.used_and_usable(self.body.queue.tally.total_used, now)
    }
    fn usable_from(&mut self, number: usize) -> u64 {
        self.server.usable_from(self.body.queue.tally.window(), number)
    }
}

// Most links are plain: the code of the others stays out of their way.

#[inline(never)]
fn offer_any<P: Probe>(
    server: &mut AnyServer,
    now: Instant,
    meta: Meta,
    handle: Handle,
    packet: Packet,
    body: &mut Body,
    books: &mut Books<P>,
) -> Served {
    server.offer(now, meta, handle, packet, body, books)
}

#[inline(never)]
fn serve_any<P: Probe>(server: &mut AnyServer, now: Instant, body: &mut Body, books: &mut Books<P>) -> Served {
    server.serve(now, body, books)
}
