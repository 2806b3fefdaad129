//! A queue discipline with its counts: what a link, or a host of a wireless LAN, takes packets from.

use super::LinkContext;
use super::change::{NewQueue, stream_of_queue};
use super::discipline::AnyDiscipline;
use super::subqueues::Subqueues;
use crate::fingerprint::Fate;
use crate::packet::{Handle, Packets};
use crate::probe::Probe;
use crate::queue_event::QueueEvent;
use crate::scenario::LinkSpec;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::qdisc::drop_all;
use sojourn_aqm::{Backlog, DequeueResult, DropReason, Ecn, EnqueueResult, Instant, Meta, Qdisc, Sink, TcpView};

/// A queue discipline that books.
pub(crate) struct Queue<Q: ?Sized = AnyDiscipline> {
    pub qdisc: Box<Q>,
    pub tally: Tally,
    /// By handle, of disciplines that stamp packets later than they come: when each packet came.
    arrivals: Option<Vec<Instant>>,
    /// Counts of the queues within the discipline, if it has several.
    pub subqueues: Option<Box<Subqueues>>,
}

impl<Q: Qdisc<Handle>> Queue<Q> {
    /// The empty queue of a link, under a discipline.
    pub fn under(qdisc: Q, spec: &LinkSpec, window: &Window) -> Self {
        let arrivals = spec.aqm.config.restamps().then(Vec::new);
        let within = Subqueues::of(&qdisc, window);
        Self { qdisc: Box::new(qdisc), tally: Tally::new(window), arrivals, subqueues: within }
    }
}

impl Queue {
    /// The empty queue of link `index` in a run with `seed`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window) -> Self {
        Self::under(AnyDiscipline::of(spec, stream_of_queue(seed, index, 0)), spec, window)
    }
}

impl Queue {
    /// Offers a packet, stamped, if its discipline is known and has nothing to decide of it. Whether it waits now; else nothing
    /// was done.
    #[inline(always)]
    pub fn try_store<P>(&mut self, meta: &Meta, handle: Handle, books: &LinkContext<P>) -> bool {
        let stored = self.qdisc.try_store(meta, handle);
        self.record_stored(stored, meta, books)
    }

    /// The same where it queues flows apart.
    #[inline(always)]
    pub fn try_store_in_flow<P>(&mut self, meta: &Meta, handle: Handle, books: &LinkContext<P>) -> bool {
        let stored = self.qdisc.try_store_in_flow(meta, handle);
        self.record_stored(stored, meta, books)
    }

    #[inline(always)]
    fn record_stored<P>(&mut self, stored: bool, meta: &Meta, books: &LinkContext<P>) -> bool {
        if stored {
            self.tally.arrival(meta.enqueued, true);
            self.tally.fingerprint.record(meta.enqueued, books.link, meta, Fate::Queued);
        }
        stored
    }

    /// Takes the next packet and books its departure, if the discipline is known and has nothing to decide of it; else nothing
    /// was done.
    #[inline(always)]
    pub fn try_dequeue_head<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> Option<(u32, Handle)> {
        let (meta, handle) = self.try_dequeue_head_meta(now, books)?;
        Some((meta.len, handle))
    }

    /// The same with all that the queue knows of it.
    #[inline(always)]
    pub fn try_dequeue_head_meta<P: Probe>(
        &mut self,
        now: Instant,
        books: &mut LinkContext<P>,
    ) -> Option<(&Meta, Handle)> {
        let (meta, handle) = self.qdisc.try_dequeue_head(now)?;
        record_departure(&mut self.tally, now, meta, handle, books);
        Some((meta, handle))
    }

    /// The same where it queues flows apart.
    #[inline(always)]
    pub fn try_dequeue_flow_head<P: Probe>(
        &mut self,
        now: Instant,
        books: &mut LinkContext<P>,
    ) -> Option<(u32, Handle)> {
        let (meta, handle) = self.try_dequeue_flow_head_meta(now, books)?;
        Some((meta.len, handle))
    }

    /// The same with all that the queue knows of it.
    #[inline(always)]
    pub fn try_dequeue_flow_head_meta<P: Probe>(
        &mut self,
        now: Instant,
        books: &mut LinkContext<P>,
    ) -> Option<(&Meta, Handle)> {
        let (meta, handle) = self.qdisc.try_dequeue_flow_head(now)?;
        record_departure(&mut self.tally, now, meta, handle, books);
        Some((meta, handle))
    }

    /// Another discipline takes the place of its own, as after `tc qdisc change` where it `keeps` what waits, else as after
    /// `tc qdisc replace`, which drops that.
    pub fn change<P: Probe>(
        &mut self,
        now: Instant,
        new: AnyDiscipline,
        change: &NewQueue,
        books: &mut LinkContext<P>,
    ) {
        let mut old = std::mem::replace(&mut *self.qdisc, new);
        let mut drops = DropSink::new(now, NONE, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), books);
        if change.keeps {
            let old = old.as_any().expect("the scenario has tried this change");
            self.qdisc.inherit(old, now, &mut drops).expect("the scenario has tried this change");
        } else {
            drop_all(&mut old, now, &mut drops);
            self.arrivals = change.spec.aqm.config.restamps().then(Vec::new);
            if let Some(within) = &mut self.subqueues {
                within.clear();
            }
        }
        let window = self.tally.window();
        match &mut self.subqueues {
            Some(within) => within.change(&*self.qdisc, window),
            None => self.subqueues = Subqueues::of(&*self.qdisc, window),
        }
    }
}

impl Queue {
    /// [`Self::change`] of a queue of which another host books what it drops.
    pub fn replay_change(&mut self, now: Instant, new: AnyDiscipline, keeps: bool) {
        let mut old = std::mem::replace(&mut *self.qdisc, new);
        if let Some(old) = old.as_any().filter(|_| keeps) {
            let kept = self.qdisc.inherit(old, now, &mut |_: Meta, _: Handle, _: DropReason| {});
            kept.expect("the host has tried this change");
        }
    }
}

impl<Q: Qdisc<Handle> + ?Sized> Queue<Q> {
    /// Closes the books at the end of the window.
    pub fn close(&mut self) {
        self.tally.close();
        if let Some(within) = &mut self.subqueues {
            within.close();
        }
    }

    /// Offers a packet.
    #[inline(always)]
    pub fn enqueue<P: Probe>(&mut self, now: Instant, meta: Meta, handle: Handle, books: &mut LinkContext<P>) {
        if let Some(within) = &mut self.subqueues {
            within.set_queue(handle, self.qdisc.queue_of(&meta));
        }
        let enqueued = {
            let mut drops =
                DropSink::new(now, handle, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), books);
            drops.on_arrival(handle);
            self.qdisc.enqueue(now, meta, handle, &mut drops)
        };
        let fate = match enqueued {
            EnqueueResult::Queued => Some(Fate::Queued),
            EnqueueResult::Marked => Some(Fate::Marked),
            // The sink has recorded it.
            EnqueueResult::Dropped(_) => None,
        };
        self.tally.arrival(now, fate.is_some());
        if let Some(within) = &mut self.subqueues {
            within.arrival(now, handle, fate.is_some());
        }
        if let Some(fate) = fate {
            self.tally.fingerprint.record(now, books.link, &meta, fate);
        }
    }

    /// Asks for the next packet and books its departure.
    #[inline(always)]
    pub fn dequeue<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let dequeued = self.poll(now, books);
        if let DequeueResult::Packet(meta, handle) = &dequeued {
            let packet = books.packets.packet_mut(*handle);
            let newly_marked = meta.ecn == Ecn::Ce && packet.ecn != Ecn::Ce;
            packet.ecn = meta.ecn;
            packet.dscp = meta.dscp;
            self.tally.departure(now, meta, newly_marked);
            if newly_marked {
                self.tally.mark(arrival_of(&self.arrivals, *handle, meta));
            }
            if let Some(within) = &mut self.subqueues {
                within.departure(now, *handle, meta, newly_marked);
                if newly_marked {
                    within.mark(*handle, arrival_of(&self.arrivals, *handle, meta));
                }
            }
            let fate = if newly_marked { Fate::DepartedMarked } else { Fate::Departed };
            self.tally.fingerprint.record(now, books.link, meta, fate);
            books.probe.sent(QueueEvent { at: now, link: books.link, packet: *handle, meta }, newly_marked);
        }
        dequeued
    }

    /// Asks for the next packet, as of `now`, and books only what the discipline drops.
    #[inline(always)]
    pub fn poll<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let mut drops = DropSink::new(now, NONE, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), books);
        self.qdisc.dequeue(now, &mut drops)
    }
}

/// Books the departure of a packet of which nothing was to be decided.
#[inline(always)]
fn record_departure<P: Probe>(
    tally: &mut Tally,
    now: Instant,
    meta: &Meta,
    handle: Handle,
    books: &mut LinkContext<P>,
) {
    debug_assert_eq!(meta.ecn, books.packets.packet(handle).ecn, "it marks nothing that it lets go");
    tally.departure(now, meta, false);
    tally.fingerprint.record(now, books.link, meta, Fate::Departed);
    books.probe.sent(QueueEvent { at: now, link: books.link, packet: handle, meta }, false);
}

/// A queue whose server is measured.
pub(crate) trait MeteredQueue {
    /// What has been counted.
    fn tally(&self) -> &Tally;
    /// What has been counted.
    fn tally_mut(&mut self) -> &mut Tally;
    /// What has been counted of the queues within its discipline, if there are several.
    fn subqueues(&self) -> Option<&Subqueues>;
    /// Closes the books at the end of the window.
    fn close(&mut self);
    /// The queue discipline.
    fn qdisc(&self) -> &dyn Qdisc<Handle>;
    /// The queue discipline.
    fn qdisc_mut(&mut self) -> &mut dyn Qdisc<Handle>;
    /// What waits.
    fn backlog(&self) -> Backlog {
        self.qdisc().backlog()
    }
    /// What the server has used until `now` and could have used: time, bits, or bytes of opportunity.
    fn used_and_usable(&mut self, now: Instant) -> (u64, u64);
    /// What it could have used in the statistics that begin at instant `number` of the window, in the same measure.
    fn usable_from(&mut self, number: usize) -> u64;
}

/// No packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// Books dropped packets and frees their places. It has the parts of [`LinkContext`], not a pointer to them: what is behind a
/// pointer that a discipline gets has to be read again after each of its calls.
struct DropSink<'a, P> {
    now: Instant,
    /// The packet that is being offered, which does not wait yet; [`NONE`] on a dequeue.
    arriving: Handle,
    link: usize,
    tally: &'a mut Tally,
    arrivals: &'a mut Option<Vec<Instant>>,
    within: &'a mut Option<Box<Subqueues>>,
    packets: &'a mut Packets,
    probe: &'a mut P,
}

/// When a packet of the queue came.
fn arrival_of(arrivals: &Option<Vec<Instant>>, handle: Handle, meta: &Meta) -> Instant {
    arrivals.as_ref().map_or(meta.enqueued, |arrivals| arrivals[handle as usize])
}

impl<'a, P: Probe> DropSink<'a, P> {
    #[inline(always)]
    fn new(
        now: Instant,
        arriving: Handle,
        (tally, arrivals, within): (&'a mut Tally, &'a mut Option<Vec<Instant>>, &'a mut Option<Box<Subqueues>>),
        books: &'a mut LinkContext<P>,
    ) -> Self {
        let LinkContext { link, packets, probe } = books;
        Self { now, arriving, link: *link, tally, arrivals, within, packets, probe }
    }

    /// A packet comes now.
    #[inline(always)]
    fn on_arrival(&mut self, handle: Handle) {
        if let Some(arrivals) = self.arrivals {
            let place = handle as usize;
            arrivals.resize(arrivals.len().max(place + 1), self.now);
            arrivals[place] = self.now;
        }
    }
}

impl<P: Probe> Sink<Handle> for DropSink<'_, P> {
    fn dropped(&mut self, meta: Meta, handle: Handle, reason: DropReason) {
        let arrived = (handle != self.arriving).then(|| arrival_of(self.arrivals, handle, &meta));
        self.tally.drop(self.now, reason, arrived);
        if let Some(within) = self.within {
            within.dropped(self.now, handle, reason, arrived);
        }
        self.tally.fingerprint.record(self.now, self.link, &meta, Fate::Dropped(reason));
        let event = QueueEvent { at: self.now, link: self.link, packet: handle, meta: &meta };
        self.probe.dropped(event, reason, self.packets);
        self.packets.drop_in_link(self.link, handle);
    }

    fn duplicated(&mut self, meta: &Meta, handle: &Handle) -> Option<Handle> {
        let copy = self.packets.copy(self.link, *handle);
        // What was marked before it was copied is marked on the original.
        self.packets.packet_mut(copy).ecn = meta.ecn;
        self.on_arrival(copy);
        self.tally.arrival(self.now, true);
        if let Some(within) = self.within {
            within.on_copy(self.now, *handle, copy);
        }
        self.tally.fingerprint.record(self.now, self.link, meta, Fate::Queued);
        self.probe.arrived(QueueEvent { at: self.now, link: self.link, packet: copy, meta }, self.packets);
        Some(copy)
    }

    fn damaged(&mut self, handle: &mut Handle, _: u32, _: u8) {
        self.packets.damage(*handle);
    }

    fn tcp_header(&self, handle: &Handle) -> Option<TcpView> {
        self.packets.header(*handle).view()
    }

    fn departure_time(&self, handle: &Handle) -> Option<Instant> {
        self.packets.departure(*handle)
    }
}
