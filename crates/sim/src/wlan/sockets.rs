//! TCP small queues: how much of a connection waits below TCP in its host.
//!
//! Source: Linux 3.6 `tcp_limit_output_bytes`: 128 kB with the kernel's overhead, which are 57 full packets. What counts
//! is what the card has not yet sent.

use crate::packet::{Handle, Packets};

/// The senders in the stations.
#[derive(Debug)]
pub struct Sockets {
    /// Most packets below; none without a limit.
    limit: Option<u32>,
    /// Packets below, by the slot of their flow.
    queued: Vec<u32>,
    /// Slots that have been full and have room again.
    pub resumable: Vec<u32>,
}

impl Sockets {
    /// At most so many packets of a connection; 0 for any number.
    pub fn new(most: u32) -> Self {
        Self { limit: (most > 0).then_some(most), queued: Vec::new(), resumable: Vec::new() }
    }

    /// Whether the sender in `slot` may hand down a packet.
    pub fn has_room(&self, slot: u32) -> bool {
        self.limit.is_none_or(|most| self.queued.get(slot as usize).is_none_or(|&below| below < most))
    }

    /// A packet of the sender in `slot` was handed down.
    pub fn on_enqueue(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot >= self.queued.len() {
            self.queued.resize(slot + 1, 0);
        }
        self.queued[slot] += 1;
    }

    /// One was sent or dropped.
    pub fn on_departure(&mut self, slot: u32) {
        let below = &mut self.queued[slot as usize];
        if self.limit == Some(*below) {
            self.resumable.push(slot);
        }
        *below -= 1;
    }
}

/// Whether a packet in a queue, which is that of a station or not, is data of a sender in that host.
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
