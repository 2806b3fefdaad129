//! A queue in the order of times, those of one time as they came (`tfifo_enqueue`, `netem_peek` of `sch_netem.c`).

use alloc::collections::{BTreeMap, VecDeque};

/// Things with times, in nanoseconds.
#[derive(Debug)]
pub(super) struct Tfifo<T> {
    /// What came in the order of the times.
    line: VecDeque<(i64, T)>,
    /// What came later than something with a later time, by time and order of arrival.
    overtaking: BTreeMap<(i64, u64), T>,
    arrivals: u64,
}

impl<T> Default for Tfifo<T> {
    fn default() -> Self {
        Self { line: VecDeque::new(), overtaking: BTreeMap::new(), arrivals: 0 }
    }
}

impl<T> Tfifo<T> {
    /// How many wait.
    #[inline]
    pub fn len(&self) -> usize {
        self.line.len() + self.overtaking.len()
    }

    /// The latest time.
    #[inline]
    pub fn last(&self) -> Option<i64> {
        let overtaking = self.overtaking.last_key_value().map(|(&(time, _), _)| time);
        self.line.back().map(|&(time, _)| time).max(overtaking)
    }

    /// Adds `what` at `time`.
    #[inline]
    pub fn push(&mut self, time: i64, what: T) {
        if self.line.back().is_none_or(|&(last, _)| time >= last) {
            self.line.push_back((time, what));
        } else {
            self.arrivals += 1;
            self.overtaking.insert((time, self.arrivals), what);
        }
    }

    /// The earliest time.
    #[inline]
    pub fn first(&self) -> Option<i64> {
        let overtaking = self.overtaking.first_key_value().map(|(&(time, _), _)| time);
        let line = self.line.front().map(|&(time, _)| time);
        line.into_iter().chain(overtaking).min()
    }

    /// Takes out what has the earliest time.
    #[inline]
    pub fn pop(&mut self) -> Option<T> {
        let overtaking = self.overtaking.first_key_value().map(|(&(time, _), _)| time);
        match (self.line.front(), overtaking) {
            (Some(&(time, _)), Some(other)) if other < time => self.overtaking.pop_first().map(|(_, what)| what),
            (Some(_), _) => self.line.pop_front().map(|(_, what)| what),
            (None, _) => self.overtaking.pop_first().map(|(_, what)| what),
        }
    }
}
