//! Loss recovery: what the state machines of the stacks have in common.

mod linux_2_6;
mod linux_3_10;

pub(super) use linux_3_10::Rexmit;

use super::ack::Ack;
use super::scoreboard::Tags;
use super::sender::{Sender, State};
use super::stack::{Machine, Reduction};
use super::{Ticks, Wire};

impl Sender {
    /// Starts the reduction by rate halving, on a mark or after a spurious time-out.
    pub(super) fn enter_cwr(&mut self, set_ssthresh: bool) {
        self.prior_ssthresh = 0;
        self.window.bytes_acked = 0;
        if self.state < State::Cwr {
            self.undo_marker = None;
            self.init_reduction(set_ssthresh);
            if self.stack.reduction == Reduction::RateHalving {
                self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + 1);
            }
            self.state = State::Cwr;
        }
    }

    pub(super) fn current_ssthresh(&self) -> u32 {
        let cwnd = self.window.cwnd;
        match self.state {
            State::Cwr | State::Recovery => self.window.ssthresh,
            _ => self.window.ssthresh.max((cwnd >> 1) + (cwnd >> 2)),
        }
    }

    /// Without SACK, acknowledged packets eat up duplicate acknowledgments.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        self.board.sacked_out = self.board.sacked_out.saturating_sub(acked - 1);
        self.check_reno_reordering(acked);
    }

    /// Packets up to the highest SACKed one; without SACK one more than the duplicates.
    pub(super) fn fackets_out(&self) -> u32 {
        if self.is_reno() { self.board.sacked_out + 1 } else { self.board.fackets_out }
    }

    pub(super) fn enter_recovery(&mut self, ece: bool) {
        self.prior_ssthresh = 0;
        self.undo_marker = Some(self.queue.una());
        self.undo_retrans = self.board.retrans_out as i32;
        if self.stack.machine == Machine::Linux3_10 && self.undo_retrans == 0 {
            self.undo_retrans = NOTHING_TO_UNDO;
        }
        // Within a reduction no other one begins; before 4.20 a time-out was one too.
        let reducing = match self.state {
            State::Cwr | State::Recovery => true,
            State::Loss => !self.stack.rack,
            State::Open | State::Disorder => false,
        };
        if !reducing {
            if !ece {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.init_reduction(true);
        }
        if self.stack.reduction == Reduction::RateHalving {
            self.high_seq = self.queue.nxt();
            self.window.cwnd_cnt = 0;
        }
        self.window.bytes_acked = 0;
        self.state = State::Recovery;
    }

    pub(super) fn keep_open(&mut self) {
        let open_question = match self.stack.reduction {
            Reduction::RateHalving => self.undo_marker.is_some(),
            Reduction::Prr | Reduction::CarefulPrr => self.any_retransmission_out(),
        };
        let disordered = self.board.any_lost_bookkeeping() || open_question;
        let state = if disordered { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high_seq = self.queue.nxt();
        }
    }

    /// A retransmission is in flight, or the oldest segment was one.
    pub(super) fn any_retransmission_out(&self) -> bool {
        self.board.retrans_out > 0 || self.board.head().is_some_and(|s| s.tags.any(Tags::EVER_RETRANS))
    }

    pub(super) fn update_scoreboard(&mut self, now: Ticks, fast_retransmit: bool) {
        // From 3.2 on SACKs tell of losses also among what was sent during the recovery.
        let old = self.stack.reduction == Reduction::RateHalving || self.is_reno();
        let upto_seq = if old { self.high_seq } else { self.queue.nxt() };
        if self.is_reno() {
            self.board.mark_head_lost(1, upto_seq, false);
        } else if self.fack {
            let lost = self.board.fackets_out.saturating_sub(self.reordering).max(1);
            self.board.mark_head_lost(lost, upto_seq, false);
        } else {
            let upto = self.board.sacked_out.saturating_sub(self.reordering).max(fast_retransmit as u32);
            self.board.mark_head_lost(upto, upto_seq, true);
        }
        if self.machine_marks_timed_out() && self.head_timed_out(now) {
            let mut i = 0;
            while let Some(segment) = self.board.get(i).filter(|s| self.timed_out(s, now)) {
                debug_assert!(segment.end() <= self.queue.nxt());
                self.board.mark_lost(i);
                i += 1;
            }
        }
    }

    /// Up to 3.10 what is older than the time-out counts as lost in recovery too.
    pub(super) fn machine_marks_timed_out(&self) -> bool {
        self.fack && self.stack.machine == Machine::Linux2_6
    }

    pub(super) fn retransmit_lost(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            return;
        }
        if self.board.lost_out == 0 {
            self.board.retransmit_high = self.queue.una();
        }
        let hint = self.board.retransmit_hint;
        let mut i = hint.map_or(0, |seq| self.board.position(seq));
        let mut last_lost = match hint.and_then(|_| self.board.get(i)) {
            Some(segment) => segment.end().min(self.board.retransmit_high),
            None => self.queue.una(),
        };
        let (mut hole, mut forward) = (None, false);
        while let Some(&segment) = self.board.get(i) {
            if hole.is_none() {
                self.board.retransmit_hint = Some(segment.seq);
            }
            if self.board.in_flight() >= self.window.cwnd {
                return;
            }
            if !forward {
                if segment.seq >= self.board.retransmit_high {
                    self.board.retransmit_high = last_lost;
                    if !self.can_forward_retransmit() {
                        return;
                    }
                    // Back to the first segment that nobody missed yet (RFC 3517, NextSeg rule 3).
                    i = hole.take().unwrap_or(i);
                    forward = true;
                    continue;
                }
                if !segment.tags.any(Tags::LOST) {
                    if hole.is_none() && !segment.tags.any(Tags::RETRANS.or(Tags::SACKED)) {
                        hole = Some(i);
                    }
                    i += 1;
                    continue;
                }
                last_lost = segment.end();
            } else if segment.seq >= self.board.highest_sack {
                return;
            }
            if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
                self.retransmit(i, now, wire);
                if i == 0 {
                    self.rearm(now);
                }
            }
            i += 1;
        }
    }

    /// Retransmissions ahead of evidence only when nothing new can be sent.
    pub(super) fn can_forward_retransmit(&self) -> bool {
        self.state == State::Recovery && self.sack && !self.may_send_now()
    }

    pub(super) fn may_undo(&self, ack: &Ack) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.packet_was_delayed(ack))
    }

    /// The timestamp echoed is older than the first retransmission: the original arrived (Eifel).
    pub(super) fn packet_was_delayed(&self, ack: &Ack) -> bool {
        self.retrans_stamp.is_none_or(|stamp| ack.ts_ecr != 0 && ack.ts_ecr < stamp)
    }

    pub(super) fn try_undo_dsack(&mut self) {
        if self.undo_marker.is_some() && self.undo_retrans == 0 {
            self.undo_cwr(true);
            self.undo_marker = None;
        }
    }

    pub(super) fn add_reno_sack(&mut self) {
        self.board.sacked_out += 1;
        self.check_reno_reordering(0);
    }

    /// More duplicates than segments that can have caused them: some were late, not lost.
    pub(super) fn check_reno_reordering(&mut self, acked: u32) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out.max(1).min(out);
        if self.board.sacked_out + holes > out {
            self.board.sacked_out = out - holes;
            self.update_reordering(out + acked);
        }
    }
}

/// `undo_retrans` while nothing was retransmitted: there is nothing that a D-SACK could undo (Linux 3.10 on).
pub(super) const NOTHING_TO_UNDO: i32 = -1;
