//! Explicit congestion notification (RFC 3168): ECN-capable packets, and the sender's response to marks.

use super::*;

fn capable() -> Setup {
    Setup { ecn: true, ..window(10) }
}

#[test]
fn only_new_data_is_ecn_capable() {
    let mut rig = SenderHarness::closed(capable());
    rig.open(None);
    rig.now_ms = 100;
    rig.syn_ack();
    let of = |sent: &SentSegment| (sent.header.len > 0, sent.ecn);
    let sent: Vec<_> = rig.sent.drain(..).map(|s| of(&s)).collect();
    assert_eq!(sent, [[(false, Ecn::NotEct); 2].as_slice(), &[(true, Ecn::Ect0); 10]].concat());
    rig.now_ms = 400;
    rig.sender.on_timer(ms(400), &mut Recorder(400, &mut rig.sent));
    assert_eq!(rig.sent.drain(..).map(|s| of(&s)).collect::<Vec<_>>(), [(true, Ecn::NotEct)], "a retransmission");
}

#[test]
fn the_syn_asks_for_it() {
    for (setup, flags) in [(capable(), Flags::SYN.with(Flags::ECE).with(Flags::CWR)), (window(10), Flags::SYN)] {
        let mut rig = SenderHarness::closed(setup);
        rig.open(None);
        assert_eq!(rig.sent[0].header.flags, flags);
    }
}

#[test]
fn an_echo_halves_the_window_once_per_round_trip() {
    let mut rig = SenderHarness::new(capable());
    let sent: Vec<Vec<u64>> = (1..=10).map(|n| rig.on(upto(n).ece())).collect();
    let expected: Vec<Vec<u64>> = (1..=10).map(|n| if n % 2 == 1 { vec![10 + n / 2] } else { vec![] }).collect();
    assert_eq!(sent, expected, "rate halving");
    assert_eq!((rig.ssthresh(), rig.cwnd(), rig.state()), (5, 5, CaState::Cwr));
    rig.now_ms += RTT_MS;
    rig.ack(11);
    assert_eq!((rig.cwnd(), rig.state()), (5, CaState::Open), "the window in which it fell is through");
    rig.on(upto(12).ece());
    assert_eq!((rig.ssthresh(), rig.state()), (2, CaState::Cwr), "an echo of the next one counts");
}

#[test]
fn the_reduction_is_announced_on_the_next_new_segment_only() {
    let mut rig = SenderHarness::new(capable());
    for n in 1..=6 {
        let at = upto(n).ece();
        let flags = Flags::ACK.with_if(Flags::ECE, at.ece);
        rig.segment(Header { ack: seq(n), flags, ts_ecr: 1_000, ..Header::default() });
    }
    let cwr: Vec<_> =
        rig.sent.drain(..).map(|s| (segment(s.header.seq), s.header.flags.contains(Flags::CWR))).collect();
    assert_eq!(cwr, [(10, true), (11, false), (12, false)]);
}

#[test]
fn a_reduction_by_a_mark_is_not_undone() {
    let mut rig = SenderHarness::new(capable());
    rig.on(upto(1).ece());
    for n in 2..=11 {
        rig.on(upto(n).echo(START_MS));
    }
    assert_eq!((rig.ssthresh(), rig.state()), (5, CaState::Open));
}

#[test]
fn without_negotiation_an_echo_is_nothing() {
    let mut rig = SenderHarness::new(window(10));
    rig.on(upto(1).ece());
    assert_eq!((rig.cwnd(), rig.state()), (11, CaState::Open));
}

#[test]
fn a_loss_after_a_mark_does_not_halve_again() {
    let mut rig = SenderHarness::new(capable());
    rig.on(upto(1).ece());
    assert_eq!(rig.ssthresh(), 5);
    for highest in 3..=5 {
        rig.sack(1, &[(2, highest)]);
    }
    assert_eq!((rig.state(), rig.ssthresh()), (CaState::Recovery, 5));
}

#[test]
fn a_syn_that_is_sent_again_does_not_ask_since_linux_4_2() {
    for (stack, asks) in [("linux-3.13", true), ("linux-6.1", false)] {
        let mut rig = SenderHarness::closed(under(stack, capable()));
        rig.open(None);
        rig.now_ms = rig.sender.deadline().as_nanos() / 1_000_000;
        rig.sender.on_timer(ms(rig.now_ms), &mut Recorder(rig.now_ms, &mut rig.sent));
        let syns: Vec<_> = rig.sent.iter().map(|sent| sent.header.flags.contains(Flags::ECE)).collect();
        assert_eq!(syns, [true, asks], "{stack}");
        rig.syn_ack();
        assert_eq!(rig.sent.last().map(|sent| sent.ecn == Ecn::Ect0), Some(asks), "{stack}");
    }
}
