//! RACK: a segment is lost if a segment sent later was delivered and the reordering window has passed.
//!
//! Source: RFC 8985 §6, Linux `tcp_recovery.c`.

use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, Tags};
use crate::stack::Stack;
use sojourn_aqm::deque::Deque;
use sojourn_aqm::{Duration, Instant};

/// RACK's state of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// Transmission time and end of the most recently sent segment that was delivered (RACK.xmit_ts, RACK.end_seq).
    latest: (Instant, u64),
    /// Its RTT (RACK.rtt).
    rtt: Duration,
    /// `latest` has moved since the last loss detection.
    advanced: bool,
    /// Minimum RTT, and when it was measured.
    min_rtt: Option<(Duration, Instant)>,
    /// The reordering window in quarters of the minimum RTT, less one.
    reo_wnd_steps: u32,
    /// Number of recoveries until a widened window is reset.
    reo_wnd_persist: u32,
    /// The next D-SACK counts from this `snd_una` on.
    dsack_round: u64,
    /// Transmissions in order of time: time and first sequence number. Stale entries are skipped. 16 bytes per
    /// transmission beside the queue, so that segments of stacks without RACK stay at 24 bytes.
    send_order: Deque<(Instant, u64)>,
}

impl Rack {
    /// RACK, if the stack detects losses by time.
    pub fn for_stack(stack: &Stack) -> Option<Box<Self>> {
        stack.rack.then(Box::default)
    }

    /// Records a transmission.
    #[inline]
    pub fn on_sent(&mut self, segment: &Segment) {
        self.send_order.push_back((segment.sent, segment.seq));
    }

    /// Drops transmissions of acknowledged segments from the front.
    #[inline(always)]
    pub fn on_acknowledged(&mut self, una: u64) {
        while self.send_order.front().is_some_and(|&(_, seq)| seq < una) {
            self.send_order.pop_front();
        }
    }

    /// A segment was delivered (RFC 8985 §6.2 steps 2 and 3); `tags` are those before that.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, segment: &Segment, tags: Tags) {
        let rtt = now - segment.sent;
        // The original may have been delivered, not the retransmission.
        let ambiguous = tags.any(Tags::EVER_RETRANS) && self.min_rtt.is_some_and(|(min, _)| rtt < min);
        if !ambiguous {
            self.on_delivered_in_order(now, (segment.sent, segment.end()));
        }
    }

    /// Segments that were sent once and in order were delivered, the last of them sent and ended as `newest`.
    #[inline]
    pub fn on_delivered_in_order(&mut self, now: Instant, newest: (Instant, u64)) {
        (self.advanced, self.rtt) = (true, now - newest.0);
        self.latest = self.latest.max(newest);
    }

    /// Adds an RTT sample to the minimum of the last [`MIN_RTT_WINDOW`]. Differs: Linux's `win_minmax` keeps the three
    /// best samples, this filter one. Controls with rate samples use the kernel's filter (`min_filter.rs`).
    pub fn observe_rtt(&mut self, now: Instant, rtt: Duration) {
        let lasts = |&(min, at): &(Duration, Instant)| min < rtt && now - at <= MIN_RTT_WINDOW;
        if self.min_rtt.as_ref().is_none_or(|min| !lasts(min)) {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// The minimum RTT, once measured.
    pub fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.map(|(rtt, _)| rtt)
    }

    /// RFC 8985 §6.2 step 4: D-SACKs widen the reordering window, once per round; without them it falls back after
    /// [`PERSISTENCE`] recoveries.
    pub fn update_window(&mut self, una: u64, nxt: u64, duplicate: bool) {
        if duplicate && una >= self.dsack_round {
            self.reo_wnd_steps = (self.reo_wnd_steps + 1).min(254);
            self.dsack_round = nxt;
            self.reo_wnd_persist = PERSISTENCE;
        } else if self.reo_wnd_persist == 0 {
            self.reo_wnd_steps = 0;
        }
    }

    /// A recovery ended without an undo.
    pub fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// The next loss detection runs even if nothing was delivered.
    pub fn force_detection(&mut self) {
        self.advanced = true;
    }

    /// The reordering window: zero if `eager`, otherwise a share of the minimum RTT.
    fn reordering_window(&self, eager: bool, srtt: Duration) -> Duration {
        if eager {
            return Duration::ZERO;
        }
        let min = self.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
        (min / 4 * (1 + self.reo_wnd_steps) as i64).min(srtt)
    }

    /// Detects losses if a segment was delivered. Returns the time after which to check again, if segments are still
    /// within the reordering window.
    pub fn detect_if_advanced(
        &mut self,
        now: Instant,
        eager: bool,
        srtt: Duration,
        board: &mut Scoreboard,
    ) -> Option<Duration> {
        if !std::mem::take(&mut self.advanced) {
            return None;
        }
        let wait = self.detect_loss(now, eager, srtt, board);
        (wait > Duration::ZERO).then(|| wait + TIMER_MARGIN)
    }

    /// Marks lost segments. If `eager` the reordering window is zero: after the classic number of duplicates and in
    /// recovery, if the path has not shown reordering. Returns the longest remaining wait.
    pub fn detect_loss(&mut self, now: Instant, eager: bool, srtt: Duration, board: &mut Scoreboard) -> Duration {
        self.detect_within(now, self.reordering_window(eager, srtt), board)
    }

    /// A time-out: marks the head, and all segments that should have arrived by now (`tcp_rack_skb_timeout`).
    pub fn mark_lost_on_timeout(&self, now: Instant, board: &mut Scoreboard) {
        for i in 0..board.packets_out() as usize {
            let segment = *board.get(i).expect("the segments exist");
            let expected = i > 0 && self.remaining(now, &segment, Duration::ZERO) > Duration::ZERO;
            if !expected {
                board.mark_lost_again(i);
            }
        }
        board.forget_hints();
    }

    /// Remaining time until a segment counts as lost: RACK.rtt and the window from its transmission.
    fn remaining(&self, now: Instant, segment: &Segment, window: Duration) -> Duration {
        self.rtt + window - (now - segment.sent)
    }

    fn detect_within(&mut self, now: Instant, window: Duration, board: &mut Scoreboard) -> Duration {
        let (mut longest, mut kept) = (Duration::ZERO, 0);
        // Segments sent after the latest delivered one are not lost, nor is anything after them in this order.
        while let Some(&(sent, seq)) = self.send_order.get(kept).filter(|&&(sent, _)| sent <= self.latest.0) {
            let i = board.position(seq);
            let current =
                board.get(i).copied().filter(|s| s.seq == seq && s.sent == sent && Self::is_outstanding(s.tags));
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

    /// Neither delivered nor waiting to be retransmitted.
    fn is_outstanding(tags: Tags) -> bool {
        !tags.any(Tags::SACKED) && (!tags.any(Tags::LOST) || tags.any(Tags::RETRANS))
    }

    #[inline]
    fn drop_entry(&mut self, i: usize) {
        match i {
            0 => drop(self.send_order.pop_front()),
            _ => drop(self.send_order.remove(i)),
        }
    }
}

/// Lifetime of a minimum RTT (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Number of recoveries until a widened reordering window is reset (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;

/// Margin that Linux adds to the wait (`TCP_TIMEOUT_MIN_US`).
const TIMER_MARGIN: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn segment(n: u64, sent_ms: i64) -> Segment {
        Segment::new(1000 * n, 1000, false, ms(sent_ms))
    }

    #[test]
    fn needless_retransmissions_widen_the_window() {
        let mut rack = Rack::default();
        let srtt = Duration::from_millis(100);
        rack.observe_rtt(ms(0), Duration::from_millis(80));
        let quarter = Duration::from_millis(20);
        assert_eq!(
            (rack.reordering_window(true, srtt), rack.reordering_window(false, srtt)),
            (Duration::ZERO, quarter)
        );
        rack.update_window(10, 20, true);
        rack.update_window(15, 30, true);
        assert_eq!(rack.reordering_window(false, srtt), quarter * 2, "one step per round");
        for round in 0..9 {
            rack.update_window(20 + 10 * round, 30 + 10 * round, true);
        }
        assert_eq!(rack.reordering_window(false, srtt), srtt, "at most the RTT");
        (0..PERSISTENCE).for_each(|_| rack.on_recovery_end());
        rack.update_window(500, 600, false);
        assert_eq!(rack.reordering_window(false, srtt), quarter, "sixteen recoveries without");
    }

    #[test]
    fn what_was_sent_before_the_latest_delivered_is_lost_after_the_reordering_window() {
        let (mut rack, mut board, srtt) = (Rack::default(), Scoreboard::new(true), Duration::from_millis(100));
        for n in 0..4 {
            board.push(segment(n, 10 * n as i64));
            rack.on_sent(&segment(n, 10 * n as i64));
        }
        rack.observe_rtt(ms(0), Duration::from_millis(80));
        board.tag(&[(2_000, 3_000)], 0, 0, |_, s| rack.on_delivered(ms(100), s, s.tags));
        // It took 80 ms, and the window is 20 ms: 0 was sent 100 ms ago, 1 10 ms later, and 3 after the delivered one.
        let wait = rack.detect_if_advanced(ms(100), false, srtt, &mut board);
        assert_eq!((board.lost_out, wait), (1, Some(Duration::from_millis(10) + TIMER_MARGIN)));
        assert_eq!(rack.detect_if_advanced(ms(105), false, srtt, &mut board), None, "nothing new was delivered");
        assert_eq!((rack.detect_loss(ms(110), false, srtt, &mut board), board.lost_out), (Duration::ZERO, 2));
    }

    #[test]
    fn where_losses_are_eager_nothing_waits() {
        let (mut rack, mut board) = (Rack::default(), Scoreboard::new(true));
        for n in 0..4 {
            board.push(segment(n, n as i64));
            rack.on_sent(&segment(n, n as i64));
        }
        board.tag(&[(3_000, 4_000)], 0, 0, |_, s| rack.on_delivered(ms(83), s, s.tags));
        assert_eq!(
            (rack.detect_if_advanced(ms(83), true, Duration::from_millis(80), &mut board), board.lost_out),
            (None, 3)
        );
    }
}
