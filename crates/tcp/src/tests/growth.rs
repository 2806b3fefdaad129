//! Growth of the window, and conditions under which it does not grow, per stack.

use super::*;

/// Window after each of three round trips, with an acknowledgment for every second segment.
fn doubling(setup: Setup) -> Vec<u32> {
    let mut rig = SenderHarness::new(Setup { window: None, ..setup });
    let mut acked = 0;
    let mut windows = vec![rig.cwnd()];
    for _ in 0..3 {
        let nxt = segment(rig.sender.transmission.queue.nxt());
        while acked < nxt {
            acked = (acked + 2).min(nxt);
            rig.now_ms += 2;
            rig.ack(acked);
        }
        windows.push(rig.cwnd());
        rig.now_ms += RTT_MS;
    }
    windows
}

#[test]
fn slow_start_with_delayed_acknowledgments() {
    for (stack, windows) in [
        ("linux-2.6.29", [3, 5, 8, 12]),
        ("linux-3.8", [10, 15, 23, 35]),
        ("linux-3.13", [10, 20, 40, 80]),
        ("linux-6.1", [10, 20, 40, 80]),
    ] {
        assert_eq!(doubling(under(stack, window(10))), windows, "{stack}");
    }
    let per_ack: fn(&mut Stack) = |stack| stack.counting = cc::GrowthCounting::Acknowledgments;
    assert_eq!(doubling(lacking("linux-6.1", window(10), per_ack)), [10, 15, 23, 35]);
}

#[test]
fn five_acknowledgments_of_two_release_four_each() {
    // packetdrill: slow_start/ack-per-2pkt.
    let mut rig = SenderHarness::new(under("linux-6.1", window(10)));
    for n in 0..5 {
        rig.now_ms += 2;
        assert_eq!(rig.ack(2 * n + 2).len(), 4);
    }
    assert_eq!(rig.cwnd(), 20);
}

#[test]
fn above_the_threshold_a_window_of_packets_adds_one() {
    for (stack, acknowledgments) in [("linux-3.8", 10), ("linux-3.13", 21), ("linux-6.1", 10)] {
        let mut rig = SenderHarness::new(under(stack, window(20)));
        rig.sender.control.window.ssthresh = 5;
        let mut needed = 0;
        while rig.cwnd() == 20 {
            needed += 1;
            rig.now_ms += 2;
            rig.ack(2 * needed);
        }
        assert_eq!(needed, acknowledgments, "{stack}: bytes, acknowledgments and packets");
    }
}

#[test]
fn an_application_that_uses_half_the_window_does_not_raise_it() {
    // Six of twenty segments are in flight: in slow start the window may reach twice the flight.
    let mut rig = SenderHarness::new(under("linux-6.1", Setup { bytes: Some(6 * MSS), ..window(20) }));
    rig.ack(2);
    assert_eq!(rig.cwnd(), 20);
    let mut rig = SenderHarness::new(under("linux-6.1", Setup { bytes: Some(12 * MSS), ..window(20) }));
    rig.ack(2);
    assert_eq!(rig.cwnd(), 22, "twelve of twenty are more than half");
    let mut rig = SenderHarness::new(under("linux-3.8", Setup { bytes: Some(12 * MSS), ..window(20) }));
    rig.ack(2);
    assert_eq!(rig.cwnd(), 20, "the old rule wants all but three");
}

#[test]
fn a_pause_restarts_slow_start_from_the_initial_window() {
    // The last data was sent at 1000 ms; the time-out is 300 ms, and each elapsed time-out halves the window.
    let sent_after = |setup: Setup, at_ms: u64| {
        let mut rig = SenderHarness::new(Setup { segments: Some(40), ..setup });
        rig.ack(40);
        rig.sender.control.window.cwnd = 40;
        rig.sender.write(ms(at_ms), 100 * MSS, &mut Recorder(at_ms, &mut rig.sent));
        rig.take().len()
    };
    for (at_ms, segments) in [(1_200, 40), (1_300, 40), (1_301, 20), (1_601, 10), (6_000, 10)] {
        assert_eq!(sent_after(under("linux-6.1", window(40)), at_ms), segments, "{at_ms} ms");
    }
    let setup = lacking("linux-6.1", window(40), |stack| stack.idle_restart = false);
    assert_eq!(sent_after(setup, 6_000), 40);
}

#[test]
fn a_window_that_is_not_used_for_a_time_out_decays() {
    // Twelve of forty segments are used: each time-out halves the unused part.
    let mut rig = SenderHarness::new(under("linux-6.1", Setup { segments: Some(12), ..window(40) }));
    let mut acked = 12;
    let mut windows = Vec::new();
    for _ in 0..4 {
        rig.ack(acked);
        rig.sender.write(ms(rig.now_ms), 12 * MSS, &mut Recorder(rig.now_ms, &mut rig.sent));
        windows.push(rig.cwnd());
        acked += 12;
        rig.now_ms += RTT_MS;
    }
    assert_eq!(windows, [40, 40, 26, 26]);
}

#[test]
fn a_burst_is_two_segments_at_least_and_a_millisecond_of_the_rate() {
    let pushes = |rig: &SenderHarness| rig.sent.iter().map(|s| s.header.flags.contains(Flags::PSH)).collect::<Vec<_>>();
    let mut rig = SenderHarness::closed(under("linux-6.1", window(10)));
    rig.now_ms = START_MS - RTT_MS;
    rig.open(None);
    rig.now_ms = START_MS;
    rig.syn_ack();
    assert_eq!(pushes(&rig)[2..], [false, true].repeat(5), "pairs, the second pushed");
    let mut rig = SenderHarness::new(under("linux-6.1", window(3)));
    rig.now_ms += 2;
    rig.ack(1);
    assert!(!pushes(&rig).contains(&true), "a lone segment is not pushed");
}

#[test]
fn a_short_opening_of_the_window_waits_for_the_next_acknowledgment() {
    // At 100 segments per 10 ms a burst has ten segments or more, so the room from one acknowledgment waits.
    let run = |setup: Setup| {
        let mut rig = SenderHarness::new(setup);
        rig.sender.control.window.ssthresh = 50;
        (rig.ack(2), rig.ack(4), rig.ack(8))
    };
    let mut fast = under("linux-6.1", window(400));
    fast.receive_window = None;
    let (first, second, third) = run(fast);
    assert_eq!((first.len(), second.len()), (2, 0), "the first after a pause goes out, the second waits");
    assert!(third.len() >= 4, "{third:?}");
    let (_, second, _) = run(lacking("linux-6.1", window(400), |stack| stack.bursts = false));
    assert_eq!(second.len(), 2);
}

#[test]
fn what_remains_behind_a_burst_waits_too() {
    // 400 segments per 100 ms: bursts of four. Of the six permitted segments two wait for the next acknowledgment.
    let mut rig = SenderHarness::new(under("linux-6.1", window(400)));
    rig.sender.control.window.ssthresh = 50;
    assert_eq!([rig.ack(6).len(), rig.ack(8).len()], [4, 4]);
}

#[test]
fn a_burst_waits_only_for_an_acknowledgment_that_is_due_within_a_millisecond() {
    let sent_at = |ms_after: u64| {
        let mut rig = SenderHarness::new(under("linux-6.1", window(400)));
        rig.sender.control.window.ssthresh = 50;
        rig.now_ms = START_MS + ms_after;
        rig.sender.transmission.hold_bursts(ms(rig.now_ms));
        rig.ack(2).len()
    };
    // The next head was sent at the start; the smoothed RTT is 100 ms, or slightly less after a sample of 98 ms.
    assert_eq!([sent_at(100), sent_at(98)], [0, 2]);
}

#[test]
fn no_burst_is_taken_from_two_pieces_of_what_is_written() {
    // Pieces of 45 segments. The application's call ends within the 46th, which waits for the next call. The segments
    // pushed at that point lose their PSH, and so does the lone 45th.
    let mut rig = SenderHarness::closed(under("linux-6.1", window(80)));
    rig.now_ms = START_MS - RTT_MS;
    rig.open(None);
    rig.now_ms = START_MS;
    rig.syn_ack();
    let pushed: Vec<_> = rig.sent[2..].iter().map(|s| s.header.flags.contains(Flags::PSH)).collect();
    let expected: Vec<_> = (0..80).map(|n| if n < 45 { n % 2 == 1 } else { n % 2 == 0 && n > 45 }).collect();
    assert_eq!(pushed, expected);
}

#[test]
fn the_last_segment_with_its_fin_leaves_whatever_the_window_says() {
    // `tcp_cwnd_test`: one segment, not two.
    let sent = |stack, segments| {
        let mut rig = SenderHarness::closed(under(stack, window(10)));
        rig.now_ms = START_MS - RTT_MS;
        rig.open(Some(segments * MSS));
        rig.now_ms = START_MS;
        rig.syn_ack();
        let fin = rig.sent.last().expect("it sends").header.flags.contains(Flags::FIN);
        (rig.sent.len() - 2, fin)
    };
    assert_eq!([sent("linux-6.1", 11), sent("linux-6.1", 12)], [(11, true), (10, false)]);
    assert_eq!(sent("linux-3.13", 11), (10, false), "not followed there");
    let mut rig = SenderHarness::new(under("linux-6.1", Setup { segments: Some(10), ..window(10) }));
    assert_eq!(rig.close().len(), 1, "a lone FIN");
    assert_eq!(rig.close(), [], "once");
}
