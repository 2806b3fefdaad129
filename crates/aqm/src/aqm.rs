//! The interface of a queue manager: policy on one queue, without a packet, a clock or a generator of its own.

use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use core::any::Any;

/// What the host gives an algorithm for one call.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The host's clock, read once for this call.
    pub now: Instant,
    /// The queue's own random stream.
    pub rng: &'a mut Rng,
    /// Backlog of the whole qdisc when the call began; equal to the queue's own unless flows are queued apart. This and
    /// [`Cx::backlog`] are what an algorithm measures by: packets that carry CE can be left out of both.
    pub total_backlog: Backlog,
    /// Backlog of the queue under this algorithm when the call began.
    pub backlog: Backlog,
    /// The link that the queue feeds.
    pub link: Link,
}

/// An algorithm's decision about an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue it.
    Accept,
    /// Queue it marked CE; a packet that is Not-ECT is dropped instead.
    Mark,
    /// Drop it.
    Drop,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    Limit = 0,
    /// The queue manager's control law, on arrival.
    Early = 1,
    /// The queue manager's control law, on departure.
    Late = 2,
    /// A hard bound on sojourn time (Hard Limit CoDel).
    HardLimit = 3,
    /// Another queue discipline took the place of the one in which the packet waited.
    Replaced = 4,
}

impl DropReason {
    /// Every reason, in the order of its number.
    pub const ALL: [Self; 5] = [Self::Limit, Self::Early, Self::Late, Self::HardLimit, Self::Replaced];

    /// The name in tables and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::Early => "early",
            Self::Late => "late",
            Self::HardLimit => "hard-limit",
            Self::Replaced => "replaced",
        }
    }
}

/// Proof that [`Fifo::pop`] took the head out for transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedPacket {
    /// The packet's metadata, marks included.
    pub meta: Meta,
}

/// The queue as its manager sees it. Index 0 is the head.
pub trait Fifo {
    /// Packets in this queue.
    fn len(&self) -> usize;
    /// Bytes in this queue.
    fn bytes(&self) -> u64;
    /// Backlog of the whole qdisc, up to date.
    fn total_backlog(&self) -> Backlog;
    /// Packet `i`; `None` past the end. Where CE-marked packets are left out of what is measured, `enqueued` is later
    /// by the time that the link has spent on such packets since.
    fn meta(&self, i: usize) -> Option<Meta>;
    /// Marks packet `i` CE, or drops it when it is Not-ECT. Returns whether it is still queued.
    fn mark(&mut self, i: usize, reason: DropReason) -> bool;
    /// Drops packet `i`.
    fn drop(&mut self, i: usize, reason: DropReason);
    /// Takes the head out for transmission; at most once per dequeue.
    fn pop(&mut self) -> Option<PoppedPacket>;

    /// Whether nothing is queued here.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A queue manager. Deciding is its business; stamping, dropping, marking and counting is the qdisc's.
///
/// A manager that does more than judge arrivals and departures shows it by [`timer`](Self::timer),
/// [`lifecycle`](Self::lifecycle), [`pass`](Self::pass) and [`fast_dequeue`](Self::let_go), which return its other faces.
pub trait Aqm: AsAny {
    /// Receives, once and before anything else, how much the queue may hold and the link that it feeds.
    fn attach(&mut self, limits: &Limits, link: Link) {
        let _ = (limits, link);
    }

    /// Judges an arriving packet that fits into the limits; it is not yet in `queue`.
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let _ = (cx, meta, queue);
        Verdict::Accept
    }

    /// Chooses what to transmit: drops or marks at will, then pops. `queue` may be empty.
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let _ = cx;
        queue.pop()
    }

    /// Its periodic work.
    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        None
    }

    /// Its part in what else happens to a queue.
    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        None
    }

    /// Lets packets pass an empty queue.
    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        None
    }

    /// Lets heads go that it has nothing to decide of.
    #[inline(always)]
    fn fast_dequeue(&mut self) -> Option<&mut dyn FastDequeue> {
        None
    }

    /// Shows the state variables by the names of the source (`count`, `drop_next`, `p`, …); times in seconds.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// Periodic work of an [`Aqm`].
pub trait Timer {
    /// When [`Timer::update`] is due next; must lie after the update before it.
    fn next_update(&mut self) -> Option<Instant>;

    /// Periodic work. `at` is the scheduled time and equals `cx.now`: the qdisc calls it for every due
    /// instant, in order, before anything later happens to the queue, also when idle or late.
    fn update(&mut self, at: Instant, cx: &mut Cx);

    /// The queue is empty, and nothing comes before `until`: an algorithm in a state that an update then leaves as it is
    /// may move [`Timer::next_update`] on, at most to the first one that is not before `until`. A flow may be idle for long.
    fn skip_idle(&mut self, until: Instant) {
        let _ = until;
    }
}

/// Events of a queue besides arrivals and departures: overflow, life among other flows' queues, a change of parameters.
pub trait Lifecycle {
    /// Whether [`Aqm::enqueue`] judges also packets that do not fit, and may make room for them. A packet that it lets in
    /// and that still does not fit is dropped, and [`Lifecycle::overflowed`] called.
    fn judges_overflow(&mut self) -> bool {
        false
    }

    /// The limits refused an arriving packet, before the algorithm saw it or after.
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// The queue has just become empty by a dequeue.
    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        let _ = cx;
    }

    /// The limits took `n` packets out of this queue, from its head, to make room.
    fn shed(&mut self, cx: &mut Cx, n: u32) {
        let _ = (cx, n);
    }

    /// The queue, one of several and empty, has lost its place among those that are served in turn.
    #[inline]
    fn unscheduled(&mut self) {}

    /// A waiting packet moves into this queue from another one, behind what `cx.backlog` says; it is not judged.
    fn adopt(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// Takes the place of `old` ([`predecessor`] gives its type) in a queue that may hold packets: keeps its own parameters,
    /// with which it was made and attached, and goes on from the state of `old`. Returns what becomes of packets that no
    /// longer fit, or why this cannot be done while the queue is in use.
    fn inherit(&mut self, old: &dyn Any, now: Instant) -> Result<ExcessPolicy, ConfigError> {
        let _ = (old, now);
        Err(ConfigError::Immutable)
    }
}

/// A packet that finds the queue empty and the link idle passes without leaving a trace in the algorithm: no verdict on it,
/// no change of state. A host may then spare the detour through the queue.
pub trait Bypass {
    /// Whether that holds at `now`; updates that are due are run if it does, and it is called once more.
    #[inline]
    fn can_bypass(&mut self, now: Instant) -> bool {
        let _ = now;
        true
    }

    /// A packet has passed.
    #[inline]
    fn on_bypass(&mut self, now: Instant, meta: &Meta) {
        let _ = (now, meta);
    }
}

/// Fast path of an algorithm that accepts whatever fits, has no [`Timer`] and no use for [`Lifecycle::emptied`]: a queue
/// discipline asks by [`FastDequeue::try_release`] whether a head leaves as it is, and may spare the detour through [`Aqm`].
pub trait FastDequeue {
    /// Whether all that [`Aqm::dequeue`] would do at `now` is to take out the `head`, which has `behind` bytes of the queue
    /// behind it on a link with this MTU: then it is not called, and what it would have done to the algorithm's own state is
    /// done here. Else nothing is done.
    #[inline(always)]
    fn try_release(&mut self, now: Instant, head: &Meta, behind: u64, mtu: u32) -> bool {
        let _ = (now, head, behind, mtu);
        true
    }
}

/// A manager as [`Any`]; every type has it.
pub trait AsAny: 'static {
    /// The manager itself.
    fn as_any(&self) -> &dyn Any;
}

impl<T: 'static> AsAny for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The manager that [`Lifecycle::succeed`] takes the place of, in a box or not, if it is a `T`.
pub fn predecessor<T: 'static>(old: &dyn Any) -> Result<&T, ConfigError> {
    match old.downcast_ref::<Box<dyn Aqm + Send>>() {
        Some(boxed) => predecessor((**boxed).as_any()),
        None => old.downcast_ref().ok_or(ConfigError::Immutable),
    }
}

/// When `aqm` wants its next update.
#[inline(always)]
pub(crate) fn next_update<A: Aqm + ?Sized>(aqm: &mut A) -> Option<Instant> {
    aqm.timer().and_then(|timer| timer.next_update())
}

/// Whether `aqm` judges packets that do not fit.
#[inline(always)]
pub(crate) fn judges_overflow<A: Aqm + ?Sized>(aqm: &mut A) -> bool {
    aqm.lifecycle().is_some_and(|aqm| aqm.judges_overflow())
}

/// The limits refused a packet of a queue under `aqm`.
pub(crate) fn overflowed<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx, meta: &Meta) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.overflowed(cx, meta);
    }
}

/// The queue under `aqm` has become empty.
#[inline(always)]
pub(crate) fn emptied<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.emptied(cx);
    }
}

/// The limits took `n` packets out of the queue under `aqm`.
pub(crate) fn shed<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx, n: u32) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.shed(cx, n);
    }
}

/// `aqm` takes the place of `old`, if it can.
pub(crate) fn inherit<A: Aqm>(aqm: &mut A, old: &A, now: Instant) -> Result<ExcessPolicy, ConfigError> {
    aqm.lifecycle().ok_or(ConfigError::Immutable)?.inherit(old.as_any(), now)
}

/// What becomes of packets that wait when their queue's limits fall below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessPolicy {
    /// They go on waiting (Linux, `fifo_init` of sch_fifo.c).
    Keep,
    /// The oldest are dropped until the others fit (Linux, `codel_change` and `pie_change`).
    DropOldest,
    /// All packets are dropped, whether they fit or not (Linux, `red_change`, which makes a new queue).
    DropAll,
}

impl Aqm for Box<dyn Aqm + Send> {
    fn attach(&mut self, limits: &Limits, link: Link) {
        (**self).attach(limits, link);
    }
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        (**self).enqueue(cx, meta, queue)
    }
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        (**self).dequeue(cx, queue)
    }
    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        (**self).timer()
    }
    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        (**self).lifecycle()
    }
    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        (**self).bypass()
    }
    // Not `fast_dequeue`: through a box it spares nothing.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        (**self).observe(see);
    }
}
