//! Loss recovery of ns-2's `TCP/Sack1`.
//!
//! Source: ns-2 `tcp-sack1.cc` with `scoreboard-rq.cc` and the defaults of `ns-default.tcl` (`partial_ack_` false,
//! `singledup_` 1, `bugFix_` true). `pipe_` counts the segments in the network: the third duplicate removes three from
//! it, each later acknowledgment one, a partial one two. Every hole below a SACK is retransmitted once, before new
//! data. SACKs are discarded at the end of a recovery and at a time-out, after which everything is retransmitted, as
//! without SACK.

use super::episode::Episode;
use super::linux_2_6::lose_everything;
use crate::SeqRange;
use crate::cc::AnyCc;
use crate::context::{AckAction, Cx, Rexmit};
use crate::state::CaState;

/// State of this machine alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Sack1 {
    /// `pipe_`.
    pipe: i64,
    /// End of the data sent before the last time-out, below which losses indicate nothing new; `None` after a recovery
    /// (`recover_`).
    recover: Option<u64>,
    /// No acknowledgment of new data since the last time-out (`timeout_`).
    timed_out: bool,
    /// In the state Loss: number of duplicates with new blocks, and the last blocks.
    duplicates: u32,
    last_blocks: [SeqRange; 3],
}

impl Sack1 {
    /// Processes a duplicate acknowledgment with `blocks`.
    pub fn on_duplicate(&mut self, blocks: &[SeqRange], episode: &mut Episode, cx: &mut Cx) -> AckAction {
        let tolerance = episode.reordering.degree();
        let rexmit = match episode.state {
            CaState::Recovery => {
                self.pipe -= 1;
                cx.board.mark_holes();
                Rexmit::ByPipe
            }
            CaState::Loss => self.on_duplicate_after_time_out(blocks, tolerance),
            // bugFix_: losses of data sent before a time-out wait for the next one.
            _ if cx.board.sacked_out >= tolerance && self.recover.is_some_and(|end| cx.queue.una() <= end) => {
                Rexmit::Hold
            }
            _ if cx.board.sacked_out >= tolerance => {
                self.pipe = i64::from(cx.board.packets_out()) - i64::from(tolerance);
                halve(episode, cx);
                episode.state = CaState::Recovery;
                cx.timer.restart(cx.now, cx.rtt);
                cx.board.mark_lost(0);
                Rexmit::HeadOnly
            }
            _ => {
                episode.state = CaState::Disorder;
                Rexmit::Nothing
            }
        };
        AckAction { grows: false, rexmit }
    }

    /// The first ones send the next segment (`singledup_`), which is a retransmission.
    fn on_duplicate_after_time_out(&mut self, blocks: &[SeqRange], tolerance: u32) -> Rexmit {
        let last_blocks = std::array::from_fn(|i| blocks.get(i).copied().unwrap_or_default());
        if self.timed_out || last_blocks == self.last_blocks {
            return if self.duplicates == 0 { Rexmit::Nothing } else { Rexmit::Hold };
        }
        self.last_blocks = last_blocks;
        self.duplicates += 1;
        if self.duplicates < tolerance { Rexmit::LostBeyond(self.duplicates) } else { Rexmit::Hold }
    }

    /// Processes an acknowledgment of new data.
    pub fn on_progress(&mut self, episode: &mut Episode, cx: &mut Cx) -> AckAction {
        let finished = cx.queue.una() >= episode.high_seq;
        (self.timed_out, self.duplicates, self.last_blocks) = (false, 0, Default::default());
        if episode.state == CaState::Recovery && !finished {
            self.pipe -= 2;
            cx.board.mark_holes();
            return AckAction { grows: false, rexmit: Rexmit::ByPipe };
        }
        let recovered = episode.state == CaState::Recovery;
        if recovered {
            self.recover = None;
            cx.board.forget_recovery();
        } else {
            cx.board.forget_sacks();
        }
        if episode.state != CaState::Loss || finished {
            episode.state = CaState::Open;
        }
        AckAction { grows: !recovered, rexmit: Rexmit::Lost }
    }

    /// Every time-out halves the current window.
    pub fn on_time_out(&mut self, episode: &mut Episode, cx: &mut Cx) {
        (self.timed_out, self.duplicates, self.last_blocks) = (true, 0, Default::default());
        cx.board.forget_sacks();
        lose_everything(episode, true, cx);
        self.recover = Some(cx.queue.nxt());
    }

    /// How many more segments may be sent in a window of `cwnd`.
    pub fn room(&self, cwnd: u32) -> u32 {
        u32::try_from(i64::from(cwnd) - self.pipe).unwrap_or(0)
    }

    /// `segments` were sent.
    pub fn sent(&mut self, segments: u32) {
        self.pipe += i64::from(segments);
    }
}

/// Halves the window and the threshold.
pub(super) fn halve(episode: &mut Episode, cx: &mut Cx) {
    cx.control.lower_ssthresh();
    let exactly = cx.board.is_reno() || is_sack1(&cx.control.cc);
    let window = &mut cx.control.window;
    if exactly {
        // precisionReduce_: with the fraction; and only the threshold is at least two segments.
        window.halve_exactly();
    } else {
        (window.cwnd, window.cwnd_cnt) = (window.ssthresh, 0);
    }
    episode.high_seq = cx.queue.nxt();
    cx.ecn.on_reduction();
}

/// Whether the control recovers by `TCP/Sack1`, which is Reno.
pub(super) fn is_sack1(cc: &AnyCc) -> bool {
    matches!(cc, AnyCc::Reno(_) | AnyCc::NewReno(_))
}
