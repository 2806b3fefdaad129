//! The stack of ns-2.

use super::*;
use crate::stack::{RecoveryMachine, RtoFormula};

#[test]
fn agents_behave_as_in_ns_2() {
    check(CASES, sender);
}

#[test]
fn sinks_acknowledge_every_segment() {
    check(SINKS, receiver);
}

#[test]
fn headers_are_40_bytes() {
    let mut setup = window(2);
    newreno(&mut setup);
    let rig = SenderHarness::new(setup);
    assert_eq!(rig.sender.window().ssthresh, 20);
    let mut rig = SenderHarness { sent: Vec::new(), ..rig };
    rig.inject(upto(1));
    let mut receiver = ScriptedReceiver::established(&setup);
    receiver.segment(START_MS, Header { seq: seq(0), len: MSS as u16, ..Header::default() }, Ecn::NotEct);
    assert_eq!((rig.sent[0].len, receiver.sent[0].len), (MSS as u32 + 40, 40));
}

fn newreno(setup: &mut Setup) {
    (setup.stack, setup.cc) = (*Stack::find("ns2").expect("the stack is registered"), "newreno");
    setup.sack = false;
}

fn newreno_with_ecn(setup: &mut Setup) {
    newreno(setup);
    setup.ecn = true;
}

fn reno(setup: &mut Setup) {
    newreno(setup);
    setup.cc = "reno";
}

fn sack1(setup: &mut Setup) {
    newreno(setup);
    setup.sack = true;
}

fn linux_machine(setup: &mut Setup) {
    setup.stack.machine = RecoveryMachine::Linux2_6;
}

const CASES: &[Case] = &[
    Case {
        name: "windowInit_ 2, ssthresh = window_ = 20",
        with: |s| {
            newreno(s);
            s.window = None;
        },
        script: "
            0            > 0-1     = 2/20 open
            100  < 1     > 2-3     = 3/20 open
                 < 2     > 4-5     = 4/20 open
        ",
        without: &[|s| s.stack.max_window = None, |s| s.stack.initial_window = 3],
    },
    Case {
        name: "window_ bounds the flight and the window",
        with: |s| {
            newreno(s);
            s.window = Some(19);
        },
        script: "
            0            > 0-18    = 19/20 open
            100  < 1     > 19-20   = 20/20 open
                 < 2     > 21      = 20/20 open
                 < 3     > 22      = 20/20 open
        ",
        without: &[|s| s.stack.max_window = Some(30)],
    },
    Case {
        name: "congestion avoidance: 1 / cwnd per acknowledgment",
        with: |s| {
            newreno(s);
            (s.window, s.receive_window) = (Some(4), Some(4 * MSS));
        },
        script: "
            0            > 0-3     = 4/4 open
            100  < 1     > 4       = 4/4 open
        ",
        without: &[|s| s.receive_window = Some(5 * MSS)],
    },
    Case {
        name: "NewReno: the window is halved at once and inflated by duplicates",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 0     > 10      = 10/20 disorder
                 < 0     > 11      = 10/20 disorder
                 < 0     > 0r      = 5/5 recovery
                 < 0               = 5/5 recovery
                 < 0               = 5/5 recovery
                 < 0               = 5/5 recovery
                 < 0               = 5/5 recovery
                 < 0     > 12      = 5/5 recovery
                 < 0     > 13      = 5/5 recovery
                 < 0     > 14      = 5/5 recovery
                 < 0     > 15      = 5/5 recovery
            200  < 12    > 16      = 5/5 open
        ",
        without: &[linux_machine, |s| s.stack.reordering = 4],
    },
    Case {
        name: "NewReno: a partial acknowledgment deflates and sends the next hole",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 0     > 10      = 10/20 disorder
                 < 0     > 11      = 10/20 disorder
                 < 0     > 0r      = 5/5 recovery
                 < 0               = 5/5 recovery
            200  < 4     > 4r      = 5/5 recovery
            300  < 12    > 12-16   = 5/5 open         # exit_recovery_fix_ 0
        ",
        without: &[reno, linux_machine],
    },
    Case {
        name: "NewReno: what no duplicate has inflated is taken from the window itself",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 0     > 10      = 10/20 disorder
                 < 0     > 11      = 10/20 disorder
                 < 0     > 0r      = 5/5 recovery
            200  < 6     > 6r      = 2/5 recovery
            300  < 12    > 12-14   = 3/5 open
        ",
        without: &[reno, linux_machine],
    },
    Case {
        name: "NewReno, newreno_changes1_: the first partial acknowledgment restarts the time-out, no further one does",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 1     > 10-11   = 11/20 open
                 < 1     > 12      = 11/20 disorder
                 < 1     > 13      = 11/20 disorder
                 < 1     > 1r      = 5/5 recovery
            200  < 3     > 3r      = 5/5 recovery
            300  < 5     > 5r      = 5/5 recovery
            400  < 7     > 7r      = 4/5 recovery
            450          > 7r      = 1/2 loss
        ",
        without: &[reno, linux_machine, sack1],
    },
    Case {
        name: "bugFix_: after a recovery, duplicates of what was sent before start no other; the time-out repairs",
        with: reno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 1     > 10-11   = 11/20 open
                 < 1     > 12      = 11/20 disorder
                 < 1     > 13      = 11/20 disorder
                 < 1     > 1r      = 5/5 recovery
            200  < 3               = 5/5 open
                 < 3               = 5/5 disorder
                 < 3               = 5/5 disorder
                 < 3               = 5/5 disorder
                 < 3               = 5/5 disorder
            450          > 3r      = 1/2 loss
        ",
        without: &[newreno, linux_machine, sack1],
    },
    Case {
        name: "bugFix_, not lessCareful_: nor do those of the first segment sent after it",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 0     > 10      = 10/20 disorder
                 < 0     > 11      = 10/20 disorder
                 < 0     > 0r      = 5/5 recovery
            200  < 12    > 12-16   = 5/5 open
            300  < 12    > 17      = 5/5 disorder
                 < 12    > 18      = 5/5 disorder
                 < 12              = 5/5 disorder
                 < 12              = 5/5 disorder
            500          > 12r     = 1/2 loss
        ",
        without: &[linux_machine, sack1],
    },
    Case {
        name: "Reno: the first acknowledgment that moves ends recovery",
        with: reno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 0     > 10      = 10/20 disorder
                 < 0     > 11      = 10/20 disorder
                 < 0     > 0r      = 5/5 recovery
            200  < 4               = 5/5 open
        ",
        without: &[newreno],
    },
    Case {
        name: "Sack1: pipe_ is 9 of 12 at the third duplicate, and every hole goes when it is below 5",
        with: sack1,
        script: "
            0                        > 0-9     = 10/20 open
            100  < 0 sack 1          > 10      = 10/20 disorder
                 < 0 sack 1-2        > 11      = 10/20 disorder
                 < 0 sack 1-3        > 0r      = 5/5 recovery
                 < 0 sack 1-3 5                = 5/5 recovery
                 < 0 sack 1-3 5-6              = 5/5 recovery
                 < 0 sack 1-3 5-7              = 5/5 recovery
                 < 0 sack 1-3 5-8              = 5/5 recovery
                 < 0 sack 1-3 5-9    > 4r      = 5/5 recovery
                 < 0 sack 1-3 5-10   > 12      = 5/5 recovery
        ",
        without: &[linux_machine, newreno],
    },
    Case {
        name: "packet 0 is timed; the time-out doubles; each halves what the window is by then",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            300          > 0r      = 1/5 loss
            900          > 0r      = 1/2 loss
        ",
        without: &[|s| s.stack.rto_min = Duration::from_secs(1), |s| s.stack.rto_max = Duration::from_millis(500)],
    },
    Case {
        name: "ecn_: an echo halves until what was sent after it is acknowledged, and its acknowledgment opens nothing",
        with: newreno_with_ecn,
        script: "
            0                > 0-9e    = 10/20 open
            100  < 1 ece               = 5/5 open
                 < 2 ece               = 5/5 open
                 < 6 ece     > 10ce    = 5/5 open
                 < 7         > 11e     = 5/5 open
            200  < 10 ece    > 12-14e  = 5/5 open
                 < 11 ece              = 2/2 open
                 < 12 ece              = 2/2 open
        ",
        without: &[linux_machine, |s| s.ecn = false],
    },
    Case {
        name: "ecn_: an echo after a time-out halves once more, whatever was sent when",
        with: newreno_with_ecn,
        script: "
            0                > 0-9e    = 10/20 open
            300              > 0r      = 1/5 loss
            400  < 5         > 5r 6r   = 2/5 loss
                 < 6         > 7r 8r   = 3/5 loss
                 < 7         > 9r 10ce = 4/5 loss
                 < 8 ece               = 2/2 loss
                 < 10 ece    > 11ce    = 2/2 loss
        ",
        without: &[linux_machine, |s| s.ecn = false],
    },
    Case {
        name: "singledup_: after a time-out the first two duplicates go on from where it went back to",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            300          > 0r      = 1/5 loss
            320  < 0     > 1r      = 1/5 loss
                 < 0     > 2r      = 1/5 loss
                 < 0               = 1/5 loss
            400  < 1               = 2/5 loss
                 < 1     > 3r      = 2/5 loss
                 < 1     > 4r      = 2/5 loss
        ",
        without: &[linux_machine, |s| s.stack.reordering = 2],
    },
    Case {
        name: "the time-out is srtt + 4 rttvar, of one segment timed at a time; go back and slow start",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 1     > 10-11   = 11/20 open
            350          > 1r      = 1/5 loss
            500  < 2     > 2r 3r   = 2/5 loss
                 < 3     > 4r 5r   = 3/5 loss
        ",
        without: &[|s| s.stack.rto_min = Duration::from_secs(1), |s| s.stack.timestamps = true],
    },
    Case {
        name: "the time-out follows the deviation down: 220 ms after a third sample of 100 ms, from the instant",
        with: newreno,
        script: "
            0            > 0-9     = 10/20 open
            100  < 1     > 10-11   = 11/20 open
            209  < 11    > 12-22   = 12/20 open   # 100 ms by a clock of 10 ms
            429          > 11r     = 1/6 loss
        ",
        without: &[
            |s| s.stack.rto = RtoFormula::Linux,
            |s| s.stack.tick = Duration::from_millis(1),
            |s| s.stack.exact_timers = false,
        ],
    },
];

const SINKS: &[Case] = &[Case {
    name: "an acknowledgment for every segment, in spite of delayed acknowledgments",
    with: newreno,
    script: "
        0    < 0     > 1
             < 1     > 2
             < 2     > 3
             < 4     > 3
             < 3     > 5
    ",
    without: &[|s| s.stack.acks_every_segment = false, |s| s.sack = true],
}];
