//! DCTCP: the receiver's echoes (RFC 8257 §3.2) and the sender's response. The numbers are computed by hand from the
//! specification: alpha starts at 1024 and is 960 after the first acknowledgment, which ends a window without data.

use super::*;

#[test]
fn senders_answer_the_share_of_marks() {
    check(SENDING, sender);
}

#[test]
fn receivers_echo_each_mark() {
    check(RECEIVING, receiver);
}

fn dctcp(setup: &mut Setup) {
    *setup = lacking("linux-6.1", *setup, |stack| stack.bursts = false);
    (setup.cc, setup.ecn) = ("dctcp", true);
}

fn reno(setup: &mut Setup) {
    setup.cc = "reno";
}

const SENDING: &[Case] = &[
    Case {
        name: "the threshold falls by half of alpha: 11 - (11 · 960 >> 11) = 6",
        with: dctcp,
        script: "
            0                 > 0-9e      = 10/inf open
            100  < 1          > 10-11e    = 11/inf open
                 < 2 ece      > 12ce      = 11/6 cwr     # PRR: ceil(6 · 1 / 11) = 1
                 < 3 ece      > 13e       = 11/6 cwr
                 < 4 ece                  = 10/6 cwr     # ceil(18 / 11) - 2 = 0
        ",
        without: &[reno],
    },
    Case {
        name: "a window without marks lowers alpha: 20 - (20 · 900 >> 11) = 12",
        with: dctcp,
        script: "
            0                 > 0-9e      = 10/inf open
            100  < 5          > 10-19e    = 15/inf open
                 < 10         > 20-29e    = 20/inf open
            200  < 11 ece     > 30ce      = 20/12 cwr
        ",
        without: &[reno, |s| s.cc = "dctcp@rfc8257"],
    },
    Case {
        // 15/16 · 15/16 + 1/16 · 1/6 = 0.8893; 20 · (1 - 0.8893 / 2) = 11.1.
        name: "RFC 8257: the acknowledgment that ends a window counts in it",
        with: |s| {
            dctcp(s);
            s.cc = "dctcp@rfc8257";
        },
        script: "
            0                 > 0-9e      = 10/inf open
            100  < 5          > 10-19e    = 15/inf open
                 < 10         > 20-29e    = 20/inf open
            200  < 11 ece     > 30ce      = 20/11 cwr
        ",
        without: &[reno, |s| s.cc = "dctcp"],
    },
    Case {
        name: "a loss halves, also what a mark had lowered less, and retransmissions are ECT",
        with: dctcp,
        script: "
            0                     > 0-9e     = 10/inf open
            100  < 5              > 10-19e   = 15/inf open
                 < 10             > 20-29e   = 20/inf open
            200  < 11 ece         > 30ce     = 20/12 cwr
                 < 11 sack 12-14  > 11re     = 17/10 recovery
        ",
        without: &[reno],
    },
];

const RECEIVING: &[Case] = &[
    Case {
        name: "a change of the mark is told at once, what waits before it under the old one",
        with: dctcp_receiver,
        script: "
            0    < 0     > 1           # two quick acknowledgments
                 < 1     > 2
            +1   < 2
            +1   < 3*    > 3 4 ece
            +1   < 4*
            +1   < 5*    > 6 ece
            +1   < 6c*   > 7 ece       # CWR ends nothing, but is acknowledged at once
            +1   < 7     > 8           # nothing waits
            +1   < 8
            +40          > 9
        ",
        without: &[reno],
    },
    Case {
        name: "out of order, too",
        with: dctcp_receiver,
        script: "
            0    < 0     > 1
                 < 1     > 2
            +1   < 3     > 2 sack 3
            +1   < 4*    > 2 sack 3-4 ece
            +1   < 5     > 2 sack 3-5
            +1   < 2*    > 6 ece
        ",
        without: &[reno],
    },
];

fn dctcp_receiver(setup: &mut Setup) {
    (setup.cc, setup.ecn) = ("dctcp", true);
}
