//! Goodput: payload that passes for the first time, without retransmissions.

use super::header::{TCP, UDP};
use super::packets::{FrameBuffer, Packet};
use std::collections::BTreeMap;

/// Payload that has passed, per TCP connection.
#[derive(Default)]
pub struct GoodputTracker {
    connections: BTreeMap<u32, StreamProgress>,
}

/// One direction of a connection, in sequence numbers that do not wrap.
#[derive(Debug)]
struct StreamProgress {
    /// Sequence number of the SYN, which distinguishes connections that reuse ports.
    syn: u32,
    /// All bytes before this one have passed.
    next: u64,
    /// Ranges after it that have passed: sorted and disjoint.
    out_of_order: Vec<(u64, u64)>,
}

impl GoodputTracker {
    /// Payload bytes of a packet that no earlier packet of its flow has carried; datagrams count whole.
    pub fn new_payload(&mut self, page: &FrameBuffer, packet: &Packet) -> u32 {
        let (headers, head) = (&page.headers, page.head());
        match headers.transport {
            UDP => packet.len as u32,
            TCP => {
                let seq = headers.seq(head).wrapping_add(packet.offset);
                self.segment(headers.flow, seq, headers.tcp_flags(head) & SYN != 0, packet.len)
            }
            _ => 0,
        }
    }

    fn segment(&mut self, flow: u32, seq: u32, syn: bool, payload: u16) -> u32 {
        let first = seq.wrapping_add(syn as u32);
        let progress = self.connections.entry(flow).or_insert_with(|| StreamProgress::new(seq, first));
        // A SYN with another number begins a new connection on the same ports.
        if syn && progress.syn != seq {
            *progress = StreamProgress::new(seq, first);
        }
        if payload == 0 { 0 } else { progress.add(first, payload as u64) }
    }
}

impl StreamProgress {
    fn new(syn: u32, first: u32) -> Self {
        Self { syn, next: TURN + first as u64, out_of_order: Vec::new() }
    }

    fn add(&mut self, seq: u32, payload: u64) -> u32 {
        let ahead = seq.wrapping_sub(self.next as u32) as i32;
        let from = self.next.saturating_add_signed(ahead as i64);
        let (start, end) = (from.max(self.next), from + payload);
        if end <= start {
            return 0;
        }
        // Merge with all ranges that it touches.
        let at = self.out_of_order.partition_point(|block| block.1 < start);
        let merged = self.out_of_order[at..].iter().take_while(|block| block.0 <= end).count();
        let duplicate: u64 =
            self.out_of_order[at..at + merged].iter().map(|b| b.1.min(end).saturating_sub(b.0.max(start))).sum();
        let whole = self.out_of_order[at..at + merged].iter().fold((start, end), |w, b| (w.0.min(b.0), w.1.max(b.1)));
        self.out_of_order.splice(at..at + merged, [whole]);
        if self.out_of_order[0].0 <= self.next {
            self.next = self.out_of_order.remove(0).1;
        }
        (end - start - duplicate) as u32
    }
}

const SYN: u8 = 2;
/// Offset of the unwrapped sequence numbers, so that numbers before the first one are not negative.
const TURN: u64 = 1 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts_once() {
        let mut goodput = GoodputTracker::default();
        // Sequence numbers wrap: the SYN has 4294967000.
        assert_eq!(goodput.segment(1, 4_294_967_000, true, 0), 0);
        let first = 4_294_967_001u32;
        for (offset, payload, new) in [
            (0, 100, 100),
            (0, 100, 0),     // again
            (300, 100, 100), // across the wrap, with a hole before it
            (50, 100, 50),   // half of it again
            (250, 100, 50),  // up to the range
            (140, 300, 140), // all holes, and 40 beyond
            (440, 10, 10),
            (0, 450, 0),
        ] {
            assert_eq!(goodput.segment(1, first.wrapping_add(offset), false, payload), new, "{payload} from {offset}");
        }
        assert_eq!(goodput.connections[&1].out_of_order, []);
        // Another flow, without its beginning; then the first flow's ports are reused.
        assert_eq!(goodput.segment(2, 77, false, 10), 10);
        assert_eq!(goodput.segment(2, 67, false, 10), 0, "before what was seen first");
        assert_eq!(goodput.segment(1, 5, true, 0), 0);
        assert_eq!(goodput.segment(1, 6, false, 100), 100);
        assert_eq!(goodput.segment(1, 5, true, 0), 0, "the SYN again");
        assert_eq!(goodput.segment(1, 6, false, 100), 0);
    }
}
