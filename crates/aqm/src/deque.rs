//! A queue of small values in a ring of a power of two of places.
//!
//! Not `VecDeque`: where a value lies is a mask away instead of a comparison, and several leave at once.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

/// Values in the order in which they came. It allocates no more once it has been as long as it gets.
#[derive(Clone, Debug)]
pub struct Deque<T> {
    /// A power of two of them, or none yet; those that hold no value of the queue hold a copy of any.
    places: Vec<T>,
    /// Number of the first value, counted on without end; its place is what a mask leaves of it.
    head: usize,
    len: usize,
}

impl<T> Default for Deque<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Deque<T> {
    /// An empty queue without a place.
    pub const fn new() -> Self {
        Self { places: Vec::new(), head: 0, len: 0 }
    }

    /// How many there are.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Removes all, and the room for more than `most`, a power of two.
    pub fn clear_to(&mut self, most: usize) {
        debug_assert!(most.is_power_of_two(), "{most}");
        self.len = 0;
        if self.places.len() > most {
            self.places.truncate(most);
            self.places.shrink_to(most);
        }
    }

    /// Where value `i` is, or would be.
    #[inline(always)]
    fn place(&self, i: usize) -> usize {
        self.head.wrapping_add(i) & self.places.len().wrapping_sub(1)
    }

    /// Value `i`.
    #[inline(always)]
    pub fn get(&self, i: usize) -> Option<&T> {
        if i < self.len { self.places.get(self.place(i)) } else { None }
    }

    /// Value `i`.
    #[inline(always)]
    pub fn get_mut(&mut self, i: usize) -> Option<&mut T> {
        let place = self.place(i);
        if i < self.len { self.places.get_mut(place) } else { None }
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

    /// Removes the first `n`, of which there are so many.
    #[inline(always)]
    pub fn remove_front(&mut self, n: usize) {
        debug_assert!(n <= self.len, "{n} of {}", self.len);
        self.head = self.head.wrapping_add(n);
        self.len -= n;
    }

    /// All from value `from` on: those up to the end of the ring, and those from its beginning on.
    fn slices(&self, from: usize) -> (&[T], &[T]) {
        let from = from.min(self.len);
        let (start, len) = (if self.places.is_empty() { 0 } else { self.place(from) }, self.len - from);
        let first = len.min(self.places.len() - start);
        (&self.places[start..start + first], &self.places[..len - first])
    }

    /// All in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.iter_from(0)
    }

    /// All from value `from` on.
    pub fn iter_from(&self, from: usize) -> impl Iterator<Item = &T> {
        let (first, second) = self.slices(from);
        first.iter().chain(second)
    }

    /// All in their order.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let first = self.slices(0).0.len();
        let (start, second) = (if first == 0 { 0 } else { self.place(0) }, self.len - first);
        let (before, from) = self.places.split_at_mut(start);
        from[..first].iter_mut().chain(&mut before[..second])
    }

    /// The last value.
    #[inline(always)]
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.get_mut(self.len.wrapping_sub(1))
    }

    /// How many of them, which come first, have what `has` asks for.
    pub fn partition_point(&self, mut has: impl FnMut(&T) -> bool) -> usize {
        let (first, second) = self.slices(0);
        let n = first.partition_point(&mut has);
        if n < first.len() { n } else { n + second.partition_point(has) }
    }
}

impl<T: Copy> Deque<T> {
    /// Appends a value.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.len == self.places.len() {
            self.grow(value);
        }
        let place = self.place(self.len);
        self.places[place] = value;
        self.len += 1;
    }

    /// Removes the first value.
    #[inline(always)]
    pub fn pop_front(&mut self) -> Option<T> {
        let first = *self.front()?;
        self.remove_front(1);
        Some(first)
    }

    /// Puts a value before value `i`, or behind all others.
    ///
    /// # Panics
    ///
    /// If there are fewer than `i`.
    pub fn insert(&mut self, i: usize, value: T) {
        assert!(i <= self.len, "{i} of {}", self.len);
        self.push_back(value);
        for i in (i + 1..self.len).rev() {
            self[i] = self[i - 1];
        }
        self[i] = value;
    }

    /// Removes value `i`, if there are so many; cheap near the front.
    pub fn remove(&mut self, i: usize) -> Option<T> {
        let value = *self.get(i)?;
        for i in (1..=i).rev() {
            self[i] = self[i - 1];
        }
        self.remove_front(1);
        Some(value)
    }

    /// Makes room for as many again; `value` fills it.
    #[cold]
    #[inline(never)]
    fn grow(&mut self, value: T) {
        let places = (2 * self.places.len()).max(MIN_CAPACITY);
        let mut grown = Vec::with_capacity(places);
        grown.extend(self.iter().copied());
        grown.resize(places, value);
        (self.places, self.head) = (grown, 0);
    }
}

impl<T> Index<usize> for Deque<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, i: usize) -> &T {
        self.get(i).expect("there are so many")
    }
}

impl<T> IndexMut<usize> for Deque<T> {
    #[inline(always)]
    fn index_mut(&mut self, i: usize) -> &mut T {
        self.get_mut(i).expect("there are so many")
    }
}

/// The places of a queue that has grown for the first time.
const MIN_CAPACITY: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    #[test]
    fn it_is_a_queue_of_any_length() {
        let (mut ours, mut theirs) = (Deque::new(), VecDeque::new());
        let mut rng = crate::rng::Rng::from_state(1);
        for n in 0..50_000_u64 {
            match rng.below(9) {
                8 => {
                    let i = rng.below(theirs.len() as u64 + 2) as usize;
                    assert_eq!(ours.remove(i), theirs.remove(i), "{i}");
                }
                0..4 => {
                    ours.push_back(n);
                    theirs.push_back(n);
                }
                4 => {
                    let i = rng.below(theirs.len() as u64 + 1) as usize;
                    ours.insert(i, n);
                    theirs.insert(i, n);
                }
                5 if n % 500 < 50 => {
                    let all = theirs.len() - rng.below(theirs.len() as u64 + 1) as usize / 8;
                    ours.remove_front(all);
                    theirs.drain(..all);
                }
                6 => {
                    ours.iter_mut().for_each(|value| *value += 1);
                    theirs.iter_mut().for_each(|value| *value += 1);
                }
                _ => assert_eq!(ours.pop_front(), theirs.pop_front()),
            }
            assert_eq!((ours.len(), ours.is_empty()), (theirs.len(), theirs.is_empty()));
            assert_eq!((ours.front(), ours.back()), (theirs.front(), theirs.back()));
            assert_eq!(ours.back_mut(), theirs.back_mut());
            let i = rng.below(theirs.len() as u64 + 2) as usize;
            assert_eq!(ours.get(i), theirs.get(i), "{i}");
            assert_eq!(ours.get_mut(i), theirs.get_mut(i), "{i}");
            if n % 16 == 0 {
                assert!(ours.iter().eq(&theirs));
                let from = i.min(theirs.len());
                assert!(ours.iter_from(from).eq(theirs.range(from..)), "from {from}");
            }
        }
        ours.clear_to(1 << 16);
        assert_eq!((ours.pop_front(), ours.iter().count()), (None, 0));
    }

    #[test]
    fn one_that_was_long_gives_up_its_room() {
        let mut deque = Deque::new();
        (0..1000).for_each(|n| deque.push_back(n));
        deque.remove_front(700);
        deque.clear_to(128);
        assert_eq!((deque.len(), deque.places.len(), deque.places.capacity()), (0, 128, 128));
        (0..200).for_each(|n| deque.push_back(n));
        assert!(deque.iter().copied().eq(0..200));
        let mut short = Deque::new();
        (0..5).for_each(|n| short.push_back(n));
        short.clear_to(128);
        assert!(short.is_empty() && short.places.len() < 128, "what is short stays");
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
