//! The interface of a queue manager: the policy of one queue. It has no packets, clock or random generator of its own.

use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError};
use crate::rng::Rng;
use crate::time::Instant;
use alloc::boxed::Box;
use core::any::Any;

/// Context of one call from the host to an algorithm.
#[derive(Debug)]
pub struct Cx<'a> {
    /// The host's clock, read once for this call.
    pub now: Instant,
    /// The queue's own random stream.
    pub rng: &'a mut Rng,
    /// Backlog of the whole qdisc when the call began; equals [`Cx::backlog`] unless each flow has a queue. Algorithms
    /// measure both; packets that carry CE may be excluded from both.
    pub total_backlog: Backlog,
    /// Backlog of the queue under this algorithm when the call began.
    pub backlog: Backlog,
    /// The link that the queue feeds.
    pub link: Link,
}

/// Verdict on an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Queue the packet.
    Accept,
    /// Queue it marked CE; a Not-ECT packet is dropped instead.
    Mark,
    /// Drop the packet.
    Drop,
}

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    Limit = 0,
    /// Control law of the queue manager, on arrival.
    Early = 1,
    /// Control law of the queue manager, on departure.
    Late = 2,
    /// Hard bound on sojourn time (Hard Limit CoDel).
    HardLimit = 3,
    /// Another discipline replaced the one that held the packet. The host counts these drops, except for `red` with
    /// Linux's arithmetic.
    Replaced = 4,
}

impl DropReason {
    /// Every reason, by number.
    pub const ALL: [Self; 5] = [Self::Limit, Self::Early, Self::Late, Self::HardLimit, Self::Replaced];

    /// Name in tables and logs.
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

/// Proof that [`Fifo::pop`] removed the head for transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoppedPacket {
    /// Packet metadata, marks included.
    pub meta: Meta,
}

/// A queue as its manager sees it. Index 0 is the head.
pub trait Fifo {
    /// Packets in this queue.
    fn len(&self) -> usize;
    /// Bytes in this queue.
    fn bytes(&self) -> u64;
    /// Backlog of the whole qdisc, up to date.
    fn total_backlog(&self) -> Backlog;
    /// Metadata of packet `i`; `None` past the end. If CE-marked packets are excluded, `enqueued` is shifted later by
    /// the time the link has spent on such packets since.
    fn meta(&self, i: usize) -> Option<Meta>;
    /// Marks packet `i` CE, or drops it if it is Not-ECT. Returns whether it is still queued.
    fn mark(&mut self, i: usize, reason: DropReason) -> bool;
    /// Drops packet `i`.
    fn drop(&mut self, i: usize, reason: DropReason);
    /// Removes the head for transmission; at most once per dequeue.
    fn pop(&mut self) -> Option<PoppedPacket>;

    /// Whether the queue is empty.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A queue manager. It only decides; the qdisc stamps, drops, marks and counts.
///
/// Managers of the registry mark [`enqueue`](Self::enqueue) and [`dequeue`](Self::dequeue) `#[inline(always)]`: compiled
/// into the qdisc, their calls of [`Fifo`] are direct (PIE: 298 instead of 434 instructions per packet).
///
/// Optional interfaces are returned by [`timer`](Self::timer), [`lifecycle`](Self::lifecycle), [`bypass`](Self::bypass)
/// and [`fast_dequeue`](Self::fast_dequeue).
pub trait Aqm: AsAny {
    /// Receives the queue's limits and its link. Called once, before any other method.
    fn attach(&mut self, limits: &Limits, link: Link) {
        let _ = (limits, link);
    }

    /// Decides on an arriving packet that fits the limits; it is not yet in `queue`.
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        let _ = (cx, meta, queue);
        Verdict::Accept
    }

    /// Selects the packet to transmit: drops or marks any packets, then pops. `queue` may be empty.
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let _ = cx;
        queue.pop()
    }

    /// Periodic updates.
    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        None
    }

    /// Notifications besides arrivals and departures.
    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        None
    }

    /// Rules for packets that pass an empty queue.
    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        None
    }

    /// Fast path for heads that need no decision.
    #[inline(always)]
    fn fast_dequeue(&mut self) -> Option<&mut dyn FastDequeue> {
        None
    }

    /// Reports the state variables by their names in the source (`count`, `drop_next`, `p`, …); times in seconds.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let _ = see;
    }
}

/// Periodic work of an [`Aqm`].
pub trait Timer {
    /// Time of the next [`Timer::update`]; must be later than the previous update.
    fn next_update(&mut self) -> Option<Instant>;

    /// Runs an update. `at` is the scheduled time and equals `cx.now`. The qdisc calls it for every due instant, in
    /// order, before any later event of the queue, also when idle or late.
    fn update(&mut self, at: Instant, cx: &mut Cx);

    /// The queue is empty and no packet arrives before `until`. If further updates would not change the algorithm's
    /// state, it may advance [`Timer::next_update`], at most to the first one not before `until`. Flows can be idle for
    /// long: every idle PIE reaches such a state, and one that is idle for 1,000 s skips 62,500 updates.
    fn skip_idle(&mut self, until: Instant) {
        let _ = until;
    }
}

/// Events of a queue besides arrivals and departures: overflow, scheduling among other flows' queues, parameter
/// changes.
pub trait Lifecycle {
    /// Whether [`Aqm::enqueue`] also decides on packets that do not fit, and may make room for them. If it accepts a
    /// packet that still does not fit, the packet is dropped and [`Lifecycle::overflowed`] called.
    fn judges_overflow(&mut self) -> bool {
        false
    }

    /// Allocates the memory of a queue of `packets` packets, see [`Qdisc::reserve`](crate::Qdisc::reserve). Called
    /// before the first packet, and before or after [`Aqm::attach`].
    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        let _ = (packets, memory);
        Ok(())
    }

    /// The limits rejected an arriving packet, before or after the algorithm's verdict.
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// The queue has just become empty by a dequeue.
    #[inline]
    fn emptied(&mut self, cx: &mut Cx) {
        let _ = cx;
    }

    /// The limits dropped `n` packets from the head of this queue to make room.
    fn shed(&mut self, cx: &mut Cx, n: u32) {
        let _ = (cx, n);
    }

    /// The queue, one of several and empty, has left the scheduler's list.
    #[inline]
    fn unscheduled(&mut self) {}

    /// A queued packet moves into this queue from another one and joins the end of `cx.backlog`; there is no verdict on
    /// it.
    fn adopt(&mut self, cx: &mut Cx, meta: &Meta) {
        let _ = (cx, meta);
    }

    /// Takes over from `old` ([`predecessor`] gives its type) in a queue that may hold packets: keeps the
    /// parameters of its creation and attachment, and continues from the state of `old`. A new object
    /// inherits, instead of the old one reading new values, because that would need a second parser of each
    /// configuration and a second builder of derived state (tables, thresholds, gains). Returns the fate of packets
    /// that no longer fit.
    ///
    /// # Errors
    ///
    /// The change is impossible while the queue is in use.
    fn inherit(&mut self, old: &dyn Any, now: Instant) -> Result<ExcessPolicy, ConfigError> {
        let _ = (old, now);
        Err(ConfigError::Immutable)
    }
}

/// Rules for a packet that finds the queue empty and the link idle and leaves no trace in the algorithm: no verdict, no
/// change of state. The host can then skip the queue.
pub trait Bypass {
    /// Whether that is so at `now`; if it is, due updates are run and the method is called once more.
    #[inline]
    fn can_bypass(&mut self, now: Instant) -> bool {
        let _ = now;
        true
    }

    /// A packet has bypassed the queue.
    #[inline]
    fn on_bypass(&mut self, now: Instant, meta: &Meta) {
        let _ = (now, meta);
    }
}

/// Fast path of an algorithm that accepts every packet that fits and has no [`Timer`] and no [`Lifecycle::emptied`].
/// The discipline calls [`FastDequeue::try_release`] to learn whether the head leaves unchanged, and can then skip
/// [`Aqm`].
pub trait FastDequeue {
    /// Whether [`Aqm::dequeue`] at `now` would only pop the `head`, with `behind` bytes queued after it on a link with
    /// this MTU. If so, this updates the algorithm's own state instead, and `dequeue` is not called; otherwise nothing
    /// changes.
    #[inline(always)]
    fn try_release(&mut self, now: Instant, head: &Meta, behind: u64, mtu: u32) -> bool {
        let _ = (now, head, behind, mtu);
        true
    }
}

/// A manager as [`Any`]; implemented for every type.
pub trait AsAny: 'static {
    /// Returns the manager itself.
    fn as_any(&self) -> &dyn Any;
}

impl<T: 'static> AsAny for T {
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The manager that [`Lifecycle::inherit`] replaces, boxed or not, if it is a `T`.
pub fn predecessor<T: 'static>(old: &dyn Any) -> Result<&T, ConfigError> {
    match old.downcast_ref::<Box<dyn Aqm + Send>>() {
        Some(boxed) => predecessor((**boxed).as_any()),
        None => old.downcast_ref().ok_or(ConfigError::Immutable),
    }
}

/// Time of the next update of `aqm`.
#[inline(always)]
pub(crate) fn next_update<A: Aqm + ?Sized>(aqm: &mut A) -> Option<Instant> {
    aqm.timer().and_then(|timer| timer.next_update())
}

/// Reserves the memory of `aqm` for a queue of `packets` packets.
pub(crate) fn reserve<A: Aqm + ?Sized>(
    aqm: &mut A,
    packets: usize,
    memory: &mut Reservation,
) -> Result<(), ReservationError> {
    aqm.lifecycle().map_or(Ok(()), |aqm| aqm.reserve(packets, memory))
}

/// Whether `aqm` decides on packets that do not fit.
#[inline(always)]
pub(crate) fn judges_overflow<A: Aqm + ?Sized>(aqm: &mut A) -> bool {
    aqm.lifecycle().is_some_and(|aqm| aqm.judges_overflow())
}

/// The limits rejected a packet for the queue of `aqm`.
pub(crate) fn overflowed<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx, meta: &Meta) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.overflowed(cx, meta);
    }
}

/// The queue of `aqm` has become empty.
#[inline(always)]
pub(crate) fn emptied<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.emptied(cx);
    }
}

/// The limits dropped `n` packets from the queue of `aqm`.
pub(crate) fn shed<A: Aqm + ?Sized>(aqm: &mut A, cx: &mut Cx, n: u32) {
    if let Some(aqm) = aqm.lifecycle() {
        aqm.shed(cx, n);
    }
}

/// `aqm` takes over from `old`, if it can.
pub(crate) fn inherit<A: Aqm>(aqm: &mut A, old: &A, now: Instant) -> Result<ExcessPolicy, ConfigError> {
    aqm.lifecycle().ok_or(ConfigError::Immutable)?.inherit(old.as_any(), now)
}

/// Fate of queued packets when new limits are below the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExcessPolicy {
    /// They stay queued (Linux, `fifo_init` of sch_fifo.c).
    Keep,
    /// The oldest are dropped until the rest fits (Linux, `codel_change` and `pie_change`).
    DropOldest,
    /// All packets are dropped, even if they fit (Linux, `red_change`, which creates a new queue).
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
    // No `fast_dequeue`: a boxed manager saves no call by it.
    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        (**self).observe(see);
    }
}
