//! Two queues with coupled managers on one link: one for classic traffic, one for scalable low-latency traffic (RFC
//! 9332).

use crate::aqm::{Cx, DropReason, Verdict};
use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::reservation::{Reservation, ReservationError};
use crate::ring::Ring;
use crate::single::mark;
use crate::time::Instant;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;

/// One of the two queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueKind {
    /// The classic queue, C.
    Classic,
    /// The low-latency queue, L.
    L4s,
}

/// One queue as the manager sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSnapshot {
    /// Its backlog.
    pub backlog: Backlog,
    /// Enqueue time of the head.
    pub head_enqueued: Option<Instant>,
}

impl QueueSnapshot {
    /// Time the head has been queued, in seconds; zero if the queue is empty.
    pub fn head_delay(&self, now: Instant) -> f64 {
        self.head_enqueued.map_or(0.0, |since| (now - since).as_secs_f64())
    }
}

/// Both queues as the manager sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualSnapshot {
    /// Queue C.
    pub classic: QueueSnapshot,
    /// Queue L.
    pub l4s: QueueSnapshot,
}

/// A manager of two queues: classifies packets, selects the queue to serve, and decides on packets.
pub trait DualAqm: 'static {
    /// See [`Lifecycle::inherit`](crate::Lifecycle::inherit); the queues drop packets that no longer fit.
    fn inherit(&mut self, old: &Self) -> Result<(), ConfigError>
    where
        Self: Sized,
    {
        let _ = old;
        Err(ConfigError::Immutable)
    }

    /// See [`Lifecycle::reserve`](crate::Lifecycle::reserve); either queue may hold all packets.
    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        let _ = (packets, memory);
        Ok(())
    }

    /// Whether super-packets are split before they are queued, see [`Qdisc::splits_gso`].
    fn splits_gso(&self) -> bool {
        false
    }

    /// The queue that a packet joins.
    fn classify(&self, meta: &Meta) -> QueueKind;

    /// Decides on an arriving packet that fits the limits. `cx.backlog` is that of its queue, without it.
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        let _ = (cx, meta, side);
        Verdict::Accept
    }

    /// The limits rejected an arriving packet; `waiting` is the backlog of both queues.
    fn overflowed(&mut self, now: Instant, meta: &Meta, waiting: Backlog) {
        let _ = (now, meta, waiting);
    }

    /// The queue to serve next, which is not empty; `None` if both are.
    fn choose(&mut self, now: Instant, link: Link, queues: &DualSnapshot) -> Option<QueueKind>;

    /// Decides on the head of the selected queue. It has been removed: neither `queues` nor the backlogs of `cx`
    /// contain it.
    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict;

    /// A packet of `len` bytes is sent from `side`; `queues` do not contain it.
    fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot);

    /// Time of the next [`DualAqm::update`].
    fn next_update(&self) -> Instant;

    /// Periodic update, at the scheduled time.
    fn update(&mut self, at: Instant, queues: &DualSnapshot);

    /// Both queues are empty and no packet arrives before `until`: [`Timer::skip_idle`](crate::Timer::skip_idle).
    fn skip_idle(&mut self, until: Instant) {
        let _ = until;
    }

    /// Reports the state variables by name; times in seconds.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64));
}

/// Two queues under `A`, with common limits.
#[derive(Debug)]
pub struct DualQueue<A, P> {
    aqm: A,
    limits: Limits,
    host: Host,
    classic: Ring<P>,
    l4s: Ring<P>,
    stats: Stats,
}

impl<A: DualAqm, P> DualQueue<A, P> {
    /// Two empty queues.
    pub fn new(aqm: A, limits: Limits, host: Host) -> Self {
        // Bounds the allocation if the limit is generous.
        let capacity = limits.packets.unwrap_or(MAX_PREALLOCATED).min(MAX_PREALLOCATED) as usize;
        let ring = || Ring::with_capacity(capacity);
        Self { aqm, limits, host, classic: ring(), l4s: ring(), stats: Stats::default() }
    }

    fn ring(&mut self, side: QueueKind) -> &mut Ring<P> {
        match side {
            QueueKind::Classic => &mut self.classic,
            QueueKind::L4s => &mut self.l4s,
        }
    }

    fn snapshot(&self) -> DualSnapshot {
        let waiting = |ring: &Ring<P>| QueueSnapshot {
            backlog: Backlog { packets: ring.len() as u32, bytes: ring.bytes() },
            head_enqueued: ring.meta(0).map(|head| head.enqueued),
        };
        DualSnapshot { classic: waiting(&self.classic), l4s: waiting(&self.l4s) }
    }

    /// The manager and the context of a call about a packet of `side`.
    fn manager_and_cx(&mut self, now: Instant, side: QueueKind) -> (&mut A, Cx<'_>) {
        let total_backlog = self.total();
        let ring = self.ring(side);
        let backlog = Backlog { packets: ring.len() as u32, bytes: ring.bytes() };
        (&mut self.aqm, Cx { now, rng: &mut self.host.rng, total_backlog, backlog, link: self.host.link })
    }

    fn total(&self) -> Backlog {
        let packets = (self.classic.len() + self.l4s.len()) as u32;
        Backlog { packets, bytes: self.classic.bytes() + self.l4s.bytes() }
    }

    /// Runs every update due before `now`, or also at `now` if `inclusive`.
    #[inline(always)]
    fn run_updates(&mut self, now: Instant, inclusive: bool) {
        while self.aqm.next_update() < now || (inclusive && self.aqm.next_update() == now) {
            self.update(now);
        }
    }

    /// Runs the next update; out of line, since few packets find one due.
    #[cold]
    #[inline(never)]
    fn update(&mut self, now: Instant) {
        let queues = self.snapshot();
        self.aqm.update(self.aqm.next_update(), &queues);
        if self.total().packets == 0 {
            self.aqm.skip_idle(now);
        }
    }

    fn discard(&mut self, meta: Meta, packet: P, reason: DropReason, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.stats.dropped[reason as usize].add(meta.len);
        sink.dropped(meta, packet, reason);
        EnqueueResult::Dropped(reason)
    }
}

impl<A: DualAqm, P: 'static> Qdisc<P> for DualQueue<A, P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        let packets = memory.bound(&mut self.limits, self.host.link);
        self.classic.reserve(packets, memory)?;
        self.l4s.reserve(packets, memory)?;
        self.aqm.reserve(packets, memory)
    }

    /// Packets that no longer fit are dropped at the heads, first of the classic queue, then of the other
    /// (`dualpi2_change`).
    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let old: &mut Self = old.downcast_mut().ok_or(ConfigError::Immutable)?;
        old.run_updates(now, true);
        self.aqm.inherit(&old.aqm)?;
        self.classic.take_over(&mut old.classic);
        self.l4s.take_over(&mut old.l4s);
        core::mem::swap(&mut self.host.rng, &mut old.host.rng);
        self.stats = old.stats;
        while !self.limits.hold(self.total(), self.host.link) {
            let Some(queued) = self.classic.pop().or_else(|| self.l4s.pop()) else { break };
            self.discard(queued.meta, queued.packet, DropReason::Limit, sink);
        }
        Ok(())
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn splits_gso(&self) -> bool {
        self.aqm.splits_gso()
    }

    fn enqueue(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.run_updates(now, false);
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let total = self.total();
        if !self.limits.admit(total, meta.len, self.host.link) {
            self.aqm.overflowed(now, &meta, total);
            return self.discard(meta, packet, DropReason::Limit, sink);
        }
        let side = self.aqm.classify(&meta);
        let (aqm, mut cx) = self.manager_and_cx(now, side);
        let marked = match aqm.enqueue(&mut cx, &meta, side) {
            Verdict::Accept => false,
            Verdict::Mark if meta.ecn.is_ect() => mark(&mut meta, &mut self.stats),
            Verdict::Mark | Verdict::Drop => return self.discard(meta, packet, DropReason::Early, sink),
        };
        self.ring(side).push(meta, packet);
        if marked { EnqueueResult::Marked } else { EnqueueResult::Queued }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.run_updates(now, false);
        loop {
            let queues = self.snapshot();
            let Some(side) = self.aqm.choose(now, self.host.link, &queues) else { return DequeueResult::Empty };
            let queued = self.ring(side).pop().expect("the chosen queue is not empty");
            let (mut meta, packet) = (queued.meta, queued.packet);
            let (aqm, mut cx) = self.manager_and_cx(now, side);
            match aqm.judge(&mut cx, &meta, side) {
                Verdict::Accept => {}
                Verdict::Mark if meta.ecn.is_ect() => {
                    mark(&mut meta, &mut self.stats);
                }
                Verdict::Mark | Verdict::Drop => {
                    self.discard(meta, packet, DropReason::Late, sink);
                    continue;
                }
            }
            let queues = self.snapshot();
            self.aqm.sent(side, meta.len, &queues);
            self.stats.departed.add(meta.len);
            return DequeueResult::Packet(meta, packet);
        }
    }

    fn settle(&mut self, now: Instant) {
        self.run_updates(now, true);
    }

    fn backlog(&self) -> Backlog {
        self.total()
    }

    fn stats(&self) -> &Stats {
        &self.stats
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("l_packets", self.l4s.len() as f64);
        see("c_packets", self.classic.len() as f64);
        self.aqm.observe(see);
    }

    fn queues(&self) -> Vec<String> {
        ["L4S", "Classic"].map(String::from).into()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        usize::from(self.aqm.classify(meta) == QueueKind::Classic)
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        for (number, (kind, ring)) in (0..).zip([("L4S", &self.l4s), ("Classic", &self.classic)]) {
            let backlog = Backlog { packets: ring.len() as u32, bytes: ring.bytes() };
            let head = ring.meta(0).copied();
            see(SubqueueInfo { kind, number, list: "", backlog, deficit: None, head, observe: &|_| {} });
        }
    }
}

const MAX_PREALLOCATED: u32 = 1024;
