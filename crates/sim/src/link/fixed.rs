//! A constant rate, with exact transmission times.

use sojourn_aqm::{Duration, Instant, Rate, Serializer};

/// A transmitter of constant rate.
#[derive(Debug)]
pub(crate) struct FixedRate {
    serializer: Serializer,
    /// When the packet in transmission has left.
    pub busy_until: Instant,
    /// The queue has not been asked since: a transmitter asks when it falls idle, and learns that there is nothing.
    pub owes_poll: bool,
    /// Whether an event is pending for when it falls idle.
    pub pending: bool,
}

impl FixedRate {
    pub fn new(rate: Rate) -> Self {
        Self { serializer: Serializer::new(rate), busy_until: Instant::ZERO, owes_poll: false, pending: false }
    }

    /// Starts a transmission of `bytes` at `now` and returns its length.
    #[inline]
    pub fn start(&mut self, now: Instant, bytes: u32) -> Duration {
        let time = self.serializer.time_for(bytes);
        self.busy_until = now + time;
        time
    }

    pub fn capacity_bytes(&self, from: Instant, to: Instant) -> f64 {
        self.serializer.rate().as_bps() as f64 / 8.0 * (to - from).as_secs_f64()
    }
}
