//! The receiver of Linux 6.1 under scripts: quick, delayed and compressed acknowledgments, bursts and marks.

use super::*;

struct ReceiverHarness {
    receiver: Receiver,
    sent: Vec<SentSegment>,
}

impl ReceiverHarness {
    fn new(stack: &'static Stack, ecn: bool) -> Self {
        let config =
            ReceiverConfig { stack, mss: MSS as u32, sack: true, delayed_ack: true, ecn, receive_window: None };
        let mut rig = Self { receiver: Receiver::new(config), sent: Vec::new() };
        let syn = Flags::SYN.with_if(Flags::ECE.with(Flags::CWR), ecn);
        rig.take(900_000, Header { flags: syn, ..Header::default() }, Ecn::NotEct);
        rig.take(1_000_000, Header { seq: 1, flags: Flags::ACK, ts_ecr: 900, ..Header::default() }, Ecn::NotEct);
        rig
    }

    fn take(&mut self, at_us: u64, header: Header, ecn: Ecn) -> Vec<u64> {
        let at = Instant::from_nanos(at_us * 1_000);
        self.sent.clear();
        self.receiver.on_segment(at, &header, ecn, &mut Recorder(0, &mut self.sent));
        self.acks()
    }

    fn with(&mut self, at_us: u64, n: u64, flags: Flags, ecn: Ecn) -> Vec<u64> {
        self.take(at_us, Header { seq: seq(n), len: MSS as u16, flags, ts_ecr: 900, ..Header::default() }, ecn)
    }

    /// Segment `n` arrives; returns the acknowledged segments.
    fn data(&mut self, at_us: u64, n: u64) -> Vec<u64> {
        self.with(at_us, n, Flags::ACK, Ecn::Ect0)
    }

    /// Lets the timer expire; returns its time in microseconds and the acknowledged segments.
    fn timer(&mut self) -> (u64, Vec<u64>) {
        let at = self.receiver.deadline();
        self.sent.clear();
        self.receiver.on_timer(at, &mut Recorder(0, &mut self.sent));
        (at.as_nanos() / 1_000, self.acks())
    }

    fn acks(&self) -> Vec<u64> {
        self.sent.iter().filter(|s| !s.header.flags.contains(Flags::SYN)).map(|s| segment(s.header.ack)).collect()
    }

    /// A receiver that has spent its quick acknowledgments on segments 0 to 15.
    fn after_quick(stack: &'static Stack, ecn: bool) -> Self {
        let mut rig = Self::new(stack, ecn);
        (0..16).for_each(|n| assert_eq!(rig.data(1_000_000 + n * 1_000, n), [n + 1]));
        rig
    }
}

fn modern() -> &'static Stack {
    Stack::find("linux-6.1").expect("the stack is registered")
}

#[test]
fn sixteen_quick_acknowledgments_then_every_second_or_after_41_ms() {
    let mut rig = ReceiverHarness::after_quick(modern(), false);
    assert_eq!([rig.data(1_020_000, 16), rig.data(1_021_000, 17)], [vec![], vec![18]]);
    assert_eq!(rig.data(1_022_300, 18), NOTHING);
    assert_eq!(rig.timer(), (1_063_000, vec![19]), "40 ms and the wheel's one");
}

#[test]
fn the_end_of_a_burst_is_acknowledged_at_once() {
    let mut rig = ReceiverHarness::after_quick(modern(), false);
    let pushed = Flags::ACK.with(Flags::PSH);
    assert_eq!(rig.with(1_020_000, 16, pushed, Ecn::NotEct), [17]);
    assert_eq!(rig.data(1_021_000, 17), NOTHING, "another is not");
    let old = Stack { bursts: false, ..*modern() };
    let mut rig = ReceiverHarness::after_quick(Box::leak(Box::new(old)), false);
    assert_eq!(rig.with(1_020_000, 16, pushed, Ecn::NotEct), NOTHING);
}

#[test]
fn after_three_duplicates_the_others_wait_a_millisecond_and_the_slack() {
    // Segment 16 is missing; data arrives every 250 µs.
    let at = |n: u64| 1_020_000 + 250 * n;
    let run = |stack| {
        let mut rig = ReceiverHarness::after_quick(stack, false);
        let sent: Vec<_> = (0..7).map(|n| rig.data(at(n), 17 + n).len()).collect();
        (rig, sent)
    };
    let (mut rig, sent) = run(modern());
    assert_eq!(sent, [1, 1, 1, 0, 0, 0, 0]);
    assert_eq!(rig.timer(), (at(3) + 1_100, vec![16]), "one for all that wait, when the slack is over");
    let blocks: Vec<_> = rig.sent[0].header.sack.blocks().to_vec();
    assert_eq!(blocks, [(seq(17), seq(24))], "it tells of everything");
    assert_eq!(rig.data(at(8), 24), NOTHING, "the next ones wait again");
    assert_eq!(rig.data(at(9), 16), [25], "the hole is filled: at once");
    assert_eq!(rig.receiver.deadline(), Instant::NEVER);

    let old = Stack { compressed_acks: None, ..*modern() };
    assert_eq!(run(Box::leak(Box::new(old))).1, [1; 7], "without it none waits");
}

/// Delay in µs of the fourth duplicate's acknowledgment, if the handshake takes `handshake_us` and segments arrive
/// `echoed_ms` after the acknowledgment that they echo.
fn ack_delay_us(handshake_us: u64, echoed_ms: u32) -> u64 {
    let at = |n: u64| 1_000_000 + 100 * n;
    let config = ReceiverConfig {
        stack: modern(),
        mss: MSS as u32,
        sack: true,
        delayed_ack: true,
        ecn: false,
        receive_window: None,
    };
    let mut rig = ReceiverHarness { receiver: Receiver::new(config), sent: Vec::new() };
    rig.take(at(0) - handshake_us, Header { flags: Flags::SYN, ..Header::default() }, Ecn::NotEct);
    rig.take(at(0), Header { seq: 1, flags: Flags::ACK, ts_ecr: 900, ..Header::default() }, Ecn::NotEct);
    (0..20).for_each(|n| {
        let n = if n < 16 { n } else { n + 1 };
        let ts_ecr = (at(n) / 1_000) as u32 - echoed_ms;
        rig.take(
            at(n),
            Header { seq: seq(n), len: MSS as u16, flags: Flags::ACK, ts_ecr, ..Header::default() },
            Ecn::NotEct,
        );
    });
    rig.timer().0 - at(20)
}

/// Linux 6.1 at 10 Mbit/s and 10 ms: the SYN-ACK's round trip takes 10,151 µs, so acknowledgments are delayed by 507.55
/// µs plus the slack.
#[test]
fn an_acknowledgment_waits_for_a_twentieth_of_the_shortest_round_trip_that_the_receiver_knows() {
    assert_eq!([ack_delay_us(10_151, 11), ack_delay_us(10_151, 10), ack_delay_us(30_000, 25)], [607, 600, 1_100]);
}

#[test]
fn a_partly_filled_hole_and_a_third_block_are_told_at_once() {
    let mut rig = ReceiverHarness::after_quick(modern(), false);
    // Segments 16 and 18 are missing.
    assert_eq!(rig.data(1_020_000, 17), [16]);
    (19..23).for_each(|n| drop(rig.data(1_020_000 + 100 * n, n)));
    assert_ne!(rig.receiver.deadline(), Instant::NEVER, "some wait");
    assert_eq!(rig.data(1_022_400, 24), [16], "what waits goes before there is a third block …");
    assert_eq!(rig.sent[0].header.sack.blocks().len(), 2);
    assert_eq!(rig.receiver.deadline(), Instant::NEVER, "… which is told with the next one only");
    assert_eq!(rig.data(1_022_500, 16), [18], "rcv_nxt moved");
}

#[test]
fn the_timer_of_a_delayed_acknowledgment_that_went_early_takes_a_compressed_one_along() {
    let mut rig = ReceiverHarness::after_quick(modern(), false);
    // The acknowledgment of 16 is due at 1061 ms and goes out with that of 17; 18 is missing. The timer keeps running.
    assert_eq!(rig.data(1_020_000, 16), NOTHING);
    assert_eq!(rig.receiver.deadline(), Instant::from_nanos(1_061_000_000));
    assert_eq!(rig.data(1_021_000, 17), [18]);
    let sent: Vec<_> = (0..4).map(|n| rig.data(1_060_000 + 100 * n, 19 + n).len()).collect();
    assert_eq!(sent, [1, 1, 1, 0]);
    assert_eq!(rig.timer(), (1_061_000, vec![18]), "not 1100 µs after the last");
    assert_eq!(rig.data(1_062_000, 23), NOTHING);
    assert_eq!(rig.timer(), (1_063_100, vec![18]), "it has expired");
}

#[test]
fn out_of_order_data_starts_no_quick_acknowledgments() {
    let after_hole = |stack| {
        let mut rig = ReceiverHarness::after_quick(stack, false);
        rig.data(1_020_000, 17);
        rig.data(1_021_000, 16);
        [rig.data(1_022_000, 18), rig.data(1_023_000, 19)]
    };
    assert_eq!(after_hole(modern()), [vec![], vec![20]]);
    let old = Stack { quickacks_on_reordering: true, ..*modern() };
    assert_eq!(after_hole(Box::leak(Box::new(old))), [vec![19], vec![20]]);
}

#[test]
fn a_mark_and_a_reduced_window_are_acknowledged_quickly() {
    let mut rig = ReceiverHarness::after_quick(modern(), true);
    assert_eq!(rig.with(1_020_000, 16, Flags::ACK, Ecn::Ce), [17]);
    assert_eq!([rig.data(1_021_000, 17), rig.data(1_022_000, 18)], [vec![18], vec![]], "two quick ones");
    assert_eq!(rig.with(1_023_000, 19, Flags::ACK, Ecn::Ect0), [20]);
    assert_eq!(rig.with(1_024_000, 20, Flags::ACK.with(Flags::CWR), Ecn::Ect0), [21], "CWR: at once");
    assert_eq!(rig.with(1_025_000, 21, Flags::ACK, Ecn::NotEct), [22], "a retransmission among capable data");
}
