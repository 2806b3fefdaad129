//! Early retransmit (RFC 5827) with a delay: with few segments outstanding there cannot be three duplicates.
//!
//! Source: Linux 3.5 to 4.9, `tcp_pause_early_retransmit` and `tcp_resume_early_retransmit`.

use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::stack::Stack;
use crate::{HostTime, Ticks};
use sojourn_aqm::Duration;

/// Early retransmit: whether a loss may be inferred from fewer duplicates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EarlyRetransmit {
    enabled: bool,
}

impl EarlyRetransmit {
    /// As configured in the stack.
    pub fn new(stack: &Stack) -> Self {
        Self { enabled: stack.early_retransmit }
    }

    /// Whether it applies. Reordering on the path switches it off.
    #[inline]
    pub fn applies(&self, reordering_seen: bool) -> bool {
        self.enabled && !reordering_seen
    }

    /// Whether fewer than four segments are outstanding, some SACKed and none retransmitted, and no new data can be
    /// sent (`may_send`).
    pub fn is_possible(&self, board: &Scoreboard, may_send: bool) -> bool {
        let (out, sacked) = (board.packets_out(), board.sacked_out);
        board.retrans_out == 0 && sacked > 0 && out > sacked && out < 4 && !may_send
    }

    /// The delay before it, since the segment may only be late: a quarter of the RTT. `None` with an ECN echo, before
    /// the first RTT sample, or if the timer expires before that anyway, at `expiry`.
    pub fn delay(&self, now: HostTime, ece: bool, rtt: &RoundTrip, expiry: Option<Ticks>) -> Option<Ticks> {
        if ece || !rtt.estimator().is_measured() {
            return None;
        }
        let delay = rtt.estimator().srtt_eighths(2).max(rtt.clock().ticks_at_least_one(MIN_DELAY));
        expiry.is_none_or(|expiry| expiry > now.tick + delay).then_some(delay)
    }
}

/// Minimum delay.
const MIN_DELAY: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;
    use sojourn_aqm::Instant;

    #[test]
    fn it_waits_for_a_quarter_of_the_rtt_if_the_time_out_is_not_sooner() {
        let stack = Stack::find("linux-3.8").expect("a stack");
        let (early, mut rtt) = (EarlyRetransmit::new(stack), RoundTrip::new(stack));
        let now = rtt.clock().now(Instant::from_nanos(1_000_000_000));
        assert_eq!(early.delay(now, false, &rtt, None), None, "nothing is measured");
        rtt.sample(100, 1, 1);
        assert_eq!(early.delay(now, false, &rtt, Some(1_300)), Some(25));
        assert_eq!([early.delay(now, false, &rtt, Some(1_025)), early.delay(now, true, &rtt, None)], [None; 2]);
        let mut rtt = RoundTrip::new(stack);
        rtt.sample(3, 1, 1);
        assert_eq!(early.delay(now, false, &rtt, None), Some(2));
    }

    #[test]
    fn reordering_ends_it() {
        let used = |stack, seen| EarlyRetransmit::new(Stack::find(stack).expect("a stack")).applies(seen);
        assert_eq!([used("linux-3.8", false), used("linux-3.8", true), used("linux-6.1", false)], [true, false, false]);
    }
}
