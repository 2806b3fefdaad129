//! The window that a receiver offers: it grows with what arrives in a round trip, and so seldom limits a flow. But what
//! waits out of order has its place in the same buffer: in a recovery without SACK, which repairs one hole per round
//! trip, new data soon stop at the window's edge.
//!
//! Source: Linux 6.1 `tcp_init_buffer_space`, `tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`.
//! `Differs:` the sender knows the window's end by itself, since it learns from acknowledgments what the receiver
//! measures; what the receiver does about its window is only to acknowledge every segment while that grows.

use crate::stack::Stack;
use crate::{FIRST_BYTE, Header, Ticks, wide};
use sojourn_aqm::{Duration, Instant};

/// How large a receiver's window may be, by what arrived in its best round trip.
#[derive(Clone, Copy, Debug)]
struct Size {
    mss: u64,
    /// The largest window so far, in bytes.
    window: u64,
    /// Most bytes that arrived in a round trip.
    space: u64,
}

impl Size {
    fn new(mss: u32) -> Self {
        Self { mss: mss as u64, window: FIRST_WINDOW, space: FIRST_SPACE * mss as u64 }
    }

    /// A round trip brought `copied` bytes.
    fn round(&mut self, copied: u64) {
        if copied > self.space {
            // Twice as much, and sixteen segments; and room to grow as fast as before, and twice that.
            let window = 2 * copied + 16 * self.mss;
            let growth = window * (copied - self.space) / self.space;
            self.window = self.window.max(window + 2 * growth);
            self.space = copied;
        }
    }
}

/// Where the window ends, as the sender knows it.
#[derive(Clone, Copy, Debug)]
struct Offered {
    size: Size,
    /// What was acknowledged when the round began.
    begun: u64,
    /// The round ends when this is acknowledged.
    end: u64,
    /// Where the window ends: it never shrinks.
    edge: u64,
}

impl Offered {
    /// Nothing has arrived yet.
    fn new(mss: u32) -> Self {
        Self { size: Size::new(mss), begun: FIRST_BYTE, end: FIRST_BYTE, edge: FIRST_BYTE + FIRST_WINDOW }
    }

    /// `una` is acknowledged, `nxt` is the end of what was sent, and `waiting` segments have arrived out of order.
    fn acknowledged(&mut self, una: u64, nxt: u64, waiting: u32) {
        if una >= self.end {
            self.size.round(una - self.begun);
            (self.begun, self.end) = (una, nxt);
        }
        let taken = waiting as u64 * self.size.mss * MEMORY_PERCENT / 100;
        self.edge = self.edge.max(una + self.size.window.saturating_sub(taken));
    }
}

/// The window as the receiver raises it: by two segments for each that arrives, up to what its size allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    size: Size,
    /// What is advertised (rcv_ssthresh).
    window: u64,
    /// What had been read when the round began, and when that was.
    begun: u64,
    pub since: Instant,
    /// Eight times the smoothed RTT by the timestamps echoed, in microseconds; zero before the first.
    rtt_x8: i64,
    last_echo: u32,
}

impl Raised {
    /// Nothing has arrived yet.
    pub fn new(mss: u32) -> Self {
        let (window, begun, since) = (FIRST_WINDOW, FIRST_BYTE, Instant::ZERO);
        Self { size: Size::new(mss), window, begun, since, rtt_x8: 0, last_echo: 0 }
    }

    /// A segment arrived at tick `now`, a millisecond each. Returns whether the window grew.
    pub fn arrived(&mut self, now: Ticks, header: &Header) -> bool {
        if header.ts_ecr != self.last_echo && header.len as u64 >= self.size.mss {
            let sample = now.saturating_sub(wide(now, header.ts_ecr)).max(1) as i64 * 1000;
            // `tcp_rcv_rtt_update`: a shorter one counts at once.
            let smoothed = self.rtt_x8 - (self.rtt_x8 >> 3) + sample;
            self.rtt_x8 = if self.rtt_x8 == 0 || 8 * sample < self.rtt_x8 { 8 * sample } else { smoothed };
        }
        self.last_echo = header.ts_ecr;
        let before = self.window;
        // Segments that were joined count by what they carry.
        self.window = self.size.window.min(self.window + 2 * self.size.mss.max(header.len as u64));
        self.window > before
    }

    /// The application has read everything up to `copied`.
    pub fn read(&mut self, at: Instant, copied: u64) {
        if self.rtt_x8 > 0 && at - self.since >= Duration::from_micros(self.rtt_x8 >> 3) {
            self.size.round(copied - self.begun);
            (self.begun, self.since) = (copied, at);
        }
    }
}

/// The receiver's window as the sender knows it: of a fixed size, or one that grows. In this order, so that
/// what every segment is asked for lies together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedWindow {
    bytes: u64,
    growing: Option<Offered>,
}

impl OfferedWindow {
    /// The window of `stack`'s receiver, or one of `bytes`, for segments of `mss` bytes.
    pub fn new(stack: &Stack, bytes: Option<u64>, mss: u32) -> Self {
        let most = stack.most_window.map(|segments| segments as u64 * mss as u64);
        let growing = stack.tunes_window_of(bytes).then(|| Offered::new(mss));
        let first = most.or(growing.map(|_| FIRST_WINDOW));
        Self { bytes: bytes.or(first).unwrap_or(u64::MAX / 2), growing }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Its size in segments of `mss` bytes, at least one.
    pub fn segments(&self, mss: u32) -> u32 {
        (self.bytes / mss as u64).clamp(1, u32::MAX as u64) as u32
    }

    /// Where it ends when `una` is acknowledged.
    #[inline]
    pub fn right_edge(&self, una: u64) -> u64 {
        self.growing.as_ref().map_or(una + self.bytes, |offered| offered.edge)
    }

    /// `una` is acknowledged, which the receiver has read; it offers a window from there.
    pub fn acknowledged(&mut self, una: u64, nxt: u64, waiting: u32) {
        if let Some(offered) = &mut self.growing {
            offered.acknowledged(una, nxt, waiting);
            self.bytes = offered.size.window;
        }
    }

    #[cfg(test)]
    pub fn resize(&mut self, bytes: u64) {
        self.bytes = bytes;
    }
}

/// The first window: 64 KiB less one segment, of a buffer of 128 KiB (`tcp_rmem`).
const FIRST_WINDOW: u64 = 64_088;

/// Segments that count as the first round's.
const FIRST_SPACE: u64 = 10;

/// The window is half of the buffer, and a segment of 1448 bytes takes 2304 of it.
const MEMORY_PERCENT: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segments: u64) -> u64 {
        FIRST_BYTE + segments * 1000
    }

    #[test]
    fn it_grows_with_the_rounds_and_never_shrinks() {
        let mut offered = Offered::new(1000);
        let mut window_after = |una, nxt| {
            offered.acknowledged(sent(una), sent(nxt), 0);
            assert_eq!(offered.edge, sent(una) + offered.size.window);
            offered.size.window
        };
        assert_eq!([window_after(0, 10), window_after(5, 20)], [64_088; 2], "the round lasts");
        assert_eq!(window_after(10, 30), 64_088, "ten were taken for granted");
        // Twenty: 2 * 20 + 16 = 56, which may double: 56 + 2 * 56.
        assert_eq!(window_after(30, 50), 168_000);
        // Twenty-five after twenty: 66 and half of it.
        assert_eq!([window_after(50, 75), window_after(75, 80)], [168_000; 2]);
    }

    #[test]
    fn its_edge_stays_while_data_wait_out_of_order() {
        let mut offered = Offered::new(1000);
        let edge = offered.edge;
        // A hole after ten segments, and forty behind it, which take 32 kB of the 64.
        offered.acknowledged(sent(10), sent(60), 40);
        assert_eq!(offered.edge, edge, "ten more would be 42 kB from there");
        offered.acknowledged(sent(40), sent(60), 10);
        assert_eq!(offered.edge, sent(40) + 64_088 - 8_000);
    }

    #[test]
    fn a_receiver_raises_it_by_two_segments_for_each_that_arrives() {
        let mut raised = Raised::new(1000);
        let at = |tick: u32| Instant::from_nanos(tick as u64 * 1_000_000);
        let mut take = |tick: u32, segments: u64| {
            let grew = raised.arrived(tick as u64, &Header { len: 1000, ts_ecr: tick - 100, ..Header::default() });
            raised.read(at(tick), sent(segments));
            grew
        };
        // A round ends with the first segment, another one 100 ms later: thirty in it allow for 76 + 2 * 2 * 76.
        let grew: Vec<_> = (1..=30).map(|n| take(100 + n, n as u64)).collect();
        assert_eq!(grew, [false; 30]);
        let grew: Vec<_> = (31..=60).map(|n| take(200 + n, n as u64)).collect();
        assert_eq!(grew, [vec![false], vec![true; 29]].concat());
        assert_eq!((raised.size.window, raised.window), (380_000, 64_088 + 29 * 2_000));
    }

    #[test]
    fn what_a_card_has_joined_raises_it_by_twice_what_it_carries() {
        for (len, grown) in [(400, 2_000), (1_000, 2_000), (1_001, 2_002), (4_000, 8_000)] {
            let mut raised = Raised::new(1000);
            raised.size.window = 500_000;
            assert!(raised.arrived(1_000, &Header { len, ts_ecr: 900, ..Header::default() }));
            assert_eq!(raised.window, 64_088 + grown, "{len} bytes");
        }
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut raised = Raised::new(1000);
        let mut after = |tick: u32, rtt: u32| {
            raised.arrived(tick as u64, &Header { len: 1000, ts_ecr: tick - rtt, ..Header::default() });
            raised.rtt_x8 >> 3
        };
        assert_eq!([after(1_000, 40), after(1_001, 20), after(1_002, 28)], [40_000, 20_000, 21_000]);
    }
}
