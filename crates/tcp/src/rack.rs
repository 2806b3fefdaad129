//! RACK: a segment is lost if one that was sent later has arrived, and some time for reordering has passed.
//!
//! Source: RFC 8985 §6, Linux `tcp_recovery.c`.

use crate::scoreboard::Scoreboard;
use crate::segment::{Segment, Tags};
use crate::stack::Stack;
use sojourn_aqm::deque::Deque;
use sojourn_aqm::{Duration, Instant};

/// What RACK knows of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    /// Transmission time and end of the most recently sent segment that was delivered (RACK.xmit_ts, RACK.end_seq).
    latest: (Instant, u64),
    /// Its RTT (RACK.rtt).
    rtt: Duration,
    /// `latest` moved since losses were last looked for.
    advanced: bool,
    /// Least RTT, and when it was measured.
    min_rtt: Option<(Duration, Instant)>,
    /// The reordering window in quarters of the least RTT, less one.
    reo_wnd_steps: u32,
    /// Recoveries for which a widened window is kept.
    reo_wnd_persist: u32,
    /// Beyond this `snd_una` a D-SACK counts anew.
    dsack_round: u64,
    /// Transmissions in the order of their time: start of the segment and when. Those that no longer hold are
    /// passed over.
    send_order: Deque<(Instant, u64)>,
}

impl Rack {
    /// RACK, if the stack tells losses by time.
    pub fn for_stack(stack: &Stack) -> Option<Box<Self>> {
        stack.rack.then(Box::default)
    }

    /// Notes a transmission.
    #[inline]
    pub fn on_sent(&mut self, segment: &Segment) {
        self.send_order.push_back((segment.sent, segment.seq));
    }

    /// Forgets transmissions of what is acknowledged.
    #[inline(always)]
    pub fn on_acknowledged(&mut self, una: u64) {
        while self.send_order.front().is_some_and(|&(_, seq)| seq < una) {
            self.send_order.pop_front();
        }
    }

    /// A segment was delivered (RFC 8985 §6.2 steps 2 and 3); `tags` as before.
    #[inline]
    pub fn on_delivered(&mut self, now: Instant, segment: &Segment, tags: Tags) {
        let rtt = now - segment.sent;
        // It may be the original that was delivered, and not the retransmission.
        let ambiguous = tags.any(Tags::EVER_RETRANS) && self.min_rtt.is_some_and(|(least, _)| rtt < least);
        if ambiguous {
            return;
        }
        (self.advanced, self.rtt) = (true, rtt);
        self.latest = self.latest.max((segment.sent, segment.end()));
    }

    /// Takes an RTT sample for the least RTT of the last [`MIN_RTT_WINDOW`].
    pub fn observe_rtt(&mut self, now: Instant, rtt: Duration) {
        let lasts = |&(least, at): &(Duration, Instant)| least < rtt && now - at <= MIN_RTT_WINDOW;
        if self.min_rtt.as_ref().is_none_or(|min| !lasts(min)) {
            self.min_rtt = Some((rtt, now));
        }
    }

    /// The least RTT, once it was measured.
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

    /// A recovery ended whose reduction was not undone.
    pub fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
    }

    /// Losses are to be looked for although nothing new was delivered.
    pub fn force_detection(&mut self) {
        self.advanced = true;
    }

    /// The reordering window: none where `eager`, as long as the path has not shown any reordering.
    fn reordering_window(&self, eager: bool, srtt: Duration) -> Duration {
        if eager {
            return Duration::ZERO;
        }
        let least = self.min_rtt.map_or(Duration::ZERO, |(rtt, _)| rtt);
        (least / 4 * (1 + self.reo_wnd_steps) as i64).min(srtt)
    }

    /// Looks for losses if something was delivered; returns how long to wait for what may still come.
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

    /// Marks what is lost. Where `eager`, losses need no wait: without reordering, after the classic number of duplicates
    /// and in recovery. Returns the longest wait for what is not lost yet.
    pub fn detect_loss(&mut self, now: Instant, eager: bool, srtt: Duration, board: &mut Scoreboard) -> Duration {
        self.detect_within(now, self.reordering_window(eager, srtt), board)
    }

    /// A time-out: marks what is not expected any more; only segments that are as old as the head are lost with it.
    pub fn mark_lost_on_timeout(&self, now: Instant, board: &mut Scoreboard) {
        for i in 0..board.packets_out() as usize {
            let segment = *board.get(i).expect("there are that many segments");
            let expected = i > 0 && self.remaining(now, &segment, Duration::ZERO) > Duration::ZERO;
            if !expected {
                board.mark_lost_again(i);
            }
        }
        board.forget_hints();
    }

    /// How long a segment may still be under way: RACK.rtt from its transmission.
    fn remaining(&self, now: Instant, segment: &Segment, window: Duration) -> Duration {
        self.rtt + window - (now - segment.sent)
    }

    fn detect_within(&mut self, now: Instant, window: Duration, board: &mut Scoreboard) -> Duration {
        let (mut longest, mut kept) = (Duration::ZERO, 0);
        // Nothing that was sent later than what was delivered is lost, nor does anything behind it in the order matter.
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

    /// Neither delivered nor waiting to be sent again.
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

/// How long a least RTT holds (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Duration = Duration::from_secs(300);

/// Recoveries for which a widened reordering window is kept (RFC 8985 §6.2 step 4).
const PERSISTENCE: u32 = 16;

/// What Linux adds to the wait (`TCP_TIMEOUT_MIN_US`).
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
        // It took 80 ms, and its window is 20 ms: 0 was sent 100 ms ago and 1 10 ms later, 3 after the delivered one.
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
