//! The state machine of loss recovery from Linux 3.10 on.
//!
//! Source: Linux 6.1 and 4.2 `tcp_fastretrans_alert` and its helpers. It decides and marks; what is then sent, and how
//! the window moves, follows in `ack.rs`.

use super::NOTHING_TO_UNDO;
use crate::Ticks;
use crate::Wire;
use crate::ack::Ack;
use crate::ack_3_10::Findings;
use crate::cc::CongestionControl;
use crate::scoreboard::Tags;
use crate::sender::{Sender, State};
use crate::timer::Timer;
use sojourn_aqm::Duration;

/// What recovery wants to be sent next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rexmit {
    Nothing,
    /// What is marked lost.
    Lost,
    /// Something new, which tells whether the time-out was spurious (F-RTO).
    New,
}

impl Sender {
    /// The state machine: runs on every acknowledgment that is not plain progress in the open state.
    pub(crate) fn alert_3_10(&mut self, now: Ticks, ack: &mut Findings) -> Rexmit {
        let duplicates = self.is_reno() && ack.is_duplicate() && !ack.sacked.duplicate;
        let mut do_lost = ack.is_duplicate() || (ack.sacked.new && self.fackets_out() > self.reordering);
        if ack.ece {
            self.prior_ssthresh = 0;
        }
        if self.leave_finished_state_3_10(ack) {
            return Rexmit::Nothing;
        }
        if self.state == State::Recovery {
            if !ack.advanced {
                if duplicates {
                    self.add_reno_sack();
                }
            } else if self.try_undo_partial(ack, &mut do_lost) {
                return Rexmit::Nothing;
            }
            if self.try_undo_dsack_3_10() {
                self.keep_open();
                if !self.stack.rack {
                    return Rexmit::Nothing;
                }
            }
            self.identify_loss(now, ack);
            if self.state != State::Recovery {
                if self.board.lost_out == 0 {
                    return Rexmit::Nothing;
                }
                self.enter_recovery(ack.ece);
            }
            if !self.stack.rack && do_lost {
                self.update_scoreboard(now, false);
            }
            return Rexmit::Lost;
        }
        if self.state == State::Loss {
            let rexmit = self.on_ack_in_loss_3_10(ack);
            self.identify_loss(now, ack);
            if self.state != State::Open && !ack.lost_retransmission {
                return rexmit;
            }
        }
        if self.is_reno() {
            if ack.advanced {
                self.board.sacked_out = 0;
            }
            if duplicates {
                self.add_reno_sack();
            }
        }
        if self.state <= State::Disorder {
            self.try_undo_dsack_3_10();
        }
        self.identify_loss(now, ack);
        let recover = if self.stack.rack { self.board.lost_out > 0 } else { self.time_to_recover(now, ack) };
        if !recover {
            self.try_to_open_3_10(ack);
            return Rexmit::Nothing;
        }
        self.enter_recovery(ack.ece);
        ack.entered_recovery = true;
        if !self.stack.rack && do_lost {
            self.update_scoreboard(now, true);
        }
        Rexmit::Lost
    }

    /// A time-out: the head is lost, and whatever RACK does not expect any more; slow start from one segment.
    pub(crate) fn enter_loss_3_10(&mut self) {
        let new_recovery = self.state < State::Recovery;
        if self.is_reno() {
            self.board.sacked_out = 0;
        }
        let retransmitted = if self.stack.rack {
            self.mark_lost_on_timeout();
            false
        } else {
            self.board.mark_all_lost(false)
        };
        let first_of_episode = self.state <= State::Disorder
            || self.queue.una() >= self.high_seq
            || (self.state == State::Loss && self.retransmits == 0);
        if first_of_episode {
            self.prior_ssthresh = self.current_ssthresh();
            self.prr.prior_cwnd = self.window.cwnd;
            self.window.ssthresh = self.cc.ssthresh(&self.window);
            self.undo_marker = (!retransmitted).then_some(self.queue.una());
            self.undo_retrans = match self.board.retrans_out {
                0 => NOTHING_TO_UNDO,
                out => out as i32,
            };
        }
        self.window.cwnd = if self.stack.rack { self.board.in_flight() + 1 } else { 1 };
        self.window.cwnd_cnt = 0;
        self.window.bytes_acked = 0;
        if self.state <= State::Disorder && self.board.sacked_out >= self.stack.reordering {
            self.reordering = self.reordering.min(self.stack.reordering);
        }
        self.state = State::Loss;
        self.high_seq = self.queue.nxt();
        self.cwr_pending = true;
        self.cc.timed_out();
        self.frto.in_loss = self.stack.frto && (new_recovery || self.retransmits > 0);
    }

    /// Sends what is marked lost, as the window allows; nothing ahead of evidence.
    pub(crate) fn retransmit_marked(&mut self, now: Ticks, wire: &mut impl Wire) {
        let mut i = self.board.retransmit_hint.map_or(0, |seq| self.board.position(seq));
        let (mut hole, mut head_sent) = (false, false);
        while let Some(&segment) = self.board.get(i) {
            if !hole {
                self.board.retransmit_hint = Some(segment.seq);
            }
            if self.board.in_flight() >= self.window.cwnd || self.board.retrans_out >= self.board.lost_out {
                break;
            }
            if segment.tags.any(Tags::LOST) {
                if !segment.tags.any(Tags::SACKED.or(Tags::RETRANS)) {
                    self.retransmit(i, now, wire);
                    head_sent |= i == 0;
                }
            } else {
                hole |= !segment.tags.any(Tags::RETRANS.or(Tags::SACKED));
            }
            i += 1;
        }
        if head_sent && self.timer != Timer::Reordering {
            self.rearm(now);
        }
    }

    fn leave_finished_state_3_10(&mut self, ack: &Ack) -> bool {
        if self.state == State::Open {
            self.retrans_stamp = None;
        } else if self.queue.una() >= self.high_seq {
            match self.state {
                // Held until something above high_seq is acknowledged: CWR must have reached the receiver.
                State::Cwr if self.queue.una() != self.high_seq => {
                    self.end_reduction();
                    self.state = State::Open;
                }
                State::Recovery => {
                    if self.is_reno() {
                        self.board.sacked_out = 0;
                    }
                    if self.try_undo_recovery_3_10(ack) {
                        return true;
                    }
                    self.end_reduction();
                }
                _ => {}
            }
        }
        false
    }

    fn on_ack_in_loss_3_10(&mut self, ack: &Findings) -> Rexmit {
        let recovered = self.queue.una() >= self.high_seq;
        if ack.advanced && self.stack.rack && self.try_undo_loss_3_10(ack, false) {
            return Rexmit::Nothing;
        }
        if self.frto.in_loss {
            // RFC 5682 §3.1 step 3.b: something arrived that was never sent again.
            let spurious = ack.original_delivered || !self.stack.rack;
            if spurious && self.try_undo_loss_3_10(ack, ack.original_delivered) {
                return Rexmit::Nothing;
            }
            if self.queue.nxt() > self.high_seq {
                // Step 3.a: the loss was real.
                self.frto.in_loss &= !(ack.sacked.new || ack.is_duplicate());
            } else if ack.advanced && !recovered {
                // Step 2.b: new data tells.
                self.high_seq = self.queue.nxt();
                if self.can_send_beyond_window() {
                    return Rexmit::New;
                }
                self.frto.in_loss = false;
            }
        }
        if recovered {
            self.try_undo_recovery_3_10(ack);
            return Rexmit::Nothing;
        }
        if self.is_reno() {
            if self.queue.nxt() > self.high_seq && ack.is_duplicate() {
                self.add_reno_sack();
            } else if ack.advanced {
                self.board.sacked_out = 0;
            }
        }
        if !self.stack.rack && self.try_undo_loss_3_10(ack, false) {
            return Rexmit::Nothing;
        }
        Rexmit::Lost
    }

    fn identify_loss(&mut self, now: Ticks, ack: &mut Findings) {
        if !self.stack.rack || self.board.packets_out() == 0 {
            return;
        }
        if self.is_reno() {
            let duplicates = self.state < State::Recovery && self.board.sacked_out >= self.reordering;
            let partial = self.state == State::Recovery && ack.advanced;
            let head_lost = self.board.head().is_some_and(|s| s.tags.any(Tags::LOST));
            if (duplicates || partial) && !head_lost {
                self.board.mark_lost_again(0);
            }
            return;
        }
        let retransmissions = self.board.retrans_out;
        if self.rack_mark_lost(now) {
            ack.sets_timer = false;
        }
        ack.lost_retransmission |= retransmissions > self.board.retrans_out;
    }

    /// RACK keeps what it still expects: only segments that are as old as the head are lost with it.
    fn mark_lost_on_timeout(&mut self) {
        for i in 0..self.board.packets_out() as usize {
            let segment = *self.board.get(i).expect("there are that many segments");
            let expected = i > 0 && self.rack.remaining(self.at, &segment, Duration::ZERO) > Duration::ZERO;
            if !expected {
                self.board.mark_lost_again(i);
            }
        }
        self.board.forget_hints();
    }

    fn try_to_open_3_10(&mut self, ack: &Ack) {
        if !self.any_retransmission_out() {
            self.retrans_stamp = None;
        }
        if ack.ece {
            self.enter_cwr(true);
        }
        if self.state != State::Cwr {
            self.keep_open();
        }
    }

    /// A partial acknowledgment in recovery. Returns whether that was all there is to do.
    fn try_undo_partial(&mut self, ack: &Ack, do_lost: &mut bool) -> bool {
        if self.undo_marker.is_none() || !self.original_arrived(ack) {
            *do_lost = self.is_reno() || self.fackets_out() > self.reordering;
            return false;
        }
        // The hole was filled by a delayed packet, not by its retransmission.
        self.update_reordering(self.fackets_out() + ack.acked.packets);
        if self.board.retrans_out > 0 {
            return true;
        }
        if !self.any_retransmission_out() {
            self.retrans_stamp = None;
        }
        self.undo_reduction(true);
        self.keep_open();
        !self.stack.rack
    }

    /// Returns whether the old state is held (without SACK, until something above `high_seq` is acknowledged).
    fn try_undo_recovery_3_10(&mut self, ack: &Ack) -> bool {
        if self.may_undo_3_10(ack) {
            self.undo_reduction(false);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        if self.is_held_without_sack() {
            return true;
        }
        self.state = State::Open;
        false
    }

    fn try_undo_dsack_3_10(&mut self) -> bool {
        let undo = self.undo_marker.is_some() && self.undo_retrans == 0;
        if undo {
            self.undo_reduction(false);
        }
        undo
    }

    fn try_undo_loss_3_10(&mut self, ack: &Ack, spurious: bool) -> bool {
        if !spurious && !self.may_undo_3_10(ack) {
            return false;
        }
        self.undo_reduction(true);
        self.retransmits = 0;
        if !self.is_held_without_sack() && (spurious || self.sack) {
            self.state = State::Open;
        }
        true
    }

    /// Without SACK, old duplicates would start a recovery anew (RFC 6582).
    fn is_held_without_sack(&mut self) -> bool {
        let held = self.is_reno() && self.queue.una() == self.high_seq;
        if held && !self.any_retransmission_out() {
            self.retrans_stamp = None;
        }
        held
    }

    fn may_undo_3_10(&self, ack: &Ack) -> bool {
        self.undo_marker.is_some() && (self.undo_retrans == 0 || self.original_arrived(ack))
    }

    /// The timestamp echoed is older than the first retransmission (Eifel).
    fn original_arrived(&self, ack: &Ack) -> bool {
        match self.retrans_stamp {
            Some(stamp) => ack.ts_ecr != 0 && ack.ts_ecr < stamp,
            // Nothing was sent again yet; without SACK the stamp may have been cleared at the end of the episode.
            None => !self.stack.rack || self.sack || self.queue.una() < self.high_seq,
        }
    }

    fn undo_reduction(&mut self, unmark_lost: bool) {
        if unmark_lost {
            self.board.unmark_lost();
        }
        let window = &mut self.window;
        if self.prior_ssthresh > 0 {
            window.cwnd = if self.stack.rack { window.cwnd.max(self.prr.prior_cwnd) } else { self.cc.undone(window) };
            if self.prior_ssthresh > window.ssthresh {
                window.ssthresh = self.prior_ssthresh;
                self.cwr_pending = false;
            }
        } else if !self.stack.rack {
            window.cwnd = window.cwnd.max(window.ssthresh);
        }
        self.undo_marker = None;
        self.rack.advanced = true;
    }
}
