//! Recorded arrivals played through a queue discipline above a link of constant rate, and what became of each packet.
//!
//! A [`Replay`] is open loop: no sender reacts. It agrees to the nanosecond with the run that the arrivals were
//! recorded from, be that our simulator or the Linux kernel, because a [`ReplayLink`] knows how either orders what happens
//! at one instant. A [`Comparison`] finds the first packet that two disciplines treat differently.

mod comparison;
mod pattern;
pub mod tc;
mod tc_args;

pub use comparison::{Comparison, Difference, RecordedFate, Recording, Reference, State};
pub use pattern::arrivals;

use crate::aqm::DropReason;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, EnqueueResult, Qdisc, Sink};
use crate::rate::{Rate, Serializer};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

/// A packet that reaches the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When.
    pub at: Instant,
    /// The packet, as the queue accounts it.
    pub meta: Meta,
}

/// The link below the queue.
#[derive(Clone, Debug)]
pub struct ReplayLink {
    serializer: Serializer,
    overhead: u32,
    arrival_first: bool,
    carries_remainder: bool,
}

impl ReplayLink {
    /// A link of the simulator: at one instant the departure comes before the arrival, and what is left of a
    /// nanosecond is carried over to the next packet. Overhead is part of a packet's length. `rate` is above zero.
    pub fn simulator(rate: Rate) -> Self {
        Self { serializer: Serializer::new(rate), overhead: 0, arrival_first: false, carries_remainder: true }
    }

    /// The device that vectors of the Linux kernel are recorded with: at one instant the arrival comes first, but behind
    /// a packet that the queue held back, as its timer runs before the sender's; every packet takes whole nanoseconds, and
    /// `overhead` bytes are added below the queue. `rate` is above zero.
    pub fn kernel(rate: Rate, overhead: u32) -> Self {
        Self { serializer: Serializer::new(rate), overhead, arrival_first: true, carries_remainder: false }
    }

    fn time_for(&mut self, len: u32) -> Duration {
        let bytes = len + self.overhead;
        match self.carries_remainder {
            true => self.serializer.time_for(bytes),
            false => self.serializer.rate().time_for(bytes as u64),
        }
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is in the queue, or has not arrived.
    Waiting,
    /// Its transmission began.
    Sent {
        /// When.
        at: Instant,
        /// Whether this queue marked it CE.
        marked: bool,
    },
    /// It was dropped.
    Dropped {
        /// When.
        at: Instant,
        /// Why.
        reason: DropReason,
        /// Whether it was the arriving packet.
        arriving: bool,
    },
}

/// Of which drops on arrival a queue tells the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DropNotification {
    /// Those of the queue manager.
    pub early: bool,
    /// Those of a full queue.
    pub limit: bool,
    /// Those of a packet that was queued first, and then chosen to make room. A replay does not tell them from the
    /// others of a full queue.
    pub queued: bool,
}

impl DropNotification {
    /// Of all.
    pub const ALL: Self = Self { early: true, limit: true, queued: true };
}

/// What became of a packet, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FateKind {
    /// Sent as it came.
    Pass,
    /// Sent marked.
    Mark,
    /// Dropped on arrival.
    DropOnArrival,
    /// Dropped later.
    Drop,
    /// Not decided.
    Waiting,
}

impl FateKind {
    /// The word in files and reports.
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
    /// The verdict. Linux tells the sender of some drops on arrival only as congestion; they count as later drops, as
    /// in its vectors.
    pub const fn kind(self, told: DropNotification) -> FateKind {
        match self {
            Self::Waiting => FateKind::Waiting,
            Self::Sent { marked: false, .. } => FateKind::Pass,
            Self::Sent { marked: true, .. } => FateKind::Mark,
            Self::Dropped { reason: DropReason::Early, .. } if !told.early => FateKind::Drop,
            Self::Dropped { reason: DropReason::Limit, .. } if !told.limit => FateKind::Drop,
            Self::Dropped { arriving: true, .. } => FateKind::DropOnArrival,
            Self::Dropped { arriving: false, .. } => FateKind::Drop,
        }
    }

    /// When it was decided.
    pub const fn at(self) -> Option<Instant> {
        match self {
            Self::Waiting => None,
            Self::Sent { at, .. } | Self::Dropped { at, .. } => Some(at),
        }
    }

    /// When its transmission began.
    pub const fn departure(self) -> Option<Instant> {
        match self {
            Self::Sent { at, .. } => Some(at),
            _ => None,
        }
    }
}

/// Arrivals on their way through a queue; the queue's handle of a packet is its number among them.
pub struct Replay<'a, Q: Qdisc<u32> + ?Sized> {
    arrivals: &'a [Arrival],
    queue: Box<Q>,
    wire: ReplayLink,
    table: FateTable<'a>,
    /// Whether each packet so far was marked when it arrived.
    marked: Vec<bool>,
    next: usize,
    free: Instant,
    idle: bool,
    /// What waits may not go before `free`; what comes may.
    throttled: bool,
}

impl<'a, Q: Qdisc<u32> + ?Sized> Replay<'a, Q> {
    /// `arrivals`, in the order of time, before the first of them.
    pub fn new(arrivals: &'a [Arrival], queue: Box<Q>, wire: ReplayLink) -> Self {
        let books = FateTable { fates: vec![Fate::Waiting; arrivals.len()], ..FateTable::default() };
        let marked = Vec::with_capacity(arrivals.len());
        Self { arrivals, queue, wire, table: books, marked, next: 0, free: Instant::ZERO, idle: true, throttled: false }
    }

    /// The same where the queue may duplicate packets, and flip their bits: of each arrival, whether it is the second packet
    /// that the recorded queue made of the one before. It is not offered; the queue has to make it. A packet that it
    /// duplicates where the recorded one did not is never decided.
    pub fn with_copies(mut self, copies: &'a [bool]) -> Self {
        assert_eq!(copies.len(), self.arrivals.len(), "it is said of each arrival");
        self.table.copies = Some(copies);
        self.table.flipped = vec![0; copies.len()];
        self
    }

    /// One arrival, or one time that the link asks for a packet; a link that falls idle asks once more, in vain.
    /// Returns whether there was anything left to do.
    pub fn step(&mut self) -> bool {
        self.table.decided.clear();
        match self.next_step() {
            Some((at, true)) => self.arrive(at),
            Some((at, false)) => self.serve(at),
            None => return false,
        }
        true
    }

    /// Plays to the end; what became of each packet.
    pub fn run(mut self) -> Vec<Fate> {
        while self.step() {}
        self.table.fates
    }

    /// When the next step is.
    pub fn next_at(&self) -> Option<Instant> {
        self.next_step().map(|(at, _)| at)
    }

    /// What became of each packet so far.
    pub fn fates(&self) -> &[Fate] {
        &self.table.fates
    }

    /// The packets that the last step decided, in that order.
    pub fn decided(&self) -> &[u32] {
        &self.table.decided
    }

    /// Whether the queue judges packets when they arrive, as far as it has been seen to.
    pub fn judges_arrivals(&self) -> bool {
        let early = |fate: &Fate| matches!(fate, Fate::Dropped { reason: DropReason::Early, arriving: true, .. });
        self.marked.contains(&true) || self.table.fates.iter().any(early)
    }

    /// Packets that have arrived.
    pub fn arrived(&self) -> usize {
        self.next
    }

    /// The queue.
    pub fn queue(&mut self) -> &mut Q {
        &mut self.queue
    }

    /// The time of the next step, and whether it is an arrival.
    fn next_step(&self) -> Option<(Instant, bool)> {
        let arrival = self.arrivals.get(self.next).map(|arrival| (arrival.at, true));
        let service = Some((self.free, false)).filter(|_| !self.idle);
        match (arrival, service) {
            (Some((at, _)), Some((free, _)))
                if at < free || at == free && self.wire.arrival_first && !self.throttled =>
            {
                arrival
            }
            (arrival, None) => arrival,
            _ => service,
        }
    }

    fn arrive(&mut self, at: Instant) {
        let (arriving, meta) = (self.next as u32, self.arrivals[self.next].meta);
        let verdict = self.queue.enqueue(at, meta, arriving, &mut self.table.sink(at, Some(arriving)));
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
        let served = self.queue.dequeue(at, &mut self.table.sink(at, None));
        self.throttled = false;
        match served {
            DequeueResult::Packet(meta, packet) => {
                if let Some(came) = self.arrivals.get(packet as usize) {
                    let marked = self.table.ecn_of(packet, meta) == Ecn::Ce && came.meta.ecn != Ecn::Ce;
                    self.table.decide(packet, Fate::Sent { at, marked });
                }
                self.free = at + self.wire.time_for(meta.len);
            }
            DequeueResult::NotBefore(later) if later < Instant::NEVER => (self.free, self.throttled) = (later, true),
            DequeueResult::Empty | DequeueResult::NotBefore(_) => self.idle = true,
        }
    }
}

/// What became of the packets.
#[derive(Default)]
struct FateTable<'a> {
    fates: Vec<Fate>,
    /// The packets that the last step decided.
    decided: Vec<u32>,
    /// Where packets are duplicated: which arrivals are second packets.
    copies: Option<&'a [bool]>,
    /// Of each packet then: bits of the ECN field that were flipped.
    flipped: Vec<u8>,
    /// Packets that were duplicated and should not have been.
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

/// The books during a step.
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

    fn damaged(&mut self, packet: &mut u32, byte: u32, bit: u8) {
        if byte == TOS_BYTE
            && bit < 2
            && let Some(flipped) = self.table.flipped.get_mut(*packet as usize)
        {
            *flipped ^= 1 << bit;
        }
    }
}

impl StepSink<'_, '_> {
    fn is_copy_of(&self, packet: u32, arriving: u32) -> bool {
        packet == arriving + 1 && self.table.is_copy(packet)
    }
}

/// A second packet that was not recorded.
const UNKNOWN: u32 = u32::MAX;
/// Of an IP header: DSCP and ECN.
const TOS_BYTE: u32 = 1;

#[cfg(test)]
mod tests;
