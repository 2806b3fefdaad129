//! Short-term and long-term model, learnt from losses (§5.5.10, §5.5.11).

use super::{Bbr3Draft, CaState, DeliverySample, Flight, LostSegment, MIN_PIPE_CWND, Mode, RateSample};

/// The bounds and the congestion signals that set them, in segments and segments per second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub bw_shortterm: f64,
    pub inflight_shortterm: f64,
    pub inflight_longterm: f64,
    pub bw_latest: f64,
    pub inflight_latest: f64,
    /// The loss round ends with the first sample of a packet that was sent after this many packets were delivered.
    loss_round_delivered: u64,
    loss_round_start: bool,
    pub is_loss_in_round: bool,
    /// Lost sequence ranges in the round.
    lost_ranges: u32,
    /// State to return to if the losses were spurious.
    pub undo_state: Option<Mode>,
    undo: (f64, f64, f64),
    /// The losses were spurious, and the state has not been restored yet.
    pub undo_pending: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bw_shortterm: f64::INFINITY,
            inflight_shortterm: f64::INFINITY,
            inflight_longterm: f64::INFINITY,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            lost_ranges: 0,
            undo_state: None,
            undo: (0.0, 0.0, 0.0),
            undo_pending: false,
        }
    }
}

impl Bounds {
    /// `ResetShortTermModel`.
    pub fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }

    /// `ResetCongestionSignals`.
    pub fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    /// `InflightWithHeadroom` (§5.3.3.9).
    pub fn inflight_with_headroom(&self) -> f64 {
        let bound = self.inflight_longterm;
        if bound.is_infinite() { bound } else { (bound - (HEADROOM * bound).max(1.0)).max(MIN_PIPE_CWND) }
    }

    /// Counts a lost segment that begins a new range.
    pub fn count_range(&mut self, loss: &LostSegment) {
        self.lost_ranges += !loss.continues as u32;
    }

    /// Undoes spurious losses: no bound is below its earlier value.
    pub fn undo(&mut self) {
        self.is_loss_in_round = false;
        self.bw_shortterm = self.bw_shortterm.max(self.undo.0);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.1);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.2);
        self.undo_pending = true;
    }
}

impl Bbr3Draft {
    fn is_probing_bw(&self) -> bool {
        matches!(self.state, Mode::Startup | Mode::ProbeBwRefill | Mode::ProbeBwUp)
    }

    /// `SaveStateUponLoss` (§5.5.11), at the first loss of a round. Differs from `bbr3@google`, which saves when
    /// recovery begins.
    pub(super) fn save_state_upon_loss(&mut self) {
        self.save_cwnd();
        let bounds = &mut self.bounds;
        bounds.undo_state = None;
        bounds.undo = (bounds.bw_shortterm, bounds.inflight_shortterm, bounds.inflight_longterm);
    }

    /// Remainder of `HandleSpuriousLossDetection`: returns to the state that the losses ended.
    pub(super) fn finish_undo(&mut self, flight: &Flight) {
        if !std::mem::take(&mut self.bounds.undo_pending) {
            return;
        }
        match self.bounds.undo_state.take() {
            Some(Mode::Startup) if self.state != Mode::Startup => {
                self.full_bw_reached = false;
                if self.state != Mode::ProbeRtt {
                    self.state = Mode::Startup;
                }
            }
            Some(Mode::ProbeBwUp) if !matches!(self.state, Mode::ProbeBwUp | Mode::ProbeRtt) => {
                self.start_probe_bw_refill(flight);
            }
            _ => {}
        }
    }

    pub(super) fn update_latest_delivery_signals(&mut self, flight: &Flight, sample: &RateSample, rs: &DeliverySample) {
        let bounds = &mut self.bounds;
        bounds.bw_latest = bounds.bw_latest.max(rs.delivery_rate);
        bounds.inflight_latest = bounds.inflight_latest.max(rs.delivered);
        bounds.loss_round_start = sample.delivered.is_some() && sample.prior_delivered >= bounds.loss_round_delivered;
        if bounds.loss_round_start {
            bounds.loss_round_delivered = flight.delivered;
        }
    }

    pub(super) fn advance_latest_delivery_signals(&mut self, rs: &DeliverySample) {
        if self.bounds.loss_round_start {
            (self.bounds.bw_latest, self.bounds.inflight_latest) = (rs.delivery_rate, rs.delivered);
        }
    }

    pub(super) fn update_congestion_signals(&mut self, flight: &Flight, sample: &RateSample, rs: &DeliverySample) {
        self.update_max_bw(flight, sample, rs);
        if !self.bounds.loss_round_start {
            return;
        }
        if !self.is_probing_bw() && self.bounds.is_loss_in_round {
            let (max_bw, cwnd, bounds) = (self.max_bw, self.cwnd, &mut self.bounds);
            if bounds.bw_shortterm.is_infinite() {
                bounds.bw_shortterm = max_bw;
            }
            if bounds.inflight_shortterm.is_infinite() {
                bounds.inflight_shortterm = cwnd;
            }
            bounds.bw_shortterm = bounds.bw_latest.max(BETA * bounds.bw_shortterm);
            bounds.inflight_shortterm = bounds.inflight_latest.max(BETA * bounds.inflight_shortterm);
        }
        self.bounds.is_loss_in_round = false;
    }

    /// `CheckStartupHighLoss` (§5.3.1.3).
    pub(super) fn check_startup_high_loss(&mut self, flight: &Flight, sample: &RateSample) {
        if !self.bounds.loss_round_start {
            return;
        }
        let ranges = std::mem::take(&mut self.bounds.lost_ranges);
        let many = flight.state == CaState::Recovery && ranges >= STARTUP_FULL_LOSSES;
        if self.state == Mode::Startup && many && is_too_high(sample.lost, sample.tx_in_flight) {
            self.bounds.undo_state = Some(Mode::Startup);
            self.full_bw_reached = true;
            self.bounds.inflight_longterm = self.bdp(self.bw).max(self.bounds.inflight_latest);
        }
    }

    /// `NoteLoss`.
    pub(super) fn note_loss(&mut self, flight: &Flight) {
        if !self.bounds.is_loss_in_round {
            self.bounds.loss_round_delivered = flight.delivered;
            self.save_state_upon_loss();
        }
        self.bounds.is_loss_in_round = true;
    }

    /// Remainder of `HandleLostPacket`, and `HandleInflightTooHigh`.
    pub(super) fn judge_lost(&mut self, flight: &Flight, loss: &LostSegment) {
        if !self.cycle.is_bw_probe_sample || !is_too_high(loss.lost, loss.tx_in_flight) {
            return;
        }
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !loss.is_app_limited {
            self.bounds.inflight_longterm = inflight_at_loss(loss).max(self.target_inflight() * BETA);
        }
        if self.state == Mode::ProbeBwUp {
            self.bounds.undo_state = Some(Mode::ProbeBwUp);
            self.start_probe_bw_down(flight);
        }
    }

    /// `TargetInflight` (§5.3.3.8).
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(self.bw).min(self.cwnd)
    }
}

/// `IsInflightTooHigh`.
pub(super) fn is_too_high(lost: u32, tx_in_flight: u32) -> bool {
    f64::from(lost) > f64::from(tx_in_flight) * LOSS_THRESH
}

/// `InflightAtLoss`.
fn inflight_at_loss(loss: &LostSegment) -> f64 {
    let (inflight_prev, lost_prev) = (f64::from(loss.tx_in_flight) - 1.0, f64::from(loss.lost) - 1.0);
    inflight_prev + (LOSS_THRESH * inflight_prev - lost_prev) / (1.0 - LOSS_THRESH)
}

const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
const STARTUP_FULL_LOSSES: u32 = 6;
