//! The children of a parent that has several, each with its own limits, as in Linux.

use super::leaf::{Accounting, Leaf};
use crate::backlog::Backlog;
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Qdisc, Sink};
use crate::reservation::{Reservation, ReservationError};
use crate::time::Instant;
use alloc::vec::Vec;

/// Children by number.
pub(crate) struct Children<P, Q: ?Sized = dyn Qdisc<P> + Send> {
    leaves: Vec<Leaf<P, Q>>,
    pub accounting: Accounting,
}

impl<P, Q: Qdisc<P> + ?Sized> Children<P, Q> {
    /// Takes the given leaves.
    pub fn new(leaves: Vec<Leaf<P, Q>>) -> Self {
        Self { leaves, accounting: Accounting::default() }
    }

    /// Child `i`.
    pub fn child(&mut self, i: usize) -> &mut Q {
        self.leaves[i].qdisc_mut()
    }

    /// The leaves.
    pub fn leaves(&self) -> impl Iterator<Item = &Leaf<P, Q>> {
        self.leaves.iter()
    }

    /// The children's disciplines.
    pub fn children(&self) -> impl Iterator<Item = &Q> {
        self.leaves.iter().map(Leaf::qdisc)
    }

    /// Offers a packet to child `i`, which makes room by its own rules.
    #[inline]
    pub fn enqueue(&mut self, i: usize, now: Instant, arrival: Arrival<P>, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accounting.arrived(arrival.meta.len);
        self.leaves[i].enqueue(now, arrival, &mut self.accounting, sink)
    }

    /// Requests a packet from child `i`.
    #[inline]
    pub fn dequeue(&mut self, i: usize, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.leaves[i].dequeue(now, &mut self.accounting, sink)
    }

    /// Whether child `i` is empty.
    #[inline]
    pub fn is_empty(&self, i: usize) -> bool {
        self.leaves[i].is_empty()
    }

    /// Backlog of each child.
    pub fn backlogs(&self) -> impl Iterator<Item = Backlog> + '_ {
        self.leaves.iter().map(Leaf::backlog)
    }

    /// Whether a child splits super-packets; then all children get segments, because the child of a packet is not known
    /// yet.
    pub fn splits_gso(&self) -> bool {
        self.leaves.iter().any(Leaf::splits_gso)
    }

    /// Whether a child queries TCP headers.
    pub fn needs_tcp_headers(&self) -> bool {
        self.leaves.iter().any(Leaf::needs_tcp_headers)
    }

    /// See [`crate::Qdisc::reserve`].
    pub fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.leaves.iter_mut().try_for_each(|leaf| leaf.reserve(memory))
    }

    /// See [`crate::Qdisc::drop_delayed`].
    pub fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let Self { leaves, accounting, .. } = self;
        leaves.iter_mut().for_each(|leaf| leaf.drop_delayed(now, accounting, sink));
    }

    /// See [`crate::Qdisc::settle`].
    pub fn settle(&mut self, now: Instant) {
        self.leaves.iter_mut().for_each(|leaf| leaf.settle(now));
    }
}
