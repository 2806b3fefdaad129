//! Counters of a qdisc's internal queues: DualPI2's two, the tins of CAKE, bands, classes.

use crate::packet::Handle;
use crate::tally::{Counts, Tally};
use crate::window::Window;
use sojourn_aqm::{DropReason, Instant, Meta, Qdisc};

/// The internal queues of all qdiscs that a link has had, each with its counters.
pub(crate) struct Subqueues {
    queues: Vec<(String, Tally)>,
    /// Indices into `queues` of the current qdisc's queues.
    indices: Vec<u16>,
    /// Index of each packet's queue, by handle. Not computed from the headers on departure: a mark may change their
    /// queue.
    by_handle: Vec<u16>,
}

impl Subqueues {
    /// The queues of a qdisc; `None` if it has only one, or one per flow.
    pub fn of<Q: Qdisc<Handle> + ?Sized>(qdisc: &Q, window: &Window) -> Option<Box<Self>> {
        let mut within = Self { queues: Vec::new(), indices: Vec::new(), by_handle: Vec::new() };
        within.change(qdisc, window);
        (!within.queues.is_empty()).then(|| Box::new(within))
    }

    /// Switches to the queues of a new qdisc; a queue of the same name keeps its counters.
    pub fn change<Q: Qdisc<Handle> + ?Sized>(&mut self, qdisc: &Q, window: &Window) {
        self.indices.clear();
        for name in qdisc.queues() {
            let known = self.queues.iter().position(|(known, _)| *known == name);
            let index = known.unwrap_or_else(|| {
                self.queues.push((name, Tally::new(window)));
                self.queues.len() - 1
            });
            self.indices.push(index as u16);
        }
    }

    /// Forgets the packets' queues: all were dropped, and a qdisc without internal queues may reuse their handles
    /// without [`Self::set_queue`].
    pub fn clear(&mut self) {
        self.by_handle.clear();
    }

    /// Called before a packet is enqueued in queue `queue` of the current qdisc.
    pub fn set_queue(&mut self, handle: Handle, queue: usize) {
        let index = self.indices.get(queue).copied().unwrap_or(NO_QUEUE);
        self.put(handle, index);
    }

    /// Counts a copy of a packet in the queue.
    pub fn on_copy(&mut self, now: Instant, original: Handle, copy: Handle) {
        let index = self.by_handle.get(original as usize).copied().unwrap_or(NO_QUEUE);
        self.put(copy, index);
        self.arrival(now, copy, true);
    }

    /// See [`Tally::arrival`].
    pub fn arrival(&mut self, now: Instant, handle: Handle, queued: bool) {
        if let Some(tally) = self.tally(handle) {
            tally.arrival(now, queued);
        }
    }

    /// See [`Tally::departure`].
    pub fn departure(&mut self, now: Instant, handle: Handle, meta: &Meta, newly_marked: bool) {
        if let Some(tally) = self.tally(handle) {
            tally.departure(now, meta, newly_marked);
        }
    }

    /// See [`Tally::mark`].
    pub fn mark(&mut self, handle: Handle, arrived: Instant) {
        if let Some(tally) = self.tally(handle) {
            tally.mark(arrived);
        }
    }

    /// See [`Tally::drop`].
    pub fn dropped(&mut self, now: Instant, handle: Handle, reason: DropReason, arrived: Option<Instant>) {
        if let Some(tally) = self.tally(handle) {
            tally.drop(now, reason, arrived);
        }
    }

    /// Closes the counters at the end of the window.
    pub fn close(&mut self) {
        self.queues.iter_mut().for_each(|(_, tally)| tally.close());
    }

    /// Name and counts of each queue from instant `number` of the window on; the counters must be closed.
    pub fn sums(&self, number: usize) -> impl Iterator<Item = (&str, Counts)> {
        self.queues.iter().map(move |(name, tally)| (name.as_str(), tally.sum(number)))
    }

    fn tally(&mut self, handle: Handle) -> Option<&mut Tally> {
        let index = *self.by_handle.get(handle as usize)?;
        self.queues.get_mut(index as usize).map(|(_, tally)| tally)
    }

    fn put(&mut self, handle: Handle, index: u16) {
        let handle = handle as usize;
        if handle >= self.by_handle.len() {
            self.by_handle.resize(handle + 1, NO_QUEUE);
        }
        self.by_handle[handle] = index;
    }
}

/// Queue index of a packet without a queue.
const NO_QUEUE: u16 = u16::MAX;
