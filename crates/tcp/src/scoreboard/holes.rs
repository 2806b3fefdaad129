//! ns-2's Sack1: every hole counts as a loss, and SACKs are discarded after each recovery.

use super::Scoreboard;
use crate::segment::Tags;

impl Scoreboard {
    /// Marks lost every segment below the highest SACK that is not SACKed.
    pub fn mark_holes(&mut self) {
        for i in 0..self.fackets_out as usize {
            self.mark_lost(i);
        }
    }

    /// Clears all tags: no segment is SACKed, lost or retransmitted.
    pub fn forget_recovery(&mut self) {
        self.log.cleared(self.segments.front());
        self.forget_sacks();
        self.segments.iter_mut().for_each(|segment| segment.tags.clear(Tags::LOST.or(Tags::RETRANS)));
        (self.lost_out, self.retrans_out) = (0, 0);
    }

    /// Clears all SACK tags.
    pub fn forget_sacks(&mut self) {
        if self.sacked_out > 0 {
            self.segments.iter_mut().for_each(|segment| segment.tags.clear(Tags::SACKED));
        }
        (self.sacked_out, self.fackets_out, self.highest_sack) = (0, 0, 0);
        self.last_blocks = Default::default();
        self.forget_hints();
    }
}
