//! Segments in the retransmission queue, and what acknowledgments tell of them.
//!
//! Source: Linux `TCPCB_SACKED_ACKED`, `TCPCB_SACKED_RETRANS`, `TCPCB_LOST`, `TCPCB_EVER_RETRANS`.

use sojourn_aqm::Instant;

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub seq: u64,
    /// `snd_nxt` when it was last retransmitted: data beyond it was sent later.
    pub retrans_nxt: u64,
    pub len: u16,
    pub fin: bool,
    pub tags: Tags,
    /// Its last transmission.
    pub sent: Instant,
}

impl Segment {
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

    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    pub const fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
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
pub(crate) struct Acked {
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

/// What a cumulative acknowledgment removed where no segment had a tag.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Untouched {
    pub packets: u32,
    /// When the oldest and the newest of them were sent.
    pub first_sent: Instant,
    pub last_sent: Instant,
    /// End of the newest.
    pub end: u64,
}

/// What a SACK option told.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sacked {
    /// Something was newly SACKed.
    pub new: bool,
    /// Only segments that were never retransmitted, from before the time-out (F-RTO).
    pub only_original: bool,
    /// The first block reported a duplicate.
    pub duplicate: bool,
    /// Lowest position at which a hole was filled by an original: reordering.
    pub reordered_at: Option<u32>,
}
