//! Life cycle of a connection without losses: handshake, growth of the window, limits, close.

use super::*;

#[test]
fn a_lost_syn_is_sent_again_after_3_6_and_12_seconds() {
    let mut rig = SenderHarness::closed(window(3));
    rig.open(None);
    let times = [0, 3_000, 9_000, 21_000];
    for at in &times[1..] {
        assert_eq!(rig.sender.deadline(), ms(*at));
        rig.now_ms = *at;
        rig.sender.on_timer(ms(rig.now_ms - 1), &mut Recorder(rig.now_ms, &mut rig.sent));
        rig.sender.on_timer(ms(rig.now_ms), &mut Recorder(rig.now_ms, &mut rig.sent));
    }
    let syns: Vec<_> = rig.sent.iter().map(|s| (s.at_ms, s.header.seq, s.header.flags, s.len)).collect();
    assert_eq!(syns, times.map(|at| (at, 0, Flags::SYN, 60)));
    assert_eq!((rig.sender.stats().timeouts, rig.sender.stats().sent), (3, 0), "a SYN is no data");
}

#[test]
fn the_handshake_ends_with_an_acknowledgment_and_three_segments() {
    let mut rig = SenderHarness::closed(Setup { window: None, ..window(0) });
    rig.open(None);
    rig.sent.clear();
    rig.now_ms = 100;
    rig.syn_ack();
    let sent: Vec<_> = rig.sent.iter().map(|s| (s.at_ms, s.header.seq, s.header.len, s.len)).collect();
    assert_eq!(sent, [(100, 1, 0, 52), (100, 1, 1448, 1500), (100, 1449, 1448, 1500), (100, 2897, 1448, 1500)]);
    assert!(rig.sent.iter().all(|s| s.header.flags == Flags::ACK && s.header.ack == 1));
    assert_eq!(rig.sender.deadline(), ms(100 + 300), "RTO = srtt + 200 ms");
    assert_eq!(rig.sender.srtt_s(), 0.1);
}

#[test]
fn in_ns_2_only_data_acknowledge_the_answer_to_the_syn() {
    let mut rig = SenderHarness::closed(Setup { stack: *Stack::find("ns2").expect("a stack"), ..window(2) });
    rig.open(None);
    rig.sent.clear();
    rig.now_ms = 100;
    rig.syn_ack();
    let sent: Vec<_> = rig.sent.iter().map(|s| (s.at_ms, s.header.seq, s.header.len)).collect();
    assert_eq!(sent, [(100, 1, 1448), (100, 1449, 1448)]);
}

#[test]
fn what_is_no_syn_ack_opens_nothing() {
    let mut rig = SenderHarness::closed(window(3));
    rig.now_ms = RTT_MS;
    assert_eq!(rig.ack(0), NOTHING, "not even opened");
    rig.open(None);
    rig.sent.clear();
    rig.segment(Header { ack: 1, flags: Flags::ACK, ..Header::default() });
    rig.segment(Header { ack: 0, flags: Flags::SYN.with(Flags::ACK), ..Header::default() });
    assert_eq!(rig.sent.len(), 0);
}

#[test]
fn a_lost_last_acknowledgment_of_the_handshake_is_repeated() {
    let mut rig = SenderHarness::new(window(3));
    rig.syn_ack();
    let answers: Vec<_> = rig.sent.iter().map(|s| (s.header.len, s.header.flags, s.len)).collect();
    assert_eq!(answers, [(0, Flags::ACK, 52)]);
}

#[test]
fn slow_start_doubles_per_round_trip_with_an_acknowledgment_per_segment() {
    let mut rig = SenderHarness::new(window(10));
    let mut acked = 0;
    for cwnd in [10, 20, 40, 80] {
        assert_eq!(rig.cwnd(), cwnd);
        for _ in 0..cwnd {
            acked += 1;
            assert_eq!(rig.ack(acked).len(), 2, "acknowledgment {acked}");
        }
        rig.now_ms += RTT_MS;
    }
    assert_eq!(rig.state(), CaState::Open);
}

#[test]
fn slow_start_grows_by_half_with_an_acknowledgment_for_two_segments() {
    let mut rig = SenderHarness::new(window(8));
    let mut acked = 0;
    for cwnd in [8, 12, 18, 27] {
        assert_eq!(rig.cwnd(), cwnd);
        for _ in 0..cwnd / 2 {
            acked += 2;
            assert_eq!(rig.ack(acked).len(), 3, "acknowledgment of {acked}");
        }
        rig.now_ms += RTT_MS;
    }
}

#[test]
fn slow_start_ends_above_the_threshold() {
    let mut rig = SenderHarness::new(window(4));
    rig.sender.control.window.ssthresh = 6;
    // Still slow start at 6 = ssthresh; then one segment per 8 acknowledgments.
    for (acked, cwnd) in [(1, 5), (2, 6), (3, 7), (4, 7), (10, 7)] {
        rig.ack(acked);
        assert_eq!(rig.cwnd(), cwnd, "{acked} segments acknowledged");
    }
}

#[test]
fn congestion_avoidance_adds_a_segment_per_cwnd_plus_one_acknowledgments() {
    let mut rig = SenderHarness::new(window(10));
    rig.sender.control.window.ssthresh = 5;
    let cwnd_after: Vec<u32> = (1..=24)
        .map(|acked| {
            rig.ack(acked);
            rig.cwnd()
        })
        .collect();
    // Acknowledgments 11 and 11 + 12 = 23 complete a step.
    assert_eq!(cwnd_after, [[10; 10].as_slice(), &[11; 12], &[12; 2]].concat());
}

#[test]
fn the_window_does_not_grow_while_it_is_not_used() {
    // Eight of twelve segments are sent; four or more below the window, the window is not the limit.
    for (limit, cwnd) in [(8 * MSS, 12), (9 * MSS, 13)] {
        let mut rig = SenderHarness::new(Setup { receive_window: Some(limit), ..window(12) });
        rig.ack(1);
        assert_eq!(rig.cwnd(), cwnd, "{limit} bytes of 12 segments in flight");
    }
}

#[test]
fn the_receive_window_bounds_the_flight() {
    let mut rig = SenderHarness::closed(Setup { receive_window: Some(4 * MSS + 700), ..window(10) });
    rig.open(None);
    rig.now_ms = 100;
    rig.sent.clear();
    rig.syn_ack();
    assert_eq!(rig.sent.len(), 1 + 4, "no part of a segment is sent");
    rig.sent.clear();
    rig.now_ms = 200;
    assert_eq!(rig.ack(1), [4]);
    assert_eq!(rig.ack(4), [5, 6, 7]);
}

#[test]
fn an_acknowledgment_of_what_was_not_sent_is_ignored() {
    let mut rig = SenderHarness::new(window(3));
    assert_eq!(rig.ack(4), NOTHING);
    assert_eq!(rig.ack(3), [3, 4, 5, 6]);
    assert_eq!(rig.ack(2), NOTHING, "an old one");
    assert_eq!((rig.cwnd(), rig.state()), (4, CaState::Open));
}

#[test]
fn closing_sends_fin_after_the_data() {
    let mut rig = SenderHarness::new(window(3));
    assert_eq!(rig.close(), NOTHING, "the window is full");
    rig.ack(1);
    rig.now_ms += 1;
    rig.ack(3);
    assert!(rig.take().is_empty());
    assert_eq!(rig.sender.transmission.board.packets_out(), 1, "the FIN is out");
    assert_eq!(rig.sender.transmission.queue.nxt(), seq(3) + 1);
    assert_eq!(rig.sender.stats().sent, 4);
}

#[test]
fn fin_rides_on_the_last_bytes_and_is_sent_again_if_lost() {
    let mut rig = SenderHarness::closed(Setup { sack: false, ..window(10) });
    rig.open(Some(2 * MSS + 100));
    rig.now_ms = 100;
    rig.syn_ack();
    let fin = |s: &SentSegment| (segment(s.header.seq), s.header.len, s.header.flags.contains(Flags::FIN));
    let data: Vec<_> = rig.sent.drain(..).skip(2).map(|s| fin(&s)).collect();
    assert_eq!(data, [(0, 1448, false), (1, 1448, false), (2, 100, true)]);
    rig.now_ms = 200;
    assert_eq!(rig.ack(2), NOTHING);
    rig.now_ms = 500;
    rig.sender.on_timer(ms(500), &mut Recorder(500, &mut rig.sent));
    assert_eq!(rig.sent.drain(..).map(|s| fin(&s)).collect::<Vec<_>>(), [(2, 100, true)]);
    // The acknowledgment counts the FIN as one and ends the connection.
    rig.segment(Header { ack: seq(2) + 101, flags: Flags::ACK, ts_ecr: 500, ..Header::default() });
    assert_eq!((rig.sender.in_flight(), rig.sender.deadline()), (0, Instant::NEVER));
}
