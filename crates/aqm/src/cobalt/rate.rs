//! Times that CAKE derives from a rate (`cake_set_rate`): the time of a byte as an integer with a shift, a target that
//! fits the largest packet, and a quantum.

use crate::rate::Rate;
use crate::time::Duration;

/// Rate in the kernel's arithmetic, with the values derived from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScaledRate {
    /// Nanoseconds per byte with `shift` fractional bits; 0 without a rate.
    rate_ns: u64,
    shift: u32,
    /// Bytes that a flow may send per round.
    pub quantum: u32,
    /// Transmission time of the largest packet in nanoseconds.
    pub mtu_time: i64,
    pub target: Duration,
    pub interval: Duration,
}

impl ScaledRate {
    /// Derives the values from `rate` in bytes per second, 0 for no rate, and packets of at most `mtu` bytes.
    pub fn new(rate: u64, mtu: u32, target: Duration, interval: Duration) -> Self {
        let (mut rate_ns, mut shift, mut quantum) = (0, 0, MAX_QUANTUM);
        if rate > 0 {
            quantum = (rate >> 12).clamp(MIN_QUANTUM as u64, MAX_QUANTUM as u64) as u32;
            shift = 34;
            rate_ns = (1_000_000_000u64 << shift) / rate.max(MIN_RATE);
            while rate_ns >> 34 != 0 {
                rate_ns >>= 1;
                shift -= 1;
            }
        }
        let mtu_time = time_for(mtu as u64, rate_ns, shift);
        let (base_target, base_interval) = (target, interval);
        let target = Duration::from_nanos(mtu_time * 3 / 2).max(base_target);
        let interval = (base_interval + (target - base_target)).max(target * 2);
        Self { rate_ns, shift, quantum, mtu_time, target, interval }
    }

    /// The same target and interval at another rate.
    pub fn at(self, rate: u64) -> Self {
        let Self { mtu_time, target, interval, .. } = self;
        Self { mtu_time, target, interval, ..Self::new(rate, 0, Duration::ZERO, Duration::ZERO) }
    }

    /// Whether there is a rate.
    #[inline]
    pub fn is_limited(&self) -> bool {
        self.rate_ns > 0
    }

    /// Transmission time of `bytes`, rounded down per packet.
    #[inline]
    pub fn time_for(&self, bytes: u64) -> i64 {
        time_for(bytes, self.rate_ns, self.shift)
    }
}

#[inline]
const fn time_for(bytes: u64, rate_ns: u64, shift: u32) -> i64 {
    ((bytes * rate_ns) >> shift) as i64
}

/// `rate` in whole bytes per second.
pub(crate) fn bytes_per_second(rate: Rate) -> u64 {
    rate.as_bps() / 8
}

/// Minimum rate of Linux's arithmetic, in bytes per second.
pub(crate) const MIN_RATE: u64 = 64;
const MIN_QUANTUM: u32 = 300;
const MAX_QUANTUM: u32 = 1514;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_times_are_the_kernels() {
        let ms = Duration::from_millis;
        for (kbps, quantum, rate_ns, shift, mtu_time, target, interval) in [
            (64, 300, 16384000000, 17, 189250000, 283875000, 567750000),
            (1_000, 300, 16777216000, 21, 12112000, 18168000, 113168000),
            (2_500, 300, 13421772800, 22, 4844800, 7267200, 102267200),
            (5_000, 300, 13421772800, 23, 2422400, 5000000, 100000000),
            (10_000, 305, 13421772800, 24, 1211200, 5000000, 100000000),
            (50_000, 1514, 10737418240, 26, 242240, 5000000, 100000000),
            (100_000, 1514, 10737418240, 27, 121120, 5000000, 100000000),
            (1_000_000, 1514, 8589934592, 30, 12112, 5000000, 100000000),
        ] {
            let scaled = ScaledRate::new(bytes_per_second(Rate::from_bps(kbps * 1000)), 1514, ms(5), ms(100));
            let (target, interval) = (Duration::from_nanos(target), Duration::from_nanos(interval));
            assert_eq!(scaled, ScaledRate { rate_ns, shift, quantum, mtu_time, target, interval }, "{kbps} kbit/s");
        }
        let unlimited = ScaledRate::new(0, 1514, ms(5), ms(100));
        assert_eq!((unlimited.quantum, unlimited.mtu_time, unlimited.time_for(1514)), (1514, 0, 0));
    }

    #[test]
    fn times_are_rounded_down_for_every_packet() {
        // 7,777,777 B/s: 1499 B take 192.728591…  µs.
        let scaled = ScaledRate::new(7_777_777, 1514, Duration::from_millis(5), Duration::from_millis(100));
        assert_eq!(scaled.time_for(1499), 192_728);
        // Rates below the kernel's minimum become the minimum.
        assert_eq!(ScaledRate::new(1, 1514, Duration::ZERO, Duration::ZERO).time_for(64), 1_000_000_000);
    }
}
