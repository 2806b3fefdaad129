//! Proportional rate reduction (RFC 6937): what may be sent in recovery follows what was delivered.
//!
//! Source: Linux `tcp_init_cwnd_reduction`, `tcp_cwnd_reduction`, in its two forms.

use super::ack::Ack;
use super::cc::{CongestionControl, Window};
use super::sender::{Sender, State};
use super::stack::Reduction;

/// State of a reduction. All in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// The window before the reduction (RecoverFS).
    pub prior_cwnd: u32,
    /// Delivered since its start.
    delivered: u32,
    /// Sent since its start.
    pub out: u32,
}

impl Prr {
    /// How much may be sent on an acknowledgment that delivered `acked` segments.
    fn allowance(&mut self, ssthresh: u32, in_flight: u32, acked: u32, bound: Bound) -> u32 {
        self.delivered += acked;
        let sent = if in_flight > ssthresh {
            let share = (ssthresh as u64 * self.delivered as u64).div_ceil(self.prior_cwnd.max(1) as u64);
            share as i64 - self.out as i64
        } else {
            let bank = self.delivered as i64 - self.out as i64;
            let extra = (bound == Bound::SlowStart) as i64;
            (bank.max(acked as i64) + extra).min(ssthresh as i64 - in_flight as i64)
        };
        sent.max(0) as u32
    }
}

/// RFC 6937 §3: how fast the flight grows back to the threshold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bound {
    /// As much as was delivered.
    Conservation,
    /// One segment more (SSRB).
    SlowStart,
}

impl Sender {
    /// Starts a reduction: threshold, and CWR to be announced.
    pub(super) fn init_reduction(&mut self, set_ssthresh: bool) {
        self.high_seq = self.queue.nxt();
        self.probe.forget();
        self.window.cwnd_cnt = 0;
        self.prr = Prr { prior_cwnd: self.window.cwnd, delivered: 0, out: 0 };
        if set_ssthresh {
            self.window.ssthresh = self.cc.ssthresh(&self.window);
        }
        self.cwr_pending = true;
    }

    /// A step of the reduction; `lost` segments were newly marked, `first` asks for the first fast retransmission.
    pub(super) fn reduce(&mut self, ack: &Ack, lost: u32, first: bool) {
        let careful = self.stack.reduction == Reduction::CarefulPrr;
        if careful && ack.delivered == 0 {
            return;
        }
        let bound = if !careful || (ack.advanced && lost == 0) { Bound::SlowStart } else { Bound::Conservation };
        let in_flight = self.board.in_flight();
        let allowance = self.prr.allowance(self.window.ssthresh, in_flight, ack.delivered, bound);
        // The first retransmission goes out whatever the arithmetic says.
        let least = if careful { self.prr.out == 0 } else { first } as u32;
        self.window.cwnd = in_flight + allowance.max(least);
    }

    /// The reduction is over: the window is the threshold, unless it was undone.
    pub(super) fn end_reduction(&mut self) {
        let reduced = self.state == State::Cwr || self.undo_marker.is_some();
        if reduced && self.window.ssthresh < Window::INFINITE_SSTHRESH {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    /// Counts segments that go out while a reduction runs.
    #[inline]
    pub(super) fn count_for_prr(&mut self, sent: u32) {
        if matches!(self.state, State::Recovery | State::Cwr) {
            self.prr.out += sent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `acks` of one segment each; what is allowed is sent at once.
    fn run(prr: &mut Prr, ssthresh: u32, mut in_flight: u32, acks: usize, bound: Bound) -> Vec<u32> {
        let step = |_| {
            in_flight -= 1;
            let allowed = prr.allowance(ssthresh, in_flight, 1, bound);
            prr.out += allowed;
            in_flight += allowed;
            allowed
        };
        (0..acks).map(step).collect()
    }

    #[test]
    fn above_the_threshold_the_share_is_proportional() {
        // Twenty in flight, ten allowed: every second acknowledgment sends one, rounded up (RFC 6937 §3).
        let mut prr = Prr { prior_cwnd: 20, ..Prr::default() };
        assert_eq!(run(&mut prr, 10, 20, 8, Bound::SlowStart), [1, 0, 1, 0, 1, 0, 1, 0]);
        // CUBIC's 0.7: seven of ten.
        let mut prr = Prr { prior_cwnd: 20, ..Prr::default() };
        assert_eq!(run(&mut prr, 14, 20, 10, Bound::SlowStart).iter().sum::<u32>(), 7);
    }

    #[test]
    fn below_the_threshold_slow_start_adds_one_and_conservation_does_not() {
        let prr = Prr { prior_cwnd: 20, ..Prr::default() };
        assert_eq!(run(&mut prr.clone(), 10, 4, 9, Bound::SlowStart), [2, 2, 2, 2, 2, 2, 1, 1, 1]);
        assert_eq!(run(&mut prr.clone(), 10, 4, 9, Bound::Conservation), [1; 9]);
    }

    #[test]
    fn what_was_not_sent_in_time_is_banked() {
        // Five were delivered while nothing could be sent: they may follow at once.
        let mut prr = Prr { prior_cwnd: 20, delivered: 5, out: 0 };
        assert_eq!(prr.allowance(10, 3, 1, Bound::Conservation), 6);
    }
}
