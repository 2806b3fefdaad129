//! Segments that left together stay together: what Linux keeps of a burst is one `sk_buff`, and it is sent again as one burst,
//! as far as nothing has parted it.
//!
//! Source: Linux 6.1 `tcp_retransmit_skb`, `tcp_match_skb_to_sack`, `tcp_send_loss_probe` (each calls `tcp_fragment`).

use super::Scoreboard;
use crate::segment::Tags;

impl Scoreboard {
    /// The last segment left in one burst with the one before.
    pub fn join_last(&mut self) {
        if let Some(last) = self.segments.back_mut() {
            last.tags.set(Tags::FOLLOWS);
        }
    }

    /// From now on segment `i` does not belong to the one before.
    #[inline]
    pub fn part_at(&mut self, i: usize) {
        if let Some(segment) = self.segments.get_mut(i) {
            segment.tags.clear(Tags::FOLLOWS);
        }
    }

    /// How many segments, up to `most`, belong together from segment `i` on, which is lost and not sent again yet.
    pub fn piece(&self, i: usize, most: u32) -> u32 {
        let known = Tags::LOST.or(Tags::SACKED).or(Tags::RETRANS);
        let follows = |tags: Tags| tags.any(Tags::FOLLOWS) && tags.only(known) == Tags::LOST;
        let behind = (1..most).take_while(|&n| self.get(i + n as usize).is_some_and(|segment| follows(segment.tags)));
        1 + behind.count() as u32
    }
}
