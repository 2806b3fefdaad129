//! Flow queueing: a queue per flow, each with its own manager of any kind, scheduled in turn. FQ-CoDel (RFC 8290),
//! FQ-PIE, sfqCoDel, SFQ, DRR and `fq(anything)` are compositions of these parts.
//!
//! `table` finds a packet's flow, `schedule` selects the next flow, `overflow` makes room, `packet_list` stores
//! packets, and `perturb` rehashes them.
//!
//! A manager sees its own queue; `total_backlog` is that of all flows. Its periodic updates run on time while its flow
//! is scheduled; those of an idle flow run when its next packet arrives, before the verdict on it.

mod ce_exclusion;
mod change;
mod compose;
mod config;
mod fast_path;
mod overflow;
pub(crate) mod packet_list;
mod perturb;
mod reserve;
mod schedule;
mod scheduler_entry;
mod table;
#[cfg(test)]
mod tests;

pub use compose::{FlowQueueConfig, build, flow_bytes, flow_queue, join, queue_bytes};
pub use config::{Config, Hash, Isolation, Overflow, Scheduler};
pub use table::Classifier;

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Verdict, emptied, next_update, overflowed};
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::{Bounds, Limits};
use crate::packet::{Ecn, Meta};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::reservation::{Reservation, ReservationError};
use crate::single::mark;
use crate::time::Instant;
use alloc::boxed::Box;
use alloc::vec::Vec;
use ce_exclusion::CeExclusion;
use core::any::Any;
use core::fmt;
use overflow::OverflowHandler;
use packet_list::{CeExcludedView, EmptyQueue, NONE, PacketStore, Slab, View};
use perturb::Perturbation;
use schedule::Schedule;
use table::{Flow, Table};

/// A queue per flow, each managed by its own `A`.
pub struct FlowQueue<A, P> {
    new_aqm: Box<dyn FnMut() -> A + Send>,
    limits: Limits,
    bounds: Bounds,
    host: Host,
    table: Table<A>,
    schedule: Schedule,
    overflow_handler: OverflowHandler,
    perturbation: Perturbation,
    store: PacketStore<P>,
    /// Counter of changes of any flow's packet count.
    changes: u64,
    /// Lower bound on the next update of any scheduled flow.
    next_update: Instant,
    /// The flow served last, whose state is reported; initially a manager without a flow.
    last_served: u32,
    template_aqm: A,
    /// View that excludes CE-marked packets; usually none.
    ce_exclusion: Option<Box<CeExclusion>>,
    /// Whether a packet of a known flow is queued if it fits: the limits are the only bound, flows are never rehashed,
    /// and CE exclusion is off.
    has_fast_path: bool,
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// A queue without flows; `make` creates each flow's manager.
    pub fn new(config: &Config, make: impl FnMut() -> A + Send + 'static, limits: Limits, host: Host) -> Self {
        let mut new_aqm: Box<dyn FnMut() -> A + Send> = Box::new(make);
        let limits = config.within(limits);
        let mut template_aqm = new_aqm();
        // Bounds the allocation if the limit is generous.
        let capacity = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        let overflow_handler = OverflowHandler::new(config, limits.packets.unwrap_or(u32::MAX));
        let perturbation = Perturbation::new(config);
        Self {
            has_fast_path: template_aqm.fast_dequeue().is_some()
                && overflow_handler.has_fast_path()
                && perturbation.is_off(),
            template_aqm,
            new_aqm,
            bounds: limits.on(host.link),
            limits,
            table: Table::new(config, &host.rng),
            host,
            schedule: Schedule::new(config),
            overflow_handler,
            perturbation,
            // One more, for the packet that is queued before another makes room.
            store: PacketStore {
                packets: Slab::with_capacity(capacity + 1),
                backlog: Backlog::default(),
                stats: Stats::default(),
            },
            changes: 0,
            next_update: Instant::NEVER,
            last_served: NONE,
            ce_exclusion: None,
        }
    }

    /// Classifies flows by `classifier` instead of 5-tuple or host. Called before the first packet.
    pub fn classified_by(mut self, classifier: Classifier) -> Self {
        self.table.classify_by(classifier);
        self
    }

    /// The packet's flow; if it was idle, its missed updates are run.
    #[inline(always)] // hot in enqueue; rehashing is its other user
    fn find(&mut self, meta: &Meta, now: Instant) -> usize {
        let found = self.table.find(meta, &mut *self.new_aqm);
        let flow = &mut self.table.flows[found.flow];
        if found.is_new {
            flow.aqm.attach(&self.limits, self.host.link);
        }
        if flow.sched.is_unscheduled() {
            let backlogs = self.visible_backlogs(found.flow);
            let flow = &mut self.table.flows[found.flow];
            update(flow, &mut self.host, backlogs, now, false);
        }
        found.flow
    }

    /// Runs every update of scheduled flows due before `now`, or also at `now` if `inclusive`.
    #[inline]
    fn run_updates(&mut self, now: Instant, inclusive: bool) {
        if self.next_update < now || (inclusive && self.next_update == now) {
            self.update_flows(now, inclusive);
        }
    }

    fn update_flows(&mut self, now: Instant, inclusive: bool) {
        self.next_update = Instant::NEVER;
        let mut at = self.schedule.first();
        while let Some(i) = at {
            let backlogs = self.visible_backlogs(i);
            let flow = &mut self.table.flows[i];
            update(flow, &mut self.host, backlogs, now, inclusive);
            self.next_update = self.next_update.min(next_update(&mut flow.aqm).unwrap_or(Instant::NEVER));
            at = self.schedule.after(&self.table.flows, i);
        }
    }

    /// Includes the next update of flow `i` in `next_update`.
    #[inline]
    fn note_update(&mut self, i: usize) {
        if let Some(at) = self.table.flows.get_mut(i).and_then(|flow| next_update(&mut flow.aqm)) {
            self.next_update = self.next_update.min(at);
        }
    }

    /// Backlogs of all flows and of flow `i` as the manager sees them.
    #[inline(always)]
    fn visible_backlogs(&self, i: usize) -> (Backlog, Backlog) {
        let (total, backlog) = (self.store.backlog, self.table.flows[i].queue.backlog());
        match &self.ce_exclusion {
            None => (total, backlog),
            Some(exclusion) => exclusion.visible_backlogs(i, total, backlog),
        }
    }

    /// Flow `i`'s manager and the arguments of a call at `now`.
    #[inline(always)] // otherwise the parts go through memory
    fn call_parts<'a>(
        &'a mut self,
        now: Instant,
        i: usize,
        sink: &'a mut dyn Sink<P>,
    ) -> (&'a mut A, Cx<'a>, View<'a, P>) {
        let flow = &mut self.table.flows[i];
        let (total_backlog, backlog) = (self.store.backlog, flow.queue.backlog());
        let cx = Cx { now, rng: &mut self.host.rng, total_backlog, backlog, link: self.host.link };
        let view = View { store: &mut self.store, queue: &mut flow.queue, sink, popped: None };
        (&mut flow.aqm, cx, view)
    }

    /// The same with packets excluded: the manager, and the queue without them.
    fn with_ce_excluded<T>(
        &mut self,
        now: Instant,
        i: usize,
        sink: &mut dyn Sink<P>,
        call: impl FnOnce(&mut A, &mut Cx, &mut dyn Fifo) -> T,
    ) -> (T, Option<u32>) {
        let (total_backlog, backlog) = self.visible_backlogs(i);
        let mut exclusion = self.ce_exclusion.take();
        let (aqm, cx, mut view) = self.call_parts(now, i, sink);
        let mut cx = Cx { total_backlog, backlog, ..cx };
        let result = match exclusion.as_deref_mut() {
            None => call(aqm, &mut cx, &mut view),
            Some(exclusion) => call(aqm, &mut cx, &mut CeExcludedView { view: &mut view, now, flow: i, exclusion }),
        };
        let popped = view.popped;
        self.ce_exclusion = exclusion;
        (result, popped)
    }

    /// The limits reject a packet of flow `i`.
    #[cold]
    fn overflow(&mut self, now: Instant, i: usize, arrival: Arrival<P>, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let Arrival { meta, packet } = arrival;
        self.with_ce_excluded(now, i, sink, |aqm, cx, _| overflowed(aqm, cx, &meta));
        self.refuse(Arrival { meta, packet }, DropReason::Limit, sink)
    }

    #[inline(never)]
    fn refuse(&mut self, arrival: Arrival<P>, reason: DropReason, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let Arrival { meta, packet } = arrival;
        self.store.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        EnqueueResult::Dropped(reason)
    }

    /// Applies the manager's verdict to an arriving packet of flow `i`, or to one in its stead. Returns whether it is
    /// newly marked; `None` if it is dropped.
    #[cold]
    #[inline(never)]
    fn apply_verdict(
        &mut self,
        now: Instant,
        i: usize,
        (verdict, meta): (Verdict, &mut Meta),
        sink: &mut dyn Sink<P>,
    ) -> Option<bool> {
        if self.overflow_handler.headdrop {
            let (acted, _) = self.with_ce_excluded(now, i, sink, |_, _, queue| match verdict {
                Verdict::Mark if queue.meta(0).is_some_and(|head| head.ecn.is_ect()) => {
                    queue.mark(0, DropReason::Early)
                }
                Verdict::Mark if meta.ecn.is_ect() => false,
                // The arriving packet replaces the head.
                _ if !queue.is_empty() => {
                    queue.drop(0, DropReason::Early);
                    true
                }
                _ => false,
            });
            if acted {
                return Some(false);
            }
        }
        (verdict == Verdict::Mark && meta.ecn.is_ect()).then(|| mark(meta, &mut self.store.stats))
    }

    /// Queues a packet in flow `i`, which had `before` packets on its arrival. Returns its handle.
    #[inline(always)]
    fn push(&mut self, i: usize, before: u32, meta: Meta, packet: P) -> u32 {
        let flow = &mut self.table.flows[i];
        self.store.backlog.packets += 1;
        self.store.backlog.bytes += meta.len as u64;
        let handle = self.store.packets.push(&mut flow.queue, meta, packet);
        // A packet that replaces another leaves the flow's length unchanged.
        if self.overflow_handler.by_changes && flow.queue.packets != before {
            self.changes += 1;
            flow.changed = self.changes;
        }
        if flow.sched.is_unscheduled() {
            self.schedule.join(&mut self.table.flows, i);
        }
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.queued(meta.enqueued, i, handle, &meta);
        }
        handle
    }

    /// Records a change of flow `i`'s packet count.
    #[inline]
    fn changed(&mut self, i: usize) {
        if self.overflow_handler.by_changes {
            self.changes += 1;
            self.table.flows[i].changed = self.changes;
        }
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Requests a packet from the manager of flow `i`, which is not empty. Returns its handle.
    #[inline(always)]
    fn dequeue_from(&mut self, now: Instant, i: usize, sink: &mut dyn Sink<P>) -> Option<u32> {
        if self.ce_exclusion.is_some() {
            return self.dequeue_excluding(now, i, sink);
        }
        let (aqm, mut cx, mut view) = self.call_parts(now, i, sink);
        let popped = aqm.dequeue(&mut cx, &mut view);
        let handle = view.popped;
        debug_assert_eq!(popped.is_some(), handle.is_some(), "an algorithm returns the packet it popped");
        if view.queue.is_empty() {
            emptied(aqm, &mut cx);
        }
        handle
    }

    /// Out of line: a manager with a fast path rarely needs it.
    #[inline(never)]
    fn dequeue_from_cold(&mut self, now: Instant, i: usize, sink: &mut dyn Sink<P>) -> Option<u32> {
        self.dequeue_from(now, i, sink)
    }

    /// Calls the manager of flow `i`, which is served and empty. The queue type is known to be empty, so most of the
    /// manager's code is optimised away.
    #[inline]
    fn serve_empty(&mut self, now: Instant, i: usize) {
        let (total_backlog, backlog) = self.visible_backlogs(i);
        let cx = &mut Cx { now, rng: &mut self.host.rng, total_backlog, backlog, link: self.host.link };
        self.table.flows[i].aqm.dequeue(cx, &mut EmptyQueue { total: self.store.backlog });
        self.changed(i);
        self.note_update(i);
        self.schedule.ran_empty(&mut self.table.flows, i);
    }

    /// The verdict of flow `i`'s manager on an arrival, with packets that carry CE excluded.
    #[cold]
    #[inline(never)]
    fn enqueue_excluding(&mut self, now: Instant, i: usize, meta: &Meta, sink: &mut dyn Sink<P>) -> Verdict {
        self.with_ce_excluded(now, i, sink, |aqm, cx, queue| aqm.enqueue(cx, meta, queue)).0
    }

    /// Dequeues from flow `i` with packets that carry CE excluded. Returns the handle.
    #[cold]
    #[inline(never)]
    fn dequeue_excluding(&mut self, now: Instant, i: usize, sink: &mut dyn Sink<P>) -> Option<u32> {
        let (_, handle) = self.with_ce_excluded(now, i, sink, |aqm, cx, queue| {
            aqm.dequeue(cx, queue);
            if queue.is_empty() {
                emptied(aqm, cx);
            }
        });
        if let (Some(exclusion), Some(handle)) = (&mut self.ce_exclusion, handle) {
            exclusion.sent(now, self.store.packets.meta(handle).ecn == Ecn::Ce);
        }
        handle
    }
}

impl<A: Aqm + Send, P: 'static> Qdisc<P> for FlowQueue<A, P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.reserve_all(memory)
    }

    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.catch_up(now, sink);
        meta.enqueued = now;
        self.store.stats.arrived.add(meta.len);
        let i = self.find(&meta, now);
        let fits = self.bounds.admit(self.store.backlog, meta.len);
        if !(self.has_slot(i) && (fits || self.make_room(now, meta.len, sink)) && self.shares_fairly(i)) {
            return self.overflow(now, i, Arrival { meta, packet }, sink);
        }
        let before = self.table.flows[i].queue.packets;
        let verdict = if self.ce_exclusion.is_none() {
            let (aqm, mut cx, mut view) = self.call_parts(now, i, sink);
            aqm.enqueue(&mut cx, &meta, &mut view)
        } else {
            self.enqueue_excluding(now, i, &meta, sink)
        };
        let mut marked = false;
        if verdict != Verdict::Accept {
            match self.apply_verdict(now, i, (verdict, &mut meta), sink) {
                Some(newly) => marked = newly,
                None => return self.refuse(Arrival { meta, packet }, DropReason::Early, sink),
            }
        }
        if !self.bound_depth(now, i, sink) {
            return self.overflow(now, i, Arrival { meta, packet }, sink);
        }
        let handle = self.push(i, before, Meta { enqueued: now, ..meta }, packet);
        self.note_update(i);
        if !fits && !self.shed_excess(now, handle, sink) {
            return EnqueueResult::Dropped(DropReason::Limit);
        }
        if marked { EnqueueResult::Marked } else { EnqueueResult::Queued }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.catch_up(now, sink);
        while let Some(i) = self.next_backlogged_flow(now) {
            let handle = match self.release_head(now, i) {
                None if self.template_aqm.fast_dequeue().is_some() => self.dequeue_from_cold(now, i, sink),
                None => self.dequeue_from(now, i, sink),
                head => head,
            };
            self.changed(i);
            self.note_update(i);
            if let Some(handle) = handle {
                let len = self.store.packets.meta(handle).len;
                self.schedule.served(&mut self.table.flows, i, len);
                return self.store.send(handle);
            }
            if !self.table.flows[i].queue.is_empty() {
                // The manager holds its packets: the flow stays scheduled.
                self.schedule.rotate(&mut self.table.flows, i);
                break;
            }
            self.schedule.ran_empty(&mut self.table.flows, i);
        }
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.idle(now);
        }
        DequeueResult::Empty
    }

    fn exclude_ce(&mut self) -> bool {
        (self.ce_exclusion, self.has_fast_path) = (Some(Box::default()), false);
        true
    }

    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let old: &mut Self = old.downcast_mut().ok_or(ConfigError::Immutable)?;
        self.inherit_from(old, now, sink)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn settle(&mut self, now: Instant) {
        self.run_updates(now, true);
        let i = self.last_served as usize;
        if i < self.table.flows.len() {
            let backlogs = self.visible_backlogs(i);
            update(&mut self.table.flows[i], &mut self.host, backlogs, now, true);
        }
    }

    fn backlog(&self) -> Backlog {
        self.store.backlog
    }

    fn stats(&self) -> &Stats {
        &self.store.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.schedule.len();
        see("new_flows", new as f64);
        see("old_flows", old as f64);
        see("new_flow_count", self.schedule.new_flow_count as f64);
        see("drop_overlimit", self.store.stats.dropped[DropReason::Limit as usize].packets as f64);
        self.table.flows.get(self.last_served as usize).map_or(&self.template_aqm, |flow| &flow.aqm).observe(see);
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        let busy = |flow: &&Flow<A>| !flow.sched.is_unscheduled() || !flow.queue.is_empty();
        let mut busy: Vec<&Flow<A>> = self.table.flows.iter().filter(busy).collect();
        busy.sort_by_key(|flow| flow.bucket);
        for flow in busy {
            see(SubqueueInfo {
                kind: "flow",
                number: flow.bucket,
                list: flow.sched.list_name(),
                backlog: flow.queue.backlog(),
                deficit: self.schedule.deficit(&flow.sched),
                head: flow.queue.head().map(|head| *self.store.packets.meta(head)),
                observe: &|see| flow.aqm.observe(see),
            });
        }
    }
}

impl<A: fmt::Debug, P: fmt::Debug> fmt::Debug for FlowQueue<A, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowQueue")
            .field("limits", &self.limits)
            .field("table", &self.table)
            .field("schedule", &self.schedule)
            .field("total", &self.store.backlog)
            .field("stats", &self.store.stats)
            .finish_non_exhaustive()
    }
}

/// Runs the updates of a flow's manager due before `now`, or also at `now` if `inclusive`; `backlogs` are those of all
/// flows and of its own.
#[inline]
fn update<A: Aqm>(flow: &mut Flow<A>, host: &mut Host, backlogs: (Backlog, Backlog), now: Instant, inclusive: bool) {
    let Some(timer) = flow.aqm.timer() else { return };
    while timer.next_update().is_some_and(|at| at <= now) {
        if flow.queue.is_empty() {
            timer.skip_idle(now);
        }
        let at = timer.next_update().unwrap_or(Instant::NEVER);
        if at > now || (at == now && !inclusive) {
            return;
        }
        let (total_backlog, backlog) = backlogs;
        let mut cx = Cx { now: at, rng: &mut host.rng, total_backlog, backlog, link: host.link };
        timer.update(at, &mut cx);
    }
}

const MAX_PREALLOCATED: u32 = 1024;
