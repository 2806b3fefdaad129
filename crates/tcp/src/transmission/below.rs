//! What waits below TCP in the sender's host.

use super::Transmission;
use crate::pacing::PACING_SHIFT;
use crate::small_queue::MOST;
use crate::{FIRST_BYTE, Now, Wire};
use sojourn_aqm::Instant;

impl Transmission {
    /// When the transmission of what is handed down next begins, where that matters; in the past where nothing is before it.
    #[inline]
    pub(super) fn next_begins(&self, wire: &impl Wire) -> Instant {
        if self.small.is_some() { wire.leaves() } else { Instant::ZERO }
    }

    /// When what is sent now is taken to be sent: at its departure, where the host's device paces (`skb_mstamp_ns`).
    #[inline]
    pub(super) fn stamp(&self, now: Now, wire: &mut impl Wire) -> Now {
        match self.pacer.as_ref().and_then(|pacer| pacer.stamp(now.at)) {
            Some(at) => {
                wire.departs(at);
                self.rtt.clock().now(at)
            }
            None => now,
        }
    }

    /// So many `segments` with so many bytes of payload were handed down, whose transmission begins at `begins`.
    #[inline]
    pub(super) fn handed_down(&mut self, now: Now, begins: Instant, (segments, payload): (u32, u64), wire: &impl Wire) {
        if let Some(small) = self.small.as_mut().filter(|_| payload > 0) {
            // A device that takes super-packets has it whole.
            let segments = if self.offloads { 1 } else { segments };
            small.on_sent(now.at, (begins, wire.leaves()), segments, payload);
        }
    }

    /// Whether a burst of so many bytes has to wait for what is below; before a retransmission `shift` is 1, and the rate that
    /// of the last look.
    #[inline]
    pub(super) fn is_full_below(&mut self, now: Now, payload: u64, shift: u32, wire: &mut impl Wire) -> bool {
        let shared = if self.small.is_some() { wire.waits_below() } else { None };
        let waits = match shared {
            Some(bytes) => bytes > 0,
            None => self.small.as_mut().is_some_and(|small| !small.is_empty(now.at)),
        };
        let is_full = waits && self.is_over_limit(now, payload, shift, shared);
        if is_full && shared.is_some() {
            wire.hold();
        }
        is_full
    }

    /// `shared`: what waits, in a device that others have too.
    #[inline(never)]
    fn is_over_limit(&mut self, now: Now, payload: u64, shift: u32, shared: Option<u64>) -> bool {
        // Also the third burst of a connection goes: as measured, though the acknowledgment of the handshake still is in the
        // device. So the piece that the application writes first is two segments longer.
        let is_first = self.queue.una() == FIRST_BYTE && shift == 0 && shared.is_none();
        let may_be_out = if is_first { 2 } else { 1 };
        if self.board.packets_out() == 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.bursts_out() <= may_be_out)
        {
            return false;
        }
        let Some(small) = &mut self.small else { return false };
        if shift == 0 {
            small.of_rate = match &self.pacer {
                Some(pacer) => pacer.bytes_per_s() >> PACING_SHIFT,
                None => (self.rate >> PACING_SHIFT).min(MOST),
            };
        }
        match shared {
            Some(bytes) => bytes >= small.limit(payload, shift),
            None => small.holds(now.at, payload, shift),
        }
    }

    /// Whether nothing waits below.
    pub fn is_idle_below(&mut self, now: Now, wire: &impl Wire) -> bool {
        let Some(small) = &mut self.small else { return true };
        wire.waits_below().map_or_else(|| small.is_empty(now.at), |bytes| bytes == 0)
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
