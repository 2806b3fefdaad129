//! Loss recovery of ns-2: the window is halved at once and inflated by duplicates.
//!
//! Source: ns-2 `tcp.cc`, `tcp-reno.cc`, `tcp-newreno.cc`, `tcp-sack1.cc` with the defaults of `ns-default.tcl`; RFC
//! 6582, RFC 6675. A duplicate counts as a segment that left the network (`sacked_out`, `dupwnd_`), which is equivalent
//! to inflating the window by it. The first two count as well: their new segments are limited transmit (`singledup_`).
//!
//! With SACK, Reno and NewReno are `TCP/Sack1` ([`super::sack1`]).
//!
//! `Differs:` CUBIC, in place of `TCP/Linux`, recovers by RFC 6675.

use super::episode::Episode;
use super::linux_2_6::lose_everything;
use super::sack1::{Sack1, halve, is_sack1};
use crate::SeqRange;
use crate::context::{AckAction, Cx, Rexmit};
use crate::scoreboard::Scoreboard;
use crate::segment::{AckedSegments, Tags};
use crate::state::CaState;

/// State of this machine alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Ns2 {
    /// A partial acknowledgment has arrived in this recovery.
    partial_acked: bool,
    /// Duplicate acknowledgments since the last progress or time-out, in the state Loss.
    duplicates: u32,
    /// The last reduction was that of a time-out (`CWND_ACTION_TIMEOUT`).
    timed_out: bool,
    /// State of `TCP/Sack1`.
    pub sack1: Sack1,
}

impl Ns2 {
    /// Processes a duplicate acknowledgment.
    pub fn on_duplicate(&mut self, blocks: &[SeqRange], episode: &mut Episode, cx: &mut Cx) -> AckAction {
        if !cx.board.is_reno() && is_sack1(&cx.control.cc) {
            let progress = self.sack1.on_duplicate(blocks, episode, cx);
            self.timed_out &= episode.state != CaState::Recovery;
            return progress;
        }
        let (reno, tolerance) = (cx.board.is_reno(), episode.reordering.degree());
        if reno && episode.state != CaState::Loss {
            let missing = cx.board.lost_out.max(1);
            cx.board.sacked_out = (cx.board.sacked_out + 1).min(cx.board.packets_out() - missing);
        }
        let sacked = cx.board.sacked_out;
        let rexmit = match episode.state {
            CaState::Recovery => repair(episode, cx),
            // RFC 6582 §4: duplicates of data sent before a time-out indicate no new loss. But the first ones send the
            // next segment (`singledup_`), which after a time-out is a retransmission.
            CaState::Loss if self.duplicates + 1 < tolerance => {
                self.duplicates += 1;
                Rexmit::LostBeyond(self.duplicates)
            }
            CaState::Loss => Rexmit::Nothing,
            // bugFix_: the same for data sent before a recovery; its other losses wait for the time-out.
            _ if reno && cx.queue.una() <= episode.high_seq && sacked >= tolerance => {
                cx.board.sacked_out = tolerance - 1;
                Rexmit::Nothing
            }
            _ if sacked >= tolerance => {
                halve(episode, cx);
                episode.state = CaState::Recovery;
                (self.partial_acked, self.timed_out) = (false, false);
                cx.timer.restart(cx.now, cx.rtt);
                resend_head(cx)
            }
            _ => {
                episode.state = CaState::Disorder;
                Rexmit::Nothing
            }
        };
        AckAction { grows: false, rexmit }
    }

    /// Processes an acknowledgment of new data.
    pub fn on_progress(&mut self, episode: &mut Episode, acked: &AckedSegments, cx: &mut Cx) -> AckAction {
        if !cx.board.is_reno() && is_sack1(&cx.control.cc) {
            return self.sack1.on_progress(episode, cx);
        }
        let (reno, finished) = (cx.board.is_reno(), cx.queue.una() >= episode.high_seq);
        self.duplicates = 0;
        match episode.state {
            // exit_recovery_fix_ 0: the window stays, whatever burst that causes.
            CaState::Recovery if reno && (finished || cx.control.cc.partial_ack_ends_recovery()) => {
                cx.board.forget_duplicates();
                episode.state = CaState::Open;
                AckAction { grows: true, rexmit: Rexmit::Nothing }
            }
            CaState::Recovery if finished => {
                episode.state = CaState::Open;
                // RFC 6582 §3.2 step 3, option 1: no burst.
                cx.control.window.cwnd = cx.control.window.ssthresh.min(cx.board.in_flight() + 1);
                AckAction { grows: false, rexmit: Rexmit::Nothing }
            }
            CaState::Recovery if reno => {
                self.partial_acked = true;
                deflate(acked.packets, cx);
                AckAction { grows: false, rexmit: resend_head(cx) }
            }
            CaState::Recovery => AckAction { grows: false, rexmit: repair(episode, cx) },
            _ => {
                cx.board.forget_duplicates();
                if episode.state != CaState::Loss || finished {
                    episode.state = CaState::Open;
                }
                AckAction { grows: true, rexmit: Rexmit::Lost }
            }
        }
    }

    /// `TcpAgent::ecn`: one reduction per window. An echo counts only if data sent after the last reduction is
    /// acknowledged, and once after a time-out regardless of that. Processed before the rest of the acknowledgment.
    pub fn on_echo(&mut self, episode: &mut Episode, cx: &mut Cx) {
        let beyond = episode.state <= CaState::Disorder && cx.queue.una() > episode.high_seq;
        if beyond || self.timed_out {
            halve(episode, cx);
            self.timed_out = false;
        }
    }

    /// tcp.cc: every time-out halves the current window.
    pub fn on_time_out(&mut self, episode: &mut Episode, cx: &mut Cx) {
        (self.duplicates, self.timed_out) = (0, true);
        if !cx.board.is_reno() && is_sack1(&cx.control.cc) {
            return self.sack1.on_time_out(episode, cx);
        }
        lose_everything(episode, cx.board.is_reno(), cx);
    }

    /// Whether an acknowledgment leaves the retransmission timer as it is: in a recovery without SACK all partial ones
    /// except the first (`newreno_changes1_`; RFC 6582's impatient variant), so that many losses end in a time-out.
    pub fn keeps_timer(&self, episode: &Episode, una: u64, board: &Scoreboard) -> bool {
        episode.state == CaState::Recovery && board.is_reno() && self.partial_acked && una < episode.high_seq
    }
}

/// A partial acknowledgment deflates the window by the packets that it acknowledged, less one for the retransmission
/// that arrived (`partial_window_deflation_`).
fn deflate(packets: u32, cx: &mut Cx) {
    let inflated = cx.board.sacked_out;
    if inflated > packets {
        cx.board.sacked_out = inflated - (packets - 1);
    } else {
        let window = &mut cx.control.window;
        match window.cwnd.saturating_sub(packets - inflated) {
            // One segment, without a fraction.
            0 => (window.cwnd, window.cwnd_cnt) = (1, 0),
            left => window.cwnd = left,
        }
        cx.board.sacked_out = 1;
    }
}

/// With SACK: segments below three SACKed ones are lost, and retransmitted as the window allows.
fn repair(episode: &Episode, cx: &mut Cx) -> Rexmit {
    if cx.board.is_reno() {
        return Rexmit::Nothing;
    }
    episode.mark_lost_by_count(false, false, cx);
    Rexmit::Lost
}

/// Retransmits the oldest segment, regardless of the window.
fn resend_head(cx: &mut Cx) -> Rexmit {
    if cx.board.head().is_none_or(|head| head.tags.any(Tags::RETRANS)) {
        return Rexmit::Nothing;
    }
    cx.board.mark_lost(0);
    Rexmit::Head
}
