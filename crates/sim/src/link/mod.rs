//! A link: a queue discipline, a server, and a pipe that delays.
//!
//! The queue is asked for a packet when transmission can start; that is when its sojourn time ends. The packet
//! reaches the far end when its last bit does.
//!
//! A link is called: a packet arrives, or the time has come at which it wanted to be called again. It answers with
//! [`ServiceResult`]: what leaves, when that reaches the far end, and when to call next. It knows neither routes nor flows.

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
pub(crate) use discipline::{Discipline, discipline};
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
    /// What was received and not polled, where segments are joined.
    gro: Option<Gro>,
    /// Packets on their way to the far end.
    pub pipe: Pipe,
}

impl Link {
    /// Link `index` of a run with `seed`, in which there are `super_packets` or not.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window, super_packets: bool) -> Self {
        let seat = ServerParams { index, seed, mtu: spec.mtu, window: window.clone() };
        let server = AnyServer::new(&spec.service, &seat).expect("a scenario has a channel's queues in its cell only");
        let body = LinkCore::new(spec, index, seed, window, super_packets);
        Self { server: server.with(&body), body, gro: spec.gro.map(Gro::new), pipe: Pipe::new() }
    }

    /// The link as a plain one, if it is: called without branches for features that it lacks.
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

    /// Whether packets reach the far end in the order in which they leave, each at the time that is said then.
    pub fn keeps_order(&self) -> bool {
        self.body.has_constant_delay()
    }

    /// When the transmission began whose end the server's event is for; none where packets are not sent one by one.
    pub fn transmission_began(&self) -> Option<Instant> {
        self.server.began()
    }

    /// When the transmission began of a packet of `len` IP bytes that reaches the far end at `arrival`; none where rate or
    /// delay change.
    pub fn sent_at(&self, arrival: Instant, len: u32) -> Option<Instant> {
        let bytes = self.body.wire(self.body.accounted(len));
        Some(arrival - self.body.constant_delay()? - self.server.rate()?.time_for(bytes.into()))
    }

    /// Puts another queue discipline in the place of its own.
    #[cfg(test)]
    pub fn replace_qdisc(&mut self, qdisc: Box<Discipline>) {
        *self.body.queue.qdisc = discipline::AnyDiscipline::Other(qdisc);
    }

    /// The queue changes at `now` as it did in another host, which books what it drops.
    pub fn replay_change(&mut self, now: Instant, change: &PlannedChange) {
        if let Some(queue) = &change.queue {
            let discipline = discipline::AnyDiscipline::of(&queue.spec, change.rng("queue"));
            self.body.queue.replay_change(now, discipline, queue.keeps);
        }
    }

    /// Something changes at `now`, before anything else happens then.
    pub fn change<P: Probe>(
        &mut self,
        now: Instant,
        change: &PlannedChange,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        if let Some(loss) = change.loss {
            self.body.set_loss(loss, change.rng("loss"));
        }
        let Some(queue) = &change.queue else { return ServiceResult::nothing(NextCall::Unchanged) };
        self.server.before_change(now, &mut self.body, books);
        let discipline = discipline::AnyDiscipline::of(&queue.spec, change.rng("queue"));
        self.body.queue.change(now, discipline, queue, books);
        self.server.after_change(now, &mut self.body, books)
    }

    /// Whether what arrives waits for a poll, in which segments are joined.
    pub fn has_gro(&self) -> bool {
        self.gro.is_some()
    }

    /// A packet is received that waits for the poll. When that is, unless it is known.
    pub fn receive(&mut self, now: Instant, handle: Handle, packets: &mut Packets) -> Option<Instant> {
        self.gro.as_mut().and_then(|gro| gro.arrive(now, handle, packets))
    }

    /// What was received since the last poll, in the place of what was in `into`.
    pub fn poll(&mut self, into: &mut Vec<Handle>) {
        if let Some(gro) = &mut self.gro {
            gro.poll(into);
        }
    }

    /// The super-packet that is being sent: what is left of it.
    pub fn rest(&self) -> Option<Handle> {
        self.body.cut_remainder()
    }

    /// Whether the queue discipline lets packets go at their departure times.
    pub fn paces(&self) -> bool {
        self.body.queue.qdisc.paces()
    }

    /// Whether the queue discipline wants super-packets cut.
    pub fn splits(&self) -> bool {
        self.body.queue.qdisc.splits_gso()
    }

    /// A packet arrives.
    pub fn on_arrival<P: Probe>(
        &mut self,
        now: Instant,
        arrival: Arrival,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        let Arrival { handle, packet, .. } = arrival;
        let whole = self.body.accounted_whole(handle, books.packets);
        let meta = meta(now, whole, &arrival, books);
        self.server.offer(now, QueueEntry { meta, handle, packet }, &mut self.body, books)
    }

    /// The time has come for which the server asked.
    pub fn on_server<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> ServiceResult {
        self.server.serve(now, &mut self.body, books)
    }

    /// Books that the transmission of a packet began at `now`, as another host has seen it.
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

/// Links as what is measured of them.
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

/// Metadata of a packet that arrives with so many accounted bytes and segments; the probe is notified of it.
#[inline(always)]
fn meta<P: Probe>(
    now: Instant,
    (bytes, segments): (u32, u16),
    &Arrival { handle, ref packet, origin }: &Arrival,
    books: &mut LinkContext<P>,
) -> Meta {
    let meta = packet.meta(bytes, origin).with_segments(segments);
    books.probe.arrived(QueueEvent { at: now, link: books.link, packet: handle, meta: &meta }, books.packets);
    meta
}

#[cfg(test)]
mod tests;
