//! Undo of spurious reductions.

use super::*;

#[test]
fn needless_reductions_are_undone_as_they_should_be() {
    check(CASES, sender);
}

const CASES: &[Case] = &[
    Case {
        name: "the original arrives: its timestamp is older than the retransmission (Eifel)",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 0 sack 1-2     > 11      = 10/inf disorder
                 < 0 sack 1-3     > 0r      = 9/5 recovery
            110  < 12 echo 0      > 12-14   = 3/inf open
        ",
        without: &[|s| s.stack.reordering = 4],
    },
    Case {
        name: "a D-SACK tells that the retransmission was not needed",
        with: plain,
        script: "
            0                           > 0-9     = 10/inf open
            100  < 0 sack 1             > 10      = 10/inf disorder
                 < 0 sack 1-2           > 11      = 10/inf disorder
                 < 0 sack 1-3           > 0r      = 9/5 recovery
            200  < 12 echo 100          > 12-14   = 3/5 disorder
                 < 12 sack 0 echo 100   > 15-17   = 6/inf open
        ",
        without: &[without_sack],
    },
    Case {
        name: "CUBIC goes back to the window before the loss",
        with: |s| s.cc = "cubic",
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 0 sack 1-2     > 11      = 10/inf disorder
                 < 0 sack 1-3     > 0r      = 9/7 recovery
            110  < 4 echo 0       > 12      = 9/7 recovery
        ",
        without: &[|s| s.cc = "reno", |s| s.stack.reordering = 4],
    },
    Case {
        name: "a late acknowledgment after a time-out",
        with: without_sack,
        script: "
            0                     > 0-9     = 10/inf open
            300                   > 0r      = 1/5 loss
            310  < 1 echo 0       > 10      = 10/inf loss
        ",
        without: &[|s| s.sack = true],
    },
];
