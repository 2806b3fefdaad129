//! Flows queued apart, each under its own queue manager of any kind, and served in turn: FQ-CoDel (RFC 8290),
//! FQ-PIE, sfqCoDel, SFQ, DRR and `fq(anything)` are compositions of what is here.
//!
//! `table` finds a packet's flow, `schedule` says whose turn it is, `overflow` makes room, `line` holds packets, and
//! `perturb` hashes them anew.
//!
//! A manager sees its own queue; `total_backlog` is that of all flows. Its periodic updates run at their times while
//! its flow is scheduled; those of an idle flow run when its next packet comes, before that packet is judged.

mod compose;
mod config;
mod left_out;
pub(crate) mod line;
mod overflow;
mod perturb;
mod schedule;
mod table;
#[cfg(test)]
mod tests;
mod turn;

pub use compose::{Composed, build, flow_bytes, join, queue_bytes};
pub use config::{Config, Hash, Isolation, Overflow, Scheduler};
pub use table::Classifier;

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Popped, Verdict};
use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::qdisc::{Dequeued, Enqueued, Host, Qdisc, Sink, Stats};
use crate::single::mark;
use crate::time::Instant;
use alloc::boxed::Box;
use core::fmt;
use left_out::LeftOut;
use line::{Slab, View};
use overflow::Shedding;
use perturb::Perturbation;
use schedule::Schedule;
use table::{Flow, Table};

/// Queues for flows, each managed by an `A` of its own.
pub struct FlowQueue<A, P> {
    make: Box<dyn FnMut() -> A + Send>,
    limits: Limits,
    host: Host,
    table: Table<A>,
    schedule: Schedule,
    shedding: Shedding,
    perturbation: Perturbation,
    packets: Slab<P>,
    total: Backlog,
    stats: Stats,
    /// Changes of any flow's number of packets.
    changes: u64,
    /// No update of a scheduled flow is due before this.
    soonest: Instant,
    /// The flow served last, whose state is shown; before the first one, a manager without a flow.
    shown: Option<usize>,
    unused: A,
    /// What the managers do not see; usually nothing is left out.
    left_out: Option<Box<LeftOut>>,
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// No flows yet; `make` makes each one's manager.
    pub fn new(config: &Config, make: impl FnMut() -> A + Send + 'static, limits: Limits, host: Host) -> Self {
        let mut make: Box<dyn FnMut() -> A + Send> = Box::new(make);
        let limits = within(limits, config);
        // Room for what fits, up to a size that costs little when the limit is generous.
        let capacity = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        Self {
            unused: make(),
            make,
            limits,
            table: Table::new(config, &host.rng),
            host,
            schedule: Schedule::new(config),
            shedding: Shedding::new(config, limits.packets.unwrap_or(u32::MAX)),
            perturbation: Perturbation::new(config),
            // One more, for the packet that is queued before another one makes room.
            packets: Slab::with_capacity(capacity + 1),
            total: Backlog::default(),
            stats: Stats::default(),
            changes: 0,
            soonest: Instant::NEVER,
            shown: None,
            left_out: None,
        }
    }

    /// Tells flows apart by `classifier` instead of by 5-tuple or host; before the first packet.
    pub fn classified_by(mut self, classifier: Classifier) -> Self {
        self.table.classify_by(classifier);
        self
    }

    /// The packet's flow, with its updates made up for if it was idle.
    #[inline(always)] // hot in enqueue; rehashing is its other user
    fn find(&mut self, meta: &Meta, now: Instant) -> usize {
        let found = self.table.find(meta, &mut *self.make);
        let flow = &mut self.table.flows[found.flow];
        if found.is_new {
            flow.aqm.attach(&self.limits, self.host.link);
        }
        if flow.turn.is_off() {
            let backlogs = self.seen_backlogs(found.flow);
            let flow = &mut self.table.flows[found.flow];
            update(flow, &mut self.host, backlogs, now, false);
        }
        found.flow
    }

    /// Runs every update of the scheduled flows that is due before `now` (up to and including it for `inclusive`).
    #[inline]
    fn run_updates(&mut self, now: Instant, inclusive: bool) {
        if self.soonest < now || (inclusive && self.soonest == now) {
            self.update_flows(now, inclusive);
        }
    }

    fn update_flows(&mut self, now: Instant, inclusive: bool) {
        self.soonest = Instant::NEVER;
        let mut at = self.schedule.first();
        while let Some(i) = at {
            let backlogs = self.seen_backlogs(i);
            let flow = &mut self.table.flows[i];
            update(flow, &mut self.host, backlogs, now, inclusive);
            self.soonest = self.soonest.min(flow.aqm.next_update().unwrap_or(Instant::NEVER));
            at = self.schedule.after(&self.table.flows, i);
        }
    }

    /// Takes note of when the manager of flow `i` wants its next update.
    #[inline]
    fn note_update(&mut self, i: usize) {
        if let Some(at) = self.table.flows[i].aqm.next_update() {
            self.soonest = self.soonest.min(at);
        }
    }

    /// The backlogs of all flows and of flow `i` as its manager sees them.
    #[inline(always)]
    fn seen_backlogs(&self, i: usize) -> (Backlog, Backlog) {
        let (total, backlog) = (self.total, self.table.flows[i].line.backlog());
        match &self.left_out {
            None => (total, backlog),
            Some(left_out) => left_out.others(i, total, backlog),
        }
    }

    /// Flow `i`'s manager and what it gets for a call at `now`.
    #[inline(always)] // else the parts are moved through memory
    fn lend<'a>(&'a mut self, now: Instant, i: usize, sink: &'a mut dyn Sink<P>) -> (&'a mut A, Cx<'a>, View<'a, P>) {
        let (total_backlog, backlog) = self.seen_backlogs(i);
        let flow = &mut self.table.flows[i];
        let cx = Cx { now, rng: &mut self.host.rng, total_backlog, backlog, link: self.host.link };
        let view = View {
            now,
            flow: i,
            packets: &mut self.packets,
            line: &mut flow.line,
            total: &mut self.total,
            stats: &mut self.stats,
            sink,
            left_out: self.left_out.as_deref_mut(),
            out: None,
        };
        (&mut flow.aqm, cx, view)
    }

    /// The limits refuse a packet of flow `i`.
    #[cold]
    fn overflow(&mut self, now: Instant, i: usize, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> Enqueued {
        let (aqm, mut cx, _) = self.lend(now, i, sink);
        aqm.overflowed(&mut cx, &meta);
        self.refuse(meta, packet, DropReason::Limit, sink)
    }

    #[inline(never)]
    fn refuse(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) -> Enqueued {
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        Enqueued::Dropped(reason)
    }

    /// Queues a packet in flow `i`, which had `before` packets when it came; its handle.
    #[inline]
    fn push(&mut self, i: usize, before: u32, meta: Meta, packet: P) -> u32 {
        let flow = &mut self.table.flows[i];
        self.total.packets += 1;
        self.total.bytes += meta.len as u64;
        let handle = self.packets.push(&mut flow.line, meta, packet);
        if let Some(left_out) = &mut self.left_out {
            left_out.queued(meta.enqueued, i, handle, &meta);
        }
        // A packet that takes another one's place leaves its flow as long as it was.
        if flow.line.packets != before {
            self.changes += 1;
            flow.changed = self.changes;
        }
        self.schedule.activate(&mut self.table.flows, i);
        handle
    }
}

impl<A: Aqm, P> Qdisc<P> for FlowQueue<A, P> {
    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> Enqueued {
        self.catch_up(now, sink);
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let i = self.find(&meta, now);
        if !self.make_room(now, i, meta.len, sink) {
            return self.overflow(now, i, meta, packet, sink);
        }
        let headdrop = self.shedding.headdrop;
        let mut marked = false;
        let (aqm, mut cx, mut view) = self.lend(now, i, sink);
        let before = view.line.packets;
        match aqm.enqueue(&mut cx, &meta, &mut view) {
            Verdict::Accept => {}
            Verdict::Mark if headdrop && view.meta(0).is_some_and(|head| head.ecn.is_ect()) => {
                view.mark(0, DropReason::Early);
            }
            Verdict::Mark if meta.ecn.is_ect() => marked = mark(&mut meta, view.stats),
            // The arriving packet takes its place.
            Verdict::Mark | Verdict::Drop if headdrop && !view.line.is_empty() => view.drop(0, DropReason::Early),
            Verdict::Mark | Verdict::Drop => return self.refuse(meta, packet, DropReason::Early, sink),
        }
        if !self.bound_depth(now, i, sink) {
            return self.overflow(now, i, meta, packet, sink);
        }
        let handle = self.push(i, before, meta, packet);
        self.note_update(i);
        match self.shed_excess(now, handle, sink) {
            false => Enqueued::Dropped(DropReason::Limit),
            true if marked => Enqueued::Marked,
            true => Enqueued::Queued,
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Dequeued<P> {
        self.catch_up(now, sink);
        while let Some(i) = self.schedule.ready(&mut self.table.flows, &self.packets) {
            let (aqm, mut cx, mut view) = self.lend(now, i, sink);
            let popped = aqm.dequeue(&mut cx, &mut view);
            let (out, is_empty) = (view.out, view.line.is_empty());
            debug_assert_eq!(popped.is_some(), out.is_some(), "an algorithm returns what it popped");
            if is_empty && cx.backlog.packets > 0 {
                aqm.emptied(&mut cx);
            }
            self.changes += 1;
            self.table.flows[i].changed = self.changes;
            self.shown = Some(i);
            self.note_update(i);
            if let (Some(Popped { meta }), Some(packet)) = (popped, out) {
                self.schedule.served(&mut self.table.flows, i, meta.len);
                self.stats.departed.add(meta.len);
                let meta = match &mut self.left_out {
                    None => meta,
                    Some(left_out) => left_out.sent(now, meta),
                };
                return Dequeued::Packet(meta, packet);
            }
            if !is_empty {
                // The manager keeps its packets back: they stay on the schedule.
                self.schedule.rotate(&mut self.table.flows);
                break;
            }
            self.schedule.ran_empty(&mut self.table.flows, i);
        }
        if let Some(left_out) = &mut self.left_out {
            left_out.idle(now);
        }
        Dequeued::Empty
    }

    fn exclude_ce(&mut self) -> bool {
        self.left_out = Some(Box::default());
        true
    }

    fn settle(&mut self, now: Instant) {
        self.run_updates(now, true);
        if let Some(i) = self.shown {
            let backlogs = self.seen_backlogs(i);
            update(&mut self.table.flows[i], &mut self.host, backlogs, now, true);
        }
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (new, old) = self.schedule.len();
        see("new_flows", new as f64);
        see("old_flows", old as f64);
        see("new_flow_count", self.schedule.new_flow_count as f64);
        see("drop_overlimit", self.stats.dropped[DropReason::Limit as usize].packets as f64);
        self.shown.map_or(&self.unused, |i| &self.table.flows[i].aqm).observe(see);
    }
}

impl<A: fmt::Debug, P: fmt::Debug> fmt::Debug for FlowQueue<A, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowQueue")
            .field("limits", &self.limits)
            .field("table", &self.table)
            .field("schedule", &self.schedule)
            .field("total", &self.total)
            .field("stats", &self.stats)
            .finish_non_exhaustive()
    }
}

/// Runs the updates of a flow's manager, which sees `backlogs` of all flows and of its own, that are due before `now` (up to and including it for `inclusive`).
#[inline]
fn update<A: Aqm>(flow: &mut Flow<A>, host: &mut Host, backlogs: (Backlog, Backlog), now: Instant, inclusive: bool) {
    while flow.aqm.next_update().is_some_and(|at| at <= now) {
        if flow.line.is_empty() {
            flow.aqm.rest(now);
        }
        let at = flow.aqm.next_update().unwrap_or(Instant::NEVER);
        if at > now || (at == now && !inclusive) {
            return;
        }
        let (total_backlog, backlog) = backlogs;
        let mut cx = Cx { now: at, rng: &mut host.rng, total_backlog, backlog, link: host.link };
        flow.aqm.update(at, &mut cx);
    }
}

/// The host's limits and the configured ones.
fn within(limits: Limits, config: &Config) -> Limits {
    let bytes = limits.bytes.map_or(config.memory_limit.0, |most| most.min(config.memory_limit.0));
    Limits { bytes: Some(bytes), ..limits.with_packets(config.limit as u32) }
}

const MAX_PREALLOCATED: u32 = 1024;
