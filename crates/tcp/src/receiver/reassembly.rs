//! What has arrived: in order, beyond a hole, twice; and what the SACK option tells of it.
//!
//! Source: Linux `tcp_data_queue`, `tcp_data_queue_ofo`, `tcp_sack_new_ofo_skb`; RFC 2018, RFC 2883.

use crate::{FIRST_BYTE, Flags, Header, Sack, SeqRange};

/// The receive sequence and what lies beyond it. In this order, so that
/// what every segment is asked for lies together.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Reassembly {
    nxt: u64,
    /// Sequence number of the FIN; beyond all others until it arrives.
    fin: u64,
    /// Bytes of `out_of_order`, without the FIN.
    waiting: u64,
    pending_dsack: Option<SeqRange>,
    /// What arrived beyond `nxt`, in order of sequence, disjoint.
    out_of_order: Vec<SeqRange>,
    /// SACK blocks, most recent first.
    sacks: Vec<SeqRange>,
}

cloned_in_place! { Reassembly { nxt, fin, waiting, pending_dsack, out_of_order, sacks } }

/// What became of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Placement {
    /// Nothing of it is new.
    Duplicate,
    /// It lies beyond a hole.
    OutOfOrder,
    /// It is the next one, or a part of it is.
    InOrder,
}

impl Reassembly {
    /// Nothing has arrived.
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

    /// Whether something waits for others before it.
    #[inline]
    pub fn has_hole(&self) -> bool {
        !self.out_of_order.is_empty()
    }

    /// Bytes in order.
    pub fn delivered(&self) -> u64 {
        self.nxt.min(self.fin).saturating_sub(FIRST_BYTE)
    }

    /// Bytes that wait for others before them, each counted once.
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

    /// Where a segment with data or a FIN belongs; what has been there before is noted as a duplicate (RFC 2883).
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

    /// Whether nothing waits, is to be told, or will be the last, so that what [is next](Self::is_next) has no more to it.
    pub fn is_fast_path(&self) -> bool {
        !self.has_hole() && self.sacks.is_empty() && self.pending_dsack.is_none() && self.fin == u64::MAX
    }

    /// Whether nothing but holes is to be thought of, and the newest segment lies behind all others.
    pub fn is_sack_fast_path(&self) -> bool {
        let (last, told) = (self.out_of_order.last(), self.sacks.first());
        let ends = |block: &SeqRange| block.1;
        self.pending_dsack.is_none() && self.fin == u64::MAX && last.is_some() && last.map(ends) == told.map(ends)
    }

    /// Whether a segment of data is the next one behind all others, where that [is calm](Self::is_calm_but_for_holes).
    #[inline(always)]
    pub fn extends_newest_block(&self, header: &Header) -> bool {
        let follows = self.out_of_order.last().is_some_and(|last| last.1 == header.seq);
        follows & (header.len > 0) & !header.flags.has_any(TOLD)
    }

    /// Whether a segment of data is the next one.
    #[inline(always)]
    pub fn is_next(&self, header: &Header) -> bool {
        (header.seq == self.nxt) & (header.len > 0) & !header.flags.has_any(TOLD)
    }

    /// Everything up to `to` has arrived, where that [is calm](Self::is_calm).
    #[inline(always)]
    pub fn advance_to(&mut self, to: u64) {
        debug_assert!(self.is_fast_path());
        self.nxt = to;
    }

    /// Everything up to `to` has arrived, and what followed on it.
    #[inline(always)]
    pub fn advance(&mut self, to: u64) {
        self.nxt = to;
        if self.has_hole() || !self.sacks.is_empty() {
            self.close_holes(to);
        }
    }

    /// What follows on `to`, up to which everything has arrived, is in order now.
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

    /// `block` lies beyond a hole. The SACK option tells what it joins: of the blocks that the option remembers if it `forgets`
    /// others, else of all that has arrived.
    #[inline(always)]
    pub fn queue(&mut self, block: SeqRange, forgets: bool) {
        let payload = self.payload_of(block);
        if let (Some(last), Some(newest_sack)) = (self.out_of_order.last_mut(), self.sacks.first_mut()) {
            // Mostly it goes on where the newest one ended, behind all others.
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
        // The block that holds the newest segment comes first; what it swallowed goes.
        let reported = if forgets { self.merged_sack(block) } else { merged };
        self.sacks.retain(|b| b.1 < reported.0 || reported.1 < b.0);
        self.sacks.insert(0, reported);
        self.sacks.truncate(MAX_SACKS);
    }

    /// What `block` makes of the SACK blocks: first it extends the most recent that it touches, then that takes in others
    /// (`tcp_sack_extend`, `tcp_sack_maybe_coalesce`).
    fn merged_sack(&self, block: SeqRange) -> SeqRange {
        let union = |a: SeqRange, b: SeqRange| (a.0.min(b.0), a.1.max(b.1));
        let first = self.sacks.get(self.touched_by(block)).map_or(block, |&touched| union(block, touched));
        let touches = |a: SeqRange, b: SeqRange| a.0 <= b.1 && b.0 <= a.1;
        self.sacks.iter().fold(first, |merged, &b| if touches(merged, b) { union(merged, b) } else { merged })
    }

    /// Which of the SACK blocks `block` touches, from the most recent; else how many there are.
    pub fn touched_by(&self, (seq, end): SeqRange) -> usize {
        let touching = self.sacks.iter().position(|b| seq <= b.1 && b.0 <= end);
        touching.unwrap_or(self.sacks.len())
    }

    /// The SACK option while there is no duplicate to be told, and something else is.
    #[inline(always)]
    pub fn most_recent(&self) -> Sack {
        Sack::of(&self.sacks)
    }

    /// Fills in the SACK option; a duplicate is told once, before the others.
    #[inline(always)]
    pub fn fill_sack(&mut self, sack: &mut Sack) {
        if let Some(duplicate) = self.pending_dsack.take() {
            sack.push(duplicate);
        }
        self.sacks.iter().for_each(|&block| sack.push(block));
    }

    /// Without SACK a duplicate is not told.
    #[inline]
    pub fn forget_duplicate(&mut self) {
        self.pending_dsack = None;
    }
}

/// Adds `block` to sorted disjoint blocks; `i` is the first that ends at or after its start. Returns the block it became.
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

/// What a segment of data can tell besides.
const TOLD: Flags = Flags::SYN.with(Flags::FIN).with(Flags::CWR);

/// Linux keeps four blocks, of which those that fit are sent.
const MAX_SACKS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(seq: u64, len: u16) -> Header {
        Header { seq, len, flags: Flags::ACK, ..Header::default() }
    }

    fn told(reassembly: &mut Reassembly) -> Vec<SeqRange> {
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
        assert_eq!(told(&mut reassembly), [(1, 1001)], "half of the second was there, the first is forgotten");
        assert_eq!(told(&mut reassembly), []);
        reassembly.classify(&segment(1, 10));
        reassembly.forget_duplicate();
        assert_eq!(told(&mut reassembly), []);
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
        assert_eq!(told(&mut reassembly), [(12_000, 13_000), (10_000, 11_000), (8000, 8100)]);
        assert_eq!((reassembly.waiting(), reassembly.has_hole()), (5_100, true));
        reassembly.advance(8_000);
        assert_eq!((reassembly.nxt(), reassembly.waiting()), (8_100, 2_000));
        assert_eq!(told(&mut reassembly), [(12_000, 13_000), (10_000, 11_000)]);
    }

    #[test]
    fn a_segment_joins_the_blocks_that_are_remembered_or_all_that_has_arrived() {
        let told = |forgets| {
            let mut reassembly = Reassembly::new();
            reassembly.open();
            // The first of five blocks is forgotten; what comes behind it and before the second touches both.
            for n in 1..=5 {
                reassembly.queue((n * 2_000, n * 2_000 + 1_000), forgets);
            }
            reassembly.queue((3_000, 4_000), forgets);
            let first = reassembly.sacks[0];
            assert_eq!(reassembly.out_of_order[0], (2_000, 5_000));
            (first, reassembly.sacks.len())
        };
        assert_eq!((told(true), told(false)), (((3_000, 5_000), 4), ((2_000, 5_000), 4)));
    }
}
