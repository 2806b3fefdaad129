//! A packet of media, and RTP's clock.

use sojourn_aqm::{Duration, Ecn, Instant};

/// A packet of media.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Its number, from 0 on.
    pub seq: u64,
    /// Bytes of IP.
    pub bytes: u32,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When it left the pacer.
    pub sent: Instant,
    /// When its frame was made, by RTP's clock of 90 kHz, which wraps.
    pub stamp: u32,
    /// Packets of its frame; 0 for padding, which is of none.
    pub of_frame: u32,
    /// It is the last one of its frame (RTP's marker).
    pub ends_frame: bool,
}

/// Time in units of RTP's clock for video, 90 kHz.
pub(crate) fn stamp(at: Instant) -> u32 {
    (u128::from(at.as_nanos()) * 9 / 100_000) as u32
}

/// Time since that clock said `then`.
pub(crate) fn since_stamp(now: Instant, then: u32) -> Duration {
    Duration::from_nanos(i64::from(stamp(now).wrapping_sub(then)) * 100_000 / 9)
}
