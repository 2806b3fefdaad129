//! Tail loss probes under scripts: their time, contents and the effect of their acknowledgment.

use super::*;

fn five() -> Setup {
    Setup { bytes: Some(5 * MSS), ..window(10) }
}

#[test]
fn the_probe_comes_after_two_rtts_and_the_time_out_after_the_probe() {
    // The flight was sent at 1000 ms, the RTT is 100 ms. In 6.1 the slots of the timer wheel are 8 ms wide.
    for (stack, probe_ms, timeout_ms) in [("linux-3.13", 1_200, 1_500), ("linux-6.1", 1_208, 1_512)] {
        let mut rig = SenderHarness::new(under(stack, five()));
        assert_eq!((rig.timer().1, rig.now_ms), (vec![4], probe_ms), "{stack}: the last segment");
        assert_eq!((rig.cwnd(), rig.state()), (10, CaState::Open), "{stack}");
        assert_eq!((rig.timer().1, rig.now_ms), (vec![0], timeout_ms), "{stack}");
        assert_eq!((rig.cwnd(), rig.state()), (1, CaState::Loss), "{stack}");
    }
    for stack in ["linux-2.6.29", "linux-3.8"] {
        let mut rig = SenderHarness::new(under(stack, five()));
        assert_eq!((rig.timer().1, rig.now_ms), (vec![0], 1_300), "{stack} has none");
    }
}

#[test]
fn new_data_is_probed_with_first() {
    for stack in ["linux-3.13", "linux-6.1"] {
        let mut rig = SenderHarness::new(under(stack, window(4)));
        assert_eq!(rig.timer().1, [4], "{stack}: beyond the window");
        assert_eq!(rig.sender.stats().retransmissions, 0);
    }
}

#[test]
fn a_lone_segment_leaves_time_for_a_delayed_acknowledgment() {
    for (stack, probe_ms) in [("linux-3.13", 1_300), ("linux-6.1", 1_408)] {
        let mut rig = SenderHarness::new(under(stack, five()));
        rig.ack(4);
        // 2 RTT + 200 ms is later than the time-out, so the probe takes its time: 300 ms after the segment (3.13) or
        // the acknowledgment (6.1).
        assert_eq!((rig.timer().1, rig.now_ms), (vec![4], probe_ms), "{stack}");
        assert_eq!(rig.state(), CaState::Open, "{stack}");
    }
}

#[test]
fn a_probe_that_filled_a_hole_halves_the_window() {
    for stack in ["linux-3.13", "linux-6.1"] {
        let run = |duplicate: bool| {
            let mut rig = SenderHarness::new(under(stack, Setup { receive_window: Some(10 * MSS), ..window(10) }));
            assert_eq!(rig.timer().1, [9], "{stack}: the receiver has no room for anything new");
            rig.now_ms += RTT_MS;
            rig.ack(10);
            assert_eq!(
                rig.cwnd(),
                20,
                "{stack} {:?} {:?} {}",
                rig.state(),
                rig.ssthresh(),
                rig.sender.transmission.rtt.rto()
            );
            let ack = upto(11);
            rig.now_ms += RTT_MS;
            rig.on(if duplicate { ack.sack(&[(9, 10)]) } else { ack });
            rig.ssthresh()
        };
        assert_eq!(run(false), 10, "{stack}");
        assert_eq!(run(true), cc::Window::INFINITE_SSTHRESH, "{stack}: it was needless");
    }
}

#[test]
fn a_lost_tail_needs_no_time_out() {
    // The last three of ten are lost. The probe retransmits the last one, and its SACK reveals the other two.
    let tail = |setup: Setup| {
        let mut rig = SenderHarness::new(setup);
        rig.ack(7);
        rig.sender.transmission.offered.resize(3 * MSS);
        rig
    };
    let full = Setup { receive_window: Some(10 * MSS), segments: Some(10), ..window(10) };
    let mut rig = tail(under("linux-6.1", full));
    assert_eq!(rig.timer(), (204, vec![9]));
    rig.now_ms += RTT_MS;
    assert_eq!(rig.sack(7, &[(9, 10)]), [7]);
    assert_eq!(
        (rig.state(), rig.sender.transmission.board.lost_out, rig.sender.stats().timeouts),
        (CaState::Recovery, 2, 0)
    );

    let mut rig = tail(lacking("linux-6.1", full, |stack| stack.loss_probe = None));
    assert_eq!((rig.timer().1, rig.state()), (vec![7], CaState::Loss));
}
