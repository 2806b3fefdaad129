//! Early retransmit (RFC 5827) with a delay: few segments out cannot cause three duplicates.
//!
//! Source: Linux 3.5 to 4.9, `tcp_pause_early_retransmit` and `tcp_resume_early_retransmit`.

use super::ack::Ack;
use super::sender::Sender;
use super::timer::Timer;
use super::{Ticks, Wire};
use sojourn_aqm::Duration;

impl Sender {
    /// Whether fewer than four segments are out, some SACKed, none retransmitted, and nothing new can be sent.
    pub(super) fn early_retransmit_fits(&self) -> bool {
        let (out, sacked) = (self.board.packets_out(), self.board.sacked_out);
        self.board.retrans_out == 0 && sacked > 0 && out > sacked && out < 4 && !self.may_send_now()
    }

    /// Waits for a quarter of the RTT, since the segment may only be late. Returns whether that is possible.
    pub(super) fn pause_early_retransmit(&mut self, now: Ticks, ack: &Ack) -> bool {
        if ack.ece || !self.rtt.is_measured() {
            return false;
        }
        let delay = self.rtt.srtt_eighths(2).max(self.clock.span(LEAST_DELAY));
        if self.deadline.is_some_and(|expiry| expiry <= now + delay) {
            return false;
        }
        self.set_timer(Timer::EarlyRetransmit, now, delay);
        true
    }

    /// The wait is over: the first hole is a loss.
    #[inline(never)]
    pub(super) fn resume_early_retransmit(&mut self, now: Ticks, wire: &mut impl Wire) {
        self.rearm_after_other_timer(now);
        if !self.early_retransmit || self.board.packets_out() == 0 {
            return;
        }
        self.enter_recovery(false);
        self.update_scoreboard(now, true);
        self.retransmit_lost(now, wire);
    }
}

/// Shortest wait.
const LEAST_DELAY: Duration = Duration::from_millis(2);
