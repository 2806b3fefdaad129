//! Explicit congestion notification at the sender (RFC 3168).

use super::*;

#[test]
fn marks_are_answered_as_they_should_be() {
    check(CASES, sender);
}

fn capable(setup: &mut Setup) {
    setup.ecn = true;
}

fn incapable(setup: &mut Setup) {
    setup.ecn = false;
}

const CASES: &[Case] = &[
    Case {
        name: "new data is ECT(0), retransmissions are not",
        with: capable,
        script: "
            0                     > 0-9e     = 10/inf open
            100  < 0 sack 1       > 10e      = 10/inf disorder
                 < 0 sack 1-2     > 11e      = 10/inf disorder
                 < 0 sack 1-3     > 0r       = 9/5 recovery
        ",
        without: &[incapable],
    },
    Case {
        name: "an echo halves once, announced by CWR on the next new segment",
        with: capable,
        script: "
            0                 > 0-9e     = 10/inf open
            100  < 1 ece      > 10ce     = 10/5 cwr
                 < 2 ece                 = 9/5 cwr
                 < 3 ece      > 11e      = 9/5 cwr
                 < 4                     = 8/5 cwr
        ",
        without: &[incapable],
    },
    Case {
        name: "the window in which it fell is through: an echo counts again",
        with: |s| {
            capable(s);
            s.window = Some(4);
        },
        script: "
            0                 > 0-3e     = 4/inf open
            100  < 1 ece      > 4ce      = 4/2 cwr
                 < 2 ece                 = 3/2 cwr
                 < 4 ece      > 5e       = 2/2 cwr
            200  < 5          > 6e       = 2/2 open
                 < 6 ece      > 7ce      = 2/2 cwr
        ",
        without: &[incapable],
    },
    Case {
        name: "CUBIC leaves seven tenths",
        with: |s| {
            capable(s);
            s.cc = "cubic";
        },
        script: "
            0                 > 0-9e     = 10/inf open
            100  < 1 ece      > 10ce     = 10/7 cwr
                 < 2                     = 9/7 cwr
                 < 3          > 11e      = 9/7 cwr
                 < 4                     = 8/7 cwr
                 < 5          > 12e      = 8/7 cwr
                 < 6                     = 7/7 cwr
                 < 7          > 13e      = 7/7 cwr
                 < 8          > 14e      = 7/7 cwr
        ",
        without: &[incapable, |s| s.cc = "reno"],
    },
    Case {
        name: "a loss after a mark is part of the same reduction",
        with: capable,
        script: "
            0                     > 0-9e     = 10/inf open
            100  < 1 ece          > 10ce     = 10/5 cwr
                 < 1 sack 2-4     > 1r       = 7/5 recovery
        ",
        without: &[incapable],
    },
];
