//! The order of retransmissions, as the window allows.
//!
//! Source: Linux `tcp_xmit_retransmit_queue` of 2.6.29 to 4.9, and of 6.1.

use crate::queue::SendQueue;
use crate::scoreboard::Scoreboard;
use crate::segment::Tags;

/// A walk along the retransmission queue.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Walk {
    /// Along segments marked lost only.
    Lost(LostWalk),
    /// Along those, and then along segments that are not marked lost.
    Forward(ForwardWalk),
}

/// Walk along the segments marked lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostWalk {
    /// The next segment to examine; `None` before the first, which the hint determines.
    i: Option<usize>,
    /// A segment without tags was passed.
    passed_hole: bool,
}

impl LostWalk {
    pub const fn new() -> Self {
        Self { i: None, passed_hole: false }
    }

    /// Whether the walk ends before its first step; it leaves the hint as the walk would.
    #[inline(always)]
    pub fn ends_at_once(cwnd: u32, board: &mut Scoreboard) -> bool {
        let ends = Self::is_over(cwnd, board);
        if ends {
            Self::new().stop(board);
        }
        ends
    }

    #[inline(always)]
    fn is_over(cwnd: u32, board: &Scoreboard) -> bool {
        board.in_flight() >= cwnd || board.retrans_out >= board.lost_out
    }

    /// The next segment to retransmit in a window of `cwnd`, if any.
    #[inline(always)]
    pub fn next(&mut self, cwnd: u32, board: &mut Scoreboard) -> Option<usize> {
        if Self::is_over(cwnd, board) {
            self.stop(board);
            return None;
        }
        let begin = || board.retransmit_hint.map_or(0, |seq| board.position(seq));
        let mut i = self.i.unwrap_or_else(begin);
        loop {
            let segment = *board.get(i)?;
            if !self.passed_hole {
                board.retransmit_hint = Some(segment.seq);
            }
            i += 1;
            self.i = Some(i);
            if !segment.tags.any(Tags::LOST) {
                self.passed_hole |= !segment.tags.any(Tags::RETRANS.or(Tags::SACKED));
            } else if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
                return Some(i - 1);
            }
        }
    }

    /// Ends the walk: the next one starts where this one ends, or would have started.
    #[inline(always)]
    fn stop(&self, board: &mut Scoreboard) {
        let position = match self.i {
            Some(_) if self.passed_hole => return,
            Some(i) => board.get(i),
            None if board.retransmit_hint.is_some() => return,
            None => board.head(),
        };
        if let Some(segment) = position {
            board.retransmit_hint = Some(segment.seq);
        }
    }
}

/// Walk along the segments marked lost, and then, if allowed, along others below the highest SACK (RFC 3517, NextSeg
/// rule 3).
#[derive(Clone, Copy, Debug)]
pub(crate) struct ForwardWalk {
    /// The next segment to examine.
    i: usize,
    allowed: bool,
    last_lost: u64,
    hole: Option<usize>,
    /// The segments marked lost are done.
    forward: bool,
}

impl ForwardWalk {
    /// Everything up to `una` is acknowledged.
    #[inline(always)]
    pub fn new(allowed: bool, una: u64, board: &mut Scoreboard) -> Self {
        if board.lost_out == 0 {
            board.retransmit_high = una;
        }
        let hint = board.retransmit_hint;
        let i = hint.map_or(0, |seq| board.position(seq));
        let last_lost = match hint.and_then(|_| board.get(i)) {
            Some(segment) => segment.end().min(board.retransmit_high),
            None => una,
        };
        Self { i, allowed, last_lost, hole: None, forward: false }
    }

    /// Whether the walk ends at its first step; it leaves the hint as the walk would. Segments not marked lost are
    /// retransmitted if the sender `recovers` and the queue has no new data up to the right edge.
    #[inline(always)]
    pub fn ends_at_once(
        cwnd: u32,
        recovers: bool,
        (queue, right_edge): (&SendQueue, u64),
        board: &mut Scoreboard,
    ) -> bool {
        let una = queue.una();
        if board.lost_out == 0 {
            board.retransmit_high = una;
        }
        let from = board.retransmit_hint.unwrap_or(una);
        let is_through =
            from >= board.retransmit_high && (!recovers || board.is_reno() || queue.has_sendable(right_edge));
        let ends = board.in_flight() >= cwnd || is_through;
        if ends && board.retransmit_hint.is_none() {
            board.retransmit_hint = board.head().map(|head| head.seq);
        }
        ends
    }

    /// The next segment to retransmit in a window of `cwnd`, if any.
    #[inline(always)]
    pub fn next(&mut self, cwnd: u32, board: &mut Scoreboard) -> Option<usize> {
        loop {
            let (i, segment) = (self.i, *board.get(self.i)?);
            if self.hole.is_none() {
                board.retransmit_hint = Some(segment.seq);
            }
            if board.in_flight() >= cwnd {
                return None;
            }
            if !self.forward {
                if segment.seq >= board.retransmit_high {
                    board.retransmit_high = self.last_lost;
                    if !self.allowed {
                        return None;
                    }
                    // Back to the first segment not marked lost.
                    self.i = self.hole.take().unwrap_or(i);
                    self.forward = true;
                    continue;
                }
                if !segment.tags.any(Tags::LOST) {
                    if self.hole.is_none() && !segment.tags.any(Tags::RETRANS.or(Tags::SACKED)) {
                        self.hole = Some(i);
                    }
                    self.i += 1;
                    continue;
                }
                self.last_lost = segment.end();
            } else if segment.seq >= board.highest_sack {
                return None;
            }
            self.i += 1;
            if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
                return Some(i);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use sojourn_aqm::Instant;

    /// Ten segments: `sacked` have arrived, `lost` are marked.
    fn board(sacked: (u64, u64), lost: &[usize]) -> Scoreboard {
        let mut board = Scoreboard::new(true);
        for n in 0..10 {
            let (seq, sent) = (1000 * n, Instant::ZERO);
            board.push(Segment::new(seq, 1000, false, sent));
        }
        board.tag(&[(1000 * sacked.0, 1000 * sacked.1)], 0, 0, |_, _| {});
        lost.iter().for_each(|&i| board.mark_lost_again(i));
        board
    }

    /// Segments that a walk retransmits in a window of `cwnd`.
    fn sent(walk: Walk, cwnd: u32, mut board: Scoreboard) -> Vec<usize> {
        let (mut sent, mut walk) = (Vec::new(), walk);
        let mut next = |board: &mut Scoreboard| match &mut walk {
            Walk::Lost(walk) => walk.next(cwnd, board),
            Walk::Forward(walk) => walk.next(cwnd, board),
        };
        while let Some(i) = next(&mut board) {
            board.on_retransmitted(i, 10_000);
            sent.push(i);
        }
        sent
    }

    #[test]
    fn only_what_is_marked_goes_out_as_the_window_allows() {
        let b = board((5, 8), &[0, 1, 3]);
        assert_eq!(sent(Walk::Lost(LostWalk::new()), 20, b.clone()), [0, 1, 3]);
        // Four are in flight: 2, 4, 8 and 9.
        assert_eq!(sent(Walk::Lost(LostWalk::new()), 6, b), [0, 1]);
    }

    #[test]
    fn where_nothing_new_can_be_sent_unmissed_segments_below_the_highest_sack_follow() {
        for (allowed, expected) in [(true, vec![0, 1, 3, 2, 4]), (false, vec![0, 1, 3])] {
            let mut b = board((5, 8), &[0, 1, 3]);
            assert_eq!(sent(Walk::Forward(ForwardWalk::new(allowed, 0, &mut b)), 20, b), expected, "{allowed}");
        }
    }
}
