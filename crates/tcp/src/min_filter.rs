//! Windowed minimum and maximum from three samples (Kathleen Nichols' algorithm).
//!
//! Source: Linux `lib/win_minmax.c`, `minmax_running_min`, `minmax_running_max`.

use sojourn_aqm::{Duration, Instant};

/// The minimum duration within a window of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinFilter(MinMax);

impl MinFilter {
    /// No sample yet.
    pub fn new(span: Duration) -> Self {
        Self(MinMax { span: span.as_nanos() as u64, best: None })
    }

    /// The minimum; `None` before the first sample.
    pub fn minimum(&self) -> Option<Duration> {
        self.0.first().map(|nanos| Duration::from_nanos(nanos as i64))
    }

    /// Adds a sample. Times must not decrease.
    pub fn observe(&mut self, at: Instant, value: Duration) {
        self.0.observe(at.as_nanos(), value.as_nanos() as u64, |new, old| new <= old);
    }
}

/// The maximum within a window of rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MaxFilter(MinMax);

impl MaxFilter {
    /// No sample yet.
    pub fn new(rounds: u64) -> Self {
        Self(MinMax { span: rounds, best: None })
    }

    /// The maximum; zero before the first sample.
    pub fn maximum(&self) -> u64 {
        self.0.first().unwrap_or(0)
    }

    /// Adds a sample in `round`. Rounds must not decrease.
    pub fn observe(&mut self, round: u64, value: u64) {
        self.0.observe(round, value, |new, old| new >= old);
    }
}

/// The best, second and third best sample, each later than the one before, within a window of `span`.
#[derive(Clone, Copy, Debug)]
struct MinMax {
    span: u64,
    best: Option<[MinMaxSample; 3]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MinMaxSample {
    value: u64,
    at: u64,
}

impl MinMax {
    fn first(&self) -> Option<u64> {
        self.best.as_ref().map(|[first, ..]| first.value)
    }

    /// Adds a sample; `beats` returns whether a new value is at least as good as an old one.
    #[inline(always)]
    fn observe(&mut self, at: u64, value: u64, beats: impl Fn(u64, u64) -> bool) {
        let new = MinMaxSample { value, at };
        let kept =
            |[first, _, third]: &&mut [MinMaxSample; 3]| !beats(value, first.value) && at - third.at <= self.span;
        // In place: most samples change nothing.
        let Some([first, second, third]) = self.best.as_mut().filter(kept) else {
            self.best = Some([new; 3]);
            return;
        };
        if beats(value, third.value) {
            *third = new;
            if beats(value, second.value) {
                *second = new;
            }
        }
        let age = at - first.at;
        if age > self.span {
            // The first sample has left the window. The second may have as well; the third was checked above.
            (*first, *second, *third) = (*second, *third, new);
            if at - first.at > self.span {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.at == first.at && age > self.span / 4 {
            (*second, *third) = (new, new);
        } else if third.at == second.at && age > self.span / 2 {
            *third = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Minimum after each of the samples (time, value), all in milliseconds, with a window of 100 ms.
    fn minima(samples: &[(u64, i64)]) -> Vec<i64> {
        let mut filter = MinFilter::new(Duration::from_millis(100));
        let take = |&(at, value): &(u64, i64)| {
            filter.observe(Instant::from_nanos(at * 1_000_000), Duration::from_millis(value));
            filter.minimum().expect("a sample").as_nanos() / 1_000_000
        };
        samples.iter().map(take).collect()
    }

    #[test]
    fn it_is_none_before_the_first_and_then_falls_at_once() {
        assert_eq!(MinFilter::new(Duration::from_millis(1)).minimum(), None);
        assert_eq!(minima(&[(0, 17), (3, 19), (5, 11), (6, 11), (7, 13)]), [17, 17, 11, 11, 11]);
    }

    #[test]
    fn it_rises_to_later_samples_once_the_window_has_passed() {
        // 13 is the best of the second quarter, 14 of the last half.
        let samples = [(0, 10), (30, 13), (60, 14), (100, 18), (101, 18), (131, 19), (161, 17)];
        assert_eq!(minima(&samples), [10, 10, 10, 10, 13, 14, 17]);
    }

    #[test]
    fn the_largest_of_ten_rounds_is_kept_by_the_same_rules() {
        let mut filter = MaxFilter::new(10);
        assert_eq!(filter.maximum(), 0);
        let mut largest = |round, value| {
            filter.observe(round, value);
            filter.maximum()
        };
        // 90 is the best of rounds 3 to 5 (the second quarter), 80 of the rounds from 6 on.
        let samples = [(1, 100), (2, 70), (4, 90), (7, 80), (11, 60), (12, 60), (14, 60), (15, 60)];
        assert_eq!(samples.map(|(round, value)| largest(round, value)), [100, 100, 100, 100, 100, 90, 90, 80]);
        assert_eq!(largest(16, 80), 80);
    }

    #[test]
    fn a_pause_longer_than_the_window_leaves_nothing() {
        assert_eq!(minima(&[(0, 10), (40, 12), (141, 30)]), [10, 10, 30]);
    }
}
