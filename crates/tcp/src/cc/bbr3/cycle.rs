//! PROBE_BW: cruise with headroom, refill the pipe, probe up, drain the resulting queue.

use super::bounds::{NONE, is_too_high};
use super::{Bbr3, Flight, Mode, RateSample, UNIT};
use crate::micros_at;

/// State of the PROBE_BW cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// Start of the phase that the timer measures.
    since_us: u64,
    /// Time from `since_us` to the next probe.
    wait_us: u64,
    /// Rounds since the last probe; starts at a random 0 or 1.
    pub rounds_since_probe: u32,
    acks: AckPhase,
    /// Whether acknowledged data was sent during a probe.
    pub bw_probe_samples: bool,
    /// Whether the last probe went too far.
    pub prev_probe_too_high: bool,
    /// The last probe stopped at the inflight at which the one before went too far.
    stopped_risky: bool,
    /// Rounds of the probe in which the window was fully used.
    up_rounds: u32,
    /// Packets acknowledged per increment of `inflight_hi`; none outside a probe.
    up_cnt: Option<u32>,
    up_acks: u32,
}

/// Phase in which the acknowledged data was sent; also used by the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    /// Outside a probe.
    Init,
    /// While the pipe is being refilled.
    Refilling,
    /// A probe has begun; this data was sent before it.
    ProbeStarting,
    /// During a probe.
    ProbeFeedback,
    /// During a probe that has ended.
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
    /// Later acknowledgments say nothing about a probe.
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

    /// Ends a probe at the inflight at which the one before went too far, or when the bandwidth no longer grows
    /// although nothing limits it.
    fn judge_probe_up(&mut self, flight: &Flight, inflight: u32, bw: u64) {
        if self.cycle.prev_probe_too_high && inflight >= self.bounds.inflight_hi {
            self.cycle.stopped_risky = true;
        } else if flight.is_cwnd_limited && flight.window.cwnd >= self.bounds.inflight_hi {
            // The bound on inflight limits the probe, so the bandwidth cannot be said to have stopped growing.
            return self.reset_full_bw(bw);
        } else if !self.full_bw_now {
            return;
        }
        self.cycle.prev_probe_too_high = false;
        self.start_probe_down(flight);
    }

    /// Adapts the upper bound to the outcome of probes. Returns whether a new phase has begun.
    fn adapt_upper_bounds(&mut self, flight: &Flight, sample: &RateSample) -> bool {
        if self.cycle.acks == AckPhase::ProbeStarting && self.round_start {
            self.cycle.acks = AckPhase::ProbeFeedback;
        }
        if self.cycle.acks == AckPhase::ProbeStopping && self.round_start {
            self.cycle.bw_probe_samples = false;
            self.cycle.acks = AckPhase::Init;
            // All samples of the probe are in, so those of the previous one expire.
            if self.mode.is_probe_bw() && !sample.is_app_limited && self.bw_hi[1] > 0 {
                self.bw_hi = [self.bw_hi[1], 0];
            }
            // The probe stopped at the old bound and nothing was lost, so probe beyond it at once.
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
        // An unused bound is not tested, so it does not grow.
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

    /// Doubles the growth of the bound in each round of a probe.
    fn raise_slope(&mut self, cwnd: u32) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_cnt = Some((cwnd / growth).max(1));
    }

    /// Whether the flight is small enough for an empty queue and for headroom.
    fn is_drained(&self, flight: &Flight, inflight: u32) -> bool {
        inflight <= self.bounds.with_headroom() && inflight <= self.inflight(flight.window.mss, self.max_bw(), UNIT)
    }

    /// By time, or after as many rounds as a Reno flow of this size has between losses.
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

    /// Enters a phase of PROBE_BW; pacing rate and window change.
    fn begin(&mut self, phase: Mode) {
        self.mode = phase;
        self.try_fast_path = false;
    }
}

pub(super) const MAX_ROUNDS: u32 = 63;
const RANDOM_ROUNDS: u64 = 2;
pub(super) const BASE_WAIT_US: u64 = 2_000_000;
pub(super) const RANDOM_WAIT_US: u64 = 1_000_000;
