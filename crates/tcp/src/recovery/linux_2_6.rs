//! The state machine of loss recovery up to Linux 3.9.
//!
//! Source: Linux 2.6.29 `tcp_fastretrans_alert` and its helpers, in the same order; differences in 3.8 are fields of
//! the stack.

use super::episode::Episode;
use crate::ack::AckInfo;
use crate::context::{Cx, Rexmit};
use crate::frto::{Frto, Outcome};
use crate::kind::AckKind;
use crate::stack::{Moderation, Stack};
use crate::state::CaState;

/// State of this machine alone.
#[derive(Clone, Debug)]
pub(super) struct Linux2_6 {
    pub frto: Frto,
    moderation: Moderation,
}

impl Linux2_6 {
    pub fn new(stack: &Stack, sack: bool) -> Self {
        Self { frto: Frto::new(stack, sack), moderation: stack.moderation }
    }

    /// Processes every acknowledgment except plain progress in the state Open.
    #[inline(always)]
    pub fn on_ack<K: AckKind>(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> Rexmit {
        let advanced = K::ADVANCES.unwrap_or(ack.advanced);
        let is_dupack = K::ADVANCES.map_or_else(|| ack.is_duplicate(), |advances| !advances);
        let mut do_lost = is_dupack || (ack.sacked.new && cx.board.sacked_extent() > episode.reordering.degree());
        // An ECN echo: the reduction is required and cannot be undone.
        if K::MAY_ECHO && ack.ece {
            episode.undo.restore_nothing();
        }
        if self.leave_finished_state(episode, ack, cx) {
            return Rexmit::Nothing;
        }
        let recovers = episode.state == CaState::Recovery;
        if recovers {
            if advanced {
                do_lost = self.on_partial_ack(episode, ack, cx);
                // Reno without SACK leaves recovery: the window does not fall below the threshold.
                if episode.state == CaState::Open {
                    return Rexmit::Nothing;
                }
            } else if cx.board.is_reno() && is_dupack {
                episode.add_duplicate(cx.board);
            }
        } else {
            if episode.state == CaState::Loss {
                if let Some(rexmit) = self.on_ack_in_loss::<K>(episode, ack, cx) {
                    return rexmit;
                }
            }
            if !self.finish_or_enter::<K>(episode, ack, cx) {
                return Rexmit::Nothing;
            }
        }
        let fast_retransmit = !recovers;
        let by_age = episode.reordering.uses_fack();
        if do_lost || (by_age && cx.head_timed_out()) {
            episode.mark_lost_by_count(by_age, fast_retransmit, cx);
        }
        episode.reduction.step(ack, (0, fast_retransmit), cx.control, cx.board);
        Rexmit::Lost
    }

    /// A time-out: all segments are lost, unless F-RTO tests that first.
    pub fn on_time_out(&mut self, episode: &mut Episode, cx: &mut Cx) {
        if self.frto.is_used() {
            self.test(episode, cx);
        } else {
            lose_everything(episode, false, cx);
            self.frto.abort();
        }
        episode.frto_running = self.frto.is_active();
    }

    /// F-RTO's highmark, below which SACKed segments count as its originals; and whether reordering counts when `una`
    /// is acknowledged.
    #[inline]
    pub fn original_below(&self, una: u64) -> (u64, bool) {
        let highmark = self.frto.highmark();
        (highmark, highmark == 0 || una > highmark)
    }

    /// Processes an acknowledgment during F-RTO's test. Returns whether the window must not grow on it.
    pub fn test_time_out(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if ack.data_acked() {
            episode.timeouts = 0;
        }
        if self.frto.is_ambiguous(ack) {
            episode.undo.discard();
        }
        let held = self.continue_test(episode, ack, cx);
        episode.frto_running = self.frto.is_active();
        held
    }

    fn continue_test(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        match self.frto.on_ack(ack, cx.queue.una()) {
            Outcome::Wait => cx.control.limit_cwnd(cx.board.in_flight()),
            Outcome::SendTwo => {
                cx.control.window.cwnd = cx.board.in_flight() + 2;
                if !cx.may_send_now() {
                    self.fail_test(episode, 2, false, cx);
                }
            }
            Outcome::Genuine { segments, head_in_flight } => self.fail_test(episode, segments, head_in_flight, cx),
            Outcome::Spurious => {
                // The window is still halved over a round trip.
                episode.enter_cwr(false, cx);
                self.frto.abort();
                episode.undo.discard();
                return false;
            }
        }
        true
    }

    /// A time-out begins a test: the head is about to be retransmitted, nothing is marked lost yet.
    fn test(&mut self, episode: &mut Episode, cx: &mut Cx) {
        let (state, active, una) = (episode.state, self.frto.is_active(), cx.queue.una());
        let first_of_episode = (!active && state <= CaState::Disorder)
            || una == episode.high_seq
            || ((state == CaState::Loss || active) && episode.timeouts == 0);
        if first_of_episode {
            episode.undo.set_prior_ssthresh(cx.control.current_ssthresh(state));
            // During a test the window is not reduced yet. A second time-out must not use it as the window before the
            // loss.
            let cwnd = cx.control.window.cwnd;
            if active {
                cx.control.window.cwnd = 2;
            }
            cx.control.lower_ssthresh();
            cx.control.window.cwnd = cwnd;
        }
        episode.undo.init_undo_unless(cx.board.head_was_retransmitted(), una);
        episode.undo.reset_expected();
        cx.board.forget_head_retransmission();
        cx.control.limit_cwnd(cx.board.in_flight() + 1);
        let earlier_recovery = active || matches!(state, CaState::Recovery | CaState::Loss);
        let ends_earlier = earlier_recovery && episode.high_seq > una;
        self.frto.begin(if ends_earlier { episode.high_seq } else { cx.queue.nxt() });
        episode.state = CaState::Disorder;
        episode.high_seq = cx.queue.nxt();
    }

    /// The time-out was genuine: all outstanding segments are lost.
    fn fail_test(&mut self, episode: &mut Episode, allowed: u32, head_in_flight: bool, cx: &mut Cx) {
        if cx.board.mark_all_lost(head_in_flight) {
            episode.undo.discard();
        }
        cx.control.restart(cx.board.in_flight() + allowed);
        self.frto.abort();
        episode.reordering.reset_degree();
        episode.state = CaState::Loss;
        episode.high_seq = cx.queue.nxt();
        cx.ecn.on_reduction();
        cx.control.on_timeout();
    }

    /// Leaves a state whose `high_seq` is acknowledged. Returns whether processing ends with that.
    #[inline(always)]
    fn leave_finished_state(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if episode.state == CaState::Open {
            episode.undo.forget_stamp();
            return false;
        }
        let una = cx.queue.una();
        if una < episode.high_seq {
            return false;
        }
        match episode.state {
            CaState::Open => {}
            CaState::Loss => {
                episode.timeouts = 0;
                return self.try_undo_recovery(episode, ack, cx);
            }
            // Held until something above high_seq is acknowledged: CWR must have reached the receiver.
            CaState::Cwr if una != episode.high_seq => {
                episode.end_reduction(cx);
                episode.state = CaState::Open;
            }
            CaState::Cwr => {}
            CaState::Disorder if episode.stays_disordered() => {
                self.try_undo_by_duplicates(episode, cx);
                if !episode.undo.is_open() || cx.board.is_reno() || una != episode.high_seq {
                    episode.undo.discard();
                    episode.state = CaState::Open;
                }
            }
            CaState::Disorder => {}
            CaState::Recovery => {
                cx.board.forget_duplicates();
                if self.try_undo_recovery(episode, ack, cx) {
                    return true;
                }
                episode.end_reduction(cx);
            }
        }
        false
    }

    /// Processes an acknowledgment in the state Loss. Returns the requested transmission, unless the state changed to
    /// Open.
    #[inline(always)]
    fn on_ack_in_loss<K: AckKind>(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> Option<Rexmit> {
        if ack.data_acked() {
            episode.timeouts = 0;
        }
        if K::ADVANCES.unwrap_or(ack.advanced) {
            cx.board.forget_duplicates();
        }
        if !self.try_undo_loss(episode, ack, cx) {
            moderate(episode, cx);
            return Some(Rexmit::Lost);
        }
        (episode.state != CaState::Open).then_some(Rexmit::Nothing)
    }

    /// Chooses between Open, Disorder, CWR and Recovery. Returns whether recovery was entered.
    #[inline(always)]
    fn finish_or_enter<K: AckKind>(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if cx.board.is_reno() {
            if K::ADVANCES.unwrap_or(ack.advanced) {
                cx.board.forget_duplicates();
            }
            if ack.is_duplicate() {
                episode.add_duplicate(cx.board);
            }
        }
        if episode.state == CaState::Disorder {
            self.try_undo_by_duplicates(episode, cx);
        }
        let by_age = episode.reordering.uses_fack();
        let tests = K::MAY_TEST && self.frto.is_active();
        if !tests && episode.is_time_to_recover(by_age, ack, cx) {
            episode.enter_recovery(ack.ece, cx);
            return true;
        }
        self.try_to_open::<K>(episode, ack, cx);
        false
    }

    #[inline(always)]
    fn try_to_open<K: AckKind>(&self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) {
        let tests = K::MAY_TEST && self.frto.is_active();
        if !tests && cx.board.retrans_out == 0 {
            episode.undo.forget_stamp();
        }
        if K::MAY_ECHO && ack.ece {
            episode.enter_cwr(true, cx);
        }
        if episode.state == CaState::Cwr {
            episode.reduction.step(ack, (0, false), cx.control, cx.board);
            return;
        }
        episode.try_keep_open(cx);
        if self.moderation == Moderation::Always || episode.state != CaState::Open {
            moderate(episode, cx);
        }
    }

    /// Processes a partial acknowledgment in recovery. Returns whether to mark the next hole lost.
    #[inline(always)]
    fn on_partial_ack(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if cx.board.is_reno() && cx.control.cc.partial_ack_ends_recovery() {
            cx.board.forget_duplicates();
            episode.end_reduction(cx);
            episode.undo.discard();
            episode.state = CaState::Open;
            return false;
        }
        let mut failed = cx.board.is_reno() || cx.board.sacked_extent() > episode.reordering.degree();
        if episode.undo.is_due(cx.now.echoed(ack.ts_ecr), true) {
            // The hole was filled by a delayed packet, not by its retransmission.
            if cx.board.retrans_out == 0 {
                episode.undo.forget_stamp();
            }
            episode.reordering.observe(cx.board.sacked_extent() + ack.acked.packets);
            self.undo(episode, false, cx);
            failed = false;
        }
        failed
    }

    /// Returns whether the old state is held (without SACK, until something above `high_seq` is acknowledged).
    #[inline(always)]
    fn try_undo_recovery(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if episode.undo.is_due(cx.now.echoed(ack.ts_ecr), true) {
            self.undo(episode, true, cx);
            episode.undo.discard();
        }
        let reno_holds = cx.board.is_reno() && !cx.control.cc.partial_ack_ends_recovery();
        if cx.queue.una() == episode.high_seq && reno_holds {
            moderate(episode, cx);
            return true;
        }
        episode.state = CaState::Open;
        false
    }

    #[inline(always)]
    fn try_undo_loss(&mut self, episode: &mut Episode, ack: &AckInfo, cx: &mut Cx) -> bool {
        if !episode.undo.is_due(cx.now.echoed(ack.ts_ecr), true) {
            return false;
        }
        cx.board.unmark_lost();
        self.undo(episode, true, cx);
        episode.timeouts = 0;
        episode.undo.discard();
        if !cx.board.is_reno() {
            episode.state = CaState::Open;
        }
        true
    }

    #[inline(always)]
    fn try_undo_by_duplicates(&mut self, episode: &mut Episode, cx: &mut Cx) {
        if episode.undo.all_spurious_by_dsack() {
            self.undo(episode, true, cx);
            episode.undo.discard();
        }
    }

    #[inline(never)]
    fn undo(&self, episode: &mut Episode, restore_ssthresh: bool, cx: &mut Cx) {
        episode.undo.apply(restore_ssthresh, episode.reduction.prior_cwnd(), cx.control, cx.ecn);
        if self.moderation == Moderation::Always {
            moderate(episode, cx);
        }
        cx.board.forget_hints();
    }
}

/// A time-out without F-RTO: all segments are lost, slow start from one segment. The threshold is lowered once per
/// episode, or `always`.
pub(super) fn lose_everything(episode: &mut Episode, always: bool, cx: &mut Cx) {
    let una = cx.queue.una();
    let first_of_episode = episode.state <= CaState::Disorder
        || una == episode.high_seq
        || (episode.state == CaState::Loss && episode.timeouts == 0);
    if first_of_episode || always {
        episode.undo.set_prior_ssthresh(cx.control.current_ssthresh(episode.state));
        cx.control.lower_ssthresh();
    }
    cx.control.restart(1);
    episode.undo.reset_expected();
    cx.board.forget_duplicates();
    let retransmitted = cx.board.mark_all_lost(false);
    episode.undo.init_undo_unless(retransmitted, una);
    episode.reordering.reset_degree();
    episode.state = CaState::Loss;
    episode.high_seq = cx.queue.nxt();
    cx.ecn.on_reduction();
    cx.control.on_timeout();
}

/// Limits the window to the segments in flight plus a small burst.
#[inline(always)]
fn moderate(episode: &Episode, cx: &mut Cx) {
    cx.control.limit_cwnd(cx.board.in_flight() + episode.reordering.degree());
}
