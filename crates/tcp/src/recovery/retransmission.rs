//! What recovery sends again, in order, as the window allows.
//!
//! Source: Linux `tcp_xmit_retransmit_queue`, of 2.6.29 to 4.9 and of 6.1.

use crate::scoreboard::Scoreboard;
use crate::segment::Tags;

/// A walk along the retransmission queue.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Walk {
    /// The next segment to look at.
    i: usize,
    form: Form,
}

#[derive(Clone, Copy, Debug)]
enum Form {
    /// What is marked lost and nothing else; `hole` once a segment was met that nothing is known of.
    Marked { hole: bool },
    /// Then, if `allowed`, what nobody missed yet, below the highest SACK (RFC 3517, NextSeg rule 3).
    AndUnmissed { allowed: bool, last_lost: u64, hole: Option<usize>, forward: bool },
}

impl Walk {
    /// Along what is marked lost.
    pub fn marked(board: &Scoreboard) -> Self {
        Self { i: board.retransmit_hint.map_or(0, |seq| board.position(seq)), form: Form::Marked { hole: false } }
    }

    /// Along what is marked lost, and then, if `allowed`, along what nobody missed yet. Everything up to `una` is
    /// acknowledged.
    pub fn and_unmissed(allowed: bool, una: u64, board: &mut Scoreboard) -> Self {
        if board.lost_out == 0 {
            board.retransmit_high = una;
        }
        let hint = board.retransmit_hint;
        let i = hint.map_or(0, |seq| board.position(seq));
        let last_lost = match hint.and_then(|_| board.get(i)) {
            Some(segment) => segment.end().min(board.retransmit_high),
            None => una,
        };
        Self { i, form: Form::AndUnmissed { allowed, last_lost, hole: None, forward: false } }
    }

    /// The next segment to be sent again in a window of `cwnd`, if any.
    pub fn next(&mut self, cwnd: u32, board: &mut Scoreboard) -> Option<usize> {
        let i = match &mut self.form {
            Form::Marked { hole } => next_marked(self.i, hole, cwnd, board)?,
            Form::AndUnmissed { allowed, last_lost, hole, forward } => {
                next_or_unmissed(self.i, *allowed, last_lost, hole, forward, cwnd, board)?
            }
        };
        self.i = i + 1;
        Some(i)
    }
}

fn next_marked(mut i: usize, hole: &mut bool, cwnd: u32, board: &mut Scoreboard) -> Option<usize> {
    loop {
        let segment = *board.get(i)?;
        if !*hole {
            board.retransmit_hint = Some(segment.seq);
        }
        if board.in_flight() >= cwnd || board.retrans_out >= board.lost_out {
            return None;
        }
        if segment.tags.any(Tags::LOST) {
            if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
                return Some(i);
            }
        } else {
            *hole |= !segment.tags.any(Tags::RETRANS.or(Tags::SACKED));
        }
        i += 1;
    }
}

fn next_or_unmissed(
    mut i: usize,
    allowed: bool,
    last_lost: &mut u64,
    hole: &mut Option<usize>,
    forward: &mut bool,
    cwnd: u32,
    board: &mut Scoreboard,
) -> Option<usize> {
    loop {
        let segment = *board.get(i)?;
        if hole.is_none() {
            board.retransmit_hint = Some(segment.seq);
        }
        if board.in_flight() >= cwnd {
            return None;
        }
        if !*forward {
            if segment.seq >= board.retransmit_high {
                board.retransmit_high = *last_lost;
                if !allowed {
                    return None;
                }
                // Back to the first segment that nobody missed yet.
                i = hole.take().unwrap_or(i);
                *forward = true;
                continue;
            }
            if !segment.tags.any(Tags::LOST) {
                if hole.is_none() && !segment.tags.any(Tags::RETRANS.or(Tags::SACKED)) {
                    *hole = Some(i);
                }
                i += 1;
                continue;
            }
            *last_lost = segment.end();
        } else if segment.seq >= board.highest_sack {
            return None;
        }
        if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
            return Some(i);
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;
    use sojourn_aqm::Instant;

    /// Ten segments, of which `sacked` have arrived and `lost` are marked.
    fn board(sacked: (u64, u64), lost: &[usize]) -> Scoreboard {
        let mut board = Scoreboard::new(true);
        for n in 0..10 {
            let (seq, tags, sent) = (1000 * n, Tags::default(), Instant::ZERO);
            board.push(Segment { seq, retrans_nxt: 0, len: 1000, fin: false, tags, sent });
        }
        board.tag(&[(1000 * sacked.0, 1000 * sacked.1)], 0, 0, |_| {});
        lost.iter().for_each(|&i| board.mark_lost_again(i));
        board
    }

    /// What a walk sends again in a window of `cwnd`.
    fn sent(mut walk: Walk, cwnd: u32, mut board: Scoreboard) -> Vec<usize> {
        let mut sent = Vec::new();
        while let Some(i) = walk.next(cwnd, &mut board) {
            board.retransmitted(i, 10_000);
            sent.push(i);
        }
        sent
    }

    #[test]
    fn only_what_is_marked_goes_out_as_the_window_allows() {
        let b = board((5, 8), &[0, 1, 3]);
        assert_eq!(sent(Walk::marked(&b), 20, b.clone()), [0, 1, 3]);
        // Four are in flight: 2, 4, 8 and 9.
        assert_eq!(sent(Walk::marked(&b), 6, b), [0, 1]);
    }

    #[test]
    fn where_nothing_new_can_be_sent_unmissed_segments_below_the_highest_sack_follow() {
        for (allowed, expected) in [(true, vec![0, 1, 3, 2, 4]), (false, vec![0, 1, 3])] {
            let mut b = board((5, 8), &[0, 1, 3]);
            assert_eq!(sent(Walk::and_unmissed(allowed, 0, &mut b), 20, b), expected, "{allowed}");
        }
    }
}
