//! Segmentation in the sender's host: several segments leave as one burst, the last of them with PSH, and so does the
//! last one of each buffer in which the application's data wait.
//!
//! Source: Linux 6.1.192 `tcp_write_xmit`, `tcp_cwnd_test`, `tcp_tso_autosize`, `tcp_tso_should_defer`,
//! `tcp_update_pacing_rate`. Linux builds such bursts also for devices that cannot (4.17 on): they are then cut just
//! above the device. A buffer has up to 64 kB, and no burst is taken from two of them.

use crate::cc::Window;
use crate::queue::SendQueue;
use crate::stack::Stack;
use sojourn_aqm::{Duration, Instant};

/// The sender's bursts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bursts {
    on: bool,
    /// The last transmission.
    last: Instant,
    /// Segments that are left of the buffer that is being sent; nothing before the first one.
    left: Option<u32>,
    /// The next new segment is the last of a burst.
    pushes: bool,
}

/// What the sender may send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// So many segments go out as one burst, of a buffer that has so many left.
    Burst { segments: u32, left: u32 },
    /// It waits for the window to open further; the congestion window is what keeps the rest of the buffer from going.
    WaitsForWindow,
    /// It waits, and the window has room for the whole buffer.
    Waits,
}

/// What a burst depends on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outlook<'a> {
    pub at: Instant,
    pub window: &'a Window,
    /// Segments out.
    pub out: u32,
    /// … of which so many are believed to be in the network.
    pub in_flight: u32,
    pub queue: &'a SendQueue,
    /// Where the receiver's window ends, and its size.
    pub right_edge: u64,
    pub receive_window: u64,
    /// When the oldest segment was sent.
    pub head_sent: Option<Instant>,
    pub srtt: Duration,
    pub in_recovery: bool,
}

impl Bursts {
    /// Nothing was sent.
    pub fn new(stack: &Stack) -> Self {
        Self { on: stack.bursts, last: Instant::ZERO, left: None, pushes: false }
    }

    /// Whether segments leave in bursts.
    #[inline]
    pub fn are_used(&self) -> bool {
        self.on
    }

    /// Whether the next new segment is the last of a burst.
    #[inline]
    pub fn pushes(&self) -> bool {
        self.pushes
    }

    /// A segment goes out at `at`.
    #[inline]
    pub fn on_sent(&mut self, at: Instant) {
        self.last = at;
    }

    /// Segments of a burst: about a millisecond of the rate at which the connection sends, at least two.
    pub fn size(outlook: &Outlook) -> u32 {
        let window = outlook.window;
        let percent = if window.cwnd < window.ssthresh / 2 { 200 } else { 120 };
        let segments = window.cwnd.max(outlook.out) as u64 * percent / 100;
        let srtt_us = (outlook.srtt.as_nanos() as u64 / 1_000).max(1);
        let per_ms = segments * BURST_US / srtt_us;
        (per_ms as u32).clamp(LEAST_BURST, (BUFFER as u32 / window.mss).max(LEAST_BURST))
    }

    /// What may be sent next, in bursts of `most` segments.
    pub fn next(&self, outlook: &Outlook, most: u32) -> Turn {
        let window = outlook.window;
        let room = window.cwnd.saturating_sub(outlook.in_flight);
        if room == 0 {
            return Turn::WaitsForWindow;
        }
        let left = match self.left {
            Some(left) if left > 0 => left,
            Some(_) => buffer(outlook),
            // The first one is filled up again when its first burst has gone.
            None => buffer(outlook) + most,
        };
        let unsent = outlook.queue.unsent();
        let left = left.min(unsent);
        // A lone last segment of a buffer never waits.
        if left > 1 {
            if let Some(wait) = self.wait(outlook, room, left, left == unsent, most) {
                return wait;
            }
        }
        // Half the window at the most: two bursts in flight keep the acknowledgments coming.
        Turn::Burst { segments: room.min(most).min((window.cwnd / 2).max(1)).min(left.max(1)), left }
    }

    /// Segment `i` of a burst of `segments` goes out next, of a buffer that had `left` before it.
    pub fn begin(&mut self, i: u32, segments: u32, left: u32) {
        self.pushes = i + 1 == segments && (i > 0 || left == 1);
    }

    /// So many segments of a buffer that had `left` have gone out.
    pub fn end(&mut self, segments: u32, left: u32) {
        (self.left, self.pushes) = (Some(left.saturating_sub(segments)), false);
    }

    /// Whether the burst has to wait: if little of the window is open and the next acknowledgment is near.
    /// `left` segments remain of its buffer, which is the last one or has others behind it.
    fn wait(&self, outlook: &Outlook, room: u32, left: u32, is_last: bool, most: u32) -> Option<Turn> {
        // Also a burst that has just been sent makes the rest wait.
        if outlook.in_recovery || outlook.at - self.last > RECENT {
            return None;
        }
        let mss = outlook.window.mss as u64;
        let (open, offered) = (room as u64 * mss, outlook.right_edge.saturating_sub(outlook.queue.nxt()));
        let limit = open.min(offered);
        let window = outlook.receive_window.min(outlook.window.cwnd as u64 * mss);
        let whole = !is_last && limit >= left as u64 * mss;
        if limit >= most as u64 * mss || whole || limit >= window / WINDOW_DIVISOR {
            return None;
        }
        let near = (outlook.srtt / 2).min(RECENT);
        outlook.head_sent.filter(|&sent| sent + outlook.srtt <= outlook.at + near)?;
        Some(if open < offered && room <= left { Turn::WaitsForWindow } else { Turn::Waits })
    }
}

/// Segments of a full buffer: 64 kB, or half of what the receiver takes.
fn buffer(outlook: &Outlook) -> u32 {
    let bytes = (outlook.receive_window / 2).min(BUFFER);
    (bytes as u32 / outlook.window.mss).max(1)
}

/// A burst waits only if something was sent within this time, and if an acknowledgment is due within it.
const RECENT: Duration = Duration::from_millis(1);

/// Linux takes 1/1024 s of the pacing rate.
const BURST_US: u64 = 1_000_000 / 1_024;

pub(crate) const LEAST_BURST: u32 = 2;

/// Bytes of a buffer: 64 KiB less what headers take (`sk_gso_max_size`).
pub(crate) const BUFFER: u64 = 65_279;

/// Linux `tcp_tso_win_divisor`: a third of the window is worth sending.
const WINDOW_DIVISOR: u64 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Counting;

    fn window(cwnd: u32) -> Window {
        Window { cwnd, ssthresh: 20, cwnd_cnt: 0, bytes_acked: 0, mss: 1448, counting: Counting::Packets }
    }

    /// Much to send, or a lone segment.
    fn queue(bytes: Option<u64>) -> SendQueue {
        let mut queue = SendQueue::new(1448);
        queue.open(bytes);
        queue
    }

    /// A connection with an RTT of 10 ms, whose oldest segment has been out for `head_ms`.
    fn outlook<'a>(window: &'a Window, queue: &'a SendQueue, in_flight: u32, head_ms: i64) -> Outlook<'a> {
        let at = Instant::from_nanos(1_000_000_000);
        let head_sent = Some(at - Duration::from_millis(head_ms));
        let (out, right_edge, receive_window) = (in_flight, u64::MAX / 2, u64::MAX / 2);
        let srtt = Duration::from_millis(10);
        Outlook { at, window, out, in_flight, queue, right_edge, receive_window, head_sent, srtt, in_recovery: false }
    }

    fn next(outlook: &Outlook) -> Turn {
        bursts().next(outlook, Bursts::size(outlook))
    }

    fn bursts() -> Bursts {
        let mut bursts = Bursts::new(Stack::find("linux-6.1").expect("a stack"));
        bursts.on_sent(Instant::from_nanos(999_500_000));
        bursts.end(1, 45);
        bursts
    }

    #[test]
    fn a_burst_is_about_a_millisecond_of_the_rate() {
        // A window of 100 in 10 ms, and a fifth more: 12 per millisecond of 1024 to the second.
        let queue = queue(None);
        for (cwnd, segments) in [(100, 11), (400, 44), (15, 2)] {
            assert_eq!(next(&outlook(&window(cwnd), &queue, 0, 0)), Turn::Burst { segments, left: 44 }, "{cwnd}");
        }
    }

    #[test]
    fn a_small_opening_waits_while_an_acknowledgment_is_near() {
        let (w, much, lone) = (window(100), queue(None), queue(Some(1448)));
        assert_eq!(next(&outlook(&w, &much, 100, 0)), Turn::WaitsForWindow, "there is none");
        assert_eq!(next(&outlook(&w, &much, 97, 10)), Turn::WaitsForWindow);
        assert_eq!(next(&outlook(&w, &much, 97, 5)), Turn::Burst { segments: 3, left: 44 }, "none is near");
        let recovering = Outlook { in_recovery: true, ..outlook(&w, &much, 97, 10) };
        assert_eq!(next(&recovering), Turn::Burst { segments: 3, left: 44 });
        let offered = Outlook { right_edge: 2_000, ..outlook(&w, &much, 97, 10) };
        assert_eq!(next(&offered), Turn::Waits, "it is the receiver's window");
        let last = outlook(&w, &lone, 97, 10);
        assert_eq!(next(&last), Turn::Burst { segments: 1, left: 1 }, "a lone last segment never waits");
    }

    #[test]
    fn the_end_of_a_burst_or_of_a_buffer_pushes() {
        let pushes = |i, segments, left| {
            let mut bursts = bursts();
            bursts.begin(i, segments, left);
            bursts.pushes()
        };
        assert_eq!([pushes(0, 3, 44), pushes(2, 3, 44), pushes(0, 1, 44), pushes(0, 1, 1)], [false, true, false, true]);
    }
}
