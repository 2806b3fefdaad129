//! The children of a parent that has several, each with limits of its own, as in Linux.

use super::leaf::{Accounting, Leaf};
use crate::backlog::Backlog;
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Qdisc, Sink};
use crate::time::Instant;
use alloc::vec::Vec;

/// The children, by number.
pub(crate) struct Family<P, Q: ?Sized = dyn Qdisc<P> + Send> {
    leaves: Vec<Leaf<P, Q>>,
    pub accounting: Accounting,
}

impl<P, Q: Qdisc<P> + ?Sized> Family<P, Q> {
    /// These.
    pub fn new(leaves: Vec<Leaf<P, Q>>) -> Self {
        Self { leaves, accounting: Accounting::default() }
    }

    /// Child `i`.
    pub fn child(&mut self, i: usize) -> &mut Q {
        self.leaves[i].qdisc_mut()
    }

    /// The children with what is kept for them.
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf<P, Q>> {
        self.leaves.iter()
    }

    /// The children.
    pub fn children(&self) -> impl Iterator<Item = &Q> {
        self.leaves.iter().map(Leaf::qdisc)
    }

    /// Offers a packet to child `i`, which makes room by its own rules.
    #[inline]
    pub fn enqueue(&mut self, i: usize, now: Instant, arrival: Arrival<P>, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accounting.arrived(arrival.meta.len);
        self.leaves[i].enqueue(now, arrival, &mut self.accounting, sink)
    }

    /// Asks child `i` for a packet.
    #[inline]
    pub fn dequeue(&mut self, i: usize, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.leaves[i].dequeue(now, &mut self.accounting, sink)
    }

    /// Whether nothing waits in child `i`.
    #[inline]
    pub fn is_empty(&self, i: usize) -> bool {
        self.leaves[i].is_empty()
    }

    /// What waits in each child.
    pub fn backlogs(&self) -> impl Iterator<Item = Backlog> + '_ {
        self.leaves.iter().map(Leaf::backlog)
    }

    /// Whether a child wants super-packets cut; then all get segments, as which child gets a packet shows later.
    pub fn splits_gso(&self) -> bool {
        self.leaves.iter().any(Leaf::splits_gso)
    }

    /// Whether a child looks at TCP headers.
    pub fn needs_tcp_headers(&self) -> bool {
        self.leaves.iter().any(Leaf::needs_tcp_headers)
    }

    /// See [`crate::Qdisc::drop_delayed`].
    pub fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let Self { leaves, accounting: books, .. } = self;
        leaves.iter_mut().for_each(|leaf| leaf.drop_delayed(now, books, sink));
    }

    /// See [`crate::Qdisc::settle`].
    pub fn settle(&mut self, now: Instant) {
        self.leaves.iter_mut().for_each(|leaf| leaf.settle(now));
    }
}
