//! The host below a sender or a receiver.

use crate::{Header, SenderEvent};
use sojourn_aqm::{Ecn, Instant};

/// Takes the segments that an endpoint sends.
pub trait Wire {
    /// Sends a packet of `len` IP bytes now; `ecn` is its codepoint.
    fn transmit(&mut self, header: &Header, len: u32, ecn: Ecn);

    /// [`Self::transmit`] of a new segment with data, where no more than that is to be done: most segments are sent so, and a
    /// host may compile it into its caller.
    #[inline(always)]
    fn send_data(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// The same of an acknowledgment.
    #[inline(always)]
    fn send_ack(&mut self, header: &Header, len: u32, ecn: Ecn) {
        self.transmit(header, len, ecn);
    }

    /// The segments that follow, up to [`Wire::end_burst`], are one super-packet: the sender has segmentation offload.
    #[inline]
    fn begin_burst(&mut self) {}

    /// The last segment of a super-packet has been sent.
    #[inline]
    fn end_burst(&mut self) {}

    /// Whether the host takes new data now (TCP small queues); else it tells when it does again.
    #[inline]
    fn has_room(&self) -> bool {
        true
    }

    /// When the device of the sender's host will have sent all that was handed to it; in the past where nothing waits there.
    #[inline]
    fn drain_time(&self) -> Instant {
        Instant::ZERO
    }

    /// Memory in bytes of what this sender has handed down and its host's device has not begun to send, where the device is
    /// shared with others, so that nobody knows when it will have ([`crate::small_queue::memory_below`]); none
    /// where [`Wire::leaves`] tells.
    #[inline]
    fn bytes_below(&self) -> Option<u64> {
        None
    }

    /// That is too much: the sender goes on with [`crate::Sender::on_departure`] when some of it has begun to leave or was dropped.
    fn notify_on_departure(&mut self) {}

    /// Whether that device lets each packet go at its departure time (Linux's `fq`): then the sender says it and does not wait
    /// for it.
    #[inline]
    fn is_pacing(&self) -> bool {
        false
    }

    /// What is sent next, a segment or a burst, is to leave the device at `at`.
    fn set_departure(&mut self, at: Instant) {
        let _ = at;
    }

    /// Whether the host watches what the sender does, from its first event on: then it is told.
    #[inline]
    fn observes_sender(&self) -> bool {
        false
    }

    /// Tells a host that watches the sender what this does; `event` is asked for where somebody wants to know.
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
