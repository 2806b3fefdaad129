//! BBR version 1: paces at the estimated bottleneck bandwidth and keeps twice the bandwidth-delay product in flight.
//!
//! Source: Linux 6.1 `tcp_bbr.c`, with its names, integers and order; N. Cardwell et al., "BBR: Congestion-Based
//! Congestion Control", ACM Queue 14 (2016). Pacing is TCP's internal pacing (`pacing.rs`). Policers are detected in
//! `lt.rs`.
//!
//! Differs: the phase in which PROBE_BW begins is drawn from the simulation's random stream.
//!
//! # When to use
//!
//! For what much of the web sends. BBR follows the delivery rate instead of losses: alone it keeps the queue almost
//! empty; several flows together queue up to a bandwidth-delay product. Against CUBIC it takes more than its share of a
//! shallow buffer and less of a deep one. It ignores ECN marks.

pub(super) mod aggregation;
mod lt;
pub(super) mod pacer;
pub(super) mod probe_rtt;
#[cfg(test)]
mod tests;
pub(super) mod units;

use super::{BurstSize, CongestionControl, Constant, ControlDocs, Flight, Needs, SteeringControl, Window};
use crate::micros_at;
use crate::min_filter::MaxFilter;
use crate::rate_sample::RateSample;
use crate::stack::Stack;
use crate::state::CaState;
use crate::{Clock, Ticks};
use aggregation::{AckAggregation, EXTRA_ACKED_ROUNDS, Round};
use lt::LongTermBw;
use pacer::{PacingRate, packets_in_net_at_edt};
use probe_rtt::{ProbeRtt, ProbeRttState};
use sojourn_aqm::{Duration, Rate, Rng};
use units::{BW_UNIT, MARGIN_PERCENT, MAX_BURST, PACING_SHIFT, SCALE, UNIT, bdp, micros, valid};

/// BBR as in Linux 6.1.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    clock: Clock,
    rng: Rng,
    /// Maximum delivery rate of the last ten rounds, in packets per 2^-24 µs.
    bw: MaxFilter,
    /// Number of rounds.
    rtt_cnt: u64,
    /// The round ends with the first sample of a packet that was sent after this many packets were delivered.
    next_rtt_delivered: u64,
    round_start: bool,
    /// Minimum RTT of the last ten seconds, in microseconds.
    min_rtt_us: Option<u64>,
    /// Tick at which the minimum RTT expires.
    min_rtt_until: Ticks,
    probe_rtt: ProbeRtt<Ticks>,
    /// Data was sent after idle, and none of it has been delivered yet.
    idle_restart: bool,
    /// Index in the gain cycle, and start of the current phase.
    cycle_idx: usize,
    cycle_us: u64,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Bandwidth at the last growth by at least a quarter.
    full_bw: u64,
    full_bw_cnt: u32,
    full_bw_reached: bool,
    lt: LongTermBw,
    prev_state: CaState,
    /// In the first round of recovery the sender sends only as much as is delivered.
    packet_conservation: bool,
    /// Window before recovery or PROBE_RTT.
    prior_cwnd: u32,
    extra: AckAggregation,
    /// Pacing rate, in bytes per second.
    pacer: PacingRate<HIGH_GAIN, 0>,
}

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round to find the bandwidth.
    Startup,
    /// Drains the queue that STARTUP built.
    Drain,
    /// Cycles through the gains: one phase above, one below and six at the estimated bandwidth.
    ProbeBw,
    /// Four packets in flight, to measure the RTT without a queue.
    ProbeRtt,
}

impl Default for Bbr {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            clock: Clock::new(Duration::from_millis(1)),
            rng: Rng::stream(0, "bbr", 0),
            bw: MaxFilter::new(BW_ROUNDS),
            rtt_cnt: 0,
            next_rtt_delivered: 0,
            round_start: false,
            min_rtt_us: None,
            min_rtt_until: 0,
            probe_rtt: ProbeRtt::default(),
            idle_restart: false,
            cycle_idx: 0,
            cycle_us: 0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            full_bw: 0,
            full_bw_cnt: 0,
            full_bw_reached: false,
            lt: LongTermBw::default(),
            prev_state: CaState::Open,
            packet_conservation: false,
            prior_cwnd: 0,
            extra: AckAggregation::default(),
            pacer: PacingRate::default(),
        }
    }
}

impl ControlDocs for Bbr {
    const SOURCE: &'static str = "Linux 6.1 tcp_bbr.c; N. Cardwell et al., ACM Queue 14 (2016)";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("bbr_high_gain", HIGH_GAIN, "/ 256", "Gain of rate and window in STARTUP."),
        Constant::new("bbr_drain_gain", DRAIN_GAIN, "/ 256", "Gain of the rate in DRAIN."),
        Constant::new("bbr_cwnd_gain", CWND_GAIN, "/ 256", "Gain of the window in PROBE_BW."),
        Constant::new(
            "bbr_pacing_gain[0]",
            CYCLE[0],
            "/ 256",
            "Gain of the rate in the phase of PROBE_BW that probes for more bandwidth.",
        ),
        Constant::new(
            "bbr_pacing_gain[1]",
            CYCLE[1],
            "/ 256",
            "Gain of the rate in the phase that drains the resulting queue; the other six phases have a gain of one.",
        ),
        Constant::new("bbr_bw_rtts", BW_ROUNDS, "rounds", "Window of the maximum filter of the delivery rate."),
        Constant::new(
            "bbr_min_rtt_win_sec",
            MIN_RTT_WINDOW.as_nanos() as u64 / 1_000_000_000,
            "s",
            "Window of the minimum filter of the RTT; when it expires, PROBE_RTT starts.",
        ),
        Constant::new(
            "bbr_probe_rtt_mode_ms",
            PROBE_RTT_TIME.as_nanos() as u64 / 1_000_000,
            "ms",
            "Minimum time in PROBE_RTT, in addition to one round.",
        ),
        Constant::new("bbr_cwnd_min_target", MIN_CWND as u64, "packets", "Window in PROBE_RTT, and minimum window."),
        Constant::new(
            "bbr_full_bw_thresh",
            FULL_BW_THRESH,
            "/ 256",
            "Growth of the rate within three rounds below which STARTUP ends.",
        ),
        Constant::new(
            "bbr_pacing_margin_percent",
            MARGIN_PERCENT,
            "%",
            "Margin by which the pacing rate stays below gain times bandwidth.",
        ),
        Constant::new(
            "bbr_extra_acked_win_rtts",
            EXTRA_ACKED_ROUNDS as u64,
            "rounds",
            "Half the window of the maximum filter of excess acknowledgments, which widen the congestion window.",
        ),
        Constant::new(
            "bbr_lt_loss_thresh",
            lt::LOSS_THRESH,
            "/ 256",
            "Loss ratio at which two intervals of equal rate are taken for a policer.",
        ),
    ];
}

impl CongestionControl for Bbr {
    fn needs(&self) -> Needs {
        Needs { steers: true, paces: true, wide_buffer: true, long_recovery: true, ..Needs::default() }
    }

    fn attach(&mut self, stack: &Stack, _: bool) {
        self.clock = stack.clock();
    }

    fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn burst(&self, rate: Option<Rate>) -> BurstSize {
        BurstSize::AtLeast(min_tso_segs(rate.map_or(u64::MAX, |rate| rate.as_bps() / 8)))
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for Bbr {
    fn on_established(&mut self, flight: &mut Flight) {
        self.next_rtt_delivered = flight.delivered;
        self.min_rtt_us = flight.min_rtt.map(micros);
        self.min_rtt_until = self.min_rtt_lasts(self.clock.ticks(flight.now));
        self.extra.restart(flight.now);
        self.lt.restart(flight);
        self.pacer.start(flight);
    }

    /// `bbr_main`: called for each acknowledgment.
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.update_bw(flight, sample);
        let bw = self.bw();
        let round = Round { bw, starts: self.round_start, window: EXTRA_ACKED_ROUNDS };
        self.extra.update(flight, sample, round);
        self.update_cycle_phase(flight, sample);
        self.check_full_bw_reached(sample);
        self.check_drain(flight);
        self.update_min_rtt(flight, sample);
        self.update_gains();
        self.pacer.set(flight, bw, self.pacing_gain, self.full_bw_reached);
        self.set_cwnd(flight, sample, bw);
    }

    fn before_reduction(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
    }

    /// `bbr_set_state`.
    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        if state == CaState::Loss {
            self.prev_state = CaState::Loss;
            self.full_bw = 0;
            self.round_start = true;
            // A time-out counts as one loss for policer detection, as in the kernel.
            let lost = RateSample { losses: 1, ..RateSample::default() };
            self.sample_long_term(flight, &lost);
        }
    }

    /// `bbr_cwnd_event` for `CA_EVENT_TX_START`.
    fn on_restart(&mut self, flight: &mut Flight) {
        // Applies after an idle application only; a flow limited by its window keeps its rate.
        if !flight.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra.restart(flight.now);
        match self.mode {
            // Restarts at the estimated bandwidth: a gain above 1 would send a burst into an idle path.
            Mode::ProbeBw => self.pace(flight, UNIT),
            Mode::ProbeRtt => self.check_probe_rtt_done(flight),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// `bbr_undo_cwnd`: the loss was spurious, so the search for the bandwidth restarts.
    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        (self.full_bw, self.full_bw_cnt) = (0, 0);
        self.lt.reset();
        window.cwnd
    }
}

impl Bbr {
    /// Bandwidth that the model uses.
    fn bw(&self) -> u64 {
        self.lt.in_use().unwrap_or(self.bw.maximum())
    }

    fn update_bw(&mut self, flight: &Flight, sample: &RateSample) {
        self.round_start = false;
        let Some((delivered, interval_us)) = valid(sample) else { return };
        if sample.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = flight.delivered;
            self.rtt_cnt += 1;
            self.round_start = true;
            // One round of recovery is over: slow start towards the target is allowed again.
            self.packet_conservation = false;
        }
        self.sample_long_term(flight, sample);
        let bw = delivered * BW_UNIT / interval_us;
        // An application-limited sample underestimates the bandwidth, so it counts only if it raises the maximum.
        if !sample.is_app_limited || bw >= self.bw.maximum() {
            self.bw.observe(self.rtt_cnt, bw);
        }
    }

    fn update_cycle_phase(&mut self, flight: &Flight, sample: &RateSample) {
        if self.mode == Mode::ProbeBw && self.is_next_cycle_phase(flight, sample) {
            self.advance_cycle_phase(flight);
        }
    }

    /// Whether the current gain phase is complete.
    fn is_next_cycle_phase(&self, flight: &Flight, sample: &RateSample) -> bool {
        let length = micros_at(flight.delivered_at).saturating_sub(self.cycle_us);
        let full = self.min_rtt_us.is_some_and(|min_rtt| length > min_rtt);
        let bw = self.bw.maximum();
        let in_network = || self.packets_in_net_at_edt(flight, sample.prior_in_flight);
        match self.pacing_gain {
            UNIT => full,
            // Probes until the flight has grown to the gain, or losses show that the buffer does not hold it.
            gain if gain > UNIT => full && (sample.losses > 0 || in_network() >= self.inflight(flight, bw, gain)),
            // Drains at most one minimum RTT, less if the queue is empty before.
            _ => full || in_network() <= self.inflight(flight, bw, UNIT),
        }
    }

    fn advance_cycle_phase(&mut self, flight: &Flight) {
        self.cycle_idx = (self.cycle_idx + 1) % CYCLE.len();
        self.cycle_us = micros_at(flight.delivered_at);
    }

    /// PROBE_BW begins in any phase except the one with the low gain.
    fn reset_probe_bw_mode(&mut self, flight: &Flight) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = CYCLE.len() - 1 - self.rng.below(CYCLE_RAND) as usize;
        self.advance_cycle_phase(flight);
    }

    fn reset_mode(&mut self, flight: &Flight) {
        match self.full_bw_reached {
            true => self.reset_probe_bw_mode(flight),
            false => self.mode = Mode::Startup,
        }
    }

    fn check_full_bw_reached(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.round_start || sample.is_app_limited {
            return;
        }
        let bw = self.bw.maximum();
        if bw >= (self.full_bw * FULL_BW_THRESH) >> SCALE {
            (self.full_bw, self.full_bw_cnt) = (bw, 0);
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_ROUNDS;
    }

    fn check_drain(&mut self, flight: &mut Flight) {
        let estimate = |bbr: &Self, flight: &Flight| bbr.inflight(flight, bbr.bw.maximum(), UNIT);
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            flight.window.ssthresh = estimate(self, flight);
        }
        if self.mode == Mode::Drain && self.packets_in_net_at_edt(flight, flight.in_flight) <= estimate(self, flight) {
            self.reset_probe_bw_mode(flight);
        }
    }

    /// Expiry of a minimum RTT that was measured, or confirmed, at `now`.
    fn min_rtt_lasts(&self, now: Ticks) -> Ticks {
        now + self.clock.ticks_at_least_one(MIN_RTT_WINDOW)
    }

    fn update_min_rtt(&mut self, flight: &mut Flight, sample: &RateSample) {
        let now = self.clock.ticks(flight.now);
        let expired = now > self.min_rtt_until;
        if let Some(rtt) = sample.rtt.map(micros) {
            // A delayed acknowledgment must not replace an expired minimum: its RTT includes the delay timer.
            if self.min_rtt_us.is_none_or(|min_rtt| rtt < min_rtt) || (expired && !sample.is_ack_delayed) {
                (self.min_rtt_us, self.min_rtt_until) = (Some(rtt), self.min_rtt_lasts(now));
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(flight.window.cwnd);
            self.probe_rtt.begin();
        }
        if self.mode == Mode::ProbeRtt {
            // Samples of a flight of four packets must not lower the bandwidth estimate.
            flight.mark_app_limited();
            let is_small = flight.in_flight <= MIN_CWND;
            match self.probe_rtt.advance(
                is_small,
                now + self.clock.ticks_at_least_one(PROBE_RTT_TIME),
                self.round_start,
            ) {
                ProbeRttState::Waiting => {}
                ProbeRttState::Drained => self.next_rtt_delivered = flight.delivered,
                ProbeRttState::RoundDone => self.check_probe_rtt_done(flight),
            }
        }
        // After idle the RTT needs no probing until data is delivered.
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, flight: &mut Flight) {
        let now = self.clock.ticks(flight.now);
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.min_rtt_until = self.min_rtt_lasts(now);
        flight.window.cwnd = flight.window.cwnd.max(self.prior_cwnd);
        self.reset_mode(flight);
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.lt.in_use().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (CYCLE[self.cycle_idx], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn pace(&mut self, flight: &mut Flight, gain: u64) {
        self.pacer.set(flight, self.bw(), gain, self.full_bw_reached);
    }

    fn set_cwnd(&mut self, flight: &mut Flight, sample: &RateSample, bw: u64) {
        let acked = sample.acked_sacked;
        if acked > 0 && !self.recover_or_restore(flight, sample) {
            let extra = if self.full_bw_reached { self.extra.cwnd(bw) } else { 0 };
            let target = self.bdp(bw, self.cwnd_gain) + extra;
            let target = self.quantized(flight.window.mss, target);
            let window = &mut flight.window;
            if self.full_bw_reached {
                window.cwnd = (window.cwnd + acked).min(target);
            // Until the pipe is full the window never shrinks to the target.
            } else if window.cwnd < target || flight.delivered < INITIAL_CWND as u64 {
                window.cwnd += acked;
            }
            window.cwnd = window.cwnd.max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            flight.window.cwnd = flight.window.cwnd.min(MIN_CWND);
        }
    }

    /// Subtracts losses from the window and restores it after recovery. Returns whether the window is final.
    fn recover_or_restore(&mut self, flight: &mut Flight, sample: &RateSample) -> bool {
        let (acked, in_flight, state) = (sample.acked_sacked, flight.in_flight, flight.state);
        let cwnd = &mut flight.window.cwnd;
        *cwnd = cwnd.saturating_sub(sample.losses).max(1);
        let prior = std::mem::replace(&mut self.prev_state, state);
        if state == CaState::Recovery && prior != CaState::Recovery {
            self.packet_conservation = true;
            self.next_rtt_delivered = flight.delivered;
            // Packet conservation: sends one packet per delivered packet for the first round.
            *cwnd = in_flight + acked;
        } else if prior >= CaState::Recovery && state < CaState::Recovery {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        if self.packet_conservation {
            *cwnd = (*cwnd).max(in_flight + acked);
        }
        self.packet_conservation
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        self.prior_cwnd = match self.prev_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            true => cwnd,
            false => self.prior_cwnd.max(cwnd),
        };
    }

    /// In-flight target for a bandwidth, with a quantization budget for bursts.
    fn inflight(&self, flight: &Flight, bw: u64, gain: u64) -> u32 {
        self.quantized(flight.window.mss, self.bdp(bw, gain))
    }

    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        self.min_rtt_us.map_or(INITIAL_CWND, |min_rtt| bdp(bw, min_rtt, gain))
    }

    /// Adds room for one burst each at the sender, in the network and at the receiver, and rounds up to an even number.
    fn quantized(&self, mss: u32, cwnd: u32) -> u32 {
        let even = (cwnd + 3 * self.tso_segs_goal(mss) + 1) & !1;
        even + if self.mode == Mode::ProbeBw && self.cycle_idx == 0 { 2 } else { 0 }
    }

    fn tso_segs_goal(&self, mss: u32) -> u32 {
        let bytes = (self.pacer.rate() >> PACING_SHIFT).min(MAX_BURST);
        ((bytes / mss as u64) as u32).max(min_tso_segs(self.pacer.rate())).min(0x7f)
    }

    fn packets_in_net_at_edt(&self, flight: &Flight, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > UNIT { self.tso_segs_goal(flight.window.mss) } else { 0 };
        packets_in_net_at_edt(flight, in_flight, burst, self.bw())
    }
}

fn min_tso_segs(bytes_per_s: u64) -> u32 {
    if bytes_per_s < MIN_TSO_RATE { 1 } else { 2 }
}

/// 2 / ln 2: minimum gain that doubles the rate each round.
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = UNIT * 2;
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
const CYCLE_RAND: u64 = 7;
/// Window of the maximum bandwidth, in rounds.
const BW_ROUNDS: u64 = CYCLE.len() as u64 + 2;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_CWND: u32 = 4;
/// Linux `TCP_INIT_CWND`.
const INITIAL_CWND: u32 = 10;
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// Pacing rate in bytes per second below which a burst is one segment (1.2 Mbit/s).
const MIN_TSO_RATE: u64 = 1_200_000 / 8;
