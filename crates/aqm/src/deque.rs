//! A queue of small values in a ring with a power of two of slots.
//!
//! Not `VecDeque`: an index is found with a mask instead of a comparison, and several values leave at once.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Values in order of insertion. It does not allocate after it has reached its maximum length.
#[derive(Clone, Debug)]
pub struct Deque<T> {
    /// A power of two of slots, or none yet; unused slots hold a copy of any value.
    slots: Vec<T>,
    /// Running number of the first value, never wrapped; a mask reduces it to a slot.
    head: usize,
    len: usize,
}

impl<T> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deque<T> {
    /// An empty queue without slots.
    pub const fn new() -> Self {
        Self { slots: Vec::new(), head: 0, len: 0 }
    }

    /// Number of values.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether the queue is empty.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Clears the queue, and frees capacity beyond `most`, a power of two.
    pub fn clear_to(&mut self, most: usize) {
        debug_assert!(most.is_power_of_two(), "{most}");
        self.len = 0;
        if self.slots.len() > most {
            self.slots.truncate(most);
            self.slots.shrink_to(most);
        }
    }

    /// Slot of value `i`, also one past the end.
    #[inline(always)]
    fn slot(&self, i: usize) -> usize {
        self.head.wrapping_add(i) & self.slots.len().wrapping_sub(1)
    }

    /// Value `i`.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len { self.slots.get(self.slot(i)) } else { None }
    }

    /// Value `i`.
    #[inline(always)]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let slot = self.slot(i);
        if i < self.len { self.slots.get_mut(slot) } else { None }
    }

    /// The first value.
    #[inline(always)]
    pub fn front(&self) -> Option<&T> {
        self.get(0)
    }

    /// The last value.
    #[inline(always)]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// Removes the first `n` values; there must be that many.
    #[inline(always)]
    pub fn remove_front(&mut self, n: usize) {
        debug_assert!(n <= self.len, "{n} of {}", self.len);
        self.head = self.head.wrapping_add(n);
        self.len -= n;
    }

    /// The values from index `from`: up to the end of the ring, and from its beginning.
    fn slices(&self, from: usize) -> (&[T], &[T]) {
        let from = from.min(self.len);
        let (start, len) = (if self.slots.is_empty() { 0 } else { self.slot(from) }, self.len - from);
        let first = len.min(self.slots.len() - start);
        (&self.slots[start..start + first], &self.slots[..len - first])
    }

    /// Iterates in order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_from(0)
    }

    /// Iterates from index `from`.
    pub fn iter_from(&self, from: usize) -> impl Iterator<Item = &T> {
        let (first, second) = self.slices(from);
        first.iter().chain(second)
    }

    /// Iterates mutably in order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let first = self.slices(0).0.len();
        let (start, second) = (if first == 0 { 0 } else { self.slot(0) }, self.len - first);
        let (before, from) = self.slots.split_at_mut(start);
        from[..first].iter_mut().chain(&mut before[..second])
    }

    /// The last value.
    #[inline(always)]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len.wrapping_sub(1))
    }

    /// Number of leading values that satisfy `has`.
    pub fn partition_point(&self, mut pred: impl FnMut(&T) -> bool) -> usize {
        let (first, second) = self.slices(0);
        let n = first.partition_point(&mut pred);
        if n < first.len() { n } else { n + second.partition_point(pred) }
    }
}

impl<T: Copy> Deque<T> {
    /// Appends a value.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow(value);
        }
        let slot = self.slot(self.len);
        self.slots[slot] = value;
        self.len += 1;
    }

    /// Removes the first value.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.remove_front(1);
        Some(first)
    }

    /// Inserts a value before value `i`, or at the end.
    ///
    /// # Panics
    ///
    /// If `i` is greater than the length.
    pub fn insert(&mut self, i: usize, value: T) {
        assert!(i <= self.len, "{i} of {}", self.len);
        self.push_back(value);
        for i in (i + 1..self.len).rev() {
            self[i] = self[i - 1];
        }
        self[i] = value;
    }

    /// Removes value `i`, if it exists; cheap near the front.
    pub fn remove(&mut self, i: usize) -> Option<T> {
        let value = *self.get(i)?;
        for i in (1..=i).rev() {
            self[i] = self[i - 1];
        }
        self.remove_front(1);
        Some(value)
    }

    /// Doubles the capacity; `value` fills the new slots.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, value: T) {
        let slots = (2 * self.slots.len()).max(MIN_CAPACITY);
        let mut grown = Vec::with_capacity(slots);
        grown.extend(self.iter().copied());
        grown.resize(slots, value);
        (self.slots, self.head) = (grown, 0);
    }
}

impl<T> Index<usize> for Deque<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        self.get(i).expect("the index is within the deque")
    }
}

impl<T> IndexMut<usize> for Deque<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        self.get_mut(i).expect("the index is within the deque")
    }
}

/// Slots after the first growth.
const MIN_CAPACITY: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    #[test]
    fn it_is_a_queue_of_any_length() {
        let (mut deque, mut expected) = (Deque::new(), VecDeque::new());
        let mut rng = crate::rng::Rng::from_state(1);
        for n in 0..50_000_u64 {
            match rng.below(9) {
                8 => {
                    let i = rng.below(expected.len() as u64 + 2) as usize;
                    assert_eq!(deque.remove(i), expected.remove(i), "{i}");
                }
                0..4 => {
                    deque.push_back(n);
                    expected.push_back(n);
                }
                4 => {
                    let i = rng.below(expected.len() as u64 + 1) as usize;
                    deque.insert(i, n);
                    expected.insert(i, n);
                }
                5 if n % 500 < 50 => {
                    let all = expected.len() - rng.below(expected.len() as u64 + 1) as usize / 8;
                    deque.remove_front(all);
                    expected.drain(..all);
                }
                6 => {
                    deque.iter_mut().for_each(|value| *value += 1);
                    expected.iter_mut().for_each(|value| *value += 1);
                }
                _ => assert_eq!(deque.pop_front(), expected.pop_front()),
            }
            assert_eq!((deque.len(), deque.is_empty()), (expected.len(), expected.is_empty()));
            assert_eq!((deque.front(), deque.back()), (expected.front(), expected.back()));
            assert_eq!(deque.back_mut(), expected.back_mut());
            let i = rng.below(expected.len() as u64 + 2) as usize;
            assert_eq!(deque.get(i), expected.get(i), "{i}");
            assert_eq!(deque.get_mut(i), expected.get_mut(i), "{i}");
            if n % 16 == 0 {
                assert!(deque.iter().eq(&expected));
                let from = i.min(expected.len());
                assert!(deque.iter_from(from).eq(expected.range(from..)), "from {from}");
            }
        }
        deque.clear_to(1 << 16);
        assert_eq!((deque.pop_front(), deque.iter().count()), (None, 0));
    }

    #[test]
    fn one_that_was_long_gives_up_its_room() {
        let mut deque = Deque::new();
        (0..1000).for_each(|n| deque.push_back(n));
        deque.remove_front(700);
        deque.clear_to(128);
        assert_eq!((deque.len(), deque.slots.len(), deque.slots.capacity()), (0, 128, 128));
        (0..200).for_each(|n| deque.push_back(n));
        assert!(deque.iter().copied().eq(0..200));
        let mut short = Deque::new();
        (0..5).for_each(|n| short.push_back(n));
        short.clear_to(128);
        assert!(short.is_empty() && short.slots.len() < 128, "what is short stays");
    }

    #[test]
    fn what_comes_first_is_found_across_the_end_of_the_ring() {
        for begun in 0..9 {
            let mut deque = Deque::new();
            (0..begun).for_each(|n| deque.push_back(n));
            deque.remove_front(begun);
            (0..7).for_each(|n| deque.push_back(n));
            for upto in 0..9 {
                assert_eq!(deque.partition_point(|&n| n < upto), upto.min(7), "{begun} {upto}");
            }
        }
    }
}
