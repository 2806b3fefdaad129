//! The retransmission queue and its SACK scoreboard.
//!
//! Source: Linux `net/ipv4/tcp_input.c` (`tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`, `tcp_mark_head_lost`,
//! `tcp_mark_lost_retrans`); the counters have its names. Positions count from the oldest unacknowledged segment. The
//! hints survive acknowledgments because they are sequence numbers.

mod holes;
mod log;
mod marks;
mod next;
mod pieces;
#[cfg(test)]
mod tests;

use self::log::LossLog;
use crate::SeqRange;
use crate::kind::AckKind;
use crate::segment::LossMark;
use crate::segment::{AckedSegments, SackedSegments, Segment, Tags};
use sojourn_aqm::Instant;
use sojourn_aqm::deque::Deque;

/// The retransmission queue and the tags of its segments. Fields used for every segment come first and share a cache
/// line.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Scoreboard {
    /// Grows with the window: with many flows most windows are small.
    segments: Deque<Segment>,
    pub sacked_out: u32,
    pub lost_out: u32,
    pub retrans_out: u32,
    /// Number of packets from the oldest up to the highest SACKed one.
    pub fackets_out: u32,
    /// Whether SACK is in use; otherwise `sacked_out` counts duplicate acknowledgments.
    sack: bool,
    /// End of the highest retransmitted segment.
    rexmit_high: u64,
    /// Start of the next retransmission walk.
    pub retransmit_hint: Option<u64>,
    /// End of the highest SACKed segment.
    pub highest_sack: u64,
    /// Segments that start below this are already marked.
    lost_hint: u64,
    /// Lowest `retrans_nxt` of the retransmissions in flight.
    lost_retrans_low: u64,
    /// End of the highest segment marked lost.
    pub retransmit_high: u64,
    /// Total of segments marked lost. With RACK, segments lost again count again; without, those of a time-out do not
    /// count.
    pub lost_total: u64,
    /// Blocks of the last acknowledgment, whose segments are tagged.
    last_blocks: [SeqRange; 3],
    /// Loss marks, for a host that observes the sender.
    log: LossLog,
}

cloned_in_place! {
    Scoreboard {
        segments, sacked_out, lost_out, retrans_out, fackets_out, sack, rexmit_high, retransmit_hint, highest_sack, lost_hint,
        lost_retrans_low, retransmit_high, lost_total, last_blocks, log,
    }
}

impl Scoreboard {
    /// An empty queue.
    pub fn new(sack: bool) -> Self {
        Self {
            segments: Deque::new(),
            sack,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            lost_total: 0,
            fackets_out: 0,
            highest_sack: 0,
            retransmit_hint: None,
            retransmit_high: 0,
            rexmit_high: 0,
            lost_hint: 0,
            lost_retrans_low: 0,
            last_blocks: [(0, 0); 3],
            log: LossLog::default(),
        }
    }

    /// Takes the segments' memory from a queue that is no longer used. Of a long queue only a part is kept, so that
    /// with short-lived connections not every slot ends up with the memory of the largest one.
    pub fn take_memory(&mut self) -> Deque<Segment> {
        let mut memory = std::mem::take(&mut self.segments);
        memory.clear_to(MAX_REUSED_SEGMENTS);
        memory
    }

    /// Uses `memory`, which must be empty, for the segments of an empty queue.
    pub fn put_memory(&mut self, memory: Deque<Segment>) {
        debug_assert!(self.segments.is_empty() && memory.is_empty());
        self.segments = memory;
    }

    /// No SACK: losses are inferred from duplicate acknowledgments.
    #[inline]
    pub fn is_reno(&self) -> bool {
        !self.sack
    }

    #[inline(always)]
    pub fn push(&mut self, segment: Segment) {
        self.segments.push_back(segment);
    }

    pub fn packets_out(&self) -> u32 {
        self.segments.len() as u32
    }

    pub fn in_flight(&self) -> u32 {
        // Without SACK, the number of duplicates may exceed the number of outstanding segments.
        (self.packets_out() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }

    /// Number of new segments that may be sent until `cwnd` are [in flight](Self::in_flight).
    #[inline(always)]
    pub fn room(&self, cwnd: u32) -> u32 {
        let known = self.sacked_out + self.lost_out;
        if cwnd == 0 { 0 } else { (cwnd + known).saturating_sub(self.packets_out() + self.retrans_out) }
    }

    pub fn get(&self, i: usize) -> Option<&Segment> {
        self.segments.get(i)
    }

    /// Every segment, oldest first.
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.segments.iter()
    }

    pub fn head(&self) -> Option<&Segment> {
        self.segments.front()
    }

    pub fn has_recovery_state(&self) -> bool {
        self.sacked_out + self.lost_out + self.retrans_out > 0
    }

    /// Packets up to the highest SACKed one; without SACK the number of duplicates plus one.
    pub fn sacked_extent(&self) -> u32 {
        if self.is_reno() { self.sacked_out + 1 } else { self.fackets_out }
    }

    /// Whether a retransmission is in flight, or the oldest segment was ever retransmitted.
    pub fn any_retransmission_out(&self) -> bool {
        self.retrans_out > 0 || self.head_was_retransmitted()
    }

    /// Whether the oldest segment was ever retransmitted.
    pub fn head_was_retransmitted(&self) -> bool {
        self.head().is_some_and(|s| s.tags.any(Tags::EVER_RETRANS))
    }

    /// Without SACK: counts a duplicate acknowledgment. Returns the degree of reordering that it implies.
    pub fn add_duplicate(&mut self) -> u32 {
        self.sacked_out += 1;
        self.check_duplicates(0)
    }

    /// Without SACK: `acked` segments are acknowledged, which removes as many duplicates, less one. Returns the degree
    /// of reordering that this implies.
    pub fn remove_duplicates(&mut self, acked: u32) -> u32 {
        self.sacked_out = self.sacked_out.saturating_sub(acked - 1);
        self.check_duplicates(acked)
    }

    /// Without SACK: discards the duplicates counted so far.
    pub fn forget_duplicates(&mut self) {
        if self.is_reno() {
            self.sacked_out = 0;
        }
    }

    /// More duplicates than segments that can have caused them: some segments were late, not lost.
    fn check_duplicates(&mut self, acked: u32) -> u32 {
        let out = self.packets_out();
        let holes = self.lost_out.max(1).min(out);
        if self.sacked_out + holes <= out {
            return 0;
        }
        self.sacked_out = out - holes;
        out + acked
    }

    /// Position of the first segment that starts at or after `seq`.
    #[inline]
    pub fn position(&self, seq: u64) -> usize {
        let Some(head) = self.segments.front() else { return 0 };
        if seq <= head.seq {
            return 0;
        }
        // Full segments are equidistant; only a mixture of sizes needs the search.
        let guess = ((seq - head.seq) / head.len.max(1) as u64) as usize;
        if self.segments.get(guess).is_some_and(|s| s.seq == seq) {
            return guess;
        }
        self.search(seq)
    }

    #[inline(never)]
    fn search(&self, seq: u64) -> usize {
        self.segments.partition_point(|s| s.seq < seq)
    }

    /// Whether no segment that ends after `una` is tagged, in the state Open. Then nothing is marked lost and no
    /// retransmission is in flight, but an old acknowledgment may have carried a SACK, and a loss probe may have been a
    /// retransmission.
    #[inline(always)]
    pub fn is_untagged_from(&self, una: u64) -> bool {
        self.sack & (self.fackets_out == 0) & (self.rexmit_high <= una)
    }

    /// Removes segments acknowledged by `una`; calls `each` with every segment and its tags.
    #[inline(always)]
    pub fn acknowledge<K: AckKind>(&mut self, una: u64, mut each: impl FnMut(&Segment, Tags)) -> AckedSegments {
        let mut acked = AckedSegments::default();
        while let Some(segment) = self.segments.get(acked.packets as usize).filter(|s| s.end() <= una) {
            let known = Tags::SACKED.or(Tags::LOST).or(Tags::EVER_RETRANS);
            debug_assert!(!(K::FAST_PATH && segment.tags.any(known)), "the sender is calm");
            let tags = if K::FAST_PATH { Tags::default() } else { segment.tags };
            if tags.any(Tags::EVER_RETRANS) {
                self.retrans_out -= tags.any(Tags::RETRANS) as u32;
                acked.retransmitted = true;
                acked.retransmitted_behind_head |= acked.packets > 0;
            } else if !tags.any(Tags::SACKED) {
                acked.last_sent = segment.sent;
                acked.reordered_at.get_or_insert(acked.packets);
            }
            if self.sack {
                self.sacked_out -= tags.any(Tags::SACKED) as u32;
            }
            self.lost_out -= tags.any(Tags::LOST) as u32;
            each(segment, tags);
            acked.packets += 1;
        }
        self.segments.remove_front(acked.packets as usize);
        if !K::FAST_PATH {
            self.fackets_out = self.fackets_out.saturating_sub(acked.packets);
            // The next retransmission walk does not start below SND.UNA.
            if self.retransmit_hint.is_some_and(|seq| seq < una) {
                self.retransmit_hint = None;
            }
        }
        acked
    }

    /// Tags the segments in `blocks`, SACKed by an acknowledgment of `ack`; calls `each` with the position of every
    /// newly SACKed segment, and the segment before it is tagged.
    #[inline(always)]
    pub fn tag(
        &mut self,
        blocks: &[SeqRange],
        ack: u64,
        frto_highmark: u64,
        mut each: impl FnMut(usize, &Segment),
    ) -> SackedSegments {
        if let Some(i) = self.next_sacked(blocks, ack) {
            each(i, &self.segments[i]);
            return self.sack_next(i, blocks, frto_highmark);
        }
        self.tag_any(blocks, ack, frto_highmark, &mut each)
    }

    #[inline(never)]
    fn tag_any(
        &mut self,
        blocks: &[SeqRange],
        ack: u64,
        frto_highmark: u64,
        each: &mut impl FnMut(usize, &Segment),
    ) -> SackedSegments {
        match *blocks {
            // Fast path: most acknowledgments have one block, which is no D-SACK.
            [block] if block.0 >= ack => {
                let mut result = SackedSegments::default();
                self.tag_block(block, frto_highmark, &mut result, each);
                self.last_blocks = [block, (0, 0), (0, 0)];
                result
            }
            _ => self.tag_several(blocks, ack, frto_highmark, each),
        }
    }

    #[inline(never)]
    fn tag_several(
        &mut self,
        blocks: &[SeqRange],
        ack: u64,
        frto_highmark: u64,
        each: &mut impl FnMut(usize, &Segment),
    ) -> SackedSegments {
        let mut result = SackedSegments::default();
        let duplicate = reports_dsack(blocks, ack);
        result.duplicate = duplicate;
        let mut seen = [(0, 0); 3];
        if duplicate {
            self.clear_redundant(blocks[0]);
        }
        for (i, &block) in blocks.iter().enumerate().skip(duplicate as usize) {
            seen[i] = block;
        }
        // In sequence order: of two blocks with new segments the first in the header is the newest, not the lowest, so
        // header order would look like reordering.
        let mut ascending = seen;
        let ascending = &mut ascending[..blocks.len()];
        if blocks.len() > 1 {
            ascending.sort_unstable();
        }
        for &block in ascending.iter() {
            self.tag_block(block, frto_highmark, &mut result, each);
        }
        self.last_blocks = seen;
        result
    }

    /// Blocks grow at their ends: only the part that the last acknowledgment did not report is walked.
    #[inline(always)]
    fn tag_block(
        &mut self,
        block: SeqRange,
        frto_highmark: u64,
        result: &mut SackedSegments,
        each: &mut impl FnMut(usize, &Segment),
    ) {
        if block.0 >= block.1 {
            return;
        }
        match self.last_blocks.iter().find(|s| s.0 < s.1 && block.0 <= s.0 && s.1 <= block.1) {
            Some(&(from, to)) => {
                if block.0 < from {
                    self.tag_range((block.0, from), frto_highmark, result, each);
                }
                if to < block.1 {
                    self.tag_range((to, block.1), frto_highmark, result, each);
                }
            }
            None => self.tag_range(block, frto_highmark, result, each),
        }
    }

    /// Number of segments within a block that were ever retransmitted and end after `marker`.
    pub fn retransmitted_in(&self, (from, to): SeqRange, marker: u64) -> u32 {
        let inside = self.segments.iter_from(self.position(from)).take_while(|s| s.end() <= to);
        inside.filter(|s| s.tags.any(Tags::EVER_RETRANS) && s.end() > marker).count() as u32
    }

    /// Undoes the retransmission tag of the head.
    pub fn forget_head_retransmission(&mut self) {
        if let Some(head) = self.segments.get_mut(0).filter(|s| s.tags.any(Tags::RETRANS)) {
            head.tags.clear(Tags::RETRANS);
            self.retrans_out -= 1;
        }
    }

    /// Tags segment `i`, which is marked lost, as retransmitted.
    pub fn on_retransmitted(&mut self, i: usize, snd_nxt: u64) {
        let segment = &mut self.segments[i];
        if !segment.tags.any(Tags::RETRANS) {
            self.retrans_out += 1;
        }
        if self.retrans_out == 1 {
            self.lost_retrans_low = snd_nxt;
        }
        segment.tags.set(Tags::RETRANS);
        segment.retransmitted_at(snd_nxt);
    }

    /// Segment `i` is retransmitted now.
    pub fn retransmit(&mut self, i: usize, now: Instant) -> Segment {
        let segment = &mut self.segments[i];
        segment.tags.set(Tags::EVER_RETRANS);
        segment.sent = now;
        self.rexmit_high = self.rexmit_high.max(segment.end());
        *segment
    }

    pub fn forget_hints(&mut self) {
        self.retransmit_hint = None;
        self.lost_hint = 0;
    }

    /// Calls `each` with the marks since the last call. Marks are recorded from the first call on.
    pub fn take_log(&mut self, each: impl FnMut(LossMark)) {
        self.log.take(each);
    }

    #[inline(never)]
    fn tag_range(
        &mut self,
        (from, to): SeqRange,
        frto_highmark: u64,
        result: &mut SackedSegments,
        each: &mut impl FnMut(usize, &Segment),
    ) {
        let first = self.position(from);
        let mut i = first;
        while self.segments.get(i).is_some_and(|segment| segment.end() <= to) {
            self.tag_one(i, frto_highmark, result, each);
            i += 1;
        }
        self.split_before(first);
        self.split_before(i);
    }

    fn tag_one(
        &mut self,
        i: usize,
        frto_highmark: u64,
        result: &mut SackedSegments,
        each: &mut impl FnMut(usize, &Segment),
    ) {
        let segment = &mut self.segments[i];
        let tags = segment.tags;
        if tags.any(Tags::SACKED) {
            return;
        }
        each(i, segment);
        if tags.any(Tags::RETRANS) {
            // Not marked lost: the retransmission is assumed to be still in flight.
            if tags.any(Tags::LOST) {
                segment.tags.clear(Tags::LOST.or(Tags::RETRANS));
                self.lost_out -= 1;
                self.retrans_out -= 1;
            }
        } else {
            if !tags.any(Tags::EVER_RETRANS) {
                if segment.seq < self.highest_sack {
                    result.reordered_at = Some(result.reordered_at.map_or(i as u32, |at| at.min(i as u32)));
                }
                result.only_original |= segment.end() <= frto_highmark;
            }
            if tags.any(Tags::LOST) {
                segment.tags.clear(Tags::LOST);
                self.lost_out -= 1;
            }
        }
        segment.tags.set(Tags::SACKED);
        self.highest_sack = self.highest_sack.max(segment.end());
        self.sacked_out += 1;
        self.fackets_out = self.fackets_out.max(i as u32 + 1);
        result.new = true;
    }

    /// A D-SACK for data still in the queue: the retransmission was needless and is no longer in flight.
    fn clear_redundant(&mut self, (from, to): SeqRange) {
        for i in self.position(from)..self.segments.len() {
            let segment = &mut self.segments[i];
            if segment.end() > to {
                break;
            }
            if segment.tags.any(Tags::RETRANS) && segment.tags.any(Tags::SACKED) {
                segment.tags.clear(Tags::RETRANS);
                self.retrans_out -= 1;
            }
        }
    }
}

/// RFC 2883 §4: the first block lies below the acknowledgment, or inside the second block.
#[inline]
pub(crate) fn reports_dsack(blocks: &[SeqRange], ack: u64) -> bool {
    match blocks {
        [first, ..] if first.0 < ack => true,
        [first, second, ..] => second.0 <= first.0 && first.1 <= second.1,
        _ => false,
    }
}

/// Maximum segments of memory that an ended connection leaves to its successor: 4 kB.
const MAX_REUSED_SEGMENTS: usize = 128;
