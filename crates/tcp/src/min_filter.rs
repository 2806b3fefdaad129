//! The least value of a sliding window of time, from three samples (Kathleen Nichols' algorithm).
//!
//! Source: Linux `lib/win_minmax.c`, `minmax_running_min`.

use sojourn_aqm::{Duration, Instant};

/// The least, the second and the third choice, each later than the one before, within a window of `span`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MinFilter {
    span: Duration,
    choices: Option<[Choice; 3]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Choice {
    value: Duration,
    at: Instant,
}

impl MinFilter {
    /// No sample yet.
    pub fn new(span: Duration) -> Self {
        Self { span, choices: None }
    }

    /// The least value, once there was a sample.
    pub fn least(&self) -> Option<Duration> {
        self.choices.map(|[first, ..]| first.value)
    }

    /// Takes a sample; those before it were not later.
    pub fn observe(&mut self, at: Instant, value: Duration) {
        let new = Choice { value, at };
        let kept = self.choices.filter(|[first, _, third]| value > first.value && at - third.at <= self.span);
        let Some([mut first, mut second, mut third]) = kept else {
            self.choices = Some([new; 3]);
            return;
        };
        if value <= second.value {
            (second, third) = (new, new);
        } else if value <= third.value {
            third = new;
        }
        let age = at - first.at;
        if age > self.span {
            // The first is out of the window; the second may be as well, the third was looked at above.
            (first, second, third) = (second, third, new);
            if at - first.at > self.span {
                (first, second, third) = (second, third, new);
            }
        } else if second.at == first.at && age > self.span / 4 {
            (second, third) = (new, new);
        } else if third.at == second.at && age > self.span / 2 {
            third = new;
        }
        self.choices = Some([first, second, third]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 100 ms; each sample is a time and a value in milliseconds, the answer the least after each.
    fn least(samples: &[(u64, i64)]) -> Vec<i64> {
        let mut filter = MinFilter::new(Duration::from_millis(100));
        let take = |&(at, value): &(u64, i64)| {
            filter.observe(Instant::from_nanos(at * 1_000_000), Duration::from_millis(value));
            filter.least().expect("a sample").as_nanos() / 1_000_000
        };
        samples.iter().map(take).collect()
    }

    #[test]
    fn it_is_none_before_the_first_and_then_falls_at_once() {
        assert_eq!(MinFilter::new(Duration::from_millis(1)).least(), None);
        assert_eq!(least(&[(0, 17), (3, 19), (5, 11), (6, 11), (7, 13)]), [17, 17, 11, 11, 11]);
    }

    #[test]
    fn it_rises_to_later_samples_once_the_window_has_passed() {
        // 13 is the best of the second quarter, 14 of the last half.
        let samples = [(0, 10), (30, 13), (60, 14), (100, 18), (101, 18), (131, 19), (161, 17)];
        assert_eq!(least(&samples), [10, 10, 10, 10, 13, 14, 17]);
    }

    #[test]
    fn a_pause_longer_than_the_window_leaves_nothing() {
        assert_eq!(least(&[(0, 10), (40, 12), (141, 30)]), [10, 10, 30]);
    }
}
