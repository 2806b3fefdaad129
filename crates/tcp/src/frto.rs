//! F-RTO: was the time-out spurious? (RFC 5682, with SACK)
//!
//! Source: Linux 2.6.29 `tcp_enter_frto`, `tcp_process_frto`, `tcp_enter_frto_loss`; response: rate halving.

use super::ack::Ack;
use super::cc::CongestionControl;
use super::scoreboard::Tags;
use super::sender::{Sender, State};

/// Progress of the test.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Frto {
    /// 0: off; 1: head retransmitted, waiting; 2: two new segments sent, waiting.
    counter: u8,
    /// `snd_nxt` at the time-out, or an earlier recovery's end.
    highmark: u64,
    /// The test that is part of the loss state runs (Linux 3.10 on).
    pub in_loss: bool,
}

impl Frto {
    pub fn is_active(&self) -> bool {
        self.counter > 0
    }
    pub fn highmark(&self) -> u64 {
        self.highmark
    }
    pub fn abort(&mut self) {
        self.counter = 0;
    }
}

impl Sender {
    /// A time-out: the head is about to be retransmitted, nothing is declared lost yet.
    pub(super) fn enter_frto(&mut self) {
        let first_of_episode = (!self.frto.is_active() && self.state <= State::Disorder)
            || self.queue.una() == self.high_seq
            || ((self.state == State::Loss || self.frto.is_active()) && self.retransmits == 0);
        if first_of_episode {
            self.prior_ssthresh = self.current_ssthresh();
            // In the test the window is not reduced yet: a second time-out must not take it for an open one.
            let cwnd = self.window.cwnd;
            if self.frto.is_active() {
                self.window.cwnd = 2;
            }
            self.window.ssthresh = self.cc.ssthresh(&self.window);
            self.window.cwnd = cwnd;
        }
        let head_retransmitted = self.board.head().is_some_and(|s| s.tags.any(Tags::EVER_RETRANS));
        self.undo_marker = (!head_retransmitted).then_some(self.queue.una());
        self.undo_retrans = 0;
        self.board.forget_head_retransmission();
        self.window.cwnd = self.window.cwnd.min(self.board.in_flight() + 1);
        let earlier_recovery = self.frto.is_active() || matches!(self.state, State::Recovery | State::Loss);
        self.frto.highmark =
            if earlier_recovery && self.high_seq > self.queue.una() { self.high_seq } else { self.queue.nxt() };
        self.state = State::Disorder;
        self.high_seq = self.queue.nxt();
        self.frto.counter = 1;
    }

    /// An acknowledgment during the test. Returns whether the window must not grow on it.
    pub(super) fn process_frto(&mut self, ack: &Ack) -> bool {
        if ack.data_acked() {
            self.retransmits = 0;
        }
        let waiting_for_first = self.frto.counter == 1;
        if ack.acked.retransmitted_behind_head || (!waiting_for_first && ack.acked.retransmitted) {
            self.undo_marker = None;
        }
        if self.queue.una() >= self.frto.highmark {
            self.enter_frto_loss(if waiting_for_first { 2 } else { 3 }, ack);
            return true;
        }
        if waiting_for_first && !ack.data_acked() {
            // Nothing new is sent until the head's fate is known.
            self.window.cwnd = self.window.cwnd.min(self.board.in_flight());
            return true;
        }
        let retransmission_helped = ack.sacked.new && !ack.sacked.only_original;
        if !waiting_for_first && (!ack.forward_progress() || retransmission_helped) {
            self.enter_frto_loss(3, ack);
            return true;
        }
        if waiting_for_first {
            self.window.cwnd = self.board.in_flight() + 2;
            self.frto.counter = 2;
            if !self.may_send_now() {
                self.enter_frto_loss(2, ack);
            }
            return true;
        }
        // Spurious: the originals arrived. The window is halved over a round trip all the same.
        self.enter_cwr(false);
        self.frto.counter = 0;
        self.undo_marker = None;
        false
    }

    /// The time-out was real: everything outstanding is lost.
    fn enter_frto_loss(&mut self, allowed_segments: u32, ack: &Ack) {
        let head_in_flight = self.frto.counter == 1 && !ack.data_acked();
        if self.board.mark_all_lost(head_in_flight) {
            self.undo_marker = None;
        }
        self.window.cwnd = self.board.in_flight() + allowed_segments;
        self.window.cwnd_cnt = 0;
        self.window.bytes_acked = 0;
        self.frto.counter = 0;
        self.reordering = self.reordering.min(self.stack.reordering);
        self.state = State::Loss;
        self.high_seq = self.queue.nxt();
        self.cwr_pending = true;
        self.cc.timed_out();
    }
}
