//! The queue discipline of a link: the common ones are dispatched statically and inlined into the link's code.

use crate::packet::Handle;
use crate::scenario::LinkSpec;
use sojourn_aqm::codel::Codel;
use sojourn_aqm::droptail::DropTail;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::flow::{FlowQueue, flow_queue};
use sojourn_aqm::registry::AnyConfig;
use sojourn_aqm::single::SingleQueue;
use sojourn_aqm::{Backlog, DequeueResult, EnqueueResult, Host, Instant, Meta, Qdisc, Rng, Sink, Stats, SubqueueInfo};
use std::any::Any;

/// Any queue discipline of a scenario.
pub(crate) type Discipline = dyn Qdisc<Handle> + Send;

/// A queue discipline with static dispatch for the common ones. Inlining only the call gains little: the results meet
/// in memory unless the whole operation of a qdisc is inlined. `repr(u8)` because a niche tag takes five instructions
/// to read.
#[repr(u8)]
#[allow(clippy::large_enum_variant)] // it lies behind a pointer
pub(crate) enum AnyDiscipline {
    Codel(SingleQueue<Codel, Handle>),
    DropTail(SingleQueue<DropTail, Handle>),
    FqCodel(FlowQueue<Codel, Handle>),
    Other(Box<Discipline>),
}

/// The queue discipline of a link, dispatched dynamically.
pub(crate) fn discipline(spec: &LinkSpec, rng: Rng) -> Box<Discipline> {
    spec.aqm.queue(spec.limits, host(spec, rng))
}

impl AnyDiscipline {
    /// The queue discipline of a link.
    pub fn of(spec: &LinkSpec, rng: Rng) -> Self {
        let limits = spec.limits;
        match &spec.aqm.config {
            AnyConfig::Codel(config) => {
                Self::Codel(SingleQueue::with_capacity(Codel::new(config), limits, host(spec, rng), CAPACITY))
            }
            AnyConfig::DropTail(config) => {
                Self::DropTail(SingleQueue::with_capacity(DropTail::new(config), limits, host(spec, rng), CAPACITY))
            }
            AnyConfig::FqCodel(config) => Self::FqCodel(flow_queue(config, limits, host(spec, rng))),
            _ => Self::Other(discipline(spec, rng)),
        }
    }

    /// [`Qdisc::bypass`] that stamps the packet in place. Returns whether the packet has passed.
    #[inline(always)]
    pub fn try_pass(&mut self, now: Instant, meta: &mut Meta) -> bool {
        match self {
            Self::Codel(queue) => queue.passes(now, meta),
            Self::DropTail(queue) => queue.passes(now, meta),
            Self::FqCodel(_) => false,
            Self::Other(other) => match other.bypass(now, *meta) {
                Some(passed) => {
                    *meta = passed;
                    true
                }
                None => false,
            },
        }
    }

    /// [`SingleQueue::try_pass`].
    #[inline(always)]
    pub fn try_pass_single(&mut self, now: Instant, meta: &mut Meta) -> bool {
        match self {
            Self::Codel(queue) => queue.try_pass(now, meta),
            Self::DropTail(_) | Self::FqCodel(_) | Self::Other(_) => false,
        }
    }

    /// Whether the qdisc is statically dispatched and lets a packet bypass an empty queue.
    #[inline(always)]
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Codel(_) | Self::DropTail(_))
    }

    /// [`SingleQueue::try_store`]. Comparisons because a jump table takes six instructions; the same below.
    #[inline(always)]
    pub fn try_store(&mut self, meta: &Meta, packet: Handle) -> bool {
        if let Self::Codel(queue) = self {
            queue.try_store(meta, packet)
        } else if let Self::DropTail(queue) = self {
            queue.try_store(meta, packet)
        } else {
            false
        }
    }

    /// [`FlowQueue::try_store`]. A function of its own: if both results met, each would go through memory.
    #[inline(always)]
    pub fn try_store_in_flow(&mut self, meta: &Meta, packet: Handle) -> bool {
        if let Self::FqCodel(queue) = self { queue.try_store(meta, packet) } else { false }
    }

    /// [`SingleQueue::try_dequeue_head`].
    #[inline(always)]
    pub fn try_dequeue_head(&mut self, now: Instant) -> Option<(&Meta, Handle)> {
        if let Self::Codel(queue) = self {
            queue.try_dequeue_head(now)
        } else if let Self::DropTail(queue) = self {
            queue.try_dequeue_head(now)
        } else {
            None
        }
    }

    /// Whether a dequeue would find nothing and change nothing: tail drop has no state, so an empty queue is enough.
    #[inline(always)]
    pub fn is_dequeue_noop(&self) -> bool {
        if let Self::DropTail(queue) = self { queue.is_idle() } else { false }
    }

    /// [`FlowQueue::try_dequeue_head`].
    #[inline(always)]
    pub fn try_dequeue_flow_head(&mut self, now: Instant) -> Option<(&Meta, Handle)> {
        if let Self::FqCodel(queue) = self { queue.try_dequeue_head(now) } else { None }
    }

    fn any(&self) -> &Discipline {
        match self {
            Self::Codel(queue) => queue,
            Self::DropTail(queue) => queue,
            Self::FqCodel(queue) => queue,
            Self::Other(other) => &**other,
        }
    }

    fn any_mut(&mut self) -> &mut Discipline {
        match self {
            Self::Codel(queue) => queue,
            Self::DropTail(queue) => queue,
            Self::FqCodel(queue) => queue,
            Self::Other(other) => &mut **other,
        }
    }
}

impl Qdisc<Handle> for AnyDiscipline {
    #[inline(always)]
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: Handle, sink: &mut dyn Sink<Handle>) -> EnqueueResult {
        match self {
            Self::Codel(queue) => queue.enqueue_here(now, meta, packet, sink),
            Self::DropTail(queue) => queue.enqueue_here(now, meta, packet, sink),
            Self::FqCodel(queue) => queue.enqueue(now, meta, packet, sink),
            Self::Other(other) => other.enqueue(now, meta, packet, sink),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<Handle>) -> DequeueResult<Handle> {
        match self {
            Self::Codel(queue) => queue.dequeue_here(now, sink),
            Self::DropTail(queue) => queue.dequeue_here(now, sink),
            Self::FqCodel(queue) => queue.dequeue(now, sink),
            Self::Other(other) => other.dequeue(now, sink),
        }
    }

    fn bypass(&mut self, now: Instant, meta: Meta) -> Option<Meta> {
        self.any_mut().bypass(now, meta)
    }

    fn exclude_ce(&mut self) -> bool {
        self.any_mut().exclude_ce()
    }

    fn splits_gso(&self) -> bool {
        self.any().splits_gso()
    }

    fn paces(&self) -> bool {
        self.any().paces()
    }

    fn needs_tcp_headers(&self) -> bool {
        self.any().needs_tcp_headers()
    }

    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<Handle>) -> Result<(), ConfigError> {
        self.any_mut().inherit(old, now, sink)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        self.any_mut().as_any()
    }

    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<Handle>) {
        self.any_mut().drop_delayed(now, sink);
    }

    fn settle(&mut self, now: Instant) {
        self.any_mut().settle(now);
    }

    fn backlog(&self) -> Backlog {
        self.any().backlog()
    }

    fn stats(&self) -> &Stats {
        self.any().stats()
    }

    fn statistics(&self) -> Option<String> {
        self.any().statistics()
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.any().observe(see);
    }

    fn queues(&self) -> Vec<String> {
        self.any().queues()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.any().queue_of(meta)
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        self.any().subqueues(see);
    }
}

/// Bytes of a link's empty queue discipline, from above.
pub(crate) fn built_bytes(config: &AnyConfig) -> u64 {
    match config {
        AnyConfig::Codel(_) | AnyConfig::DropTail(_) => (CAPACITY * 2 * size_of::<Meta>()) as u64,
        _ => config.built_bytes(),
    }
}

/// Initial capacity of a queue in packets. A graph may have thousands of queues, nearly all of them empty.
const CAPACITY: usize = 16;

fn host(spec: &LinkSpec, rng: Rng) -> Host {
    Host { link: spec.nominal_link(), rng }
}
