//! State that the recovery machines share, and their common transitions.
//!
//! Source: Linux `tcp_enter_recovery`, `tcp_enter_cwr`, `tcp_try_keep_open`, `tcp_update_scoreboard`,
//! `tcp_time_to_recover`; from `tcp_recovery.c` `tcp_rack_reo_timeout`, `tcp_rack_reo_wnd`.

use crate::HostTime;
use crate::ack::AckInfo;
use crate::context::Cx;
use crate::early_retransmit::EarlyRetransmit;
use crate::queue::SendQueue;
use crate::rack::Rack;
use crate::reduction::Reduction;
use crate::reordering::Reordering;
use crate::round_trip::RoundTrip;
use crate::scoreboard::Scoreboard;
use crate::segment::{AckedSegments, SackedSegments};
use crate::stack::Stack;
use crate::state::CaState;
use crate::timer::TimerPurpose;
use crate::tlp::LossProbe;
use crate::undo::Undo;

/// State of recovery, and the mechanisms that it uses. Fields used for every segment come first and share a cache line.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Episode {
    pub state: CaState,
    /// F-RTO's test before the Loss state is in progress.
    pub frto_running: bool,
    /// Consecutive retransmission time-outs.
    pub timeouts: u32,
    /// SND.NXT when the current state was entered.
    pub high_seq: u64,
    pub reordering: Reordering,
    pub undo: Undo,
    pub reduction: Reduction,
    pub early_retransmit: EarlyRetransmit,
    disorder_while_undoable: bool,
    reduces_after_timeout: bool,
    marks_beyond_high_seq: bool,
    /// Loss detection by time, if the stack has it.
    pub rack: Option<Box<Rack>>,
    pub probe: LossProbe,
}

cloned_in_place! {
    Episode {
        state, frto_running, timeouts, high_seq, reordering, undo, reduction, early_retransmit, disorder_while_undoable,
        reduces_after_timeout, marks_beyond_high_seq, rack, probe,
    }
}

impl Episode {
    /// The state Open.
    pub fn new(stack: &Stack, sack: bool) -> Self {
        Self {
            state: CaState::Open,
            frto_running: false,
            high_seq: 0,
            timeouts: 0,
            undo: Undo::new(stack),
            reduction: Reduction::new(stack),
            reordering: Reordering::new(stack, sack),
            early_retransmit: EarlyRetransmit::new(stack),
            rack: Rack::for_stack(stack),
            probe: LossProbe::new(stack),
            disorder_while_undoable: stack.disorder_while_undoable,
            reduces_after_timeout: stack.reduces_after_timeout,
            marks_beyond_high_seq: stack.marks_beyond_high_seq,
        }
    }

    /// Whether the window is being reduced.
    #[inline]
    pub fn is_reducing(&self) -> bool {
        matches!(self.state, CaState::Recovery | CaState::Cwr)
    }

    /// Whether the state Disorder lasts as long as a reduction may be undone.
    pub fn stays_disordered(&self) -> bool {
        self.disorder_while_undoable
    }

    /// Processes the result of a SACK option; its reordering `counts` unless an F-RTO test forbids it.
    #[inline]
    pub fn on_sacked(&mut self, sack_result: &SackedSegments, counts: bool, nxt: u64, board: &mut Scoreboard) {
        if self.reordering.uses_fack() && self.state == CaState::Recovery {
            board.mark_lost_retransmissions(nxt);
        }
        if let Some(at) = sack_result.reordered_at {
            if counts && (self.state != CaState::Loss || self.undo.is_open()) {
                self.reordering.observe(board.fackets_out.saturating_sub(at));
            }
        }
    }

    /// Segments were removed from the scoreboard. The position of the highest SACK was `fackets` before that, and
    /// `prior_fackets` before the acknowledgment.
    #[inline(always)]
    pub fn on_acknowledged(&mut self, acked: &AckedSegments, fackets: u32, prior_fackets: u32, board: &mut Scoreboard) {
        if board.is_reno() {
            self.reordering.observe(board.remove_duplicates(acked.packets));
        } else if let Some(at) = acked.reordered_at.filter(|&at| at < prior_fackets) {
            self.reordering.observe(fackets - at);
        }
    }

    /// D-SACKs other than a probe's widen RACK's window, if reordering was seen.
    pub fn widen_reordering_window(&mut self, ack: &AckInfo, queue: &SendQueue) {
        let Some(rack) = self.rack.as_mut().filter(|_| ack.sacked.new || ack.sacked.duplicate) else { return };
        let duplicate = ack.sacked.duplicate && self.reordering.is_seen() && !self.probe.is_reported(ack);
        rack.update_window(queue.una(), queue.nxt(), duplicate);
    }

    /// Without SACK: counts a duplicate acknowledgment.
    pub fn add_duplicate(&mut self, board: &mut Scoreboard) {
        self.reordering.observe(board.add_duplicate());
    }

    /// Enters `state` and notifies the control.
    #[inline(always)]
    pub fn enter_state(&mut self, state: CaState, cx: &mut Cx) {
        self.state = state;
        let control = &mut *cx.control;
        control.cc.state_changed(&mut control.window, state, cx.now.at, cx.queue.nxt());
    }

    /// Starts a reduction that cannot be undone, on a mark or after a spurious time-out.
    pub fn enter_cwr(&mut self, set_ssthresh: bool, cx: &mut Cx) {
        self.undo.restore_nothing();
        cx.control.window.bytes_acked = 0;
        if self.state < CaState::Cwr {
            self.undo.discard();
            self.begin_reduction(set_ssthresh, cx);
            self.reduction.begin_on_mark(&mut cx.control.window, cx.board.in_flight());
            self.enter_state(CaState::Cwr, cx);
        }
    }

    /// Enters fast recovery; `ece` if the loss came with an ECN echo.
    pub fn enter_recovery(&mut self, ece: bool, cx: &mut Cx) {
        self.undo.restore_nothing();
        self.undo.init_undo(cx.queue.una(), cx.board.retrans_out);
        // A reduction in progress is not followed by another.
        let reducing = match self.state {
            CaState::Cwr | CaState::Recovery => true,
            CaState::Loss => !self.reduces_after_timeout,
            CaState::Open | CaState::Disorder => false,
        };
        if !reducing {
            if !ece {
                self.undo.set_prior_ssthresh(cx.control.current_ssthresh(self.state));
            }
            self.begin_reduction(true, cx);
        }
        if self.reduction.starts_anew() {
            self.high_seq = cx.queue.nxt();
            cx.control.window.cwnd_cnt = 0;
        }
        cx.control.window.bytes_acked = 0;
        cx.control.lower_ssthresh_on_loss();
        cx.control.forget_notified_state();
        self.enter_state(CaState::Recovery, cx);
    }

    /// A reduction that begins and ends at once: a probe has repaired the loss.
    #[cold]
    #[inline(never)]
    pub fn reduce_at_once(&mut self, cx: &mut Cx) {
        self.begin_reduction(true, cx);
        self.enter_state(CaState::Cwr, cx);
        self.end_reduction(cx);
        self.enter_state(CaState::Open, cx);
        self.try_keep_open(cx);
    }

    /// Ends the reduction.
    #[inline(always)]
    pub fn end_reduction(&self, cx: &mut Cx) {
        if cx.control.steers() {
            return;
        }
        let undone = self.state != CaState::Cwr && !self.undo.is_open();
        self.reduction.end(undone, &mut cx.control.window);
        cx.control.on_reduction_end();
    }

    /// Enters the state Open, or Disorder as long as something is unresolved.
    #[inline(always)]
    pub fn try_keep_open(&mut self, cx: &mut Cx) {
        let open_question = || match self.disorder_while_undoable {
            true => self.undo.is_open(),
            false => cx.board.any_retransmission_out(),
        };
        let disordered = cx.board.has_recovery_state() || open_question();
        let state = if disordered { CaState::Disorder } else { CaState::Open };
        if self.state != state {
            self.enter_state(state, cx);
            self.high_seq = cx.queue.nxt();
        }
    }

    /// Whether to enter recovery on an acknowledgment: by the number of duplicates, or by the age of the oldest segment
    /// if `by_age`. If early retransmit has to wait first, its timer is set.
    #[inline(always)]
    pub fn is_time_to_recover(&mut self, by_age: bool, ack: &AckInfo, cx: &mut Cx) -> bool {
        let board = &*cx.board;
        let degree = self.reordering.degree();
        let duplicates = if self.reordering.uses_fack() { board.fackets_out } else { board.sacked_out + 1 };
        let out = board.packets_out();
        // No more duplicates can follow: the flow is application-limited.
        let application_limited =
            out <= degree && board.sacked_out >= (out / 2).max(self.reordering.initial()) && !cx.may_send_now();
        let by_count = board.lost_out > 0 || duplicates > degree;
        by_count || (by_age && cx.head_timed_out()) || application_limited || self.retransmits_early(ack, cx)
    }

    /// Marks losses by the number of SACKs or duplicates; with `by_age` also segments older than the time-out.
    #[inline(always)]
    pub fn mark_lost_by_count(&self, by_age: bool, fast_retransmit: bool, cx: &mut Cx) {
        let beyond = self.marks_beyond_high_seq && !cx.board.is_reno();
        let (upto_seq, degree) = (if beyond { cx.queue.nxt() } else { self.high_seq }, self.reordering.degree());
        let board = &mut *cx.board;
        if board.is_reno() {
            board.mark_head_lost(1, upto_seq, false);
        } else if self.reordering.uses_fack() {
            let lost = board.fackets_out.saturating_sub(degree).max(1);
            board.mark_head_lost(lost, upto_seq, false);
        } else {
            let upto = board.sacked_out.saturating_sub(degree).max(fast_retransmit as u32);
            board.mark_head_lost(upto, upto_seq, true);
        }
        if by_age && cx.head_timed_out() {
            mark_lost_by_age(cx.now, cx.rtt, cx.board);
        }
    }

    /// Whether RACK's reordering window is zero: after the classic number of duplicates and in recovery, without
    /// reordering seen.
    pub fn needs_no_wait(&self, board: &Scoreboard) -> bool {
        let enough = self.state >= CaState::Recovery || board.sacked_out >= self.reordering.degree();
        enough && !self.reordering.is_seen()
    }

    /// RACK's reordering window has passed for some segment. Returns whether that was marked lost, and recovery
    /// continues.
    pub fn on_reordering_timeout(&mut self, cx: &mut Cx) -> bool {
        let (prior, eager) = (cx.board.in_flight(), self.needs_no_wait(cx.board));
        if let Some(rack) = &mut self.rack {
            rack.detect_loss(cx.now.at, eager, cx.rtt.srtt(), cx.board);
        }
        if cx.board.in_flight() == prior {
            return false;
        }
        if self.state != CaState::Recovery {
            self.enter_recovery(false, cx);
            if cx.control.steers() {
                return true;
            }
            // As if one segment had been delivered, with losses.
            let ack = AckInfo { delivered: 1, ..AckInfo::default() };
            self.reduction.step(&ack, (1, false), cx.control, cx.board);
        }
        true
    }

    /// Early retransmit's delay is over. Returns whether the first hole counts as lost.
    pub fn on_early_retransmit(&mut self, by_age: bool, cx: &mut Cx) -> bool {
        if !self.early_retransmit.applies(self.reordering.is_seen()) || cx.board.packets_out() == 0 {
            return false;
        }
        self.enter_recovery(false, cx);
        self.mark_lost_by_count(by_age, true, cx);
        true
    }

    fn begin_reduction(&mut self, set_ssthresh: bool, cx: &mut Cx) {
        self.high_seq = cx.queue.nxt();
        self.probe.cancel();
        self.reduction.begin(&mut cx.control.window);
        cx.control.forget_notified_state();
        if set_ssthresh {
            cx.control.lower_ssthresh();
        }
        cx.ecn.on_reduction();
    }

    #[inline(always)]
    fn retransmits_early(&self, ack: &AckInfo, cx: &mut Cx) -> bool {
        self.early_retransmit.applies(self.reordering.is_seen()) && self.may_retransmit_early(ack, cx)
    }

    #[inline(never)]
    fn may_retransmit_early(&self, ack: &AckInfo, cx: &mut Cx) -> bool {
        if !self.early_retransmit.is_possible(cx.board, cx.may_send_now()) {
            return false;
        }
        let Some(delay) = self.early_retransmit.delay(cx.now, ack.ece, cx.rtt, cx.timer.expiry()) else { return true };
        cx.timer.set(TimerPurpose::EarlyRetransmit, cx.now, delay);
        false
    }
}

/// Marks segments lost that are older than the time-out.
#[inline(never)]
fn mark_lost_by_age(now: HostTime, rtt: &RoundTrip, board: &mut Scoreboard) {
    let mut i = 0;
    while board.get(i).is_some_and(|segment| rtt.has_timed_out(now, segment)) {
        board.mark_lost(i);
        i += 1;
    }
}
