//! Units of window growth.

/// Unit of window growth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GrowthCounting {
    /// Acknowledgments, regardless of how much they acknowledge: delayed ones slow growth down (Linux before 3.13).
    Acknowledgments,
    /// Bytes: appropriate byte counting (RFC 3465), in slow start up to L segments per acknowledgment (L is 1 or 2;
    /// Linux's `tcp_abc` before 3.9).
    Bytes(u32),
    /// Packets in slow start, acknowledgments above the threshold (Linux 3.13 to 3.19).
    PacketsInSlowStart,
    /// Packets (Linux since 4.0).
    Packets,
    /// Acknowledgments, each exactly 1 / cwnd in congestion avoidance (RFC 5681, ns-2); `cwnd_cnt` holds the fraction.
    Fractions,
}

impl GrowthCounting {
    /// Whether the kernel with this unit can also count bytes (`tcp_abc`, before Linux 3.9).
    pub(crate) fn may_be_bytes(self) -> bool {
        matches!(self, Self::Acknowledgments | Self::Bytes(_))
    }
}
