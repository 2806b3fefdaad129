//! A media packet, and the RTP clock.

use sojourn_aqm::{Duration, Ecn, Instant};

/// A media packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Sequence number, from 0, without wrapping.
    pub seq: u64,
    /// Bytes of IP.
    pub bytes: u32,
    /// ECN field.
    pub ecn: Ecn,
    /// When it left the pacer.
    pub sent: Instant,
    /// Time of the frame by the 90 kHz RTP clock, which wraps.
    pub stamp: u32,
    /// Number of packets of the frame; 0 for padding.
    pub of_frame: u32,
    /// Whether this is the last packet of its frame (RTP marker bit).
    pub ends_frame: bool,
}

/// Time in units of the RTP clock for video, 90 kHz.
pub(crate) fn stamp(at: Instant) -> u32 {
    (u128::from(at.as_nanos()) * 9 / 100_000) as u32
}

/// Time since RTP timestamp `then`.
pub(crate) fn since_stamp(now: Instant, then: u32) -> Duration {
    Duration::from_nanos(i64::from(stamp(now).wrapping_sub(then)) * 100_000 / 9)
}
