//! Queueing delay as LEDBAT measures it: the minimum of the last samples less the minimum of the last minutes (RFC 6817
//! §2.4.2, UPDATE_BASE_DELAY and UPDATE_CURRENT_DELAY).

use sojourn_aqm::{Duration, Instant};

/// Delay samples. A constant offset, such as the difference between two clocks, cancels out.
#[derive(Clone, Debug)]
pub(super) struct DelayHistory {
    /// BASE_HISTORY, in minutes.
    base_history: usize,
    /// CURRENT_FILTER, in samples.
    current_filter: usize,
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
    /// A base of `base_history` minutes, and a filter of `current_filter` samples.
    pub fn new(base_history: u32, current_filter: u32) -> Self {
        Self {
            base_history: base_history as usize,
            current_filter: current_filter as usize,
            base: Vec::new(),
            minute: 0,
            current: Vec::new(),
            next: 0,
        }
    }

    /// Adds a sample.
    pub fn add_sample(&mut self, now: Instant, delay: Duration) {
        let minute = now.as_nanos() / MINUTE;
        match self.base.last_mut().filter(|_| self.minute == minute) {
            Some(minimum) => *minimum = delay.min(*minimum),
            None => {
                if self.base.len() == self.base_history {
                    self.base.remove(0);
                }
                self.base.push(delay);
            }
        }
        self.minute = minute;
        if self.current.len() < self.current_filter {
            self.current.push(delay);
        } else {
            self.current[self.next] = delay;
        }
        self.next = if self.next + 1 < self.current_filter { self.next + 1 } else { 0 };
    }

    /// Base delay: minimum of the last BASE_HISTORY minutes; none before the first sample.
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

/// Default of BASE_HISTORY, in minutes.
pub(super) const BASE_HISTORY: u32 = 10;
/// Default of CURRENT_FILTER, in samples. The one-way delay by timestamps includes the receiver's acknowledgment delay;
/// the minimum of four samples removes it.
pub(super) const CURRENT_FILTER: u32 = 4;
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
        let mut delays = DelayHistory::new(BASE_HISTORY, CURRENT_FILTER);
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
