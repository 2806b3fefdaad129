//! Segmentation in the sender's host: several segments leave as one burst, the last of them with PSH. A single segment
//! has PSH only if the application's write ended with it.
//!
//! Source: Linux 6.1.192 `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_update_pacing_rate`. From 4.17 on Linux also builds bursts for devices without TSO; they are cut just above the
//! device. A burst never spans two skbs of the send buffer.
//!
//! Older kernels send bursts only to a device that cuts them, that is, if a sender has segmentation offload: up to 64
//! kB (`tcp_xmit_size_goal`), or since 3.12 a millisecond of the rate. A burst of less than a third of the window is
//! deferred for at most two ticks, while acknowledgments are due (`tcp_tso_should_defer` of 2.6.29, 3.8 and 3.13,
//! `tcp_tso_win_divisor`).

use crate::cc::Window;
use crate::queue::SendQueue;
use crate::send_buffer::SendHead;
use crate::stack::Stack;
use crate::{Clock, Ticks};
use sojourn_aqm::{Duration, Instant};

/// State of the sender's bursts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    rule: DeferRule,
    /// The segment with the FIN is exempt from the congestion window (`tcp_cwnd_test`).
    fin_beyond_window: bool,
    /// Time of the last transmission.
    last: Instant,
    /// Segments left of the skb that is being sent, in kernels that defer by a third of the window; `None` before the
    /// first.
    skb_segments_left: Option<u32>,
    /// The next new segment is the last of a burst.
    next_is_pushed: bool,
    /// The next new segment is one of a burst of several.
    next_is_cut: bool,
    clock: Clock,
    /// Tick since which a burst has been deferred, in kernels that defer by a third of the window.
    deferred_since: Option<Ticks>,
}

/// Rule that groups segments into bursts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DeferRule {
    /// One by one.
    Single,
    /// Defer until the next acknowledgment (6.1).
    NextAck,
    /// Defer below a third of the window; the size follows the rate, or is the maximum.
    WindowThird { by_rate: bool },
}

/// Decision about the next transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SendDecision {
    /// Send `segments` as one burst, of an skb with `left` unsent segments. A single segment that ends the skb is
    /// `pushed`.
    Burst { segments: u32, left: u32, pushed: bool },
    /// Wait for the congestion window to open further; it keeps the rest of the skb from being sent.
    WaitForWindow,
    /// Wait, although the congestion window has room for the whole skb.
    Wait,
}

/// Context of a burst.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BurstContext<'a> {
    pub at: Instant,
    pub window: &'a Window,
    /// Outstanding segments.
    pub out: u32,
    /// … and those assumed in flight.
    pub in_flight: u32,
    pub queue: &'a SendQueue,
    /// Head of the send buffer; `None` without a buffer or data in it.
    pub front: Option<SendHead>,
    /// Right edge of the receiver's window, and its size.
    pub right_edge: u64,
    pub receive_window: u64,
    /// Send time of the oldest segment.
    pub head_sent: Option<Instant>,
    pub srtt: Duration,
    pub in_recovery: bool,
    /// Congestion avoidance is in the state Open.
    pub is_open: bool,
    /// The skb at the head has just been filled: its burst is not deferred (`tcp_push_one`).
    pub at_once: bool,
}

impl Bursts {
    /// No segment sent yet.
    pub fn new(stack: &Stack) -> Self {
        let rule = if stack.bursts { DeferRule::NextAck } else { DeferRule::Single };
        Self {
            rule,
            fin_beyond_window: stack.fin_beyond_window,
            last: Instant::ZERO,
            skb_segments_left: None,
            next_is_pushed: false,
            next_is_cut: false,
            clock: stack.clock(),
            deferred_since: None,
        }
    }

    /// With segmentation left to the device.
    ///
    /// # Panics
    ///
    /// If the stack cannot.
    pub fn offloaded(stack: &Stack) -> Self {
        assert!(stack.has_segmentation_offload(), "the stack has segmentation offload");
        let new = Self::new(stack);
        let rule =
            if new.are_used() { new.rule } else { DeferRule::WindowThird { by_rate: stack.sizes_bursts_by_rate } };
        Self { rule, ..new }
    }

    /// Whether segments leave in bursts.
    #[inline]
    pub fn are_used(&self) -> bool {
        self.rule != DeferRule::Single
    }

    /// Whether the size of bursts follows the connection's rate, with or without pacing.
    #[inline]
    pub fn follow_rate(&self) -> bool {
        self.rule == DeferRule::NextAck
    }

    /// Whether the next new segment is the last of a burst.
    #[inline]
    pub fn pushes(&self) -> bool {
        self.next_is_pushed
    }

    /// Whether the next new segment is one of a burst of several.
    #[inline]
    pub fn cuts(&self) -> bool {
        self.next_is_cut
    }

    /// A segment is sent at `at`.
    #[inline]
    pub fn on_sent(&mut self, at: Instant) {
        self.last = at;
    }

    #[cfg(test)]
    pub fn last_sent(&self) -> Instant {
        self.last
    }

    /// Maximum number of segments per burst in kernels before 6.1; later ones follow the rate.
    pub fn max_burst(&self, ctx: BurstContext) -> u32 {
        match self.rule {
            DeferRule::WindowThird { by_rate: true } => Self::rate_burst(&ctx),
            _ => Self::full_burst(&ctx),
        }
    }

    /// As many as fit into 64 kB with headers, or half of the receiver's window.
    fn full_burst(ctx: &BurstContext) -> u32 {
        let bytes = (ctx.receive_window / 2).min(GSO_MAX_SIZE - 1 - HEADERS);
        (bytes as u32 / ctx.window.mss).max(1)
    }

    /// About a millisecond of twice the window per round trip, at least two.
    fn rate_burst(ctx: &BurstContext) -> u32 {
        let window = ctx.window;
        let segments = window.cwnd.max(ctx.out) as u64 * 2;
        let srtt_us = (ctx.srtt.as_nanos() as u64 / 1_000).max(1);
        let per_ms = segments * BURST_US / srtt_us;
        (per_ms as u32).clamp(MIN_BURST, (MAX_RATE_BURST_BYTES / window.mss).max(MIN_BURST))
    }

    /// Whether the next segment is sent even without room in the congestion window.
    #[inline]
    pub fn sends_beyond_window(&self, queue: &SendQueue) -> bool {
        self.fin_beyond_window && queue.is_last_segment()
    }

    /// Decides about the next transmission. `max` gives the segments of the largest burst, exactly if that is below its
    /// last argument; it takes the context by value, so that the context need not be in memory.
    #[inline(always)]
    pub fn next(&mut self, ctx: &BurstContext, mut max: impl FnMut(&Self, BurstContext, u32) -> u32) -> SendDecision {
        let window = ctx.window;
        let room = window.cwnd.saturating_sub(ctx.in_flight);
        if room == 0 {
            let goes = self.sends_beyond_window(ctx.queue);
            let lone = SendDecision::Burst { segments: 1, left: 1, pushed: true };
            return if goes { lone } else { SendDecision::WaitForWindow };
        }
        if let DeferRule::WindowThird { by_rate } = self.rule {
            let max = max(self, *ctx, u32::MAX);
            return self.next_by_third(ctx, room, max, !by_rate);
        }
        let lone = SendHead { left: 1, is_last: true, pushed: true };
        let SendHead { left, is_last, pushed } = ctx.front.unwrap_or(lone);
        // A single last segment of an skb is never deferred.
        if left > 1 {
            if let Some((wait, limit)) = self.must_wait(ctx, room, left, is_last) {
                // A whole burst is not deferred.
                if limit < u64::from(max(self, *ctx, u32::MAX)) * u64::from(window.mss) {
                    return wait;
                }
            }
        }
        // At most half of the window: two bursts in flight keep the ACK clock going.
        let fit = room.min((window.cwnd / 2).max(1)).min(left);
        let segments = if fit > 1 { fit.min(max(self, *ctx, fit)) } else { fit };
        SendDecision::Burst { segments, left, pushed }
    }

    /// Decision of older kernels. A deferred burst waits for two ticks, which start again with each look if it
    /// `restamps`: 2.6.29 and 3.8 do, 3.9 ended that (`tcp_tso_should_defer`).
    #[inline(always)]
    fn next_by_third(&mut self, ctx: &BurstContext, room: u32, max: u32, restamps: bool) -> SendDecision {
        let unsent = ctx.queue.unsent();
        let left = self.skb_segments_left.filter(|&left| left > 0).unwrap_or(max).min(unsent);
        if left > 1 && self.should_defer(ctx, room, left, left == unsent) {
            let now = self.clock.ticks(ctx.at);
            self.deferred_since = Some(self.deferred_since.filter(|_| !restamps).unwrap_or(now));
            return SendDecision::Wait;
        }
        if left > 1 {
            self.deferred_since = None;
        }
        SendDecision::Burst { segments: room.min(left.max(1)), left, pushed: true }
    }

    /// Whether to defer less than a third of the window, if that is less than can be sent at once.
    fn should_defer(&self, ctx: &BurstContext, room: u32, left: u32, is_last: bool) -> bool {
        let now = self.clock.ticks(ctx.at);
        let ends = is_last && ctx.queue.is_closing();
        if ends || !ctx.is_open || self.deferred_since.is_some_and(|since| now.saturating_sub(since) > 1) {
            return false;
        }
        let mss = ctx.window.mss as u64;
        let limit = (room as u64 * mss).min(ctx.right_edge.saturating_sub(ctx.queue.nxt()));
        let window = ctx.receive_window.min(ctx.window.cwnd as u64 * mss);
        let whole = !is_last && limit >= left as u64 * mss;
        limit < GSO_MAX_SIZE && !whole && limit < window / WINDOW_DIVISOR
    }

    /// Segment `i` of a burst of `segments` is sent next, of an skb that had `left` unsent segments before it and is
    /// `pushed`.
    pub fn begin(&mut self, i: u32, segments: u32, (left, pushed): (u32, bool)) {
        self.next_is_pushed = i + 1 == segments && (i > 0 || (left == 1 && pushed));
        self.next_is_cut = segments > 1;
    }

    /// `segments` of an skb that had `left` were sent.
    pub fn end(&mut self, segments: u32, left: u32) {
        (self.skb_segments_left, self.next_is_pushed, self.next_is_cut) =
            (Some(left.saturating_sub(segments)), false, false);
    }

    /// Whether the burst has to wait: if little of the window is open and the next acknowledgment is near. `left`
    /// segments remain of its skb, which `is_last` or not. Also returns how many bytes could be sent. Older kernels
    /// wait for half an RTT; in 6.1 both conditions are a millisecond: something was sent within the last one, and an
    /// acknowledgment is due within the next.
    #[inline(always)]
    fn must_wait(&self, ctx: &BurstContext, room: u32, left: u32, is_last: bool) -> Option<(SendDecision, u64)> {
        // Also a burst that has just been sent makes the rest wait.
        if ctx.at_once || ctx.in_recovery || ctx.at - self.last > RECENT {
            return None;
        }
        let mss = ctx.window.mss as u64;
        let (open, offered) = (room as u64 * mss, ctx.right_edge.saturating_sub(ctx.queue.nxt()));
        let limit = open.min(offered);
        let window = ctx.receive_window.min(ctx.window.cwnd as u64 * mss);
        let whole = !is_last && limit >= left as u64 * mss;
        if whole || limit >= window / WINDOW_DIVISOR {
            return None;
        }
        let near = (ctx.srtt / 2).min(RECENT);
        ctx.head_sent.filter(|&sent| sent + ctx.srtt <= ctx.at + near)?;
        if open < offered && room <= left {
            return Some((SendDecision::WaitForWindow, limit));
        }
        // If no more data follows, there is nothing to wait for.
        let ends = is_last && ctx.queue.is_closing() && ctx.queue.unwritten() == 0;
        (!ends || offered <= open).then_some((SendDecision::Wait, limit))
    }
}

/// A burst waits only if something was sent within this time, and if an acknowledgment is due within it.
const RECENT: Duration = Duration::from_millis(1);

/// Linux takes 1/1024 s of the pacing rate.
const BURST_US: u64 = 1_000_000 / 1_024;

/// Segments of the smallest burst (Linux `tcp_min_tso_segs`).
pub(crate) const MIN_BURST: u32 = 2;

/// Maximum bytes of a burst that follows the rate, before 6.1.
const MAX_RATE_BURST_BYTES: u32 = 65_279;

/// Linux `tcp_tso_win_divisor`: a third of the window is worth sending.
pub(crate) const WINDOW_DIVISOR: u64 = 3;

/// Bytes of a super-packet (`sk_gso_max_size`).
pub(crate) const GSO_MAX_SIZE: u64 = 65_536;

/// Of them, IP and TCP headers with timestamps.
const HEADERS: u64 = 52;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::GrowthCounting;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 20, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: GrowthCounting::Packets }
    }

    /// An endless source, or one of a few bytes.
    fn queue(bytes: Option<u64>) -> SendQueue {
        let mut queue = SendQueue::new(1448);
        queue.open(bytes);
        queue
    }

    /// A connection with an RTT of 10 ms, whose oldest segment has been outstanding for `head_ms`.
    fn ctx<'a>(window: &'a Window, queue: &'a SendQueue, in_flight: u32, head_ms: i64) -> BurstContext<'a> {
        let at = Instant::from_nanos(1_000_000_000);
        let head_sent = Some(at - Duration::from_millis(head_ms));
        let (out, right_edge, receive_window) = (in_flight, u64::MAX / 2, u64::MAX / 2);
        let srtt = Duration::from_millis(10);
        // As after a burst of one segment of an skb of 45.
        let left = queue.unsent().min(44);
        let front = Some(SendHead { left, is_last: left < 44, pushed: false });
        BurstContext {
            at,
            window,
            out,
            in_flight,
            queue,
            front,
            right_edge,
            receive_window,
            head_sent,
            srtt,
            in_recovery: false,
            is_open: true,
            at_once: false,
        }
    }

    /// With bursts of at most eleven segments.
    fn next(ctx: &BurstContext) -> SendDecision {
        bursts().next(ctx, |_, _, _| 11)
    }

    fn bursts() -> Bursts {
        let mut bursts = Bursts::new(Stack::find("linux-6.1").expect("a stack"));
        bursts.on_sent(Instant::from_nanos(999_500_000));
        bursts
    }

    #[test]
    fn a_burst_is_half_of_the_window_at_the_most() {
        let queue = queue(None);
        for (cwnd, segments) in [(100, 11), (22, 11), (15, 7), (1, 1)] {
            assert_eq!(
                next(&ctx(&window(cwnd), &queue, 0, 0)),
                SendDecision::Burst { segments, left: 44, pushed: false },
                "{cwnd}"
            );
        }
    }

    #[test]
    fn a_small_opening_waits_while_an_acknowledgment_is_near() {
        let (w, much, lone) = (window(100), queue(None), queue(Some(1448)));
        assert_eq!(next(&ctx(&w, &much, 100, 0)), SendDecision::WaitForWindow, "there is none");
        assert_eq!(next(&ctx(&w, &much, 97, 10)), SendDecision::WaitForWindow);
        assert_eq!(
            next(&ctx(&w, &much, 97, 5)),
            SendDecision::Burst { segments: 3, left: 44, pushed: false },
            "none is near"
        );
        let recovering = BurstContext { in_recovery: true, ..ctx(&w, &much, 97, 10) };
        assert_eq!(next(&recovering), SendDecision::Burst { segments: 3, left: 44, pushed: false });
        let offered = BurstContext { right_edge: 2_000, ..ctx(&w, &much, 97, 10) };
        assert_eq!(next(&offered), SendDecision::Wait, "it is the receiver's window");
        let filled = BurstContext { at_once: true, ..ctx(&w, &much, 99, 10) };
        assert_eq!(next(&filled), SendDecision::Burst { segments: 1, left: 44, pushed: false });
        let last = ctx(&w, &lone, 97, 10);
        assert_eq!(
            next(&last),
            SendDecision::Burst { segments: 1, left: 1, pushed: false },
            "a lone last segment never waits"
        );
    }

    #[test]
    fn older_kernels_send_a_third_of_the_window_or_wait_for_two_ticks() {
        for (stack, max, tick_ms) in [("linux-2.6.29", 45, 1), ("linux-3.8", 45, 1), ("linux-3.13", 19, 1)] {
            let stack = Stack::find(stack).expect("a stack");
            assert_eq!(stack.clock().duration(1), Duration::from_millis(tick_ms));
            let (w, much, mut bursts) = (window(100), queue(None), Bursts::offloaded(stack));
            // Twice the window in 10 ms are 19 in 1/1024 s; or as many as fit into 65,483 bytes.
            assert_eq!(bursts.max_burst(ctx(&w, &much, 0, 0)), max);
            let mut turn = |in_flight, ms: i64| {
                let ctx = ctx(&w, &much, in_flight, 0);
                let ctx = BurstContext { at: ctx.at + Duration::from_millis(ms), ..ctx };
                bursts.next(&ctx, |_, _, _| max)
            };
            let burst = |segments| SendDecision::Burst { segments, left: max, pushed: true };
            // A third of 100 is 33 and a bit, but a whole burst in the middle of the data is sent.
            assert_eq!(turn(100, 0), SendDecision::WaitForWindow);
            assert_eq!(turn(66, 0), burst(max.min(34)));
            assert_eq!(turn(67, 0), if max < 33 { burst(max) } else { SendDecision::Wait });
            assert_eq!(turn(90, 1), SendDecision::Wait);
            // Counted from 0 or 1 ms, or from the last look.
            let late = turn(90, 2);
            assert_eq!(late, SendDecision::Wait, "no longer than two ticks");
            let restamps = max == 45;
            assert_eq!(turn(90, 3), if restamps { SendDecision::Wait } else { burst(10) });
            assert_eq!(turn(90, 5), if restamps { burst(10) } else { SendDecision::Wait });
            let trouble = BurstContext { is_open: false, ..ctx(&w, &much, 99, 0) };
            assert_eq!(bursts.next(&trouble, |_, _, _| max), burst(1));
            let ending = queue(Some(2 * 1448 + 77));
            let last = SendDecision::Burst { segments: 3, left: 3, pushed: true };
            assert_eq!(bursts.next(&ctx(&w, &ending, 95, 0), |_, _, _| max), last, "a FIN does not wait");
        }
    }

    #[test]
    fn the_end_of_a_burst_is_pushed_and_a_lone_segment_if_the_application_pushed_it() {
        let pushes = |i, segments, piece| {
            let mut bursts = bursts();
            bursts.begin(i, segments, piece);
            bursts.pushes()
        };
        let of_three = [pushes(0, 3, (44, false)), pushes(2, 3, (44, false))];
        let alone = [pushes(0, 1, (44, true)), pushes(0, 1, (1, true)), pushes(0, 1, (1, false))];
        assert_eq!((of_three, alone), ([false, true], [false, true, false]));
    }

    #[test]
    fn what_gets_no_more_data_does_not_wait_for_any() {
        // Room for thirty, twenty are left, and an acknowledgment is near.
        let (w, ending, more) = (window(100), queue(Some(20 * 1448)), queue(None));
        let last = SendHead { left: 20, is_last: true, pushed: true };
        let waits = |queue| {
            let ctx = BurstContext { front: Some(last), ..ctx(&w, queue, 70, 10) };
            bursts().next(&ctx, |_, _, _| 40)
        };
        assert_eq!(waits(&more), SendDecision::Wait);
        assert_eq!(waits(&ending), SendDecision::Burst { segments: 20, left: 20, pushed: true });
    }
}
