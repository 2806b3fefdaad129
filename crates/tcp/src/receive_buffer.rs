//! Memory of a receiver's buffer, per skb: segments beyond a hole, and in-order segments that the application has not
//! read.
//!
//! Source: Linux 6.1 `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_ofo_queue`, `tcp_try_coalesce`, `skb_try_coalesce`,
//! `skb_condense`. Each segment is an skb of its own: this is not for NICs that place payload in page fragments.

use crate::send_buffer::{OVERHEAD, lone_segment_memory, segment_memory};
use crate::{Flags, Header};
use std::collections::VecDeque;

/// A packet (`sk_buff`): its range, and its memory (`truesize`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Skb {
    seq: u64,
    len: u32,
    memory: u32,
}

impl Skb {
    fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }

    /// Appends the following segment if a block of `block` bytes of memory has room for both.
    fn try_coalesce(&mut self, next: &Self, block: u32) -> bool {
        let fits = self.end() == next.seq && u64::from(self.len + next.len) + OVERHEAD <= block.into();
        self.len += if fits { next.len } else { 0 };
        fits
    }
}

/// Contents of the buffer.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveBuffer {
    /// Memory of a full segment that was cut out of a burst.
    cut_segment_memory: u32,
    /// Memory of all skbs (`sk_rmem_alloc`).
    memory_used: u64,
    /// Memory of unread in-order data.
    unread: u64,
    /// The last unread skb, if any, and the memory of its block.
    last: Skb,
    block: u32,
    /// End of the first unread skb.
    first: u64,
    /// Skbs beyond a hole, in sequence order. A sum would not do: the segment that fills a hole coalesces with the next
    /// skb if that fits, and the end of the first skb of a read begins the round of `tcp_rcv_space_adjust`.
    beyond: VecDeque<Skb>,
}

impl ReceiveBuffer {
    /// An empty buffer for segments of `mss` bytes.
    pub fn new(mss: u32) -> Self {
        let cut_segment_memory = segment_memory(mss.into()) as u32;
        let last = Skb { seq: 0, len: 0, memory: 0 };
        Self { cut_segment_memory, memory_used: 0, unread: 0, last, block: 0, first: 0, beyond: VecDeque::new() }
    }

    /// Queues an in-order segment.
    #[inline]
    pub fn queue(&mut self, header: &Header) {
        let block = self.block_of(header);
        // A segment that was sent alone lies in a larger block than it is charged for.
        let is_cut = header.flags.contains(Flags::CUT);
        let memory = if is_cut { block } else { u32::from(header.len) + OVERHEAD as u32 };
        self.append(Skb { seq: header.seq, len: header.len.into(), memory }, block);
    }

    /// Queues a segment beyond a hole; duplicates take no memory.
    #[inline(never)]
    pub fn queue_beyond(&mut self, header: &Header) {
        let (seq, memory) = (header.seq, self.block_of(header));
        let packet = Skb { seq, len: header.len.into(), memory };
        let is_last = self.beyond.back().is_none_or(|last| last.seq < seq);
        let at = if is_last { self.beyond.len() } else { self.beyond.partition_point(|other| other.seq < seq) };
        let is_there = |other: Option<&Skb>| other.is_some_and(|o| o.seq <= seq && packet.end() <= o.end());
        if is_there(self.beyond.get(at)) || at > 0 && is_there(self.beyond.get(at - 1)) {
            return;
        }
        let before = at.checked_sub(1).and_then(|i| self.beyond.get_mut(i));
        if before.is_some_and(|before| before.try_coalesce(&packet, before.memory)) {
            return;
        }
        let covered = self.beyond.range(at..).take_while(|other| other.end() <= packet.end()).count();
        let freed: u64 = self.beyond.drain(at..at + covered).map(|other| u64::from(other.memory)).sum();
        self.beyond.insert(at, packet);
        self.memory_used = self.memory_used - freed + u64::from(memory);
    }

    /// Everything up to `nxt` has arrived: moves skbs from beyond the hole to the unread data.
    #[inline(never)]
    pub fn fill(&mut self, nxt: u64) {
        while let Some(&packet) = self.beyond.front().filter(|packet| packet.seq < nxt) {
            self.beyond.pop_front();
            self.memory_used -= u64::from(packet.memory);
            if packet.end() > self.last.end() {
                self.append(packet, packet.memory);
            }
        }
    }

    /// The application reads everything. Returns the end of the first skb; `None` if there was no data.
    #[inline]
    pub fn read(&mut self) -> Option<u64> {
        let first = (self.unread > 0).then_some(self.first);
        self.memory_used -= std::mem::take(&mut self.unread);
        first
    }

    /// Memory of all skbs (`sk_rmem_alloc`).
    #[inline]
    pub fn memory_used(&self) -> u64 {
        self.memory_used
    }

    /// Memory of a segment's block. A segment that was not cut has a larger one, with room for the next segment.
    #[inline]
    fn block_of(&self, header: &Header) -> u32 {
        if header.flags.contains(Flags::CUT) {
            self.cut_segment_memory
        } else {
            lone_segment_memory(header.len.into()) as u32
        }
    }

    /// Appends `packet`, in a block of `block` bytes, to the unread data.
    #[inline]
    fn append(&mut self, packet: Skb, block: u32) {
        let (is_alone, is_first) = (self.unread == 0, self.first == self.last.end());
        if !is_alone && self.last.try_coalesce(&packet, self.block) {
            self.first = if is_first { self.last.end() } else { self.first };
            return;
        }
        self.first = if is_alone { packet.end() } else { self.first };
        self.unread += u64::from(packet.memory);
        self.memory_used += u64::from(packet.memory);
        (self.last, self.block) = (packet, block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FIRST_BYTE;

    /// Segment `n` of 1448 bytes, cut or sent alone.
    fn segment(n: u64, is_cut: bool) -> Header {
        let flags = Flags::ACK.with_if(Flags::CUT, is_cut);
        Header { seq: FIRST_BYTE + n * 1_448, len: 1_448, flags, ..Header::default() }
    }

    fn end(n: u64) -> u64 {
        FIRST_BYTE + n * 1_448
    }

    /// `sk_rmem_alloc` of Linux 6.1 after each of these segments beyond a hole.
    fn beyond(segments: &[(u64, bool)]) -> (ReceiveBuffer, Vec<u64>) {
        let mut buffer = ReceiveBuffer::new(1_448);
        let taken = segments.iter().map(|&(n, is_cut)| {
            buffer.queue_beyond(&segment(n, is_cut));
            buffer.memory_used()
        });
        let taken = taken.collect();
        (buffer, taken)
    }

    #[test]
    fn segments_that_were_sent_alone_lie_two_in_a_block_and_cut_ones_each_in_theirs() {
        let taken = |segments: &[(u64, bool)]| beyond(segments).1;
        assert_eq!(taken(&[(1, true), (2, true), (3, true)]), [2_304, 4_608, 6_912]);
        assert_eq!(taken(&[(1, false), (2, false), (3, false)]), [4_352, 4_352, 8_704]);
        assert_eq!(taken(&[(1, false), (2, true), (3, true)]), [4_352, 4_352, 6_656], "a cut one finds room, too");
        assert_eq!(taken(&[(1, false), (3, false), (2, false)]), [4_352, 8_704, 8_704], "behind its predecessor");
        assert_eq!(taken(&[(2, false), (1, false)]), [4_352, 8_704], "not before its successor");
    }

    #[test]
    fn what_is_there_takes_nothing_and_what_is_covered_goes() {
        let (mut buffer, _) = beyond(&[(1, true), (2, true), (5, true)]);
        buffer.queue_beyond(&segment(2, true));
        assert_eq!(buffer.memory_used(), 3 * 2_304);
        let both = Header { len: 2_896, ..segment(1, true) };
        buffer.queue_beyond(&both);
        assert_eq!((buffer.memory_used(), buffer.beyond.len()), (2 * 2_304, 2));
    }

    /// The first hole of Westwood at 10 Mbit/s and 20 ms under CoDel on Linux 6.1: a segment that was sent alone fills
    /// it and coalesces with one more segment; the others keep their skbs until they are read.
    #[test]
    fn what_fills_a_hole_keeps_its_memory_until_it_is_read() {
        let (mut buffer, _) = beyond(&[(1, false), (2, false), (3, false), (6, false), (7, true)]);
        assert_eq!(buffer.memory_used(), 3 * 4_352);
        buffer.queue(&segment(0, false));
        assert_eq!(buffer.memory_used(), 3 * 4_352 + 2_216);
        buffer.fill(end(4));
        assert_eq!(buffer.memory_used(), 3 * 4_352 + 2_216, "2896 bytes do not fit behind it");
        assert_eq!((buffer.read(), buffer.memory_used()), (Some(end(1)), 4_352));
        assert_eq!(buffer.read(), None);
        let (mut buffer, _) = beyond(&[(1, true), (3, true)]);
        buffer.queue(&segment(0, false));
        buffer.fill(end(2));
        assert_eq!(buffer.memory_used(), 2_216 + 2_304, "one segment is copied, and its block is free");
        assert_eq!((buffer.read(), buffer.memory_used()), (Some(end(2)), 2_304));
    }
}
