//! The receive window. It grows with the bytes that arrive per round trip, and so seldom limits a flow. But
//! out-of-order data takes memory of the same buffer: in a recovery without SACK, which repairs one hole per round
//! trip, new data soon reaches the window's right edge.
//!
//! Source: Linux 6.1 `tcp_init_buffer_space`, `tcp_rcv_space_adjust`, `tcp_grow_window`, `tcp_select_window`,
//! `tcp_ack_update_window`. Acknowledgments advertise the window in units of 2 KiB, rounded up, and its right edge
//! never moves back. `Differs:` the maximum size (`tcp_rmem`) is out of reach.

use crate::receive_buffer::ReceiveBuffer;
use crate::send_buffer::OVERHEAD;
use crate::stack::Stack;
use crate::{FIRST_BYTE, Header, Ticks, unwrap_timestamp};
use sojourn_aqm::{Duration, Instant};

/// Size of the receive buffer by the bytes that arrived in its best round trip (`tcp_rcv_space_adjust`).
#[derive(Clone, Copy, Debug)]
struct ReceiveSpace {
    mss: u64,
    /// Maximum window so far, in bytes.
    window: u64,
    /// Maximum number of bytes that arrived in a round trip.
    space: u64,
}

impl ReceiveSpace {
    fn new(mss: u32) -> Self {
        let mss = mss as u64;
        Self { mss, window: FIRST_WINDOW, space: FIRST_SPACE * mss }
    }

    /// A round trip delivered `copied` bytes.
    fn round(&mut self, copied: u64) {
        if copied > self.space {
            // Twice as much, and sixteen segments; and room to grow at the same rate as before, twice.
            let window = 2 * copied + 16 * self.mss;
            let growth = window * (copied - self.space) / self.space;
            // Memory for that many whole segments, half of which is window.
            let segments = (window + 2 * growth) / self.mss;
            self.window = self.window.max(segments * segment_memory(self.mss) / 2);
            self.space = copied;
        }
    }
}

/// The window that the receiver advertises: raised by two segments per arriving segment, up to the buffer's size.
#[derive(Clone, Debug)]
pub(crate) struct AdvertisedWindow {
    size: ReceiveSpace,
    /// Window to advertise (`rcv_ssthresh`).
    window: u64,
    /// Right edge by the last acknowledgment, and the window advertised in it, in bytes.
    edge: u64,
    advertised: u64,
    /// End of the data that the application has read.
    copied: u64,
    /// Sequence number and time at the beginning of the round.
    round_start_copied: u64,
    pub round_start: Instant,
    /// Eight times the smoothed RTT by echoed timestamps, in microseconds; zero before the first.
    rtt_x8: i64,
    last_echo: u32,
    /// Skbs in the buffer; `None` with a NIC whose page fragments are coalesced. Needed exactly: Linux acknowledges at
    /// once while the window grows, so the skb at which memory runs out decides which acknowledgments are sent.
    packets: Option<ReceiveBuffer>,
}

impl AdvertisedWindow {
    /// No segment has arrived.
    pub fn new(mss: u32) -> Self {
        Self {
            size: ReceiveSpace::new(mss),
            window: FIRST_WINDOW,
            edge: FIRST_BYTE + FIRST_WINDOW,
            advertised: FIRST_WINDOW,
            copied: FIRST_BYTE,
            round_start_copied: FIRST_BYTE,
            round_start: Instant::ZERO,
            rtt_x8: 0,
            last_echo: 0,
            packets: Some(ReceiveBuffer::new(mss)),
        }
    }

    /// With a NIC that places payload in page fragments.
    pub fn with_fragments(mut self) -> Self {
        self.packets = None;
        self
    }

    /// A segment arrived at tick `now` (1 ms each), `beyond` a hole or in order, while `waiting` bytes were out of
    /// order. Returns whether the window grew.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Ticks, header: &Header, waiting: u64, beyond: bool) -> bool {
        if header.ts_ecr != self.last_echo && header.len as u64 >= self.size.mss {
            let sample = now.saturating_sub(unwrap_timestamp(now, header.ts_ecr)).max(1) as i64 * 1000;
            // `tcp_rcv_rtt_update`: a smaller sample counts at once.
            let smoothed = self.rtt_x8 - (self.rtt_x8 >> 3) + sample;
            self.rtt_x8 = if self.rtt_x8 == 0 || 8 * sample < self.rtt_x8 { 8 * sample } else { smoothed };
        }
        self.last_echo = header.ts_ecr;
        let before = self.window;
        let room = self.space(header, waiting, beyond);
        // Twice the payload of a super-packet, if that exceeds two full segments (`tcp_grow_window`): the window rises
        // in fewer steps, and each step is acknowledged at once.
        self.window = before.max(room.min(before + 2 * self.size.mss.max(header.len as u64)));
        self.window > before
    }

    /// Room for raising the window when a segment has arrived (`tcp_space`).
    #[inline(always)]
    fn space(&mut self, header: &Header, waiting: u64, beyond: bool) -> u64 {
        let len = u64::from(header.len);
        let taken = match &mut self.packets {
            // An out-of-order segment enters the buffer after the window was raised for it.
            Some(packets) if beyond => {
                let before = packets.memory_used();
                packets.queue_beyond(header);
                before / 2
            }
            Some(packets) => {
                packets.queue(header);
                packets.memory_used() / 2
            }
            None if beyond => (waiting + len) / 2,
            None => waiting / 2 + len * MEMORY_PERCENT / 100,
        };
        self.size.window.saturating_sub(taken)
    }

    /// A hole was filled: everything up to `nxt` has arrived.
    pub fn on_hole_filled(&mut self, nxt: u64) {
        if let Some(packets) = &mut self.packets {
            packets.fill(nxt);
        }
    }

    /// Eight times the smoothed RTT by echoed timestamps, in microseconds; zero before the first.
    pub fn rtt_x8(&self) -> i64 {
        self.rtt_x8
    }

    /// The window of an acknowledgment up to `nxt`, in units of [`Header::WINDOW_UNIT`], with `waiting` bytes out of
    /// order; and whether more than half of the buffer is used.
    pub fn advertise(&mut self, nxt: u64, waiting: u64) -> (u32, bool) {
        let (window, is_tight) = self.select(nxt, waiting);
        let units = window.max(self.edge.saturating_sub(nxt)).div_ceil(Header::WINDOW_UNIT);
        self.advertised = units * Header::WINDOW_UNIT;
        self.edge = nxt + self.advertised;
        (units.try_into().unwrap_or(u32::MAX), is_tight)
    }

    /// Whether a window advertised now is no smaller than the last one (`__tcp_ack_snd_check`).
    pub fn does_not_shrink(&self, nxt: u64, waiting: u64) -> bool {
        self.advertised_space(nxt, waiting) >= self.advertised
    }

    /// Whether a window advertised now is at least twice what is left of the last one (`__tcp_cleanup_rbuf`).
    pub fn would_double(&self, nxt: u64, waiting: u64) -> bool {
        let left = self.edge.saturating_sub(nxt);
        2 * left <= self.size.window && self.advertised_space(nxt, waiting) >= (2 * left).max(1)
    }

    fn advertised_space(&self, nxt: u64, waiting: u64) -> u64 {
        self.select(nxt, waiting).0.next_multiple_of(Header::WINDOW_UNIT)
    }

    /// The window that fits into the buffer, and whether more than half of the buffer is used
    /// (`__tcp_select_window`).
    fn select(&self, nxt: u64, waiting: u64) -> (u64, bool) {
        let mut left = self.free_space(nxt, waiting);
        let is_tight = left < self.size.window / 2;
        if is_tight {
            left -= left % Header::WINDOW_UNIT;
            if left < self.size.window / MIN_SHARE || left < self.size.mss {
                left = 0;
            }
        }
        (left.min(self.window), is_tight)
    }

    /// Free space: out-of-order data and unread data take memory.
    fn free_space(&self, nxt: u64, waiting: u64) -> u64 {
        // Half of the memory is window; coalesced fragments take the size of their payload.
        let taken = self.packets.as_ref().map_or(waiting + (nxt - self.copied), ReceiveBuffer::memory_used);
        self.size.window.saturating_sub(taken / 2)
    }

    /// The application reads everything up to `nxt`, skb by skb.
    #[inline]
    pub fn on_read(&mut self, at: Instant, nxt: u64) {
        let first = self.packets.as_mut().and_then(ReceiveBuffer::read).unwrap_or(nxt);
        let has_new_data = std::mem::replace(&mut self.copied, nxt) < nxt;
        if has_new_data && self.rtt_x8 > 0 && at - self.round_start >= Duration::from_micros(self.rtt_x8 >> 3) {
            // The data after the first skb counts for the next round.
            self.size.round(first - self.round_start_copied);
            (self.round_start_copied, self.round_start) = (first, at);
        }
    }
}

/// The receiver's window as the sender knows it: fixed, or as advertised. Taken from each acknowledgment: computed from
/// the acknowledged bytes it would be ahead of the receiver by a round trip, and half of the window is the size of the
/// application's writes. Fields used for every segment come first and share a cache line.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct OfferedWindow {
    /// The window last advertised.
    bytes: u64,
    /// Its right edge, if advertised.
    edge: Option<u64>,
    /// The maximum window advertised so far.
    max_bytes: u64,
}

impl OfferedWindow {
    /// The window of `stack`'s receiver, or a fixed one of `bytes`, for segments of `mss` bytes.
    pub fn new(stack: &Stack, bytes: Option<u64>, mss: u32) -> Self {
        let max = stack.max_window.map(|segments| segments as u64 * mss as u64);
        let initial_window = stack.tunes_window_of(bytes).then_some(FIRST_WINDOW);
        let bytes = bytes.or(max).or(initial_window).unwrap_or(u64::MAX / 2);
        Self { bytes, max_bytes: bytes, edge: initial_window.map(|window| FIRST_BYTE + window) }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Maximum size so far, in bytes.
    pub fn max_bytes(&self) -> u64 {
        self.max_bytes
    }

    /// Its size in segments of `mss` bytes, at least one.
    pub fn segments(&self, mss: u32) -> u32 {
        (self.bytes / mss as u64).clamp(1, u32::MAX as u64) as u32
    }

    /// Right edge when `una` is acknowledged.
    #[inline]
    pub fn right_edge(&self, una: u64) -> u64 {
        self.edge.unwrap_or(una + self.bytes)
    }

    /// An acknowledgment of `una` advertises a window of `units`; 0 if it carries none.
    #[inline]
    pub fn on_advertisement(&mut self, una: u64, units: u32) {
        if let Some(edge) = self.edge.as_mut().filter(|_| units > 0) {
            self.bytes = u64::from(units) * Header::WINDOW_UNIT;
            self.max_bytes = self.max_bytes.max(self.bytes);
            *edge = (*edge).max(una + self.bytes);
        }
    }

    #[cfg(test)]
    pub fn resize(&mut self, bytes: u64) {
        self.bytes = bytes;
    }
}

/// The initial window: 64 KiB less one segment, of a buffer of 128 KiB (`tcp_rmem`).
const FIRST_WINDOW: u64 = 64_088;

/// Segments that count for the first round (`TCP_INIT_CWND`).
const FIRST_SPACE: u64 = 10;

/// Buffer memory per segment of `mss` bytes: an skb with Linux's headers, and more in steps of 128 bytes until half of
/// it holds the segment (`tcp_rcv_space_adjust`).
fn segment_memory(mss: u64) -> u64 {
    let min = mss + OVERHEAD;
    min + (2 * mss).saturating_sub(min).next_multiple_of(128)
}

/// A window below this share of the maximum is advertised as zero.
const MIN_SHARE: u64 = 16;

/// The window is half of the buffer, and a segment of 1448 bytes takes 2304 of it. Out-of-order fragments are coalesced
/// and take the size of their payload (`tcp_try_coalesce`).
const MEMORY_PERCENT: u64 = 80;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;

    fn sent(segments: u64) -> u64 {
        FIRST_BYTE + segments * 1000
    }

    /// Segment `n` of 1000 bytes, cut out of a burst.
    fn segment(n: u64) -> Header {
        Header { seq: sent(n), len: 1000, flags: Flags::CUT, ..Header::default() }
    }

    /// A buffer with `segments` segments beyond a hole of one segment.
    fn holding(segments: u64) -> AdvertisedWindow {
        let mut raised = AdvertisedWindow::new(1000);
        let packets = raised.packets.as_mut().expect("segments are packets of their own");
        (1..=segments).for_each(|n| packets.queue_beyond(&segment(n)));
        raised
    }

    #[test]
    fn its_size_grows_with_the_rounds_and_never_shrinks() {
        let mut size = ReceiveSpace::new(1000);
        let mut after = |segments: u64| {
            size.round(segments * 1000);
            size.window
        };
        assert_eq!(after(10), 64_088, "ten were taken for granted");
        // Twenty: 2 * 20 + 16 = 56, which may double: 56 + 2 * 56 segments, each with 2024 bytes of memory.
        assert_eq!(after(20), 168 * 1_012);
        // Twenty-five after twenty: 66 and half of that.
        assert_eq!([after(25), after(5)], [168 * 1_012; 2]);
    }

    #[test]
    fn what_is_told_is_rounded_up_and_its_end_never_goes_back() {
        let mut raised = AdvertisedWindow::new(1000);
        // 64,088 bytes are 31.3 units.
        let advertise = |raised: &mut AdvertisedWindow, segments| {
            raised.copied = sent(segments);
            (raised.advertise(sent(segments), 0).0, raised.edge - sent(segments))
        };
        assert_eq!([0, 10].map(|n| advertise(&mut raised, n)), [(32, 65_536); 2]);
        // Twenty segments after a hole take 17,920 bytes of it, so the right edge stays.
        let mut full = AdvertisedWindow { edge: raised.edge, ..holding(20) };
        assert_eq!(advertise(&mut full, 10), (32, 65_536));
        assert_eq!(advertise(&mut full, 15), (30, 61_440), "60,536 bytes, rounded up");
    }

    #[test]
    fn a_window_of_little_is_told_as_none() {
        let advertised_after = |segments: u64| {
            let mut raised = holding(segments);
            raised.edge = FIRST_BYTE;
            raised.advertise(FIRST_BYTE, 0)
        };
        // A segment of 1000 bytes takes 1152 of 64,088. Half is rounded up; below it is rounded down; a sixteenth are 4005.
        assert_eq!([27, 28, 52, 53].map(advertised_after), [(17, false), (15, true), (2, true), (0, true)]);
    }

    #[test]
    fn fragments_are_joined_and_take_what_they_carry() {
        let mut raised = AdvertisedWindow::new(1000).with_fragments();
        raised.edge = FIRST_BYTE;
        assert_eq!(raised.advertise(FIRST_BYTE, 64_000), (16, false), "32,088 bytes");
    }

    #[test]
    fn what_the_application_has_not_read_takes_room() {
        let mut raised = AdvertisedWindow { window: 90_000, edge: FIRST_BYTE, ..AdvertisedWindow::new(1000) };
        raised.size.window = 100_000;
        assert_eq!(raised.advertise(sent(0), 0), (44, false));
        // Forty segments have filled a hole: they take 46,080 bytes until they are read.
        raised.packets = holding(39).packets;
        raised.on_segment(1, &segment(0), 0, false);
        raised.on_hole_filled(sent(40));
        assert!(
            !raised.does_not_shrink(sent(40), 0) && !raised.would_double(sent(40), 0),
            "53,920 are less than 90,112"
        );
        raised.on_read(Instant::ZERO, sent(40));
        assert!(raised.does_not_shrink(sent(40), 0));
        assert!(!raised.would_double(sent(40), 0), "50,112 bytes are left of what was told");
        raised.edge = sent(85);
        assert!(raised.would_double(sent(40), 0), "45,000 are left");
    }

    #[test]
    fn of_a_read_the_first_packet_counts_in_the_round_that_it_ends() {
        let (rtt_x8, round_start_copied) = (8 * 100_000, FIRST_BYTE);
        let mut raised =
            AdvertisedWindow { rtt_x8, round_start_copied, copied: sent(11), ..AdvertisedWindow::new(1000) };
        (11..40).for_each(|n| _ = raised.on_segment(1, &segment(n), 0, false));
        raised.on_read(Instant::from_nanos(100_000_000), sent(40));
        assert_eq!((raised.size.space, raised.round_start_copied, raised.copied), (12_000, sent(12), sent(40)));
        let mut fragments = AdvertisedWindow::new(1000).with_fragments();
        fragments.rtt_x8 = 8 * 100_000;
        fragments.on_read(Instant::from_nanos(100_000_000), sent(40));
        assert_eq!((fragments.size.space, fragments.round_start_copied), (40_000, sent(40)));
    }

    #[test]
    fn a_sender_takes_the_window_that_it_is_told() {
        let stack = Stack::find("linux-6.1").expect("a stack");
        let mut offered = OfferedWindow::new(stack, None, 1000);
        let mut after = |una: u64, units: u32| {
            offered.on_advertisement(FIRST_BYTE + una, units);
            [offered.bytes(), offered.max_bytes(), offered.right_edge(FIRST_BYTE + una) - FIRST_BYTE]
        };
        assert_eq!(after(0, 0), [64_088, 64_088, 64_088]);
        assert_eq!(after(1_000, 40), [81_920, 81_920, 82_920]);
        assert_eq!(after(9_000, 33), [67_584, 81_920, 82_920], "its end does not go back");
        let mut fixed = OfferedWindow::new(stack, Some(5_000), 1000);
        fixed.on_advertisement(FIRST_BYTE + 100, 40);
        assert_eq!([fixed.bytes(), fixed.max_bytes(), fixed.right_edge(100)], [5_000, 5_000, 5_100]);
    }

    #[test]
    fn a_receiver_raises_it_by_two_segments_for_each_that_arrives() {
        let mut raised = AdvertisedWindow::new(1000);
        let at = |tick: u32| Instant::from_nanos(tick as u64 * 1_000_000);
        let mut take = |tick: u32, segments: u64| {
            let grew =
                raised.on_segment(tick as u64, &Header { ts_ecr: tick - 100, ..segment(segments - 1) }, 0, false);
            raised.on_read(at(tick), sent(segments));
            grew
        };
        // A round ends with the first segment, another one 100 ms later; its thirty segments allow for 76 + 2 * 2 * 76.
        let grew: Vec<_> = (1..=30).map(|n| take(100 + n, n as u64)).collect();
        assert_eq!(grew, [false; 30]);
        let grew: Vec<_> = (31..=60).map(|n| take(200 + n, n as u64)).collect();
        assert_eq!(grew, [vec![false], vec![true; 29]].concat());
        assert_eq!((raised.size.window, raised.window), (380 * 1_012, 64_088 + 29 * 2_000));
    }

    #[test]
    fn memory_of_a_segment_is_that_of_its_packet_in_steps_until_half_of_it_holds_the_segment() {
        // 1448 + 768, and six times 128; a short one needs no more than its packet.
        assert_eq!([536, 768, 1_000, 1_448, 8_948].map(segment_memory), [1_304, 1_536, 2_024, 2_984, 17_908]);
    }

    #[test]
    fn the_segment_that_has_just_come_has_its_place_in_the_buffer() {
        // Linux 6.1, 100 Mbit/s and 100 ms: 79 segments after 39 allow for 530, and the window ends 1152 bytes below
        // half of their memory, after 251 segments that raise it.
        let mut raised = AdvertisedWindow::new(1_448);
        raised.size.space = 39 * 1_448;
        raised.size.round(79 * 1_448);
        assert_eq!(raised.size.window, 530 * 1_492);
        let header = Header { len: 1_448, flags: Flags::CUT, ts_ecr: 900, ..Header::default() };
        let mut grows = |header: &Header| {
            let grew = raised.on_segment(1_000, header, 0, false);
            raised.on_read(Instant::ZERO, FIRST_BYTE);
            (grew, raised.window)
        };
        assert_eq!((0..300).filter(|_| grows(&header).0).count(), 251);
        // A segment that was sent alone takes 88 bytes less of the buffer, which leaves room for a little more.
        let alone = Header { flags: Flags::ACK, ..header };
        let max = 530 * 1_492;
        assert_eq!(
            [header, alone, alone].map(|header| grows(&header)),
            [(false, max - 1_152), (true, max - 1_108), (false, max - 1_108)]
        );
    }

    #[test]
    fn what_a_card_has_joined_raises_it_by_twice_what_it_carries() {
        for (len, grown) in [(400, 2_000), (1_000, 2_000), (1_001, 2_002), (4_000, 8_000)] {
            let mut raised = AdvertisedWindow::new(1000);
            raised.size.window = 500_000;
            assert!(raised.on_segment(1_000, &Header { len, ts_ecr: 900, ..Header::default() }, 0, false));
            assert_eq!(raised.window, 64_088 + grown, "{len} bytes");
        }
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut raised = AdvertisedWindow::new(1000);
        let mut after = |tick: u32, rtt: u32| {
            raised.on_segment(tick as u64, &Header { len: 1000, ts_ecr: tick - rtt, ..Header::default() }, 0, false);
            raised.rtt_x8 >> 3
        };
        assert_eq!([after(1_000, 40), after(1_001, 20), after(1_002, 28)], [40_000, 20_000, 21_000]);
    }
}
