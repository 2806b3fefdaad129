//! Counts of the queues within a discipline: DualPI2's two, the tins of CAKE, bands, classes.

use crate::packet::Handle;
use crate::tally::{Counts, Tally};
use crate::window::Window;
use sojourn_aqm::{DropReason, Instant, Meta, Qdisc};

/// The queues within the disciplines that a link has had, each with its counts.
pub(crate) struct Subqueues {
    queues: Vec<(String, Tally)>,
    /// Of the present discipline's queues: their places among all.
    indices: Vec<u16>,
    /// Place of the queue of each packet, by its handle. A mark may change the queue that its headers stand for.
    by_handle: Vec<u16>,
}

impl Subqueues {
    /// The queues of a discipline; none if it has one only, or one for each flow.
    pub fn of<Q: Qdisc<Handle> + ?Sized>(qdisc: &Q, window: &Window) -> Option<Box<Self>> {
        let mut within = Self { queues: Vec::new(), indices: Vec::new(), by_handle: Vec::new() };
        within.change(qdisc, window);
        (!within.queues.is_empty()).then(|| Box::new(within))
    }

    /// A discipline takes the place of the one before; a queue of the same name goes on.
    pub fn change<Q: Qdisc<Handle> + ?Sized>(&mut self, qdisc: &Q, window: &Window) {
        self.indices.clear();
        for name in qdisc.queues() {
            let known = self.queues.iter().position(|(known, _)| *known == name);
            let place = known.unwrap_or_else(|| {
                self.queues.push((name, Tally::new(window)));
                self.queues.len() - 1
            });
            self.indices.push(place as u16);
        }
    }

    /// Forgets the queues of packets: all were dropped, and a discipline without queues may reuse their handles without
    /// [`Self::offers`].
    pub fn clear(&mut self) {
        self.by_handle.clear();
    }

    /// A packet is going to be offered to queue `queue` of the present discipline.
    pub fn set_queue(&mut self, handle: Handle, queue: usize) {
        let place = self.indices.get(queue).copied().unwrap_or(NOWHERE);
        self.put(handle, place);
    }

    /// A packet is a copy of another one, which waits.
    pub fn on_copy(&mut self, now: Instant, original: Handle, copy: Handle) {
        let place = self.by_handle.get(original as usize).copied().unwrap_or(NOWHERE);
        self.put(copy, place);
        self.arrival(now, copy, true);
    }

    /// As [`Tally::arrival`].
    pub fn arrival(&mut self, now: Instant, handle: Handle, queued: bool) {
        if let Some(tally) = self.tally(handle) {
            tally.arrival(now, queued);
        }
    }

    /// As [`Tally::departure`].
    pub fn departure(&mut self, now: Instant, handle: Handle, meta: &Meta, newly_marked: bool) {
        if let Some(tally) = self.tally(handle) {
            tally.departure(now, meta, newly_marked);
        }
    }

    /// As [`Tally::marks`].
    pub fn mark(&mut self, handle: Handle, arrived: Instant) {
        if let Some(tally) = self.tally(handle) {
            tally.mark(arrived);
        }
    }

    /// As [`Tally::drop`].
    pub fn dropped(&mut self, now: Instant, handle: Handle, reason: DropReason, arrived: Option<Instant>) {
        if let Some(tally) = self.tally(handle) {
            tally.drop(now, reason, arrived);
        }
    }

    /// Closes the books at the end of the window.
    pub fn close(&mut self) {
        self.queues.iter_mut().for_each(|(_, tally)| tally.close());
    }

    /// Name and counts of each queue from instant `number` of the window on, of books that are closed.
    pub fn sums(&self, number: usize) -> impl Iterator<Item = (&str, Counts)> {
        self.queues.iter().map(move |(name, tally)| (name.as_str(), tally.sum(number)))
    }

    fn tally(&mut self, handle: Handle) -> Option<&mut Tally> {
        let place = *self.by_handle.get(handle as usize)?;
        self.queues.get_mut(place as usize).map(|(_, tally)| tally)
    }

    fn put(&mut self, handle: Handle, place: u16) {
        let handle = handle as usize;
        if handle >= self.by_handle.len() {
            self.by_handle.resize(handle + 1, NOWHERE);
        }
        self.by_handle[handle] = place;
    }
}

/// Place of the queue of a packet that joined none.
const NOWHERE: u16 = u16::MAX;
