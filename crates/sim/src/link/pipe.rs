//! Packets in propagation, with known arrival times.

use crate::packet::Handle;
use sojourn_aqm::Instant;
use sojourn_aqm::deque::Deque;

/// Packets in the order of their arrival times. Pushing and popping return the time of the next arrival if it changes.
#[derive(Debug, Default)]
pub(crate) struct Pipe(Deque<(Instant, Handle)>);

impl Pipe {
    pub const fn new() -> Self {
        Self(Deque::new())
    }

    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Arrival time of the next packet.
    pub fn first(&self) -> Option<Instant> {
        self.0.front().map(|&(at, _)| at)
    }

    /// The next packet to arrive.
    pub fn next_packet(&self) -> Option<Handle> {
        self.0.front().map(|&(_, handle)| handle)
    }

    /// Whether an arrival at `at` is not before any other.
    #[inline(always)]
    pub fn is_in_order(&self, at: Instant) -> bool {
        self.0.back().is_none_or(|&(last, _)| last <= at)
    }

    /// Appends a packet, which must be in order. Returns its arrival time if it is the next one.
    #[inline(always)]
    pub fn push(&mut self, at: Instant, handle: Handle) -> Option<Instant> {
        debug_assert!(self.is_in_order(at), "a pipe keeps the order of time");
        self.0.push_back((at, handle));
        (self.0.len() == 1).then_some(at)
    }

    /// Like [`Pipe::push`], for packets that overtake others.
    pub fn insert(&mut self, at: Instant, handle: Handle) -> Option<Instant> {
        let index = self.0.partition_point(|&(other, _)| other <= at);
        self.0.insert(index, (at, handle));
        (index == 0).then_some(at)
    }

    /// Removes the packet that arrives now; returns it and the time of the next arrival.
    #[inline(always)]
    pub fn pop(&mut self) -> (Handle, Instant) {
        let (_, handle) = self.0.pop_front().expect("the event of a pipe has a packet");
        (handle, self.0.front().map_or(Instant::NEVER, |&(at, _)| at))
    }
}
