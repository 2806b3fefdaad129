//! Congestion window validation (RFC 7661, RFC 2861): an unused window does not grow, and decays.
//!
//! Source: Linux `tcp_is_cwnd_limited`, `tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`.

use crate::cc::Window;
use crate::round_trip::RoundTrip;
use crate::segmentation::{GSO_MAX_SIZE, WINDOW_DIVISOR};
use crate::stack::{CwndValidation, Stack};
use crate::state::CaState;
use crate::{HostTime, Ticks};
use sojourn_aqm::Instant;

/// Usage of the window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CwndUsage {
    form: CwndValidation,
    initial_window: u32,
    restarts: bool,
    decays: bool,
    validates_every_send: bool,
    /// The sender may defer less than a third of the window (segmentation offload). Such a window counts as used
    /// (`tcp_is_cwnd_limited`), otherwise growth would stop while a burst waits.
    defers: bool,
    /// The flow was cwnd-limited in this round, or in the last one.
    limited: bool,
    /// Maximum flight of a round that was not cwnd-limited.
    max_packets_out: u32,
    /// End of the round.
    round_end: u64,
    /// Maximum flight since `stamp` while the window was not used up.
    cwnd_used: u32,
    /// Tick of the last full use or change of the window.
    stamp: Ticks,
}

impl CwndUsage {
    /// The window was not used yet.
    pub fn new(stack: &Stack) -> Self {
        Self {
            form: stack.validation,
            initial_window: stack.initial_window,
            restarts: stack.idle_restart,
            decays: true,
            validates_every_send: stack.validates_every_send,
            defers: false,
            limited: false,
            max_packets_out: 0,
            round_end: 0,
            cwnd_used: 0,
            stamp: 0,
        }
    }

    /// For a control that sets the window itself: only whether the flow is cwnd-limited is tracked.
    pub fn left_to_control(stack: &Stack) -> Self {
        Self { restarts: false, decays: false, ..Self::new(stack) }
    }

    /// The sender has segmentation offload.
    pub fn may_defer(&mut self) {
        self.defers = true;
    }

    /// The congestion control has checked the window.
    pub fn on_cwnd_checked(&mut self, now: HostTime) {
        self.stamp = now.tick;
    }

    /// Whether the flow was (almost) cwnd-limited before an acknowledgment that found `in_flight` segments, with
    /// `reordering` as the tolerance.
    #[inline(always)]
    pub fn is_limited(&self, window: &Window, in_flight: u32, reordering: u32) -> bool {
        if self.defers && self.form != CwndValidation::Round && is_little(window, in_flight) {
            return true;
        }
        match self.form {
            CwndValidation::InFlight => window.cwnd.saturating_sub(in_flight) <= reordering,
            CwndValidation::NearlyFull => window.cwnd.saturating_sub(in_flight) <= NEARLY_FULL,
            CwndValidation::Round => self.round_was_limited(window),
        }
    }

    /// Whether it runs after every transmission, not only after those that exhaust the application's data.
    #[inline]
    pub fn validates_every_send(&self) -> bool {
        self.validates_every_send
    }

    /// After a transmission, or an attempt: records whether the flow is cwnd-limited. If the application does not use
    /// an open window for a whole time-out, half of the unused part is lost.
    #[inline(always)]
    pub fn after_sending(&mut self, now: HostTime, after: &SendOutcome, rtt: &RoundTrip, window: &mut Window) {
        let &SendOutcome { sent, limited, out, una, nxt, state, is_app_exhausted } = after;
        if !sent && !limited {
            return;
        }
        if una >= self.round_end || limited || (!self.limited && out > self.max_packets_out) {
            (self.limited, self.max_packets_out, self.round_end) = (limited, out, nxt);
        }
        let in_use = match self.form {
            CwndValidation::InFlight | CwndValidation::NearlyFull => out >= window.cwnd,
            CwndValidation::Round => self.round_was_limited(window),
        };
        if in_use {
            (self.cwnd_used, self.stamp) = (0, now.tick);
            return;
        }
        self.cwnd_used = self.cwnd_used.max(out);
        if now.tick.saturating_sub(self.stamp) >= rtt.rto() {
            if self.decays && state == CaState::Open && is_app_exhausted {
                self.decay(window);
            }
            self.stamp = now.tick;
        }
    }

    /// Data is sent into an empty network. RFC 5681 §4.1 and RFC 2861: after an idle time since `last_sent` longer than
    /// the time-out, the window is halved for each time-out.
    #[inline]
    pub fn restart(
        &mut self,
        (now, last_sent): (HostTime, Instant),
        state: CaState,
        rtt: &RoundTrip,
        window: &mut Window,
    ) {
        if self.restarts {
            self.restart_after_idle((now, last_sent), state, rtt, window);
        }
    }

    #[inline(never)]
    fn restart_after_idle(
        &mut self,
        (now, last_sent): (HostTime, Instant),
        state: CaState,
        rtt: &RoundTrip,
        window: &mut Window,
    ) {
        let rto = rtt.rto() as i64;
        let mut idle = now.tick as i64 - rtt.clock().ticks(last_sent) as i64;
        if last_sent == Instant::ZERO || idle <= rto {
            return;
        }
        let floor = self.initial_window.min(window.cwnd);
        window.ssthresh = window.current_ssthresh(state);
        let mut cwnd = window.cwnd;
        idle -= rto;
        while idle > 0 && cwnd > floor {
            cwnd >>= 1;
            idle -= rto;
        }
        window.cwnd = cwnd.max(floor);
        (self.cwnd_used, self.stamp) = (0, now.tick);
    }

    fn round_was_limited(&self, window: &Window) -> bool {
        self.limited || (window.cwnd < window.ssthresh && window.cwnd < 2 * self.max_packets_out)
    }

    /// Half of the unused window is lost.
    fn decay(&mut self, window: &mut Window) {
        let used = self.cwnd_used.max(self.initial_window);
        if used < window.cwnd {
            window.ssthresh = window.current_ssthresh(CaState::Open);
            window.cwnd = (window.cwnd + used) >> 1;
        }
        self.cwnd_used = 0;
    }
}

/// Whether so little of the window is open that a sender with segmentation offload defers (`tcp_is_cwnd_limited` before
/// Linux 3.18).
#[inline(never)]
fn is_little(window: &Window, in_flight: u32) -> bool {
    let left = u64::from(window.cwnd.saturating_sub(in_flight));
    left * WINDOW_DIVISOR < u64::from(window.cwnd) && left * u64::from(window.mss) < GSO_MAX_SIZE
}

/// Outcome of the sender's attempt to send.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SendOutcome {
    /// Something was sent.
    pub sent: bool,
    /// The window kept something from being sent.
    pub limited: bool,
    /// Outstanding segments.
    pub out: u32,
    pub una: u64,
    pub nxt: u64,
    pub state: CaState,
    /// The application has no more data.
    pub is_app_exhausted: bool,
}

/// Linux `tcp_max_tso_deferred_mss`.
const NEARLY_FULL: u32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::GrowthCounting;

    fn parts(stack: &str, cwnd: u32) -> (CwndUsage, RoundTrip, Window) {
        let stack = Stack::find(stack).expect("a stack");
        let mut rtt = RoundTrip::new(stack);
        rtt.sample(rtt.estimator().per_tick() * 100, 1, 1);
        let window =
            Window { cwnd, ssthresh: 50, cwnd_cnt: 0, bytes_acked: 0, mss: 1000, counting: GrowthCounting::Packets };
        (CwndUsage::new(stack), rtt, window)
    }

    fn at(ms: u64) -> HostTime {
        crate::Clock::new(sojourn_aqm::Duration::from_millis(1)).now(Instant::from_nanos(ms * 1_000_000))
    }

    #[test]
    fn a_pause_halves_the_window_for_each_time_out_down_to_the_initial_one() {
        // The time-out is 300 ms.
        for (idle_ms, cwnd) in [(300, 40), (301, 20), (601, 10), (5_000, 10)] {
            let (mut usage, rtt, mut window) = parts("linux-3.8", 40);
            usage.restart((at(1_000 + idle_ms), at(1_000).at), CaState::Open, &rtt, &mut window);
            assert_eq!(window.cwnd, cwnd, "{idle_ms} ms");
        }
        let (mut usage, rtt, mut window) = parts("ns2", 40);
        usage.restart((at(90_000), at(1_000).at), CaState::Open, &rtt, &mut window);
        assert_eq!(window.cwnd, 40, "ns-2 does not");
    }

    #[test]
    fn what_an_application_does_not_use_decays_after_a_time_out() {
        let (mut usage, rtt, mut window) = parts("linux-6.1", 40);
        let after = SendOutcome {
            sent: true,
            limited: false,
            out: 4,
            una: 1,
            nxt: 9,
            state: CaState::Open,
            is_app_exhausted: true,
        };
        usage.on_cwnd_checked(at(1_000));
        usage.after_sending(at(1_299), &after, &rtt, &mut window);
        assert_eq!(window.cwnd, 40);
        usage.after_sending(at(1_300), &SendOutcome { is_app_exhausted: false, ..after }, &rtt, &mut window);
        assert_eq!(window.cwnd, 40, "it was not the application");
        usage.after_sending(at(1_600), &after, &rtt, &mut window);
        assert_eq!(window.cwnd, 25, "half of what is above the initial ten");
    }

    #[test]
    fn a_window_counts_as_used_by_the_rule_of_the_stack() {
        let limited = |stack, in_flight, reordering| {
            let (usage, _, window) = parts(stack, 20);
            usage.is_limited(&window, in_flight, reordering)
        };
        assert_eq!([limited("linux-2.6.29", 15, 4), limited("linux-2.6.29", 15, 5)], [false, true]);
        assert_eq!([limited("linux-3.8", 16, 5), limited("linux-3.8", 17, 0)], [false, true]);
        let (mut usage, rtt, mut window) = parts("linux-6.1", 20);
        let mut after = SendOutcome {
            sent: true,
            limited: true,
            out: 20,
            una: 1,
            nxt: 9,
            state: CaState::Open,
            is_app_exhausted: false,
        };
        usage.after_sending(at(1_000), &after, &rtt, &mut window);
        assert!(usage.is_limited(&window, 0, 0), "in this round");
        after = SendOutcome { limited: false, out: 9, una: 9, nxt: 20, ..after };
        usage.after_sending(at(1_100), &after, &rtt, &mut window);
        assert!(!usage.is_limited(&window, 0, 0), "nine of twenty in the next");
    }
}
