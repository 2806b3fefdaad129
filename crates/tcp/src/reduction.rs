//! Window reduction: proportional rate reduction (RFC 6937), which sends in recovery in proportion to deliveries, or
//! rate halving, one segment less per two acknowledgments.
//!
//! Source: Linux `tcp_init_cwnd_reduction`, `tcp_cwnd_reduction` in its two forms; Linux 2.6.29 `tcp_cwnd_down`.

use crate::ack::AckInfo;
use crate::cc::Window;
use crate::control::Control;
use crate::scoreboard::Scoreboard;
use crate::stack::{self, Stack};

/// A reduction in progress. All in segments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reduction {
    form: stack::WindowReduction,
    /// The window before the reduction (RecoverFS).
    prior_cwnd: u32,
    /// Delivered since the start.
    delivered: u32,
    /// Sent since the start.
    sent: u32,
}

impl Reduction {
    /// No reduction in progress.
    pub fn new(stack: &Stack) -> Self {
        Self { form: stack.reduction, prior_cwnd: 0, delivered: 0, sent: 0 }
    }

    /// Begins a reduction of the window.
    pub fn begin(&mut self, window: &mut Window) {
        window.cwnd_cnt = 0;
        *self = Self { form: self.form, prior_cwnd: window.cwnd, delivered: 0, sent: 0 };
    }

    /// Rate halving on a congestion mark: limits the window to the segments in flight at once.
    pub fn begin_on_mark(&self, window: &mut Window, in_flight: u32) {
        if self.form == stack::WindowReduction::RateHalving {
            window.cwnd = window.cwnd.min(in_flight + 1);
        }
    }

    /// Whether recovery begins a reduction even if a mark has begun one (rate halving).
    pub fn starts_anew(&self) -> bool {
        self.form == stack::WindowReduction::RateHalving
    }

    /// The window before the reduction.
    pub fn prior_cwnd(&self) -> u32 {
        self.prior_cwnd
    }

    /// Records the window at a time-out.
    pub fn set_prior_cwnd(&mut self, cwnd: u32) {
        self.prior_cwnd = cwnd;
    }

    /// `segments` were sent during the reduction.
    #[inline]
    pub fn on_sent(&mut self, segments: u32) {
        self.sent += segments;
    }

    /// A step of the reduction. `lost` segments were newly marked; `first` requests the first fast retransmission.
    #[inline(always)]
    pub fn step(&mut self, ack: &AckInfo, (lost, first): (u32, bool), control: &mut Control, board: &Scoreboard) {
        if self.form == stack::WindowReduction::RateHalving {
            return halve(ack, control, board);
        }
        self.step_in_proportion(ack, (lost, first), control, board);
    }

    #[inline(never)]
    fn step_in_proportion(
        &mut self,
        ack: &AckInfo,
        (lost, first): (u32, bool),
        control: &mut Control,
        board: &Scoreboard,
    ) {
        let careful = self.form == stack::WindowReduction::CarefulPrr;
        if careful && ack.delivered == 0 {
            return;
        }
        // 6.1: the slow-start bound requires that SND.UNA moved and no new loss; a delivered retransmission is not
        // enough.
        let bound = if !careful || (ack.advanced && lost == 0) {
            ReductionBound::SlowStart
        } else {
            ReductionBound::Conservation
        };
        let in_flight = board.in_flight();
        let allowance = self.allowance(control.window.ssthresh, in_flight, ack.delivered, bound);
        // The first retransmission is always sent.
        let min_allowance = if careful { self.sent == 0 } else { first } as u32;
        control.window.cwnd = in_flight + allowance.max(min_allowance);
    }

    /// Ends the reduction: the window is set to the threshold, unless the reduction was `undone`.
    pub fn end(&self, undone: bool, window: &mut Window) {
        if self.form == stack::WindowReduction::RateHalving {
            window.cwnd = window.cwnd.min(window.ssthresh);
        } else if !undone && window.ssthresh < Window::INFINITE_SSTHRESH {
            window.cwnd = window.ssthresh;
        }
    }

    /// Segments that may be sent on an acknowledgment that delivered `acked` segments.
    fn allowance(&mut self, ssthresh: u32, in_flight: u32, acked: u32, bound: ReductionBound) -> u32 {
        self.delivered += acked;
        let sent = if in_flight > ssthresh {
            let share = (ssthresh as u64 * self.delivered as u64).div_ceil(self.prior_cwnd.max(1) as u64);
            share as i64 - self.sent as i64
        } else {
            let bank = self.delivered as i64 - self.sent as i64;
            let extra = (bound == ReductionBound::SlowStart) as i64;
            (bank.max(acked as i64) + extra).min(ssthresh as i64 - in_flight as i64)
        };
        sent.max(0) as u32
    }
}

/// Rate halving: one segment less per two acknowledgments.
#[inline(always)]
fn halve(ack: &AckInfo, control: &mut Control, board: &Scoreboard) {
    if !(ack.any_progress() || ack.sacked.duplicate || (board.is_reno() && ack.is_duplicate())) {
        return;
    }
    let Control { cc, window, .. } = control;
    let decrement = window.cwnd_cnt + 1;
    window.cwnd_cnt = decrement & 1;
    if decrement > 1 && window.cwnd > cc.min_cwnd(window) {
        window.cwnd -= decrement >> 1;
    }
    window.cwnd = window.cwnd.min(board.in_flight() + 1);
}

/// RFC 6937 §3: reduction bounds, which limit how fast the flight grows back to the threshold.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReductionBound {
    /// As many as were delivered.
    Conservation,
    /// One segment more (PRR-SSRB).
    SlowStart,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::AnyCc;
    use crate::segment::Segment;
    use sojourn_aqm::Instant;

    /// A reduction of a window of `cwnd`.
    fn reducing_from(cwnd: u32) -> Reduction {
        Reduction { form: stack::WindowReduction::Prr, prior_cwnd: cwnd, delivered: 0, sent: 0 }
    }

    /// Runs `acks` acknowledgments of one segment each; the allowance is sent at once.
    fn run(prr: &mut Reduction, ssthresh: u32, mut in_flight: u32, acks: usize, bound: ReductionBound) -> Vec<u32> {
        let step = |_| {
            in_flight -= 1;
            let allowed = prr.allowance(ssthresh, in_flight, 1, bound);
            prr.sent += allowed;
            in_flight += allowed;
            allowed
        };
        (0..acks).map(step).collect()
    }

    #[test]
    fn above_the_threshold_the_share_is_proportional() {
        // Twenty in flight, ten allowed: every second acknowledgment sends one, rounded up (RFC 6937 §3).
        let mut prr = reducing_from(20);
        assert_eq!(run(&mut prr, 10, 20, 8, ReductionBound::SlowStart), [1, 0, 1, 0, 1, 0, 1, 0]);
        // CUBIC's 0.7: seven of ten.
        let mut prr = reducing_from(20);
        assert_eq!(run(&mut prr, 14, 20, 10, ReductionBound::SlowStart).iter().sum::<u32>(), 7);
    }

    #[test]
    fn below_the_threshold_slow_start_adds_one_and_conservation_does_not() {
        let prr = reducing_from(20);
        assert_eq!(run(&mut prr.clone(), 10, 4, 9, ReductionBound::SlowStart), [2, 2, 2, 2, 2, 2, 1, 1, 1]);
        assert_eq!(run(&mut prr.clone(), 10, 4, 9, ReductionBound::Conservation), [1; 9]);
    }

    #[test]
    fn what_was_not_sent_in_time_is_banked() {
        // Five were delivered while nothing could be sent: five may follow at once.
        let mut prr = Reduction { delivered: 5, ..reducing_from(20) };
        assert_eq!(prr.allowance(10, 3, 1, ReductionBound::Conservation), 6);
    }

    #[test]
    fn rate_halving_takes_one_for_every_second_acknowledgment_down_to_the_control_s_least() {
        let stack = Stack::find("linux-2.6.29").expect("a stack");
        let mut control = Control::new(stack, AnyCc::new("reno").expect("a control"), 8, 1000, 4);
        let mut board = Scoreboard::new(true);
        for n in 0..8 {
            let (seq, sent) = (1000 * n, Instant::ZERO);
            board.push(Segment::new(seq, 1000, false, sent));
        }
        let mut reduction = Reduction::new(stack);
        reduction.begin(&mut control.window);
        let ack = AckInfo { advanced: true, ..AckInfo::default() };
        let mut step = |_| {
            reduction.step(&ack, (0, false), &mut control, &board);
            control.window.cwnd
        };
        assert_eq!([(); 16].map(&mut step), [8, 7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 2, 2, 2], "half the threshold");
        reduction.step(&AckInfo::default(), (0, false), &mut control, &Scoreboard::new(true));
        assert_eq!(control.window.cwnd, 2, "a duplicate that tells of nothing is no step");
    }

    #[test]
    fn it_ends_at_the_threshold_unless_undone() {
        let end = |form, cwnd, undone| {
            let stack = Stack::find("linux-3.8").expect("a stack");
            let mut control = Control::new(stack, AnyCc::new("reno").expect("a control"), cwnd, 1000, 10);
            Reduction { form, ..reducing_from(20) }.end(undone, &mut control.window);
            control.window.cwnd
        };
        let (halving, prr) = (stack::WindowReduction::RateHalving, stack::WindowReduction::Prr);
        assert_eq!([end(prr, 4, false), end(prr, 4, true), end(prr, 14, true)], [10, 4, 14]);
        assert_eq!([end(halving, 4, false), end(halving, 14, false)], [4, 10]);
    }
}
