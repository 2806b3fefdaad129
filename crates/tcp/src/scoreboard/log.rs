//! Log of loss marks, for a host that observes the sender.

use crate::segment::LossMark;
use crate::segment::{Segment, Tags};

/// Unreported marks; none are recorded before the first call of [`Self::take`].
#[derive(Clone, Debug, Default)]
pub(super) struct LossLog(Option<Vec<LossMark>>);

impl LossLog {
    /// The original transmission is lost.
    pub fn original_lost(&mut self, segment: &Segment) {
        self.push(|| LossMark::Original((segment.seq, segment.end())));
    }

    /// The retransmission is lost.
    pub fn retransmission_lost(&mut self, segment: &Segment) {
        self.push(|| LossMark::Retransmission((segment.seq, segment.end())));
    }

    /// A time-out is about to mark the segment lost, except for a retransmission that stays in flight.
    pub fn all_lost(&mut self, segment: &Segment, retransmission_stays: bool) {
        if !segment.tags.any(Tags::LOST.or(Tags::SACKED)) {
            self.original_lost(segment);
        }
        if segment.tags.any(Tags::RETRANS) && !retransmission_stays {
            self.retransmission_lost(segment);
        }
    }

    /// All loss marks from `head` on are cleared.
    pub fn cleared(&mut self, head: Option<&Segment>) {
        self.push(|| LossMark::Cleared(head.map_or(0, |head| head.seq)));
    }

    /// Calls `each` with the marks since the last call.
    pub fn take(&mut self, each: impl FnMut(LossMark)) {
        self.0.get_or_insert_default().drain(..).for_each(each);
    }

    #[inline]
    fn push(&mut self, loss: impl FnOnce() -> LossMark) {
        if let Some(kept) = &mut self.0 {
            kept.push(loss());
        }
    }
}
