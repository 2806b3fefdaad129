//! Fast retransmit, limited transmit and recovery, with and without SACK.

use super::*;

#[test]
fn losses_are_repaired_as_they_should_be() {
    check(CASES, sender);
}

fn newreno(setup: &mut Setup) {
    (setup.sack, setup.cc) = (false, "newreno");
}

fn without_fack(setup: &mut Setup) {
    setup.stack.fack = false;
}

const CASES: &[Case] = &[
    Case {
        name: "limited transmit and fast retransmit with SACK",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 0 sack 1-2     > 11      = 10/inf disorder
                 < 0 sack 1-3     > 0r      = 9/5 recovery
        ",
        without: &[|s| s.stack.reordering = 2, |s| s.stack.reordering = 4],
    },
    Case {
        name: "limited transmit and fast retransmit without SACK",
        with: without_sack,
        script: "
            0            > 0-9     = 10/inf open
            100  < 0     > 10      = 10/inf disorder
                 < 0     > 11      = 10/inf disorder
                 < 0     > 0r      = 9/5 recovery
                 < 0               = 8/5 recovery
                 < 0     > 12      = 8/5 recovery
        ",
        without: &[|s| s.sack = true, |s| s.stack.reordering = 4],
    },
    Case {
        name: "four packets, the first lost, without SACK",
        with: |s| {
            without_sack(s);
            s.segments = Some(4);
        },
        script: "
            0            > 0-3     = 10/inf open
            100  < 0               = 6/inf disorder
                 < 0               = 5/inf disorder
                 < 0     > 0r      = 1/2 recovery
            200  < 4               = 1/2 disorder
        ",
        without: &[|s| s.stack.reordering = 4],
    },
    Case {
        name: "four packets, the first lost, with SACK",
        with: |s| s.segments = Some(4),
        script: "
            0                     > 0-3     = 10/inf open
            100  < 0 sack 1                 = 6/inf disorder
                 < 0 sack 1-2               = 5/inf disorder
                 < 0 sack 1-3     > 0r      = 1/2 recovery
        ",
        without: &[|s| s.stack.reordering = 4, |s| s.segments = None],
    },
    Case {
        name: "FACK: one SACK far ahead is enough",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 7       > 0r      = 5/5 recovery
                 < 0 sack 7-8     > 1r      = 4/5 recovery
        ",
        without: &[without_fack, without_sack],
    },
    Case {
        name: "without FACK three SACKs are needed",
        with: without_fack,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 7       > 10      = 10/inf disorder
                 < 0 sack 7-8     > 11      = 10/inf disorder
                 < 0 sack 7-9     > 0r      = 3/5 recovery
        ",
        without: &[|s| s.stack.fack = true],
    },
    Case {
        name: "holes of a SACK are filled once each, in order",
        with: plain,
        script: "
            0                          > 0-9     = 10/inf open
            100  < 0 sack 1            > 10      = 10/inf disorder
                 < 0 sack 3 1          > 0r      = 9/5 recovery
                 < 0 sack 3-4 1                  = 8/5 recovery
                 < 0 sack 6 3-4 1      > 2r      = 7/5 recovery
                 < 0 sack 6-7 3-4 1              = 6/5 recovery
                 < 0 sack 6-8 3-4 1    > 5r      = 5/5 recovery
        ",
        without: &[without_fack, without_sack],
    },
    Case {
        name: "rate halving: a segment for two acknowledgments",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 0 sack 1-2     > 11      = 10/inf disorder
                 < 0 sack 1-3     > 0r      = 9/5 recovery
                 < 0 sack 1-4               = 8/5 recovery
                 < 0 sack 1-5     > 12      = 8/5 recovery
                 < 0 sack 1-6               = 7/5 recovery
                 < 0 sack 1-7     > 13      = 7/5 recovery
        ",
        without: &[|s| s.cc = "cubic", |s| s.stack.reordering = 4],
    },
    Case {
        name: "Reno leaves recovery on a partial acknowledgment",
        with: without_sack,
        script: "
            0            > 0-9     = 10/inf open
            100  < 0     > 10      = 10/inf disorder
                 < 0     > 11      = 10/inf disorder
                 < 0     > 0r      = 9/5 recovery
            200  < 4               = 5/5 open
        ",
        without: &[newreno],
    },
    Case {
        name: "NewReno retransmits the next hole on a partial acknowledgment",
        with: newreno,
        script: "
            0            > 0-9     = 10/inf open
            100  < 0     > 10      = 10/inf disorder
                 < 0     > 11      = 10/inf disorder
                 < 0     > 0r      = 9/5 recovery
            200  < 4     > 4r      = 8/5 recovery
        ",
        without: &[|s| s.cc = "reno"],
    },
    Case {
        name: "moderation: a jump of the acknowledgment releases three segments",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 10             > 11-13   = 4/inf open
        ",
        without: &[|s| s.stack.reordering = 5],
    },
    Case {
        name: "a retransmission that is lost is noticed by what was sent after it",
        with: plain,
        script: "
            0                     > 0-9     = 10/inf open
            100  < 0 sack 1       > 10      = 10/inf disorder
                 < 0 sack 1-2     > 11      = 10/inf disorder
                 < 0 sack 1-3     > 0r      = 9/5 recovery
                 < 0 sack 1-9     > 12      = 4/5 recovery
                 < 0 sack 1-11    > 13      = 3/5 recovery
            200  < 0 sack 1-12    > 0r      = 2/5 recovery
        ",
        without: &[without_fack],
    },
];
