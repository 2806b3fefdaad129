//! Retransmission time-outs, back-off and F-RTO.

use super::*;

#[test]
fn time_outs_are_dealt_with_as_they_should_be() {
    check(CASES, sender);
}

fn without_frto(setup: &mut Setup) {
    setup.stack.frto = false;
}

const CASES: &[Case] = &[
    Case {
        name: "the time-out is srtt + 200 ms and doubles",
        with: without_sack,
        script: "
            0              > 0-9     = 10/inf open
            300            > 0r      = 1/5 loss
            900            > 0r      = 1/5 loss
            2100           > 0r      = 1/5 loss
            4500           > 0r      = 1/5 loss
        ",
        without: &[
            |s| s.stack.rto_min = Duration::from_millis(300),
            |s| s.stack.rto_max = Duration::from_secs(2),
            |s| s.sack = true,
        ],
    },
    Case {
        name: "every acknowledgment of new data starts the timer anew",
        with: |s| s.window = Some(2),
        script: "
            0              > 0-1     = 2/inf open
            100  < 1       > 2-3     = 3/inf open
            +100 < 2       > 4-5     = 4/inf open
            +300           > 2r      = 4/2 disorder
        ",
        without: &[|s| s.stack.rto_min = Duration::from_millis(250)],
    },
    Case {
        name: "after a time-out slow start, everything is sent again",
        with: without_sack,
        script: "
            0              > 0-9     = 10/inf open
            300            > 0r      = 1/5 loss
            400  < 1       > 1r 2r   = 2/5 loss
            500  < 2       > 3r 4r   = 3/5 loss
                 < 3       > 5r 6r   = 4/5 loss
            600  < 4       > 7r 8r   = 5/5 loss
                 < 5       > 9r 10   = 6/5 loss
        ",
        without: &[|s| s.sack = true, |s| s.window = Some(9)],
    },
    Case {
        name: "F-RTO: a time-out that was needed",
        with: plain,
        script: "
            0                     > 0-9       = 10/inf open
            300                   > 0r        = 10/5 disorder
            400  < 1              > 10-11     = 11/5 disorder
            500  < 1 sack 10      > 1r 2r 3r  = 3/5 loss
        ",
        without: &[without_frto, without_sack],
    },
    Case {
        name: "F-RTO: a spurious time-out",
        with: plain,
        script: "
            0                     > 0-9       = 10/inf open
            300                   > 0r        = 10/5 disorder
            320  < 1 echo 0       > 10-11     = 11/5 disorder
                 < 2 echo 0       > 12        = 11/5 cwr
                 < 3 echo 0                   = 10/5 cwr
                 < 4 echo 0       > 13        = 10/5 cwr
        ",
        without: &[without_frto, without_sack],
    },
    Case {
        name: "F-RTO: a duplicate after the new segments means loss",
        with: plain,
        script: "
            0                     > 0-9       = 10/inf open
            300                   > 0r        = 10/5 disorder
            400  < 1              > 10-11     = 11/5 disorder
                 < 1              > 1r 2r 3r  = 3/5 loss
        ",
        without: &[without_frto],
    },
    Case {
        name: "F-RTO: everything is acknowledged",
        with: plain,
        script: "
            0                     > 0-9       = 10/inf open
            300                   > 0r        = 10/5 disorder
            400  < 10             > 10-11     = 2/5 disorder
            500  < 11             > 12-13     = 3/5 open
        ",
        without: &[without_frto],
    },
    Case {
        name: "back-off ends with a new sample",
        with: without_sack,
        script: "
            0              > 0-9     = 10/inf open
            300            > 0r      = 1/5 loss
            900            > 0r      = 1/5 loss
            1000 < 1       > 1r 2r   = 2/5 loss
            1300           > 1r      = 1/2 loss
        ",
        without: &[|s| s.stack.rto_min = Duration::from_millis(201)],
    },
];
