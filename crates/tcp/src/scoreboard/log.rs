//! What was marked lost, for a host that watches the sender.

use crate::segment::LossMark;
use crate::segment::{Segment, Tags};

/// Marks that were not told yet; none are kept before somebody has asked.
#[derive(Clone, Debug, Default)]
pub(super) struct LossLog(Option<Vec<LossMark>>);

impl LossLog {
    /// The segment is lost as it was sent first.
    pub fn first(&mut self, segment: &Segment) {
        self.push(|| LossMark::Original((segment.seq, segment.end())));
    }

    /// Its retransmission is lost.
    pub fn again(&mut self, segment: &Segment) {
        self.push(|| LossMark::Retransmission((segment.seq, segment.end())));
    }

    /// A time-out is going to take the segment for lost, but for a retransmission that stays in flight.
    pub fn all_lost(&mut self, segment: &Segment, retransmission_stays: bool) {
        if !segment.tags.any(Tags::LOST.or(Tags::SACKED)) {
            self.first(segment);
        }
        if segment.tags.any(Tags::RETRANS) && !retransmission_stays {
            self.again(segment);
        }
    }

    /// Nothing is lost of what begins with `head`.
    pub fn none(&mut self, head: Option<&Segment>) {
        self.push(|| LossMark::Cleared(head.map_or(0, |head| head.seq)));
    }

    /// Gives `each` what was marked since the last call.
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
