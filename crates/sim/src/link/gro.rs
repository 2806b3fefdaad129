//! Generic receive offload at a link's ingress: segments of a flow that arrive within a poll become one super-packet.
//!
//! Source: Linux `dev_gro_receive`, `napi_complete_done`; what may be joined is `tcp_gro_receive`'s. A card interrupts a
//! time after the first packet, and all that have come by then are polled at once. Super-packets go up in the order of their
//! first segments.

use crate::packet::{Handle, Packets};
use sojourn_aqm::{Duration, Instant};

/// What a card has received and nobody has polled.
#[derive(Debug)]
pub(crate) struct Gro {
    wait: Duration,
    held: Vec<Handle>,
}

impl Gro {
    /// A card that interrupts so long after the first packet.
    pub fn new(wait: Duration) -> Self {
        Self { wait, held: Vec::new() }
    }

    /// A packet arrives. When it is polled, unless that is known.
    pub fn arrive(&mut self, now: Instant, handle: Handle, packets: &mut Packets) -> Option<Instant> {
        let packet = *packets.packet(handle);
        let of_flow = |&held: &Handle| {
            let other = packets.packet(held);
            (other.flow, other.slot, other.to_sink) == (packet.flow, packet.slot, packet.to_sink)
        };
        // Only the last one can go on: those before it were ended by what came next.
        let last = self.held.iter().copied().rev().find(of_flow);
        if last.is_some_and(|last| packets.join(last, handle)) {
            return None;
        }
        self.held.push(handle);
        (self.held.len() == 1).then(|| now + self.wait)
    }

    /// All that has come.
    pub fn poll(&mut self, into: &mut Vec<Handle>) {
        std::mem::swap(&mut self.held, into);
    }
}
