//! Segmentation offload: a sender or GRO joins consecutive segments to a super-packet, which is later cut into
//! segments.
//!
//! Source: Linux `tcp_gro_receive`, `skb_gro_receive` (6.1; the rules used here are the same in 3.10) and
//! `tcp_gso_segment`.

use crate::{Flags, Header};

impl Header {
    /// Whether `next` can be joined to this segment, or to this super-packet of segments with `size` bytes of payload.
    /// It must follow in sequence and differ in nothing but sequence number, length, PSH and FIN; it must not carry a
    /// CWR of its own. A shorter segment, PSH, FIN or 64 kB end a super-packet.
    pub fn is_continued_by(&self, next: &Self, size: u16) -> bool {
        let is_open =
            self.flags.contains(Flags::ACK) && self.len > 0 && self.len % size == 0 && !self.flags.has_any(BARRIERS);
        let fits = next.len > 0 && next.len <= size && u32::from(self.len) + u32::from(next.len) <= MAX_PAYLOAD;
        let like = Self { seq: next.seq, len: next.len, flags: next.flags, ..*self } == *next;
        let flags = self.flags.without(Flags::CWR) == next.flags.without(TAIL) && !next.flags.contains(Flags::SYN);
        is_open && fits && like && flags && self.seq + u64::from(self.len) == next.seq
    }

    /// Appends the segment `next` to this super-packet.
    pub fn join(&mut self, next: &Self) {
        self.len += next.len;
        self.flags = self.flags.with(next.flags);
    }

    /// Cuts off and returns the first segment, of `size` bytes of payload, which must be fewer than there are. PSH and
    /// FIN stay with the remainder; CWR leaves with the first segment.
    pub fn cut(&mut self, size: u16) -> Self {
        let first = Self { len: size, flags: self.flags.without(TAIL), ..*self };
        self.seq += u64::from(size);
        self.len -= size;
        // In a counter of marks (accurate ECN) the bit is part of a number.
        if !self.flags.contains(Flags::AE) {
            self.flags = self.flags.without(Flags::CWR);
        }
        first
    }
}

/// Flags that only the last segment of a super-packet may have.
const TAIL: Flags = Flags::PSH.with(Flags::FIN);
/// Flags that end a super-packet.
const BARRIERS: Flags = TAIL.with(Flags::SYN);
/// Maximum payload of a super-packet: 64 KiB with headers.
const MAX_PAYLOAD: u32 = 65_535 - 52;

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, len: u16, flags: Flags) -> Header {
        Header { seq, len, flags: Flags::ACK.with(flags), ack: 1, ts_val: 70, ts_ecr: 60, ..Header::default() }
    }

    const NONE: Flags = Flags::PSH.without(Flags::PSH);

    #[test]
    fn consecutive_segments_become_one_and_are_cut_again() {
        let segments = [
            segment(1_001, 1_448, Flags::CWR),
            segment(2_449, 1_448, NONE),
            segment(3_897, 1_448, NONE),
            segment(5_345, 77, Flags::PSH.with(Flags::FIN)),
        ];
        let mut joined = segments[0];
        for next in &segments[1..] {
            assert!(joined.is_continued_by(next, 1_448), "{next:?}");
            joined.join(next);
        }
        assert_eq!((joined.seq, joined.len, joined.end_seq()), (1_001, 3 * 1_448 + 77, 5_423));
        let mut cut = Vec::new();
        while joined.len > 1_448 {
            cut.push(joined.cut(1_448));
        }
        cut.push(joined);
        assert_eq!(cut, segments);
    }

    #[test]
    fn what_cannot_be_one() {
        let head = segment(1_001, 1_448, NONE);
        let next = segment(2_449, 1_000, NONE);
        assert!(head.is_continued_by(&next, 1_448));
        for (name, head, next) in [
            ("a hole", head, Header { seq: 2_450, ..next }),
            ("an overlap", head, Header { seq: 2_448, ..next }),
            ("another acknowledgment", head, Header { ack: 2, ..next }),
            ("another time", head, Header { ts_val: 71, ..next }),
            ("another echo", head, Header { ts_ecr: 61, ..next }),
            ("a longer one", head, segment(2_449, 1_449, NONE)),
            ("one without data", head, segment(2_449, 0, NONE)),
            ("a congestion reduction", head, segment(2_449, 1_000, Flags::CWR)),
            ("an echo of congestion", head, segment(2_449, 1_000, Flags::ECE)),
            ("the other half", head, segment(2_449, 1_000, Flags::ANSWER)),
            ("behind a push", segment(1_001, 1_448, Flags::PSH), next),
            ("behind a shorter one", segment(1_001, 1_447, NONE), segment(2_448, 1_000, NONE)),
            ("behind 44 of them", segment(1_001, 44 * 1_448, NONE), segment(64_713, 1_448 + 400, NONE)),
        ] {
            assert!(!head.is_continued_by(&next, 1_448), "{name}");
        }
        let most = segment(1_001, 44 * 1_448, NONE);
        let last = segment(64_713, 1_448, NONE);
        assert!(most.is_continued_by(&last, 1_448), "45 of them are 65,160 bytes");
        let mut full = most;
        full.join(&last);
        assert!(!full.is_continued_by(&segment(66_161, 1_448, NONE), 1_448));
        assert!(!segment(1, 0, Flags::SYN).is_continued_by(&segment(2, 9, NONE), 1_448));
    }

    #[test]
    fn a_counter_of_marks_stays_in_every_segment() {
        let ace = Flags::default().with_ace(6);
        let mut joined = segment(1, 2_000, ace);
        let first = joined.cut(1_000);
        assert_eq!((first.flags.ace(), joined.flags.ace()), (6, 6));
    }
}
