//! Round-trip times (RFC 9002 §5, `UpdateRtt`), in whole nanoseconds.

use super::MAX_ACK_DELAY;
use sojourn_aqm::{Duration, Instant};

/// The estimator.
#[derive(Clone, Debug)]
pub(super) struct Rtt {
    latest: Duration,
    smoothed: Duration,
    var: Duration,
    min: Duration,
    first_sample: Option<Instant>,
    /// Sum of all samples in nanoseconds, and their number.
    total: (u64, u64),
}

impl Rtt {
    /// No sample yet.
    pub fn new() -> Self {
        let none = Duration::ZERO;
        Self { latest: none, smoothed: INITIAL_RTT, var: INITIAL_RTT / 2, min: none, first_sample: None, total: (0, 0) }
    }

    /// A packet is acknowledged that was sent `latest` ago; its receiver says that it held the acknowledgment for `ack_delay`.
    pub fn update(&mut self, now: Instant, latest: Duration, ack_delay: Duration) {
        self.latest = latest;
        self.total = (self.total.0 + latest.as_nanos() as u64, self.total.1 + 1);
        if self.first_sample.is_none() {
            (self.min, self.smoothed, self.var) = (latest, latest, latest / 2);
            self.first_sample = Some(now);
            return;
        }
        // What the receiver says counts for the least RTT only in that it cannot be below that.
        self.min = self.min.min(latest);
        let ack_delay = ack_delay.min(MAX_ACK_DELAY);
        let adjusted = if latest >= self.min + ack_delay { latest - ack_delay } else { latest };
        let difference = if self.smoothed > adjusted { self.smoothed - adjusted } else { adjusted - self.smoothed };
        self.var = (self.var * 3 + difference) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    /// The last sample; zero before the first one.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// Sum of all samples in nanoseconds, and their number.
    pub fn total(&self) -> (u64, u64) {
        self.total
    }

    /// The smoothed RTT; 333 ms before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// The mean deviation.
    #[cfg(test)]
    pub fn var(&self) -> Duration {
        self.var
    }

    /// The least RTT, once there was a sample.
    pub fn min(&self) -> Option<Duration> {
        self.first_sample.map(|_| self.min)
    }

    /// When the first sample was taken.
    pub fn first_sample(&self) -> Option<Instant> {
        self.first_sample
    }

    /// After how long something that was sent later, and has arrived, tells that a packet is lost.
    pub fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed) * 9 / 8).max(GRANULARITY)
    }

    /// The probe time-out without its back-off, where the receiver may hold acknowledgments back for `max_ack_delay`.
    pub fn pto(&self, max_ack_delay: Duration) -> Duration {
        self.smoothed + (self.var * 4).max(GRANULARITY) + max_ack_delay
    }
}

/// `kInitialRtt`.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// `kGranularity`.
const GRANULARITY: Duration = Duration::from_millis(1);
