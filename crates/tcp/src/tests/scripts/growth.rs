//! Slow start, congestion avoidance, and conditions under which the window does not grow.

use super::*;

#[test]
fn the_window_grows_as_it_should() {
    check(CASES, sender);
}

const CASES: &[Case] = &[
    Case {
        name: "slow start, an acknowledgment per packet",
        with: plain,
        script: "
            0              > 0-9     = 10/inf open
            100  < 1       > 10-11   = 11/inf open
                 < 2       > 12-13   = 12/inf open
                 < 3       > 14-15   = 13/inf open
            +1   < 4       > 16-17   = 14/inf open
                 < 5       > 18-19   = 15/inf open
            +1   < 6       > 20-21   = 16/inf open
                 < 7       > 22-23   = 17/inf open
                 < 8       > 24-25   = 18/inf open
                 < 9       > 26-27   = 19/inf open
                 < 10      > 28-29   = 20/inf open
            +98  < 11      > 30-31   = 21/inf open
        ",
        without: &[|s| s.window = Some(9), |s| s.receive_window = Some(12 * MSS)],
    },
    Case {
        name: "slow start, packets counted, an acknowledgment per two",
        with: counting_packets,
        script: "
            0              > 0-9     = 10/inf open
            100  < 2       > 10-13   = 12/inf open
                 < 4       > 14-17   = 14/inf open
                 < 6       > 18-21   = 16/inf open
                 < 8       > 22-25   = 18/inf open
                 < 10      > 26-29   = 20/inf open
        ",
        without: &[counting_acknowledgments],
    },
    Case {
        name: "slow start, packets counted, an acknowledgment per four",
        with: counting_packets,
        script: "
            0              > 0-9     = 10/inf open
            100  < 4       > 10-17   = 14/inf open
                 < 8       > 18-25   = 18/inf open
                 < 10      > 26-29   = 20/inf open
        ",
        without: &[counting_acknowledgments],
    },
    Case {
        name: "slow start, acknowledgments counted, one per two packets",
        with: plain,
        script: "
            0              > 0-9     = 10/inf open
            100  < 2       > 10-12   = 11/inf open
                 < 4       > 13-15   = 12/inf open
                 < 6       > 16-18   = 13/inf open
                 < 8       > 19-21   = 14/inf open
                 < 10      > 22-24   = 15/inf open
        ",
        without: &[counting_packets],
    },
    Case {
        name: "the initial window of 2.6.29",
        with: |s| s.window = None,
        script: "
            0              > 0-2     = 3/inf open
            100  < 1       > 3-4     = 4/inf open
                 < 3       > 5-7     = 5/inf open
        ",
        without: &[|s| s.stack.initial_window = 10],
    },
    Case {
        name: "slow start, five packets to send and two per acknowledgment",
        with: |s| {
            counting_packets(s);
            s.segments = Some(5);
        },
        script: "
            0              > 0-4     = 10/inf open
            100  < 2                 = 10/inf open   # half the window is used: it does not grow
                 < 4                 = 10/inf open
                 < 5                 = 10/inf open
            +0   write 12  > 5-14    = 10/inf open
            +100 < 7       > 15-16   = 12/inf open
        ",
        without: &[|s| s.segments = Some(17), |s| s.window = Some(5)],
    },
    Case {
        name: "application-limited, nine of ten out: near enough to the window",
        with: |s| {
            counting_packets(s);
            s.segments = Some(9);
        },
        script: "
            0              > 0-8     = 10/inf open
            100  < 2                 = 12/inf open
                 < 4                 = 12/inf open   # seven of twelve are not
                 write 30  > 9-15    = 12/inf open
        ",
        without: &[|s| s.stack.reordering = 0, counting_acknowledgments],
    },
    Case {
        name: "an opening receive window releases what it held",
        with: |s| s.receive_window = Some(4 * MSS),
        script: "
            0              > 0-3     = 10/inf open
            100  < 1       > 4       = 10/inf open
                 < 4       > 5-7     = 10/inf open
        ",
        without: &[|s| s.receive_window = None],
    },
    Case {
        name: "congestion avoidance, acknowledgments counted: cwnd + 1 per step",
        with: |s| s.window = Some(4),
        script: "
            0              > 0-3     = 4/inf open
            300            > 0r      = 4/2 disorder   # a time-out sets the threshold
            400  < 4       > 4-5     = 2/2 disorder
            500  < 5       > 6-7     = 3/2 open
                 < 6       > 8       = 3/2 open
            600  < 7       > 9       = 3/2 open
                 < 8       > 10      = 3/2 open
                 < 9       > 11-12   = 4/2 open
        ",
        without: &[counting_packets],
    },
    Case {
        name: "byte counting: a step per window of bytes, in spite of few acknowledgments",
        with: |s| {
            s.stack.counting = GrowthCounting::Bytes(1);
            s.window = Some(4);
        },
        script: "
            0              > 0-3     = 4/inf open
            300            > 0r      = 4/2 disorder
            400  < 4       > 4-5     = 2/2 disorder
            500  < 5       > 6-7     = 3/2 open
            600  < 8       > 8-11    = 4/2 open
            700  < 12      > 12-16   = 5/2 open
        ",
        without: &[counting_acknowledgments],
    },
    Case {
        name: "byte counting in slow start: two segments per acknowledgment of two, as far as the window's own count goes",
        with: |s| {
            s.stack.counting = GrowthCounting::Bytes(2);
            s.window = Some(4);
        },
        script: "
            0              > 0-3     = 4/inf open
            100  < 2       > 4-6     = 5/inf open
                 < 4       > 7-10    = 7/inf open
                 < 5       > 11-12   = 8/inf open   # of one segment it is worth one
        ",
        without: &[|s| s.stack.counting = GrowthCounting::Bytes(1), counting_acknowledgments],
    },
    Case {
        name: "an acknowledgment of what was acknowledged, and of what was never sent",
        with: |s| s.window = Some(3),
        script: "
            0              > 0-2     = 3/inf open
            100  < 9                 = 3/inf open
                 < 2       > 3-5     = 4/inf open
                 < 1                 = 4/inf open
        ",
        without: &[|s| s.window = Some(9)],
    },
];
