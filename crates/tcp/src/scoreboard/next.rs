//! Fast path for the most frequent SACK while a hole is open: the next segment above everything that has arrived. The
//! general path of [`Scoreboard::tag`] gives the same result; this one neither sorts blocks nor walks segments.

use super::{Scoreboard, reports_dsack};
use crate::SeqRange;
use crate::segment::{SackedSegments, Tags};

impl Scoreboard {
    /// Position of the only segment that the blocks of a duplicate acknowledgment of `una` newly report, if it has no
    /// tags and nothing above it has arrived; `None` for all other SACKs.
    #[inline(always)]
    pub(super) fn next_sacked(&self, blocks: &[SeqRange], una: u64) -> Option<usize> {
        let (&(first, end), others) = blocks.split_first()?;
        // The most recent block has grown at its end, or a new one precedes the known ones.
        let grown = first == self.last_blocks[0].0;
        let (from, known) =
            if grown { (self.last_blocks[0].1, &self.last_blocks[1..]) } else { (first, &self.last_blocks[..]) };
        if reports_dsack(blocks, una)
            || from < self.highest_sack
            || others.iter().zip(known).any(|(block, prior)| block != prior)
        {
            return None;
        }
        // Without a division if it follows the highest.
        let i = if from == self.highest_sack { self.fackets_out as usize } else { self.position(from) };
        let segment = self.segments.get(i)?;
        ((segment.end() == end) & (segment.tags == Tags::default())).then_some(i)
    }

    /// Tags the segment in position `i` after [`Self::next_sacked`].
    #[inline(always)]
    pub(super) fn sack_next(&mut self, i: usize, blocks: &[SeqRange], frto_highmark: u64) -> SackedSegments {
        let segment = &mut self.segments[i];
        segment.tags.set(Tags::SACKED);
        self.highest_sack = segment.end();
        self.sacked_out += 1;
        self.fackets_out = i as u32 + 1;
        self.last_blocks = std::array::from_fn(|n| blocks.get(n).copied().unwrap_or_default());
        self.split_before(i + 1);
        SackedSegments { new: true, only_original: self.highest_sack <= frto_highmark, ..SackedSegments::default() }
    }
}
