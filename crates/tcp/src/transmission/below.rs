//! What waits below TCP in the sender's host.

use super::Transmission;
use crate::control::Control;
use crate::pacing::{PACING_SHIFT, bytes_per_s};
use crate::small_queue::MOST;
use crate::{Now, Wire};
use sojourn_aqm::Instant;

impl Transmission {
    /// So many bytes of payload were handed down.
    #[inline]
    pub(super) fn handed_down(&mut self, now: Now, payload: u64, wire: &impl Wire) {
        if let Some(small) = self.small.as_mut().filter(|_| payload > 0) {
            small.on_sent(now.at, wire.leaves(), payload);
        }
    }

    /// Whether a burst of so many bytes has to wait for what is below; before a retransmission `shift` is 1, and the rate that
    /// of the last look.
    #[inline]
    pub(super) fn is_full_below(&mut self, now: Now, payload: u64, shift: u32, control: Option<&Control>) -> bool {
        let waits = self.small.as_mut().is_some_and(|small| !small.is_empty(now.at));
        waits && self.is_over_limit(now, payload, shift, control)
    }

    #[inline(never)]
    fn is_over_limit(&mut self, now: Now, payload: u64, shift: u32, control: Option<&Control>) -> bool {
        if self.board.packets_out() == 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.is_nearly_idle()) {
            return false;
        }
        let Some(small) = &mut self.small else { return false };
        if let Some(control) = control {
            let rate = self.pacer.as_ref().map(|pacer| pacer.rate());
            small.of_rate = match rate {
                Some(rate) => rate.map_or(u64::MAX >> 2, |rate| rate.as_bps() / 8) >> PACING_SHIFT,
                None => (bytes_per_s(&control.window, self.board.packets_out(), &self.rtt) >> PACING_SHIFT).min(MOST),
            };
        }
        small.holds(now.at, payload, shift)
    }

    /// Whether nothing waits below.
    pub fn is_idle_below(&mut self, now: Now) -> bool {
        self.small.as_mut().is_none_or(|small| small.is_empty(now.at))
    }

    /// When something that waits for room below is to be sent; never if nothing is.
    #[inline]
    pub fn has_room_below_at(&self) -> Instant {
        self.small.as_ref().map_or(Instant::NEVER, |small| small.wakes())
    }

    /// Whether a wait is over: for room below, or for the pacer.
    #[inline]
    pub fn wakes(&mut self, now: Now) -> bool {
        let paced = self.pacer.as_mut().is_some_and(|pacer| pacer.wake(now.at));
        self.small.as_mut().is_some_and(|small| small.wake(now.at)) || paced
    }
}
