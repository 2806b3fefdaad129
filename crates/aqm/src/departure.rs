//! The departure rate as PIE of 2013 and CoDel-DT measure it: how long a number of bytes takes to leave.

use crate::time::{Duration, Instant};

/// Times the departure of `threshold` bytes, over and over while the queue is long enough.
#[derive(Clone, Debug)]
pub(crate) struct DepartureTimer {
    /// Bytes whose departure is timed.
    threshold: u64,
    start: Instant,
    /// Bytes that have left in this measurement.
    count: Option<u64>,
}

/// A completed measurement.
pub(crate) struct Measurement {
    /// Bytes per second.
    pub rate: f64,
    /// What it took.
    pub time: Duration,
}

impl DepartureTimer {
    /// No measurement runs.
    pub fn new(threshold: u64) -> Self {
        Self { threshold, start: Instant::ZERO, count: None }
    }

    /// A packet of `len` bytes leaves `backlog` behind. The measurement that ends with it, if one does; the next one
    /// begins at once if `backlog` is at least `to_go_on`.
    pub fn departed(&mut self, now: Instant, len: u32, backlog: u64, to_go_on: u64) -> Option<Measurement> {
        if backlog >= self.threshold && self.count.is_none() {
            self.start = now;
            self.count = Some(0);
        }
        // The packet that begins a measurement counts in it.
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

    /// Breaks the measurement off.
    pub fn stop(&mut self) {
        self.count = None;
    }

    /// Bytes that have left in the measurement that runs.
    #[cfg(test)]
    pub fn count(&self) -> Option<u64> {
        self.count
    }
}
