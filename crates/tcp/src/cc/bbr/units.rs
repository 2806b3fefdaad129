//! Units and arithmetic of BBR in Linux, common to versions 1 and 3: rates in packets per 2^-24 µs, gains in 1/256,
//! times in whole microseconds.

use crate::rate_sample::RateSample;
use sojourn_aqm::Duration;

/// Packets and microseconds of a valid rate sample.
pub fn valid(sample: &RateSample) -> Option<(u64, u64)> {
    let (delivered, interval) = (sample.delivered?, micros(sample.interval?));
    (interval > 0).then_some((delivered as u64, interval))
}

/// Bytes per second for a bandwidth and a gain, less the pacing margin.
pub fn bytes_per_s(bw: u64, mss: u32, gain: u64) -> u64 {
    (((bw * mss as u64 * gain) >> SCALE) * (1_000_000 / 100 * (100 - MARGIN_PERCENT))) >> BW_SCALE
}

/// Bandwidth-delay product in packets, times a gain.
pub fn bdp(bw: u64, rtt_us: u64, gain: u64) -> u32 {
    ((bw * rtt_us * gain) >> SCALE).div_ceil(BW_UNIT) as u32
}

/// Duration in whole microseconds.
pub fn micros(span: Duration) -> u64 {
    span.as_nanos() as u64 / 1_000
}

/// A bandwidth of one packet per microsecond.
pub const BW_UNIT: u64 = 1 << BW_SCALE;
const BW_SCALE: u32 = 24;
/// A gain of one.
pub const UNIT: u64 = 1 << SCALE;
pub const SCALE: u32 = 8;
pub const MARGIN_PERCENT: u64 = 1;
/// Linux `sk_pacing_shift`.
pub const PACING_SHIFT: u32 = 10;
/// Maximum bytes of a burst: `GSO_LEGACY_MAX_SIZE` - 1 - `MAX_TCP_HEADER`.
pub const MAX_BURST: u64 = 65_536 - 1 - 320;
