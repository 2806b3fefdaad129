//! Queue sorted by time, ties in order of arrival (`tfifo_enqueue`, `netem_peek` of `sch_netem.c`).

use crate::reservation::{Reservation, ReservationError, move_deque_to_larger};
use alloc::collections::{BinaryHeap, VecDeque};
use core::cmp::Ordering;

/// Items with times in nanoseconds.
#[derive(Debug)]
pub(super) struct Tfifo<T> {
    /// Items that arrived in the order of their times.
    in_order: VecDeque<(i64, T)>,
    /// Items that arrived after one with a later time. That one is still in `in_order`, so the latest time is always
    /// there.
    reordered: BinaryHeap<HeapEntry<T>>,
    arrivals: u64,
}

/// Ordered so that the maximum has the earliest time, ties in order of arrival.
#[derive(Debug)]
struct HeapEntry<T> {
    time: i64,
    arrival: u64,
    item: T,
}

impl<T> Ord for HeapEntry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (other.time, other.arrival).cmp(&(self.time, self.arrival))
    }
}

impl<T> PartialOrd for HeapEntry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for HeapEntry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for HeapEntry<T> {}

impl<T> Tfifo<T> {
    /// Empty queue with capacity for `overtaking` reordered items.
    pub fn with_room(overtaking: usize) -> Self {
        Self { in_order: VecDeque::new(), reordered: BinaryHeap::with_capacity(overtaking), arrivals: 0 }
    }

    /// Reserves room for `len` items.
    pub fn reserve(&mut self, len: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        memory.deque(&mut self.in_order, len)?;
        memory.heap(&mut self.reordered, len)
    }

    /// Moves the items of `old` here, an empty queue, into the larger of both memories.
    pub fn take_over(&mut self, old: &mut Self) {
        move_deque_to_larger(&mut self.in_order, &mut old.in_order);
        self.arrivals = old.arrivals;
        if self.reordered.capacity() > old.reordered.capacity() {
            // `append` would take the memory of the longer heap.
            self.reordered.extend(old.reordered.drain());
        } else {
            core::mem::swap(&mut self.reordered, &mut old.reordered);
        }
    }

    /// Number of items.
    #[inline]
    pub fn len(&self) -> usize {
        self.in_order.len() + self.reordered.len()
    }

    /// Latest time.
    #[inline]
    pub fn last(&self) -> Option<i64> {
        self.in_order.back().map(|&(time, _)| time)
    }

    /// Adds `item` at `time`.
    #[inline]
    pub fn push(&mut self, time: i64, item: T) {
        if self.in_order.back().is_none_or(|&(last, _)| time >= last) {
            self.in_order.push_back((time, item));
        } else {
            self.arrivals += 1;
            self.reordered.push(HeapEntry { time, arrival: self.arrivals, item });
        }
    }

    /// Earliest time.
    #[inline]
    pub fn first(&self) -> Option<i64> {
        let time = self.in_order.front().map(|&(time, _)| time)?;
        Some(self.reordered.peek().map_or(time, |other| other.time.min(time)))
    }

    /// Removes the item with the earliest time.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let &(time, _) = self.in_order.front()?;
        if self.reordered.peek().is_some_and(|other| other.time < time) {
            return self.reordered.pop().map(|other| other.item);
        }
        self.in_order.pop_front().map(|(_, item)| item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use alloc::vec::Vec;

    #[test]
    fn it_is_a_stable_order_by_time_at_every_moment() {
        let (mut tfifo, mut listed, mut rng) = (Tfifo::with_room(0), Vec::<(i64, u32)>::new(), Rng::from_state(77));
        for id in 0..20_000u32 {
            if rng.below(100) < 48 {
                let place = (0..listed.len()).min_by_key(|&i| (listed[i], i));
                assert_eq!(tfifo.first(), place.map(|i| listed[i].0));
                assert_eq!(tfifo.pop(), place.map(|i| listed.remove(i).1));
            } else {
                let time = id as i64 / 10 + rng.below(9) as i64;
                tfifo.push(time, id);
                listed.push((time, id));
            }
            assert_eq!((tfifo.len(), tfifo.last()), (listed.len(), listed.iter().map(|&(time, _)| time).max()));
        }
    }
}
