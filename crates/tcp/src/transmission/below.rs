//! What waits below TCP in the sender's host.

use super::Transmission;
use crate::pacing::PACING_SHIFT;
use crate::small_queue::MOST;
use crate::{Now, Wire};
use sojourn_aqm::Instant;

impl Transmission {
    /// When the transmission of what is handed down next begins, where that matters; in the past where nothing is before it.
    #[inline]
    pub(super) fn next_begins(&self, wire: &impl Wire) -> Instant {
        if self.small.is_some() { wire.leaves() } else { Instant::ZERO }
    }

    /// So many `segments` with so many bytes of payload were handed down, whose transmission begins at `begins`.
    #[inline]
    pub(super) fn handed_down(&mut self, now: Now, begins: Instant, segments: u32, payload: u64, wire: &impl Wire) {
        if let Some(small) = self.small.as_mut().filter(|_| payload > 0) {
            // A device that takes super-packets has it whole.
            let segments = if self.offloads { 1 } else { segments };
            small.on_sent(now.at, (begins, wire.leaves()), segments, payload);
        }
    }

    /// Whether a burst of so many bytes has to wait for what is below; before a retransmission `shift` is 1, and the rate that
    /// of the last look.
    #[inline]
    pub(super) fn is_full_below(&mut self, now: Now, payload: u64, shift: u32) -> bool {
        let waits = self.small.as_mut().is_some_and(|small| !small.is_empty(now.at));
        waits && self.is_over_limit(now, payload, shift)
    }

    #[inline(never)]
    fn is_over_limit(&mut self, now: Now, payload: u64, shift: u32) -> bool {
        if self.board.packets_out() == 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.is_nearly_idle()) {
            return false;
        }
        let Some(small) = &mut self.small else { return false };
        if shift == 0 {
            small.of_rate = match &self.pacer {
                Some(pacer) => pacer.bytes_per_s() >> PACING_SHIFT,
                None => (self.rate >> PACING_SHIFT).min(MOST),
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
