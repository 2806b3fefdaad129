//! Queueing delay as LEDBAT measures it: the minimum of the last samples less the minimum of the last ten minutes (RFC
//! 6817 §2.4.2, UPDATE_BASE_DELAY and UPDATE_CURRENT_DELAY).

use sojourn_aqm::{Duration, Instant};

/// Delay samples. A constant offset, such as the difference between two clocks, cancels out.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayHistory {
    /// Minimum of each minute that has samples, the current minute last.
    base: Vec<Duration>,
    /// Minute of the last sample.
    minute: u64,
    /// Last samples, as a ring.
    current: Vec<Duration>,
    /// Index of the next sample in the ring.
    next: usize,
}

impl DelayHistory {
    /// Adds a sample.
    pub fn add_sample(&mut self, now: Instant, delay: Duration) {
        let minute = now.as_nanos() / MINUTE;
        match self.base.last_mut().filter(|_| self.minute == minute) {
            Some(minimum) => *minimum = delay.min(*minimum),
            None => {
                if self.base.len() == BASE_HISTORY {
                    self.base.remove(0);
                }
                self.base.push(delay);
            }
        }
        self.minute = minute;
        if self.current.len() < CURRENT_FILTER {
            self.current.push(delay);
        } else {
            self.current[self.next] = delay;
        }
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// Base delay: minimum of the last ten minutes; none before the first sample.
    pub fn base(&self) -> Option<Duration> {
        self.base.iter().min().copied()
    }

    /// Minimum of the last samples; none before the first sample.
    pub fn current(&self) -> Option<Duration> {
        self.current.iter().min().copied()
    }

    /// Current delay less base delay; zero before the first sample.
    pub fn queueing_delay(&self) -> Duration {
        self.current().zip(self.base()).map_or(Duration::ZERO, |(current, base)| current - base)
    }
}

/// BASE_HISTORY, in minutes.
pub(super) const BASE_HISTORY: usize = 10;
/// CURRENT_FILTER, in samples. The one-way delay by timestamps includes the receiver's acknowledgment delay; the minimum
/// of four samples removes it.
pub(super) const CURRENT_FILTER: usize = 4;
/// In nanoseconds.
const MINUTE: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: u64) -> Instant {
        Instant::from_nanos(s * 1_000_000_000)
    }

    #[test]
    fn the_base_is_the_least_of_ten_minutes_and_the_filter_the_least_of_four_samples() {
        let mut delays = DelayHistory::default();
        assert_eq!(delays.queueing_delay(), Duration::ZERO);
        // The offset between the two clocks is arbitrary.
        for (s, ms, queuing) in
            [(0, -40, 0), (1, -10, 0), (2, -20, 0), (3, -30, 0), (4, -5, 10), (59, -7, 10), (60, -9, 10), (61, -8, 31)]
        {
            delays.add_sample(at(s), Duration::from_millis(ms));
            assert_eq!(delays.queueing_delay(), Duration::from_millis(queuing), "after {s} s");
        }
        // The first minute counts until ten later minutes have samples.
        for minute in 2..10 {
            delays.add_sample(at(60 * minute), Duration::from_millis(-8));
        }
        assert_eq!(delays.base(), Some(Duration::from_millis(-40)));
        delays.add_sample(at(60 * 10), Duration::from_millis(-8));
        assert_eq!(delays.base(), Some(Duration::from_millis(-9)));
    }
}
