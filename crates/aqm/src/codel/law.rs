//! CoDel's arithmetic: its clock and its control law, in nanoseconds with square roots or as Linux computes.

use crate::choice;
use crate::time::{Duration, Instant};

choice! {
    /// How times are kept and the control law is computed.
    pub enum Law {
        /// Nanoseconds and a correctly rounded square root.
        Float = "float",
        /// Linux (codel.h): ticks of 1024 ns compared as signed 32-bit numbers, and an inverse square root of
        /// 16 bits that one Newton step per change of `count` improves.
        Linux = "linux",
        /// mahimahi: whole milliseconds, everywhere rounded down; beyond a count of 10,000 an interval of 100 ms
        /// is over at once.
        Millis = "millis",
    }
}

/// The law `drop_next += interval / sqrt(count)` on one of the clocks. Times and spans are in the clock's units.
#[derive(Clone, Debug)]
pub(super) struct ControlLaw {
    law: Law,
    interval: u64,
    /// Linux: approximation of 1/sqrt(count), 16 bits after the point.
    rec_inv_sqrt: u16,
}

impl ControlLaw {
    pub fn new(law: Law, interval: Duration) -> Self {
        Self { law, interval: law.span(interval), rec_inv_sqrt: ONE }
    }

    /// Takes note that `count` has changed.
    pub fn count_changed(&mut self, count: u32) {
        if self.law == Law::Linux {
            self.rec_inv_sqrt = if count == 1 { ONE } else { newton_step(self.rec_inv_sqrt, count) };
        }
    }

    /// `interval / sqrt(count)`; `count` is the one last noted.
    pub fn step(&self, count: u32) -> u64 {
        match self.law {
            Law::Float => libm::round(self.interval as f64 / libm::sqrt(count as f64)) as u64,
            Law::Linux => (self.interval * ((self.rec_inv_sqrt as u64) << 16)) >> 32,
            Law::Millis => (self.interval as f64 / libm::sqrt(count as f64)) as u64,
        }
    }

    #[inline]
    pub fn interval(&self) -> u64 {
        self.interval
    }

    #[inline]
    pub fn law(&self) -> Law {
        self.law
    }
}

impl Law {
    /// A point on this clock.
    #[inline]
    pub(super) fn clock(self, at: Instant) -> u64 {
        match self {
            Self::Float => at.as_nanos(),
            Self::Linux => at.as_nanos() >> TICK_SHIFT,
            Self::Millis => at.as_nanos() / NANOS_PER_MILLI,
        }
    }

    /// A span on this clock, rounded down.
    #[inline]
    pub(super) fn span(self, span: Duration) -> u64 {
        match self {
            Self::Float => span.as_nanos() as u64,
            // The longest span that a signed 32-bit comparison understands; it stands for "never".
            Self::Linux => (span.as_nanos() as u64 >> TICK_SHIFT).min(i32::MAX as u64),
            Self::Millis => span.as_nanos() as u64 / NANOS_PER_MILLI,
        }
    }

    /// `a - b`, signed: after a quick exit `drop_next` lies in the future.
    #[inline]
    pub(super) fn difference(self, a: u64, b: u64) -> i64 {
        let difference = a.wrapping_sub(b);
        match self {
            Self::Float | Self::Millis => difference as i64,
            Self::Linux => difference as i32 as i64,
        }
    }

    /// Whether `span` has passed at `now` since `from`: `now - from >= span`.
    #[inline]
    pub(super) fn passed(self, now: u64, from: u64, span: u64) -> bool {
        self.difference(self.difference(now, from) as u64, span) >= 0
    }

    /// A point or a span of this clock in seconds.
    pub(super) fn secs(self, units: u64) -> f64 {
        let nanos = match self {
            Self::Float => units,
            Self::Linux => units << TICK_SHIFT,
            Self::Millis => units * NANOS_PER_MILLI,
        };
        nanos as f64 / 1e9
    }
}

/// One step of Newton's iteration for 1/sqrt(count), as in Linux: x' = x (3 - count x²) / 2.
fn newton_step(rec_inv_sqrt: u16, count: u32) -> u16 {
    let invsqrt = (rec_inv_sqrt as u64) << 16;
    let invsqrt2 = (invsqrt * invsqrt) >> 32;
    let mut val = (3u64 << 32).wrapping_sub(count as u64 * invsqrt2);
    val >>= 2; // avoids overflow in the following multiplication
    val = val.wrapping_mul(invsqrt) >> (32 - 2 + 1);
    (val >> 16) as u16
}

/// 1/sqrt(1) to 16 bits.
const ONE: u16 = u16::MAX;
const TICK_SHIFT: u32 = 10;
const NANOS_PER_MILLI: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_millis(100);

    /// The law after `count` has risen by one, `count - 1` times, from 1.
    fn risen_to(count: u32) -> ControlLaw {
        let mut law = ControlLaw::new(Law::Linux, INTERVAL);
        (1..=count).for_each(|count| law.count_changed(count));
        law
    }

    #[test]
    fn linux_inverse_square_root_as_count_rises() {
        assert_eq!(Law::Linux.span(INTERVAL), 97_656);
        assert_eq!(Law::Linux.span(Duration::from_millis(5)), 4_882);
        for (count, rec, ticks) in [
            (1, 65_535, 97_654),
            (2, 32_769, 48_829),
            (3, 36_864, 54_931),
            (4, 31_968, 47_635),
            (5, 28_935, 43_116),
            (6, 26_481, 39_459),
            (8, 23_037, 34_327),
            (10, 20_647, 30_766),
            (16, 16_360, 24_378),
            (25, 13_099, 19_518),
            (39, 10_491, 15_632),
            (5000, 926, 1_379),
        ] {
            let law = risen_to(count);
            assert_eq!((law.rec_inv_sqrt, law.step(count)), (rec, ticks), "count {count}");
        }
    }

    #[test]
    fn linux_re_entry_jump_takes_one_step_and_stays_inaccurate() {
        let mut law = risen_to(20);
        assert_eq!(law.rec_inv_sqrt, 14_640);
        law.count_changed(10);
        assert_eq!(law.rec_inv_sqrt, 18_307, "0.2793 where the inverse square root of 10 is 0.3162");
        law.count_changed(1);
        assert_eq!(law.rec_inv_sqrt, 65_535);
    }

    #[test]
    fn float_law_is_exact_to_the_nanosecond() {
        let law = ControlLaw::new(Law::Float, INTERVAL);
        for (count, nanos) in [(1, 100_000_000), (2, 70_710_678), (3, 57_735_027), (4, 50_000_000), (2500, 2_000_000)] {
            assert_eq!(law.step(count), nanos, "count {count}");
        }
    }

    #[test]
    fn differences_are_signed_and_linux_wraps_at_32_bits() {
        assert_eq!(Law::Float.difference(3, 5), -2);
        assert_eq!(Law::Linux.difference(3, 5), -2);
        let wrapped = 1u64 << 32;
        assert_eq!(Law::Float.difference(wrapped + 3, 5), wrapped as i64 - 2);
        assert_eq!(Law::Linux.difference(wrapped + 3, 5), -2);
        assert_eq!(Law::Linux.span(Duration::from_secs(3600)), i32::MAX as u64);
        // 2,199 s after it was set, a drop time seems to lie in the future.
        assert!(Law::Linux.passed((1 << 31) - 1, 0, 0) && !Law::Linux.passed(1 << 31, 0, 0));
        assert!(Law::Float.passed(10, 4, 6) && !Law::Float.passed(10, 4, 7) && !Law::Float.passed(4, 10, 0));
    }
}
