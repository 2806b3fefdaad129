//! Units in which the growth of the window counts.

/// What the growth of the window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthCounting {
    /// Acknowledgments, however much they tell of: delayed ones slow the growth down (Linux before 3.13).
    Acknowledgments,
    /// Bytes: appropriate byte counting (RFC 3465), in slow start for so many segments per acknowledgment at the most (L,
    /// 1 or 2; Linux's `tcp_abc` before 3.9).
    Bytes(u32),
    /// Packets in slow start, acknowledgments above the threshold (Linux 3.13 to 3.19).
    PacketsInSlowStart,
    /// Packets (Linux since 4.0).
    Packets,
    /// Acknowledgments, each 1 / cwnd in congestion avoidance, exactly (RFC 5681, ns-2); `cwnd_cnt` is the fraction.
    Fractions,
}

impl GrowthCounting {
    /// Whether the kernel that counts so can also count bytes, or not (`tcp_abc`, before Linux 3.9).
    pub(crate) fn may_be_bytes(self) -> bool {
        matches!(self, Self::Acknowledgments | Self::Bytes(_))
    }
}
