//! The queueing delay as LEDBAT measures it: the least of the last samples, less the least of the last ten minutes
//! (RFC 6817 §2.4.2, UPDATE_BASE_DELAY and UPDATE_CURRENT_DELAY).

use sojourn_aqm::{Duration, Instant};

/// Samples of the delay. Whatever constant the samples contain, such as the difference between two clocks, cancels out.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayHistory {
    /// The least of each minute in which there were samples, the present one last.
    base: Vec<Duration>,
    /// The minute of the last of them.
    minute: u64,
    /// The last samples, in a ring.
    current: Vec<Duration>,
    /// Where the next one goes.
    next: usize,
}

impl DelayHistory {
    /// Takes a sample.
    pub fn add_sample(&mut self, now: Instant, delay: Duration) {
        let minute = now.as_nanos() / MINUTE;
        match self.base.last_mut().filter(|_| self.minute == minute) {
            Some(least) => *least = delay.min(*least),
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

    /// The least sample of the last ten minutes; none before the first.
    pub fn base(&self) -> Option<Duration> {
        self.base.iter().min().copied()
    }

    /// The least of the last samples.
    pub fn current(&self) -> Option<Duration> {
        self.current.iter().min().copied()
    }

    /// The queueing delay.
    pub fn queueing_delay(&self) -> Duration {
        self.current().zip(self.base()).map_or(Duration::ZERO, |(current, base)| current - base)
    }
}

/// Minutes (BASE_HISTORY).
pub(super) const BASE_HISTORY: usize = 10;
/// Samples (CURRENT_FILTER).
pub(super) const CURRENT_FILTER: usize = 4;
/// Nanoseconds.
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
        // Two clocks may be any time apart.
        for (s, ms, queuing) in
            [(0, -40, 0), (1, -10, 0), (2, -20, 0), (3, -30, 0), (4, -5, 10), (59, -7, 10), (60, -9, 10), (61, -8, 31)]
        {
            delays.add_sample(at(s), Duration::from_millis(ms));
            assert_eq!(delays.queueing_delay(), Duration::from_millis(queuing), "after {s} s");
        }
        // The first minute counts until nine others with samples have come after the next.
        for minute in 2..10 {
            delays.add_sample(at(60 * minute), Duration::from_millis(-8));
        }
        assert_eq!(delays.base(), Some(Duration::from_millis(-40)));
        delays.add_sample(at(60 * 10), Duration::from_millis(-8));
        assert_eq!(delays.base(), Some(Duration::from_millis(-9)));
    }
}
