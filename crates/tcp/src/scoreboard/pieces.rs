//! Bursts in the retransmission queue: Linux keeps a burst as one `sk_buff` and retransmits it as one burst, unless
//! something has split it. Differs: the parts of a split skb take no more memory in the send buffer, and
//! retransmissions carry no PSH.
//!
//! Source: Linux 6.1 `tcp_retransmit_skb`, `tcp_match_skb_to_sack`, `tcp_send_loss_probe` (each calls `tcp_fragment`).

use super::Scoreboard;
use crate::segment::Tags;

impl Scoreboard {
    /// The last segment left in one burst with the one before.
    pub fn join_to_burst(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.tags.set(Tags::FOLLOWS);
        }
    }

    /// Splits a burst before segment `i`.
    #[inline]
    pub fn split_before(&mut self, i: usize) {
        if let Some(segment) = self.segments.get_mut(i) {
            segment.tags.clear(Tags::FOLLOWS);
        }
    }

    /// Number of segments, up to `max`, that form one burst from segment `i` on, which is lost and not retransmitted
    /// yet.
    pub fn burst_len(&self, i: usize, max: u32) -> u32 {
        let known = Tags::LOST.or(Tags::SACKED).or(Tags::RETRANS);
        let follows = |tags: Tags| tags.any(Tags::FOLLOWS) && tags.only(known) == Tags::LOST;
        let behind = (1..max).take_while(|&n| self.get(i + n as usize).is_some_and(|segment| follows(segment.tags)));
        1 + behind.count() as u32
    }
}
