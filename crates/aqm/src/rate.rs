//! Rates in bit/s and exact transmission times.

use crate::time::Duration;
use core::fmt;

/// A data rate in bit/s; never zero on a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// `bits` bits per second.
    pub const fn from_bps(bits: u64) -> Self {
        Self(bits)
    }

    /// Bits per second.
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Bytes that this rate carries in `span`, rounded down; zero for a negative span.
    pub fn bytes_in(self, span: Duration) -> u64 {
        let nanos = span.as_nanos().max(0) as u128;
        (self.0 as u128 * nanos / 8_000_000_000) as u64
    }

    /// Transmission time of `bytes` at this rate, rounded down to a nanosecond.
    pub fn time_for(self, bytes: u64) -> Duration {
        // The product for a few packets fits a word, whose division takes a tenth of the time.
        let nanos = match bytes.checked_mul(8_000_000_000) {
            Some(bit_nanos) => bit_nanos / self.0,
            None => (bytes as u128 * 8_000_000_000 / self.0 as u128) as u64,
        };
        Duration::from_nanos(nanos as i64)
    }
}

impl fmt::Display for Rate {
    /// The shortest exact spelling: `10 Mbit/s`, `1.5 Gbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, per_unit) = match self.0 {
            n if n >= 1_000_000_000 => ("Gbit/s", 1_000_000_000),
            n if n >= 1_000_000 => ("Mbit/s", 1_000_000),
            n if n >= 1_000 => ("kbit/s", 1_000),
            _ => ("bit/s", 1),
        };
        crate::decimal::write_decimal(f, self.0, per_unit)?;
        write!(f, " {unit}")
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Nanoseconds per byte at 1 bit/s.
const NANOS_OF_BYTES: u64 = 8_000_000_000;

/// Transmission times of packets whose sum is exact.
///
/// Each packet's time is rounded down to a nanosecond, and the remainder is carried to the next, so a million packets
/// take as long as their bits at the rate, to the nanosecond.
#[derive(Clone, Debug)]
pub struct Serializer {
    rate: Rate,
    /// Nanoseconds per byte if that is an integer, so that there is no remainder; otherwise zero.
    per_byte: u64,
    /// Bit-nanoseconds carried over; always below the rate.
    remainder: u64,
    /// Size of the previous packet, its whole nanoseconds and the remainder before the carry: most packets have the
    /// size of the previous one, which saves a division.
    bytes: u32,
    whole: u64,
    whole_remainder: u64,
}

impl Serializer {
    /// A transmitter at `rate`, which must not be zero.
    pub fn new(rate: Rate) -> Self {
        assert!(rate.0 > 0, "a link has a rate");
        let whole = NANOS_OF_BYTES % rate.0 == 0;
        Self {
            rate,
            per_byte: if whole { NANOS_OF_BYTES / rate.0 } else { 0 },
            remainder: 0,
            bytes: 0,
            whole: 0,
            whole_remainder: 0,
        }
    }

    /// Transmission time of the next packet of `bytes` bytes on the wire.
    #[inline(always)]
    pub fn time_for(&mut self, bytes: u32) -> Duration {
        if self.per_byte > 0 {
            return Duration::from_nanos((bytes as u64 * self.per_byte) as i64);
        }
        if bytes != self.bytes {
            self.divide(bytes);
        }
        let (mut nanos, mut remainder) = (self.whole, self.whole_remainder + self.remainder);
        if remainder >= self.rate.0 {
            (nanos, remainder) = (nanos + 1, remainder - self.rate.0);
        }
        self.remainder = remainder;
        Duration::from_nanos(nanos as i64)
    }

    #[inline(never)]
    fn divide(&mut self, bytes: u32) {
        let work = bytes as u64 * NANOS_OF_BYTES;
        (self.bytes, self.whole, self.whole_remainder) = (bytes, work / self.rate.0, work % self.rate.0);
    }

    /// The rate.
    pub fn rate(&self) -> Rate {
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn long_run_transmission_time_is_exact() {
        // 7 Mbit/s does not divide 12,000 bits: 1,714,285.71… ns each.
        let mut serializer = Serializer::new(Rate::from_bps(7_000_000));
        let total: i64 = (0..7).map(|_| serializer.time_for(1500).as_nanos()).sum();
        assert_eq!(total, 12_000_000);
    }

    #[test]
    fn packets_of_changing_sizes_take_as_long_as_their_bits() {
        [1_234_567, 10_000_000, 1_000_000_000, 10_000_000_000, 8_000_000_000, 1].into_iter().for_each(sizes_change);
    }

    fn sizes_change(bits: u64) {
        let rate = Rate::from_bps(bits);
        let mut serializer = Serializer::new(rate);
        let (mut taken, mut bytes) = (0, 0);
        for size in [1500, 1500, 52, 1500, 64, 64, 52, 0, 1501, 1500, 1500] {
            taken += serializer.time_for(size).as_nanos();
            bytes += u64::from(size);
            assert_eq!(taken, rate.time_for(bytes).as_nanos(), "after {bytes} B");
        }
    }

    #[test]
    fn rates_print_exactly() {
        for (bps, text) in
            [(10_000_000, "10 Mbit/s"), (1_500_000_000, "1.5 Gbit/s"), (64_000, "64 kbit/s"), (9, "9 bit/s")]
        {
            assert_eq!(Rate::from_bps(bps).to_string(), text);
        }
    }
}
