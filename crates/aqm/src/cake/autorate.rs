//! The rate of what arrives, as the shaper's (`autorate-ingress`, in `cake_enqueue`).

use super::tin::ewma;
use crate::time::{Duration, Instant};

/// An estimate of the capacity in front of the queue, in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Autorate {
    last: Instant,
    /// Average gap between arrivals in nanoseconds.
    gap: u64,
    window_begin: Instant,
    window_bytes: u64,
    pub peak: u64,
}

impl Autorate {
    /// It starts from the configured rate.
    pub fn new(rate: u64) -> Self {
        Self { last: Instant::ZERO, gap: 0, window_begin: Instant::ZERO, window_bytes: 0, peak: rate }
    }

    /// A packet of which `bytes` were added to the backlog arrives; the rate to shape to from now on, if it changes.
    ///
    /// Linux never writes the time of its last change: once a quarter of a second has passed since the clock's origin, it
    /// changes at every arrival behind a gap longer than usual.
    pub fn arrived(&mut self, now: Instant, bytes: u64) -> Option<u64> {
        self.window_bytes += bytes;
        let gap = (now - self.last).as_nanos().min(SECOND) as u64;
        self.gap = ewma(self.gap, gap, if gap > self.gap { 2 } else { 8 });
        self.last = now;
        // Short bursts, of aggregates say, are left out.
        if gap <= self.gap {
            return None;
        }
        let window = (now - self.window_begin).as_nanos() as u128;
        let rate = (self.window_bytes as u128 * SECOND as u128 / window) as u64;
        self.peak = ewma(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.window_bytes, self.window_begin) = (0, now);
        (now - Instant::ZERO > Duration::from_millis(250)).then_some((self.peak * 15) >> 4)
    }
}

const SECOND: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_estimate_comes_near_to_15_16_of_what_arrives() {
        // 1,000 bytes at 1 and at 3 ms in turn: 500,000 B/s.
        let mut autorate = Autorate::new(0);
        let rates = (0..4000u64).filter_map(|n| {
            let at = 2_000_000 * n + if n % 2 == 0 { 0 } else { 1_000_000 };
            autorate.arrived(Instant::from_nanos(at), 1000).map(|rate| (at, rate))
        });
        let rates: alloc::vec::Vec<_> = rates.collect();
        assert!(rates[0].0 > 250_000_000, "not before a quarter of a second: {:?}", rates[0]);
        let (_, last) = rates[rates.len() - 1];
        assert!((460_000..475_000).contains(&last), "{last}");
    }
}
