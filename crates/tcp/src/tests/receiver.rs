//! The receiver under a script: acknowledgment timing and echoed timestamps and marks.

use super::*;

/// A SYN that requests ECN.
const ECN_SYN: Flags = Flags::SYN.with(Flags::ECE).with(Flags::CWR);

pub(super) struct ScriptedReceiver {
    pub receiver: Receiver,
    pub sent: Vec<SentSegment>,
}

impl ScriptedReceiver {
    /// A connection with an RTT of `rtt_ms` that has spent its two quick acknowledgments at 1000 ms.
    fn new(rtt_ms: u64) -> Self {
        let mut scripted = Self::handshake(&Setup { ecn: true, ..window(10) }, rtt_ms);
        assert_eq!([0, 1].map(|n| scripted.data(START_MS, n).len()), [1, 1], "quick acknowledgments");
        scripted
    }

    /// A newly established connection with an RTT of [`RTT_MS`].
    pub fn established(setup: &Setup) -> Self {
        Self::handshake(setup, RTT_MS)
    }

    fn handshake(setup: &Setup, rtt_ms: u64) -> Self {
        let (stack, mss) = (setup.stack(), MSS as u32);
        let Setup { sack, delayed_ack, ecn, .. } = *setup;
        let needs = AnyCc::new(setup.cc).expect("the congestion control is registered").needs();
        let config = ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window: None };
        let receiver = Receiver::new(config).serving(&needs);
        let mut scripted = Self { receiver, sent: Vec::new() };
        let start = START_MS - rtt_ms;
        let flags = if ecn { ECN_SYN } else { Flags::SYN };
        scripted.segment(start, Header { flags, ..Header::default() }, Ecn::NotEct);
        let last = Header { seq: 1, flags: Flags::ACK, ts_ecr: start as u32, ..Header::default() };
        scripted.segment(START_MS, last, Ecn::NotEct);
        scripted.sent.clear();
        scripted
    }

    /// Segment `n` arrives with its arrival time as timestamp; returns the acknowledgments.
    fn data(&mut self, at_ms: u64, n: u64) -> Vec<Header> {
        self.data_with(at_ms, n, Flags::ACK, Ecn::Ect0)
    }

    fn data_with(&mut self, at_ms: u64, n: u64, flags: Flags, ecn: Ecn) -> Vec<Header> {
        self.sent.clear();
        let header = Header { seq: seq(n), len: MSS as u16, flags, ts_val: at_ms as u32, ..Header::default() };
        self.segment(at_ms, header, ecn);
        self.sent.drain(..).map(|sent| sent.header).collect()
    }

    pub fn segment(&mut self, at_ms: u64, header: Header, ecn: Ecn) {
        self.receiver.on_segment(ms(at_ms), &header, ecn, &mut Recorder(at_ms, &mut self.sent));
    }
}

/// The acknowledged segments of each header.
fn acks(headers: &[Header]) -> Vec<u64> {
    headers.iter().map(|header| segment(header.ack)).collect()
}

#[test]
fn every_second_segment_at_once_and_a_lone_one_after_40_ms() {
    let mut scripted = ScriptedReceiver::new(100);
    assert_eq!(acks(&scripted.data(1_000, 2)), NOTHING);
    assert_eq!(acks(&scripted.data(1_001, 3)), [4]);
    assert_eq!(acks(&scripted.data(1_002, 4)), NOTHING);
    assert_eq!(scripted.receiver.deadline(), ms(1_042));
    scripted.receiver.on_timer(ms(1_041), &mut Recorder(1_041, &mut scripted.sent));
    assert!(scripted.sent.is_empty(), "too early");
    scripted.receiver.on_timer(ms(1_042), &mut Recorder(1_042, &mut scripted.sent));
    assert_eq!(segment(scripted.sent[0].header.ack), 5);
    assert_eq!(scripted.receiver.deadline(), Instant::NEVER);
}

#[test]
fn the_delay_follows_the_gaps_between_data() {
    // From 40 ms: gaps up to 20 ms pull the delay there, gaps up to the delay itself add to half of it, longer ones
    // have no effect. The delay is that of the last segment; each earlier one was acknowledged together with its
    // neighbour.
    for (rtt_ms, gaps, delay_ms) in [
        (100, &[10][..], 40),
        (100, &[10, 10, 10], 40),
        (100, &[21], 41),
        (100, &[30], 50),
        (100, &[30, 30, 30], 57),
        (100, &[30, 45, 10], 55),
        (100, &[30, 5, 5], 42),
        (100, &[60], 40),
        // A known RTT bounds the delay, but not below 40 ms.
        (45, &[30], 45),
        (10, &[30], 40),
    ] {
        let mut scripted = ScriptedReceiver::new(rtt_ms);
        let mut at = START_MS;
        for (n, gap) in (2..).zip(gaps) {
            at += gap;
            scripted.data(at, n);
        }
        assert_eq!(scripted.receiver.deadline(), ms(at + delay_ms), "gaps {gaps:?}, RTT {rtt_ms} ms");
    }
}

#[test]
fn an_acknowledgment_that_came_late_doubles_the_delay() {
    let mut scripted = ScriptedReceiver::new(100);
    scripted.data(1_000, 2);
    scripted.receiver.on_timer(ms(1_040), &mut Recorder(1_040, &mut scripted.sent));
    // The delay is 80 ms now, and the gap of 45 ms since the last data is below it: 80 / 2 + 45.
    scripted.data(1_045, 3);
    assert_eq!(scripted.receiver.deadline(), ms(1_045 + 85));
}

#[test]
fn after_a_pause_longer_than_the_time_out_sixteen_are_quick() {
    // srtt + 200 ms = 300 ms.
    for (pause_ms, quick) in [(300, 0), (301, 16)] {
        let mut scripted = ScriptedReceiver::new(100);
        let acks_sent: Vec<usize> = (2..24).map(|n| scripted.data(START_MS + pause_ms, n).len()).collect();
        let expected: Vec<usize> = (0..22).map(|i| (i < quick || (i - quick) % 2 == 1) as usize).collect();
        assert_eq!(acks_sent, expected, "{pause_ms} ms");
    }
}

#[test]
fn after_out_of_order_data_sixteen_are_quick() {
    let mut scripted = ScriptedReceiver::new(100);
    assert_eq!(acks(&scripted.data(1_000, 3)), [2], "out of order: the first");
    assert_eq!(acks(&scripted.data(1_000, 2)), [4], "the hole is filled: the second");
    let acks_sent: Vec<usize> = (4..22).map(|n| scripted.data(1_000, n).len()).collect();
    assert_eq!(acks_sent, [[1; 14].as_slice(), &[0, 1, 0, 1]].concat());
}

#[test]
fn as_long_as_there_is_a_hole_everything_is_acknowledged_at_once() {
    let mut scripted = ScriptedReceiver::new(100);
    scripted.data(1_000, 30);
    let acks_sent: Vec<usize> = (2..30).map(|n| scripted.data(1_000, n).len()).collect();
    assert_eq!(acks_sent, [1; 28], "more than the sixteen quick ones");
}

#[test]
fn the_delay_starts_anew_after_quick_acknowledgments() {
    let mut scripted = ScriptedReceiver::new(100);
    let mut at = START_MS + 301;
    for n in 2..18 {
        assert_eq!(scripted.data(at, n).len(), 1, "{n}");
        at += 30;
    }
    // Gaps of 30 ms would have made it 59; the single gap after the quick acknowledgments makes it 40 / 2 + 30.
    assert_eq!(scripted.data(at, 18).len(), 0);
    assert_eq!(scripted.receiver.deadline(), ms(at + 50));
}

#[test]
fn a_small_segment_does_not_postpone_the_acknowledgment_of_another() {
    // Due at 40 ms; a segment that arrives in the last quarter of the delay is acknowledged with it.
    for (second_at, acks_sent) in [(25, 0), (31, 1)] {
        let mut scripted = ScriptedReceiver::new(100);
        let small = |at: u64, seq| Header { seq, len: 100, flags: Flags::ACK, ts_val: at as u32, ..Header::default() };
        scripted.sent.clear();
        scripted.segment(1_000, small(1_000, seq(2)), Ecn::NotEct);
        scripted.segment(1_000 + second_at, small(1_000 + second_at, seq(2) + 100), Ecn::NotEct);
        assert_eq!(scripted.sent.len(), acks_sent, "second after {second_at} ms");
        if acks_sent == 0 {
            assert_eq!(scripted.receiver.deadline(), ms(1_040));
        }
    }
}

#[test]
fn a_duplicate_is_acknowledged_at_once() {
    let mut scripted = ScriptedReceiver::new(100);
    scripted.data(1_000, 2);
    let acks_sent = scripted.data(1_001, 1);
    assert_eq!((acks(&acks_sent), acks_sent[0].sack.blocks()), (vec![3], [(seq(1), seq(2))].as_slice()));
}

#[test]
fn the_timestamp_echoed_is_that_of_the_earliest_segment_not_acknowledged() {
    let mut scripted = ScriptedReceiver::new(100);
    scripted.data(1_010, 2);
    assert_eq!(scripted.data(1_015, 3)[0].ts_ecr, 1_010, "a delayed acknowledgment tells of the whole wait");
    // Segment 4 is lost: later arrivals are not echoed, the retransmission of 4 is.
    assert_eq!(scripted.data(1_020, 5)[0].ts_ecr, 1_010);
    assert_eq!(scripted.data(1_021, 6)[0].ts_ecr, 1_010);
    assert_eq!(scripted.data(1_120, 4)[0].ts_ecr, 1_120);
    // An old duplicate does not move the timestamp back.
    assert_eq!(scripted.data(1_005, 0)[0].ts_ecr, 1_120);
}

#[test]
fn marks_are_echoed_until_the_sender_answers() {
    let mut scripted = ScriptedReceiver::new(100);
    let cwr = Flags::ACK.with(Flags::CWR);
    let mut echoes = Vec::new();
    for (n, (flags, ecn)) in (2..).zip([
        (Flags::ACK, Ecn::Ect0),
        (Flags::ACK, Ecn::Ce),
        (Flags::ACK, Ecn::Ect0),
        (Flags::ACK, Ecn::Ect0),
        (cwr, Ecn::Ect0),
        (Flags::ACK, Ecn::Ect0),
        (Flags::ACK, Ecn::Ce),
        (cwr, Ecn::Ce),
        (cwr, Ecn::Ect0),
        (Flags::ACK, Ecn::Ect0),
    ]) {
        let acks_sent = scripted.data_with(1_000, n, flags, ecn);
        echoes.extend(acks_sent.iter().map(|ack| (segment(ack.ack), ack.flags.contains(Flags::ECE))));
    }
    assert_eq!(echoes, [(4, true), (6, true), (8, false), (10, true), (12, false)]);
}

#[test]
fn the_syn_ack_agrees_to_ecn_and_is_not_capable_itself() {
    for (asked, able, ecn) in [(true, true, true), (true, false, false), (false, true, false)] {
        let config = ReceiverConfig {
            stack: stack(),
            mss: MSS as u32,
            sack: true,
            delayed_ack: true,
            ecn: able,
            receive_window: None,
        };
        let mut scripted = ScriptedReceiver { receiver: Receiver::new(config), sent: Vec::new() };
        let flags = if asked { ECN_SYN } else { Flags::SYN };
        scripted.segment(7, Header { flags, ts_val: 7, ..Header::default() }, Ecn::NotEct);
        let SentSegment { header, len, ecn: codepoint, .. } = scripted.sent[0];
        assert_eq!(header.flags, Flags::SYN.with(Flags::ACK).with_if(Flags::ECE, ecn));
        assert_eq!((header.ack, header.ts_ecr, len, codepoint), (FIRST_BYTE, 7, 60, Ecn::NotEct));
    }
}

#[test]
fn fin_is_acknowledged_at_once_and_is_no_data() {
    let mut scripted = ScriptedReceiver::new(100);
    scripted.sent.clear();
    let fin = Header { seq: seq(2), flags: Flags::ACK.with(Flags::FIN), ts_val: 1_000, ..Header::default() };
    scripted.segment(1_000, fin, Ecn::NotEct);
    assert_eq!(scripted.sent.iter().map(|sent| sent.header.ack).collect::<Vec<_>>(), [seq(2) + 1]);
    assert_eq!(scripted.receiver.delivered(), 2 * MSS);
}
