//! Segments and times of transmission, without a sender.

use super::*;
use crate::cc::AnyCc;
use crate::stack::Stack;
use crate::{FIRST_BYTE, Sack, SeqRange, memory_below};
use sojourn_aqm::{Duration, Ecn, Instant};
use std::ops::Range;

/// A sending side with its control and recovery, and the segments sent: start in segments, or flags.
struct TransmissionHarness {
    tx: Transmission,
    control: Control,
    recovery: Recovery,
    sent: Vec<Header>,
    room: u64,
}

/// Accepts this many segments, then none.
struct LimitedDevice<'a>(&'a mut Vec<Header>, u64);

impl Wire for LimitedDevice<'_> {
    fn transmit(&mut self, header: &Header, _: u32, _: Ecn) {
        self.0.push(*header);
    }
    fn has_room(&self) -> bool {
        (self.0.len() as u64) < self.1
    }
}

const MSS: u64 = 1000;

impl TransmissionHarness {
    /// An established connection with an RTT of 100 ms, a window of `cwnd` and an endless source.
    fn new(stack: Stack, cwnd: u32, receive_window: u64) -> Self {
        let stack: &'static Stack = Box::leak(Box::new(stack));
        let cc = AnyCc::new("reno").expect("a control");
        let (initial_window, receive_window) = (Some(cwnd), Some(receive_window));
        let config =
            SenderConfig { stack, cc, mss: MSS as u32, sack: true, ecn: false, initial_window, receive_window };
        let mut tx = Transmission::new(&config);
        tx.queue.open(None);
        tx.queue.established();
        tx.rtt.sample(tx.rtt.estimator().per_tick() * 100, 1, 1);
        let (control, recovery) = (Control::from_config(&config, tx.offered.bytes()), Recovery::new(stack, true));
        tx.follow_window(&control);
        tx.open_buffer(&control, &recovery);
        Self { tx, control, recovery, sent: Vec::new(), room: u64::MAX }
    }

    fn now(&self, ms: u64) -> HostTime {
        self.tx.rtt.clock().now(Instant::from_nanos(ms * 1_000_000))
    }

    /// Starts of the segments that are sent at `ms`.
    fn send(&mut self, ms: u64) -> Vec<u64> {
        self.transmit(ms);
        self.take()
    }

    fn transmit(&mut self, ms: u64) {
        let now = self.now(ms);
        let wire = &mut LimitedDevice(&mut self.sent, self.room);
        self.tx.send_new(now, &mut self.control, &mut self.recovery, wire);
        self.tx.write_ahead(now, &mut self.control, &mut self.recovery, wire);
    }

    fn take(&mut self) -> Vec<u64> {
        self.sent.drain(..).map(|header| (header.seq - FIRST_BYTE) / MSS).collect()
    }

    /// An acknowledgment of `upto` segments; returns the number removed, and when the timer expires.
    fn clean(&mut self, ms: u64, upto: u64) -> (u32, Option<u64>) {
        let (now, header) = (self.now(ms), Header { ack: FIRST_BYTE + upto * MSS, ts_ecr: 0, ..Header::default() });
        self.tx.queue.acknowledge(header.ack);
        (self.tx.clean_acked(now, &header, true, true).packets, self.tx.timer.expiry())
    }
}

fn stack(name: &str) -> Stack {
    *Stack::find(name).expect("a stack")
}

#[test]
fn the_smaller_one_of_both_windows_and_the_host_s_room_rule() {
    for name in ["linux-2.6.29", "linux-3.13", "linux-6.1", "ns2"] {
        assert_eq!(TransmissionHarness::new(stack(name), 7, 1 << 20).send(0), [0, 1, 2, 3, 4, 5, 6], "{name}");
        assert_eq!(TransmissionHarness::new(stack(name), 7, 3_999).send(0), [0, 1, 2], "{name}: no segment is cut");
        let mut rig = TransmissionHarness::new(stack(name), 7, 1 << 20);
        rig.room = 2;
        assert_eq!((rig.send(0), rig.tx.board.packets_out()), (vec![0, 1], 2), "{name}");
    }
}

#[test]
fn the_timer_runs_from_the_first_segment_out_and_stops_with_the_last() {
    let mut rig = TransmissionHarness::new(stack("linux-2.6.29"), 2, 1 << 20);
    rig.send(10);
    assert_eq!(rig.tx.timer.expiry(), Some(310), "100 ms and 200");
    rig.send(60);
    assert_eq!((rig.tx.timer.expiry(), rig.clean(110, 0)), (Some(310), (0, Some(310))), "nothing was acknowledged");
    let (packets, expiry) = rig.clean(110, 1);
    assert_eq!((packets, expiry.map(|at| at > 310)), (1, Some(true)), "anew for what is left");
    assert_eq!(rig.clean(120, 2), (1, None));
}

#[test]
fn what_is_lost_goes_first_and_the_head_restarts_the_timer() {
    for name in ["linux-2.6.29", "linux-6.1"] {
        let mut rig = TransmissionHarness::new(stack(name), 6, 1 << 20);
        rig.send(0);
        let mut sack = Sack::default();
        sack.push((FIRST_BYTE + 3 * MSS, FIRST_BYTE + 6 * MSS));
        rig.tx.board.tag(sack.blocks(), FIRST_BYTE, 0, |_, _| {});
        [0, 2].into_iter().for_each(|i| rig.tx.board.mark_lost(i));
        let now = rig.now(150);
        rig.tx.retransmit_lost(now, 2, (&rig.control, &mut rig.recovery), &mut LimitedDevice(&mut rig.sent, u64::MAX));
        assert_eq!((rig.take(), rig.tx.board.in_flight()), (vec![0], 2), "{name}: as the window allows");
        assert!(rig.tx.timer.expiry() >= Some(450), "{name}: {:?}", rig.tx.timer.expiry());
        rig.tx.retransmit_lost(now, 3, (&rig.control, &mut rig.recovery), &mut LimitedDevice(&mut rig.sent, u64::MAX));
        assert_eq!((rig.take(), rig.tx.output.stats.retransmissions), (vec![2], 2), "{name}");
    }
}

#[test]
fn a_burst_ends_with_a_push() {
    let mut rig = TransmissionHarness::new(stack("linux-6.1"), 9, 1 << 20);
    rig.transmit(0);
    let pushes: Vec<bool> = rig.sent.iter().map(|header| header.flags.contains(Flags::PSH)).collect();
    // Bursts of two, and a single segment that fits.
    assert_eq!(pushes, [false, true, false, true, false, true, false, true, false]);
}

/// Sixteen segments are outstanding in bursts of two, `sacked` of which were SACKed and `lost` marked. Returns the
/// starts of those retransmitted from 150 ms on in a window of `cwnd`, a list per departure from the pacer.
fn sent_again(sacked: &[SeqRange], lost: Range<usize>, cwnd: u32) -> Vec<Vec<u64>> {
    let mut rig = TransmissionHarness::new(Stack { paces: true, ..stack("linux-6.1") }, 16, 1 << 20);
    rig.tx.follow_window(&rig.control);
    rig.tx.rate = 1;
    let mut at = rig.now(0);
    while rig.tx.board.packets_out() < 16 {
        rig.tx.send_new(at, &mut rig.control, &mut rig.recovery, &mut LimitedDevice(&mut rig.sent, u64::MAX));
        rig.tx.write_ahead(at, &mut rig.control, &mut rig.recovery, &mut LimitedDevice(&mut rig.sent, u64::MAX));
        at = rig.tx.rtt.clock().now(at.at + Duration::from_millis(1));
    }
    rig.take();
    let blocks: Vec<SeqRange> = sacked.iter().map(|&(a, b)| (FIRST_BYTE + a * MSS, FIRST_BYTE + b * MSS)).collect();
    rig.tx.board.tag(&blocks, FIRST_BYTE, 0, |_, _| {});
    lost.for_each(|i| rig.tx.board.mark_lost(i));
    let mut now = rig.now(150);
    let mut bursts = Vec::new();
    loop {
        rig.tx.retransmit_lost(
            now,
            cwnd,
            (&rig.control, &mut rig.recovery),
            &mut LimitedDevice(&mut rig.sent, u64::MAX),
        );
        let burst = rig.take();
        if burst.is_empty() {
            return bursts;
        }
        bursts.push(burst);
        now = rig.tx.rtt.clock().now(rig.tx.pacer.as_ref().expect("it paces").departure().max(now.at));
    }
}

#[test]
fn what_left_as_one_burst_is_sent_again_as_one_as_far_as_nothing_has_parted_it() {
    assert_eq!(sent_again(&[(4, 16)], 0..4, 4), [[0, 1], [2, 3]]);
    assert_eq!(sent_again(&[(3, 16)], 0..3, 4), [vec![0, 1], vec![2]], "a SACK has parted the second");
    assert_eq!(sent_again(&[(1, 2), (4, 16)], 0..4, 4), [vec![0], vec![2, 3]], "one within the first");
    assert_eq!(sent_again(&[(4, 16)], 0..4, 3), [vec![0, 1], vec![2]], "the window has room for half of the second");
    assert_eq!(sent_again(&[(4, 16)], 1..4, 4), [vec![1], vec![2, 3]], "what is not lost stays");
}

#[test]
fn a_burst_waits_by_when_the_last_one_lets_the_next_go_be_it_sent_again() {
    let mut rig = TransmissionHarness::new(Stack { paces: true, ..stack("linux-6.1") }, 16, 1 << 20);
    rig.tx.follow_window(&rig.control);
    rig.send(0);
    let departure = |rig: &TransmissionHarness| rig.tx.pacer.as_ref().expect("it paces").departure();
    assert_eq!(rig.tx.bursts.last_sent(), departure(&rig));
    let now = rig.now(150);
    rig.tx.board.mark_lost(0);
    rig.tx.retransmit_lost(now, 16, (&rig.control, &mut rig.recovery), &mut LimitedDevice(&mut rig.sent, u64::MAX));
    assert!(departure(&rig) > now.at, "{:?}", departure(&rig));
    assert_eq!(rig.tx.bursts.last_sent(), departure(&rig));
}

#[test]
fn a_held_burst_waits_for_its_departure_and_so_does_what_is_lost() {
    for bursts in [false, true] {
        let mut rig = TransmissionHarness::new(Stack { paces: true, bursts, ..stack("linux-6.1") }, 16, 1 << 20);
        rig.tx.follow_window(&rig.control);
        assert_eq!(rig.send(0).len(), 10, "the first ten leave at once");
        let wakes = rig.tx.pacer.as_ref().expect("it paces").wakeup();
        assert!(wakes > Instant::ZERO && wakes < Instant::NEVER, "{wakes:?}");
        rig.tx.board.mark_lost(0);
        let now = rig.now(0);
        rig.tx.retransmit_lost(now, 16, (&rig.control, &mut rig.recovery), &mut LimitedDevice(&mut rig.sent, u64::MAX));
        assert_eq!(rig.take(), []);
        let now = rig.tx.rtt.clock().now(wakes);
        rig.tx.retransmit_lost(now, 16, (&rig.control, &mut rig.recovery), &mut LimitedDevice(&mut rig.sent, u64::MAX));
        assert_eq!(rig.take(), [0], "it takes the place of a new one");
        assert!(rig.tx.is_held(now));
    }
}

/// A device that takes 10 ms per segment.
struct SlowDevice<'a>(&'a mut Vec<Header>, Instant);

impl Wire for SlowDevice<'_> {
    fn transmit(&mut self, header: &Header, _: u32, _: Ecn) {
        self.0.push(*header);
        self.1 += sojourn_aqm::Duration::from_millis(10);
    }
    fn drain_time(&self) -> Instant {
        self.1
    }
}

#[test]
fn two_bursts_wait_below_and_the_next_goes_when_the_second_begins_to_leave() {
    // The first segment leaves at once, and the other of its burst takes less memory than a burst.
    for (name, first, then) in [("linux-3.13", 20, 0), ("linux-6.1", 6, 2)] {
        let mut rig = TransmissionHarness::new(stack(name), 20, 1 << 20);
        let now = rig.now(0);
        let wire = &mut SlowDevice(&mut rig.sent, now.at);
        rig.tx.send_new(now, &mut rig.control, &mut rig.recovery, wire);
        rig.tx.write_ahead(now, &mut rig.control, &mut rig.recovery, wire);
        assert_eq!(rig.take().len(), first, "{name}");
        let now = rig.now(20);
        assert_eq!(
            rig.tx.has_room_below_at(),
            if then > 0 { now.at } else { Instant::NEVER },
            "{name}: a pair has left"
        );
        assert_eq!(rig.tx.wait_is_over(now), then > 0, "{name}");
        let wire = &mut SlowDevice(&mut rig.sent, rig.tx.rtt.clock().instant(40));
        rig.tx.send_held(now, &mut rig.control, &mut rig.recovery, wire);
        assert_eq!(rig.take().len(), then, "{name}");
    }
}

#[test]
fn a_third_burst_of_a_connection_goes_though_its_device_still_has_the_acknowledgment_of_the_handshake() {
    let mut rig = TransmissionHarness::new(stack("linux-6.1"), 20, 1 << 20);
    let sent_at = |rig: &mut TransmissionHarness, ms| {
        let now = rig.now(ms);
        // The device is busy for another millisecond.
        let wire = &mut SlowDevice(&mut rig.sent, rig.tx.rtt.clock().instant(ms + 1));
        rig.tx.send_new(now, &mut rig.control, &mut rig.recovery, wire);
        rig.tx.write_ahead(now, &mut rig.control, &mut rig.recovery, wire);
        rig.take().len()
    };
    assert_eq!(sent_at(&mut rig, 0), 6);
    rig.clean(200, 6);
    rig.tx.free_buffer();
    assert_eq!(sent_at(&mut rig, 200), 4, "it is the first one no more");
}

/// A shared device: segments stay in it until the test removes them.
#[derive(Default)]
struct SharedDevice {
    sent: Vec<Header>,
    waits: u64,
    held: u32,
    departures: Vec<u64>,
}

impl Wire for SharedDevice {
    fn transmit(&mut self, header: &Header, _: u32, _: Ecn) {
        self.sent.push(*header);
        self.waits += memory_below(header.len.into(), 1);
    }
    fn bytes_below(&self) -> Option<u64> {
        Some(self.waits)
    }
    fn notify_on_departure(&mut self) {
        self.held += 1;
    }
    fn set_departure(&mut self, at: Instant) {
        self.departures.push(at.as_nanos() / 1_000);
    }
}

#[test]
fn in_a_shared_device_two_bursts_wait_and_each_that_leaves_lets_another_go() {
    // A burst of two segments takes 2 x 1000 + 768 bytes of memory, so the limit is 5536; here each segment lies alone
    // and takes 1768. After two bursts 7072 wait; the third is sent when one segment has left, then one per two that
    // leave.
    let mut rig = TransmissionHarness::new(stack("linux-6.1"), 20, 1 << 20);
    let wire = &mut SharedDevice::default();
    let now = rig.now(0);
    rig.tx.send_new(now, &mut rig.control, &mut rig.recovery, wire);
    rig.tx.write_ahead(now, &mut rig.control, &mut rig.recovery, wire);
    assert_eq!((wire.sent.len(), wire.waits), (4, 4 * 1_768));
    assert!(wire.held > 0 && !rig.tx.is_idle_below(now, wire));
    for (left, sent) in [(1, 6), (1, 6), (1, 8), (2, 10)] {
        wire.waits -= left * 1_768;
        rig.tx.send_held(now, &mut rig.control, &mut rig.recovery, wire);
        assert_eq!(wire.sent.len(), sent, "{left} have left");
    }
    assert_eq!(rig.tx.has_room_below_at(), Instant::NEVER, "no timer runs");
}

#[test]
fn a_device_that_paces_gets_departure_times_and_nothing_waits_for_them() {
    let mut rig = TransmissionHarness::new(stack("linux-6.1"), 40, 1 << 20);
    let needs = rig.control.cc.needs();
    rig.tx.leave_pacing_to_device(&needs);
    rig.tx.follow_window(&rig.control);
    // The rate is 200 % of 40 segments per RTT of 100 ms: 800 kB/s, a segment per 1.25 ms. The first ten are not paced.
    let wire = &mut SharedDevice::default();
    let now = rig.now(7);
    for _ in 0..10 {
        rig.tx.send_new(now, &mut rig.control, &mut rig.recovery, wire);
        rig.tx.write_ahead(now, &mut rig.control, &mut rig.recovery, wire);
        wire.waits = 0;
    }
    let departures: Vec<_> = wire.departures.iter().map(|us| us - 7_000).collect();
    assert_eq!(departures[..16], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2_500, 2_500, 5_000, 5_000, 7_500, 7_500]);
    assert!(!rig.tx.is_held(now) && !rig.tx.wait_is_over(rig.now(1_000)), "no timer runs");
    // Segments carry their departure time, by the sender's clock of milliseconds, and count as sent then.
    let stamps: Vec<_> = wire.sent.iter().map(|header| header.ts_val).collect();
    assert_eq!(stamps[8..16], [7, 7, 9, 9, 12, 12, 14, 14]);
    let sent = rig.tx.board.get(15).map(|segment| segment.sent.as_nanos() / 1_000);
    assert_eq!(sent, Some(14_500));
}
