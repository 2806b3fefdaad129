//! The sender's one timer: the retransmission time-out, and what else it is set for in between.
//!
//! Source: Linux `tcp_timer.c`, `tcp_rearm_rto`, `tcp_rto_delta_us`.

use super::cc::CongestionControl;
use super::scoreboard::Segment;
use super::sender::Sender;
use super::stack::Machine;
use super::{Ticks, Wire};

/// What the sender's one timer is set for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timer {
    /// The retransmission time-out.
    Retransmit,
    /// The end of early retransmit's delay.
    EarlyRetransmit,
    /// A tail loss probe.
    LossProbe,
    /// The end of RACK's reordering window.
    Reordering,
}

impl Sender {
    /// Starts the retransmission timer anew.
    #[inline]
    pub(super) fn rearm(&mut self, now: Ticks) {
        self.set_timer(Timer::Retransmit, now, self.rtt.rto());
    }

    /// Sets the timer to expire in `ticks`.
    #[inline]
    pub(super) fn set_timer(&mut self, timer: Timer, now: Ticks, ticks: u32) {
        self.timer = timer;
        self.deadline = Some(if self.is_plain { now + ticks } else { self.stack.expiry(now, ticks) });
    }

    /// Ticks until the time-out of the oldest segment, begun ones included; zero if it is due.
    pub(super) fn rto_left(&self, now: Ticks) -> u32 {
        let Some(head) = self.board.head() else { return 0 };
        let (unit, rto) = (self.stack.rtt_unit, self.clock.instant(self.rtt.rto()).as_nanos());
        let due = head.sent.as_nanos() / unit.as_nanos() as u64 * unit.as_nanos() as u64 + rto;
        let tick = self.stack.tick.as_nanos() as u64;
        let at = if unit == self.stack.tick { self.clock.instant(now).as_nanos() } else { self.at.as_nanos() };
        due.saturating_sub(at).div_ceil(tick) as u32
    }

    /// Back from another use of the timer to the time-out, which has been running all the time.
    pub(super) fn rearm_after_other_timer(&mut self, now: Ticks) {
        if self.board.packets_out() == 0 {
            self.deadline = None;
        } else if matches!(self.timer, Timer::Retransmit) {
            self.rearm(now);
        } else {
            self.set_timer(Timer::Retransmit, now, self.rto_left(now).max(1));
        }
    }

    /// New data starts the time-out when nothing was out, and takes the timer back from a probe or an early
    /// retransmission.
    #[inline(never)]
    pub(super) fn rearm_for_new(&mut self, now: Ticks) {
        if self.board.packets_out() == 0 {
            self.rearm(now);
            self.cc.restarted(self.at, self.last_sent);
        } else if self.timer != Timer::Reordering {
            self.rearm_after_other_timer(now);
        }
    }

    /// Whether the oldest segment has been out for longer than the time-out.
    pub(super) fn head_timed_out(&self, now: Ticks) -> bool {
        self.board.head().is_some_and(|head| self.timed_out(head, now))
    }

    pub(super) fn timed_out(&self, segment: &Segment, now: Ticks) -> bool {
        // As ticks(sent) < now - rto, without the division.
        segment.sent < self.clock.instant(now.saturating_sub(self.rtt.rto()))
    }

    #[inline(never)]
    pub(super) fn on_retransmission_timeout(&mut self, now: Ticks, wire: &mut impl Wire) {
        if self.board.packets_out() == 0 {
            self.deadline = None;
            return;
        }
        self.stats.timeouts += 1;
        match self.stack.machine {
            Machine::Linux3_10 => self.enter_loss_3_10(),
            Machine::Linux2_6 | Machine::Ns2 if self.stack.frto && self.sack => self.enter_frto(),
            Machine::Linux2_6 | Machine::Ns2 => self.enter_loss(),
        }
        self.retransmit(0, now, wire);
        self.retransmits += 1;
        self.rtt.back_off();
        self.rearm(now);
    }
}
