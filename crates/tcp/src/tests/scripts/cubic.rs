//! CUBIC and HyStart over time, compared with the windows in packetdrill's scripts in `tcp/cubic`, recorded on kernels
//! of 2020.

use super::*;
use crate::cc::Window;
use crate::stack::cubic;

fn modern(setup: &mut Setup) {
    setup.cc = "cubic";
    setup.stack.counting = GrowthCounting::Packets;
    setup.stack.cubic = cubic::LINUX_6;
}

/// The window counts as used at any flight size, as in slow start since Linux 3.16.
fn always_used(setup: &mut Setup) {
    setup.stack.reordering = 100;
}

/// An acknowledgment of two packets every 100 ms up to `upto`; returns the last window.
fn two_per_100_ms(rig: &mut SenderHarness, from: u64, upto: u64) -> u32 {
    for acked in (from + 2..=upto).step_by(2) {
        rig.now_ms += 100;
        rig.ack(acked);
    }
    rig.cwnd()
}

/// Windows of a sender with unlimited data whose packets are acknowledged in pairs, ten pairs per second, after each
/// number of acknowledged segments in `at`.
fn bulk(change: Change, at: &[u64]) -> Vec<u32> {
    let mut setup = window(10);
    modern(&mut setup);
    change(&mut setup);
    let mut rig = SenderHarness::new(setup);
    rig.now_ms -= RTT_MS;
    let mut acked = 0;
    let mut windows = Vec::new();
    for &upto in at {
        windows.push(two_per_100_ms(&mut rig, acked, upto));
        acked = upto;
    }
    windows
}

#[test]
fn hystart_lets_bulk_at_166_kbit_s_grow_by_tens_and_then_ends_slow_start() {
    // packetdrill's sender is paced and reaches 48; without pacing the ninth sample of the second round arrives at 36.
    assert_eq!(bulk(plain, &[10, 20, 26, 28, 38]), [20, 30, 36, 36, 36]);
    assert_eq!(bulk(|s| s.stack.cubic.hystart = None, &[10, 20, 26, 28, 38]), [20, 30, 36, 38, 48]);
}

#[test]
fn the_initial_threshold_of_the_module_ends_slow_start() {
    let given = |params: &[(&str, &str)]| -> Vec<(String, String)> {
        params.iter().map(|&(name, text)| (name.into(), text.into())).collect()
    };
    for (params, expected) in [
        (&[("initial_ssthresh", "14"), ("hystart", "off")][..], 14),
        // Linux 6.1 `cubictcp_init`: HyStart takes precedence.
        (&[("initial_ssthresh", "14")], Window::INFINITE_SSTHRESH),
    ] {
        let mut setup = window(10);
        modern(&mut setup);
        let mut rig = SenderHarness::with(setup, AnyCc::configured("cubic", &given(params)).expect("its parameters"));
        assert_eq!((rig.cwnd(), rig.ssthresh()), (10, expected), "{params:?}");
        rig.ack(4);
        assert_eq!(rig.cwnd(), 14, "{params:?}");
        rig.ack(8);
        assert_eq!(rig.cwnd(), if expected == 14 { 14 } else { 18 }, "{params:?}");
    }
}

#[test]
fn bulk_at_166_kbit_s_after_slow_start() {
    // The plateau, then one segment per two packets.
    let at = [38, 60, 80, 100, 120, 140, 160, 400];
    let expected = [48, 49, 50, 52, 58, 68, 78, 198];
    let end_at_48: Change = |s| s.stack.cubic.hystart = None;
    let windows = |change: Change| {
        let mut setup = window(10);
        modern(&mut setup);
        end_at_48(&mut setup);
        change(&mut setup);
        let mut rig = SenderHarness::new(setup);
        (rig.now_ms, rig.sender.control.window.ssthresh) = (rig.now_ms - RTT_MS, 48);
        let mut acked = 0;
        at.map(|upto| {
            let cwnd = two_per_100_ms(&mut rig, acked, upto);
            acked = upto;
            cwnd
        })
    };
    assert_eq!(windows(plain), expected);
    let off: [Change; 3] =
        [|s| s.stack.cubic.min_cnt = 1, |s| s.stack.counting = GrowthCounting::Acknowledgments, |s| s.cc = "reno"];
    for (i, change) in off.into_iter().enumerate() {
        assert_ne!(windows(change), expected, "change {i}");
    }
}

#[test]
fn idle_time_gives_no_credit() {
    // Forty segments, four seconds of silence, then 160 more: the windows are those without silence. packetdrill has 48
    // and 49 for the second and third, because its kernel does not count the first window after silence as used.
    let windows = |change: Change| {
        let mut setup = Setup { segments: Some(40), ..window(10) };
        modern(&mut setup);
        always_used(&mut setup);
        setup.stack.cubic.hystart = None;
        setup.stack.idle_restart = false;
        change(&mut setup);
        let mut rig = SenderHarness::new(setup);
        (rig.now_ms, rig.sender.control.window.ssthresh) = (rig.now_ms - RTT_MS, 48);
        let before = two_per_100_ms(&mut rig, 0, 40);
        rig.now_ms += 4_000;
        rig.sender.write(ms(rig.now_ms), 160 * MSS, &mut Recorder(rig.now_ms, &mut rig.sent));
        let [a, b, c, d] = [60, 80, 100, 120].map(|upto| two_per_100_ms(&mut rig, upto - 20, upto));
        [before, a, b, c, d]
    };
    assert_eq!(windows(plain), [48, 49, 50, 52, 58]);
    let credited = windows(|s| s.stack.cubic.idle_shifts_epoch = false);
    assert!(credited[1] > 55, "{credited:?}");
}

#[test]
fn after_a_time_out_the_first_step_takes_sixteen_acknowledgments_at_seven() {
    // packetdrill's cubic-rto-ss-ca-cwnd-bump from the end of slow start: W_max is forgotten, and Reno's rate applies.
    let mut setup = window(7);
    modern(&mut setup);
    let mut rig = SenderHarness::new(setup);
    rig.sender.control.window.ssthresh = 7;
    let gaps = [0, 98, 2, 2, 2, 2, 2, 2, 98, 2, 2, 2, 2, 2, 2, 98];
    let windows = Vec::from_iter((1..).zip(gaps).map(|(acked, gap)| {
        rig.now_ms += gap;
        rig.ack(acked);
        rig.cwnd()
    }));
    assert_eq!(windows, [[7; 15].as_slice(), &[8]].concat());
}

#[test]
fn hystart_by_delay() {
    check(CASES, sender);
}

const CASES: &[Case] = &[
    Case {
        name: "the RTT jumps upward: nine samples, an eighth above the least",
        with: modern,
        script: "
            0                 > 0-9     = 10/inf open
            200  < 10         > 10-29   = 20/inf open
            440  < 12         > 30-33   = 22/inf open
            +1   < 14         > 34-37   = 24/inf open
            +1   < 16         > 38-41   = 26/inf open
            +1   < 18         > 42-45   = 28/inf open
            +1   < 20         > 46-49   = 30/inf open
            +1   < 22         > 50-53   = 32/inf open
            +1   < 24         > 54-57   = 34/inf open
            +1   < 26         > 58-61   = 36/inf open
            +1   < 28         > 62-63   = 36/36 open
            +1   < 30         > 64-65   = 36/36 open
        ",
        without: &[|s| s.stack.cubic.hystart = None, |s| s.cc = "reno"],
    },
    Case {
        name: "the least RTT jumps downward in mid-round: no rise",
        with: |s| {
            modern(s);
            always_used(s);
            s.segments = Some(28);
        },
        script: "
            0                 > 0-9     = 10/inf open
            200  < 10         > 10-27   = 20/inf open
            380  write 2      > 28-29   = 20/inf open
            400  < 12                   = 22/inf open
            +1   < 14                   = 24/inf open
            +1   < 16                   = 26/inf open
            +1   < 18                   = 28/inf open
            +1   < 20                   = 30/inf open
            +1   < 22                   = 32/inf open
            +1   < 24                   = 34/inf open
            +1   < 26                   = 36/inf open
            +1   < 28                   = 38/inf open
            +1   < 30                   = 40/inf open
        ",
        without: &[|s| s.stack.cubic.hystart.as_mut().expect("it is on").every_sample = false],
    },
];
