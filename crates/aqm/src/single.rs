//! One queue under one algorithm.

use crate::aqm::{
    Aqm, Cx, DropReason, ExcessPolicy, Fifo, PoppedPacket, Verdict, emptied, inherit, judges_overflow, next_update,
    overflowed, reserve,
};
use crate::backlog::Backlog;
use crate::ce_exclusion::{CeBacklog, CeTime};
use crate::error::ConfigError;
use crate::limits::{Bounds, Limits};
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats};
use crate::reservation::{Reservation, ReservationError, move_deque_to_larger};
use crate::ring::{ReleasedPacket, Ring};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use core::any::Any;

/// A first-in-first-out queue with limits, managed by `A`.
#[derive(Debug)]
pub struct SingleQueue<A, P> {
    aqm: A,
    bounds: Bounds,
    host: Host,
    store: PacketStore<P>,
    /// View that excludes CE-marked packets; usually none.
    ce_exclusion: Option<Box<CeExclusion>>,
}

impl<A: Aqm, P> SingleQueue<A, P> {
    /// An empty queue with capacity for its limit, at most 1024 packets.
    pub fn new(aqm: A, limits: Limits, host: Host) -> Self {
        // Bounds the allocation if the limit is generous.
        let capacity = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        Self::with_capacity(aqm, limits, host, capacity)
    }

    /// An empty queue with capacity for `capacity` packets; it allocates only beyond them.
    pub fn with_capacity(mut aqm: A, limits: Limits, host: Host, capacity: usize) -> Self {
        aqm.attach(&limits, host.link);
        let bounds = limits.on(host.link);
        let store = PacketStore { ring: Ring::with_capacity(capacity), stats: Stats::default() };
        Self { aqm, bounds, host, store, ce_exclusion: None }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// [`Qdisc::enqueue`], compiled into the caller.
    #[inline(always)]
    pub fn enqueue_here(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.run_updates(now, false);
        meta.enqueued = now;
        self.store.stats.arrived.add(meta.len);
        let waiting = self.visible_backlog();
        let mut cx =
            Cx { now, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
        let fits = self.bounds.admit(self.store.backlog(), meta.len);
        if !fits && !judges_overflow(&mut self.aqm) {
            overflowed(&mut self.aqm, &mut cx, &meta);
            return self.store.refuse(meta, packet, DropReason::Limit, sink);
        }
        let mut view = View { store: &mut self.store, sink, popped: None };
        let verdict = match self.ce_exclusion.as_deref_mut() {
            None => self.aqm.enqueue(&mut cx, &meta, &mut view),
            Some(exclusion) => enqueue_excluding(
                &mut self.aqm,
                &mut cx,
                &meta,
                &mut CeExcludedView { view: &mut view, now, exclusion },
            ),
        };
        if verdict == Verdict::Drop || verdict == Verdict::Mark && !meta.ecn.is_ect() {
            return self.store.refuse(meta, packet, DropReason::Early, sink);
        }
        if !fits && !self.bounds.admit(self.store.backlog(), meta.len) {
            overflowed(&mut self.aqm, &mut cx, &meta);
            return self.store.refuse(meta, packet, DropReason::Limit, sink);
        }
        // Field by field: a wider load of the fresh stamp would stall until the store completes.
        let mut queued = Meta { enqueued: now, ..meta };
        let marked = verdict == Verdict::Mark && mark(&mut queued, &mut self.store.stats);
        self.store.ring.push(queued, packet);
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.queued(now, &queued);
        }
        if marked { EnqueueResult::Marked } else { EnqueueResult::Queued }
    }

    /// Enqueues and dequeues a packet at once if the queue is empty and the packet needs no decision; stamps it.
    /// Returns whether it did; otherwise nothing has changed.
    #[inline(always)]
    pub fn try_pass(&mut self, now: Instant, meta: &mut Meta) -> bool {
        let idle = self.is_idle();
        let Some(aqm) = self.aqm.fast_dequeue() else { return false };
        if !idle || !self.bounds.admit(Backlog::default(), meta.len) {
            return false;
        }
        meta.enqueued = now;
        if !aqm.try_release(now, meta, 0, self.host.link.mtu) {
            return false;
        }
        self.store.stats.arrived.add(meta.len);
        self.store.stats.departed.add(meta.len);
        true
    }

    /// Queues a stamped packet if it fits and the algorithm accepts all packets that fit. Returns whether it did;
    /// otherwise nothing has changed.
    #[inline(always)]
    pub fn try_store(&mut self, meta: &Meta, packet: P) -> bool {
        let may = self.aqm.fast_dequeue().is_some() && self.ce_exclusion.is_none();
        if !may || !self.bounds.admit(self.store.backlog(), meta.len) {
            return false;
        }
        self.store.stats.arrived.add(meta.len);
        self.store.ring.push(*meta, packet);
        true
    }

    /// Pops the head for transmission if there is one and it needs no decision; otherwise nothing changes.
    #[inline(always)]
    pub fn try_dequeue_head(&mut self, now: Instant) -> Option<(&Meta, P)> {
        if self.ce_exclusion.is_some() {
            return None;
        }
        let aqm = self.aqm.fast_dequeue()?;
        let PacketStore { ring, stats } = &mut self.store;
        let (meta, packet) = ring.pop_if_released(aqm, now, self.host.link.mtu)?;
        stats.departed.add(meta.len);
        Some((meta, packet))
    }

    /// Whether no packet is queued and the algorithm sees all packets: an arrival finds no backlog, and a dequeue only
    /// calls the algorithm.
    #[inline(always)]
    pub fn is_idle(&self) -> bool {
        self.ce_exclusion.is_none() && self.store.ring.is_empty()
    }

    /// [`Qdisc::dequeue`], compiled into the caller.
    #[inline(always)]
    /// The packet is copied once, from its slot to the caller, and the limits are two numbers.
    pub fn dequeue_here(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.run_updates(now, false);
        if self.ce_exclusion.is_some() {
            return self.dequeue_excluding(now, sink);
        }
        let waiting = self.store.backlog();
        let mut cx =
            Cx { now, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
        let mut view = View { store: &mut self.store, sink, popped: None };
        let popped = self.aqm.dequeue(&mut cx, &mut view);
        let slot_index = view.popped;
        debug_assert_eq!(popped.is_some(), slot_index.is_some(), "an algorithm returns the packet it popped");
        if self.store.ring.is_empty() && waiting.packets > 0 {
            emptied(&mut self.aqm, &mut cx);
        }
        let Some(slot_index) = slot_index else { return DequeueResult::Empty };
        self.store.send(slot_index)
    }

    /// [`Qdisc::bypass`], compiled into the caller; stamps the packet in place. Returns whether it passed.
    #[inline(always)]
    pub fn passes(&mut self, now: Instant, meta: &mut Meta) -> bool {
        let idle = self.is_idle();
        let Some(aqm) = self.aqm.bypass() else { return false };
        if !idle || !aqm.can_bypass(now) || !self.bounds.admit(Backlog::default(), meta.len) {
            return false;
        }
        self.run_updates(now, false);
        let Some(aqm) = self.aqm.bypass() else { return false };
        if !aqm.can_bypass(now) {
            return false;
        }
        meta.enqueued = now;
        aqm.on_bypass(now, meta);
        self.store.stats.arrived.add(meta.len);
        self.store.stats.departed.add(meta.len);
        true
    }

    /// Runs every update due before `now`, or also at `now` if `inclusive`.
    #[inline]
    fn run_updates(&mut self, now: Instant, inclusive: bool) {
        while let Some(at) = next_update(&mut self.aqm) {
            if at > now || (at == now && !inclusive) {
                return;
            }
            let waiting = self.visible_backlog();
            let Some(timer) = self.aqm.timer() else { return };
            let mut cx =
                Cx { now: at, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
            timer.update(at, &mut cx);
            // A queue may be idle for days.
            if self.store.ring.is_empty() {
                timer.skip_idle(now);
            }
        }
    }

    /// Dequeues with a view of the queue that excludes packets with CE.
    #[cold]
    #[inline(never)]
    fn dequeue_excluding(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        let (waiting, was_empty) = (self.visible_backlog(), self.store.ring.is_empty());
        let Some(exclusion) = self.ce_exclusion.as_deref_mut() else { return DequeueResult::Empty };
        let mut cx =
            Cx { now, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
        let mut view = View { store: &mut self.store, sink, popped: None };
        self.aqm.dequeue(&mut cx, &mut CeExcludedView { view: &mut view, now, exclusion });
        let sent = view.popped.map(|slot_index| self.store.send(slot_index));
        if self.store.ring.is_empty() && !was_empty {
            emptied(&mut self.aqm, &mut cx);
        }
        let sent = sent.unwrap_or(DequeueResult::Empty);
        exclusion.time.departed(now, sent.meta().is_some_and(|meta| meta.ecn == Ecn::Ce));
        sent
    }

    /// The backlog as the algorithm sees it.
    #[inline]
    fn visible_backlog(&self) -> Backlog {
        let waiting = self.store.backlog();
        self.ce_exclusion.as_ref().map_or(waiting, |exclusion| exclusion.backlog.without_ce(waiting))
    }
}

impl<A: Aqm, P: 'static> Qdisc<P> for SingleQueue<A, P> {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.enqueue_here(now, meta, packet, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.dequeue_here(now, sink)
    }

    fn bypass(&mut self, now: Instant, mut meta: Meta) -> Option<Meta> {
        self.passes(now, &mut meta).then_some(meta)
    }

    fn exclude_ce(&mut self) -> bool {
        self.ce_exclusion = Some(Box::default());
        true
    }

    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let packets = memory.bound_packets(&mut self.bounds);
        self.store.ring.reserve(packets, memory)?;
        if let Some(exclusion) = &mut self.ce_exclusion {
            memory.deque(&mut exclusion.ce_time_at_enqueue, packets)?;
        }
        reserve(&mut self.aqm, packets, memory)
    }

    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let old: &mut Self = old.downcast_mut().ok_or(ConfigError::Immutable)?;
        // An update due at this instant precedes the change.
        old.run_updates(now, true);
        let excess = inherit(&mut self.aqm, &old.aqm, now)?;
        self.store.ring.take_over(&mut old.store.ring);
        self.store.stats = old.store.stats;
        core::mem::swap(&mut self.host.rng, &mut old.host.rng);
        if let (Some(new), Some(old)) = (&mut self.ce_exclusion, &mut old.ce_exclusion) {
            new.take_over(old);
        } else {
            core::mem::swap(&mut self.ce_exclusion, &mut old.ce_exclusion);
        }
        let reason = if excess == ExcessPolicy::DropAll { DropReason::Replaced } else { DropReason::Limit };
        while !self.store.ring.is_empty()
            && (excess == ExcessPolicy::DropAll
                || excess == ExcessPolicy::DropOldest && !self.bounds.hold(self.store.backlog()))
        {
            let mut view = View { store: &mut self.store, sink, popped: None };
            match self.ce_exclusion.as_deref_mut() {
                None => view.drop(0, reason),
                Some(exclusion) => CeExcludedView { view: &mut view, now, exclusion }.drop(0, reason),
            }
        }
        Ok(())
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn settle(&mut self, now: Instant) {
        self.run_updates(now, true);
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog()
    }

    fn stats(&self) -> &Stats {
        &self.store.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.observe(see);
    }
}

/// The algorithm's verdict on an arrival, with a view of the queue that excludes packets with CE.
#[cold]
#[inline(never)]
fn enqueue_excluding<A: Aqm>(aqm: &mut A, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
    aqm.enqueue(cx, meta, queue)
}

/// The queue, borrowed by the algorithm for one call.
struct View<'a, P> {
    store: &'a mut PacketStore<P>,
    sink: &'a mut dyn Sink<P>,
    /// Slot of the popped packet in the ring.
    popped: Option<usize>,
}

impl<P> Fifo for View<'_, P> {
    #[inline]
    fn len(&self) -> usize {
        self.store.ring.len()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.store.ring.bytes()
    }
    #[inline]
    fn total_backlog(&self) -> Backlog {
        self.store.backlog()
    }
    #[inline]
    fn meta(&self, i: usize) -> Option<Meta> {
        self.store.ring.meta(i).copied()
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(meta) = self.store.ring.meta_mut(i) else { return false };
        if meta.ecn.is_ect() {
            mark(meta, &mut self.store.stats);
            return true;
        }
        self.drop(i, reason);
        false
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(queued) = self.store.ring.remove(i) {
            self.store.stats.dropped[reason as usize].add(queued.meta.len);
            self.sink.dropped(queued.meta, queued.packet, reason);
        }
    }
    #[inline]
    fn pop(&mut self) -> Option<PoppedPacket> {
        debug_assert!(self.popped.is_none(), "one pop per dequeue");
        let ReleasedPacket { slot_index, meta } = self.store.ring.release()?;
        self.popped = Some(slot_index);
        Some(PoppedPacket { meta: *meta })
    }
}

/// Queued packets and counters.
#[derive(Debug)]
struct PacketStore<P> {
    ring: Ring<P>,
    stats: Stats,
}

impl<P> PacketStore<P> {
    /// Counts and returns the packet released from slot `slot_index`.
    #[inline]
    fn send(&mut self, slot_index: usize) -> DequeueResult<P> {
        if let Some(meta) = self.ring.released(slot_index) {
            self.stats.departed.add(meta.len);
        }
        self.ring.collect(slot_index)
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        EnqueueResult::Dropped(reason)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len() as u32, bytes: self.ring.bytes() }
    }
}

/// A [`View`] that excludes packets with CE.
struct CeExcludedView<'v, 'a, P> {
    view: &'v mut View<'a, P>,
    now: Instant,
    exclusion: &'v mut CeExclusion,
}

impl<P> Fifo for CeExcludedView<'_, '_, P> {
    fn len(&self) -> usize {
        self.view.len()
    }
    fn bytes(&self) -> u64 {
        self.view.bytes()
    }
    fn total_backlog(&self) -> Backlog {
        self.view.total_backlog()
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        let meta = self.view.meta(i)?;
        Some(self.exclusion.time.visible_meta(self.now, self.exclusion.ce_time_at_enqueue[i], meta))
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(meta) = self.view.meta(i) else { return false };
        let waits = self.view.mark(i, reason);
        if !waits {
            self.exclusion.removed(self.now, i, meta);
        } else if meta.ecn != Ecn::Ce {
            self.exclusion.backlog.add(&meta);
        }
        waits
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(meta) = self.view.meta(i) {
            self.view.drop(i, reason);
            self.exclusion.removed(self.now, i, meta);
        }
    }
    fn pop(&mut self) -> Option<PoppedPacket> {
        let PoppedPacket { meta } = self.view.pop()?;
        Some(PoppedPacket { meta: self.exclusion.removed(self.now, 0, meta) })
    }
}

/// State of CE exclusion.
#[derive(Clone, Debug, Default)]
struct CeExclusion {
    time: CeTime,
    backlog: CeBacklog,
    /// For each queued packet, the time spent on CE packets before its arrival.
    ce_time_at_enqueue: VecDeque<Duration>,
}

impl CeExclusion {
    /// Continues from `old`, in the larger of both memories.
    fn take_over(&mut self, old: &mut Self) {
        (self.time, self.backlog) = (old.time, old.backlog);
        move_deque_to_larger(&mut self.ce_time_at_enqueue, &mut old.ce_time_at_enqueue);
    }

    fn queued(&mut self, now: Instant, meta: &Meta) {
        self.ce_time_at_enqueue.push_back(self.time.at(now));
        if meta.ecn == Ecn::Ce {
            self.backlog.add(meta);
        }
    }

    /// Packet `i` has left the queue. Returns its metadata as the algorithm sees it.
    fn removed(&mut self, now: Instant, i: usize, meta: Meta) -> Meta {
        self.backlog.remove(&meta);
        let before = self.ce_time_at_enqueue.remove(i).expect("each waiting packet has its time");
        self.time.visible_meta(now, before, meta)
    }
}

/// Sets CE, and counts it unless the packet already carried it. Returns whether it is new.
pub(crate) fn mark(meta: &mut Meta, stats: &mut Stats) -> bool {
    let newly = meta.ecn != Ecn::Ce;
    if newly {
        meta.ecn = Ecn::Ce;
        stats.marked.add(meta.len);
    }
    newly
}

const MAX_PREALLOCATED: u32 = 1024;
