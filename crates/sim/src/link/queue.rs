//! A queue discipline with its counters, served by a link or by a host of a wireless LAN.

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

/// A queue discipline that counts, records and notifies the probe.
pub(crate) struct Queue<Q: ?Sized = AnyDiscipline> {
    pub qdisc: Box<Q>,
    pub tally: Tally,
    /// Arrival times by handle, for qdiscs that stamp packets later than at arrival.
    arrivals: Option<Vec<Instant>>,
    /// Counters of the qdisc's internal queues, if it has several.
    pub subqueues: Option<Box<Subqueues>>,
}

impl<Q: Qdisc<Handle>> Queue<Q> {
    /// An empty queue with the given qdisc.
    pub fn under(qdisc: Q, spec: &LinkSpec, window: &Window) -> Self {
        let arrivals = spec.aqm.config.restamps().then(Vec::new);
        let subqueues = Subqueues::of(&qdisc, window);
        Self { qdisc: Box::new(qdisc), tally: Tally::new(window), arrivals, subqueues }
    }
}

impl Queue {
    /// The empty queue of link `index` in a run with `seed`.
    pub fn new(spec: &LinkSpec, index: usize, seed: u64, window: &Window) -> Self {
        Self::under(AnyDiscipline::of(spec, stream_of_queue(seed, index, 0)), spec, window)
    }
}

impl Queue {
    /// Fast path: enqueues a stamped packet if a statically dispatched qdisc accepts it without a verdict. Returns
    /// whether it did; if not, nothing has changed.
    #[inline(always)]
    pub fn try_store<P>(&mut self, meta: &Meta, handle: Handle, cx: &LinkContext<P>) -> bool {
        let stored = self.qdisc.try_store(meta, handle);
        self.record_stored(stored, meta, cx)
    }

    /// [`Self::try_store`] for fair queueing.
    #[inline(always)]
    pub fn try_store_in_flow<P>(&mut self, meta: &Meta, handle: Handle, cx: &LinkContext<P>) -> bool {
        let stored = self.qdisc.try_store_in_flow(meta, handle);
        self.record_stored(stored, meta, cx)
    }

    #[inline(always)]
    fn record_stored<P>(&mut self, stored: bool, meta: &Meta, cx: &LinkContext<P>) -> bool {
        if stored {
            self.tally.arrival(meta.enqueued, true);
            self.tally.fingerprint.record(meta.enqueued, cx.link, meta, Fate::Queued);
        }
        stored
    }

    /// Fast path: dequeues the next packet, with its accounted bytes, if a statically dispatched qdisc needs no verdict
    /// on it. If it returns `None`, nothing has changed.
    #[inline(always)]
    pub fn try_dequeue_head<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> Option<(u32, Handle)> {
        let (meta, handle) = self.try_dequeue_head_meta(now, cx)?;
        Some((meta.len, handle))
    }

    /// [`Self::try_dequeue_head`], with the packet's metadata.
    #[inline(always)]
    pub fn try_dequeue_head_meta<P: Probe>(
        &mut self,
        now: Instant,
        cx: &mut LinkContext<P>,
    ) -> Option<(&Meta, Handle)> {
        let (meta, handle) = self.qdisc.try_dequeue_head(now)?;
        record_departure(&mut self.tally, now, meta, handle, cx);
        Some((meta, handle))
    }

    /// [`Self::try_dequeue_head`] for fair queueing.
    #[inline(always)]
    pub fn try_dequeue_flow_head<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> Option<(u32, Handle)> {
        let (meta, handle) = self.try_dequeue_flow_head_meta(now, cx)?;
        Some((meta.len, handle))
    }

    /// [`Self::try_dequeue_flow_head`], with the packet's metadata.
    #[inline(always)]
    pub fn try_dequeue_flow_head_meta<P: Probe>(
        &mut self,
        now: Instant,
        cx: &mut LinkContext<P>,
    ) -> Option<(&Meta, Handle)> {
        let (meta, handle) = self.qdisc.try_dequeue_flow_head(now)?;
        record_departure(&mut self.tally, now, meta, handle, cx);
        Some((meta, handle))
    }

    /// Replaces the qdisc: as `tc qdisc change` if `change.keeps`, otherwise as `tc qdisc replace`, which drops the
    /// backlog.
    pub fn change<P: Probe>(&mut self, now: Instant, new: AnyDiscipline, change: &NewQueue, cx: &mut LinkContext<P>) {
        let mut old = std::mem::replace(&mut *self.qdisc, new);
        let mut drops = DropSink::new(now, NONE, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), cx);
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
    /// [`Self::change`] for a queue whose drops another host has counted.
    pub fn replay_change(&mut self, now: Instant, new: AnyDiscipline, keeps: bool) {
        let mut old = std::mem::replace(&mut *self.qdisc, new);
        if let Some(old) = old.as_any().filter(|_| keeps) {
            let kept = self.qdisc.inherit(old, now, &mut |_: Meta, _: Handle, _: DropReason| {});
            kept.expect("the host has tried this change");
        }
    }
}

impl<Q: Qdisc<Handle> + ?Sized> Queue<Q> {
    /// Closes the counters at the end of the window.
    pub fn close(&mut self) {
        self.tally.close();
        if let Some(within) = &mut self.subqueues {
            within.close();
        }
    }

    /// Enqueues a packet.
    #[inline(always)]
    pub fn enqueue<P: Probe>(&mut self, now: Instant, meta: Meta, handle: Handle, cx: &mut LinkContext<P>) {
        if let Some(within) = &mut self.subqueues {
            within.set_queue(handle, self.qdisc.queue_of(&meta));
        }
        let enqueued = {
            let mut drops = DropSink::new(now, handle, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), cx);
            drops.on_arrival(handle);
            self.qdisc.enqueue(now, meta, handle, &mut drops)
        };
        let fate = match enqueued {
            EnqueueResult::Queued => Some(Fate::Queued),
            EnqueueResult::Marked => Some(Fate::Marked),
            // Recorded by the sink.
            EnqueueResult::Dropped(_) => None,
        };
        self.tally.arrival(now, fate.is_some());
        if let Some(within) = &mut self.subqueues {
            within.arrival(now, handle, fate.is_some());
        }
        if let Some(fate) = fate {
            self.tally.fingerprint.record(now, cx.link, &meta, fate);
        }
    }

    /// Dequeues the next packet and records its departure.
    #[inline(always)]
    pub fn dequeue<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let dequeued = self.poll(now, cx);
        if let DequeueResult::Packet(meta, handle) = &dequeued {
            let packet = cx.packets.packet_mut(*handle);
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
            self.tally.fingerprint.record(now, cx.link, meta, fate);
            cx.probe.sent(QueueEvent { at: now, link: cx.link, packet: *handle, meta }, newly_marked, cx.packets);
        }
        dequeued
    }

    /// Dequeues as of `now` and records only the qdisc's drops.
    #[inline(always)]
    pub fn poll<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> DequeueResult<Handle> {
        let mut drops = DropSink::new(now, NONE, (&mut self.tally, &mut self.arrivals, &mut self.subqueues), cx);
        self.qdisc.dequeue(now, &mut drops)
    }
}

/// Records the departure of a packet without a verdict.
#[inline(always)]
fn record_departure<P: Probe>(tally: &mut Tally, now: Instant, meta: &Meta, handle: Handle, cx: &mut LinkContext<P>) {
    debug_assert_eq!(meta.ecn, cx.packets.packet(handle).ecn, "a forwarded packet is not marked");
    tally.departure(now, meta, false);
    tally.fingerprint.record(now, cx.link, meta, Fate::Departed);
    cx.probe.sent(QueueEvent { at: now, link: cx.link, packet: handle, meta }, false, cx.packets);
}

/// A queue and its server, as read by reports.
pub(crate) trait MeteredQueue {
    /// The counters.
    fn tally(&self) -> &Tally;
    /// The counters.
    fn tally_mut(&mut self) -> &mut Tally;
    /// The counters of the qdisc's internal queues, if it has several.
    fn subqueues(&self) -> Option<&Subqueues>;
    /// Closes the counters at the end of the window.
    fn close(&mut self);
    /// The queue discipline.
    fn qdisc(&self) -> &dyn Qdisc<Handle>;
    /// The queue discipline.
    fn qdisc_mut(&mut self) -> &mut dyn Qdisc<Handle>;
    /// Packets and bytes in the qdisc.
    fn backlog(&self) -> Backlog {
        self.qdisc().backlog()
    }
    /// Used and available capacity up to `now`: nanoseconds, bits, or bytes of opportunity.
    fn used_and_usable(&mut self, now: Instant) -> (u64, u64);
    /// Available capacity of the statistics that begin at instant `number` of the window, in the same unit.
    fn usable_from(&mut self, number: usize) -> u64;
}

/// Sentinel: no packet.
pub(crate) const NONE: Handle = Handle::MAX;

/// Counts dropped packets and frees their slots. Holds the parts of [`LinkContext`] because values behind a pointer
/// that escapes into the qdisc would be reloaded after each call.
struct DropSink<'a, P> {
    now: Instant,
    /// The packet being enqueued; [`NONE`] on a dequeue.
    arriving: Handle,
    link: usize,
    tally: &'a mut Tally,
    arrivals: &'a mut Option<Vec<Instant>>,
    within: &'a mut Option<Box<Subqueues>>,
    packets: &'a mut Packets,
    probe: &'a mut P,
}

/// Arrival time of a packet.
fn arrival_of(arrivals: &Option<Vec<Instant>>, handle: Handle, meta: &Meta) -> Instant {
    arrivals.as_ref().map_or(meta.enqueued, |arrivals| arrivals[handle as usize])
}

impl<'a, P: Probe> DropSink<'a, P> {
    #[inline(always)]
    fn new(
        now: Instant,
        arriving: Handle,
        (tally, arrivals, within): (&'a mut Tally, &'a mut Option<Vec<Instant>>, &'a mut Option<Box<Subqueues>>),
        cx: &'a mut LinkContext<P>,
    ) -> Self {
        let LinkContext { link, packets, probe } = cx;
        Self { now, arriving, link: *link, tally, arrivals, within, packets, probe }
    }

    /// Stores the arrival time of a packet.
    #[inline(always)]
    fn on_arrival(&mut self, handle: Handle) {
        if let Some(arrivals) = self.arrivals {
            let slot = handle as usize;
            arrivals.resize(arrivals.len().max(slot + 1), self.now);
            arrivals[slot] = self.now;
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
        // A mark made before the copy counts for the original, but is carried by both.
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

    fn corrupt(&mut self, handle: &mut Handle, _: u32, _: u8) {
        self.packets.damage(*handle);
    }

    fn tcp_header(&self, handle: &Handle) -> Option<TcpView> {
        self.packets.tcp_view(*handle)
    }

    fn departure_time(&self, handle: &Handle) -> Option<Instant> {
        self.packets.departure(*handle)
    }
}
