//! PROBE_BW: cruise with headroom, refill the path, search for more, drain what that made.

use super::bounds::{NONE, is_too_high};
use super::{Bbr3, Flight, Mode, RateSample, UNIT};
use crate::micros_at;

/// The cycle of searches.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// When the phase began that the clock counts from.
    since_us: u64,
    /// From then to the next search.
    wait_us: u64,
    /// Rounds since the last search; it begins at nought or one.
    pub rounds_since_probe: u32,
    acks: AckPhase,
    /// What is acknowledged was sent during a search.
    pub bw_probe_samples: bool,
    /// The last search went too far.
    pub prev_probe_too_high: bool,
    /// The last search stopped where the one before had gone too far.
    stopped_risky: bool,
    /// Rounds of the search in which the window was used.
    up_rounds: u32,
    /// Packets acknowledged per packet by which `inflight_hi` grows; none outside a search.
    up_cnt: Option<u32>,
    up_acks: u32,
}

/// What acknowledgments are of, also in the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// No search.
    Init,
    /// The path is being filled.
    Refilling,
    /// A search has begun, and these were sent before.
    ProbeStarting,
    /// A search.
    ProbeFeedback,
    /// A search that is over.
    ProbeStopping,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            since_us: 0,
            wait_us: 0,
            rounds_since_probe: 0,
            acks: AckPhase::Init,
            bw_probe_samples: false,
            prev_probe_too_high: false,
            stopped_risky: false,
            up_rounds: 0,
            up_cnt: None,
            up_acks: 0,
        }
    }
}

impl Cycle {
    /// What comes from now on tells nothing of a search.
    pub fn stop(&mut self) {
        self.acks = AckPhase::ProbeStopping;
    }
}

impl Bbr3 {
    pub(super) fn update_cycle_phase(&mut self, flight: &mut Flight, sample: &RateSample, bw: u64) {
        if !self.full_bw_reached || self.adapt_upper_bounds(flight, sample) {
            return;
        }
        let inflight = self.packets_in_net_at_edt(flight, sample.prior_in_flight);
        match self.mode {
            Mode::ProbeCruise | Mode::ProbeDown if self.is_time_to_probe(flight) => self.start_probe_refill(flight),
            Mode::ProbeDown if self.is_drained(flight, inflight) => self.start_probe_cruise(),
            Mode::ProbeRefill if self.round_start => {
                self.cycle.bw_probe_samples = true;
                self.start_probe_up(flight, bw);
            }
            Mode::ProbeUp => self.judge_probe_up(flight, inflight, bw),
            _ => {}
        }
    }

    /// A search ends where the one before went too far, or where the rate grows no more though nothing held it back.
    fn judge_probe_up(&mut self, flight: &Flight, inflight: u32, bw: u64) {
        if self.cycle.prev_probe_too_high && inflight >= self.bounds.inflight_hi {
            self.cycle.stopped_risky = true;
        } else if flight.is_cwnd_limited && flight.window.cwnd >= self.bounds.inflight_hi {
            return self.reset_full_bw(bw);
        } else if !self.full_bw_now {
            return;
        }
        self.cycle.prev_probe_too_high = false;
        self.start_probe_down(flight);
    }

    /// What searches teach of the upper bound. Returns whether a new phase has begun.
    fn adapt_upper_bounds(&mut self, flight: &Flight, sample: &RateSample) -> bool {
        if self.cycle.acks == AckPhase::ProbeStarting && self.round_start {
            self.cycle.acks = AckPhase::ProbeFeedback;
        }
        if self.cycle.acks == AckPhase::ProbeStopping && self.round_start {
            self.cycle.bw_probe_samples = false;
            self.cycle.acks = AckPhase::Init;
            // The samples of the search are in: those of the search before may be forgotten.
            if self.mode.is_probe_bw() && !sample.is_app_limited && self.bw_hi[1] > 0 {
                self.bw_hi = [self.bw_hi[1], 0];
            }
            if self.mode.is_probe_bw() && self.cycle.stopped_risky && !self.cycle.prev_probe_too_high {
                self.start_probe_refill(flight);
                return true;
            }
        }
        if is_too_high(sample.lost, sample.tx_in_flight) {
            if self.cycle.bw_probe_samples {
                self.handle_inflight_too_high(flight, sample.tx_in_flight, sample.is_app_limited);
            }
        } else if self.bounds.inflight_hi != NONE {
            self.bounds.inflight_hi = self.bounds.inflight_hi.max(sample.tx_in_flight);
            if self.mode == Mode::ProbeUp {
                self.raise_inflight_hi(flight, sample);
            }
        }
        false
    }

    fn raise_inflight_hi(&mut self, flight: &Flight, sample: &RateSample) {
        if !flight.is_cwnd_limited || flight.window.cwnd < self.bounds.inflight_hi {
            return;
        }
        self.cycle.up_acks += sample.acked_sacked;
        if let Some(cnt) = self.cycle.up_cnt.filter(|&cnt| self.cycle.up_acks >= cnt) {
            self.bounds.inflight_hi += self.cycle.up_acks / cnt;
            self.cycle.up_acks %= cnt;
            self.try_fast_path = false;
        }
        if self.round_start {
            self.raise_slope(flight.window.cwnd);
        }
    }

    /// Each round of a search the bound may grow by twice as much.
    fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_cnt = Some((cwnd / growth).max(1));
    }

    /// Whether so few packets are in the network that there is no queue, and headroom.
    fn is_drained(&self, flight: &Flight, inflight: u32) -> bool {
        inflight <= self.bounds.with_headroom() && inflight <= self.inflight(flight.window.mss, self.max_bw(), UNIT)
    }

    /// By the clock, or after as many rounds as a Reno flow of this size has between its losses.
    fn is_time_to_probe(&self, flight: &Flight) -> bool {
        micros_at(flight.now) > self.cycle.since_us + self.cycle.wait_us
            || self.cycle.rounds_since_probe >= self.target_inflight(flight).min(MAX_ROUNDS)
    }

    fn start_probe_refill(&mut self, flight: &Flight) {
        self.bounds.reset_lower();
        (self.cycle.up_rounds, self.cycle.up_acks, self.cycle.stopped_risky) = (0, 0, false);
        self.cycle.acks = AckPhase::Refilling;
        self.next_rtt_delivered = flight.delivered;
        self.begin(Mode::ProbeRefill);
    }

    fn start_probe_up(&mut self, flight: &Flight, bw: u64) {
        self.cycle.acks = AckPhase::ProbeStarting;
        self.next_rtt_delivered = flight.delivered;
        self.cycle.since_us = micros_at(flight.now);
        self.reset_full_bw(bw);
        self.begin(Mode::ProbeUp);
        self.raise_slope(flight.window.cwnd);
    }

    pub(super) fn start_probe_down(&mut self, flight: &Flight) {
        self.bounds.reset_signals();
        self.cycle.up_cnt = None;
        self.cycle.rounds_since_probe = self.rng.below(RANDOM_ROUNDS) as u32;
        self.cycle.wait_us = BASE_WAIT_US + self.rng.below(RANDOM_WAIT_US);
        self.cycle.since_us = micros_at(flight.now);
        self.cycle.stop();
        self.next_rtt_delivered = flight.delivered;
        self.begin(Mode::ProbeDown);
    }

    pub(super) fn start_probe_cruise(&mut self) {
        let bounds = &mut self.bounds;
        if bounds.inflight_lo != NONE {
            bounds.inflight_lo = bounds.inflight_lo.min(bounds.inflight_hi);
        }
        self.begin(Mode::ProbeCruise);
    }

    /// A phase of PROBE_BW begins: rate and window change.
    fn begin(&mut self, phase: Mode) {
        self.mode = phase;
        self.try_fast_path = false;
    }
}

pub(super) const MAX_ROUNDS: u32 = 63;
const RANDOM_ROUNDS: u64 = 2;
pub(super) const BASE_WAIT_US: u64 = 2_000_000;
pub(super) const RANDOM_WAIT_US: u64 = 1_000_000;
