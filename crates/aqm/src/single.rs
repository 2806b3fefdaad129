//! One queue under one algorithm.

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Popped, Verdict};
use crate::backlog::Backlog;
use crate::left_out::{CeBacklog, CeTime};
use crate::limits::Limits;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{Dequeued, Enqueued, Host, Qdisc, Sink, Stats};
use crate::ring::Ring;
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// A first-in-first-out queue with limits, managed by `A`.
#[derive(Debug)]
pub struct SingleQueue<A, P> {
    aqm: A,
    limits: Limits,
    host: Host,
    ring: Ring<P>,
    stats: Stats,
    /// What the algorithm does not see; usually nothing is left out.
    left_out: Option<Box<LeftOut>>,
}

impl<A: Aqm, P> SingleQueue<A, P> {
    /// An empty queue with room for what fits, up to 1024 packets.
    pub fn new(aqm: A, limits: Limits, host: Host) -> Self {
        // A size that costs little when the limit is generous.
        let capacity = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        Self::with_capacity(aqm, limits, host, capacity)
    }

    /// An empty queue with room for `capacity` packets: it allocates no more as long as no more wait.
    pub fn with_capacity(mut aqm: A, limits: Limits, host: Host, capacity: usize) -> Self {
        aqm.attach(&limits, host.link);
        Self { aqm, limits, host, ring: Ring::with_capacity(capacity), stats: Stats::default(), left_out: None }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        &self.aqm
    }

    /// Runs every update due before `now` (up to and including it for `inclusive`).
    #[inline]
    fn run_updates(&mut self, now: Instant, inclusive: bool) {
        while let Some(at) = self.aqm.next_update() {
            if at > now || (at == now && !inclusive) {
                return;
            }
            let waiting = self.seen_backlog();
            let mut cx =
                Cx { now: at, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
            self.aqm.update(at, &mut cx);
        }
    }

    /// The backlog as the algorithm sees it.
    #[inline]
    fn seen_backlog(&self) -> Backlog {
        let waiting = backlog(&self.ring);
        self.left_out.as_ref().map_or(waiting, |left_out| left_out.backlog.others(waiting))
    }
}

impl<A: Aqm, P> Qdisc<P> for SingleQueue<A, P> {
    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> Enqueued {
        self.run_updates(now, false);
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let waiting = self.seen_backlog();
        let mut cx =
            Cx { now, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
        let fits = self.limits.admit(backlog(&self.ring), meta.len, self.host.link);
        if !fits && !self.aqm.judges_overflow() {
            self.aqm.overflowed(&mut cx, &meta);
            return self.refuse(meta, packet, DropReason::Limit, sink);
        }
        let left_out = self.left_out.as_deref_mut();
        let mut view = View { now, ring: &mut self.ring, stats: &mut self.stats, sink, left_out, out: None };
        let verdict = self.aqm.enqueue(&mut cx, &meta, &mut view);
        if verdict == Verdict::Drop || verdict == Verdict::Mark && !meta.ecn.is_ect() {
            return self.refuse(meta, packet, DropReason::Early, sink);
        }
        if !fits && !self.limits.admit(backlog(&self.ring), meta.len, self.host.link) {
            self.aqm.overflowed(&mut cx, &meta);
            return self.refuse(meta, packet, DropReason::Limit, sink);
        }
        // Field by field: a wider load of what was stamped just now would wait for the stamp to be stored.
        let mut queued = Meta { enqueued: now, ..meta };
        let marked = verdict == Verdict::Mark && mark(&mut queued, &mut self.stats);
        self.ring.push(queued, packet);
        if let Some(left_out) = &mut self.left_out {
            left_out.queued(now, &queued);
        }
        if marked { Enqueued::Marked } else { Enqueued::Queued }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Dequeued<P> {
        self.run_updates(now, false);
        let was_empty = self.ring.is_empty();
        let waiting = self.seen_backlog();
        let mut cx =
            Cx { now, rng: &mut self.host.rng, total_backlog: waiting, backlog: waiting, link: self.host.link };
        let left_out = self.left_out.as_deref_mut();
        let mut view = View { now, ring: &mut self.ring, stats: &mut self.stats, sink, left_out, out: None };
        let popped = self.aqm.dequeue(&mut cx, &mut view);
        let out = view.out;
        debug_assert_eq!(popped.is_some(), out.is_some(), "an algorithm returns what it popped");
        if self.ring.is_empty() && !was_empty {
            self.aqm.emptied(&mut cx);
        }
        if let Some(left_out) = &mut self.left_out {
            left_out.time.departed(now, out.as_ref().is_some_and(|(meta, _)| meta.ecn == Ecn::Ce));
        }
        match out {
            Some((meta, packet)) => {
                self.stats.departed.add(meta.len);
                Dequeued::Packet(meta, packet)
            }
            None => Dequeued::Empty,
        }
    }

    fn pass(&mut self, now: Instant, mut meta: Meta) -> Option<Meta> {
        let passes = A::LETS_PASS && self.left_out.is_none() && self.ring.is_empty();
        if !passes || !self.limits.admit(Backlog::default(), meta.len, self.host.link) {
            return None;
        }
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        self.stats.departed.add(meta.len);
        Some(meta)
    }

    fn exclude_ce(&mut self) -> bool {
        self.left_out = Some(Box::default());
        true
    }

    fn settle(&mut self, now: Instant) {
        self.run_updates(now, true);
    }

    fn backlog(&self) -> Backlog {
        backlog(&self.ring)
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.aqm.observe(see);
    }
}

impl<A: Aqm, P> SingleQueue<A, P> {
    fn refuse(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) -> Enqueued {
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        Enqueued::Dropped(reason)
    }
}

/// What an algorithm does not see where CE-marked packets are left out.
#[derive(Clone, Debug, Default)]
struct LeftOut {
    time: CeTime,
    backlog: CeBacklog,
    /// For each waiting packet the time that had been spent on others when it came.
    before: VecDeque<Duration>,
}

impl LeftOut {
    fn queued(&mut self, now: Instant, meta: &Meta) {
        self.before.push_back(self.time.at(now));
        if meta.ecn == Ecn::Ce {
            self.backlog.add(meta);
        }
    }

    /// Packet `i` has left the queue; how the algorithm sees it.
    fn removed(&mut self, now: Instant, i: usize, meta: &Meta) -> Meta {
        self.backlog.remove(meta);
        let before = self.before.remove(i).expect("each waiting packet has its time");
        self.time.seen(now, before, *meta)
    }
}

/// The queue as borrowed by the algorithm for one call.
struct View<'a, P> {
    now: Instant,
    ring: &'a mut Ring<P>,
    stats: &'a mut Stats,
    sink: &'a mut dyn Sink<P>,
    left_out: Option<&'a mut LeftOut>,
    out: Option<(Meta, P)>,
}

impl<P> Fifo for View<'_, P> {
    #[inline]
    fn len(&self) -> usize {
        self.ring.len()
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.ring.bytes()
    }
    #[inline]
    fn total_backlog(&self) -> Backlog {
        backlog(self.ring)
    }
    #[inline]
    fn meta(&self, i: usize) -> Option<Meta> {
        let meta = self.ring.get(i)?.meta;
        Some(match &self.left_out {
            None => meta,
            Some(left_out) => left_out.time.seen(self.now, left_out.before[i], meta),
        })
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(queued) = self.ring.get_mut(i) else { return false };
        if queued.meta.ecn.is_ect() {
            if mark(&mut queued.meta, self.stats) {
                if let Some(left_out) = &mut self.left_out {
                    left_out.backlog.add(&queued.meta);
                }
            }
            return true;
        }
        self.drop(i, reason);
        false
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(queued) = self.ring.remove(i) {
            if let Some(left_out) = &mut self.left_out {
                left_out.removed(self.now, i, &queued.meta);
            }
            self.stats.dropped[reason as usize].add(queued.meta.len);
            self.sink.dropped(queued.meta, queued.packet, reason);
        }
    }
    #[inline]
    fn pop(&mut self) -> Option<Popped> {
        debug_assert!(self.out.is_none(), "one pop per dequeue");
        let queued = self.ring.pop()?;
        let meta = match &mut self.left_out {
            None => queued.meta,
            Some(left_out) => left_out.removed(self.now, 0, &queued.meta),
        };
        let popped = Popped { meta };
        self.out = Some((queued.meta, queued.packet));
        Some(popped)
    }
}

/// Sets CE; a packet that carries it already is not counted again. Returns whether it is new.
pub(crate) fn mark(meta: &mut Meta, stats: &mut Stats) -> bool {
    let newly = meta.ecn != Ecn::Ce;
    if newly {
        meta.ecn = Ecn::Ce;
        stats.marked.add(meta.len);
    }
    newly
}

#[inline]
fn backlog<P>(ring: &Ring<P>) -> Backlog {
    Backlog { packets: ring.len() as u32, bytes: ring.bytes() }
}

const MAX_PREALLOCATED: u32 = 1024;
