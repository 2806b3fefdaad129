//! Retransmission time-outs: timing, back-off, retransmissions, and F-RTO's detection of spurious ones.

use super::*;

fn without_sack() -> Setup {
    Setup { sack: false, ..window(10) }
}

#[test]
fn the_time_out_is_srtt_plus_200_ms_and_doubles() {
    let mut rig = SenderHarness::new(without_sack());
    // 100 ms after the flight: 200 of the 300 ms remain.
    assert_eq!(rig.timer(), (200, vec![0]));
    assert_eq!(rig.timer(), (600, vec![0]));
    assert_eq!(rig.timer(), (1_200, vec![0]));
    assert_eq!(rig.timer(), (2_400, vec![0]));
    assert_eq!((rig.cwnd(), rig.ssthresh(), rig.sender.stats().timeouts), (1, 5, 4), "the threshold falls once");
    // A sample of 100 ms ends the back-off.
    rig.now_ms += RTT_MS;
    rig.ack(1);
    assert_eq!(rig.sender.deadline(), ms(rig.now_ms + 300));
}

#[test]
fn the_timer_starts_again_with_every_acknowledgment_of_new_data() {
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.sender.deadline(), ms(START_MS + 300));
    rig.ack(1);
    assert_eq!(rig.sender.deadline(), ms(rig.now_ms + 300));
    rig.now_ms += 50;
    rig.on(upto(1).sack(&[(2, 3)]));
    assert_eq!(rig.sender.deadline(), ms(rig.now_ms - 50 + 300), "a duplicate does not");
    rig.sender.on_timer(ms(rig.now_ms), &mut Recorder(rig.now_ms, &mut rig.sent));
    assert_eq!(rig.take(), NOTHING, "an early call does nothing");
}

#[test]
fn after_a_time_out_everything_is_sent_again_in_slow_start() {
    let mut rig = SenderHarness::new(without_sack());
    assert_eq!(rig.timer().1, [0]);
    assert_eq!((rig.cwnd(), rig.ssthresh(), rig.state()), (1, 5, CaState::Loss));
    let mut sent = Vec::new();
    for (acked, cwnd) in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 6)] {
        rig.now_ms += RTT_MS;
        sent.push(rig.ack(acked));
        assert_eq!(rig.cwnd(), cwnd, "{acked} acknowledged");
    }
    assert_eq!(sent, [vec![1, 2], vec![3, 4], vec![5, 6], vec![7, 8], vec![9, 10], vec![11]]);
    rig.ack(10);
    assert_ne!(rig.state(), CaState::Loss, "all that was out at the time-out is acknowledged");
    rig.ack(segment(rig.sender.transmission.queue.nxt()));
    assert_eq!(rig.state(), CaState::Open);
}

#[test]
fn a_time_out_that_was_needed_is_told_by_f_rto() {
    // Segments 0 to 9 are lost. The head's acknowledgment releases two new segments instead of retransmissions …
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.timer(), (200, vec![0]));
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Disorder, 5));
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(1), [10, 11]);
    // … and because only those arrive, the others were lost: three are sent at once, then slow start.
    rig.now_ms += RTT_MS;
    assert_eq!(rig.sack(1, &[(10, 11)]), [1, 2, 3]);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Loss, 5));
    assert_eq!(rig.sack(1, &[(10, 12)]), NOTHING);
    rig.now_ms += RTT_MS;
    assert_eq!(rig.on(upto(2).sack(&[(10, 12)])), [4, 5]);
    assert_eq!(rig.on(upto(3).sack(&[(10, 12)])), [6, 7]);
    assert_eq!(rig.on(upto(4).sack(&[(10, 12)])), [8, 9]);
    assert_eq!(rig.sender.stats().retransmissions, 10, "nothing that had arrived was sent again");
}

#[test]
fn a_spurious_time_out_is_told_by_f_rto() {
    // The flight was only late. Its acknowledgments arrive after the head was retransmitted.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.timer(), (200, vec![0]));
    rig.now_ms += 20;
    assert_eq!(rig.on(upto(1).echo(START_MS)), [10, 11]);
    assert_eq!(rig.on(upto(2).echo(START_MS)), [12], "the window is not sent again");
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Cwr, 5), "but halved over a round trip");
    let sent: Vec<u64> = (3..=10).flat_map(|n| rig.on(upto(n).echo(START_MS))).collect();
    assert_eq!(sent, [13, 14, 15, 16], "a segment for two acknowledgments");
    let stats = rig.sender.stats();
    assert_eq!((stats.retransmissions, stats.timeouts), (1, 1));
}

#[test]
fn a_duplicate_after_the_two_new_segments_means_loss_to_f_rto() {
    let mut rig = SenderHarness::new(window(10));
    rig.timer();
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(1), [10, 11]);
    assert_eq!(rig.ack(1), [1, 2, 3]);
    assert_eq!(rig.state(), CaState::Loss);
}

#[test]
fn f_rto_sends_nothing_new_before_the_head_is_acknowledged() {
    let mut rig = SenderHarness::new(window(10));
    rig.timer();
    assert_eq!(rig.sack(0, &[(1, 2)]), NOTHING);
    assert_eq!(rig.sack(0, &[(1, 9)]), NOTHING, "not even what would be a fast retransmit");
    rig.now_ms += RTT_MS;
    assert_eq!(rig.on(upto(9).sack(&[])), [10, 11], "the head alone was lost");
}

#[test]
fn f_rto_takes_an_acknowledgment_of_everything_for_a_real_loss() {
    // The retransmission filled the only hole; slow start from two segments.
    let mut rig = SenderHarness::new(window(10));
    rig.timer();
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(10), [10, 11]);
    assert_eq!((rig.cwnd(), rig.ssthresh()), (2, 5));
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(11), [12, 13]);
    assert_eq!(rig.cwnd(), 3);
}

#[test]
fn retransmissions_lost_with_the_rest_are_sent_again() {
    // Segments 0 to 4 were lost and 0 to 2 retransmitted in vain.
    let mut rig = SenderHarness::new(window(10));
    let sent: Vec<u64> = (6..=10).flat_map(|upto| rig.sack(0, &[(5, upto)])).collect();
    assert_eq!(sent, [0, 1, 2, 3]);
    assert_eq!(rig.timer().1, [0]);
    rig.now_ms += RTT_MS;
    assert_eq!(rig.on(upto(1).sack(&[(5, 10)])), [10, 11]);
    assert_eq!(rig.on(upto(1).sack(&[(10, 11), (5, 10)])), [1, 2, 3]);
}

#[test]
fn a_sender_that_waits_for_the_receive_window_times_out_in_the_old_way() {
    // F-RTO has no new data to send, so the time-out counts as genuine.
    let mut rig = SenderHarness::new(Setup { receive_window: Some(10 * MSS), bytes: Some(10 * MSS), ..window(10) });
    rig.timer();
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(1), [1, 2]);
    assert_eq!(rig.state(), CaState::Loss);
}
