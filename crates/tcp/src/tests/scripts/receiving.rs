//! Acknowledgment timing and contents at a receiver.

use super::*;

#[test]
fn acknowledgments_go_out_as_they_should() {
    check(CASES, receiver);
}

fn without_delay(setup: &mut Setup) {
    setup.delayed_ack = false;
}

const CASES: &[Case] = &[
    Case {
        name: "two quick acknowledgments, then every second segment",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
            +1   < 2
            +1   < 3     > 4
                 < 4
                 < 5     > 6
        ",
        without: &[without_delay, |s| s.stack.quickacks_at_start = 4],
    },
    Case {
        name: "a lone segment waits for 40 ms",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
            10   < 2
            50           > 3
        ",
        without: &[without_delay, |s| s.stack.ato_min = Duration::from_millis(30)],
    },
    Case {
        name: "the delay follows gaps above 20 ms",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
            30   < 2
            80           > 3     # 40 / 2 + 30
        ",
        without: &[without_delay, |s| s.stack.ato_min = Duration::from_millis(60)],
    },
    Case {
        name: "an acknowledgment that came late doubles the delay",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
                 < 2
            40           > 3
            45   < 3
            130          > 4     # 80 / 2 + 45
        ",
        without: &[without_delay, |s| s.stack.ato_min = Duration::from_millis(20)],
    },
    Case {
        name: "without delay every segment is acknowledged",
        with: without_delay,
        script: "
            0    < 0     > 1
                 < 1     > 2
                 < 2     > 3
                 < 3     > 4
        ",
        without: &[|s| s.delayed_ack = true],
    },
    Case {
        name: "out of order data at once, blocks most recent first, at most three",
        with: plain,
        script: "
            0    < 0     > 1
                 < 2     > 1 sack 2
                 < 4     > 1 sack 4 2
                 < 3     > 1 sack 2-4
                 < 6     > 1 sack 6 2-4
                 < 8     > 1 sack 8 6 2-4
                 < 10    > 1 sack 10 8 6
                 < 1     > 5 sack 10 8 6
        ",
        without: &[without_sack],
    },
    Case {
        name: "duplicates are reported first (D-SACK)",
        with: plain,
        script: "
            0    < 0     > 1
                 < 2     > 1 sack 2
                 < 0     > 1 sack 0 2
                 < 2     > 1 sack 2 2
        ",
        without: &[without_sack],
    },
    Case {
        name: "sixteen quick acknowledgments after out-of-order data",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
                 < 3     > 2 sack 3
                 < 2     > 4
                 < 4     > 5
                 < 5     > 6
                 < 6     > 7
                 < 7     > 8
                 < 8     > 9
                 < 9     > 10
                 < 10    > 11
                 < 11    > 12
                 < 12    > 13
                 < 13    > 14
                 < 14    > 15
                 < 15    > 16
                 < 16    > 17
                 < 17    > 18
                 < 18
                 < 19    > 20
        ",
        without: &[|s| s.stack.quickacks = 8, without_delay],
    },
    Case {
        name: "sixteen quick ones after a pause longer than the time-out",
        with: plain,
        script: "
            0    < 0     > 1
                 < 1     > 2
            301  < 2     > 3
                 < 3     > 4
                 < 4     > 5
        ",
        without: &[|s| s.stack.quickacks = 1, |s| s.stack.rto_min = Duration::from_millis(300)],
    },
    Case {
        name: "a mark is echoed until CWR",
        with: |s| s.ecn = true,
        script: "
            0    < 0     > 1
                 < 1*    > 2 ece
                 < 2
                 < 3     > 4 ece
                 < 4c
                 < 5     > 6
        ",
        without: &[|s| s.ecn = false],
    },
];
