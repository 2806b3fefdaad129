//! Delayed acknowledgments of in-order data: quick acknowledgments at first, then a delay that adapts to the arrivals.
//!
//! Source: Linux `tcp_event_data_recv`, `tcp_send_delayed_ack`, `tcp_enter_quickack_mode`, `tcp_delack_timer_handler`.

use crate::stack::Stack;
use crate::{Clock, Ticks};
use sojourn_aqm::Instant;

/// State of delayed acknowledgments: one cache line of the receiver.
#[repr(C)]
#[derive(Clone, Debug)]
pub(super) struct DelayedAck {
    stack: &'static Stack,
    /// Number of quick acknowledgments left.
    quick: u32,
    /// Acknowledgments are delayed at all.
    enabled: bool,
    /// Minimum delay, in ticks.
    min: Ticks,
    /// … and maximum, once the RTT is known.
    max: Ticks,
    /// The delay, adapted to the arrivals; zero before the first data.
    ato: Ticks,
    last_data: Ticks,
    /// Due tick of a pending acknowledgment; [`NO_ACK_PENDING`] if none is.
    due: Ticks,
    /// … and the expiry of its timer.
    expiry: Ticks,
}

impl DelayedAck {
    /// As configured in the stack; unless `enabled`, every segment is acknowledged at once.
    pub fn new(stack: &'static Stack, enabled: bool) -> Self {
        let (on, min) = (enabled && !stack.acks_every_segment, stack.clock().ticks_at_least_one(stack.ato_min));
        Self { stack, enabled: on, min, max: min, ato: 0, last_data: 0, quick: 0, due: NO_ACK_PENDING, expiry: 0 }
    }

    /// Sets the maximum delay to the RTT, in ticks, but no less than the minimum.
    pub fn set_max(&mut self, rtt: Ticks) {
        self.max = self.min.max(rtt);
    }

    /// Whether the next acknowledgment is sent at once.
    #[inline(always)]
    pub fn is_quick(&self) -> bool {
        !self.enabled || self.quick > 0
    }

    /// Whether an acknowledgment is pending.
    #[inline(always)]
    pub fn is_pending(&self) -> bool {
        self.due != NO_ACK_PENDING
    }

    /// When a pending acknowledgment is to be sent.
    #[inline]
    pub fn deadline(&self, clock: Clock) -> Instant {
        if self.is_pending() { clock.instant(self.expiry) } else { Instant::NEVER }
    }

    /// When the timer set last expires, or has expired; sending an acknowledgment does not stop it.
    pub fn timer(&self, clock: Clock) -> Instant {
        clock.instant(self.expiry)
    }

    /// Whether a pending acknowledgment is due; the next delay is longer then, up to the time-out `rto`.
    pub fn expires(&mut self, now: Ticks, rto: Ticks) -> bool {
        let expired = self.is_pending() && self.expiry <= now;
        if expired {
            // The acknowledgment was late: expect the data to keep arriving slowly.
            self.ato = (self.ato * 2).min(rto);
        }
        expired
    }

    /// Sends the next acknowledgment at once, if `condition`.
    #[inline(always)]
    pub fn quick_once(&mut self, condition: bool) {
        self.quick |= condition as u32;
    }

    /// Ends quick acknowledgments: the buffer is half full.
    pub fn end_quickack(&mut self) {
        self.quick = 0;
    }

    /// The next `acknowledgments` are sent at once.
    pub fn enter_quickack(&mut self, acknowledgments: u32) {
        self.quick = self.quick.max(acknowledgments);
        self.ato = self.min;
    }

    /// [`Self::enter_quickack`] after a duplicate or out-of-order data.
    pub fn enter_quickack_on_reordering(&mut self) {
        self.enter_quickack(self.stack.quickacks);
    }

    /// In-order data arrives: adapts the delay to the gap before it. `rto` is the time-out.
    #[inline(always)]
    pub fn adapt(&mut self, now: Ticks, rto: impl Fn() -> Ticks) {
        if self.ato == 0 {
            self.enter_quickack(self.stack.quickacks_at_start);
        } else {
            let gap = now - self.last_data;
            if gap <= self.min / 2 {
                self.ato = self.ato / 2 + self.min / 2;
            } else if gap < self.ato {
                self.ato = (self.ato / 2 + gap).min(rto());
            } else if gap > rto() {
                // A gap longer than the time-out: the sender restarts slowly and needs acknowledgments quickly.
                self.quick = self.quick.max(self.stack.quickacks);
            }
        }
        self.last_data = now;
    }

    /// Delays an acknowledgment. Returns whether it may as well be sent now.
    #[inline(always)]
    pub fn defer(&mut self, now: Ticks) -> bool {
        // A known RTT bounds the delay, but not below the minimum.
        let ato = self.ato.min(self.max);
        // About to expire: send it now.
        if self.due <= now + ato / 4 {
            return true;
        }
        self.due = self.due.min(now + ato);
        self.expiry = self.stack.expiry(now, self.due - now);
        false
    }

    /// An acknowledgment is sent.
    #[inline(always)]
    pub fn on_ack_sent(&mut self) {
        self.due = NO_ACK_PENDING;
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                // End of quick mode: the delay starts again from the minimum.
                self.ato = self.min;
            }
        }
    }
}

/// Sentinel, later than any tick of a run.
const NO_ACK_PENDING: Ticks = Ticks::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection with an RTT of 100 ms and a time-out of 300 ms, whose first data arrived at 1000 ms.
    fn delay(stack: &str) -> DelayedAck {
        let mut delay = DelayedAck::new(Stack::find(stack).expect("a stack"), true);
        delay.set_max(100);
        delay.adapt(1_000, || 300);
        delay
    }

    #[test]
    fn the_delay_follows_the_gaps_between_data() {
        let mut delay = delay("linux-2.6.29");
        let mut after = |now| {
            delay.adapt(now, || 300);
            delay.ato
        };
        // At most half of the minimum delay of 40 ms; less than the delay; more than it.
        assert_eq!([1_013, 1_050, 1_093, 1_180].map(&mut after), [40, 57, 71, 71]);
    }

    #[test]
    fn one_that_is_nearly_due_goes_now() {
        let mut delay = delay("linux-2.6.29");
        assert_eq!((delay.defer(1_000), delay.due), (false, 1_040));
        assert_eq!((delay.defer(1_029), delay.defer(1_030)), (false, true), "a quarter of the delay");
        assert_eq!((delay.expires(1_039, 300), delay.expires(1_040, 300), delay.ato), (false, true, 80));
        delay.on_ack_sent();
        assert!(!delay.expires(1_040, 300));
    }

    #[test]
    fn quick_acknowledgments_are_used_up() {
        let mut delay = delay("linux-2.6.29");
        let quick = |delay: &mut DelayedAck| {
            let over = delay.is_quick();
            delay.on_ack_sent();
            over
        };
        assert_eq!([(); 3].map(|()| quick(&mut delay)), [true, true, false]);
        delay.adapt(1_400, || 300);
        assert_eq!(delay.quick, 16, "after a pause longer than the time-out");
        let every = DelayedAck::new(Stack::find("linux-2.6.29").expect("a stack"), false);
        assert!(every.is_quick());
    }
}
