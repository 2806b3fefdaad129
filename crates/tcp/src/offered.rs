//! The window that a receiver offers: it grows with what arrives in a round trip, and so seldom limits a flow. But what
//! waits out of order has its place in the same buffer: in a recovery without SACK, which repairs one hole per round
//! trip, new data soon stop at the window's edge.
//!
//! Source: Linux 6.1 `tcp_init_buffer_space`, `tcp_rcv_space_adjust`, `tcp_grow_window`, `tcp_select_window`,
//! `tcp_ack_update_window`. An acknowledgment tells the window in units of 2 KiB, rounded up, and its end never goes back.
//! `Differs:` its largest size (`tcp_rmem`) is out of reach.

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
            // Memory for as many whole segments, half of which is window.
            let segments = (window + 2 * growth) / self.mss;
            self.window = self.window.max(segments * segment_memory(self.mss) / 2);
            self.space = copied;
        }
    }

    /// What of the largest window is left by so many bytes that lie in the buffer, of which `alone` are a segment by itself
    /// (`tcp_space`).
    fn left_by(&self, bytes: u64, alone: u64) -> u64 {
        self.window.saturating_sub((bytes - alone) / 2 + alone * MEMORY_PERCENT / 100)
    }
}

/// The window as the receiver raises it: by two segments for each that arrives, up to what its size allows.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raised {
    size: Size,
    /// What is to be advertised (rcv_ssthresh).
    window: u64,
    /// Where it ends by the last acknowledgment.
    edge: u64,
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
        Self { size: Size::new(mss), window, edge: FIRST_BYTE + FIRST_WINDOW, begun, since, rtt_x8: 0, last_echo: 0 }
    }

    /// A segment arrived at tick `now`, a millisecond each, while so many bytes were `waiting` out of order; whether it goes
    /// `beyond` a hole. Returns whether the window grew.
    pub fn arrived(&mut self, now: Ticks, header: &Header, waiting: u64, beyond: bool) -> bool {
        if header.ts_ecr != self.last_echo && header.len as u64 >= self.size.mss {
            let sample = now.saturating_sub(wide(now, header.ts_ecr)).max(1) as i64 * 1000;
            // `tcp_rcv_rtt_update`: a shorter one counts at once.
            let smoothed = self.rtt_x8 - (self.rtt_x8 >> 3) + sample;
            self.rtt_x8 = if self.rtt_x8 == 0 || 8 * sample < self.rtt_x8 { 8 * sample } else { smoothed };
        }
        self.last_echo = header.ts_ecr;
        let before = self.window;
        // It has its place in the buffer already: the application has not read it (`tcp_space`).
        let len = u64::from(header.len);
        let room = self.size.left_by(waiting + len, if beyond { 0 } else { len });
        // Segments that were joined count by what they carry.
        self.window = before.max(room.min(before + 2 * self.size.mss.max(header.len as u64)));
        self.window > before
    }

    /// The window of an acknowledgment up to `nxt`, in units of [`Header::WINDOW_UNIT`], while `waiting` bytes have arrived out
    /// of order.
    pub fn advertise(&mut self, nxt: u64, waiting: u64) -> u32 {
        let mut left = self.size.left_by(waiting, 0);
        if left < self.size.window / 2 {
            left -= left % Header::WINDOW_UNIT;
            if left < self.size.window / LEAST_SHARE || left < self.size.mss {
                left = 0;
            }
        }
        let units = left.min(self.window).max(self.edge.saturating_sub(nxt)).div_ceil(Header::WINDOW_UNIT);
        self.edge = nxt + units * Header::WINDOW_UNIT;
        units.try_into().unwrap_or(u32::MAX)
    }

    /// The application has read everything up to `copied`.
    pub fn read(&mut self, at: Instant, copied: u64) {
        if self.rtt_x8 > 0 && at - self.since >= Duration::from_micros(self.rtt_x8 >> 3) {
            self.size.round(copied - self.begun);
            (self.begun, self.since) = (copied, at);
        }
    }
}

/// The receiver's window as the sender knows it: of a fixed size, or as acknowledgments tell it. In this order, so that
/// what every segment is asked for lies together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedWindow {
    /// As it was told last.
    bytes: u64,
    /// Where it ends, if that was told.
    edge: Option<u64>,
    /// The largest that was told.
    most: u64,
}

impl OfferedWindow {
    /// The window of `stack`'s receiver, or one of `bytes`, for segments of `mss` bytes.
    pub fn new(stack: &Stack, bytes: Option<u64>, mss: u32) -> Self {
        let most = stack.most_window.map(|segments| segments as u64 * mss as u64);
        let told = stack.tunes_window_of(bytes).then_some(FIRST_WINDOW);
        let bytes = bytes.or(most).or(told).unwrap_or(u64::MAX / 2);
        Self { bytes, most: bytes, edge: told.map(|window| FIRST_BYTE + window) }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The largest size that it has had, in bytes.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// Its size in segments of `mss` bytes, at least one.
    pub fn segments(&self, mss: u32) -> u32 {
        (self.bytes / mss as u64).clamp(1, u32::MAX as u64) as u32
    }

    /// Where it ends when `una` is acknowledged.
    #[inline]
    pub fn right_edge(&self, una: u64) -> u64 {
        self.edge.unwrap_or(una + self.bytes)
    }

    /// What is acknowledged up to `una` tells a window of so many units; 0 if it tells none.
    #[inline]
    pub fn told(&mut self, una: u64, units: u32) {
        if let Some(edge) = self.edge.as_mut().filter(|_| units > 0) {
            self.bytes = u64::from(units) * Header::WINDOW_UNIT;
            self.most = self.most.max(self.bytes);
            *edge = (*edge).max(una + self.bytes);
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

/// Memory that the buffer has for a segment of `mss` bytes: of a packet with Linux's headers, and more in steps of 128 bytes
/// until half of it holds the segment (`tcp_rcv_space_adjust`).
fn segment_memory(mss: u64) -> u64 {
    let least = mss + PACKET_MEMORY;
    least + (2 * mss).saturating_sub(least).next_multiple_of(128)
}

/// `SKB_TRUESIZE(MAX_TCP_HEADER)` on 64 bits.
const PACKET_MEMORY: u64 = 896;

/// A window below this part of the largest one is told as none.
const LEAST_SHARE: u64 = 16;

/// The window is half of the buffer, and a segment of 1448 bytes takes 2304 of it. Those that wait out of order are joined
/// and take what they carry (`tcp_try_coalesce`).
const MEMORY_PERCENT: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(segments: u64) -> u64 {
        FIRST_BYTE + segments * 1000
    }

    #[test]
    fn its_size_grows_with_the_rounds_and_never_shrinks() {
        let mut size = Size::new(1000);
        let mut after = |segments: u64| {
            size.round(segments * 1000);
            size.window
        };
        assert_eq!(after(10), 64_088, "ten were taken for granted");
        // Twenty: 2 * 20 + 16 = 56, which may double: 56 + 2 * 56 segments, for each of which there are 2024 bytes.
        assert_eq!(after(20), 168 * 1_012);
        // Twenty-five after twenty: 66 and half of it.
        assert_eq!([after(25), after(5)], [168 * 1_012; 2]);
    }

    #[test]
    fn what_is_told_is_rounded_up_and_its_end_never_goes_back() {
        let mut raised = Raised::new(1000);
        // 64,088 bytes are 31.3 units.
        assert_eq!([0, 10].map(|n| raised.advertise(sent(n), 0)), [32, 32]);
        assert_eq!(raised.edge, sent(10) + 65_536);
        // Forty segments behind a hole take 20 kB of them, so that ten more leave the end where it is.
        assert_eq!(raised.advertise(sent(10), 40_000), 32);
        assert_eq!(raised.advertise(sent(15), 40_000), 30, "60,536 bytes, rounded up");
        assert_eq!(raised.edge, sent(15) + 61_440);
    }

    #[test]
    fn a_window_of_little_is_told_as_none() {
        let told = |waiting: u64| {
            let mut raised = Raised::new(1000);
            raised.edge = FIRST_BYTE;
            raised.advertise(FIRST_BYTE, waiting)
        };
        // 32,044 bytes are half of the window, and more is rounded up; below it is rounded down; a sixteenth are 4005.
        assert_eq!([64_000, 64_100, 119_900, 120_300].map(told), [16, 15, 2, 0]);
    }

    #[test]
    fn a_sender_takes_the_window_that_it_is_told() {
        let stack = Stack::find("linux-6.1").expect("a stack");
        let mut offered = OfferedWindow::new(stack, None, 1000);
        let mut after = |una: u64, units: u32| {
            offered.told(FIRST_BYTE + una, units);
            [offered.bytes(), offered.most(), offered.right_edge(FIRST_BYTE + una) - FIRST_BYTE]
        };
        assert_eq!(after(0, 0), [64_088, 64_088, 64_088]);
        assert_eq!(after(1_000, 40), [81_920, 81_920, 82_920]);
        assert_eq!(after(9_000, 33), [67_584, 81_920, 82_920], "its end does not go back");
        let mut fixed = OfferedWindow::new(stack, Some(5_000), 1000);
        fixed.told(FIRST_BYTE + 100, 40);
        assert_eq!([fixed.bytes(), fixed.most(), fixed.right_edge(100)], [5_000, 5_000, 5_100]);
    }

    #[test]
    fn a_receiver_raises_it_by_two_segments_for_each_that_arrives() {
        let mut raised = Raised::new(1000);
        let at = |tick: u32| Instant::from_nanos(tick as u64 * 1_000_000);
        let mut take = |tick: u32, segments: u64| {
            let grew =
                raised.arrived(tick as u64, &Header { len: 1000, ts_ecr: tick - 100, ..Header::default() }, 0, false);
            raised.read(at(tick), sent(segments));
            grew
        };
        // A round ends with the first segment, another one 100 ms later: thirty in it allow for 76 + 2 * 2 * 76.
        let grew: Vec<_> = (1..=30).map(|n| take(100 + n, n as u64)).collect();
        assert_eq!(grew, [false; 30]);
        let grew: Vec<_> = (31..=60).map(|n| take(200 + n, n as u64)).collect();
        assert_eq!(grew, [vec![false], vec![true; 29]].concat());
        assert_eq!((raised.size.window, raised.window), (380 * 1_012, 64_088 + 29 * 2_000));
    }

    #[test]
    fn memory_of_a_segment_is_that_of_its_packet_in_steps_until_half_of_it_holds_the_segment() {
        // 1448 + 896, and five times 128; a short one needs no more than its packet.
        assert_eq!([536, 896, 1_000, 1_448, 8_948].map(segment_memory), [1_432, 1_792, 2_024, 2_984, 17_908]);
    }

    #[test]
    fn the_segment_that_has_just_come_has_its_place_in_the_buffer() {
        // Linux 6.1, 100 Mbit/s and 100 ms: 79 segments after 39 allow for 530, and the window ends 1158 bytes below
        // their half of the memory, after 251 segments that raise it.
        let mut raised = Raised::new(1_448);
        raised.size.space = 39 * 1_448;
        raised.size.round(79 * 1_448);
        assert_eq!(raised.size.window, 530 * 1_492);
        let header = Header { len: 1_448, ts_ecr: 900, ..Header::default() };
        assert_eq!((0..300).filter(|_| raised.arrived(1_000, &header, 0, false)).count(), 251);
        assert_eq!(raised.window, 530 * 1_492 - 1_158);
    }

    #[test]
    fn what_a_card_has_joined_raises_it_by_twice_what_it_carries() {
        for (len, grown) in [(400, 2_000), (1_000, 2_000), (1_001, 2_002), (4_000, 8_000)] {
            let mut raised = Raised::new(1000);
            raised.size.window = 500_000;
            assert!(raised.arrived(1_000, &Header { len, ts_ecr: 900, ..Header::default() }, 0, false));
            assert_eq!(raised.window, 64_088 + grown, "{len} bytes");
        }
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut raised = Raised::new(1000);
        let mut after = |tick: u32, rtt: u32| {
            raised.arrived(tick as u64, &Header { len: 1000, ts_ecr: tick - rtt, ..Header::default() }, 0, false);
            raised.rtt_x8 >> 3
        };
        assert_eq!([after(1_000, 40), after(1_001, 20), after(1_002, 28)], [40_000, 20_000, 21_000]);
    }
}
