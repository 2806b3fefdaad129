//! RACK: a segment is lost if one that was sent later has arrived, and some time for reordering has passed.
//!
//! Source: RFC 8985 §6, Linux `tcp_recovery.c`.

use super::ack::Ack;
use super::scoreboard::{Scoreboard, Segment, Tags};
use super::sender::{Sender, State};
use super::timer::Timer;
use super::{Ticks, Wire};
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// What RACK knows of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Rack {
    /// Transmission time and end of the most recently sent segment that was delivered (RACK.xmit_ts, RACK.end_seq).
    latest: (Instant, u64),
    /// Its RTT (RACK.rtt).
    rtt: Duration,
    /// `latest` moved since losses were last looked for.
    pub advanced: bool,
    /// Least RTT, and when it was measured.
    min_rtt: Option<(Duration, Instant)>,
    /// Reordering was seen on the path.
    pub reordering_seen: bool,
    /// The reordering window in quarters of the least RTT, less one.
    extra_steps: u32,
    /// Recoveries for which a widened window is kept.
    pub persist: u32,
    /// Beyond this `snd_una` a D-SACK counts anew.
    dsack_round: u64,
    /// Transmissions in the order of their time: start of the segment and when. Those that no longer hold are
    /// passed over.
    order: VecDeque<(Instant, u64)>,
}

impl Rack {
    /// Notes a transmission.
    #[inline]
    pub fn on_sent(&mut self, segment: &Segment) {
        self.order.push_back((segment.sent, segment.seq));
    }

    /// Forgets transmissions of what is acknowledged.
    pub fn on_acknowledged(&mut self, una: u64) {
        while self.order.front().is_some_and(|&(_, seq)| seq < una) {
            self.order.pop_front();
        }
    }

    /// A segment was delivered (RFC 8985 §6.2 steps 2 and 3); `tags` as before.
    pub fn on_delivered(&mut self, now: Instant, segment: &Segment, tags: Tags) {
        let rtt = now - segment.sent;
        // It may be the original that was delivered, and not the retransmission.
        let ambiguous = tags.any(Tags::EVER_RETRANS) && self.min_rtt.is_some_and(|(least, _)| rtt < least);
        if ambiguous {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        self.latest = self.latest.max((segment.sent, segment.end()));
    }

    /// Takes an RTT sample for the least RTT of the last [`MIN_RTT_WINDOW`].
    pub fn observe_rtt(&mut self, now: Instant, rtt: Duration) {
        let lasts = |&(least, at): &(Duration, Instant)| least < rtt && now - at <= MIN_RTT_WINDOW;
        if self.min_rtt.as_ref().is_none_or(|min| !lasts(min)) {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// RFC 8985 §6.2 step 4: D-SACKs widen the reordering window, once per round; without them it falls back after
    /// [`PERSISTENCE`] recoveries.
    pub fn update_window(&mut self, una: u64, nxt: u64, duplicate: bool) {
        if duplicate && una >= self.dsack_round {
            self.extra_steps = (self.extra_steps + 1).min(254);
            self.dsack_round = nxt;
            self.persist = PERSISTENCE;
        } else if self.persist == 0 {
            self.extra_steps = 0;
        }
    }

    pub fn window(&self, eager: bool, srtt: Duration) -> Duration {
        if !self.reordering_seen && eager {
            return Duration::ZERO;
        }
        let least = self.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
        (least / 4 * (1 + self.extra_steps) as i64).min(srtt)
    }

    /// How long a segment may still be under way: RACK.rtt from its transmission.
    pub fn remaining(&self, now: Instant, segment: &Segment, window: Duration) -> Duration {
        self.rtt + window - (now - segment.sent)
    }

    /// Marks what is lost; returns the longest wait for what is not yet.
    fn detect(&mut self, now: Instant, window: Duration, board: &mut Scoreboard) -> Duration {
        let (mut longest, mut kept) = (Duration::ZERO, 0);
        while let Some(&(sent, seq)) = self.order.get(kept) {
            let i = board.position(seq);
            let current = board.get(i).copied().filter(|s| s.seq == seq && s.sent == sent && Self::is_open(s.tags));
            let Some(segment) = current else {
                self.drop_entry(kept);
                continue;
            };
            if (sent, segment.end()) >= self.latest {
                break;
            }
            let remaining = self.remaining(now, &segment, window);
            if remaining <= Duration::ZERO {
                board.mark_lost_again(i);
                self.drop_entry(kept);
            } else {
                longest = longest.max(remaining);
                kept += 1;
            }
        }
        longest
    }

    /// Neither delivered nor waiting to be sent again.
    fn is_open(tags: Tags) -> bool {
        !tags.any(Tags::SACKED) && (!tags.any(Tags::LOST) || tags.any(Tags::RETRANS))
    }

    fn drop_entry(&mut self, i: usize) {
        match i {
            0 => drop(self.order.pop_front()),
            _ => drop(self.order.remove(i)),
        }
    }
}

impl Sender {
    /// Looks for losses; if something may still come, sets the timer. Returns whether it did.
    pub(super) fn rack_mark_lost(&mut self, now: Ticks) -> bool {
        if !std::mem::take(&mut self.rack.advanced) {
            return false;
        }
        let wait = self.rack_detect();
        if wait == Duration::ZERO {
            return false;
        }
        let ticks = (wait + TIMER_MARGIN).as_nanos() as u64;
        let ticks = ticks.div_ceil(self.stack.tick.as_nanos() as u64) as u32;
        self.set_timer(Timer::Reordering, now, ticks.min(self.rtt.rto()));
        true
    }

    /// The reordering window is over for something.
    #[inline(never)]
    pub(super) fn on_reordering_timeout(&mut self, now: Ticks, wire: &mut impl Wire) {
        let prior = self.board.in_flight();
        self.rack_detect();
        if self.board.in_flight() != prior {
            if self.state != State::Recovery {
                self.enter_recovery(false);
                // As if one segment had been delivered, with losses.
                self.reduce(&Ack { delivered: 1, ..Ack::default() }, 1, false);
            }
            self.retransmit_marked(now, wire);
        }
        if self.timer != Timer::Retransmit {
            self.rearm_after_other_timer(now);
        }
    }

    fn rack_detect(&mut self) -> Duration {
        // Without reordering, the classic number of duplicates needs no wait, nor does what follows in recovery.
        let eager = self.state >= State::Recovery || self.board.sacked_out >= self.reordering;
        let window = self.rack.window(eager, self.rtt_from_units(self.rtt.srtt() as u32));
        self.rack.detect(self.at, window, &mut self.board)
    }
}

/// How long a least RTT holds (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Recoveries for which a widened reordering window is kept (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;

/// What Linux adds to the wait (`TCP_TIMEOUT_MIN_US`).
const TIMER_MARGIN: Duration = Duration::from_millis(2);
