//! Transmission time of a packet at the rate, with the overheads of packets and cells (`packet_time_ns` of
//! `sch_netem.c`).

use super::config::Settings;

/// Rate and overheads.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateParams {
    bytes_per_second: u64,
    packet_overhead: i64,
    cell_size: u64,
    cell_overhead: i64,
}

impl RateParams {
    /// Rate of `c`, if there is one.
    pub fn new(c: &Settings) -> Option<Self> {
        let bytes_per_second = c.rate.as_bps() / 8;
        let (packet_overhead, cell_overhead) = (c.packet_overhead as i64, c.cell_overhead as i64);
        let cell_size = c.cell_size;
        (bytes_per_second > 0).then_some(Self { bytes_per_second, packet_overhead, cell_size, cell_overhead })
    }

    /// Nanoseconds for `len` bytes. Differs: a negative size counts as 0; the kernel's wraps around.
    #[inline]
    pub fn time_for(&self, len: u32) -> i64 {
        let mut len = (len as i64 + self.packet_overhead).max(0) as u64;
        if self.cell_size > 0 {
            let cell = (self.cell_size as i64 + self.cell_overhead).max(0) as u64;
            len = len.div_ceil(self.cell_size) * cell;
        }
        (len as u128 * 1_000_000_000 / self.bytes_per_second as u128) as i64
    }
}
