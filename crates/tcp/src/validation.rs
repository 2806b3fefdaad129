//! Congestion window validation (RFC 7661, RFC 2861): a window that was not used does not grow, and decays.
//!
//! Source: Linux `tcp_is_cwnd_limited`, `tcp_cwnd_validate`, `tcp_cwnd_application_limited`, `tcp_cwnd_restart`.

use super::Ticks;
use super::sender::{Sender, State};
use super::stack::Validation;
use sojourn_aqm::Instant;

/// How far the window was used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The window was full in this round, or the last one.
    limited: bool,
    /// Largest flight of a round that was not limited.
    max_packets_out: u32,
    /// Where the round ends.
    round_end: u64,
    /// Largest flight since `stamp` while the window was not used.
    used: u32,
    /// Tick at which the window was last used, or changed.
    stamp: Ticks,
}

impl Usage {
    /// The congestion control looked at the window.
    pub fn touched(&mut self, now: Ticks) {
        self.stamp = now;
    }
}

impl Sender {
    /// Whether the window was (almost) used before an acknowledgment that found `in_flight` segments.
    #[inline(always)]
    pub(super) fn is_cwnd_limited(&self, in_flight: u32) -> bool {
        if self.is_plain {
            return self.window.cwnd.saturating_sub(in_flight) <= self.reordering;
        }
        match self.stack.validation {
            Validation::InFlight => self.window.cwnd.saturating_sub(in_flight) <= self.reordering,
            Validation::NearlyFull => self.window.cwnd.saturating_sub(in_flight) <= NEARLY_FULL,
            Validation::Round => self.round_was_limited(),
        }
    }

    /// After something was sent, or could not be: remembers whether the window was the reason.
    pub(super) fn validate_window(&mut self, now: Ticks, sent: bool, limited: bool) {
        let out = self.board.packets_out();
        if !sent && !limited {
            return;
        }
        let usage = &mut self.usage;
        if self.queue.una() >= usage.round_end || limited || (!usage.limited && out > usage.max_packets_out) {
            (usage.limited, usage.max_packets_out, usage.round_end) = (limited, out, self.queue.nxt());
        }
        let in_use = match self.stack.validation {
            Validation::InFlight | Validation::NearlyFull => out >= self.window.cwnd,
            Validation::Round => self.round_was_limited(),
        };
        if in_use {
            (self.usage.used, self.usage.stamp) = (0, now);
        } else {
            self.usage.used = self.usage.used.max(out);
            if now.saturating_sub(self.usage.stamp) >= self.rtt.rto() {
                self.decay_unused_window(now);
            }
        }
    }

    /// RFC 5681 §4.1 and RFC 2861: after a pause longer than the time-out the window is halved for each of them.
    #[inline(never)]
    pub(super) fn restart_after_idle(&mut self, now: Ticks) {
        let rto = self.rtt.rto() as i64;
        let mut idle = now as i64 - self.clock.ticks(self.last_sent) as i64;
        if self.last_sent == Instant::ZERO || idle <= rto {
            return;
        }
        let floor = self.stack.initial_window.min(self.window.cwnd);
        self.window.ssthresh = self.current_ssthresh();
        let mut cwnd = self.window.cwnd;
        idle -= rto;
        while idle > 0 && cwnd > floor {
            cwnd >>= 1;
            idle -= rto;
        }
        self.window.cwnd = cwnd.max(floor);
        (self.usage.used, self.usage.stamp) = (0, now);
    }

    fn round_was_limited(&self) -> bool {
        self.usage.limited
            || (self.window.cwnd < self.window.ssthresh && self.window.cwnd < 2 * self.usage.max_packets_out)
    }

    /// The application did not use the window for a whole time-out: half of what it left unused goes.
    fn decay_unused_window(&mut self, now: Ticks) {
        if self.state == State::Open && self.queue.is_dry() {
            let used = self.usage.used.max(self.stack.initial_window);
            if used < self.window.cwnd {
                self.window.ssthresh = self.current_ssthresh();
                self.window.cwnd = (self.window.cwnd + used) >> 1;
            }
            self.usage.used = 0;
        }
        self.usage.stamp = now;
    }
}

/// Linux `tcp_max_tso_deferred_mss`.
const NEARLY_FULL: u32 = 3;
