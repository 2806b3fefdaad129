//! ProbeBW (§5.3.3).

use super::bounds::is_too_high;
use super::{Bbr3Draft, DeliverySample, Flight, Mode, RateSample};
use crate::cc::bbr3::cycle::AckPhase;
use sojourn_aqm::{Duration, Instant};

/// State of the ProbeBW cycle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    cycle_stamp: Instant,
    bw_probe_wait: Duration,
    pub rounds_since_probe_up: u32,
    ack_phase: AckPhase,
    pub is_bw_probe_sample: bool,
    pub prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    bw_probe_up_rounds: u32,
    bw_probe_up_acked: f64,
    probe_up_acked_per_inc: f64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            cycle_stamp: Instant::ZERO,
            bw_probe_wait: Duration::ZERO,
            rounds_since_probe_up: 0,
            ack_phase: AckPhase::Init,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            bw_probe_up_rounds: 0,
            bw_probe_up_acked: 0.0,
            probe_up_acked_per_inc: f64::INFINITY,
        }
    }
}

impl Cycle {
    /// Later acknowledgments say nothing about a probe.
    pub fn stop(&mut self) {
        self.ack_phase = AckPhase::ProbeStopping;
    }
}

impl Bbr3Draft {
    /// `UpdateProbeBWCyclePhase` (§5.3.3.9).
    pub(super) fn update_probe_bw_cycle_phase(&mut self, flight: &Flight, sample: &RateSample, rs: &DeliverySample) {
        if !self.full_bw_reached || self.adapt_long_term_model(flight, sample, rs) {
            return;
        }
        match self.state {
            Mode::ProbeBwDown | Mode::ProbeBwCruise if self.is_time_to_probe_bw(flight) => {
                self.start_probe_bw_refill(flight);
            }
            Mode::ProbeBwDown if self.is_time_to_cruise(flight) => self.state = Mode::ProbeBwCruise,
            Mode::ProbeBwRefill if self.round_start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_probe_bw_up(flight, rs);
            }
            Mode::ProbeBwUp => self.judge_probe_bw_up(flight, rs),
            _ => {}
        }
    }

    fn is_time_to_cruise(&self, flight: &Flight) -> bool {
        let in_flight = f64::from(flight.in_flight);
        in_flight <= self.bounds.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw)
    }

    fn judge_probe_bw_up(&mut self, flight: &Flight, rs: &DeliverySample) {
        if self.is_time_to_go_down(flight, rs) {
            self.cycle.prev_probe_too_high = false;
            self.start_probe_bw_down(flight);
        }
    }

    fn is_time_to_go_down(&mut self, flight: &Flight, rs: &DeliverySample) -> bool {
        if self.cycle.prev_probe_too_high && f64::from(flight.in_flight) >= self.bounds.inflight_longterm {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if flight.is_cwnd_limited && self.cwnd >= self.bounds.inflight_longterm {
            self.reset_full_bw(rs.delivery_rate);
            return false;
        }
        self.full_bw_now
    }

    fn is_time_to_probe_bw(&self, flight: &Flight) -> bool {
        flight.now > self.cycle.cycle_stamp + self.cycle.bw_probe_wait
            || f64::from(self.cycle.rounds_since_probe_up) >= self.target_inflight().min(MAX_ROUNDS)
    }

    /// `AdaptLongTermModel`. Returns whether a new phase has begun.
    fn adapt_long_term_model(&mut self, flight: &Flight, sample: &RateSample, rs: &DeliverySample) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.cycle.is_bw_probe_sample = false;
            self.cycle.ack_phase = AckPhase::Init;
            if self.state.is_probe_bw() && !sample.is_app_limited {
                self.cycle_count += 1;
            }
            let goes_on = self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high;
            if self.state.is_probe_bw() && goes_on {
                self.start_probe_bw_refill(flight);
                return true;
            }
        }
        if !is_too_high(sample.lost, sample.tx_in_flight) && self.bounds.inflight_longterm.is_finite() {
            self.bounds.inflight_longterm = self.bounds.inflight_longterm.max(sample.tx_in_flight.into());
            if self.state == Mode::ProbeBwUp {
                self.probe_inflight_longterm_upward(flight, rs);
            }
        }
        false
    }

    fn probe_inflight_longterm_upward(&mut self, flight: &Flight, rs: &DeliverySample) {
        if !flight.is_cwnd_limited || self.cwnd < self.bounds.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.bw_probe_up_acked += rs.newly_acked;
        if cycle.bw_probe_up_acked >= cycle.probe_up_acked_per_inc {
            let delta = (cycle.bw_probe_up_acked / cycle.probe_up_acked_per_inc).floor();
            cycle.bw_probe_up_acked -= delta * cycle.probe_up_acked_per_inc;
            self.bounds.inflight_longterm += delta;
        }
        if self.round_start {
            self.raise_inflight_longterm_slope();
        }
    }

    fn raise_inflight_longterm_slope(&mut self) {
        let growth_this_round = (1u32 << self.cycle.bw_probe_up_rounds) as f64;
        self.cycle.bw_probe_up_rounds = (self.cycle.bw_probe_up_rounds + 1).min(30);
        self.cycle.probe_up_acked_per_inc = (self.cwnd / growth_this_round).max(1.0);
    }

    pub(super) fn start_probe_bw_down(&mut self, flight: &Flight) {
        self.bounds.reset_congestion_signals();
        self.cycle.probe_up_acked_per_inc = f64::INFINITY;
        self.cycle.rounds_since_probe_up = self.rng.below(2) as u32;
        self.cycle.bw_probe_wait = BASE_WAIT + Duration::from_micros(self.rng.below(RANDOM_WAIT_US) as i64);
        self.cycle.cycle_stamp = flight.now;
        self.cycle.stop();
        self.start_round(flight);
        self.state = Mode::ProbeBwDown;
    }

    pub(super) fn start_probe_bw_refill(&mut self, flight: &Flight) {
        self.bounds.reset_short_term();
        (self.cycle.bw_probe_up_rounds, self.cycle.bw_probe_up_acked) = (0, 0.0);
        self.cycle.prev_probe_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.start_round(flight);
        self.state = Mode::ProbeBwRefill;
    }

    fn start_probe_bw_up(&mut self, flight: &Flight, rs: &DeliverySample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.start_round(flight);
        self.reset_full_bw(rs.delivery_rate);
        self.state = Mode::ProbeBwUp;
        self.raise_inflight_longterm_slope();
    }
}

const MAX_ROUNDS: f64 = 63.0;
const BASE_WAIT: Duration = Duration::from_secs(2);
const RANDOM_WAIT_US: u64 = 1_000_000;
