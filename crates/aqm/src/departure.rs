//! The departure rate as PIE of 2013 and CoDel-DT measure it: the time in which a number of bytes leaves.

use crate::time::{Duration, Instant};

/// Times the departure of `threshold` bytes, repeatedly while the queue is long enough.
#[derive(Clone, Debug)]
pub(crate) struct DepartureTimer {
    /// Bytes per measurement.
    threshold: u64,
    start: Instant,
    /// Bytes departed in the current measurement.
    count: Option<u64>,
}

/// A completed measurement.
pub(crate) struct Measurement {
    /// Bytes per second.
    pub rate: f64,
    /// Duration of the measurement.
    pub time: Duration,
}

impl DepartureTimer {
    /// A timer without a current measurement.
    pub fn new(threshold: u64) -> Self {
        Self { threshold, start: Instant::ZERO, count: None }
    }

    /// A packet of `len` bytes departs and leaves `backlog`. Returns the measurement that it completes, if any; the
    /// next one starts at once if `backlog` is at least `to_go_on`.
    pub fn departed(&mut self, now: Instant, len: u32, backlog: u64, to_go_on: u64) -> Option<Measurement> {
        if backlog >= self.threshold && self.count.is_none() {
            self.start = now;
            self.count = Some(0);
        }
        // The packet that starts a measurement counts in it.
        let count = self.count? + len as u64;
        self.count = Some(count);
        let time = now - self.start;
        if count < self.threshold || time <= Duration::ZERO {
            return None;
        }
        self.count = (backlog >= to_go_on).then_some(0);
        self.start = now;
        Some(Measurement { rate: count as f64 / time.as_secs_f64(), time })
    }

    /// Cancels the measurement.
    pub fn stop(&mut self) {
        self.count = None;
    }

    /// Bytes departed in the current measurement.
    #[cfg(test)]
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}
