//! Undo of spurious reductions, and adaptation to reordering.

use super::*;

/// Ten segments, with 1 to 3 SACKed: segment 0 is retransmitted at 1100 ms.
fn in_recovery() -> SenderHarness {
    let mut rig = SenderHarness::new(window(10));
    (2..=4).for_each(|upto| drop(rig.sack(0, &[(1, upto)])));
    assert_eq!((rig.state(), rig.cwnd(), rig.ssthresh(), rig.now_ms), (CaState::Recovery, 9, 5, 1_100));
    rig
}

#[test]
fn an_acknowledgment_of_the_original_undoes_the_reduction() {
    // Its echoed timestamp is older than the retransmission (Eifel).
    let mut rig = in_recovery();
    rig.now_ms += 10;
    rig.on(upto(12).echo(1_000));
    assert_eq!((rig.cwnd(), rig.ssthresh()), (3, cc::Window::INFINITE_SSTHRESH), "as before, but for moderation");
    assert_eq!(rig.state(), CaState::Open);
}

#[test]
fn an_acknowledgment_of_the_retransmission_undoes_nothing() {
    let mut rig = in_recovery();
    rig.now_ms += RTT_MS;
    rig.on(upto(12).echo(1_100));
    assert_eq!(rig.ssthresh(), 5);
}

#[test]
fn a_partial_acknowledgment_of_the_original_restores_the_window_and_waits() {
    let mut rig = in_recovery();
    rig.now_ms += 10;
    // Twice the threshold, less the reduction by rate halving; no hole is retransmitted that may be spurious.
    assert_eq!(rig.on(upto(4).echo(1_000)), [12]);
    assert_eq!((rig.cwnd(), rig.ssthresh(), rig.state()), (9, 5, CaState::Recovery));
    for n in 5..=12 {
        rig.on(upto(n).echo(1_000));
    }
    assert_eq!((rig.ssthresh(), rig.state()), (cc::Window::INFINITE_SSTHRESH, CaState::Open));
}

#[test]
fn a_duplicate_of_the_retransmission_undoes_the_reduction() {
    // Timestamps do not help here. The D-SACK arrives after recovery, as on a path without reordering.
    let mut rig = in_recovery();
    rig.now_ms += RTT_MS;
    rig.on(upto(12).echo(1_100));
    assert_eq!((rig.ssthresh(), rig.state()), (5, CaState::Disorder));
    rig.on(upto(12).sack(&[(0, 1)]).echo(1_100));
    assert_eq!((rig.ssthresh(), rig.state()), (cc::Window::INFINITE_SSTHRESH, CaState::Open));
    assert_eq!(rig.cwnd(), 6, "3 in flight + 3");
}

#[test]
fn a_duplicate_told_by_the_acknowledgment_that_ends_recovery_undoes_it() {
    let mut rig = in_recovery();
    rig.now_ms += RTT_MS;
    rig.on(upto(4).echo(1_100));
    rig.on(upto(12).sack(&[(0, 1)]).echo(1_100));
    assert_eq!((rig.ssthresh(), rig.state()), (cc::Window::INFINITE_SSTHRESH, CaState::Open));
}

#[test]
fn every_retransmission_must_be_reported_as_a_duplicate() {
    let mut rig = SenderHarness::new(window(10));
    assert_eq!([rig.sack(0, &[(5, 6)]), rig.sack(0, &[(5, 7)])], [[0], [1]]);
    rig.now_ms += RTT_MS;
    rig.on(upto(10).echo(1_100));
    rig.on(upto(10).sack(&[(0, 1)]).echo(1_100));
    assert_eq!(rig.ssthresh(), 5, "one of two");
    rig.on(upto(10).sack(&[(1, 2)]).echo(1_100));
    assert_eq!(rig.ssthresh(), cc::Window::INFINITE_SSTHRESH);
}

#[test]
fn a_late_acknowledgment_after_a_time_out_restores_the_window() {
    // Without SACK there is no F-RTO: everything is marked lost until an old timestamp shows that the time-out was
    // spurious.
    let mut rig = SenderHarness::new(Setup { sack: false, ..window(10) });
    assert_eq!(rig.timer().1, [0]);
    assert_eq!((rig.cwnd(), rig.state()), (1, CaState::Loss));
    rig.now_ms += 10;
    let sent = rig.on(upto(1).echo(START_MS));
    assert!(sent.iter().all(|&n| n >= 10), "{sent:?}");
    assert_eq!((rig.cwnd(), rig.ssthresh()), (10, cc::Window::INFINITE_SSTHRESH));
    assert_eq!(rig.sender.stats().retransmissions, 1);
}

#[test]
fn a_late_original_raises_the_tolerance_and_ends_fack() {
    // Segment 6 is the highest SACKed one when the original of 2 fills a hole: a reordering of 5.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!(rig.sack(0, &[(6, 7)]), [0]);
    assert_eq!((rig.sender.recovery.reordering(), rig.sender.recovery.episode.reordering.uses_fack()), (3, true));
    rig.sack(0, &[(2, 3), (6, 7)]);
    assert_eq!((rig.sender.recovery.reordering(), rig.sender.recovery.episode.reordering.uses_fack()), (5, false));
    // Segments 3 to 5 were late as well: 3 was six below the highest when it was acknowledged.
    rig.now_ms += RTT_MS;
    rig.ack(segment(rig.sender.transmission.queue.nxt()));
    assert_eq!(rig.sender.recovery.reordering(), 6);
    // From now on six duplicates are needed.
    rig.sender.control.window.cwnd = 20;
    rig.now_ms += RTT_MS;
    let una = segment(rig.sender.transmission.queue.una()) + 1;
    rig.ack(una);
    for duplicate in 1..=6 {
        let sent = rig.sack(una, &[(una + 1, una + 1 + duplicate)]);
        assert_eq!(sent.contains(&una), duplicate == 6, "duplicate {duplicate}: {sent:?}");
    }
}

#[test]
fn an_acknowledged_late_original_is_reordering_too() {
    // Segment 0 arrives after 1 to 4 but before it is marked lost: impossible with FACK and a tolerance of 3.
    let mut rig = SenderHarness::new(window(10));
    rig.sender.recovery.episode.reordering.without_fack();
    assert_eq!(rig.sack(0, &[(4, 5)]), [10]);
    rig.on(upto(1).sack(&[(4, 5)]));
    assert_eq!(rig.sender.recovery.reordering(), 5);
}

#[test]
fn more_duplicates_than_segments_out_are_reordering() {
    // Without SACK: at most three of four segments can have caused duplicates while the first is missing.
    let mut rig = SenderHarness::new(Setup { sack: false, bytes: Some(4 * MSS), ..window(4) });
    for duplicates in 1..=3 {
        rig.ack(0);
        assert_eq!(rig.sender.recovery.reordering(), 3, "{duplicates} duplicates");
    }
    rig.ack(0);
    assert_eq!(rig.sender.recovery.reordering(), 4);
}

#[test]
fn a_duplicate_of_a_segment_still_in_the_queue_counts() {
    // Segment 0 is missing; 1 was retransmitted needlessly, and a D-SACK reports that while 0 is still missing.
    let mut rig = SenderHarness::new(window(10));
    assert_eq!([rig.sack(0, &[(5, 6)]), rig.sack(0, &[(5, 7)])], [[0], [1]]);
    assert_eq!(rig.sender.recovery.episode.undo.retransmissions(), 2);
    rig.sack(0, &[(1, 2), (1, 7)]);
    assert_eq!(rig.sender.recovery.episode.undo.retransmissions(), 1);
}
