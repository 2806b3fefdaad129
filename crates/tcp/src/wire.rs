//! The host below a sender or a receiver.

use crate::{Header, SenderEvent};
use sojourn_aqm::{Ecn, Instant};

/// Interface to the host, which transmits an endpoint's segments.
pub trait Wire {
    /// Sends a packet of `len` IP bytes now; `ecn` is its codepoint.
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn);

    /// [`Self::transmit`] of a new data segment. Most segments are sent by this one, and a host may inline it into its
    /// caller.
    #[inline(always)]
    fn send_data(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// [`Self::transmit`] of an acknowledgment.
    #[inline(always)]
    fn send_ack(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// The segments up to [`Wire::end_burst`] form one super-packet: the sender has segmentation offload.
    #[inline]
    fn begin_burst(&mut self) {}

    /// The last segment of a super-packet was sent.
    #[inline]
    fn end_burst(&mut self) {}

    /// Whether the host has room for new data (TCP small queues); otherwise it notifies the sender when it has.
    #[inline]
    fn has_room(&self) -> bool {
        true
    }

    /// When the device of the sender's host will have sent everything handed down to it; in the past if it is
    /// idle.
    #[inline]
    fn drain_time(&self) -> Instant {
        Instant::ZERO
    }

    /// Memory in bytes of this sender's packets that its host's device has not begun to send
    /// ([`crate::small_queue::memory_below`]), if other senders share the device, so that the drain time is unknown;
    /// `None` if [`Wire::drain_time`] is known.
    #[inline]
    fn bytes_below(&self) -> Option<u64> {
        None
    }

    /// That exceeds the limit: the host calls [`crate::Sender::on_departure`] when some packets have begun to leave or
    /// were dropped.
    fn notify_on_departure(&mut self) {}

    /// Whether the device sends each packet at its departure time (Linux's fq): then the sender sets that time and does
    /// not wait for it.
    #[inline]
    fn is_pacing(&self) -> bool {
        false
    }

    /// Sets the departure time of the next segment or burst.
    fn set_departure(&mut self, at: Instant) {
        let _ = at;
    }

    /// Whether the host observes the sender, from its first event on.
    #[inline]
    fn observes_sender(&self) -> bool {
        false
    }

    /// Notifies a host that observes the sender; `event` is evaluated only on demand.
    #[inline]
    fn notify<'a>(&mut self, event: impl FnOnce() -> SenderEvent<'a>) {
        let _ = event;
    }
}

impl<F: FnMut(&Header, Ecn)> Wire for F {
    fn transmit(&mut self, header: &Header, _: u32, ecn: Ecn) {
        self(header, ecn);
    }
}
