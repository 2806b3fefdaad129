//! The sender's only timer: the retransmission time-out, and its temporary other purposes.
//!
//! Source: Linux `tcp_timer.c`, `tcp_rearm_rto`.

use crate::round_trip::RoundTrip;
use crate::stack::{Stack, on_wheel};
use crate::{Clock, HostTime, Ticks};
use sojourn_aqm::{Duration, Instant};

/// Purpose of a sender's timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimerPurpose {
    /// The retransmission time-out.
    Retransmit,
    /// End of early retransmit's delay.
    EarlyRetransmit,
    /// A tail loss probe.
    LossProbe,
    /// End of RACK's reordering window.
    Reordering,
}

/// The timer.
#[derive(Clone, Debug)]
pub(crate) struct RetransmitTimer {
    wheel: bool,
    /// The clock, if the timer expires as long after the beginning of a tick as it was set after one.
    exact: Option<Clock>,
    /// Tick of its expiry; with `exact` the expiry is within it.
    expiry: Option<Ticks>,
    /// Time from the beginning of that tick.
    phase: Duration,
    purpose: TimerPurpose,
    /// It is to be set after the new data of the current acknowledgment, which sets it, too.
    is_postponed: bool,
}

impl RetransmitTimer {
    /// A timer that is not set.
    pub fn new(stack: &Stack) -> Self {
        let exact = stack.exact_timers.then(|| stack.clock());
        Self {
            wheel: stack.timer_wheel,
            exact,
            expiry: None,
            phase: Duration::ZERO,
            purpose: TimerPurpose::Retransmit,
            is_postponed: false,
        }
    }

    /// Sets it to expire in `ticks`.
    #[inline(always)]
    pub fn set(&mut self, purpose: TimerPurpose, now: HostTime, ticks: Ticks) {
        (self.purpose, self.is_postponed) = (purpose, false);
        if let Some(clock) = self.exact {
            self.phase = now.at - clock.instant(now.tick);
        }
        self.expiry = Some(if self.wheel { on_wheel(now.tick, ticks) } else { now.tick + ticks });
    }

    /// Restarts the retransmission time-out.
    #[inline(always)]
    pub fn restart(&mut self, now: HostTime, rtt: &RoundTrip) {
        self.set(TimerPurpose::Retransmit, now, rtt.rto());
    }

    /// Returns from another purpose to the time-out, which has been running all the time for the oldest segment, sent
    /// at `head`.
    pub fn resume(&mut self, now: HostTime, head: Option<Instant>, rtt: &RoundTrip) {
        match head {
            None => self.stop(),
            Some(_) if self.purpose == TimerPurpose::Retransmit => self.restart(now, rtt),
            Some(sent) => self.set(TimerPurpose::Retransmit, now, rtt.time_out_left(now, sent).max(1)),
        }
    }

    /// Postpones setting it until the new data of an acknowledgment is sent.
    #[inline(always)]
    pub fn postpone(&mut self) {
        self.is_postponed = true;
    }

    /// Whether new data takes it back from another purpose than the time-out.
    #[inline(always)]
    pub fn is_taken_back(&self) -> bool {
        self.purpose != TimerPurpose::Retransmit && !self.is_postponed
    }

    /// Whether it was postponed and no new data has set it since.
    #[inline(always)]
    pub fn take_postponed(&mut self) -> bool {
        std::mem::take(&mut self.is_postponed)
    }

    /// Stops it.
    pub fn stop(&mut self) {
        self.expiry = None;
    }

    /// Its last purpose.
    #[inline]
    pub fn purpose(&self) -> TimerPurpose {
        self.purpose
    }

    /// Tick of its expiry, if set.
    pub fn expiry(&self) -> Option<Ticks> {
        self.expiry
    }

    /// Whether it has expired.
    pub fn is_due(&self, now: HostTime) -> bool {
        match self.exact {
            Some(clock) => self.deadline(clock) <= now.at,
            None => self.expiry.is_some_and(|tick| tick <= now.tick),
        }
    }

    /// When it expires; `NEVER` if it is not set.
    #[inline]
    pub fn deadline(&self, clock: Clock) -> Instant {
        self.expiry.map_or(Instant::NEVER, |tick| clock.instant(tick) + self.phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> HostTime {
        Clock::new(sojourn_aqm::Duration::from_millis(1)).now(Instant::from_nanos(ms * 1_000_000))
    }

    #[test]
    fn the_time_out_runs_on_while_the_timer_is_used_for_something_else() {
        let stack = Stack::find("linux-3.8").expect("a stack");
        let (mut timer, mut rtt) = (RetransmitTimer::new(stack), RoundTrip::new(stack));
        rtt.sample(100, 1, 1001);
        let head = Some(at(10).at);
        timer.restart(at(10), &rtt);
        assert_eq!((timer.expiry(), timer.is_due(at(309)), timer.is_due(at(310))), (Some(310), false, true));
        timer.set(TimerPurpose::LossProbe, at(20), 50);
        timer.resume(at(70), head, &rtt);
        assert_eq!(
            (timer.purpose(), timer.expiry()),
            (TimerPurpose::Retransmit, Some(310)),
            "since the oldest was sent"
        );
        timer.set(TimerPurpose::Reordering, at(305), 50);
        timer.resume(at(355), head, &rtt);
        assert_eq!(timer.expiry(), Some(356), "it is due, but not in the past");
        timer.resume(at(355), None, &rtt);
        assert_eq!(timer.deadline(stack.clock()), Instant::NEVER, "nothing is out");
    }
}
