//! Bounds learnt from losses: short-term bounds on bandwidth and inflight (`bw_lo`, `inflight_lo`), and a long-term
//! bound on inflight (`inflight_hi`).

use super::{Bbr3, CaState, Flight, LostSegment, MIN_CWND, Mode, RateSample, SCALE, UNIT, valid};

/// The bounds and the congestion signals that set them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Maximum bandwidth until the next probe.
    pub bw_lo: u64,
    /// Maximum packets in flight until the next probe.
    pub inflight_lo: u32,
    /// Maximum packets in flight until a probe shows that more is safe.
    pub inflight_hi: u32,
    /// Maximum delivery rate in the last round.
    pub bw_latest: u64,
    /// Maximum packets delivered in the last round.
    pub inflight_latest: u32,
    /// The loss round ends with the first sample of a packet that was sent after this many packets were delivered.
    pub loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    /// Loss events in the round, at most 15.
    loss_events_in_round: u32,
    /// Bounds before the last reduction, for an undo.
    undo: Option<(u64, u32, u32)>,
    /// A reduction has begun; the bounds are saved once the losses of the same acknowledgment are known.
    save_pending: bool,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            bw_lo: u64::MAX,
            inflight_lo: NONE,
            inflight_hi: NONE,
            bw_latest: 0,
            inflight_latest: 0,
            loss_round_delivered: 0,
            loss_round_start: false,
            loss_in_round: false,
            loss_events_in_round: 0,
            undo: None,
            save_pending: false,
        }
    }
}

impl Bounds {
    /// A reduction begins (`bbr_ssthresh`). Linux has already reported the losses that come with it, and saves the
    /// bounds with these; the draft saves them at the first loss of a round.
    pub fn save(&mut self) {
        self.save_pending = true;
    }

    /// Saves the bounds after the losses are known.
    pub fn finish_save(&mut self) {
        if std::mem::take(&mut self.save_pending) {
            self.undo = Some((self.bw_lo, self.inflight_lo, self.inflight_hi));
        }
    }

    /// Undoes the last reduction (`bbr_undo_cwnd`).
    pub fn undo(&mut self) {
        self.finish_save();
        self.loss_in_round = false;
        if let Some((bw_lo, inflight_lo, inflight_hi)) = self.undo {
            self.bw_lo = self.bw_lo.max(bw_lo);
            self.inflight_lo = self.inflight_lo.max(inflight_lo);
            self.inflight_hi = self.inflight_hi.max(inflight_hi);
        }
    }

    /// Forgets the short-term bounds.
    pub fn reset_lower(&mut self) {
        (self.bw_lo, self.inflight_lo) = (u64::MAX, NONE);
    }

    /// Initialises the short-term bound on inflight if it is unset.
    pub fn init_inflight_lo(&mut self, cwnd: u32) {
        if self.inflight_lo == NONE {
            self.inflight_lo = cwnd;
        }
    }

    /// Discards the signals so far (`bbr_reset_congestion_signals`).
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    /// Inflight bound that leaves headroom for other flows (`bbr_inflight_with_headroom`).
    pub fn with_headroom(&self) -> u32 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = ((self.inflight_hi as u64 * HEADROOM) >> SCALE) as u32;
        self.inflight_hi.saturating_sub(headroom.max(1)).max(MIN_CWND)
    }
}

impl Bbr3 {
    /// Whether BBR is probing for more bandwidth.
    pub(super) fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::ProbeRefill | Mode::ProbeUp)
    }

    /// Updates the delivery signals of the last round.
    pub(super) fn update_latest_signals(&mut self, flight: &Flight, sample: &RateSample, bw: u64) {
        let bounds = &mut self.bounds;
        bounds.loss_round_start = false;
        let Some((delivered, _)) = valid(sample).filter(|_| sample.acked_sacked > 0) else { return };
        bounds.bw_latest = bounds.bw_latest.max(bw);
        bounds.inflight_latest = bounds.inflight_latest.max(delivered as u32);
        if sample.prior_delivered >= bounds.loss_round_delivered {
            bounds.loss_round_delivered = flight.delivered;
            bounds.loss_round_start = true;
        }
    }

    /// Starts a new loss round with the signals of this sample alone.
    pub(super) fn advance_latest_signals(&mut self, sample: &RateSample, bw: u64) {
        // A tail loss probe does not show yet whether the tail was lost, so the filter keeps the older samples.
        if self.bounds.loss_round_start && !sample.acks_probe {
            (self.bounds.bw_latest, self.bounds.inflight_latest) = (bw, sample.delivered.unwrap_or(0));
        }
    }

    /// Updates the maximum bandwidth and, once per loss round, the short-term bounds.
    pub(super) fn update_congestion_signals(&mut self, flight: &Flight, sample: &RateSample, bw: u64) {
        if valid(sample).is_none() || sample.acked_sacked == 0 {
            return;
        }
        if !sample.is_app_limited || bw >= self.max_bw() {
            self.bw_hi[1] = self.bw_hi[1].max(bw);
        }
        self.bounds.loss_in_round |= sample.losses > 0;
        if self.bounds.loss_round_start {
            self.adapt_lower_bounds(flight);
            self.bounds.loss_in_round = false;
        }
    }

    fn adapt_lower_bounds(&mut self, flight: &Flight) {
        // Losses during a probe are expected and adapt the long-term bound instead.
        if self.is_probing_bandwidth() || !self.bounds.loss_in_round {
            return;
        }
        let max_bw = self.max_bw();
        let bounds = &mut self.bounds;
        if bounds.bw_lo == u64::MAX {
            bounds.bw_lo = max_bw;
        }
        bounds.init_inflight_lo(flight.window.cwnd);
        bounds.bw_lo = bounds.bw_latest.max((bounds.bw_lo * (UNIT - BETA)) >> SCALE).max(1);
        bounds.inflight_lo = bounds.inflight_latest.max(reduced_by_beta(bounds.inflight_lo));
    }

    /// Leaves STARTUP if a round of recovery ends with high loss in many loss events.
    pub(super) fn check_loss_too_high_in_startup(&mut self, flight: &Flight, sample: &RateSample) {
        if self.full_bw_reached {
            return;
        }
        let bounds = &mut self.bounds;
        if sample.losses > 0 {
            bounds.loss_events_in_round = (bounds.loss_events_in_round + 1).min(0xf);
        }
        if !bounds.loss_round_start {
            return;
        }
        let many = bounds.loss_events_in_round >= FULL_LOSSES && flight.state == CaState::Recovery;
        if many && is_too_high(sample.lost, sample.tx_in_flight) {
            self.full_bw_reached = true;
            let bdp = self.inflight(flight.window.mss, self.max_bw(), UNIT);
            self.bounds.inflight_hi = bdp.max(self.bounds.inflight_latest);
        } else {
            bounds.loss_events_in_round = 0;
        }
    }

    /// Notes a loss: the loss round ends at what is delivered by now (`bbr_note_loss`).
    pub(super) fn note_loss(&mut self, flight: &Flight) {
        if !self.bounds.loss_in_round {
            self.bounds.loss_round_delivered = flight.delivered;
        }
        self.bounds.loss_in_round = true;
    }

    /// Checks whether a segment lost during a probe shows that inflight was too high.
    pub(super) fn judge_lost(&mut self, flight: &Flight, loss: &LostSegment) {
        self.judge_flight(flight, loss, inflight_from_lost);
    }

    /// Same check with the inflight at which the loss rate became too high.
    pub(super) fn judge_flight(&mut self, flight: &Flight, loss: &LostSegment, inflight: impl Fn(&LostSegment) -> u32) {
        if self.cycle.bw_probe_samples && is_too_high(loss.lost, loss.tx_in_flight) {
            self.handle_inflight_too_high(flight, inflight(loss), loss.is_app_limited);
        }
    }

    /// Handles a probe that went too far, with high loss at `tx_in_flight` packets.
    pub(super) fn handle_inflight_too_high(&mut self, flight: &Flight, tx_in_flight: u32, is_app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.bw_probe_samples = false;
        // An application-limited flight says nothing about the path's capacity for more.
        if !is_app_limited {
            self.bounds.inflight_hi = tx_in_flight.max(reduced_by_beta(self.target_inflight(flight)));
        }
        if self.mode == Mode::ProbeUp {
            self.start_probe_down(flight);
        }
    }

    /// Bandwidth-delay product, at most the window.
    pub(super) fn target_inflight(&self, flight: &Flight) -> u32 {
        self.inflight(flight.window.mss, self.bw(), UNIT).min(flight.window.cwnd)
    }

    /// Bounds the window by the inflight bounds.
    pub(super) fn bound_cwnd(&self, flight: &mut Flight) {
        let cap = match self.mode {
            Mode::ProbeUp | Mode::ProbeDown | Mode::ProbeRefill => self.bounds.inflight_hi,
            Mode::ProbeCruise | Mode::ProbeRtt => self.bounds.with_headroom(),
            Mode::Startup | Mode::Drain => NONE,
        };
        let cap = cap.min(self.bounds.inflight_lo).max(MIN_CWND);
        flight.window.cwnd = flight.window.cwnd.min(cap);
    }
}

/// Whether `lost` packets of `tx_in_flight` exceed 2 %.
pub(super) fn is_too_high(lost: u32, tx_in_flight: u32) -> bool {
    lost > 0 && tx_in_flight > 0 && lost as u64 > (tx_in_flight as u64 * LOSS_THRESH) >> SCALE
}

/// Inflight at which the loss rate became too high, interpolated within the lost segment
/// (`bbr_inflight_hi_from_lost_skb`).
fn inflight_from_lost(loss: &LostSegment) -> u32 {
    let (inflight_prev, lost_prev) = (loss.tx_in_flight as u64 - 1, loss.lost as u64 - 1);
    let budget = (inflight_prev * LOSS_THRESH + UNIT - 1) >> SCALE;
    let prefix = (budget.saturating_sub(lost_prev) << SCALE) / (UNIT - LOSS_THRESH);
    (inflight_prev + prefix) as u32
}

fn reduced_by_beta(packets: u32) -> u32 {
    ((packets as u64 * (UNIT - BETA)) >> SCALE) as u32
}

/// Sentinel: no bound.
pub(super) const NONE: u32 = u32::MAX;
pub(super) const BETA: u64 = UNIT * 30 / 100;
pub(super) const LOSS_THRESH: u64 = UNIT * 2 / 100;
pub(super) const FULL_LOSSES: u32 = 6;
pub(super) const HEADROOM: u64 = UNIT * 15 / 100;
