//! Data below TCP in the sender's host (TSQ).

use super::Transmission;
use crate::pacing::PACING_SHIFT;
use crate::small_queue::LIMIT_OUTPUT_BYTES;
use crate::{FIRST_BYTE, HostTime, Wire};
use sojourn_aqm::Instant;

impl Transmission {
    /// Start of the transmission of the next burst, if TSQ needs it; in the past if nothing is below.
    #[inline]
    pub(super) fn next_start(&self, wire: &impl Wire) -> Instant {
        if self.small_queue.is_some() { wire.drain_time() } else { Instant::ZERO }
    }

    /// Send time of a segment sent now: its departure time if the host's device paces. Timestamps, RTT samples and
    /// timers count from it (`skb_mstamp_ns`).
    #[inline]
    pub(super) fn stamp(&self, now: HostTime, wire: &mut impl Wire) -> HostTime {
        match self.pacer.as_ref().and_then(|pacer| pacer.stamp(now.at)) {
            Some(at) => {
                wire.set_departure(at);
                self.rtt.clock().now(at)
            }
            None => now,
        }
    }

    /// `segments` with `payload` bytes were handed down, whose transmission begins at `begins`.
    #[inline]
    pub(super) fn on_handed_down(
        &mut self,
        now: HostTime,
        begins: Instant,
        (segments, payload): (u32, u64),
        wire: &impl Wire,
    ) {
        if let Some(small) = self.small_queue.as_mut().filter(|_| payload > 0) {
            // A device with GSO gets it whole.
            let segments = if self.has_gso { 1 } else { segments };
            small.on_sent(now.at, (begins, wire.drain_time()), segments, payload);
        }
    }

    /// Whether a burst of `payload` bytes has to wait for data below. For a retransmission `shift` is 1, and the rate
    /// is that of the last check.
    #[inline]
    pub(super) fn is_full_below(&mut self, now: HostTime, payload: u64, shift: u32, wire: &mut impl Wire) -> bool {
        let shared = if self.small_queue.is_some() { wire.bytes_below() } else { None };
        let waits = match shared {
            Some(bytes) => bytes > 0,
            None => self.small_queue.as_mut().is_some_and(|small| !small.is_empty(now.at)),
        };
        let is_full = waits && self.is_over_limit(now, payload, shift, shared);
        if is_full && shared.is_some() {
            wire.notify_on_departure();
        }
        is_full
    }

    /// `shared`: bytes of this sender in a device that others share.
    #[inline(never)]
    fn is_over_limit(&mut self, now: HostTime, payload: u64, shift: u32, shared: Option<u64>) -> bool {
        // The third burst of a connection may be sent, too: as measured, although the acknowledgment of the handshake
        // is still in the device. So the first skb of the application is two segments longer.
        let is_first = self.queue.una() == FIRST_BYTE && shift == 0 && shared.is_none();
        let may_be_out = if is_first { 2 } else { 1 };
        if self.board.packets_out() == 0 || self.buffer.as_ref().is_some_and(|buffer| buffer.bursts_out() <= may_be_out)
        {
            return false;
        }
        let Some(small) = &mut self.small_queue else { return false };
        if shift == 0 {
            small.rate_limit_bytes = match &self.pacer {
                Some(pacer) => pacer.bytes_per_s() >> PACING_SHIFT,
                None => (self.rate >> PACING_SHIFT).min(LIMIT_OUTPUT_BYTES),
            };
        }
        match shared {
            Some(bytes) => bytes >= small.limit(payload, shift),
            None => small.must_wait(now.at, payload, shift),
        }
    }

    /// Whether nothing waits below. Only then do rate samples count a flow as application-limited
    /// (`tcp_rate_check_app_limited`).
    pub fn is_idle_below(&mut self, now: HostTime, wire: &impl Wire) -> bool {
        let Some(small) = &mut self.small_queue else { return true };
        wire.bytes_below().map_or_else(|| small.is_empty(now.at), |bytes| bytes == 0)
    }

    /// When a segment that waits for room below is sent; `NEVER` if none waits.
    #[inline]
    pub fn has_room_below_at(&self) -> Instant {
        self.small_queue.as_ref().map_or(Instant::NEVER, |small| small.wakeup())
    }

    /// Whether a wait is over: for room below, or for the pacer.
    #[inline]
    pub fn wait_is_over(&mut self, now: HostTime) -> bool {
        let paced = self.pacer.as_mut().is_some_and(|pacer| pacer.on_wakeup(now.at));
        self.small_queue.as_mut().is_some_and(|small| small.on_wakeup(now.at)) || paced
    }
}
