//! The state machine of loss recovery from Linux 3.10 on.
//!
//! Source: Linux 6.1 and 4.2 `tcp_fastretrans_alert` and its helpers. It decides and marks losses; transmission and
//! growth of the window follow after it.

use super::episode::Episode;
use crate::ack::AckInfo;
use crate::context::{Cx, Rexmit};
use crate::frto::FrtoInLoss;
use crate::segment::Tags;
use crate::stack::Stack;
use crate::state::CaState;
use crate::timer::TimerPurpose;

/// State of this machine alone.
#[derive(Clone, Debug)]
pub(super) struct Linux3_10 {
    pub frto: FrtoInLoss,
    detects_after_undo: bool,
    keeps_flight_on_timeout: bool,
}

impl Linux3_10 {
    pub fn new(stack: &Stack) -> Self {
        Self {
            frto: FrtoInLoss::new(stack),
            detects_after_undo: stack.detects_after_undo,
            keeps_flight_on_timeout: stack.keeps_flight_on_timeout,
        }
    }

    /// Processes every acknowledgment except plain progress in the state Open.
    pub fn on_ack(&mut self, episode: &mut Episode, ack: &mut AckInfo, cx: &mut Cx) -> Rexmit {
        let do_lost = ack.is_duplicate() || (ack.sacked.new && cx.board.sacked_extent() > episode.reordering.degree());
        if ack.ece {
            episode.undo.restore_nothing();
        }
        if leave_finished_state(episode, ack, cx) {
            return Rexmit::Nothing;
        }
        if episode.state == CaState::Recovery {
            return self.on_ack_in_recovery(episode, ack, do_lost, cx);
        }
        if episode.state == CaState::Loss {
            let rexmit = self.on_ack_in_loss(episode, ack, cx);
            identify_loss(episode, ack, cx);
            if episode.state != CaState::Open && !ack.lost_retransmission {
                return rexmit;
            }
        }
        if cx.board.is_reno() {
            if ack.advanced {
                cx.board.forget_duplicates();
            }
            if is_counted_duplicate(ack, cx) {
                episode.add_duplicate(cx.board);
            }
        }
        if episode.state <= CaState::Disorder {
            try_undo_by_duplicates(episode, cx);
        }
        identify_loss(episode, ack, cx);
        let recover = match episode.rack {
            Some(_) => cx.board.lost_out > 0,
            None => episode.is_time_to_recover(false, ack, cx),
        };
        if !recover {
            try_to_open(episode, ack, cx);
            return Rexmit::Nothing;
        }
        episode.enter_recovery(ack.ece, cx);
        ack.entered_recovery = true;
        if episode.rack.is_none() && do_lost {
            episode.mark_lost_by_count(false, true, cx);
        }
        Rexmit::Lost
    }

    /// A time-out: the head is lost, and all segments that RACK does not expect to be in flight; slow start.
    pub fn on_time_out(&mut self, episode: &mut Episode, cx: &mut Cx) {
        let new_recovery = episode.state < CaState::Recovery;
        cx.board.forget_duplicates();
        let retransmitted = match &episode.rack {
            Some(rack) => {
                rack.mark_lost_on_timeout(cx.now.at, cx.board);
                false
            }
            None => cx.board.mark_all_lost(false),
        };
        let una = cx.queue.una();
        let first_of_episode = episode.state <= CaState::Disorder
            || una >= episode.high_seq
            || (episode.state == CaState::Loss && episode.timeouts == 0);
        if first_of_episode {
            episode.undo.set_prior_ssthresh(cx.control.current_ssthresh(episode.state));
            episode.reduction.set_prior_cwnd(cx.control.window.cwnd);
            cx.control.lower_ssthresh_after_timeout();
            episode.undo.init_undo_unless(retransmitted, una);
            episode.undo.expect_dsacks(cx.board.retrans_out);
        }
        cx.control.forget_notified_state();
        cx.control.restart(if self.keeps_flight_on_timeout { cx.board.in_flight() + 1 } else { 1 });
        if episode.state <= CaState::Disorder && cx.board.sacked_out >= episode.reordering.initial() {
            episode.reordering.reset_degree();
        }
        episode.enter_state(CaState::Loss, cx);
        episode.high_seq = cx.queue.nxt();
        cx.ecn.on_reduction();
        cx.control.on_timeout();
        self.frto.begin(new_recovery || episode.timeouts > 0);
    }

    fn on_ack_in_recovery(
        &mut self,
        episode: &mut Episode,
        ack: &mut AckInfo,
        mut do_lost: bool,
        cx: &mut Cx,
    ) -> Rexmit {
        if !ack.advanced {
            if is_counted_duplicate(ack, cx) {
                episode.add_duplicate(cx.board);
            }
        } else if self.try_undo_partial(episode, ack, &mut do_lost, cx) {
            return Rexmit::Nothing;
        }
        if try_undo_by_duplicates(episode, cx) {
            episode.try_keep_open(cx);
            if !self.detects_after_undo {
                return Rexmit::Nothing;
            }
        }
        identify_loss(episode, ack, cx);
        if episode.state != CaState::Recovery {
            if cx.board.lost_out == 0 {
                return Rexmit::Nothing;
            }
            episode.enter_recovery(ack.ece, cx);
        }
        if episode.rack.is_none() && do_lost {
            episode.mark_lost_by_count(false, false, cx);
        }
        Rexmit::Lost
    }

    fn on_ack_in_loss(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> Rexmit {
        let recovered = cx.queue.una() >= episode.high_seq;
        let needs_progress = episode.undo.needs_progress();
        if ack.advanced && needs_progress && try_undo_loss(episode, ack, false, cx) {
            return Rexmit::Nothing;
        }
        if self.frto.is_running() {
            // RFC 5682 §3.1 step 3.b: a segment arrived that was never retransmitted.
            let spurious = ack.original_delivered || !needs_progress;
            if spurious && try_undo_loss(episode, ack, ack.original_delivered, cx) {
                return Rexmit::Nothing;
            }
            if cx.queue.nxt() > episode.high_seq {
                self.frto.on_ack_after_new(ack);
            } else if ack.advanced && !recovered {
                // Step 2.b: send new data.
                episode.high_seq = cx.queue.nxt();
                if cx.queue.has_sendable(cx.right_edge) {
                    return Rexmit::New;
                }
                self.frto.abort();
            }
        }
        if recovered {
            try_undo_recovery(episode, ack, cx);
            return Rexmit::Nothing;
        }
        if cx.board.is_reno() {
            if cx.queue.nxt() > episode.high_seq && ack.is_duplicate() {
                episode.add_duplicate(cx.board);
            } else if ack.advanced {
                cx.board.forget_duplicates();
            }
        }
        if !needs_progress && try_undo_loss(episode, ack, false, cx) {
            return Rexmit::Nothing;
        }
        Rexmit::Lost
    }

    /// Processes a partial acknowledgment in recovery. Returns whether processing ends with that.
    fn try_undo_partial(&mut self, episode: &mut Episode, ack: &AckInfo, do_lost: &mut bool, cx: &mut Cx) -> bool {
        if !episode.undo.is_due_by_echo(cx.now.echoed(ack.ts_ecr), stamp_holds(episode, cx)) {
            *do_lost = cx.board.is_reno() || cx.board.sacked_extent() > episode.reordering.degree();
            return false;
        }
        // The hole was filled by a delayed packet, not by its retransmission.
        episode.reordering.observe(cx.board.sacked_extent() + ack.acked.packets);
        if cx.board.retrans_out > 0 {
            return true;
        }
        if !cx.board.any_retransmission_out() {
            episode.undo.forget_stamp();
        }
        undo(episode, true, cx);
        episode.try_keep_open(cx);
        !self.detects_after_undo
    }
}

/// Whether an acknowledgment counts as a duplicate: without SACK, unless it reports a duplicate segment.
fn is_counted_duplicate(ack: &AckInfo, cx: &Cx) -> bool {
    cx.board.is_reno() && ack.is_duplicate() && !ack.sacked.duplicate
}

fn leave_finished_state(episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
    if episode.state == CaState::Open {
        episode.undo.forget_stamp();
    } else if cx.queue.una() >= episode.high_seq {
        match episode.state {
            // Held until something above high_seq is acknowledged: CWR must have reached the receiver.
            CaState::Cwr if cx.queue.una() != episode.high_seq => {
                episode.end_reduction(cx);
                episode.enter_state(CaState::Open, cx);
            }
            CaState::Recovery => {
                cx.board.forget_duplicates();
                if try_undo_recovery(episode, ack, cx) {
                    return true;
                }
                episode.end_reduction(cx);
            }
            _ => {}
        }
    }
    false
}

/// Detects losses by time; without SACK RACK uses the three duplicates and partial acknowledgments.
fn identify_loss(episode: &mut Episode, ack: &mut AckInfo, cx: &mut Cx) {
    let eager = episode.needs_no_wait(cx.board);
    let Some(rack) = episode.rack.as_mut().filter(|_| cx.board.packets_out() > 0) else { return };
    if cx.board.is_reno() {
        let duplicates = episode.state < CaState::Recovery && cx.board.sacked_out >= episode.reordering.degree();
        let partial = episode.state == CaState::Recovery && ack.advanced;
        let head_lost = cx.board.head().is_some_and(|s| s.tags.any(Tags::LOST));
        if (duplicates || partial) && !head_lost {
            cx.board.mark_lost_again(0);
        }
        return;
    }
    let retransmissions = cx.board.retrans_out;
    if let Some(wait) = rack.detect_if_advanced(cx.now.at, eager, cx.rtt.srtt(), cx.board) {
        let ticks = cx.rtt.clock().ticks_rounded_up(wait);
        cx.timer.set(TimerPurpose::Reordering, cx.now, ticks.min(cx.rtt.rto()));
        ack.rearms_timer = false;
    }
    ack.lost_retransmission |= retransmissions > cx.board.retrans_out;
}

fn try_to_open(episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) {
    if !cx.board.any_retransmission_out() {
        episode.undo.forget_stamp();
    }
    if ack.ece {
        episode.enter_cwr(true, cx);
    }
    if episode.state != CaState::Cwr {
        episode.try_keep_open(cx);
    }
}

/// Returns whether the old state is held (without SACK, until data above `high_seq` is acknowledged).
fn try_undo_recovery(episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
    if episode.undo.is_due(cx.now.echoed(ack.ts_ecr), stamp_holds(episode, cx)) {
        undo(episode, false, cx);
    } else if let Some(rack) = &mut episode.rack {
        rack.on_recovery_end();
    }
    if is_held_without_sack(episode, cx) {
        return true;
    }
    episode.enter_state(CaState::Open, cx);
    false
}

fn try_undo_by_duplicates(episode: &mut Episode, cx: &mut Cx) -> bool {
    let due = episode.undo.all_spurious_by_dsack();
    if due {
        undo(episode, false, cx);
    }
    due
}

fn try_undo_loss(episode: &mut Episode, ack: &AckInfo, spurious: bool, cx: &mut Cx) -> bool {
    if !spurious && !episode.undo.is_due(cx.now.echoed(ack.ts_ecr), stamp_holds(episode, cx)) {
        return false;
    }
    undo(episode, true, cx);
    episode.timeouts = 0;
    if !is_held_without_sack(episode, cx) && (spurious || !cx.board.is_reno()) {
        episode.enter_state(CaState::Open, cx);
    }
    true
}

/// Without SACK, old duplicates would start another recovery (RFC 6582).
fn is_held_without_sack(episode: &mut Episode, cx: &Cx) -> bool {
    let held = cx.board.is_reno() && cx.queue.una() == episode.high_seq;
    if held && !cx.board.any_retransmission_out() {
        episode.undo.forget_stamp();
    }
    held
}

/// Whether the time of the first retransmission is still valid: without SACK it is discarded at the end of an episode.
fn stamp_holds(episode: &Episode, cx: &Cx) -> bool {
    !cx.board.is_reno() || cx.queue.una() < episode.high_seq
}

fn undo(episode: &mut Episode, unmark_lost: bool, cx: &mut Cx) {
    if unmark_lost {
        cx.board.unmark_lost();
    }
    episode.undo.apply(true, episode.reduction.prior_cwnd(), cx.control, cx.ecn);
    episode.undo.discard();
    if let Some(rack) = &mut episode.rack {
        rack.force_detection();
    }
}
