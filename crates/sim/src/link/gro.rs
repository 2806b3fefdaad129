//! Generic receive offload at a link's ingress: segments of a flow that arrive before one poll become one super-packet.
//!
//! Source: Linux `dev_gro_receive`, `napi_complete_done`; the conditions for joining are those of `tcp_gro_receive`. A
//! NIC interrupts some time after the first packet, and all packets received by then are polled at once. Super-packets
//! go up in the order of their first segments.
//!
//! Packets wait even if none is joined: if an idle NIC polled at once, the first packet would always be alone, and a
//! link faster than the next one would join nothing. Linux flushes a finished super-packet at once, within the same
//! poll.

use crate::packet::{Handle, Packets};
use sojourn_aqm::{Duration, Instant};

/// Packets that the NIC has received and that were not polled.
#[derive(Debug)]
pub(crate) struct Gro {
    wait: Duration,
    held: Vec<Handle>,
}

impl Gro {
    /// A NIC that interrupts `wait` after the first packet.
    pub fn new(wait: Duration) -> Self {
        Self { wait, held: Vec::new() }
    }

    /// Receives a packet. Returns the time of the poll if this packet schedules it.
    pub fn arrive(&mut self, now: Instant, handle: Handle, packets: &mut Packets) -> Option<Instant> {
        let packet = *packets.packet(handle);
        let of_flow = |&held: &Handle| {
            let other = packets.packet(held);
            (other.flow, other.slot, other.to_sink) == (packet.flow, packet.slot, packet.to_sink)
        };
        // Only a flow's last packet can be continued: its successor has ended each earlier one.
        let last = self.held.iter().copied().rev().find(of_flow);
        if last.is_some_and(|last| packets.join(last, handle)) {
            return None;
        }
        self.held.push(handle);
        (self.held.len() == 1).then(|| now + self.wait)
    }

    /// Swaps the received packets into `into`.
    pub fn poll(&mut self, into: &mut Vec<Handle>) {
        std::mem::swap(&mut self.held, into);
    }
}
