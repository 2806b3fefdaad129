//! Early retransmit under scripts: with fewer than four outstanding segments, and only after a delay.

use super::*;

fn three() -> Setup {
    Setup { bytes: Some(3 * MSS), ..window(10) }
}

#[test]
fn one_duplicate_suffices_after_a_quarter_of_the_rtt() {
    // Linux 3.8 reduces the window in Disorder to the data in flight plus three.
    for (stack, ssthresh) in [("linux-3.8", 2), ("linux-3.13", 5)] {
        let mut rig = SenderHarness::new(under(stack, three()));
        assert_eq!((rig.sack(0, &[(1, 2)]), rig.state()), (vec![], CaState::Disorder), "{stack}");
        assert_eq!(rig.timer(), (25, vec![0]), "{stack}");
        assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, ssthresh), "{stack}");
        // The retransmission timer has been running since the segment was sent.
        assert_eq!(rig.sender.deadline(), ms(1_125 + 300), "{stack}: and starts anew with the retransmission");
    }
    let mut rig = SenderHarness::new(lacking("linux-3.8", three(), |stack| stack.early_retransmit = false));
    rig.sack(0, &[(1, 2)]);
    assert_eq!(rig.timer(), (200, vec![0]), "only the time-out without it");
}

#[test]
fn a_segment_that_was_only_late_stops_it() {
    let mut rig = SenderHarness::new(under("linux-3.8", three()));
    rig.sack(0, &[(1, 2)]);
    rig.now_ms += 10;
    rig.ack(2);
    assert_eq!((rig.state(), rig.sender.stats().retransmissions), (CaState::Open, 0));
    assert_ne!(rig.sender.deadline(), ms(1_125));
    assert!(
        !rig.sender.recovery.episode.early_retransmit.applies(rig.sender.recovery.episode.reordering.is_seen()),
        "reordering switches it off for good"
    );
}

#[test]
fn four_segments_or_new_data_do_without() {
    for setup in [Setup { bytes: Some(4 * MSS), ..window(10) }, window(3)] {
        let mut rig = SenderHarness::new(under("linux-3.8", setup));
        rig.sack(0, &[(1, 2)]);
        assert_ne!(rig.timer(), (25, vec![0]));
    }
}
