//! What a sender sends again.
//!
//! Source: Linux `tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`.

use super::Transmission;
use crate::rate_sample::Sent;
use crate::recovery::{Episode, Recovery, Walk};
use crate::scoreboard::Scoreboard;
use crate::segment::Tags;
use crate::timer::Purpose;
use crate::{Now, Wire};

impl Transmission {
    /// Sends again what recovery believes lost, as a window of `cwnd` allows.
    #[inline]
    pub fn retransmit_lost(&mut self, now: Now, cwnd: u32, recovery: &mut Recovery, wire: &mut impl Wire) {
        // A pacer that holds leaves no more to do, but for the walk that begins anew with every look.
        if recovery.walks_forward() || !self.is_held(now) {
            self.retransmit_as_allowed::<false>(now, cwnd, recovery, wire);
        }
    }

    /// The same where there is no pacer, without a walk that would find nothing.
    #[inline(always)]
    pub(super) fn retransmit_lost_plain(&mut self, now: Now, cwnd: u32, recovery: &mut Recovery, wire: &mut impl Wire) {
        if !recovery.sends_nothing_again(cwnd, &self.queue, self.right_edge(), &mut self.board) {
            self.retransmit_as_allowed::<true>(now, cwnd, recovery, wire);
        }
    }

    #[inline(never)]
    fn retransmit_as_allowed<const PLAIN: bool>(
        &mut self,
        now: Now,
        cwnd: u32,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        match recovery.walk(&self.queue, self.right_edge(), &mut self.board) {
            Walk::Marked(mut walk) => self.follow::<PLAIN>(|board| walk.next(cwnd, board), now, recovery, wire),
            Walk::AndUnmissed(mut walk) => self.follow::<PLAIN>(|board| walk.next(cwnd, board), now, recovery, wire),
        }
    }

    /// Sends again what a walk finds, without a look at pacer and device in a stack that is `PLAIN`.
    #[inline(always)]
    fn follow<const PLAIN: bool>(
        &mut self,
        mut next: impl FnMut(&mut Scoreboard) -> Option<usize>,
        now: Now,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        let mut head_sent = false;
        while PLAIN || (!self.is_held(now) && !self.is_full_below(now, self.queue.mss(), 1, wire)) {
            let Some(i) = next(&mut self.board) else { break };
            match PLAIN {
                true => self.retransmit_here::<true>(i, now, &mut recovery.episode, wire),
                false => self.retransmit(i, now, &mut recovery.episode, wire),
            }
            head_sent |= i == 0;
        }
        if head_sent && self.timer.purpose() != Purpose::Reordering {
            self.timer.restart(now, &self.rtt);
        }
    }

    /// Sends segment `i` of the queue again.
    pub fn retransmit(&mut self, i: usize, now: Now, episode: &mut Episode, wire: &mut impl Wire) {
        self.retransmit_here::<false>(i, now, episode, wire);
    }

    /// The same, compiled into the caller.
    #[inline(always)]
    fn retransmit_here<const PLAIN: bool>(&mut self, i: usize, now: Now, episode: &mut Episode, wire: &mut impl Wire) {
        self.board.retransmitted(i, self.queue.nxt());
        episode.undo.on_retransmission(now.tick);
        if episode.is_reducing() {
            episode.reduction.sent(1);
        }
        if PLAIN {
            let segment = self.board.resent(i, now.at);
            self.bursts.on_sent(now.at);
            self.output.again(&segment, self.ecn.of_retransmission(), now, wire);
        } else {
            self.retransmit_uncounted(i, now, episode, wire);
        }
    }

    /// Sends segment `i` again without believing it lost, as a probe does.
    pub fn retransmit_uncounted(&mut self, i: usize, now: Now, episode: &mut Episode, wire: &mut impl Wire) {
        let now = self.stamp(now, wire);
        let segment = self.board.resent(i, now.at);
        if let Some(rack) = &mut episode.rack {
            rack.on_sent(&segment);
        }
        self.bursts.on_sent(now.at);
        if let Some(sampler) = &mut self.sampler {
            // A probe is sent beside the original, which is not believed lost.
            let beside = !segment.tags.any(Tags::RETRANS) as u32;
            let (out, in_flight) = (self.board.packets_out(), self.board.in_flight() + beside);
            sampler.on_sent(&segment, Sent { out, in_flight, lost: self.board.lost_total });
        }
        let begins = self.next_begins(wire);
        self.output.again(&segment, self.ecn.of_retransmission(), now, wire);
        self.handed_down(now, begins, 1, segment.len.into(), wire);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_burst(now.at, 1, segment.len as u64);
        }
    }
}
