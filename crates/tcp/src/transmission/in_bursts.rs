//! Transmission in bursts, spaced by pacing.
//!
//! Source: Linux `tcp_write_xmit`, `tcp_tso_autosize`.

use super::Transmission;
use crate::cc::BurstSize;
use crate::control::Control;
use crate::pacing::{self, Pacer};
use crate::rack::Rack;
use crate::rate_sample::RateSampler;
use crate::recovery::{Episode, Recovery};
use crate::segmentation::{BurstContext, SendDecision};
use crate::send_buffer::BUFFER;
use crate::state::CaState;
use crate::{HostTime, Wire};
#[cfg(test)]
use sojourn_aqm::Instant;

impl Transmission {
    /// Sends as far as the windows allow; if in bursts, at most `max_bursts`. A single one (`max_bursts` 1) is not
    /// deferred.
    #[inline(never)]
    pub(super) fn send_as_stack(
        &mut self,
        max_bursts: u32,
        now: HostTime,
        (control, recovery): (&mut Control, &mut Recovery),
        wire: &mut impl Wire,
    ) {
        let right_edge = self.right_edge();
        let first = self.queue.nxt();
        let mut limited = false;
        if self.bursts.are_used() {
            limited = self.send_bursts((right_edge, max_bursts), now, (control, &mut recovery.episode), wire);
        } else {
            let episode = &mut recovery.episode;
            while self.board.in_flight() < control.window.cwnd {
                let next = self.queue.next_len(right_edge).filter(|_| wire.has_room() && !self.is_held(now));
                let Some(len) = next else { break };
                self.send_one(len, now, (control, episode), wire);
            }
        }
        if control.usage.validates_every_send() || self.queue.is_app_exhausted() {
            self.after_sending_inline(now, self.queue.nxt() > first, limited, (control, recovery));
        }
    }

    /// The part of [`Self::send_as_stack`] that remains if pacing holds the next burst back.
    #[inline]
    pub(super) fn on_held_back(&mut self, now: HostTime, control: &mut Control, recovery: &mut Recovery) {
        let is_watched = control.usage.validates_every_send() || self.queue.is_app_exhausted();
        if is_watched && self.board.in_flight() >= control.window.cwnd {
            self.after_sending(now, false, true, (control, recovery));
        }
    }

    /// Sends at most `max_bursts` bursts within cwnd and rwnd. Returns whether the congestion window keeps something
    /// from being sent.
    #[inline(always)]
    fn send_bursts(
        &mut self,
        (right_edge, max_bursts): (u64, u32),
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) -> bool {
        let mut max = None;
        for _ in 0..max_bursts {
            if self.is_held(now) {
                break;
            }
            // Most calls find no room, and then need nothing else.
            let no_room = self.board.in_flight() >= control.window.cwnd;
            if no_room && !self.bursts.sends_beyond_window(&self.queue) {
                return true;
            }
            let first = self.queue.nxt();
            let decision = self.next_burst(right_edge, (&mut max, max_bursts == 1), now, (control, episode));
            let (segments, left, pushed) = match decision {
                SendDecision::Burst { segments, left, pushed } => (segments, left, pushed),
                SendDecision::WaitForWindow => return true,
                SendDecision::Wait => return false,
            };
            let payload = u64::from(segments) * u64::from(control.window.mss);
            if self.is_full_below(now, payload, 0, wire) {
                return false;
            }
            let end = self.buffer.as_ref().map_or(u64::MAX, |buffer| buffer.front_end());
            let begins = self.next_start(wire);
            if self.has_gso {
                wire.begin_burst();
            }
            let (mut sent, full) = (0, self.queue.full_segments(end.min(right_edge)));
            while sent < segments {
                let next = match sent {
                    _ if sent < full => Some(self.queue.mss() as u16),
                    0 => self.queue.next_len(right_edge),
                    _ => self.queue.next_len_in_burst(right_edge),
                };
                let Some(len) = next.filter(|_| wire.has_room()) else { break };
                let len = (end - self.queue.nxt()).min(len.into()) as u16;
                self.bursts.begin(sent, segments, (left, pushed));
                self.send_of_burst(len, now, (control, episode), wire);
                if sent > 0 {
                    self.board.join_to_burst();
                }
                sent += 1;
            }
            if self.has_gso {
                wire.end_burst();
            }
            self.on_handed_down(now, begins, (sent, self.queue.payload_since(first)), wire);
            self.bursts.end(sent, left);
            self.after_burst(now, sent, first);
            self.check_space(control, episode.reordering.degree());
            if sent < segments {
                return false;
            }
        }
        false
    }

    /// Decides about the next transmission, with bursts of up to `max` segments, which is computed at the first burst
    /// that needs it.
    #[inline(always)]
    fn next_burst(
        &mut self,
        right_edge: u64,
        (max, at_once): (&mut Option<u32>, bool),
        now: HostTime,
        (control, episode): (&Control, &Episode),
    ) -> SendDecision {
        let Self { bursts, queue, board, offered, rtt, buffer, pacer, sampler, rate, .. } = self;
        let ctx = BurstContext {
            at: now.at,
            window: &control.window,
            out: board.packets_out(),
            in_flight: board.in_flight(),
            queue,
            front: buffer.as_ref().and_then(|buffer| buffer.front(queue, control.window.mss)),
            right_edge,
            receive_window: offered.bytes(),
            head_sent: board.head().map(|head| head.sent),
            srtt: rtt.srtt(),
            in_recovery: episode.state >= CaState::Recovery,
            is_open: episode.state == CaState::Open,
            at_once,
        };
        let (pacer, sampler, rack) = (pacer.as_deref(), sampler.as_deref(), episode.rack.as_deref());
        bursts.next(&ctx, |bursts, ctx, wanted| match *max {
            Some(max) => max,
            None if pacer.is_none() && !bursts.follow_rate() => *max.insert(bursts.max_burst(ctx)),
            None => match control.cc.burst(pacer.and_then(|pacer| pacer.rate())) {
                // Most acknowledgments allow no more than the smallest burst.
                BurstSize::AtLeast(min_segments) if wanted <= min_segments => min_segments,
                size => *max.insert(size_by_rate(size, (pacer, *rate), (sampler, rack), control.window.mss)),
            },
        })
    }

    /// Sends the next new segment of a burst.
    #[inline(never)]
    pub(super) fn send_of_burst(
        &mut self,
        len: u16,
        now: HostTime,
        (control, episode): (&mut Control, &mut Episode),
        wire: &mut impl Wire,
    ) {
        let now = self.stamp(now, wire);
        self.send_next::<false>(len, now, (control, episode), wire);
    }

    /// A burst of `segments` was sent that began at `first`.
    #[inline]
    pub(super) fn after_burst(&mut self, now: HostTime, segments: u32, first: u64) {
        if let Some(buffer) = self.buffer.as_mut().filter(|_| segments > 0) {
            buffer.on_sent(self.queue.nxt());
        }
        if segments > 0 {
            self.pace_burst(now, segments, self.queue.payload_since(first));
        }
    }

    /// A burst of `segments` with `payload` bytes was sent or retransmitted.
    #[inline]
    pub(super) fn pace_burst(&mut self, now: HostTime, segments: u32, payload: u64) {
        if let Some(pacer) = &mut self.pacer {
            pacer.on_burst(now.at, segments, payload);
            // Deferral counts from the departure time of the next burst, also after a retransmission:
            // `tcp_tso_should_defer` compares with `tcp_wstamp_ns`.
            self.bursts.on_sent(pacer.departure());
        }
    }

    /// Number of segments to retransmit as one burst from segment `i` on, in a window of `cwnd`: those that left
    /// together, in stacks that keep them so.
    #[inline]
    pub(super) fn burst_len(&self, i: usize, cwnd: u32, control: &Control, episode: &Episode) -> u32 {
        if !self.bursts.follow_rate() {
            return 1;
        }
        let piece = self.board.burst_len(i, cwnd.saturating_sub(self.board.in_flight()));
        if piece > 1 { piece.min(self.size_by_rate(control, episode)) } else { piece }
    }

    fn size_by_rate(&self, control: &Control, episode: &Episode) -> u32 {
        let (pacer, sampler, rack) = (self.pacer.as_deref(), self.sampler.as_deref(), episode.rack.as_deref());
        let size = control.cc.burst(pacer.and_then(|pacer| pacer.rate()));
        size_by_rate(size, (pacer, self.rate), (sampler, rack), control.window.mss)
    }

    #[cfg(test)]
    pub fn hold_bursts(&mut self, at: Instant) {
        self.bursts.on_sent(at);
    }
}

/// Maximum segments per burst by the rate of the pacer, or else of the connection. In bytes, by the rate of the last
/// acknowledgment (`tcp_update_pacing_rate`): whole segments per round trip would give one segment less now and then.
#[inline(never)]
fn size_by_rate(
    size: BurstSize,
    (pacer, rate): (Option<&Pacer>, u64),
    (sampler, rack): (Option<&RateSampler>, Option<&Rack>),
    mss: u32,
) -> u32 {
    let min_segments = match size {
        BurstSize::Exactly(segments) => return segments,
        BurstSize::AtLeast(segments) => segments,
    };
    let bytes_per_s = pacer.map_or(rate, |pacer| pacer.bytes_per_s());
    let sampled = sampler.and_then(|sampler| sampler.min_rtt());
    let min_rtt = sampled.or(rack.and_then(|rack| rack.min_rtt()));
    pacing::burst(bytes_per_s, mss, min_segments, BUFFER, min_rtt)
}
