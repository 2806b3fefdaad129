//! RTT estimation (RFC 9002 §5, `UpdateRtt`), in whole nanoseconds.

use super::MAX_ACK_DELAY;
use sojourn_aqm::{Duration, Instant};

/// RTT estimator.
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

    /// Takes a sample of `latest`; the receiver delayed the acknowledgment by `ack_delay`.
    pub fn update(&mut self, now: Instant, latest: Duration, ack_delay: Duration) {
        self.latest = latest;
        self.total = (self.total.0 + latest.as_nanos() as u64, self.total.1 + 1);
        if self.first_sample.is_none() {
            (self.min, self.smoothed, self.var) = (latest, latest, latest / 2);
            self.first_sample = Some(now);
            return;
        }
        // ACK Delay is subtracted only if the result is at least the minimum RTT.
        self.min = self.min.min(latest);
        let ack_delay = ack_delay.min(MAX_ACK_DELAY);
        let adjusted = if latest >= self.min + ack_delay { latest - ack_delay } else { latest };
        let difference = if self.smoothed > adjusted { self.smoothed - adjusted } else { adjusted - self.smoothed };
        self.var = (self.var * 3 + difference) / 4;
        self.smoothed = (self.smoothed * 7 + adjusted) / 8;
    }

    /// Last sample; zero before the first.
    pub fn latest(&self) -> Duration {
        self.latest
    }

    /// Sum of all samples in nanoseconds, and their number.
    pub fn total(&self) -> (u64, u64) {
        self.total
    }

    /// Smoothed RTT; 333 ms before the first sample.
    pub fn smoothed(&self) -> Duration {
        self.smoothed
    }

    /// Mean deviation.
    #[cfg(test)]
    pub fn var(&self) -> Duration {
        self.var
    }

    /// Minimum RTT; none before the first sample.
    pub fn min(&self) -> Option<Duration> {
        self.first_sample.map(|_| self.min)
    }

    /// Time of the first sample.
    pub fn first_sample(&self) -> Option<Instant> {
        self.first_sample
    }

    /// Time threshold: a packet is lost if it was sent this long before an acknowledged packet.
    pub fn loss_delay(&self) -> Duration {
        (self.latest.max(self.smoothed) * 9 / 8).max(GRANULARITY)
    }

    /// Probe time-out without back-off, if the receiver may delay acknowledgments by `max_ack_delay`.
    pub fn pto(&self, max_ack_delay: Duration) -> Duration {
        self.smoothed + (self.var * 4).max(GRANULARITY) + max_ack_delay
    }
}

/// `kInitialRtt`.
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// `kGranularity`.
const GRANULARITY: Duration = Duration::from_millis(1);
