//! The shaper of all tins (`cake_advance_shaper`): times at which packets may go, never a bucket of tokens, so that idle
//! time is not saved up.

use super::tin::Tin;
use crate::cobalt::rate::ScaledRate;
use crate::time::{Duration, Instant};

/// When the next packet may go.
#[derive(Clone, Debug)]
pub(super) struct Shaper {
    pub rate: ScaledRate,
    /// By all that was charged.
    next: Instant,
    /// By what was sent alone, at two thirds of the rate: drops that are charged cannot stop the link.
    failsafe: Instant,
}

impl Shaper {
    pub fn new(rate: ScaledRate) -> Self {
        Self { rate, next: Instant::ZERO, failsafe: Instant::ZERO }
    }

    /// When the next packet may go, if that is not now.
    #[inline]
    pub fn not_before(&self, now: Instant) -> Option<Instant> {
        (self.next > now && self.failsafe > now).then(|| self.next.min(self.failsafe))
    }

    /// A packet comes to a `tin` that may have been idle, or into a queue that is empty.
    #[inline]
    pub fn refresh(&mut self, tin: &mut Tin, is_empty: bool, now: Instant) {
        if tin.backlog == 0 {
            tin.next = tin.next.max(now);
            if is_empty && self.next < now {
                (self.next, self.failsafe) = (now, now);
            }
        }
    }

    /// Charges `bytes` on the wire to `tin` and to all; `dropped` says that they are not sent.
    #[inline]
    pub fn charge(&mut self, tin: &mut Tin, bytes: u32, now: Instant, dropped: bool) {
        if !self.rate.is_limited() {
            return;
        }
        let own = Duration::from_nanos(tin.rate.time_for(bytes as u64));
        let all = self.rate.time_for(bytes as u64);
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
