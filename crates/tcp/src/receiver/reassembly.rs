//! Reassembly: in-order, out-of-order and duplicate segments, and their SACK blocks.
//!
//! Source: Linux `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`; RFC 2018, RFC 2883.

use crate::{FIRST_BYTE, Flags, Header, Sack, SeqRange};

/// The receive sequence and out-of-order data. Fields used for every segment come first and share a cache line.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Reassembly {
    nxt: u64,
    /// Sequence number of the FIN; `u64::MAX` until it arrives.
    fin: u64,
    /// Bytes of `out_of_order`, without the FIN.
    waiting: u64,
    pending_dsack: Option<SeqRange>,
    /// Ranges received beyond `nxt`, sorted and disjoint.
    out_of_order: Vec<SeqRange>,
    /// SACK blocks, most recent first.
    sacks: Vec<SeqRange>,
}

cloned_in_place! { Reassembly { nxt, fin, waiting, pending_dsack, out_of_order, sacks } }

/// Position of a segment relative to what has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Entirely received before.
    Duplicate,
    /// Beyond a hole.
    OutOfOrder,
    /// It contains the next expected byte.
    InOrder,
}

impl Reassembly {
    /// No segment has arrived.
    pub fn new() -> Self {
        Self { nxt: 0, waiting: 0, out_of_order: Vec::new(), sacks: Vec::new(), pending_dsack: None, fin: u64::MAX }
    }

    /// The SYN has arrived. Returns whether it was the first.
    pub fn open(&mut self) -> bool {
        let first = self.nxt == 0;
        self.nxt = self.nxt.max(FIRST_BYTE);
        first
    }

    /// The next sequence number expected.
    #[inline]
    pub fn nxt(&self) -> u64 {
        self.nxt
    }

    /// Whether everything has arrived, up to the FIN.
    #[inline]
    pub fn has_ended(&self) -> bool {
        self.nxt > self.fin
    }

    /// Whether out-of-order data waits.
    #[inline]
    pub fn has_hole(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Bytes received in order.
    pub fn delivered(&self) -> u64 {
        self.nxt.min(self.fin).saturating_sub(FIRST_BYTE)
    }

    /// Out-of-order bytes, each counted once.
    #[inline]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    fn count_waiting(&mut self) {
        self.waiting = self.out_of_order.iter().map(|&(from, end)| self.payload_of((from, end))).sum();
    }

    /// Bytes of a block, without the FIN.
    #[inline]
    fn payload_of(&self, (from, end): SeqRange) -> u64 {
        end.min(self.fin).saturating_sub(from)
    }

    /// Position of a segment with data or a FIN; records a duplicate part for a D-SACK (RFC 2883).
    #[inline(always)]
    pub fn classify(&mut self, header: &Header) -> Placement {
        let (seq, end) = (header.seq, header.end_seq());
        if header.flags.contains(Flags::FIN) {
            self.fin = end - 1;
        }
        if end <= self.nxt {
            self.pending_dsack = Some((seq, end));
            return Placement::Duplicate;
        }
        if seq > self.nxt {
            return Placement::OutOfOrder;
        }
        if seq < self.nxt {
            self.pending_dsack = Some((seq, self.nxt));
        }
        Placement::InOrder
    }

    /// Whether there is neither a hole, nor a block to report, nor a FIN, so that the [next](Self::is_next) segment
    /// only advances `nxt`.
    pub fn is_fast_path(&self) -> bool {
        !self.has_hole() && self.sacks.is_empty() && self.pending_dsack.is_none() && self.fin == u64::MAX
    }

    /// Whether there is nothing but holes, and the newest segment is the highest.
    pub fn is_sack_fast_path(&self) -> bool {
        let (last, newest) = (self.out_of_order.last(), self.sacks.first());
        let ends = |block: &SeqRange| block.1;
        self.pending_dsack.is_none() && self.fin == u64::MAX && last.is_some() && last.map(ends) == newest.map(ends)
    }

    /// Whether a data segment extends the highest block, in the [SACK fast path](Self::is_sack_fast_path).
    #[inline(always)]
    pub fn extends_newest_block(&self, header: &Header) -> bool {
        let follows = self.out_of_order.last().is_some_and(|last| last.1 == header.seq);
        follows & (header.len > 0) & !header.flags.has_any(SLOW_PATH_FLAGS)
    }

    /// Whether a data segment is the next expected one.
    #[inline(always)]
    pub fn is_next(&self, header: &Header) -> bool {
        (header.seq == self.nxt) & (header.len > 0) & !header.flags.has_any(SLOW_PATH_FLAGS)
    }

    /// Everything up to `to` has arrived, in the [fast path](Self::is_fast_path).
    #[inline(always)]
    pub fn advance_to(&mut self, to: u64) {
        debug_assert!(self.is_fast_path());
        self.nxt = to;
    }

    /// Everything up to `to` has arrived, and possibly the data after it.
    #[inline(always)]
    pub fn advance(&mut self, to: u64) {
        self.nxt = to;
        if self.has_hole() || !self.sacks.is_empty() {
            self.close_holes(to);
        }
    }

    /// Moves data that follows `to` from out-of-order to in-order.
    #[inline(never)]
    fn close_holes(&mut self, to: u64) {
        let filled = self.out_of_order.iter().take_while(|&&(from, _)| from <= to).count();
        for (_, end) in self.out_of_order.drain(..filled) {
            self.nxt = self.nxt.max(end);
        }
        let nxt = self.nxt;
        self.sacks.retain(|&(from, _)| from > nxt);
        self.count_waiting();
    }

    /// `block` arrived beyond a hole. The SACK option reports the block that it joins: if the stack `forgets` blocks,
    /// joined from the remembered ones only, as in Linux (`tcp_sack_new_ofo_skb`); otherwise from all out-of-order
    /// data.
    #[inline(always)]
    pub fn queue(&mut self, block: SeqRange, forgets: bool) {
        let payload = self.payload_of(block);
        if let (Some(last), Some(newest_sack)) = (self.out_of_order.last_mut(), self.sacks.first_mut()) {
            // Mostly it extends the newest block, which is the highest.
            if last.1 == block.0 && last.1 == newest_sack.1 {
                (last.1, newest_sack.1) = (block.1, block.1);
                self.waiting += payload;
                return;
            }
        }
        self.merge(block, forgets);
        self.count_waiting();
    }

    #[inline(never)]
    fn merge(&mut self, block: SeqRange, forgets: bool) {
        let i = self.out_of_order.partition_point(|b| b.1 < block.0);
        if self.out_of_order.get(i).is_some_and(|b| b.0 <= block.0 && block.1 <= b.1) {
            self.pending_dsack = Some(block);
        }
        let merged = merge_at(&mut self.out_of_order, i, block);
        // The block with the newest segment comes first; those that it swallowed are removed.
        let reported = if forgets { self.merged_sack(block) } else { merged };
        self.sacks.retain(|b| b.1 < reported.0 || reported.1 < b.0);
        self.sacks.insert(0, reported);
        self.sacks.truncate(MAX_SACKS);
    }

    /// The SACK block that `block` becomes: first it extends the most recent one that it touches, then that swallows
    /// others (`tcp_sack_extend`, `tcp_sack_maybe_coalesce`).
    fn merged_sack(&self, block: SeqRange) -> SeqRange {
        let union = |a: SeqRange, b: SeqRange| (a.0.min(b.0), a.1.max(b.1));
        let first = self.sacks.get(self.touched_by(block)).map_or(block, |&touched| union(block, touched));
        let touches = |a: SeqRange, b: SeqRange| a.0 <= b.1 && b.0 <= a.1;
        self.sacks.iter().fold(first, |merged, &b| if touches(merged, b) { union(merged, b) } else { merged })
    }

    /// Index of the most recent SACK block that `block` touches; the number of blocks if none.
    pub fn touched_by(&self, (seq, end): SeqRange) -> usize {
        let touching = self.sacks.iter().position(|b| seq <= b.1 && b.0 <= end);
        touching.unwrap_or(self.sacks.len())
    }

    /// The SACK option if there are blocks and no duplicate to report.
    #[inline(always)]
    pub fn most_recent(&self) -> Sack {
        Sack::of(&self.sacks)
    }

    /// Fills in the SACK option; a duplicate is reported once, before the others.
    #[inline(always)]
    pub fn fill_sack(&mut self, sack: &mut Sack) {
        if let Some(duplicate) = self.pending_dsack.take() {
            sack.push(duplicate);
        }
        self.sacks.iter().for_each(|&block| sack.push(block));
    }

    /// Discards a duplicate, which cannot be reported without SACK.
    #[inline]
    pub fn forget_duplicate(&mut self) {
        self.pending_dsack = None;
    }
}

/// Merges `block` into sorted disjoint blocks; `i` is the first that ends at or after its start. Returns the merged
/// block.
fn merge_at(blocks: &mut Vec<SeqRange>, i: usize, mut block: SeqRange) -> SeqRange {
    let overlapping = blocks[i..].iter().take_while(|b| b.0 <= block.1).count();
    for b in &blocks[i..i + overlapping] {
        block = (block.0.min(b.0), block.1.max(b.1));
    }
    if overlapping == 0 {
        blocks.insert(i, block);
    } else {
        blocks[i] = block;
        blocks.drain(i + 1..i + overlapping);
    }
    block
}

/// Flags that need the slow path.
const SLOW_PATH_FLAGS: Flags = Flags::SYN.with(Flags::FIN).with(Flags::CWR);

/// Linux keeps four blocks, and sends those that fit.
const MAX_SACKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, len: u16) -> Header {
        Header { seq, len, flags: Flags::ACK, ..Header::default() }
    }

    fn sack_blocks(reassembly: &mut Reassembly) -> Vec<SeqRange> {
        let mut sack = Sack::default();
        reassembly.fill_sack(&mut sack);
        sack.blocks().to_vec()
    }

    #[test]
    fn a_segment_is_next_beyond_or_a_duplicate() {
        let mut reassembly = Reassembly::new();
        assert_eq!((reassembly.open(), reassembly.open()), (true, false));
        reassembly.advance(1_001);
        let places =
            [(1, 1000), (1, 1001), (1001, 7), (1002, 7)].map(|(seq, len)| reassembly.classify(&segment(seq, len)));
        assert_eq!(places, [Placement::Duplicate, Placement::InOrder, Placement::InOrder, Placement::OutOfOrder]);
        assert_eq!(sack_blocks(&mut reassembly), [(1, 1001)], "half of the second was there, the first is forgotten");
        assert_eq!(sack_blocks(&mut reassembly), []);
        reassembly.classify(&segment(1, 10));
        reassembly.forget_duplicate();
        assert_eq!(sack_blocks(&mut reassembly), []);
    }

    #[test]
    fn blocks_are_told_most_recent_first_and_go_as_the_hole_is_filled() {
        let mut reassembly = Reassembly::new();
        reassembly.open();
        for block in [(2000, 3000), (5000, 6000), (3000, 4000), (8000, 8100), (10_000, 11_000), (12_000, 13_000)] {
            reassembly.queue(block, false);
        }
        assert_eq!(reassembly.touched_by((4000, 4500)), 3);
        assert_eq!(reassembly.touched_by((9000, 9500)), 4, "none");
        assert_eq!(sack_blocks(&mut reassembly), [(12_000, 13_000), (10_000, 11_000), (8000, 8100)]);
        assert_eq!((reassembly.waiting(), reassembly.has_hole()), (5_100, true));
        reassembly.advance(8_000);
        assert_eq!((reassembly.nxt(), reassembly.waiting()), (8_100, 2_000));
        assert_eq!(sack_blocks(&mut reassembly), [(12_000, 13_000), (10_000, 11_000)]);
    }

    #[test]
    fn a_segment_joins_the_blocks_that_are_remembered_or_all_that_has_arrived() {
        let sack_blocks = |forgets| {
            let mut reassembly = Reassembly::new();
            reassembly.open();
            // The first of five blocks is forgotten; the segment after it touches the first and the second.
            for n in 1..=5 {
                reassembly.queue((n * 2_000, n * 2_000 + 1_000), forgets);
            }
            reassembly.queue((3_000, 4_000), forgets);
            let first = reassembly.sacks[0];
            assert_eq!(reassembly.out_of_order[0], (2_000, 5_000));
            (first, reassembly.sacks.len())
        };
        assert_eq!((sack_blocks(true), sack_blocks(false)), (((3_000, 5_000), 4), ((2_000, 5_000), 4)));
    }
}
