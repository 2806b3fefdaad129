//! Send buffer of a stream: new data, lost data that goes into new packets, acknowledged data.

use super::ranges::RangeSet;
use crate::SeqRange;
use std::collections::VecDeque;

/// Stream data of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Chunk {
    /// Offset of the first byte.
    pub offset: u64,
    pub len: u32,
    /// Whether the stream ends after these bytes.
    pub fin: bool,
}

impl Chunk {
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// A stream at its sender.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    /// Bytes written by the application; none for an unlimited source.
    size: Option<u64>,
    /// Offset of the first byte never sent.
    next: u64,
    fin_sent: bool,
    fin_acked: bool,
    /// Lost data in order of detection.
    lost: VecDeque<Chunk>,
    acked: RangeSet,
}

impl Stream {
    /// Opens the stream with `size` bytes; `None` for an unlimited source.
    pub fn open(&mut self, size: Option<u64>) {
        self.size = size;
    }

    /// The application stops: no new data is sent, only the end of the stream.
    pub fn close(&mut self) {
        self.size = Some(self.size.map_or(self.next, |size| size.min(self.next)));
    }

    /// Whether there is data to send.
    pub fn has_data(&mut self) -> bool {
        self.drop_acked_from_lost();
        !self.lost.is_empty() || self.has_new()
    }

    /// Whether there is data never sent before.
    pub fn has_new(&self) -> bool {
        self.size.is_none_or(|size| self.next < size || !self.fin_sent)
    }

    /// Offset of the next data to be sent, and whether it is a retransmission.
    pub fn upcoming(&self) -> (u64, bool) {
        self.lost.front().map_or((self.next, false), |chunk| (chunk.offset, true))
    }

    /// Takes up to `room` bytes, lost data first.
    pub fn take(&mut self, room: u32) -> Chunk {
        let Some(lost) = self.lost.pop_front() else { return self.take_new(room) };
        if lost.len <= room {
            return lost;
        }
        let rest = Chunk { offset: lost.offset + u64::from(room), len: lost.len - room, ..lost };
        self.lost.push_front(rest);
        Chunk { len: room, fin: false, ..lost }
    }

    /// Takes up to `room` bytes never sent before.
    pub fn take_new(&mut self, room: u32) -> Chunk {
        let left = self.size.map_or(u64::MAX, |size| size - self.next);
        let (offset, len) = (self.next, u64::from(room).min(left) as u32);
        let fin = u64::from(len) == left;
        self.next += u64::from(len);
        self.fin_sent |= fin;
        Chunk { offset, len, fin }
    }

    /// A packet with this chunk is acknowledged.
    pub fn on_acked(&mut self, chunk: &Chunk) {
        self.acked.insert(chunk.offset, chunk.end());
        self.fin_acked |= chunk.fin;
    }

    /// A packet with this chunk is lost.
    pub fn on_lost(&mut self, chunk: Chunk) {
        if !self.is_acked(&chunk) {
            self.lost.push_back(chunk);
        }
    }

    /// Whether all data and the end of the stream are acknowledged.
    pub fn is_finished(&self) -> bool {
        self.fin_acked && Some(self.acked.prefix()) == self.size
    }

    /// Offset of the first unacknowledged byte.
    pub fn una(&self) -> u64 {
        self.acked.prefix()
    }

    /// Offset of the first byte never sent.
    pub fn nxt(&self) -> u64 {
        self.next
    }

    /// Up to three acknowledged ranges above a gap, highest first.
    pub fn beyond(&self) -> impl Iterator<Item = SeqRange> {
        self.acked.iter().rev().filter(|&(from, _)| from > 0).take(3)
    }

    /// Whether all bytes of `chunk` are acknowledged.
    pub fn is_acked(&self, chunk: &Chunk) -> bool {
        self.acked.covers(chunk.offset, chunk.end()) && (!chunk.fin || self.fin_acked)
    }

    /// Drops data from the lost queue that was acknowledged after all (spurious loss).
    fn drop_acked_from_lost(&mut self) {
        while self.lost.front().is_some_and(|chunk| self.is_acked(chunk)) {
            self.lost.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lost_goes_first_and_in_parts_where_it_does_not_fit() {
        let mut stream = Stream::default();
        stream.open(Some(2_500));
        let sent = [stream.take(1_000), stream.take(1_000), stream.take(1_000)];
        assert_eq!(sent[2], Chunk { offset: 2_000, len: 500, fin: true });
        assert!(!stream.has_data());
        stream.on_lost(sent[1]);
        stream.on_lost(sent[2]);
        assert_eq!(stream.upcoming(), (1_000, true));
        assert_eq!(stream.take(900), Chunk { offset: 1_000, len: 900, fin: false });
        assert_eq!(stream.take(900), Chunk { offset: 1_900, len: 100, fin: false });
        assert_eq!(stream.take(900), sent[2]);
        stream.on_acked(&sent[0]);
        stream.on_acked(&sent[1]);
        assert_eq!((stream.una(), stream.is_finished()), (2_000, false));
        stream.on_acked(&sent[2]);
        assert!(stream.is_finished());
    }

    #[test]
    fn what_arrived_after_all_is_not_sent_again() {
        let mut stream = Stream::default();
        stream.open(None);
        let sent = [stream.take(1_000), stream.take(1_000)];
        stream.on_lost(sent[0]);
        stream.on_acked(&sent[0]);
        assert!(stream.has_data(), "there is always something new");
        assert_eq!(stream.upcoming(), (2_000, false));
        stream.on_lost(sent[0]);
        assert_eq!(stream.upcoming(), (2_000, false));
        stream.close();
        assert!(stream.has_new(), "the end was not sent");
        assert_eq!(stream.take(1_000), Chunk { offset: 2_000, len: 0, fin: true });
        assert!(!stream.has_new());
    }
}
