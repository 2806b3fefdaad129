//! TCP small queues: how much of a connection waits below TCP in its host.
//!
//! Source: Linux 3.6 `tcp_limit_output_bytes`: 128 kB with the kernel's overhead, which are 57 full packets. What counts
//! is what the card has not yet sent.

use crate::packet::{Handle, Packets};

/// The senders in the stations.
#[derive(Debug)]
pub struct Sockets {
    /// Most packets below; none without a limit.
    most: Option<u32>,
    /// Packets below, by the slot of their flow.
    below: Vec<u32>,
    /// Slots that have been full and have room again.
    pub roomy: Vec<u32>,
}

impl Sockets {
    /// At most so many packets of a connection; 0 for any number.
    pub fn new(most: u32) -> Self {
        Self { most: (most > 0).then_some(most), below: Vec::new(), roomy: Vec::new() }
    }

    /// Whether the sender in `slot` may hand down a packet.
    pub fn has_room(&self, slot: u32) -> bool {
        self.most.is_none_or(|most| self.below.get(slot as usize).is_none_or(|&below| below < most))
    }

    /// A packet of the sender in `slot` was handed down.
    pub fn entered(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot >= self.below.len() {
            self.below.resize(slot + 1, 0);
        }
        self.below[slot] += 1;
    }

    /// One was sent or dropped.
    pub fn left(&mut self, slot: u32) {
        let below = &mut self.below[slot as usize];
        if self.most == Some(*below) {
            self.roomy.push(slot);
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
        (0..2).for_each(|_| sockets.entered(3));
        assert!(!sockets.has_room(3) && sockets.has_room(0));
        sockets.left(3);
        assert!(sockets.has_room(3) && sockets.roomy == [3]);
        sockets.left(3);
        assert_eq!(sockets.roomy, [3]);
        let mut unlimited = Sockets::new(0);
        (0..1000).for_each(|_| unlimited.entered(0));
        unlimited.left(0);
        assert!(unlimited.has_room(0) && unlimited.roomy.is_empty());
    }
}
