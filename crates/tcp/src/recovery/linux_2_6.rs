//! The state machine of loss recovery up to Linux 3.9.
//!
//! Source: Linux 2.6.29 `tcp_fastretrans_alert` and its helpers, in the same order; what 3.8 does in another way hangs
//! on the stack's mechanisms.

use crate::ack::Ack;
use crate::cc::CongestionControl;
use crate::sender::{Sender, State};
use crate::stack::{Machine, Moderation, Reduction};
use crate::{Ticks, Wire};

impl Sender {
    /// The state machine: runs on every acknowledgment that is not plain progress in the open state.
    pub(crate) fn fast_retransmit_alert(&mut self, now: Ticks, ack: &Ack, wire: &mut impl Wire) {
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
        self.bring_down(ack, fast_retransmit);
        self.retransmit_lost(now, wire);
    }

    /// A time-out without F-RTO: everything is lost, slow start from one segment.
    pub(crate) fn enter_loss(&mut self) {
        let first_of_episode = self.state <= State::Disorder
            || self.queue.una() == self.high_seq
            || (self.state == State::Loss && self.retransmits == 0);
        // ns-2, tcp.cc: every time-out halves what the window is by then.
        if first_of_episode || (self.stack.machine == Machine::Ns2 && self.is_reno()) {
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
        self.undo_marker = (!retransmitted).then_some(self.queue.una());
        self.reordering = self.reordering.min(self.stack.reordering);
        self.state = State::Loss;
        self.high_seq = self.queue.nxt();
        self.cwr_pending = true;
        self.frto.abort();
        self.cc.timed_out();
    }

    /// Ends a state whose `high_seq` is acknowledged. Returns whether that was all there is to do.
    #[inline]
    fn leave_finished_state(&mut self, ack: &Ack) -> bool {
        if self.state == State::Open {
            self.retrans_stamp = None;
            return false;
        }
        if self.queue.una() < self.high_seq {
            return false;
        }
        match self.state {
            State::Open => {}
            State::Loss => {
                self.retransmits = 0;
                return self.try_undo_recovery(ack);
            }
            // Held until something above high_seq is acknowledged: CWR must have reached the receiver.
            State::Cwr if self.queue.una() != self.high_seq => {
                self.complete_cwr();
                self.state = State::Open;
            }
            State::Cwr => {}
            State::Disorder if self.stack.reduction == Reduction::RateHalving => {
                self.try_undo_dsack();
                if self.undo_marker.is_none() || self.is_reno() || self.queue.una() != self.high_seq {
                    self.undo_marker = None;
                    self.state = State::Open;
                }
            }
            State::Disorder => {}
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
    #[inline]
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
        if self.time_to_recover(now, ack) {
            self.enter_recovery(ack.ece);
            return true;
        }
        self.try_to_open(ack);
        false
    }

    #[inline(always)]
    pub(crate) fn time_to_recover(&mut self, now: Ticks, ack: &Ack) -> bool {
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
            || (self.machine_marks_timed_out() && self.head_timed_out(now))
            || application_limited
            || (self.early_retransmit && self.early_retransmit_fits() && !self.pause_early_retransmit(now, ack))
    }

    fn try_to_open(&mut self, ack: &Ack) {
        if !self.frto.is_active() && self.board.retrans_out == 0 {
            self.retrans_stamp = None;
        }
        if ack.ece {
            self.enter_cwr(true);
        }
        if self.state == State::Cwr {
            self.bring_down(ack, false);
        } else {
            self.keep_open();
            if self.stack.moderation == Moderation::Always || self.state != State::Open {
                self.moderate_cwnd();
            }
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

    /// A step of the reduction that recovery or a congestion mark asks for.
    fn bring_down(&mut self, ack: &Ack, first: bool) {
        match self.stack.reduction {
            Reduction::RateHalving => self.halve_rate(ack),
            Reduction::Prr | Reduction::CarefulPrr => self.reduce(ack, 0, first),
        }
    }

    /// Rate halving: one segment less for every second acknowledgment.
    fn halve_rate(&mut self, ack: &Ack) {
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

    fn complete_cwr(&mut self) {
        match self.stack.reduction {
            Reduction::RateHalving => self.window.cwnd = self.window.cwnd.min(self.window.ssthresh),
            Reduction::Prr | Reduction::CarefulPrr => self.end_reduction(),
        }
    }

    /// Returns whether the old state is held (without SACK, until something above `high_seq` is acknowledged).
    fn try_undo_recovery(&mut self, ack: &Ack) -> bool {
        if self.may_undo(ack) {
            self.undo_cwr(true);
            self.undo_marker = None;
        }
        if self.queue.una() == self.high_seq && self.is_reno() && !self.cc.partial_ack_ends_recovery() {
            self.moderate_cwnd();
            return true;
        }
        self.state = State::Open;
        false
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

    pub(super) fn undo_cwr(&mut self, restore_ssthresh: bool) {
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
        if self.stack.moderation == Moderation::Always {
            self.moderate_cwnd();
        }
        self.board.forget_hints();
    }

    fn moderate_cwnd(&mut self) {
        self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + self.reordering);
    }
}
