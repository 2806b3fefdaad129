//! The interface of a queue manager: policy on one queue, without a packet, a clock or a generator of its own.

use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::refusal::Refusal;
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
pub struct Popped {
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
    fn pop(&mut self) -> Option<Popped>;

    /// Whether nothing is queued here.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A queue manager. Deciding is its business; stamping, dropping, marking and counting is the qdisc's.
pub trait Aqm: 'static {
    /// Whether a packet that finds the queue empty and the link idle passes without leaving a trace in the
    /// algorithm: no verdict on it, no change of state. A host may then spare the detour through the queue.
    const LETS_PASS: bool = false;

    /// Whether the algorithm accepts whatever fits, has no updates, does not care whether its queue becomes empty, and says
    /// by [`Aqm::lets_go`] that a head leaves as it is. A queue discipline may then spare the detour through its interface.
    const LETS_GO: bool = false;

    /// Whether that holds at `now`, for an algorithm with [`Aqm::LETS_PASS`]; updates that are due are run where it does, and
    /// it is asked once more.
    #[inline]
    fn lets_pass(&self, now: Instant) -> bool {
        let _ = now;
        Self::LETS_PASS
    }

    /// A packet has passed.
    #[inline]
    fn passed(&mut self, now: Instant, meta: &Meta) {
        let _ = (now, meta);
    }

    /// Tells, once and before anything else, how much the queue may hold and what it feeds.
    fn attach(&mut self, limits: &Limits, link: Link) {
        let _ = (limits, link);
    }

    /// Whether [`Aqm::enqueue`] judges also packets that do not fit, and may make room for them. What it then lets in
    /// and still does not fit is dropped, and [`Aqm::overflowed`] told.
    fn judges_overflow(&self) -> bool {
        false
    }

    /// Judges an arriving packet that fits into the limits; it is not yet in `queue`.
    fn enqueue<Q: Fifo>(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut Q) -> Verdict {
        let _ = (cx, meta, queue);
        Verdict::Accept
    }

    /// Chooses what to transmit: drops or marks at will, then pops. `queue` may be empty.
    fn dequeue<Q: Fifo>(&mut self, cx: &mut Cx, queue: &mut Q) -> Option<Popped> {
        let _ = cx;
        queue.pop()
    }

    /// Whether all that [`Aqm::dequeue`] would do at `now` is to take out the `head`, which has `behind` bytes of the queue
    /// behind it on a link with this MTU: then it is not called, and what it would have done to the algorithm's own state is
    /// done here. Else nothing is done. Only for an algorithm with [`Aqm::LETS_GO`].
    #[inline(always)]
    fn lets_go(&mut self, now: Instant, head: &Meta, behind: u64, mtu: u32) -> bool {
        let _ = (now, head, behind, mtu);
        Self::LETS_GO
    }

    /// When [`Aqm::update`] is due next; must lie after the update before it.
    fn next_update(&self) -> Option<Instant> {
        None
    }

    /// Periodic work. `at` is the scheduled time and equals `cx.now`: the qdisc calls it for every due
    /// instant, in order, before anything later happens to the queue, also when idle or late.
    fn update(&mut self, at: Instant, cx: &mut Cx) {
        let _ = (at, cx);
    }

    /// The queue is empty, and nothing comes before `until`: an algorithm in a state that an update then leaves as it is
    /// may move [`Aqm::next_update`] on, at most to the first one that is not before `until`. A flow may be idle for long.
    fn rest(&mut self, until: Instant) {
        let _ = until;
    }

    /// The limits refused an arriving packet, before the algorithm saw it or after.
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// The queue has just become empty by a dequeue.
    fn emptied(&mut self, cx: &mut Cx) {
        let _ = cx;
    }

    /// The limits took `n` packets out of this queue, from its head, to make room.
    fn shed(&mut self, cx: &mut Cx, n: u32) {
        let _ = (cx, n);
    }

    /// The queue, one of several and empty, has lost its place among those that are served in turn.
    fn unscheduled(&mut self) {}

    /// A waiting packet moves into this queue from another one, behind what `cx.backlog` says; it is not judged.
    fn adopt(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// Takes the place of `old` in a queue that may hold packets: keeps its own parameters, with which it was made and
    /// attached, and goes on from the state of `old`. What becomes of packets that no longer fit, or why this cannot be done
    /// while the queue is in use.
    fn succeed(&mut self, old: &Self, now: Instant) -> Result<Excess, Refusal>
    where
        Self: Sized,
    {
        let _ = (old, now);
        Err(Refusal::Unchangeable)
    }

    /// Shows the state variables by the names of the source (`count`, `drop_next`, `p`, …); times in seconds.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// What becomes of packets that wait when their queue's limits fall below them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Excess {
    /// They go on waiting (Linux, `fifo_init` of sch_fifo.c).
    Waits,
    /// The oldest are dropped until the others fit (Linux, `codel_change` and `pie_change`).
    Oldest,
    /// All packets are dropped, whether they fit or not (Linux, `red_change`, which makes a new queue).
    All,
}

/// The object-safe twin of [`Aqm`], for algorithms that come in as boxes. Every [`Aqm`] is one.
pub trait DynAqm {
    /// See [`Aqm::lets_pass`].
    fn dyn_lets_pass(&self, now: Instant) -> bool;
    /// See [`Aqm::passed`].
    fn dyn_passed(&mut self, now: Instant, meta: &Meta);
    /// See [`Aqm::attach`].
    fn dyn_attach(&mut self, limits: &Limits, link: Link);
    /// See [`Aqm::judges_overflow`].
    fn dyn_judges_overflow(&self) -> bool;
    /// See [`Aqm::enqueue`].
    fn dyn_enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict;
    /// See [`Aqm::dequeue`].
    fn dyn_dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<Popped>;
    /// See [`Aqm::next_update`].
    fn dyn_next_update(&self) -> Option<Instant>;
    /// See [`Aqm::update`].
    fn dyn_update(&mut self, at: Instant, cx: &mut Cx);
    /// See [`Aqm::rest`].
    fn dyn_rest(&mut self, until: Instant);
    /// See [`Aqm::overflowed`].
    fn dyn_overflowed(&mut self, cx: &mut Cx, meta: &Meta);
    /// See [`Aqm::emptied`].
    fn dyn_emptied(&mut self, cx: &mut Cx);
    /// See [`Aqm::shed`].
    fn dyn_shed(&mut self, cx: &mut Cx, n: u32);
    /// See [`Aqm::unscheduled`].
    fn dyn_unscheduled(&mut self);
    /// See [`Aqm::adopt`].
    fn dyn_adopt(&mut self, cx: &mut Cx, meta: &Meta);
    /// See [`Aqm::succeed`]; `old` is the manager that [`DynAqm::as_any`] shows.
    fn dyn_succeed(&mut self, old: &dyn Any, now: Instant) -> Result<Excess, Refusal>;
    /// The manager itself.
    fn as_any(&self) -> &dyn Any;
    /// See [`Aqm::observe`].
    fn dyn_observe(&self, see: &mut dyn FnMut(&'static str, f64));
}

impl<A: Aqm> DynAqm for A {
    fn dyn_lets_pass(&self, now: Instant) -> bool {
        self.lets_pass(now)
    }
    fn dyn_passed(&mut self, now: Instant, meta: &Meta) {
        self.passed(now, meta);
    }
    fn dyn_attach(&mut self, limits: &Limits, link: Link) {
        self.attach(limits, link);
    }
    fn dyn_judges_overflow(&self) -> bool {
        self.judges_overflow()
    }
    fn dyn_enqueue(&mut self, cx: &mut Cx, meta: &Meta, mut queue: &mut dyn Fifo) -> Verdict {
        self.enqueue(cx, meta, &mut queue)
    }
    fn dyn_dequeue(&mut self, cx: &mut Cx, mut queue: &mut dyn Fifo) -> Option<Popped> {
        self.dequeue(cx, &mut queue)
    }
    fn dyn_next_update(&self) -> Option<Instant> {
        self.next_update()
    }
    fn dyn_update(&mut self, at: Instant, cx: &mut Cx) {
        self.update(at, cx);
    }
    fn dyn_rest(&mut self, until: Instant) {
        self.rest(until);
    }
    fn dyn_overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        self.overflowed(cx, meta);
    }
    fn dyn_emptied(&mut self, cx: &mut Cx) {
        self.emptied(cx);
    }
    fn dyn_shed(&mut self, cx: &mut Cx, n: u32) {
        self.shed(cx, n);
    }
    fn dyn_unscheduled(&mut self) {
        self.unscheduled();
    }
    fn dyn_adopt(&mut self, cx: &mut Cx, meta: &Meta) {
        self.adopt(cx, meta);
    }
    fn dyn_succeed(&mut self, old: &dyn Any, now: Instant) -> Result<Excess, Refusal> {
        old.downcast_ref().map_or(Err(Refusal::Unchangeable), |old| self.succeed(old, now))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
    fn dyn_observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.observe(see);
    }
}

impl Aqm for Box<dyn DynAqm + Send> {
    /// What is in the box says whether.
    const LETS_PASS: bool = true;

    fn lets_pass(&self, now: Instant) -> bool {
        (**self).dyn_lets_pass(now)
    }
    fn passed(&mut self, now: Instant, meta: &Meta) {
        (**self).dyn_passed(now, meta);
    }
    fn attach(&mut self, limits: &Limits, link: Link) {
        (**self).dyn_attach(limits, link);
    }
    fn judges_overflow(&self) -> bool {
        (**self).dyn_judges_overflow()
    }
    fn enqueue<Q: Fifo>(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut Q) -> Verdict {
        (**self).dyn_enqueue(cx, meta, queue)
    }
    fn dequeue<Q: Fifo>(&mut self, cx: &mut Cx, queue: &mut Q) -> Option<Popped> {
        (**self).dyn_dequeue(cx, queue)
    }
    fn next_update(&self) -> Option<Instant> {
        (**self).dyn_next_update()
    }
    fn update(&mut self, at: Instant, cx: &mut Cx) {
        (**self).dyn_update(at, cx);
    }
    fn rest(&mut self, until: Instant) {
        (**self).dyn_rest(until);
    }
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        (**self).dyn_overflowed(cx, meta);
    }
    fn emptied(&mut self, cx: &mut Cx) {
        (**self).dyn_emptied(cx);
    }
    fn shed(&mut self, cx: &mut Cx, n: u32) {
        (**self).dyn_shed(cx, n);
    }
    fn unscheduled(&mut self) {
        (**self).dyn_unscheduled();
    }
    fn adopt(&mut self, cx: &mut Cx, meta: &Meta) {
        (**self).dyn_adopt(cx, meta);
    }
    fn succeed(&mut self, old: &Self, now: Instant) -> Result<Excess, Refusal> {
        (**self).dyn_succeed((**old).as_any(), now)
    }
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        (**self).dyn_observe(see);
    }
}

impl Fifo for &mut dyn Fifo {
    fn len(&self) -> usize {
        (**self).len()
    }
    fn bytes(&self) -> u64 {
        (**self).bytes()
    }
    fn total_backlog(&self) -> Backlog {
        (**self).total_backlog()
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        (**self).meta(i)
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        (**self).mark(i, reason)
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        (**self).drop(i, reason);
    }
    fn pop(&mut self) -> Option<Popped> {
        (**self).pop()
    }
}
