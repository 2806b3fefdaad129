//! RACK under scripts: loss detection by time.

use super::*;

#[test]
fn three_duplicates_start_recovery_at_once() {
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    let mut sent = Vec::new();
    for n in 2..=4 {
        rig.now_ms += 2;
        sent.push(rig.sack(0, &[(1, n)]));
    }
    assert_eq!(sent, [[10], [11], [0]]);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5));
}

#[test]
fn fewer_duplicates_wait_for_a_quarter_of_the_least_rtt() {
    // Four outstanding, one SACKed: FACK with its tolerance of three would wait for the time-out.
    let few = || Setup { bytes: Some(4 * MSS), ..window(10) };
    let mut rig = SenderHarness::new(under("linux-6.1", few()));
    assert_eq!((rig.sack(0, &[(2, 3)]), rig.state()), (vec![], CaState::Disorder));
    // RTT 100 ms, reordering window 25 ms, 2 ms for the timer, and 1 ms of its wheel; the RTT has already elapsed.
    assert_eq!(rig.timer(), (28, vec![0]));
    assert_eq!((rig.state(), rig.sender.transmission.board.lost_out), (CaState::Recovery, 2));

    let mut rig = SenderHarness::new(lacking("linux-6.1", few(), |stack| stack.rack = false));
    assert_eq!(rig.sack(0, &[(2, 3)]), NOTHING);
    assert_ne!(rig.timer(), (28, vec![0]), "not without RACK");
}

#[test]
fn what_was_sent_after_the_latest_delivered_is_not_lost() {
    // Segments 4 to 7 were sent 102 ms after the others: a SACK of 3 says nothing about them.
    let mut rig = SenderHarness::new(under("linux-6.1", window(4)));
    rig.now_ms += 2;
    assert_eq!(rig.ack(2), [4, 5, 6, 7]);
    rig.now_ms += RTT_MS;
    rig.sack(2, &[(3, 4)]);
    let (waited, sent) = rig.timer();
    assert_eq!((waited, sent.first()), (28, Some(&2)));
    assert_eq!(rig.sender.transmission.board.lost_out, 1, "4 to 7 may still come");
}

#[test]
fn two_blocks_with_news_are_no_reordering() {
    // One acknowledgment for several segments, most recent block first: 1 to 3 did not arrive after 5 to 7.
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    assert_eq!(rig.sack(0, &[(5, 8), (1, 4)])[0], 0);
    assert_eq!((rig.state(), rig.sender.recovery.episode.reordering.is_seen()), (CaState::Recovery, false));
}

#[test]
fn a_time_out_expects_nothing_more_without_sack() {
    // 900 ms after the first flight two segments are acknowledged and new ones sent; 500 ms later the time-out expires.
    let in_flight = |sack: bool| {
        let mut rig = SenderHarness::new(under("linux-6.1", Setup { sack, ..window(10) }));
        rig.now_ms += 900;
        assert_eq!(rig.ack(2), [10, 11, 12, 13]);
        rig.now_ms += 500;
        let now = rig.sender.enter(ms(rig.now_ms));
        let Sender { transmission, recovery, control, .. } = &mut rig.sender;
        recovery.on_time_out(&mut transmission.cx(now, control));
        rig.sender.in_flight()
    };
    // Without SACK the second may have been the wait for a hole to be filled.
    assert_eq!([in_flight(true), in_flight(false)], [4, 0]);
}

#[test]
fn a_late_segment_is_not_taken_for_lost_again() {
    // Segment 0 arrives after 1: reordering. From now on three duplicates do not suffice; only time does.
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    rig.sack(0, &[(1, 2)]);
    rig.now_ms += 2;
    rig.ack(2);
    assert!(rig.sender.recovery.episode.reordering.is_seen());
    rig.now_ms += RTT_MS;
    let una = 2;
    for n in 4..=8 {
        let sent = rig.sack(una, &[(3, n)]);
        assert!(!sent.contains(&una), "{sent:?}");
    }
    assert_eq!(rig.state(), CaState::Disorder);
    let (waited, sent) = rig.timer();
    assert_eq!((waited, sent.first(), rig.state()), (28, Some(&una), CaState::Recovery));
}

#[test]
fn a_lost_retransmission_is_sent_again_after_a_round_trip() {
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    for n in 2..=8 {
        rig.now_ms += 2;
        rig.sack(0, &[(1, n)]);
    }
    let retransmitted_ms = 1_106;
    // New data sent after the retransmission arrives; the retransmission does not.
    let new = segment(rig.sender.transmission.queue.nxt());
    rig.now_ms = retransmitted_ms + RTT_MS;
    assert!(!rig.sack(0, &[(1, 12)]).contains(&0), "10 and 11 were sent before it");
    rig.now_ms += 10;
    assert!(rig.sack(0, &[(1, new)]).contains(&0), "the others after it");
    assert_eq!((rig.sender.stats().retransmissions, rig.sender.stats().timeouts), (2, 0));
}

#[test]
fn a_time_out_declares_only_the_old_lost() {
    // Segments 1 to 3 are 150 ms old, 4 and 5 only 50 ms: with an RTT of 100 ms these may still arrive.
    let lost = |setup| {
        let mut rig = SenderHarness::new(setup);
        assert_eq!(rig.ack(1), [4, 5]);
        rig.now_ms += 50;
        let now = rig.sender.enter(ms(rig.now_ms));
        let Sender { transmission, control, recovery, .. } = &mut rig.sender;
        let mut wire = Recorder(rig.now_ms, &mut rig.sent);
        transmission.on_retransmission_timeout(now, control, recovery, &mut wire);
        assert_eq!((rig.take(), rig.state()), (vec![1], CaState::Loss));
        (rig.sender.transmission.board.lost_out, rig.cwnd())
    };
    assert_eq!(lost(under("linux-6.1", window(4))), (3, 3), "a window of one beside what is in flight");
    let without = |stack: &mut Stack| (stack.rack, stack.keeps_flight_on_timeout) = (false, false);
    assert_eq!(lost(lacking("linux-6.1", window(4), without)), (5, 1));
}
