//! Segments in the retransmission queue, and what acknowledgments tell of them.
//!
//! Source: Linux `TCPCB_SACKED_ACKED`, `TCPCB_SACKED_RETRANS`, `TCPCB_LOST`, `TCPCB_EVER_RETRANS`.

use crate::sack::SeqRange;
use sojourn_aqm::Instant;

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub seq: u64,
    /// Its last transmission.
    pub sent: Instant,
    /// The low bits of [`Self::retrans_nxt`].
    nxt_low: u32,
    pub len: u16,
    pub fin: bool,
    pub tags: Tags,
}

impl Segment {
    /// A segment that is sent for the first time.
    #[inline(always)]
    pub fn new(seq: u64, len: u16, fin: bool, sent: Instant) -> Self {
        Self { seq, sent, nxt_low: 0, len, fin, tags: Tags::default() }
    }

    /// `snd_nxt` when it was last retransmitted: data beyond it was sent later.
    #[inline]
    pub fn retrans_nxt(&self) -> u64 {
        self.seq + u64::from(self.nxt_low.wrapping_sub(self.seq as u32))
    }

    /// It is retransmitted at `snd_nxt`, which lies less than 4 GB beyond its start.
    #[inline]
    pub fn retransmitted_at(&mut self, snd_nxt: u64) {
        debug_assert!(snd_nxt - self.seq <= u64::from(u32::MAX));
        self.nxt_low = snd_nxt as u32;
    }

    pub fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.fin as u64
    }
}

/// What is known about a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(u8);

impl Tags {
    /// Selectively acknowledged.
    pub const SACKED: Self = Self(1);
    /// Retransmitted, and the retransmission is believed in flight.
    pub const RETRANS: Self = Self(2);
    /// Believed lost.
    pub const LOST: Self = Self(4);
    /// Retransmitted at any time.
    pub const EVER_RETRANS: Self = Self(8);
    /// It left in one burst with the segment before, and nothing has parted them since: in Linux they are one `sk_buff`.
    pub const FOLLOWS: Self = Self(16);

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
    /// Which of these it has.
    pub const fn only(self, of: Self) -> Self {
        Self(self.0 & of.0)
    }
    pub fn set(&mut self, tags: Self) {
        self.0 |= tags.0;
    }
    pub fn clear(&mut self, tags: Self) {
        self.0 &= !tags.0;
    }
}

/// What a cumulative acknowledgment removed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckedSegments {
    pub packets: u32,
    /// When the newest of them was sent that was neither retransmitted nor SACKed before.
    pub last_sent: Instant,
    /// A retransmitted segment was among them.
    pub retransmitted: bool,
    /// … and it was not the first of them.
    pub retransmitted_behind_head: bool,
    /// Position of the first segment that was neither retransmitted nor SACKed before: late, not lost.
    pub reordered_at: Option<u32>,
}

impl AckedSegments {
    /// When the newest of them was sent, if its RTT is known. Karn: of a retransmission nobody knows which copy was
    /// acknowledged.
    #[inline]
    pub fn sent_once(&self) -> Option<Instant> {
        (!self.retransmitted && self.reordered_at.is_some()).then_some(self.last_sent)
    }
}

/// What a SACK option told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackedSegments {
    /// Something was newly SACKed.
    pub new: bool,
    /// Only segments that were never retransmitted, from before the time-out (F-RTO).
    pub only_original: bool,
    /// The first block reported a duplicate.
    pub duplicate: bool,
    /// Lowest position at which a hole was filled by an original: reordering.
    pub reordered_at: Option<u32>,
}

/// What a sender believes of segments that it has sent; each is a range of sequence numbers, the end excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMark {
    /// The segment is lost as it was sent first.
    Original(SeqRange),
    /// Its last retransmission is lost too.
    Retransmission(SeqRange),
    /// No segment is lost, after all; nothing below this number was meant.
    Cleared(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_next_at_a_retransmission_is_known_up_to_4_gb_beyond() {
        for seq in [0, 1, (1 << 32) - 1, (5 << 32) + 77] {
            let mut segment = Segment::new(seq, 1000, false, Instant::ZERO);
            for beyond in [0, 1, 1000, u64::from(u32::MAX)] {
                segment.retransmitted_at(seq + beyond);
                assert_eq!(segment.retrans_nxt(), seq + beyond);
            }
        }
    }

    #[test]
    fn a_segment_is_remembered_in_24_bytes() {
        assert_eq!(size_of::<Segment>(), 24);
    }
}
