//! Shaper of all tins (`cake_advance_shaper`): it schedules departure times instead of filling a token bucket, so that
//! idle time is not saved up.

use super::tin::Tin;
use crate::cobalt::rate::ScaledRate;
use crate::time::{Duration, Instant};

/// Time of the next departure.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    pub rate: ScaledRate,
    /// By all charged bytes.
    next: Instant,
    /// By sent bytes only, at 2/3 of the rate: charged drops cannot stop the link.
    failsafe: Instant,
}

impl Shaper {
    pub fn new(rate: ScaledRate) -> Self {
        Self { rate, next: Instant::ZERO, failsafe: Instant::ZERO }
    }

    /// Time of the next departure, if it is in the future.
    #[inline]
    pub fn not_before(&self, now: Instant) -> Option<Instant> {
        (self.next > now && self.failsafe > now).then(|| self.next.min(self.failsafe))
    }

    /// Restarts the schedules for an arrival at an idle `tin`, or at an empty queue.
    #[inline]
    pub fn refresh(&mut self, tin: &mut Tin, is_empty: bool, now: Instant) {
        if tin.backlog == 0 {
            tin.next = tin.next.max(now);
            if is_empty && self.next < now {
                (self.next, self.failsafe) = (now, now);
            }
        }
    }

    /// Charges `bytes` on the wire to `tin` and to the whole; `dropped` if they are not sent.
    #[inline]
    pub fn charge(&mut self, tin: &mut Tin, bytes: u32, now: Instant, dropped: bool) {
        if !self.rate.is_limited() {
            return;
        }
        let own = Duration::from_nanos(tin.rate.time_for(bytes as u64));
        let all = self.rate.time_for(bytes as u64);
        // A late tin catches up; otherwise its schedule is at most one packet ahead of now.
        if tin.next < now {
            tin.next += own;
        } else if tin.next < now + own {
            tin.next = now + own;
        }
        self.next += Duration::from_nanos(all);
        if !dropped {
            self.failsafe += Duration::from_nanos(all + (all >> 1));
        }
    }
}
