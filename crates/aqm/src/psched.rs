//! Rates in the arithmetic of Linux's packet schedulers: the time of a byte as a multiplier and a shift.

use crate::error::ConfigError;
use crate::rate::Rate;
use crate::{choice, params::Value};
use alloc::format;

choice! {
    /// Link layer, in tc's words.
    pub enum LinkLayer {
        /// No framing.
        Ethernet = "ethernet",
        /// Cells of 53 bytes with 48 bytes of payload.
        Atm = "atm",
    }
}

/// A rate prepared as in `psched_ratecfg_precompute` of `sch_generic.c`, with the framing of each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PschedRate {
    /// Whole bytes per second; at least 1.
    pub bytes_per_second: u64,
    mult: u64,
    shift: u32,
    framing: Framing,
}

/// Framing added to each packet before its time is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Framing {
    /// Overhead in bytes.
    pub overhead: u32,
    /// Minimum size, overhead included.
    pub mpu: u32,
    pub layer: LinkLayer,
}

impl Framing {
    /// No framing.
    pub const NONE: Self = Self { overhead: 0, mpu: 0, layer: LinkLayer::Ethernet };

    /// Size on the wire of a packet of `len` bytes.
    #[inline]
    pub fn wire_bytes(&self, len: u32) -> u64 {
        let len = len.saturating_add(self.overhead).max(self.mpu);
        match self.layer {
            LinkLayer::Ethernet => len as u64,
            LinkLayer::Atm => len.div_ceil(48) as u64 * 53,
        }
    }
}

impl PschedRate {
    /// Prepares `rate`, at least 8 bit/s.
    pub fn new(rate: Rate, framing: Framing) -> Self {
        let bytes_per_second = rate.as_bps() / 8;
        let (mut factor, mut shift) = (1_000_000_000u64, 0);
        let mut mult = factor / bytes_per_second;
        // Maximum precision of the quotient in 32 bits.
        while mult >> 31 & 1 == 0 && factor >> 63 == 0 {
            factor <<= 1;
            shift += 1;
            mult = factor / bytes_per_second;
        }
        Self { bytes_per_second, mult, shift, framing }
    }

    /// Transmission time of `len` bytes in ns, rounded down for each packet (`psched_l2t_ns`).
    #[inline]
    pub fn time_for(&self, len: u32) -> i64 {
        ((self.framing.wire_bytes(len) as u128 * self.mult as u128) >> self.shift) as i64
    }
}

/// Rejects a rate below one byte per second, unless it is zero; `name` is its parameter.
pub(crate) fn check_rate(name: &str, rate: Rate) -> Result<(), ConfigError> {
    if rate == Rate::from_bps(0) || rate >= MIN_RATE {
        return Ok(());
    }
    Err(format!("{name} ({rate}) is below {MIN_RATE} (one byte per second), the minimum that Linux shapes to").into())
}

/// Minimum rate: one byte per second.
pub(crate) const MIN_RATE: Rate = Rate::from_bps(8);
/// Range of an optional rate: zero disables it.
pub(crate) const RATES: (Value, Value) =
    (Value::Rate(Rate::from_bps(0)), Value::Rate(Rate::from_bps(1_000_000_000_000)));

#[cfg(test)]
mod tests {
    use super::*;

    fn time(bps: u64, framing: Framing, len: u32) -> i64 {
        PschedRate::new(Rate::from_bps(bps), framing).time_for(len)
    }

    #[test]
    fn times_are_the_kernels() {
        // By hand at 7,777,777 bit/s: 972,222 B/s. 10^9 · 2^21 / 972222 = 2,157,071,121.6…, the first quotient with 32
        // bits; 1514 · 2157071121 / 2^21 = 1557257.4… ns, the exact time of 1514 B.
        let psched = PschedRate::new(Rate::from_bps(7_777_777), Framing::NONE);
        assert_eq!((psched.bytes_per_second, psched.mult, psched.shift), (972_222, 2_157_071_121, 21));
        assert_eq!(psched.time_for(1514), 1_557_257);
        // Rates that divide evenly are exact.
        assert_eq!(time(10_000_000, Framing::NONE, 1500), 1_200_000);
        assert_eq!(time(1_000_000_000, Framing::NONE, 1500), 12_000);
        assert_eq!(time(8, Framing::NONE, 3), 3_000_000_000);
        // 0.08 ns per byte is rounded down in its 32nd bit, so 120 ns become 119.
        assert_eq!(time(100_000_000_000, Framing::NONE, 1500), 119);
    }

    #[test]
    fn framing_comes_before_the_time() {
        let framing = |overhead, mpu, layer| Framing { overhead, mpu, layer };
        // 8 Mbit/s: one microsecond per byte.
        assert_eq!(time(8_000_000, framing(38, 84, LinkLayer::Ethernet), 1500), 1_538_000);
        assert_eq!(time(8_000_000, framing(38, 84, LinkLayer::Ethernet), 40), 84_000);
        // 1500 + 40 bytes fill 33 cells.
        assert_eq!(time(8_000_000, framing(40, 0, LinkLayer::Atm), 1500), 33 * 53_000);
    }
}
