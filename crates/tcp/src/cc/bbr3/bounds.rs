//! What losses teach: a rate and an amount of data in flight that are safe for now (`bw_lo`, `inflight_lo`), and an amount
//! beyond which the path has lost much (`inflight_hi`).

use super::{Bbr3, CaState, Flight, LostSegment, MIN_CWND, Mode, RateSample, SCALE, UNIT, valid};

/// The bounds, and the signals that set them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// No more than this rate until the next search.
    pub bw_lo: u64,
    /// No more packets in flight than this until then.
    pub inflight_lo: u32,
    /// No more than this in flight at any time, until a search shows that more is safe.
    pub inflight_hi: u32,
    /// The largest rate delivered in the last round.
    pub bw_latest: u64,
    /// The most packets delivered during one.
    pub inflight_latest: u32,
    /// A round of losses ends with the first sample of what was sent when so much had been delivered.
    pub loss_round_delivered: u64,
    pub loss_round_start: bool,
    pub loss_in_round: bool,
    /// Acknowledgments of the round with which something was marked lost; 15 at the most.
    loss_events_in_round: u32,
    /// The bounds before the last reduction, to come back to if that was needless.
    undo: Option<(u64, u32, u32)>,
    /// A reduction has begun: they are to be saved once the losses with it are known.
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
    /// A reduction begins (`bbr_ssthresh`); Linux has told of the losses with it before.
    pub fn save(&mut self) {
        self.save_pending = true;
    }

    /// The losses with it are known.
    pub fn finish_save(&mut self) {
        if std::mem::take(&mut self.save_pending) {
            self.undo = Some((self.bw_lo, self.inflight_lo, self.inflight_hi));
        }
    }

    /// The last reduction was needless (`bbr_undo_cwnd`).
    pub fn undo(&mut self) {
        self.finish_save();
        self.loss_in_round = false;
        if let Some((bw_lo, inflight_lo, inflight_hi)) = self.undo {
            self.bw_lo = self.bw_lo.max(bw_lo);
            self.inflight_lo = self.inflight_lo.max(inflight_lo);
            self.inflight_hi = self.inflight_hi.max(inflight_hi);
        }
    }

    /// What is safe for now is not known any more.
    pub fn reset_lower(&mut self) {
        (self.bw_lo, self.inflight_lo) = (u64::MAX, NONE);
    }

    /// Packets in flight that were safe, if nothing is known of that.
    pub fn init_inflight_lo(&mut self, cwnd: u32) {
        if self.inflight_lo == NONE {
            self.inflight_lo = cwnd;
        }
    }

    /// Signals so far tell nothing more (`bbr_reset_congestion_signals`).
    pub fn reset_signals(&mut self) {
        self.loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0, 0);
    }

    /// What may be in flight so that others find room (`bbr_inflight_with_headroom`).
    pub fn with_headroom(&self) -> u32 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = ((self.inflight_hi as u64 * HEADROOM) >> SCALE) as u32;
        self.inflight_hi.saturating_sub(headroom.max(1)).max(MIN_CWND)
    }
}

impl Bbr3 {
    /// Whether it wants to see more than it has.
    pub(super) fn is_probing_bandwidth(&self) -> bool {
        matches!(self.mode, Mode::Startup | Mode::ProbeRefill | Mode::ProbeUp)
    }

    /// What the last round delivered.
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

    /// A new round begins with this sample alone.
    pub(super) fn advance_latest_signals(&mut self, sample: &RateSample, bw: u64) {
        // With a probe it is not known yet whether the tail was lost: the filter remembers what came before.
        if self.bounds.loss_round_start && !sample.acks_probe {
            (self.bounds.bw_latest, self.bounds.inflight_latest) = (bw, sample.delivered.unwrap_or(0));
        }
    }

    /// The largest rate, and once per round of losses what they say of the safe one.
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

    /// STARTUP ends where the end of a round of recovery finds much lost, at many times.
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

    /// A loss: the round of losses goes up to what is delivered now (`bbr_note_loss`).
    pub(super) fn note_loss(&mut self, flight: &Flight) {
        if !self.bounds.loss_in_round {
            self.bounds.loss_round_delivered = flight.delivered;
        }
        self.bounds.loss_in_round = true;
    }

    /// A segment of a search is lost: was it one too many?
    pub(super) fn judge_lost(&mut self, flight: &Flight, loss: &LostSegment) {
        self.judge_flight(flight, loss, inflight_from_lost);
    }

    /// The same with what was in flight when it became too much.
    pub(super) fn judge_flight(&mut self, flight: &Flight, loss: &LostSegment, inflight: impl Fn(&LostSegment) -> u32) {
        if self.cycle.bw_probe_samples && is_too_high(loss.lost, loss.tx_in_flight) {
            self.handle_inflight_too_high(flight, inflight(loss), loss.is_app_limited);
        }
    }

    /// A search went too far: at `tx_in_flight` packets much was lost.
    pub(super) fn handle_inflight_too_high(&mut self, flight: &Flight, tx_in_flight: u32, is_app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.bw_probe_samples = false;
        if !is_app_limited {
            self.bounds.inflight_hi = tx_in_flight.max(reduced_by_beta(self.target_inflight(flight)));
        }
        if self.mode == Mode::ProbeUp {
            self.start_probe_down(flight);
        }
    }

    /// The bandwidth-delay product, unless the window is less.
    pub(super) fn target_inflight(&self, flight: &Flight) -> u32 {
        self.inflight(flight.window.mss, self.bw(), UNIT).min(flight.window.cwnd)
    }

    /// The window is within the bounds.
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

/// Whether so many packets of so many in flight are more than 2 %.
pub(super) fn is_too_high(lost: u32, tx_in_flight: u32) -> bool {
    lost > 0 && tx_in_flight > 0 && lost as u64 > (tx_in_flight as u64 * LOSS_THRESH) >> SCALE
}

/// What was in flight when the share of losses came to be too high, on the way to a lost segment
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

/// No bound.
pub(super) const NONE: u32 = u32::MAX;
pub(super) const BETA: u64 = UNIT * 30 / 100;
pub(super) const LOSS_THRESH: u64 = UNIT * 2 / 100;
pub(super) const FULL_LOSSES: u32 = 6;
pub(super) const HEADROOM: u64 = UNIT * 15 / 100;
