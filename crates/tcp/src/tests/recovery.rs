//! Fast retransmit and recovery: SACK with FACK, rate halving, and Reno and NewReno without SACK.

use super::*;

fn without_sack(cc: &'static str) -> Setup {
    Setup { cc, sack: false, ..window(10) }
}

#[test]
fn two_duplicates_release_new_data_and_the_third_retransmits() {
    // Limited transmit (RFC 3042), with and without SACK.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.sack(0, &[(1, 2)]), [10]);
    assert_eq!((rig.state(), rig.cwnd()), (CaState::Disorder, 10), "limited transmit does not count into the window");
    assert_eq!(rig.sack(0, &[(1, 3)]), [11]);
    assert_eq!(rig.sack(0, &[(1, 4)]), [0]);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5));

    let mut rig = SenderHarness::new(without_sack("reno"));
    assert_eq!([rig.ack(0), rig.ack(0), rig.ack(0)], [[10], [11], [0]]);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5));
}

#[test]
fn fack_counts_the_holes_below_the_highest_sack() {
    // One SACK suffices if it lies more than three segments above the first hole.
    for (block, sent, state) in [
        ((1, 2), vec![10], CaState::Disorder),
        ((2, 3), vec![10], CaState::Disorder),
        ((3, 4), vec![0], CaState::Recovery),
        ((7, 8), vec![0], CaState::Recovery),
    ] {
        let mut rig = SenderHarness::new(window(10));
        assert_eq!(rig.sack(0, &[block]), sent, "{block:?}");
        assert_eq!(rig.state(), state, "{block:?}");
    }
    // All but the last three segments below it are lost: 0 to 4 of 8; the window sends one per two acknowledgments.
    let mut rig = SenderHarness::new(window(10));
    rig.sack(0, &[(7, 8)]);
    assert_eq!(rig.sender.transmission.board.lost_out, 5);
}

#[test]
fn without_fack_segments_count_not_holes() {
    let mut rig = SenderHarness::new(window(10));
    rig.sender.recovery.episode.reordering.without_fack();
    assert_eq!(rig.sack(0, &[(7, 8)]), [10]);
    assert_eq!(rig.sack(0, &[(7, 9)]), [11]);
    assert_eq!(rig.sack(0, &[(7, 10)]), [0]);
}

#[test]
fn rate_halving_sends_a_segment_for_two_acknowledgments_and_ends_at_half() {
    let mut rig = SenderHarness::new(window(20));
    let sent: Vec<Vec<u64>> = (2..=22).map(|upto| rig.sack(0, &[(1, upto)])).collect();
    let expected: Vec<Vec<u64>> =
        [vec![20], vec![21], vec![0]].into_iter().chain((22..31).flat_map(|new| [vec![], vec![new]])).collect();
    assert_eq!(sent, expected);
    assert_eq!((rig.ssthresh(), rig.cwnd(), rig.state()), (10, 10, CaState::Recovery));
    // Everything sent before recovery is acknowledged: recovery ends in congestion avoidance at half the window.
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(22), [31]);
    assert_eq!((rig.ssthresh(), rig.cwnd(), rig.state()), (10, 10, CaState::Disorder), "as long as it could be undone");
    rig.ack(23);
    assert_eq!((rig.cwnd(), rig.state()), (11, CaState::Disorder), "at the threshold it is slow start once more");
    rig.ack(32);
    assert_eq!((rig.cwnd(), rig.state()), (5, CaState::Open), "2 in flight + 3");
}

#[test]
fn rate_halving_goes_no_lower_than_half_the_threshold() {
    // The retransmission is lost, and without FACK that goes undetected: recovery lasts for several windows.
    let mut rig = SenderHarness::new(window(20));
    rig.sender.recovery.episode.reordering.without_fack();
    let cwnd: Vec<u32> = (2..60)
        .map(|upto| {
            assert!(seq(upto) <= rig.sender.transmission.queue.nxt(), "{upto} was not sent");
            rig.sack(0, &[(1, upto)]);
            rig.cwnd()
        })
        .collect();
    assert_eq!((rig.ssthresh(), rig.state()), (10, CaState::Recovery));
    assert_eq!((cwnd.iter().min(), cwnd.last()), (Some(&5), Some(&5)), "{cwnd:?}");
}

#[test]
fn several_losses_of_a_window_are_one_recovery() {
    // Segments 0, 2 and 5 of ten are lost.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.sack(0, &[(1, 2)]), [10]);
    assert_eq!(rig.sack(0, &[(3, 4), (1, 2)]), [0], "FACK: 3 is the fourth");
    assert_eq!(rig.sack(0, &[(3, 5), (1, 2)]), NOTHING);
    assert_eq!(rig.sack(0, &[(6, 7), (3, 5), (1, 2)]), [2]);
    assert_eq!(rig.sack(0, &[(6, 8), (3, 5), (1, 2)]), NOTHING);
    assert_eq!(rig.sack(0, &[(6, 9), (3, 5), (1, 2)]), [5], "more than three below 8");
    assert_eq!(rig.sack(0, &[(6, 10), (3, 5), (1, 2)]), NOTHING);
    assert_eq!(rig.sack(0, &[(6, 11), (3, 5), (1, 2)]), [11]);
    rig.now_ms += RTT_MS;
    assert_eq!(rig.on(upto(2).sack(&[(6, 11), (3, 5)])), NOTHING);
    assert_eq!(rig.on(upto(5).sack(&[(6, 11)])), [12]);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5), "the window is halved once");
    rig.ack(11);
    assert_ne!(rig.state(), CaState::Recovery);
    assert_eq!((rig.ssthresh(), rig.sender.stats().retransmissions, rig.sender.stats().timeouts), (5, 3, 0));
}

#[test]
fn a_lost_retransmission_is_noticed_by_data_sent_after_it() {
    let mut rig = SenderHarness::new(window(10));
    rig.sack(0, &[(1, 2)]);
    rig.sack(0, &[(1, 3)]);
    assert_eq!(rig.sack(0, &[(1, 4)]), [0]);
    for upto in 5..=11 {
        assert!(!rig.sack(0, &[(1, upto)]).contains(&0), "up to {upto} nothing was sent after the retransmission");
    }
    assert!(!rig.sack(0, &[(1, 12)]).contains(&0), "11 was sent before it");
    // Segment 12 is the first sent after it.
    let again: Vec<u64> = (13..=14).flat_map(|upto| rig.sack(0, &[(1, upto)])).filter(|&n| n == 0).collect();
    assert_eq!(again, [0]);
    assert_eq!(rig.sender.stats().timeouts, 0);
}

#[test]
fn a_jump_of_the_acknowledgment_releases_three_segments() {
    // Segment 0 was late; its acknowledgment covers ten segments at once. Moderation: in flight + 3.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.sack(0, &[(1, 2)]), [10]);
    assert_eq!(rig.ack(10), [11, 12, 13]);
    assert_eq!((rig.cwnd(), rig.state()), (4, CaState::Open));
}

#[test]
fn the_end_of_recovery_is_moderated_too() {
    let mut rig = SenderHarness::new(window(20));
    for upto in 2..=4 {
        rig.sack(0, &[(1, upto)]);
    }
    // The other acknowledgments are lost.
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(22), [22, 23, 24]);
    assert_eq!(rig.cwnd(), 3);
}

#[test]
fn reno_leaves_recovery_on_a_partial_acknowledgment() {
    let mut rig = SenderHarness::new(without_sack("reno"));
    (0..3).for_each(|_| drop(rig.ack(0)));
    // Segments 0 and 4 are lost: the retransmission of 0 is acknowledged up to 4.
    rig.now_ms += RTT_MS;
    let sent = rig.ack(4);
    assert!(!sent.contains(&4), "{sent:?}");
    assert_eq!((rig.state(), rig.cwnd()), (CaState::Open, 5));
}

#[test]
fn newreno_retransmits_the_next_hole_on_a_partial_acknowledgment() {
    let mut rig = SenderHarness::new(without_sack("newreno"));
    assert_eq!([rig.ack(0), rig.ack(0), rig.ack(0)], [[10], [11], [0]]);
    // Segments 0, 4 and 7 are lost; the duplicates of 5, 6, 8, 9, 10, 11 send as rate halving permits.
    let sent: Vec<u64> = (0..6).flat_map(|_| rig.ack(0)).collect();
    assert!(sent.iter().all(|&n| n >= 12), "{sent:?}");
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(4).first(), Some(&4));
    assert_eq!(rig.state(), CaState::Recovery);
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(7).first(), Some(&7));
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5));
    // Everything sent before recovery is acknowledged; recovery ends with data above it (RFC 6582, false retransmits).
    rig.now_ms += RTT_MS;
    rig.ack(12);
    assert_eq!(rig.state(), CaState::Recovery);
    rig.ack(13);
    assert_ne!(rig.state(), CaState::Recovery);
    assert!(rig.cwnd() <= 5, "{}", rig.cwnd());
    rig.ack(segment(rig.sender.transmission.queue.nxt()));
    assert_eq!(rig.state(), CaState::Open);
    assert_eq!((rig.sender.stats().retransmissions, rig.sender.stats().timeouts), (3, 0));
}

#[test]
fn newreno_needs_no_duplicates_to_believe_a_partial_acknowledgment() {
    // Segments 0 and 4 to 9 are lost: the three duplicates are used up when 4 turns out to be the next hole.
    let mut rig = SenderHarness::new(without_sack("newreno"));
    (0..3).for_each(|_| drop(rig.ack(0)));
    rig.now_ms += RTT_MS;
    assert_eq!(rig.ack(4).first(), Some(&4));
}

#[test]
fn a_sack_block_may_grow_at_either_end() {
    let mut rig = SenderHarness::new(window(10));
    for (blocks, sacked) in [
        (&[(5, 6)][..], 1),
        (&[(5, 7)], 2),
        (&[(4, 7)], 3),
        (&[(2, 3), (4, 7)], 4),
        (&[(2, 8)], 6),
        (&[(2, 8)], 6),
        (&[(9, 10), (1, 8)], 8),
    ] {
        rig.sack(0, blocks);
        assert_eq!(rig.sender.transmission.board.sacked_out, sacked, "{blocks:?}");
    }
}

#[test]
fn with_sack_reno_and_newreno_are_the_same() {
    let script = |cc| {
        let mut rig = SenderHarness::new(Setup { cc, ..window(10) });
        let mut sent: Vec<Vec<u64>> = (2..=8).map(|upto| rig.sack(0, &[(1, upto)])).collect();
        rig.now_ms += RTT_MS;
        sent.push(rig.on(upto(8).sack(&[(9, 10)])));
        sent.push(rig.on(upto(8).sack(&[(9, 12)])));
        (sent, rig.state(), rig.cwnd())
    };
    assert_eq!(script("reno"), script("newreno"));
    assert_eq!(script("reno").1, CaState::Recovery, "a partial acknowledgment does not end a recovery with SACK");
}
