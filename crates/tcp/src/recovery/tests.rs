//! The state machines without a sender: acknowledgments in, decisions out.

use super::*;
use crate::cc::{AnyCc, Needs};
use crate::context::{AckContext, PriorState};
use crate::control::Control;
use crate::ecn::EcnSender;
use crate::kind::AnyAck;
use crate::round_trip::RoundTrip;
use crate::segment::{Segment, Tags};
use crate::timer::RetransmitTimer;
use sojourn_aqm::Instant;

/// A machine with its context; segments of a thousand bytes, each sent a millisecond after the one before.
struct RecoveryHarness {
    recovery: Recovery,
    queue: SendQueue,
    board: Scoreboard,
    control: Control,
    ecn: EcnSender,
    rtt: RoundTrip,
    timer: RetransmitTimer,
    now_ms: u64,
}

impl RecoveryHarness {
    /// `out` segments are outstanding in a window of the same size; the RTT was 100 ms.
    fn new(stack: &str, cc: &str, sack: bool, out: u64) -> Self {
        let stack = Stack::find(stack).expect("a stack");
        let mut queue = SendQueue::new(1000);
        queue.open(None);
        queue.established();
        let (mut board, mut rtt, mut recovery) =
            (Scoreboard::new(sack), RoundTrip::new(stack), Recovery::new(stack, sack));
        rtt.sample(rtt.estimator().per_tick() * 100, 1, 1);
        for n in 0..out {
            let len = queue.next_len(u64::MAX).expect("there is always more");
            let segment = queue.take(len, at(n));
            board.push(segment);
            if let Some(rack) = &mut recovery.episode.rack {
                rack.on_sent(&segment);
            }
        }
        let cc = AnyCc::new(cc).expect("a control");
        let control = Control::new(stack, cc, out as u32, 1000, 1_000);
        let (ecn, timer) = (EcnSender::new(stack, true, &Needs::default()), RetransmitTimer::new(stack));
        Self { recovery, queue, board, control, ecn, rtt, timer, now_ms: 110 }
    }

    fn split(&mut self) -> (&mut Recovery, Cx<'_>) {
        let Self { recovery, queue, board, control, ecn, rtt, timer, now_ms } = self;
        let now = rtt.clock().now(at(*now_ms));
        (recovery, Cx { now, queue, right_edge: u64::MAX, board, control, ecn, rtt, timer })
    }

    /// An acknowledgment of `upto` segments that SACKs those of `block` and echoes `ts_ecr`.
    fn ack(&mut self, upto: u64, block: (u64, u64), ts_ecr: u32, ece: bool) -> Rexmit {
        let mut header = Header { ack: 1 + 1000 * upto, ts_ecr, ..Header::default() };
        if block.0 < block.1 {
            header.sack.push((1 + 1000 * block.0, 1 + 1000 * block.1));
        }
        let now = self.rtt.clock().now(at(self.now_ms));
        let before = PriorState::of::<AnyAck<true>>(&self.queue, &self.board);
        let advanced = self.queue.acknowledge(header.ack) > 0;
        let has_sack = !header.sack.blocks().is_empty();
        if matches!(self.recovery.machine, Machine::Linux3_10(_)) {
            let mut ack = AckInfo::of(&header, before.una);
            if has_sack {
                let ctx = AckContext { queue: &self.queue, board: &mut self.board, rtt: &mut self.rtt, sampler: None };
                ack.process_sacks::<AnyAck<true>>(&header, now, &mut self.recovery, ctx);
            }
            ack.ece = ece;
            let ctx = AckContext { queue: &self.queue, board: &mut self.board, rtt: &mut self.rtt, sampler: None };
            ack.clean_rtx_queue::<AnyAck<true>>(&before, now, &mut self.recovery, ctx);
            let (recovery, mut cx) = self.split();
            return recovery.on_ack::<AnyAck<true>>(&mut ack, &mut cx);
        }
        let mut sacked = SackedSegments::default();
        if has_sack {
            sacked = self.recovery.on_sacks(&header, &self.queue, &mut self.board, |_, _, _| {});
        }
        let fackets = self.board.fackets_out;
        let acked = self.board.acknowledge::<AnyAck<false>>(self.queue.una(), |_, _| {});
        if acked.packets > 0 {
            self.recovery.episode.on_acknowledged(&acked, fackets, before.fackets, &mut self.board);
        }
        let delivered = acked.packets + self.board.sacked_out - before.sacked.min(self.board.sacked_out);
        let mut ack = AckInfo { advanced, acked, sacked, ece, ts_ecr, delivered, ..AckInfo::default() };
        let (recovery, mut cx) = self.split();
        recovery.on_ack::<AnyAck<false>>(&mut ack, &mut cx)
    }

    /// Segments that a walk retransmits, at `now_ms`.
    fn resend(&mut self) -> Vec<u64> {
        let (mut walk, mut sent) = (self.recovery.walk(&self.queue, u64::MAX, &mut self.board), Vec::new());
        let cwnd = self.control.window.cwnd;
        let mut next = |board: &mut Scoreboard| match &mut walk {
            Walk::Lost(walk) => walk.next(cwnd, board),
            Walk::Forward(walk) => walk.next(cwnd, board),
        };
        while let Some(i) = next(&mut self.board) {
            self.board.on_retransmitted(i, self.queue.nxt());
            let segment: Segment = self.board.retransmit(i, at(self.now_ms));
            assert!(segment.tags.any(Tags::RETRANS));
            self.recovery.episode.undo.on_retransmission(self.now_ms);
            sent.push((segment.seq - 1) / 1000);
        }
        sent
    }

    fn time_out(&mut self) {
        let (recovery, mut cx) = self.split();
        recovery.on_time_out(&mut cx);
    }

    fn window(&self) -> (CaState, u32, u32) {
        (self.recovery.state(), self.control.window.cwnd, self.control.window.ssthresh)
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

#[test]
fn three_duplicates_lead_to_recovery_and_its_end_to_half_the_window() {
    for stack in ["linux-2.6.29", "linux-3.8", "linux-3.13", "linux-6.1"] {
        let mut rig = RecoveryHarness::new(stack, "reno", true, 12);
        assert_eq!(rig.ack(0, (1, 2), 9, false), Rexmit::Nothing, "{stack}");
        assert_eq!(rig.recovery.state(), CaState::Disorder, "{stack}");
        rig.ack(0, (1, 3), 9, false);
        rig.now_ms += 2;
        assert_eq!(rig.ack(0, (1, 5), 9, false), Rexmit::Lost, "{stack}");
        assert_eq!((rig.recovery.state(), rig.board.lost_out), (CaState::Recovery, 1), "{stack}");
        assert_eq!(rig.recovery.episode.high_seq, rig.queue.nxt(), "{stack}");
        rig.control.window.cwnd = rig.control.window.cwnd.max(rig.board.in_flight() + 1);
        assert_eq!(rig.resend(), [0], "{stack}");
        rig.now_ms += 110;
        rig.ack(12, (0, 0), 200, false);
        let (state, cwnd, ssthresh) = rig.window();
        // Linux 2.6.29 stays in Disorder as long as the reduction may be undone.
        let expected = if stack == "linux-2.6.29" { CaState::Disorder } else { CaState::Open };
        assert_eq!((state, ssthresh), (expected, 6), "{stack}");
        assert!(cwnd <= 6, "{stack}: {cwnd}");
    }
}

#[test]
fn an_echo_from_before_the_retransmission_restores_the_window() {
    for stack in ["linux-2.6.29", "linux-3.13", "linux-6.1"] {
        let mut rig = RecoveryHarness::new(stack, "reno", true, 12);
        rig.ack(0, (1, 6), 9, false);
        rig.control.window.cwnd = rig.control.window.cwnd.max(rig.board.in_flight() + 1);
        assert_eq!(rig.resend().first(), Some(&0), "{stack}");
        rig.now_ms += 5;
        // The original of 0 was only late: the echoed timestamp is older than the retransmission of 0.
        rig.ack(12, (0, 0), 20, false);
        let (state, cwnd, ssthresh) = rig.window();
        assert_eq!((state, ssthresh), (CaState::Open, 1_000), "{stack}");
        // Before 3.8 the window is moderated against bursts; the control determines the restored window.
        let expected = if stack == "linux-2.6.29" { 3 } else { 12 };
        assert_eq!(cwnd, expected, "{stack}");
    }
}

#[test]
fn a_mark_reduces_without_anything_lost() {
    for stack in ["linux-2.6.29", "linux-3.8", "linux-6.1"] {
        let mut rig = RecoveryHarness::new(stack, "reno", true, 12);
        assert_eq!(rig.ack(1, (0, 0), 9, true), Rexmit::Nothing, "{stack}");
        assert_eq!(
            (rig.recovery.state(), rig.control.window.ssthresh, rig.board.lost_out),
            (CaState::Cwr, 6, 0),
            "{stack}"
        );
        assert!(rig.ecn.of_new().0.contains(crate::Flags::CWR), "{stack}");
    }
}

#[test]
fn a_time_out_loses_everything_that_is_not_expected() {
    // 6.1 uses RACK: nothing was delivered, so nothing is expected. 2.6 runs F-RTO first.
    for (stack, sack, state, lost, cwnd) in [
        ("linux-2.6.29", true, CaState::Disorder, 0, 12),
        ("linux-2.6.29", false, CaState::Loss, 12, 1),
        ("linux-3.13", true, CaState::Loss, 12, 1),
        ("linux-6.1", true, CaState::Loss, 12, 1),
        ("ns2", false, CaState::Loss, 12, 1),
    ] {
        let mut rig = RecoveryHarness::new(stack, "reno", sack, 12);
        rig.now_ms = 500;
        rig.time_out();
        assert_eq!(rig.window(), (state, cwnd, 6), "{stack}");
        assert_eq!(rig.board.lost_out, lost, "{stack}");
        assert_eq!(rig.recovery.tests_time_out(), state == CaState::Disorder, "{stack}");
    }
}

#[test]
fn ns2_halves_at_once_and_asks_for_the_head() {
    let mut rig = RecoveryHarness::new("ns2", "newreno", false, 12);
    let rexmits = [(); 3].map(|()| {
        let (recovery, mut cx) = rig.split();
        recovery.on_ack_ns2(None, &[], &mut cx).rexmit
    });
    assert_eq!(rexmits, [Rexmit::Nothing, Rexmit::Nothing, Rexmit::Head]);
    assert_eq!(rig.window(), (CaState::Recovery, 6, 6));
    // A partial acknowledgment: the next hole, and the window deflated by the acknowledged segments.
    rig.queue.acknowledge(1 + 2_000);
    let acked = rig.board.acknowledge::<AnyAck<false>>(rig.queue.una(), |_, _| {});
    let (recovery, mut cx) = rig.split();
    let progress = recovery.on_ack_ns2(Some(&acked), &[], &mut cx);
    assert_eq!(progress, AckAction { grows: false, rexmit: Rexmit::Head });
    assert!(rig.recovery.keeps_timer(rig.queue.una(), &rig.board));
}

#[test]
fn sack1_of_ns2_counts_its_pipe_and_sends_every_hole_once() {
    let mut rig = RecoveryHarness::new("ns2", "reno", true, 12);
    // Segments 0 and 4 are missing.
    let duplicate = |rig: &mut RecoveryHarness, blocks: &[(u64, u64)]| {
        let mut header = Header { ack: 1, ..Header::default() };
        blocks.iter().for_each(|&(from, to)| header.sack.push((1 + 1000 * from, 1 + 1000 * to)));
        rig.recovery.on_sacks(&header, &rig.queue, &mut rig.board, |_, _, _| {});
        let (recovery, mut cx) = rig.split();
        recovery.on_ack_ns2(None, header.sack.blocks(), &mut cx).rexmit
    };
    let first = [(1, 2), (1, 3), (1, 4)].map(|block| duplicate(&mut rig, &[block]));
    assert_eq!(first, [Rexmit::Nothing, Rexmit::Nothing, Rexmit::HeadOnly]);
    assert_eq!(rig.window(), (CaState::Recovery, 6, 6));
    assert_eq!(rig.recovery.room_in_pipe(6), 0, "12 - 3 are in the network");
    for (end, room) in [(6, 0), (7, 0), (8, 0), (9, 1)] {
        assert_eq!(duplicate(&mut rig, &[(5, end), (1, 4)]), Rexmit::ByPipe);
        assert_eq!(rig.recovery.room_in_pipe(6), room, "{end}");
    }
    assert_eq!((rig.board.lost_out, rig.board.sacked_out), (2, 7), "both holes, after one SACK above the second");
    // A partial acknowledgment counts twice.
    rig.queue.acknowledge(1 + 4_000);
    let acked = rig.board.acknowledge::<AnyAck<false>>(rig.queue.una(), |_, _| {});
    let (recovery, mut cx) = rig.split();
    assert_eq!(recovery.on_ack_ns2(Some(&acked), &[], &mut cx).rexmit, Rexmit::ByPipe);
    assert_eq!(rig.recovery.room_in_pipe(6), 3);
    // The end of the recovery leaves the window and discards the SACKs.
    rig.queue.acknowledge(1 + 12_000);
    let acked = rig.board.acknowledge::<AnyAck<false>>(rig.queue.una(), |_, _| {});
    let (recovery, mut cx) = rig.split();
    assert_eq!(recovery.on_ack_ns2(Some(&acked), &[], &mut cx), AckAction { grows: false, rexmit: Rexmit::Lost });
    assert_eq!(rig.window(), (CaState::Open, 6, 6));
    assert_eq!((rig.board.sacked_out, rig.board.lost_out, rig.board.highest_sack), (0, 0, 0));
}

#[test]
fn after_a_time_out_sack1_of_ns2_sends_all_again() {
    let mut rig = RecoveryHarness::new("ns2", "reno", true, 8);
    let mut header = Header { ack: 1, ..Header::default() };
    header.sack.push((2_001, 6_001));
    rig.recovery.on_sacks(&header, &rig.queue, &mut rig.board, |_, _, _| {});
    let (recovery, mut cx) = rig.split();
    recovery.on_time_out(&mut cx);
    assert_eq!((rig.board.lost_out, rig.board.sacked_out), (8, 0), "what was SACKed, too");
    assert!(!rig.recovery.reads_sacks_ns2(&rig.control.cc));
    let (recovery, mut cx) = rig.split();
    let duplicate = recovery.on_ack_ns2(None, header.sack.blocks(), &mut cx);
    assert_eq!(duplicate.rexmit, Rexmit::Nothing, "nothing was acknowledged since the time-out");
}
