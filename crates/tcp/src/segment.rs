//! Segments in the retransmission queue, and their tags.
//!
//! Source: Linux `TCPCB_SACKED_ACKED`, `TCPCB_SACKED_RETRANS`, `TCPCB_LOST`, `TCPCB_EVER_RETRANS`.

use crate::sack::SeqRange;
use sojourn_aqm::Instant;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub seq: u64,
    /// Time of its last transmission.
    pub sent: Instant,
    /// The low half of [`Self::retrans_nxt`]: the sequence moves by less than 4 GB while a segment is outstanding. So a
    /// segment takes 24 bytes.
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

    /// `snd_nxt` when it was last retransmitted: data after it was sent later.
    #[inline]
    pub fn retrans_nxt(&self) -> u64 {
        self.seq + u64::from(self.nxt_low.wrapping_sub(self.seq as u32))
    }

    /// Records a retransmission at `snd_nxt`, which is less than 4 GB after its start.
    #[inline]
    pub fn retransmitted_at(&mut self, snd_nxt: u64) {
        debug_assert!(snd_nxt - self.seq <= u64::from(u32::MAX));
        self.nxt_low = snd_nxt as u32;
    }

    pub fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.fin as u64
    }
}

/// Tags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tags(u8);

impl Tags {
    /// Selectively acknowledged.
    pub const SACKED: Self = Self(1);
    /// Retransmitted, and the retransmission is assumed in flight.
    pub const RETRANS: Self = Self(2);
    /// Marked lost.
    pub const LOST: Self = Self(4);
    /// Ever retransmitted.
    pub const EVER_RETRANS: Self = Self(8);
    /// It left in one burst with the segment before, and nothing has split them since: in Linux they are one `sk_buff`.
    pub const FOLLOWS: Self = Self(16);

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }
    /// The tags that are also in `of`.
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

/// Segments removed by a cumulative acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckedSegments {
    pub packets: u32,
    /// Send time of the newest of them that was neither retransmitted nor SACKed before.
    pub last_sent: Instant,
    /// At least one was retransmitted.
    pub retransmitted: bool,
    /// … and it was not the first of them.
    pub retransmitted_behind_head: bool,
    /// Position of the first of them that was neither retransmitted nor SACKed before: late, not lost.
    pub reordered_at: Option<u32>,
}

impl AckedSegments {
    /// Send time of the newest, if its RTT is known. Karn's algorithm: an acknowledgment does not show which copy of a
    /// retransmitted segment arrived.
    #[inline]
    pub fn sent_once(&self) -> Option<Instant> {
        (!self.retransmitted && self.reordered_at.is_some()).then_some(self.last_sent)
    }
}

/// Segments reported by a SACK option.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SackedSegments {
    /// At least one segment was newly SACKed.
    pub new: bool,
    /// All of them were never retransmitted and sent before the time-out (F-RTO).
    pub only_original: bool,
    /// The first block is a D-SACK.
    pub duplicate: bool,
    /// Lowest position of a hole filled by an original: reordering.
    pub reordered_at: Option<u32>,
}

/// Change of a sender's loss marks; ranges exclude the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMark {
    /// The segment's original transmission is lost.
    Original(SeqRange),
    /// Its last retransmission is lost, too.
    Retransmission(SeqRange),
    /// All loss marks from this sequence number on are cleared.
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
