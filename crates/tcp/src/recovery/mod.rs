//! Loss recovery: loss marks, retransmissions and window reduction.
//!
//! Each stack has one of three state machines, which share the [`Episode`]. A machine processes an acknowledgment and
//! returns the requested transmission: it marks losses on the scoreboard and moves the window, but sends nothing
//! itself.

mod episode;
mod linux_2_6;
mod linux_3_10;
mod ns2;
mod retransmission;
mod sack1;
#[cfg(test)]
mod tests;

pub(crate) use episode::Episode;
pub(crate) use retransmission::{LostWalk, Walk};

use crate::ack::{AckInfo, ProbeOutcome};
use crate::cc::AnyCc;
use crate::context::{AckAction, Cx, Rexmit};
use crate::kind::AckKind;
use crate::queue::SendQueue;
use crate::scoreboard::Scoreboard;
use crate::segment::{AckedSegments, SackedSegments, Segment};
use crate::stack::{self, Stack};
use crate::state::CaState;
use crate::{Header, SeqRange};
use linux_2_6::Linux2_6;
use linux_3_10::Linux3_10;
use ns2::Ns2;
use retransmission::ForwardWalk;

/// Loss recovery with the state machine of a stack.
#[derive(Debug)]
pub(crate) struct Recovery {
    pub episode: Episode,
    machine: Machine,
    forward: bool,
}

cloned_in_place! { Recovery { episode, machine, forward } }

// A plain tag: a niche among the fields takes more instructions to read.
#[repr(u8)]
#[derive(Clone, Debug)]
enum Machine {
    Linux2_6(Linux2_6),
    Linux3_10(Linux3_10),
    Ns2(Ns2),
}

impl Recovery {
    /// Nothing is lost.
    pub fn new(stack: &Stack, sack: bool) -> Self {
        let machine = match stack.machine {
            stack::RecoveryMachine::Linux2_6 => Machine::Linux2_6(Linux2_6::new(stack, sack)),
            stack::RecoveryMachine::Linux3_10 => Machine::Linux3_10(Linux3_10::new(stack)),
            stack::RecoveryMachine::Ns2 => Machine::Ns2(Ns2::default()),
        };
        Self { episode: Episode::new(stack, sack), machine, forward: stack.forward_retransmit }
    }

    /// State of congestion avoidance.
    #[inline]
    pub fn state(&self) -> CaState {
        self.episode.state
    }

    /// Whether the window is being reduced.
    #[inline]
    pub fn is_reducing(&self) -> bool {
        self.episode.is_reducing()
    }

    /// The reordering tolerance in segments.
    #[inline]
    pub fn reordering(&self) -> u32 {
        self.episode.reordering.degree()
    }

    /// Whether F-RTO's test before the Loss state is in progress.
    #[inline]
    pub fn tests_time_out(&self) -> bool {
        self.episode.frto_running
    }

    /// Processes an acknowledgment during that test. Returns whether the window must not grow on it.
    pub fn test_time_out(&mut self, ack: &AckInfo, cx: &mut Cx) -> bool {
        match &mut self.machine {
            Machine::Linux2_6(machine) => machine.test_time_out(&mut self.episode, ack, cx),
            Machine::Linux3_10(_) | Machine::Ns2(_) => false,
        }
    }

    /// Tags the segments of a SACK option, with FACK's consequences for retransmissions; calls `each` with the position
    /// of every newly SACKed segment.
    #[inline(always)]
    pub fn on_sacks(
        &mut self,
        header: &Header,
        queue: &SendQueue,
        board: &mut Scoreboard,
        mut each: impl FnMut(&mut Episode, usize, &Segment),
    ) -> SackedSegments {
        let episode = &mut self.episode;
        let (highmark, after_frto) = match &self.machine {
            Machine::Linux2_6(machine) => machine.original_below(queue.una()),
            Machine::Linux3_10(_) => (episode.high_seq, true),
            Machine::Ns2(_) => (0, true),
        };
        let blocks: &[SeqRange] = header.sack.blocks();
        let sack_result = board.tag(blocks, header.ack, highmark, |i, segment| each(episode, i, segment));
        episode.on_sacked(&sack_result, after_frto, queue.nxt(), board);
        sack_result
    }

    /// Processes an acknowledgment, except for plain progress in the state Open.
    #[inline(always)]
    pub fn on_ack<K: AckKind>(&mut self, ack: &mut AckInfo, cx: &mut Cx) -> Rexmit {
        match (K::RECOVERY_FIRST, &mut self.machine) {
            (false, Machine::Linux2_6(machine)) => machine.on_ack::<K>(&mut self.episode, ack, cx),
            (true, Machine::Linux3_10(machine)) => machine.on_ack(&mut self.episode, ack, cx),
            _ => Rexmit::Nothing,
        }
    }

    /// ns-2: processes an acknowledgment of `acked`, or a duplicate, with `blocks`.
    pub fn on_ack_ns2(&mut self, acked: Option<&AckedSegments>, blocks: &[SeqRange], cx: &mut Cx) -> AckAction {
        match (&mut self.machine, acked) {
            (Machine::Ns2(machine), Some(acked)) => machine.on_progress(&mut self.episode, acked, cx),
            (Machine::Ns2(machine), None) => machine.on_duplicate(blocks, &mut self.episode, cx),
            (Machine::Linux2_6(_) | Machine::Linux3_10(_), _) => AckAction { grows: false, rexmit: Rexmit::Nothing },
        }
    }

    /// ns-2: whether SACKs count now. After a time-out `TCP/Sack1` goes back as if there were none.
    pub fn reads_sacks_ns2(&self, cc: &AnyCc) -> bool {
        !sack1::is_sack1(cc) || self.state() != CaState::Loss
    }

    /// ns-2: how many more segments `pipe_` lets a recovery send in a window of `cwnd`.
    pub fn room_in_pipe(&self, cwnd: u32) -> u32 {
        if let Machine::Ns2(machine) = &self.machine { machine.sack1.room(cwnd) } else { 0 }
    }

    /// ns-2: `segments` were sent by `pipe_`.
    pub fn sent_by_pipe(&mut self, segments: u32) {
        if let Machine::Ns2(machine) = &mut self.machine {
            machine.sack1.sent(segments);
        }
    }

    /// ns-2: an acknowledgment echoed a congestion mark.
    pub fn on_echo_ns2(&mut self, cx: &mut Cx) {
        if let Machine::Ns2(machine) = &mut self.machine {
            machine.on_echo(&mut self.episode, cx);
        }
    }

    /// Whether an acknowledgment of `una` leaves the retransmission timer as it is.
    pub fn keeps_timer(&self, una: u64, board: &Scoreboard) -> bool {
        matches!(&self.machine, Machine::Ns2(machine) if machine.keeps_timer(&self.episode, una, board))
    }

    /// ns-2: whether a recovery continues after an acknowledgment of `una`, which is partial then.
    pub fn continues_ns2(&self, una: u64, board: &Scoreboard, cc: &AnyCc) -> bool {
        let in_recovery = self.state() == CaState::Recovery && una < self.episode.high_seq;
        in_recovery && if board.is_reno() { !cc.partial_ack_ends_recovery() } else { sack1::is_sack1(cc) }
    }

    /// Early retransmit's delay is over.
    pub fn on_early_retransmit(&mut self, cx: &mut Cx) -> Rexmit {
        let by_age = matches!(self.machine, Machine::Linux2_6(_)) && self.episode.reordering.uses_fack();
        if self.episode.on_early_retransmit(by_age, cx) { Rexmit::Lost } else { Rexmit::Nothing }
    }

    /// Processes an acknowledgment for the loss probe. Returns whether the probe repaired a loss, for which the window
    /// has to be [reduced](Episode::reduce_at_once).
    #[inline]
    pub fn judge_probe(&mut self, ack: &mut AckInfo, una: u64) -> bool {
        ack.probe = self.episode.probe.on_ack(ack, una);
        ack.probe == ProbeOutcome::Repaired
    }

    /// A time-out expired.
    pub fn on_time_out(&mut self, cx: &mut Cx) {
        match &mut self.machine {
            Machine::Linux2_6(machine) => machine.on_time_out(&mut self.episode, cx),
            Machine::Linux3_10(machine) => machine.on_time_out(&mut self.episode, cx),
            Machine::Ns2(machine) => machine.on_time_out(&mut self.episode, cx),
        }
    }

    /// F-RTO's test was inconclusive: segments marked lost are retransmitted.
    pub fn end_test(&mut self) {
        if let Machine::Linux3_10(machine) = &mut self.machine {
            machine.frto.abort();
        }
    }

    /// Whether the retransmission walk continues with segments that are not marked lost.
    #[inline]
    pub fn walks_forward(&self) -> bool {
        self.forward
    }

    /// Whether a [walk](Self::walk) in a window of `cwnd` would end at its first step. It leaves the hints as that walk
    /// would.
    #[inline(always)]
    pub fn has_no_retransmission(&self, cwnd: u32, queue: &SendQueue, right_edge: u64, board: &mut Scoreboard) -> bool {
        if !self.forward {
            return LostWalk::ends_at_once(cwnd, board);
        }
        ForwardWalk::ends_at_once(cwnd, self.state() == CaState::Recovery, (queue, right_edge), board)
    }

    /// The walk along the segments to retransmit.
    #[inline(always)]
    pub fn walk(&self, queue: &SendQueue, right_edge: u64, board: &mut Scoreboard) -> Walk {
        if !self.forward {
            return Walk::Lost(LostWalk::new());
        }
        // Retransmissions ahead of evidence only if no new data can be sent.
        let allowed = self.state() == CaState::Recovery && !board.is_reno() && !queue.has_sendable(right_edge);
        Walk::Forward(ForwardWalk::new(allowed, queue.una(), board))
    }
}
