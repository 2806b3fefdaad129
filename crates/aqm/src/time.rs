//! Points and spans of time in integer nanoseconds, as two different types.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: nanoseconds since the host's origin.
///
/// The range is 584 years. A host picks the origin: a simulation starts at zero.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A span of time in nanoseconds. Signed, because the time since a scheduled point may be negative.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(i64);

impl Instant {
    /// The host's origin.
    pub const ZERO: Self = Self(0);
    /// Later than every event: the deadline of a timer that is not set.
    pub const NEVER: Self = Self(u64::MAX);

    /// The point `nanos` nanoseconds after the origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the origin, for reports; never for decisions.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Duration {
    /// The empty span.
    pub const ZERO: Self = Self(0);
    /// The longest span.
    pub const MAX: Self = Self(i64::MAX);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// `micros` microseconds.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros * 1_000)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis * 1_000_000)
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: i64) -> Self {
        Self(secs * 1_000_000_000)
    }

    /// The span nearest to `secs` seconds; saturates at the bounds of the range.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(libm::round(secs * 1e9) as i64)
    }

    /// The length in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// The length in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The length in milliseconds.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The span times a factor, rounded to the nearest nanosecond.
    pub fn mul_f64(self, factor: f64) -> Self {
        Self(libm::round(self.0 as f64 * factor) as i64)
    }
}

impl Instant {
    /// The first instant of `self + k * period` that is not before `until`.
    pub(crate) fn stepped_to(self, period: Duration, until: Self) -> Self {
        let behind = until.as_nanos().saturating_sub(self.as_nanos());
        let period = period.as_nanos() as u64;
        Self::from_nanos(self.as_nanos() + behind.div_ceil(period) * period)
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, span: Duration) -> Self {
        Self(self.0.wrapping_add_signed(span.0))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, span: Duration) {
        *self = *self + span;
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;
    fn sub(self, span: Duration) -> Self {
        Self(self.0.wrapping_add_signed(-span.0))
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        Duration(self.0.wrapping_sub(earlier.0) as i64)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl SubAssign for Duration {
    fn sub_assign(&mut self, other: Self) {
        self.0 -= other.0;
    }
}

impl Mul<i64> for Duration {
    type Output = Self;
    fn mul(self, factor: i64) -> Self {
        Self(self.0 * factor)
    }
}

impl Div<i64> for Duration {
    type Output = Self;
    fn div(self, divisor: i64) -> Self {
        Self(self.0 / divisor)
    }
}

impl fmt::Debug for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::NEVER { f.write_str("never") } else { write!(f, "{}", Duration(self.0 as i64)) }
    }
}

impl fmt::Display for Duration {
    /// The shortest exact spelling: `5 ms`, `1.2 s`, `12 us`, `1 ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.unsigned_abs();
        let (unit, per_unit) = match nanos {
            0 => ("s", 1),
            n if n >= 1_000_000_000 => ("s", 1_000_000_000),
            n if n >= 1_000_000 => ("ms", 1_000_000),
            n if n >= 1_000 => ("us", 1_000),
            _ => ("ns", 1),
        };
        if self.0 < 0 {
            f.write_str("-")?;
        }
        crate::decimal::write_decimal(f, nanos, per_unit)?;
        write!(f, " {unit}")
    }
}

impl fmt::Debug for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn differences_are_signed() {
        let (early, late) = (Instant::from_nanos(5), Instant::from_nanos(9));
        assert_eq!((late - early).as_nanos(), 4);
        assert_eq!((early - late).as_nanos(), -4);
        assert_eq!(late + (early - late), early);
    }

    #[test]
    fn spans_print_exactly() {
        for (nanos, text) in [
            (0, "0 s"),
            (1, "1 ns"),
            (12_000, "12 us"),
            (5_000_000, "5 ms"),
            (1_205_600, "1.2056 ms"),
            (1_500_000_000, "1.5 s"),
            (-5_000_000, "-5 ms"),
        ] {
            assert_eq!(Duration::from_nanos(nanos).to_string(), text);
        }
    }
}
