//! Sets of integers as ranges.

use crate::SeqRange;
use std::collections::VecDeque;

/// Disjoint, non-adjacent, half-open ranges in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RangeSet(VecDeque<SeqRange>);

impl RangeSet {
    /// Inserts the numbers in `from..to`. Returns how many of them are new.
    pub fn insert(&mut self, from: u64, to: u64) -> u64 {
        if from >= to {
            return 0;
        }
        // Fast path: in-order arrivals extend the last range.
        if let Some(last) = self.0.back_mut().filter(|last| last.1 == from) {
            last.1 = to;
            return to - from;
        }
        let first = self.0.partition_point(|&(_, end)| end < from);
        let past = self.0.partition_point(|&(begin, _)| begin <= to);
        let (mut new, mut known) = ((from, to), 0);
        for &(begin, end) in self.0.range(first..past) {
            known += end.min(to).saturating_sub(begin.max(from));
            new = (new.0.min(begin), new.1.max(end));
        }
        self.0.drain(first..past);
        self.0.insert(first, new);
        to - from - known
    }

    /// Removes the numbers below `from`.
    pub fn remove_below(&mut self, from: u64) {
        while self.0.front().is_some_and(|&(_, end)| end <= from) {
            self.0.pop_front();
        }
        if let Some(first) = self.0.front_mut() {
            first.0 = first.0.max(from);
        }
    }

    /// Removes the lowest ranges so that at most `max_ranges` remain. Returns the end of the last removed range.
    pub fn keep_highest(&mut self, max_ranges: usize) -> Option<u64> {
        let mut forgotten = None;
        while self.0.len() > max_ranges {
            forgotten = self.0.pop_front().map(|(_, end)| end);
        }
        forgotten
    }

    /// Whether all numbers in `from..to` are in the set.
    pub fn covers(&self, from: u64, to: u64) -> bool {
        let at = self.0.partition_point(|&(_, end)| end <= from);
        from >= to || self.0.get(at).is_some_and(|&(begin, end)| begin <= from && to <= end)
    }

    /// End of the contiguous range that starts at 0; 0 if there is none.
    pub fn prefix(&self) -> u64 {
        self.0.front().filter(|&&(begin, _)| begin == 0).map_or(0, |&(_, end)| end)
    }

    /// Ranges, lowest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = SeqRange> + ExactSizeIterator {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_are_a_set(inserts in prop::collection::vec((0u64..60, 0u64..9), 1..40), below in 0u64..70) {
            let (mut ranges, mut set) = (RangeSet::default(), BTreeSet::new());
            for (from, len) in inserts {
                let new = (from..from + len).filter(|&number| set.insert(number)).count();
                prop_assert_eq!(ranges.insert(from, from + len), new as u64);
                let numbers: Vec<u64> = ranges.iter().flat_map(|(begin, end)| begin..end).collect();
                prop_assert_eq!(numbers, set.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(low, high)| low.1 < high.0));
                prop_assert_eq!(ranges.covers(from, from + len + 1), (from..=from + len).all(|n| set.contains(&n)));
                prop_assert_eq!(ranges.prefix(), (0..).find(|number| !set.contains(number)).unwrap_or(0));
            }
            ranges.remove_below(below);
            set.retain(|&number| number >= below);
            prop_assert_eq!(ranges.iter().flat_map(|(a, b)| a..b).collect::<Vec<_>>(), set.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_highest_ranges_stay() {
        let mut ranges = RangeSet::default();
        [3, 7, 11, 20].into_iter().for_each(|number| {
            ranges.insert(number, number + 2);
        });
        assert_eq!((ranges.keep_highest(4), ranges.keep_highest(2)), (None, Some(9)));
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [(11, 13), (20, 22)]);
    }
}
