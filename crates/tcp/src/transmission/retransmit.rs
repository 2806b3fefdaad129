//! Retransmission: segment by segment, or, in stacks whose bursts follow the rate, whole bursts.
//!
//! Source: Linux `tcp_xmit_retransmit_queue`, `tcp_retransmit_skb`.

use super::Transmission;
use crate::control::Control;
use crate::rate_sample::SendCounts;
use crate::recovery::{Episode, Recovery, Walk};
use crate::scoreboard::Scoreboard;
use crate::segment::Tags;
use crate::timer::TimerPurpose;
use crate::{HostTime, Wire};

impl Transmission {
    /// Retransmits segments marked lost, as a window of `cwnd` allows.
    #[inline(always)]
    pub fn retransmit_lost(
        &mut self,
        now: HostTime,
        cwnd: u32,
        (control, recovery): (&Control, &mut Recovery),
        wire: &mut impl Wire,
    ) {
        if self.is_basic_stack {
            return self.retransmit_lost_plain(now, cwnd, recovery, wire);
        }
        // If the pacer holds, nothing can be sent. Only the forward walk has side effects at each call.
        if recovery.walks_forward() || !self.is_held(now) {
            let together = |tx: &Self, i, episode: &_| tx.burst_len(i, cwnd, control, episode);
            self.retransmit_as_allowed::<false>((now, cwnd), together, recovery, wire);
        }
    }

    /// [`Self::retransmit_lost`] without pacer or bursts, and without a walk that would find nothing.
    #[inline(always)]
    fn retransmit_lost_plain(&mut self, now: HostTime, cwnd: u32, recovery: &mut Recovery, wire: &mut impl Wire) {
        if !recovery.has_no_retransmission(cwnd, &self.queue, self.right_edge(), &mut self.board) {
            self.retransmit_as_allowed::<true>((now, cwnd), |_, _, _| 1, recovery, wire);
        }
    }

    #[inline(never)]
    fn retransmit_as_allowed<const PLAIN: bool>(
        &mut self,
        (now, cwnd): (HostTime, u32),
        together: impl Fn(&Self, usize, &Episode) -> u32,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        match recovery.walk(&self.queue, self.right_edge(), &mut self.board) {
            Walk::Lost(mut walk) => {
                self.follow::<PLAIN>((|board| walk.next(cwnd, board), together), now, recovery, wire);
            }
            Walk::Forward(mut walk) => {
                self.follow::<PLAIN>((|board| walk.next(cwnd, board), together), now, recovery, wire);
            }
        }
    }

    /// Retransmits the segments that a walk finds, and those `together` with them; `PLAIN` stacks skip pacer and
    /// device.
    #[inline(always)]
    fn follow<const PLAIN: bool>(
        &mut self,
        (mut next, together): (impl FnMut(&mut Scoreboard) -> Option<usize>, impl Fn(&Self, usize, &Episode) -> u32),
        now: HostTime,
        recovery: &mut Recovery,
        wire: &mut impl Wire,
    ) {
        let mut head_sent = false;
        while PLAIN || (!self.is_held(now) && !self.is_full_below(now, self.queue.mss(), 1, wire)) {
            let Some(i) = next(&mut self.board) else { break };
            match PLAIN {
                true => self.retransmit_plain(i, now, &mut recovery.episode, wire),
                false => {
                    let segments = together(self, i, &recovery.episode);
                    self.retransmit((i, segments), now, &mut recovery.episode, wire);
                }
            }
            head_sent |= i == 0;
        }
        if head_sent && self.timer.purpose() != TimerPurpose::Reordering {
            self.timer.restart(now, &self.rtt);
        }
    }

    /// Retransmits `segments` segments from segment `i` on, as one burst.
    pub fn retransmit(
        &mut self,
        (i, segments): (usize, u32),
        now: HostTime,
        episode: &mut Episode,
        wire: &mut impl Wire,
    ) {
        (i..i + segments as usize).for_each(|i| self.count_retransmission(i, now, episode));
        self.retransmit_uncounted((i, segments), now, episode, wire);
    }

    /// Retransmits segment `i` in a plain stack.
    #[inline(always)]
    fn retransmit_plain(&mut self, i: usize, now: HostTime, episode: &mut Episode, wire: &mut impl Wire) {
        self.count_retransmission(i, now, episode);
        let segment = self.board.retransmit(i, now.at);
        self.bursts.on_sent(now.at);
        self.output.retransmit(&segment, self.ecn.of_retransmission(), now, wire);
    }

    /// Counts the retransmission of segment `i`, which is marked lost.
    #[inline(always)]
    fn count_retransmission(&mut self, i: usize, now: HostTime, episode: &mut Episode) {
        self.board.on_retransmitted(i, self.queue.nxt());
        episode.undo.on_retransmission(now.tick);
        if episode.is_reducing() {
            episode.reduction.on_sent(1);
        }
    }

    /// Retransmits `segments` segments from segment `first` on that are not marked lost, as a probe does. Splits them
    /// from their original burst.
    pub fn retransmit_uncounted(
        &mut self,
        (first, segments): (usize, u32),
        now: HostTime,
        episode: &mut Episode,
        wire: &mut impl Wire,
    ) {
        let behind = first + segments as usize;
        self.board.split_before(first);
        self.board.split_before(behind);
        let begins = self.next_start(wire);
        let is_joined = self.has_gso && segments > 1;
        if is_joined {
            wire.begin_burst();
        }
        let payload = (first..behind).map(|i| self.retransmit_segment(i, now, episode, wire)).sum();
        if is_joined {
            wire.end_burst();
        }
        self.on_handed_down(now, begins, (segments, payload), wire);
        self.pace_burst(now, segments, payload);
    }

    /// Retransmits a segment of a burst; returns its payload.
    fn retransmit_segment(&mut self, i: usize, now: HostTime, episode: &mut Episode, wire: &mut impl Wire) -> u64 {
        let now = self.stamp(now, wire);
        let segment = self.board.retransmit(i, now.at);
        if let Some(rack) = &mut episode.rack {
            rack.on_sent(&segment);
        }
        self.bursts.on_sent(now.at);
        if let Some(sampler) = &mut self.sampler {
            // A probe is sent in addition to the original, which is not marked lost.
            let beside = !segment.tags.any(Tags::RETRANS) as u32;
            let (out, in_flight) = (self.board.packets_out(), self.board.in_flight() + beside);
            sampler.on_sent(&segment, SendCounts { out, in_flight, lost: self.board.lost_total });
        }
        self.output.retransmit(&segment, self.ecn.of_retransmission(), now, wire);
        segment.len.into()
    }
}
