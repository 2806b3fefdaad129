//! Packets under way to where they arrive at known times.

use crate::packet::Handle;
use sojourn_aqm::Instant;
use sojourn_aqm::deque::Deque;

/// Packets with the times of their arrival, in order. Who pushes or pops is told when the next arrival changes.
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

    /// When the next packet arrives.
    pub fn first(&self) -> Option<Instant> {
        self.0.front().map(|&(at, _)| at)
    }

    /// The packet that arrives next.
    pub fn next_packet(&self) -> Option<Handle> {
        self.0.front().map(|&(_, handle)| handle)
    }

    /// Whether an arrival at `at` comes behind all others.
    #[inline(always)]
    pub fn is_in_order(&self, at: Instant) -> bool {
        self.0.back().is_none_or(|&(last, _)| last <= at)
    }

    /// Adds a packet that arrives behind all others. Returns its arrival if that is the next one.
    #[inline(always)]
    pub fn push(&mut self, at: Instant, handle: Handle) -> Option<Instant> {
        debug_assert!(self.is_in_order(at), "a pipe keeps the order of time");
        self.0.push_back((at, handle));
        (self.0.len() == 1).then_some(at)
    }

    /// Like [`Pipe::push`], for packets that overtake others.
    pub fn insert(&mut self, at: Instant, handle: Handle) -> Option<Instant> {
        let place = self.0.partition_point(|&(other, _)| other <= at);
        self.0.insert(place, (at, handle));
        (place == 0).then_some(at)
    }

    /// The packet that arrives now, and when the next one does.
    #[inline(always)]
    pub fn pop(&mut self) -> (Handle, Instant) {
        let (_, handle) = self.0.pop_front().expect("the event of a pipe has a packet");
        (handle, self.0.front().map_or(Instant::NEVER, |&(at, _)| at))
    }
}
