//! A link: a queue discipline, a server, and a pipe that delays.
//!
//! The server dequeues a packet when transmission can start; its sojourn time ends then. The packet reaches the far end
//! when its last bit does.
//!
//! A link is called on each arrival and at the time it has requested. It returns a [`ServiceResult`]: the departing
//! packet with its arrival time at the far end, and when to call next. It is independent of routes and flows.

mod any;
mod bucket;
mod change;
mod context;
mod core;
mod cox;
mod discipline;
mod dql;
pub(crate) mod external;
mod gro;
mod medium;
mod opportunity;
mod pipe;
mod plain;
mod poisson;
mod queue;
mod serial;
mod server;
mod service_result;
mod steps;
mod subqueues;
mod trace;
mod tx_ring;

pub(crate) use change::PlannedChange;
pub use change::stream_of_queue;
pub(crate) use context::LinkContext;
pub(crate) use discipline::{Discipline, built_bytes, discipline};
pub(crate) use pipe::Pipe;
pub(crate) use plain::PlainLink;
pub(crate) use queue::{MeteredQueue, NONE, Queue};
pub(crate) use service_result::{Departure, NextCall, QueueEntry, ServiceResult};
pub(crate) use subqueues::Subqueues;

use crate::packet::{Arrival, Handle, Packets};
use crate::probe::Probe;
use crate::queue_event::QueueEvent;
use crate::scenario::LinkSpec;
use crate::tally::Tally;
use crate::window::Window;
use any::AnyServer;
use core::LinkCore;
use gro::Gro;
use server::{Server, ServerParams};
use sojourn_aqm::{Instant, Meta, Qdisc};

/// One direction of a bottleneck.
pub(crate) struct Link {
    server: AnyServer,
    body: LinkCore,
    /// GRO at the ingress: packets received and not yet polled.
    gro: Option<Gro>,
    /// Packets in propagation.
    pub pipe: Pipe,
}

impl Link {
    /// Link `index` of a run with `seed`; `super_packets` is whether the run has any (GSO).
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window, super_packets: bool) -> Self {
        let params = ServerParams { index, seed, mtu: spec.mtu, window: window.clone() };
        let server =
            AnyServer::new(&spec.service, &params).expect("a scenario has a channel's queues in its cell only");
        let body = LinkCore::new(spec, index, seed, window, super_packets);
        Self { server: server.with(&body), body, gro: spec.gro.map(Gro::new), pipe: Pipe::new() }
    }

    /// The link as a [`PlainLink`], if it is plain: without branches for features that it lacks.
    #[inline(always)]
    pub fn as_plain(&mut self) -> Option<PlainLink<'_>> {
        match &mut self.server {
            AnyServer::Plain(server) => Some(PlainLink::new(server, &mut self.body)),
            _ => None,
        }
    }

    /// Whether the link is a plain one.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        matches!(self.server, AnyServer::Plain(_))
    }

    /// Whether packets arrive in departure order, each at the time fixed at its departure.
    pub fn keeps_order(&self) -> bool {
        self.body.has_constant_delay()
    }

    /// Start of the transmission whose end is the server's pending event; `None` if packets are not sent one by one.
    pub fn transmission_began(&self) -> Option<Instant> {
        self.server.began()
    }

    /// Start of transmission of a packet of `len` IP bytes that reaches the far end at `arrival`; `None` if rate or
    /// delay change.
    pub fn sent_at(&self, arrival: Instant, len: u32) -> Option<Instant> {
        let bytes = self.body.wire(self.body.accounted(len));
        Some(arrival - self.body.constant_delay()? - self.server.rate()?.time_for(bytes.into()))
    }

    /// Replaces the queue discipline.
    #[cfg(test)]
    pub fn replace_qdisc(&mut self, qdisc: Box<Discipline>) {
        *self.body.queue.qdisc = discipline::AnyDiscipline::Other(qdisc);
    }

    /// Repeats at `now` the queue change of another host, which has counted its drops.
    pub fn replay_change(&mut self, now: Instant, change: &PlannedChange) {
        if let Some(queue) = &change.queue {
            let discipline = discipline::AnyDiscipline::of(&queue.spec, change.rng("queue"));
            self.body.queue.replay_change(now, discipline, queue.keeps);
        }
    }

    /// Applies a change at `now`, before any other event of that instant.
    pub fn change<P: Probe>(&mut self, now: Instant, change: &PlannedChange, cx: &mut LinkContext<P>) -> ServiceResult {
        if let Some(loss) = change.loss {
            self.body.set_loss(loss, change.rng("loss"));
        }
        let Some(queue) = &change.queue else { return ServiceResult::nothing(NextCall::Unchanged) };
        self.server.before_change(now, &mut self.body, cx);
        let discipline = discipline::AnyDiscipline::of(&queue.spec, change.rng("queue"));
        self.body.queue.change(now, discipline, queue, cx);
        self.server.after_change(now, &mut self.body, cx)
    }

    /// Whether arrivals wait for a poll that joins segments.
    pub fn has_gro(&self) -> bool {
        self.gro.is_some()
    }

    /// Receives a packet, which waits for the poll. Returns the time of the poll if this packet schedules it.
    pub fn receive(&mut self, now: Instant, handle: Handle, packets: &mut Packets) -> Option<Instant> {
        self.gro.as_mut().and_then(|gro| gro.arrive(now, handle, packets))
    }

    /// Replaces the contents of `into` with the packets received since the last poll.
    pub fn poll(&mut self, into: &mut Vec<Handle>) {
        if let Some(gro) = &mut self.gro {
            gro.poll(into);
        }
    }

    /// Unsent segments of the super-packet in transmission.
    pub fn cut_remainder(&self) -> Option<Handle> {
        self.body.cut_remainder()
    }

    /// Whether the qdisc releases packets at their departure times, as fq does.
    pub fn paces(&self) -> bool {
        self.body.queue.qdisc.paces()
    }

    /// Whether the qdisc segments super-packets.
    pub fn splits(&self) -> bool {
        self.body.queue.qdisc.splits_gso()
    }

    /// Handles the arrival of a packet.
    pub fn on_arrival<P: Probe>(&mut self, now: Instant, arrival: Arrival, cx: &mut LinkContext<P>) -> ServiceResult {
        let Arrival { handle, packet, .. } = arrival;
        let whole = self.body.accounted_whole(handle, cx.packets);
        let meta = meta(now, whole, &arrival, cx);
        self.server.offer(now, QueueEntry { meta, handle, packet }, &mut self.body, cx)
    }

    /// Handles the event that the server has scheduled.
    pub fn on_server<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> ServiceResult {
        self.server.serve(now, &mut self.body, cx)
    }

    /// Counts a transmission that began at `now` in another host.
    pub fn replay_transmission(&mut self, now: Instant, meta: &Meta, marked: bool) {
        let bytes = self.body.wire_of(meta);
        let tally = &mut self.body.queue.tally;
        tally.departure(now, meta, marked);
        if marked {
            tally.mark(meta.enqueued);
        }
        self.server.replay(now, bytes, tally);
    }
}

/// The links as [`MeteredQueue`]s.
pub(crate) fn metered(links: &mut [Link]) -> impl Iterator<Item = &mut dyn MeteredQueue> {
    links.iter_mut().map(|link| link as &mut dyn MeteredQueue)
}

impl MeteredQueue for Link {
    fn tally(&self) -> &Tally {
        &self.body.queue.tally
    }
    fn tally_mut(&mut self) -> &mut Tally {
        &mut self.body.queue.tally
    }
    fn subqueues(&self) -> Option<&Subqueues> {
        self.body.queue.subqueues.as_deref()
    }
    fn close(&mut self) {
        self.body.queue.close();
    }
    fn qdisc(&self) -> &dyn Qdisc<Handle> {
        &*self.body.queue.qdisc
    }
    fn qdisc_mut(&mut self) -> &mut dyn Qdisc<Handle> {
        &mut *self.body.queue.qdisc
    }
    fn used_and_usable(&mut self, now: Instant) -> (u64, u64) {
        self.server.used_and_usable(self.body.queue.tally.total_used, now)
    }
    fn usable_from(&mut self, number: usize) -> u64 {
        self.server.usable_from(self.body.queue.tally.window(), number)
    }
}

/// Metadata of an arriving packet with its accounted bytes and segments; notifies the probe.
#[inline(always)]
fn meta<P: Probe>(
    now: Instant,
    (bytes, segments): (u32, u16),
    &Arrival { handle, ref packet, origin }: &Arrival,
    cx: &mut LinkContext<P>,
) -> Meta {
    let meta = packet.meta(bytes, origin).with_segments(segments);
    cx.probe.arrived(QueueEvent { at: now, link: cx.link, packet: handle, meta: &meta }, cx.packets);
    meta
}

#[cfg(test)]
mod tests;
