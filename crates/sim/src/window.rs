//! The window of the statistics: when it can begin and when it ends, and counts that can begin at several instants.
//!
//! A run whose warm-up is found from its own backlog does not know, while it runs, where its statistics begin. So counts
//! are kept in parts, one from each instant at which they can begin to the next one, and added up once it is known. A
//! given warm-up is the same with two parts, of which the first is left out.

use crate::histogram::Histogram;
use sojourn_aqm::{Duration, Instant};
use std::sync::Arc;

/// The instants at which the statistics can begin, in order, the start of the run first; and when they end.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    starts: Arc<[Instant]>,
    pub end: Instant,
}

impl Window {
    /// Statistics that can begin at the start of the run and at each of `starts`, whatever their order.
    pub fn new(starts: impl IntoIterator<Item = Instant>, end: Instant) -> Self {
        let mut all: Vec<Instant> = std::iter::once(Instant::ZERO).chain(starts).collect();
        all.sort_unstable();
        all.dedup();
        Self { starts: all.into(), end }
    }

    /// All the instants.
    pub fn starts(&self) -> &[Instant] {
        &self.starts
    }

    /// The number of the first instant that is not before `at`, or the last one's.
    pub fn number(&self, at: Instant) -> usize {
        self.starts.partition_point(|&start| start < at).min(self.starts.len() - 1)
    }

    /// Length of the statistics that begin at instant `number`.
    pub fn length(&self, number: usize) -> Duration {
        self.end - self.starts[number]
    }

    /// When the part after part `number` begins; never after the last one.
    fn after(&self, number: usize) -> Instant {
        self.starts.get(number + 1).copied().unwrap_or(Instant::NEVER)
    }
}

/// Counts that can be added up.
pub(crate) trait Counters: Default {
    /// Adds those of another part.
    fn add(&mut self, other: &Self);
    /// Nothing more is counted as it happens: what takes much room is packed.
    fn pack(&mut self) {}
}

/// Counts in parts, one from each instant of a window to the next.
#[derive(Clone, Debug)]
pub(crate) struct PerInterval<T> {
    /// When the next part begins, and that or the end of the window.
    next: Instant,
    until: Instant,
    /// The present part.
    current: T,
    others: Box<OtherIntervals<T>>,
}

/// What is not needed for every packet.
#[derive(Clone, Debug)]
struct OtherIntervals<T> {
    window: Window,
    /// Number of the present part.
    current_index: usize,
    /// The other parts by number, as far as there is something in them.
    others: Vec<T>,
}

impl<T: Counters> PerInterval<T> {
    pub fn new(window: &Window) -> Self {
        let next = window.after(0);
        let rest = OtherIntervals { window: window.clone(), current_index: 0, others: Vec::new() };
        Self { next, until: next.min(window.end), current: T::default(), others: Box::new(rest) }
    }

    pub fn window(&self) -> &Window {
        &self.others.window
    }

    /// When the present part ends.
    #[inline(always)]
    pub fn next(&self) -> Instant {
        self.next
    }

    /// The present part, for who has looked at [`Self::next`].
    #[inline(always)]
    pub fn now(&mut self) -> &mut T {
        &mut self.current
    }

    /// The part of `now`, which never goes back; an instant at which one can begin belongs to it.
    #[inline]
    pub fn at(&mut self, now: Instant) -> &mut T {
        while now >= self.next {
            self.advance();
        }
        &mut self.current
    }

    /// Begins the next part.
    #[cold]
    #[inline(never)]
    pub fn advance(&mut self) {
        let rest = &mut self.others;
        let begun = std::mem::take(rest.slot(rest.current_index + 1));
        let mut done = std::mem::replace(&mut self.current, begun);
        done.pack();
        *rest.slot(rest.current_index) = done;
        rest.current_index += 1;
        self.next = rest.window.after(rest.current_index);
        self.until = self.next.min(rest.window.end);
    }

    /// The part of any instant, also of one to come.
    pub fn of(&mut self, at: Instant) -> &mut T {
        let number = self.others.window.starts.partition_point(|&start| start <= at) - 1;
        if number == self.others.current_index { &mut self.current } else { self.others.slot(number) }
    }

    /// Gives each part its piece of a span: up to the end of the window, and none where it is empty.
    #[inline]
    pub fn pieces(&mut self, start: Instant, end: Instant, mut piece: impl FnMut(&mut T, Instant, Instant)) {
        if self.others.window.starts[self.others.current_index] <= start && end <= self.until {
            // Nearly always: all of it is in the present part.
            if start < end {
                piece(&mut self.current, start, end);
            }
            return;
        }
        self.several_pieces(start, end, &mut piece);
    }

    /// The same of a span that begins in the present part.
    #[inline(always)]
    pub fn pieces_from_now(&mut self, start: Instant, end: Instant, mut piece: impl FnMut(&mut T, Instant, Instant)) {
        debug_assert!(
            self.others.window.starts[self.others.current_index] <= start && start < self.next,
            "it is {start:?}"
        );
        if end <= self.until {
            piece(&mut self.current, start, end);
        } else {
            self.several_pieces(start, end, &mut piece);
        }
    }

    /// The present part, if a span that begins in it has its end there, too.
    #[inline(always)]
    pub fn present_until(&mut self, end: Instant) -> Option<&mut T> {
        (end <= self.until).then_some(&mut self.current)
    }

    #[cold]
    #[inline(never)]
    fn several_pieces(&mut self, start: Instant, end: Instant, piece: &mut dyn FnMut(&mut T, Instant, Instant)) {
        let (mut from, end) = (start, end.min(self.others.window.end));
        while from < end {
            let number = self.others.window.starts.partition_point(|&start| start <= from) - 1;
            let to = end.min(self.others.window.after(number));
            piece(self.of(from), from, to);
            from = to;
        }
    }

    /// The sum of all parts from instant `number` on.
    pub fn sum(&self, number: usize) -> T {
        let mut sum = T::default();
        self.parts().skip(number).for_each(|part| sum.add(part));
        sum
    }

    /// The parts in their order, as far as there is something in them.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &T> + ExactSizeIterator {
        let OtherIntervals { current_index: present, others, .. } = &*self.others;
        let count = others.len().max(present + 1);
        (0..count).map(move |number| if number == *present { &self.current } else { &others[number] })
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
