//! Proportional rate reduction under scripts: segments sent per acknowledgment and stack.

use super::*;

/// Segments that duplicates two milliseconds apart release.
fn duplicates(rig: &mut SenderHarness, first: u64, upto: std::ops::RangeInclusive<u64>) -> Vec<Vec<u64>> {
    let each = |n| {
        rig.now_ms += 2;
        rig.sack(0, &[(first, n)])
    };
    upto.map(each).collect()
}

#[test]
fn one_loss_of_twenty_sends_every_second_time() {
    for stack in ["linux-3.8", "linux-3.13", "linux-6.1"] {
        let mut rig = SenderHarness::new(under(stack, window(20)));
        let sent = duplicates(&mut rig, 1, 2..=20);
        // Every second duplicate sends, until the flight reaches the threshold.
        let halves = (22..29).flat_map(|new| [vec![], vec![new]]);
        let expected: Vec<Vec<u64>> =
            [vec![20], vec![21], vec![0]].into_iter().chain(halves).chain([vec![], vec![]]).collect();
        assert_eq!(sent, expected, "{stack}");
        assert_eq!((rig.ssthresh(), rig.state()), (10, CaState::Recovery), "{stack}");
        // The retransmission and everything before it are acknowledged: the window is the threshold.
        rig.now_ms += RTT_MS;
        let nxt = segment(rig.sender.transmission.queue.nxt());
        rig.ack(22);
        assert_eq!(
            (rig.state(), rig.cwnd() >= 10, segment(rig.sender.transmission.queue.nxt()) >= nxt),
            (CaState::Open, true, true)
        );
    }
}

#[test]
fn many_losses_leave_prr_at_the_threshold_and_rate_halving_below() {
    // The first ten of twenty are lost. The first SACK reveals eight of them to FACK.
    let run = |setup| {
        let mut rig = SenderHarness::new(setup);
        (duplicates(&mut rig, 10, 11..=20), rig.cwnd(), rig.sender.in_flight())
    };
    let (sent, cwnd, in_flight) = run(under("linux-3.8", window(20)));
    let expected = [vec![0], vec![], vec![1, 2], vec![3], vec![4], vec![5], vec![6], vec![7], vec![8], vec![9]];
    assert_eq!((sent, cwnd, in_flight), (expected.to_vec(), 10, 10), "slow start brings the flight to the threshold");
    let halving: fn(&mut Stack) = |stack| stack.reduction = stack::WindowReduction::RateHalving;
    let (sent, cwnd, in_flight) = run(lacking("linux-3.8", window(20), halving));
    assert_eq!(sent.concat(), [0, 1, 2, 3, 4, 5]);
    assert_eq!((cwnd, in_flight), (6, 6));
}

#[test]
fn linux_6_1_grows_only_when_the_oldest_data_is_acknowledged() {
    // RACK's threshold is three SACKs; all ten segments below are then lost, and conservation sends one for one.
    let mut rig = SenderHarness::new(under("linux-6.1", window(20)));
    let sent = duplicates(&mut rig, 10, 11..=20);
    let expected = [vec![20], vec![21], vec![0], vec![1], vec![2], vec![3], vec![4], vec![5], vec![6], vec![7]];
    assert_eq!(sent, expected.to_vec());
    // Each acknowledged retransmission frees one segment and adds one below the threshold; the first reports two more.
    rig.sender.control.window.ssthresh = 14;
    rig.now_ms += RTT_MS;
    let sent: Vec<_> = (1..=3).map(|n| rig.on(upto(n).sack(&[(10, 22)]))).collect();
    assert_eq!(sent, [vec![8, 9, 22, 23], vec![24, 25], vec![26, 27]]);

    let plain: fn(&mut Stack) = |stack| stack.reduction = stack::WindowReduction::Prr;
    for (setup, sent) in
        [(under("linux-6.1", window(20)), vec![1]), (lacking("linux-6.1", window(20), plain), vec![1, 2])]
    {
        let mut rig = SenderHarness::new(setup);
        duplicates(&mut rig, 10, 11..=13);
        rig.sender.control.window.ssthresh = 14;
        assert_eq!(duplicates(&mut rig, 10, 14..=14), [sent], "RFC 6937's slow start does not wait for that");
    }
}

#[test]
fn four_losses_of_ten_take_one_retransmission_per_sack() {
    // packetdrill: fast_recovery/prr-ss-10pkt-lost1_4, with Reno's half as threshold.
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    let sent = duplicates(&mut rig, 4, 5..=10);
    // Six segments are in flight with the first retransmission, one above the threshold, so one SACK sends nothing.
    assert_eq!(sent, [vec![10], vec![11], vec![0], vec![], vec![1], vec![2]]);
    assert_eq!((rig.cwnd(), rig.ssthresh()), (5, 5));
    rig.now_ms = 1_106 + RTT_MS;
    assert_eq!(rig.on(upto(1).sack(&[(4, 12)])), [3, 12, 13], "the two new ones of before have arrived too");
    rig.now_ms += RTT_MS;
    rig.ack(12);
    assert_eq!((rig.cwnd(), rig.state(), rig.sender.stats().retransmissions), (5, CaState::Open, 4));
}

#[test]
fn a_mark_reduces_by_prr_too() {
    let mut rig = SenderHarness::new(under("linux-6.1", Setup { ecn: true, ..window(20) }));
    let mut sent = Vec::new();
    for n in 1..=20 {
        rig.now_ms += 2;
        sent.push(rig.on(upto(n).ece()).len());
    }
    assert_eq!(sent, [[1, 0].repeat(9), vec![0, 1]].concat(), "half of what is delivered, down to the threshold");
    assert_eq!((rig.state(), rig.cwnd(), rig.ssthresh()), (CaState::Cwr, 10, 10));
    rig.now_ms += RTT_MS;
    rig.ack(21);
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Open, 10));
}
