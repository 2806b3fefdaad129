//! TCP small queues (TSQ): a limit of a connection's packets below TCP in its host.
//!
//! Source: Linux 3.6 `tcp_limit_output_bytes`: 128 kB with the kernel's overhead, which are 57 full packets. Packets
//! count until the NIC has sent them. Stations keep this constant of the kernels in the papers; `linux-6.1` has its own
//! rule at access links and devices.

use crate::packet::{Handle, Packets};

/// TSQ state of the senders in the stations.
#[derive(Debug)]
pub struct Sockets {
    /// Maximum packets below TCP, if limited.
    limit: Option<u32>,
    /// Packets below TCP, by slot of the flow.
    queued: Vec<u32>,
    /// Slots that were at the limit and may send again.
    pub resumable: Vec<u32>,
}

impl Sockets {
    /// At most `most` packets per connection; 0 for no limit.
    pub fn new(most: u32) -> Self {
        Self { limit: (most > 0).then_some(most), queued: Vec::new(), resumable: Vec::new() }
    }

    /// Whether the sender in `slot` may pass a packet down.
    pub fn has_room(&self, slot: u32) -> bool {
        self.limit.is_none_or(|most| self.queued.get(slot as usize).is_none_or(|&below| below < most))
    }

    /// The sender in `slot` has passed a packet down.
    pub fn on_enqueue(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot >= self.queued.len() {
            self.queued.resize(slot + 1, 0);
        }
        self.queued[slot] += 1;
    }

    /// A packet of the sender in `slot` was sent or dropped.
    pub fn on_departure(&mut self, slot: u32) {
        let below = &mut self.queued[slot as usize];
        if self.limit == Some(*below) {
            self.resumable.push(slot);
        }
        *below -= 1;
    }
}

/// Whether a packet in a node's queue is data of a sender in that node; the access point has no senders.
#[inline(always)]
pub fn is_counted(is_station: bool, packets: &Packets, packet: Handle) -> bool {
    is_station && packets.payload(packet) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_socket_hears_of_the_first_room() {
        let mut sockets = Sockets::new(2);
        (0..2).for_each(|_| sockets.on_enqueue(3));
        assert!(!sockets.has_room(3) && sockets.has_room(0));
        sockets.on_departure(3);
        assert!(sockets.has_room(3) && sockets.resumable == [3]);
        sockets.on_departure(3);
        assert_eq!(sockets.resumable, [3]);
        let mut unlimited = Sockets::new(0);
        (0..1000).for_each(|_| unlimited.on_enqueue(0));
        unlimited.on_departure(0);
        assert!(unlimited.has_room(0) && unlimited.resumable.is_empty());
    }
}
