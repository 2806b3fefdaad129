//! Estimator of the arrival rate, which sets the shaper's rate (`autorate-ingress`, in `cake_enqueue`).

use super::tin::ewma;
use crate::time::{Duration, Instant};

/// Estimate of the capacity in front of the queue, in bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Autorate {
    last: Instant,
    /// Average gap between arrivals in nanoseconds.
    gap: u64,
    window_begin: Instant,
    window_bytes: u64,
    pub peak: u64,
    /// Time of the last rate change, if recorded.
    last_reconfig_time: Instant,
    records_reconfig_time: bool,
}

impl Autorate {
    /// Starts from the configured rate. `spaced`: changes are 250 ms apart, as intended and as in Linux 7.3. The
    /// machine booted at `boot`.
    pub fn new(rate: u64, spaced: bool, boot: Instant) -> Self {
        Self {
            last: boot,
            gap: 0,
            window_begin: boot,
            window_bytes: 0,
            peak: rate,
            last_reconfig_time: boot,
            records_reconfig_time: spaced,
        }
    }

    /// Accounts for an arrival that added `bytes` to the backlog. Returns the new shaped rate if it changes.
    ///
    /// Linux 6 never records the time of its last change, so once 250 ms have passed since boot, it changes the rate at
    /// every arrival after a gap longer than average.
    pub fn arrived(&mut self, now: Instant, bytes: u64) -> Option<u64> {
        self.window_bytes += bytes;
        let gap = (now - self.last).as_nanos().min(SECOND) as u64;
        self.gap = ewma(self.gap, gap, if gap > self.gap { 2 } else { 8 });
        self.last = now;
        // Short bursts, e.g. of aggregates, do not count.
        if gap <= self.gap {
            return None;
        }
        let window = (now - self.window_begin).as_nanos() as u128;
        let rate = (self.window_bytes as u128 * SECOND as u128 / window) as u64;
        self.peak = ewma(self.peak, rate, if rate > self.peak { 2 } else { 8 });
        (self.window_bytes, self.window_begin) = (0, now);
        if now - self.last_reconfig_time <= Duration::from_millis(250) {
            return None;
        }
        if self.records_reconfig_time {
            self.last_reconfig_time = now;
        }
        Some((self.peak * 15) >> 4)
    }
}

const SECOND: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Times and values of rate changes when 1,000 bytes arrive with gaps of 1 and 3 ms in turn: 500,000 B/s.
    fn changes(spaced: bool) -> Vec<(u64, u64)> {
        let mut autorate = Autorate::new(0, spaced, Instant::ZERO);
        let changed = (0..4000u64).filter_map(|n| {
            let at = 2_000_000 * n + if n % 2 == 0 { 0 } else { 1_000_000 };
            autorate.arrived(Instant::from_nanos(at), 1000).map(|rate| (at, rate))
        });
        changed.collect()
    }

    #[test]
    fn the_estimate_comes_near_to_15_16_of_what_arrives() {
        for spaced in [false, true] {
            let changed = changes(spaced);
            assert!(changed[0].0 > 250_000_000, "not before a quarter of a second: {:?}", changed[0]);
            let (_, last) = changed[changed.len() - 1];
            assert!((460_000..475_000).contains(&last), "{last}");
        }
    }

    #[test]
    fn behind_its_first_gap_the_rate_of_a_machine_that_is_up_is_that_since_the_boot() {
        let first = |uptime| {
            let mut autorate = Autorate::new(1_000_000, false, Instant::ZERO - Duration::from_secs(uptime));
            autorate.arrived(Instant::from_nanos(1_000_000), 1000)
        };
        // 1000 B in 10.001 s are 99 B/s. The peak falls by 1/256; 15/16 of it are the new rate.
        assert_eq!((first(0), first(10)), (None, Some(933_838)));
    }

    #[test]
    fn linux_6_changes_the_rate_behind_every_long_gap_and_7_a_quarter_of_a_second_after_the_last_change() {
        let gaps = |spaced| changes(spaced).windows(2).map(|two| two[1].0 - two[0].0).collect::<Vec<_>>();
        assert!(gaps(false).iter().all(|&gap| gap == 4_000_000));
        assert!(gaps(true).iter().all(|&gap| gap == 252_000_000), "{:?}", gaps(true));
    }
}
