//! The statistics window: its possible starts and its end, and counters that can start at several instants.
//!
//! A run with an automatic warm-up does not know, while it runs, when its statistics start. So counters are kept per
//! interval between possible starts, and summed once the start is known. A given warm-up is the same with two
//! intervals, of which the first is discarded.

use crate::histogram::Histogram;
use sojourn_aqm::{Duration, Instant};
use std::sync::Arc;

/// The possible starts of the statistics, in order, beginning with the start of the run; and their end.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    starts: Arc<[Instant]>,
    pub end: Instant,
}

impl Window {
    /// Statistics that may start at the start of the run and at each of `starts`, in any order.
    pub fn new(starts: impl IntoIterator<Item = Instant>, end: Instant) -> Self {
        let mut all: Vec<Instant> = std::iter::once(Instant::ZERO).chain(starts).collect();
        all.sort_unstable();
        all.dedup();
        Self { starts: all.into(), end }
    }

    /// All possible starts.
    pub fn starts(&self) -> &[Instant] {
        &self.starts
    }

    /// Index of the first start that is not before `at`, otherwise of the last one.
    pub fn number(&self, at: Instant) -> usize {
        self.starts.partition_point(|&start| start < at).min(self.starts.len() - 1)
    }

    /// Length of the statistics from start `number` on.
    pub fn length(&self, number: usize) -> Duration {
        self.end - self.starts[number]
    }

    /// When the interval after interval `number` starts; never after the last one.
    fn after(&self, number: usize) -> Instant {
        self.starts.get(number + 1).copied().unwrap_or(Instant::NEVER)
    }
}

/// Counters that can be added.
pub(crate) trait Counters: Default {
    /// Adds the counters of another interval.
    fn add(&mut self, other: &Self);
    /// Compacts large counters; they only need to be added afterwards.
    fn pack(&mut self) {}
}

/// Counters per interval between the starts of a window.
#[derive(Clone, Debug)]
pub(crate) struct PerInterval<T> {
    /// When the next interval starts, and the earlier of that and the end of the window.
    next: Instant,
    until: Instant,
    /// The current interval.
    current: T,
    others: Box<OtherIntervals<T>>,
}

/// Fields that are not read for every packet.
#[derive(Clone, Debug)]
struct OtherIntervals<T> {
    window: Window,
    /// Index of the current interval.
    current_index: usize,
    /// The other intervals by index, up to the last non-empty one.
    others: Vec<T>,
}

impl<T: Counters> PerInterval<T> {
    pub fn new(window: &Window) -> Self {
        let next = window.after(0);
        let others = OtherIntervals { window: window.clone(), current_index: 0, others: Vec::new() };
        Self { next, until: next.min(window.end), current: T::default(), others: Box::new(others) }
    }

    pub fn window(&self) -> &Window {
        &self.others.window
    }

    /// When the current interval ends.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// The current interval; the caller has checked [`Self::next`].
    #[inline(always)]
    pub fn current_mut(&mut self) -> &mut T {
        &mut self.current
    }

    /// The interval of `now`, which never decreases; a start belongs to the interval that it begins.
    #[inline]
    pub fn at(&mut self, now: Instant) -> &mut T {
        while now >= self.next {
            self.advance();
        }
        &mut self.current
    }

    /// Moves to the next interval.
    #[cold]
    #[inline(never)]
    pub fn advance(&mut self) {
        let others = &mut self.others;
        let upcoming = std::mem::take(others.slot(others.current_index + 1));
        let mut done = std::mem::replace(&mut self.current, upcoming);
        done.pack();
        *others.slot(others.current_index) = done;
        others.current_index += 1;
        self.next = others.window.after(others.current_index);
        self.until = self.next.min(others.window.end);
    }

    /// The interval of any instant, past or future.
    pub fn of(&mut self, at: Instant) -> &mut T {
        let number = self.others.window.starts.partition_point(|&start| start <= at) - 1;
        if number == self.others.current_index { &mut self.current } else { self.others.slot(number) }
    }

    /// Splits a span among intervals, up to the end of the window; empty pieces are skipped.
    #[inline]
    pub fn split(&mut self, start: Instant, end: Instant, mut piece: impl FnMut(&mut T, Instant, Instant)) {
        if self.others.window.starts[self.others.current_index] <= start && end <= self.until {
            // Fast path: the span is in the current interval.
            if start < end {
                piece(&mut self.current, start, end);
            }
            return;
        }
        self.split_slow(start, end, &mut piece);
    }

    /// Splits a span that starts in the current interval.
    #[inline(always)]
    pub fn split_from_current(
        &mut self,
        start: Instant,
        end: Instant,
        mut piece: impl FnMut(&mut T, Instant, Instant),
    ) {
        debug_assert!(
            self.others.window.starts[self.others.current_index] <= start && start < self.next,
            "it is {start:?}"
        );
        if end <= self.until {
            piece(&mut self.current, start, end);
        } else {
            self.split_slow(start, end, &mut piece);
        }
    }

    /// The current interval, if a span that starts in it also ends in it.
    #[inline(always)]
    pub fn current_until(&mut self, end: Instant) -> Option<&mut T> {
        (end <= self.until).then_some(&mut self.current)
    }

    #[cold]
    #[inline(never)]
    fn split_slow(&mut self, start: Instant, end: Instant, piece: &mut dyn FnMut(&mut T, Instant, Instant)) {
        let (mut from, end) = (start, end.min(self.others.window.end));
        while from < end {
            let number = self.others.window.starts.partition_point(|&start| start <= from) - 1;
            let to = end.min(self.others.window.after(number));
            piece(self.of(from), from, to);
            from = to;
        }
    }

    /// The sum of all intervals from `number` on.
    pub fn sum(&self, number: usize) -> T {
        let mut sum = T::default();
        self.intervals().skip(number).for_each(|interval| sum.add(interval));
        sum
    }

    /// The intervals in order, up to the last non-empty one.
    pub fn intervals(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        let OtherIntervals { current_index, others, .. } = &*self.others;
        let count = others.len().max(current_index + 1);
        (0..count).map(move |number| if number == *current_index { &self.current } else { &others[number] })
    }
}

impl<T: Counters> OtherIntervals<T> {
    fn slot(&mut self, number: usize) -> &mut T {
        if number >= self.others.len() {
            self.others.resize_with(number + 1, T::default);
        }
        &mut self.others[number]
    }
}

impl Counters for u64 {
    fn add(&mut self, other: &Self) {
        *self += other;
    }
}

impl Counters for Histogram {
    fn add(&mut self, other: &Self) {
        self.merge(other);
    }
    fn pack(&mut self) {
        Histogram::pack(self);
    }
}

impl<T: Counters> Counters for Vec<T> {
    fn add(&mut self, other: &Self) {
        if self.len() < other.len() {
            self.resize_with(other.len(), T::default);
        }
        self.iter_mut().zip(other).for_each(|(sum, more)| sum.add(more));
    }
    fn pack(&mut self) {
        self.iter_mut().for_each(Counters::pack);
    }
}
