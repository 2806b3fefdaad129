//! Loss marks.
//!
//! Source: Linux `tcp_mark_head_lost`, `tcp_mark_lost_retrans`, `tcp_verify_retransmit_hint`.

use super::Scoreboard;
use crate::segment::Tags;

impl Scoreboard {
    /// FACK's rule for retransmissions: data sent after one was SACKed, so the retransmission is lost.
    #[inline(always)]
    pub fn mark_lost_retransmissions(&mut self, snd_nxt: u64) {
        if self.retrans_out > 0 && self.highest_sack > self.lost_retrans_low {
            self.mark_some_retransmissions(snd_nxt);
        }
    }

    #[inline(never)]
    fn mark_some_retransmissions(&mut self, snd_nxt: u64) {
        let (mut low, mut seen, out) = (snd_nxt, 0, self.retrans_out);
        for i in 0..self.segments.len() {
            if seen == out {
                break;
            }
            if !self.segments[i].tags.any(Tags::RETRANS) {
                continue;
            }
            seen += 1;
            if self.highest_sack > self.segments[i].retrans_nxt() {
                self.segments[i].tags.clear(Tags::RETRANS);
                self.retrans_out -= 1;
                self.log.retransmission_lost(&self.segments[i]);
                self.verify_hint(i);
                if !self.segments[i].tags.any(Tags::LOST.or(Tags::SACKED)) {
                    self.segments[i].tags.set(Tags::LOST);
                    self.lost_out += 1;
                    self.lost_total += 1;
                    self.log.original_lost(&self.segments[i]);
                }
            } else {
                low = low.min(self.segments[i].retrans_nxt());
            }
        }
        if self.retrans_out > 0 {
            self.lost_retrans_low = low;
        }
    }

    /// Marks the first `packets` segments lost, as far as they lie below `high_seq`; with `count_sacked` only SACKed
    /// segments count (RFC 3517's rule).
    #[inline(always)]
    pub fn mark_head_lost(&mut self, packets: u32, high_seq: u64, count_sacked: bool) {
        // Fast path: mostly all of them are marked, or all but the last.
        let last = packets.wrapping_sub(1) as usize;
        match self.segments.get(last).filter(|_| !count_sacked).map(|last| (last.seq, last.end())) {
            Some((_, end)) if end <= self.lost_hint => {}
            Some((seq, end)) if seq == self.lost_hint && end <= high_seq => {
                self.mark_lost(last);
                self.lost_hint = end;
            }
            _ if self.lost_hint >= high_seq && !count_sacked => {}
            _ => self.mark_head_from_hint(packets, high_seq, count_sacked),
        }
    }

    #[inline(never)]
    pub(super) fn mark_head_from_hint(&mut self, packets: u32, high_seq: u64, count_sacked: bool) {
        let start = if count_sacked { 0 } else { self.position(self.lost_hint) };
        let mut counted = if count_sacked { 0 } else { start as u32 };
        for i in start..self.segments.len() {
            let segment = self.segments[i];
            if segment.end() > high_seq {
                break;
            }
            counted += (!count_sacked || segment.tags.any(Tags::SACKED)) as u32;
            if counted > packets {
                break;
            }
            self.mark_lost(i);
            self.lost_hint = segment.end();
        }
    }

    #[inline(always)]
    pub fn mark_lost(&mut self, i: usize) {
        if !self.segments[i].tags.any(Tags::LOST.or(Tags::SACKED)) {
            self.verify_hint(i);
            self.segments[i].tags.set(Tags::LOST);
            self.lost_out += 1;
            self.lost_total += 1;
            self.log.original_lost(&self.segments[i]);
        }
    }

    /// Marks segment `i` lost, even if its retransmission was assumed in flight.
    pub fn mark_lost_again(&mut self, i: usize) {
        let tags = self.segments[i].tags;
        if tags.any(Tags::SACKED) {
            return;
        }
        self.verify_hint(i);
        if !tags.any(Tags::LOST) {
            self.segments[i].tags.set(Tags::LOST);
            self.lost_out += 1;
            self.lost_total += 1;
            self.log.original_lost(&self.segments[i]);
        } else if tags.any(Tags::RETRANS) {
            self.segments[i].tags.clear(Tags::RETRANS);
            self.retrans_out -= 1;
            self.lost_total += 1;
            self.log.retransmission_lost(&self.segments[i]);
        }
    }

    /// A time-out: marks all segments lost that are not SACKed, and clears retransmissions, except one of the head if
    /// `head_in_flight`. Returns whether another segment had been retransmitted.
    pub fn mark_all_lost(&mut self, head_in_flight: bool) -> bool {
        let mut retransmitted = false;
        (self.retrans_out, self.lost_out) = (0, 0);
        for (i, segment) in self.segments.iter_mut().enumerate() {
            self.log.all_lost(segment, i == 0 && head_in_flight);
            segment.tags.clear(Tags::LOST);
            if i == 0 && head_in_flight {
                self.retrans_out += segment.tags.any(Tags::RETRANS) as u32;
            } else {
                retransmitted |= segment.tags.any(Tags::EVER_RETRANS);
                segment.tags.clear(Tags::RETRANS);
            }
            if !segment.tags.any(Tags::SACKED) {
                segment.tags.set(Tags::LOST);
                self.lost_out += 1;
                self.retransmit_high = segment.end();
            }
        }
        self.forget_hints();
        retransmitted
    }

    /// Undo: clears all loss marks.
    pub fn unmark_lost(&mut self) {
        self.log.cleared(self.segments.front());
        self.segments.iter_mut().for_each(|s| s.tags.clear(Tags::LOST));
        self.lost_out = 0;
        self.forget_hints();
    }

    fn verify_hint(&mut self, i: usize) {
        let segment = self.segments[i];
        if self.retransmit_hint.is_none_or(|seq| segment.seq < seq) {
            self.retransmit_hint = Some(segment.seq);
        }
        if self.lost_out == 0 || segment.end() > self.retransmit_high {
            self.retransmit_high = segment.end();
        }
    }
}
