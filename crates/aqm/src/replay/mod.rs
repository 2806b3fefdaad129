//! Replays recorded arrivals through a queue discipline above a link with a rate, and records each packet's fate. The
//! link's rate and the queue may change at given times.
//!
//! A [`Replay`] is open loop: senders do not react. It agrees to the nanosecond with the run in which the arrivals were
//! recorded, in the simulator or in the Linux kernel, because a [`ReplayLink`] orders simultaneous events as that one
//! does: the simulator takes departures first and has exact times, the recorded kernel takes arrivals first and has
//! whole nanoseconds per packet. A recording with all [`Call`]s of its queue needs no link. A [`Comparison`] finds the
//! first packet with different fates in two disciplines.

mod comparison;
mod pattern;
pub mod tc;
mod tc_args;

pub use comparison::{Comparison, Difference, RecordedFate, Recording, Reference, State};
pub use pattern::arrivals;

use crate::aqm::DropReason;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc, Sink, drop_all};
use crate::rate::{Rate, Serializer};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// Arrival of a packet at the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Time of arrival.
    pub at: Instant,
    /// The packet, as the queue accounts it.
    pub meta: Meta,
}

/// The link below the queue.
pub struct ReplayLink {
    pace: Pace,
    overhead: u32,
    arrival_first: bool,
}

/// Transmission times of a link.
enum Pace {
    /// Exact in the long run.
    Exact(Box<Serializer>),
    /// Whole nanoseconds per packet.
    Rounded(Rate),
    /// End of the transmission of so many bytes that starts at this instant.
    Scheduled(Box<dyn FnMut(Instant, u32) -> Instant + Send>),
}

impl ReplayLink {
    /// A link of the simulator: a departure precedes an arrival at the same instant, and fractions of a nanosecond
    /// carry over to the next packet. Overhead is part of a packet's length. `rate` is above zero.
    pub fn simulator(rate: Rate) -> Self {
        Self { pace: Pace::Exact(Box::new(Serializer::new(rate))), overhead: 0, arrival_first: false }
    }

    /// A link of the simulator whose rate changes. `end` returns when the transmission of a number of bytes ends that
    /// starts at an instant; transmissions start in order of time.
    pub fn scheduled(end: impl FnMut(Instant, u32) -> Instant + Send + 'static) -> Self {
        Self { pace: Pace::Scheduled(Box::new(end)), overhead: 0, arrival_first: false }
    }

    /// The device of recorded Linux kernel vectors: an arrival precedes a departure at the same instant, except the
    /// departure of a packet that the queue delayed, because its timer runs before the sender's. Each packet takes
    /// whole nanoseconds, and `overhead` bytes are added below the queue. `rate` is above zero.
    pub fn kernel(rate: Rate, overhead: u32) -> Self {
        Self { pace: Pace::Rounded(rate), overhead, arrival_first: true }
    }

    /// When the transmission of a packet that starts at `at` ends.
    fn end(&mut self, at: Instant, len: u32) -> Instant {
        let bytes = len + self.overhead;
        match &mut self.pace {
            Pace::Exact(serializer) => at + serializer.time_for(bytes),
            Pace::Rounded(rate) => at + rate.time_for(bytes as u64),
            Pace::Scheduled(end) => end(at, bytes),
        }
    }
}

/// A change of the queue during a replay; it precedes other events at its instant.
pub struct ReplayChange<Q: ?Sized> {
    /// Time of the change.
    pub at: Instant,
    /// The queue from then on.
    pub queue: Box<Q>,
    /// Whether it takes over the backlog and the state; otherwise the backlog is dropped.
    pub keeps: bool,
}

/// Call of a recorded queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Time of the call.
    pub at: Instant,
    /// Its kind.
    pub kind: CallKind,
}

/// Kind of a [`Call`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// The next arrival.
    Arrival,
    /// A request for a packet.
    Service,
    /// Updates that are due.
    Update,
}

/// All calls of a recorded queue, in order.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'a> {
    /// The calls; as many arrivals as there are packets.
    pub calls: &'a [Call],
    /// Origin of the queue's clock, not after any call.
    pub origin: Instant,
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Still queued, or not arrived yet.
    Waiting,
    /// Transmitted.
    Sent {
        /// Start of the transmission.
        at: Instant,
        /// Whether this queue marked it CE.
        marked: bool,
    },
    /// Dropped.
    Dropped {
        /// Time of the drop.
        at: Instant,
        /// Reason of the drop.
        reason: DropReason,
        /// Whether it was the arriving packet.
        arriving: bool,
    },
}

/// Drops on arrival that a queue reports to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropNotification {
    /// By the queue manager.
    pub early: bool,
    /// By a full queue.
    pub limit: bool,
    /// Of a packet that was queued and then selected to make room. A replay does not distinguish them from other drops
    /// by a full queue.
    pub queued: bool,
}

impl DropNotification {
    /// All drops.
    pub const ALL: Self = Self { early: true, limit: true, queued: true };
}

/// Fate of a packet, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateKind {
    /// Sent unchanged.
    Pass,
    /// Sent with a new mark.
    Mark,
    /// Dropped on arrival.
    DropOnArrival,
    /// Dropped later.
    Drop,
    /// Undecided.
    Waiting,
}

impl FateKind {
    /// Name in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Mark => "mark",
            Self::DropOnArrival => "drop_on_arrival",
            Self::Drop => "drop",
            Self::Waiting => "waiting",
        }
    }
}

impl Fate {
    /// The kind of fate. Linux reports some drops on arrival to the sender only as congestion; these count as later
    /// drops, as in its vectors.
    pub const fn kind(self, notification: DropNotification) -> FateKind {
        match self {
            Self::Waiting => FateKind::Waiting,
            Self::Sent { marked: false, .. } => FateKind::Pass,
            Self::Sent { marked: true, .. } => FateKind::Mark,
            Self::Dropped { reason: DropReason::Early, .. } if !notification.early => FateKind::Drop,
            Self::Dropped { reason: DropReason::Limit, .. } if !notification.limit => FateKind::Drop,
            Self::Dropped { arriving: true, .. } => FateKind::DropOnArrival,
            Self::Dropped { arriving: false, .. } => FateKind::Drop,
        }
    }

    /// Time of the decision.
    pub const fn at(self) -> Option<Instant> {
        match self {
            Self::Waiting => None,
            Self::Sent { at, .. } | Self::Dropped { at, .. } => Some(at),
        }
    }

    /// Start of its transmission.
    pub const fn departure(self) -> Option<Instant> {
        match self {
            Self::Sent { at, .. } => Some(at),
            _ => None,
        }
    }
}

/// Replays arrivals through a queue; the queue's handle of a packet is its index.
pub struct Replay<'a, Q: Qdisc<u32> + ?Sized> {
    arrivals: &'a [Arrival],
    queue: Box<Q>,
    link: ReplayLink,
    table: FateTable<'a>,
    /// For each packet so far, whether it was marked on arrival.
    marked: Vec<bool>,
    next: usize,
    calls: Option<Calls<'a>>,
    /// Number of `calls` that have passed.
    called: usize,
    free: Instant,
    idle: bool,
    /// Queued packets may not leave before `free`; arrivals may.
    throttled: bool,
    /// Time of the last step.
    last: Instant,
    /// Changes of the queue, the next one last.
    changes: Vec<ReplayChange<Q>>,
}

impl<'a, Q: Qdisc<u32> + ?Sized> Replay<'a, Q> {
    /// Starts before the first of `arrivals`, which are in order of time.
    pub fn new(arrivals: &'a [Arrival], queue: Box<Q>, link: ReplayLink) -> Self {
        let table = FateTable { fates: vec![Fate::Waiting; arrivals.len()], ..FateTable::default() };
        let marked = Vec::with_capacity(arrivals.len());
        let (free, last) = (Instant::ZERO, Instant::ZERO);
        let (calls, called, changes) = (None, 0, Vec::new());
        Self {
            arrivals,
            queue,
            link,
            table,
            marked,
            next: 0,
            calls,
            called,
            free,
            idle: true,
            throttled: false,
            last,
            changes,
        }
    }

    /// The same for a queue that changes; `changes` are in order of time.
    pub fn with_changes(mut self, mut changes: Vec<ReplayChange<Q>>) -> Self {
        changes.reverse();
        self.changes = changes;
        self
    }

    /// The same with the calls of a recording in place of those that the link would make.
    pub fn with_calls(mut self, calls: Calls<'a>) -> Self {
        let arrivals = calls.calls.iter().filter(|call| call.kind == CallKind::Arrival).count();
        assert_eq!(arrivals, self.arrivals.len(), "each packet arrives in a call");
        (self.calls, self.last) = (Some(calls), calls.origin);
        self
    }

    /// The same for a queue that may duplicate packets and flip their bits. `copies` has an entry per arrival: whether
    /// it is the duplicate that the recorded queue made of the previous one. Duplicates are not offered; the queue must
    /// create them. An unrecorded duplicate leaves its packet undecided.
    pub fn with_copies(mut self, copies: &'a [bool]) -> Self {
        assert_eq!(copies.len(), self.arrivals.len(), "each arrival has a verdict");
        self.table.copies = Some(copies);
        self.table.flipped = vec![0; copies.len()];
        self
    }

    /// Processes one arrival, or one poll by the link; a link that becomes idle polls once more in vain. Returns
    /// whether there was anything left to do.
    pub fn step(&mut self) -> bool {
        self.table.decided.clear();
        let Some(Call { at, kind }) = self.next_step() else { return false };
        self.last = at;
        while self.changes.last().is_some_and(|change| change.at <= at) {
            self.change();
        }
        self.called += 1;
        match kind {
            CallKind::Arrival => self.arrive(at),
            // A change may have left nothing to serve.
            CallKind::Service if self.idle && self.calls.is_none() => {}
            CallKind::Service => self.serve(at),
            CallKind::Update => self.queue.settle(self.clock(at)),
        }
        true
    }

    /// Replays to the end and returns each packet's fate.
    pub fn run(mut self) -> Vec<Fate> {
        while self.step() {}
        self.table.fates
    }

    /// Time of the next step.
    pub fn next_at(&self) -> Option<Instant> {
        self.next_step().map(|call| call.at)
    }

    /// Time of the next step or change of the queue, before which no packet is decided.
    pub fn next_decision(&self) -> Option<Instant> {
        let change = self.changes.last().map(|change| change.at);
        [self.next_at(), change].into_iter().flatten().min()
    }

    /// Fates so far.
    pub fn fates(&self) -> &[Fate] {
        &self.table.fates
    }

    /// Packets decided in the last step, in order.
    pub fn decided(&self) -> &[u32] {
        &self.table.decided
    }

    /// Whether the queue has been seen to judge packets on arrival.
    pub fn judges_arrivals(&self) -> bool {
        let early = |fate: &Fate| matches!(fate, Fate::Dropped { reason: DropReason::Early, arriving: true, .. });
        self.marked.contains(&true) || self.table.fates.iter().any(early)
    }

    /// Number of packets that have arrived.
    pub fn arrived(&self) -> usize {
        self.next
    }

    /// The queue.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.queue
    }

    /// The queue after the updates due before a step at `at`; a step before at the same time has run them.
    pub fn settled_before(&mut self, at: Instant) -> &mut Q {
        let at = self.clock(at);
        if at > self.clock(self.last) {
            self.queue.settle(at - Duration::from_nanos(1));
        }
        &mut self.queue
    }

    /// The next step.
    fn next_step(&self) -> Option<Call> {
        if let Some(recorded) = self.calls {
            return recorded.calls.get(self.called).copied();
        }
        let arrival = self.arrivals.get(self.next).map(|arrival| Call { at: arrival.at, kind: CallKind::Arrival });
        // After a change, delayed packets may leave earlier.
        let change = self.changes.last().map(|change| change.at).filter(|_| self.throttled);
        let free = change.map_or(self.free, |at| at.min(self.free));
        let service = Some(Call { at: free, kind: CallKind::Service }).filter(|_| !self.idle);
        match (arrival, service) {
            (Some(Call { at, .. }), Some(_))
                if at < free || at == free && self.link.arrival_first && !self.throttled =>
            {
                arrival
            }
            (arrival, None) => arrival,
            _ => service,
        }
    }

    /// Makes the next change.
    fn change(&mut self) {
        let Some(ReplayChange { at, mut queue, keeps }) = self.changes.pop() else { return };
        // A link that falls idle at this instant polls the old queue.
        if !self.idle && !self.throttled && self.free <= at && self.queue.backlog().packets == 0 {
            self.serve(self.free);
        }
        let mut sink = self.table.sink(at, None);
        match self.queue.as_any().filter(|_| keeps) {
            Some(old) => queue.inherit(old, at, &mut sink).expect("a queue takes over its own discipline's state"),
            None => drop_all(&mut *self.queue, at, &mut sink),
        }
        self.queue = queue;
        if core::mem::take(&mut self.throttled) {
            self.free = at;
        }
    }

    /// Time of the queue's clock.
    fn clock(&self, at: Instant) -> Instant {
        self.calls.map_or(at, |recorded| Instant::ZERO + (at - recorded.origin))
    }

    fn arrive(&mut self, at: Instant) {
        let (arriving, meta) = (self.next as u32, self.arrivals[self.next].meta);
        let clock = self.clock(at);
        let verdict = self.queue.enqueue(clock, meta, arriving, &mut self.table.sink(at, Some(arriving)));
        self.marked.push(verdict == EnqueueResult::Marked);
        if self.idle || self.throttled {
            (self.free, self.idle) = (at, false);
        }
        self.next += 1;
        while self.table.is_copy(self.next as u32) {
            self.marked.push(false);
            self.next += 1;
        }
    }

    fn serve(&mut self, at: Instant) {
        let served = self.queue.dequeue(self.clock(at), &mut self.table.sink(at, None));
        self.throttled = false;
        match served {
            DequeueResult::Packet(meta, packet) => {
                if let Some(came) = self.arrivals.get(packet as usize) {
                    let marked = self.table.ecn_of(packet, meta) == Ecn::Ce && came.meta.ecn != Ecn::Ce;
                    self.table.decide(packet, Fate::Sent { at, marked });
                }
                self.free = self.link.end(at, meta.len);
            }
            DequeueResult::NotBefore(later) if later < Instant::NEVER => (self.free, self.throttled) = (later, true),
            DequeueResult::Empty | DequeueResult::NotBefore(_) => self.idle = true,
        }
    }
}

/// Fates of the packets.
#[derive(Default)]
struct FateTable<'a> {
    fates: Vec<Fate>,
    /// Packets decided in the last step.
    decided: Vec<u32>,
    /// If packets are duplicated: which arrivals are duplicates.
    copies: Option<&'a [bool]>,
    /// Then, per packet: flipped bits of the ECN field.
    flipped: Vec<u8>,
    /// Packets duplicated in error.
    unexpected_copies: Vec<u32>,
}

impl<'a> FateTable<'a> {
    fn sink(&mut self, at: Instant, arriving: Option<u32>) -> StepSink<'_, 'a> {
        StepSink { table: self, at, arriving }
    }

    fn decide(&mut self, packet: u32, fate: Fate) {
        if packet != UNKNOWN && !self.unexpected_copies.contains(&packet) {
            self.fates[packet as usize] = fate;
            self.decided.push(packet);
        }
    }

    fn is_copy(&self, packet: u32) -> bool {
        self.copies.and_then(|copies| copies.get(packet as usize)).is_some_and(|&is| is)
    }

    /// A packet's ECN field on the wire.
    fn ecn_of(&self, packet: u32, meta: Meta) -> Ecn {
        let flipped = self.flipped.get(packet as usize).copied().unwrap_or(0);
        Ecn::ALL[(meta.ecn as u8 ^ flipped) as usize]
    }
}

/// Sink of a step.
struct StepSink<'b, 'a> {
    table: &'b mut FateTable<'a>,
    at: Instant,
    arriving: Option<u32>,
}

impl Sink<u32> for StepSink<'_, '_> {
    fn dropped(&mut self, _: Meta, packet: u32, reason: DropReason) {
        let arriving = self.arriving.is_some_and(|arriving| packet == arriving || self.is_copy_of(packet, arriving));
        self.table.decide(packet, Fate::Dropped { at: self.at, reason, arriving });
    }

    fn duplicated(&mut self, _: &Meta, packet: &u32) -> Option<u32> {
        self.table.copies?;
        if self.table.is_copy(packet + 1) {
            return Some(packet + 1);
        }
        self.table.unexpected_copies.push(*packet);
        Some(UNKNOWN)
    }

    fn corrupt(&mut self, packet: &mut u32, byte: u32, bit: u8) {
        if byte != TOS_BYTE || bit >= 2 {
            return;
        }
        if let Some(flipped) = self.table.flipped.get_mut(*packet as usize) {
            *flipped ^= 1 << bit;
        }
    }
}

impl StepSink<'_, '_> {
    fn is_copy_of(&self, packet: u32, arriving: u32) -> bool {
        packet == arriving + 1 && self.table.is_copy(packet)
    }
}

/// A duplicate that was not recorded.
const UNKNOWN: u32 = u32::MAX;
/// Offset in the IP header of DSCP and ECN.
const TOS_BYTE: u32 = 1;

#[cfg(test)]
mod tests;
