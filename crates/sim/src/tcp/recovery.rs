//! Loss recovery: fast retransmit, rate halving, time-outs, undo.
//!
//! Source: Linux 2.6.29 `tcp_fastretrans_alert` and its helpers, in the same order.

use super::cc::CongestionControl;
use super::scoreboard::Tags;
use super::sender::{Ack, Sender, State};
use super::{Ticks, Wire};

impl Sender {
    /// The state machine: runs on every acknowledgment that is not plain progress in the open state.
    pub(super) fn fast_retransmit_alert(&mut self, now: Ticks, ack: &Ack, wire: &mut impl Wire) {
        let is_dupack = ack.is_duplicate();
        let mut do_lost = is_dupack || (ack.sacked.new && self.fackets_out() > self.reordering);
        // A congestion mark: the reduction is required and cannot be undone.
        if ack.ece {
            self.prior_ssthresh = 0;
        }
        if self.leave_finished_state(ack) {
            return;
        }
        let mut fast_retransmit = false;
        match self.state {
            State::Recovery => {
                if ack.advanced {
                    do_lost = self.on_partial_ack(ack);
                    // Reno without SACK is through: the window does not fall below the threshold.
                    if self.state == State::Open {
                        return;
                    }
                } else if self.is_reno() && is_dupack {
                    self.add_reno_sack();
                }
            }
            State::Loss => {
                if self.on_ack_in_loss(now, ack, wire) {
                    return;
                }
                if self.finish_or_enter(now, ack, is_dupack) {
                    fast_retransmit = true;
                } else {
                    return;
                }
            }
            State::Open | State::Disorder | State::Cwr => {
                if !self.finish_or_enter(now, ack, is_dupack) {
                    return;
                }
                fast_retransmit = true;
            }
        }
        if do_lost || (self.fack && self.head_timed_out(now)) {
            self.update_scoreboard(now, fast_retransmit);
        }
        self.cwnd_down(ack);
        self.retransmit_lost(now, wire);
    }

    /// A time-out without F-RTO: everything is lost, slow start from one segment.
    pub(super) fn enter_loss(&mut self) {
        let first_of_episode = self.state <= State::Disorder
            || self.snd_una == self.high_seq
            || (self.state == State::Loss && self.retransmits == 0);
        if first_of_episode {
            self.prior_ssthresh = self.current_ssthresh();
            self.window.ssthresh = self.cc.ssthresh(&self.window);
        }
        self.window.cwnd = 1;
        self.window.cwnd_cnt = 0;
        self.window.bytes_acked = 0;
        self.undo_retrans = 0;
        if self.is_reno() {
            self.board.sacked_out = 0;
        }
        let retransmitted = self.board.mark_all_lost(false);
        self.undo_marker = (!retransmitted).then_some(self.snd_una);
        self.reordering = self.reordering.min(self.stack.reordering);
        self.state = State::Loss;
        self.high_seq = self.snd_nxt;
        self.cwr_pending = true;
        self.frto.abort();
        self.cc.timed_out();
    }

    /// Starts the reduction by rate halving, on a mark or after a spurious time-out.
    pub(super) fn enter_cwr(&mut self, set_ssthresh: bool) {
        self.prior_ssthresh = 0;
        self.window.bytes_acked = 0;
        if self.state < State::Cwr {
            self.undo_marker = None;
            if set_ssthresh {
                self.window.ssthresh = self.cc.ssthresh(&self.window);
            }
            self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + 1);
            self.window.cwnd_cnt = 0;
            self.high_seq = self.snd_nxt;
            self.cwr_pending = true;
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
    fn fackets_out(&self) -> u32 {
        if self.is_reno() { self.board.sacked_out + 1 } else { self.board.fackets_out }
    }

    /// Ends a state whose `high_seq` is acknowledged. Returns whether that was all there is to do.
    fn leave_finished_state(&mut self, ack: &Ack) -> bool {
        if self.state == State::Open {
            self.retrans_stamp = None;
            return false;
        }
        if self.snd_una < self.high_seq {
            return false;
        }
        match self.state {
            State::Open => {}
            State::Loss => {
                self.retransmits = 0;
                return self.try_undo_recovery(ack);
            }
            // Held until something above high_seq is acknowledged: CWR must have reached the receiver.
            State::Cwr if self.snd_una != self.high_seq => {
                self.complete_cwr();
                self.state = State::Open;
            }
            State::Cwr => {}
            State::Disorder => {
                self.try_undo_dsack();
                if self.undo_marker.is_none() || self.is_reno() || self.snd_una != self.high_seq {
                    self.undo_marker = None;
                    self.state = State::Open;
                }
            }
            State::Recovery => {
                if self.is_reno() {
                    self.board.sacked_out = 0;
                }
                if self.try_undo_recovery(ack) {
                    return true;
                }
                self.complete_cwr();
            }
        }
        false
    }

    /// An acknowledgment in the loss state. Returns whether it was dealt with.
    fn on_ack_in_loss(&mut self, now: Ticks, ack: &Ack, wire: &mut impl Wire) -> bool {
        if ack.data_acked() {
            self.retransmits = 0;
        }
        if self.is_reno() && ack.advanced {
            self.board.sacked_out = 0;
        }
        if !self.try_undo_loss(ack) {
            self.moderate_cwnd();
            self.retransmit_lost(now, wire);
            return true;
        }
        self.state != State::Open
    }

    /// Decides between the harmless states and recovery. Returns whether recovery was entered.
    fn finish_or_enter(&mut self, now: Ticks, ack: &Ack, is_dupack: bool) -> bool {
        if self.is_reno() {
            if ack.advanced {
                self.board.sacked_out = 0;
            }
            if is_dupack {
                self.add_reno_sack();
            }
        }
        if self.state == State::Disorder {
            self.try_undo_dsack();
        }
        if self.time_to_recover(now) {
            self.enter_recovery(ack);
            return true;
        }
        self.try_to_open(ack);
        false
    }

    fn time_to_recover(&self, now: Ticks) -> bool {
        if self.frto.is_active() {
            return false;
        }
        let duplicates = if self.fack { self.board.fackets_out } else { self.board.sacked_out + 1 };
        let out = self.board.packets_out();
        // Nothing more will come to tell of the loss: the connection is limited by its application.
        let application_limited = out <= self.reordering
            && self.board.sacked_out >= (out / 2).max(self.stack.reordering)
            && !self.may_send_now();
        self.board.lost_out > 0
            || duplicates > self.reordering
            || (self.fack && self.head_timed_out(now))
            || application_limited
    }

    fn enter_recovery(&mut self, ack: &Ack) {
        self.high_seq = self.snd_nxt;
        self.prior_ssthresh = 0;
        self.undo_marker = Some(self.snd_una);
        self.undo_retrans = self.board.retrans_out;
        if self.state < State::Cwr {
            if !ack.ece {
                self.prior_ssthresh = self.current_ssthresh();
            }
            self.window.ssthresh = self.cc.ssthresh(&self.window);
            self.cwr_pending = true;
        }
        self.window.bytes_acked = 0;
        self.window.cwnd_cnt = 0;
        self.state = State::Recovery;
    }

    fn try_to_open(&mut self, ack: &Ack) {
        if !self.frto.is_active() && self.board.retrans_out == 0 {
            self.retrans_stamp = None;
        }
        if ack.ece {
            self.enter_cwr(true);
        }
        if self.state == State::Cwr {
            self.cwnd_down(ack);
        } else {
            self.keep_open();
            self.moderate_cwnd();
        }
    }

    fn keep_open(&mut self) {
        let disordered = self.board.any_lost_bookkeeping() || self.undo_marker.is_some();
        let state = if disordered { State::Disorder } else { State::Open };
        if self.state != state {
            self.state = state;
            self.high_seq = self.snd_nxt;
        }
    }

    /// A partial acknowledgment in recovery. Returns whether the next hole is to be marked lost.
    fn on_partial_ack(&mut self, ack: &Ack) -> bool {
        if self.is_reno() && self.cc.partial_ack_ends_recovery() {
            self.board.sacked_out = 0;
            self.complete_cwr();
            self.undo_marker = None;
            self.state = State::Open;
            return false;
        }
        let mut failed = self.is_reno() || self.fackets_out() > self.reordering;
        if self.may_undo(ack) {
            // The hole was filled by a delayed packet, not by its retransmission.
            if self.board.retrans_out == 0 {
                self.retrans_stamp = None;
            }
            self.update_reordering(self.fackets_out() + ack.acked.packets);
            self.undo_cwr(false);
            failed = false;
        }
        failed
    }

    pub(super) fn update_scoreboard(&mut self, now: Ticks, fast_retransmit: bool) {
        if self.is_reno() {
            self.board.mark_head_lost(1, self.high_seq, false);
        } else if self.fack {
            let lost = self.board.fackets_out.saturating_sub(self.reordering).max(1);
            self.board.mark_head_lost(lost, self.high_seq, false);
        } else {
            let upto = self.board.sacked_out.saturating_sub(self.reordering).max(fast_retransmit as u32);
            self.board.mark_head_lost(upto, self.high_seq, true);
        }
        if self.fack && self.head_timed_out(now) {
            let mut i = 0;
            while let Some(segment) = self.board.get(i).filter(|s| self.timed_out(s, now)) {
                debug_assert!(segment.end() <= self.snd_nxt);
                self.board.mark_lost(i);
                i += 1;
            }
        }
    }

    /// Rate halving: one segment less for every second acknowledgment.
    fn cwnd_down(&mut self, ack: &Ack) {
        if !(ack.any_progress() || ack.sacked.duplicate || (self.is_reno() && ack.is_duplicate())) {
            return;
        }
        let decrement = self.window.cwnd_cnt + 1;
        self.window.cwnd_cnt = decrement & 1;
        if decrement > 1 && self.window.cwnd > self.cc.min_cwnd(&self.window) {
            self.window.cwnd -= decrement >> 1;
        }
        self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + 1);
    }

    pub(super) fn retransmit_lost(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            return;
        }
        if self.board.lost_out == 0 {
            self.board.retransmit_high = self.snd_una;
        }
        let hint = self.board.retransmit_hint;
        let mut i = hint.map_or(0, |seq| self.board.position(seq));
        let mut last_lost = match hint.and_then(|_| self.board.get(i)) {
            Some(segment) => segment.end().min(self.board.retransmit_high),
            None => self.snd_una,
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
    fn can_forward_retransmit(&self) -> bool {
        self.state == State::Recovery && self.sack && !self.may_send_now()
    }

    fn moderate_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + self.reordering);
    }

    fn complete_cwr(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
    }

    fn may_undo(&self, ack: &Ack) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.packet_was_delayed(ack))
    }

    /// The timestamp echoed is older than the first retransmission: the original arrived (Eifel).
    fn packet_was_delayed(&self, ack: &Ack) -> bool {
        self.retrans_stamp.is_none_or(|stamp| ack.ts_ecr != 0 && ack.ts_ecr < stamp)
    }

    /// Returns whether the old state is held (without SACK, until something above `high_seq` is acknowledged).
    fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_cwr(true);
            self.undo_marker = None;
        }
        if self.snd_una == self.high_seq && self.is_reno() && !self.cc.partial_ack_ends_recovery() {
            self.moderate_cwnd();
            return true;
        }
        self.state = State::Open;
        false
    }

    fn try_undo_dsack(&mut self) {
        if self.undo_marker.is_some() && self.undo_retrans == 0 {
            self.undo_cwr(true);
            self.undo_marker = None;
        }
    }

    fn try_undo_loss(&mut self, ack: &Ack) -> bool {
        if !self.may_undo(ack) {
            return false;
        }
        self.board.unmark_lost();
        self.undo_cwr(true);
        self.retransmits = 0;
        self.undo_marker = None;
        if self.sack {
            self.state = State::Open;
        }
        true
    }

    fn undo_cwr(&mut self, restore_ssthresh: bool) {
        let window = &mut self.window;
        if self.prior_ssthresh > 0 {
            window.cwnd = self.cc.undone(window);
            if restore_ssthresh && self.prior_ssthresh > window.ssthresh {
                window.ssthresh = self.prior_ssthresh;
                self.cwr_pending = false;
            }
        } else {
            window.cwnd = window.cwnd.max(window.ssthresh);
        }
        self.moderate_cwnd();
        self.board.forget_hints();
    }

    pub(super) fn add_reno_sack(&mut self) {
        self.board.sacked_out += 1;
        self.check_reno_reordering(0);
    }

    /// More duplicates than segments that can have caused them: some were late, not lost.
    fn check_reno_reordering(&mut self, acked: u32) {
        let out = self.board.packets_out();
        let holes = self.board.lost_out.max(1).min(out);
        if self.board.sacked_out + holes > out {
            self.board.sacked_out = out - holes;
            self.update_reordering(out + acked);
        }
    }
}
