//! BBR version 3 as in the IETF draft, in floating point.
//!
//! Source: draft-ietf-ccwg-bbr-06, with its names and its order of steps; functions cite their sections. The ProbeBW
//! cycle is in `cycle.rs`, the model of losses in `bounds.rs`. Data is counted in full segments.
//!
//! Differs: SACK is assumed. If the draft is vague, this holds: the loss rate that ends Startup (§5.3.1.3) is checked
//! at the end of a loss round; a tail loss probe that repaired a loss counts as a loss of its round; `TargetInflight`
//! is compared with 63 rounds in segments; `probe_rtt_min_delay` starts as `min_rtt`. The draft defines no response to
//! ECN marks and requires one for ECN use, so ECN is not negotiated.
//!
//! # When to use
//!
//! To study the future standard. Compared with `bbr3@google` it drains more slowly after Startup (half of the rate
//! instead of a third), leaves Drain after at most three rounds, counts a plateau once per round, and returns to
//! Startup or to its probe if the loss that ended it was spurious.

mod bounds;
mod cycle;
#[cfg(test)]
mod tests;

use super::bbr::probe_rtt::{ProbeRtt, ProbeRttState};
use super::{BurstSize, CongestionControl, Constant, ControlDocs, Flight, LostSegment, Needs, SteeringControl, Window};
use crate::rate_sample::RateSample;
use crate::state::CaState;
use bounds::Bounds;
use cycle::Cycle;
use sojourn_aqm::{Duration, Instant, Rate, Rng};

/// BBR, version 3, as in the draft.
#[derive(Clone, Debug)]
pub struct Bbr3Draft {
    state: Mode,
    rng: Rng,
    /// In segments; the sender's window is the integer part.
    cwnd: f64,
    initial_cwnd: f64,
    mss: u32,
    /// In segments per second.
    pacing_rate: f64,
    /// In segments per burst.
    send_quantum: f64,
    /// Bandwidth that the model uses, in segments per second.
    bw: f64,
    max_bw: f64,
    /// Maximum bandwidth of the last two cycles with samples, with the number of the cycle.
    max_bw_filter: [(u64, f64); 2],
    cycle_count: u64,
    /// Minimum RTT of the last ten seconds, in seconds.
    min_rtt: f64,
    min_rtt_stamp: Instant,
    /// Minimum RTT of the last five seconds, in seconds.
    probe_rtt_min_delay: f64,
    probe_rtt_min_stamp: Instant,
    probe_rtt_expired: bool,
    probe_rtt: ProbeRtt<Instant>,
    /// The round ends with the first sample of a packet that was sent after this many packets were delivered.
    next_round_delivered: u64,
    round_count: u64,
    round_start: bool,
    drain_start_round: u64,
    idle_restart: bool,
    full_bw: f64,
    full_bw_count: u32,
    /// Bandwidth has not grown for three rounds.
    full_bw_now: bool,
    /// Bandwidth has plateaued at least once since the start.
    full_bw_reached: bool,
    // Boxed, so that senders with other controls do not become larger.
    bounds: Box<Bounds>,
    cycle: Cycle,
    /// Window before recovery or ProbeRTT.
    prior_cwnd: f64,
    in_recovery: bool,
    has_seen_rtt: bool,
    extra_acked_interval_start: Instant,
    extra_acked_delivered: f64,
    /// Maximum excess of acknowledged data in each of the last ten rounds.
    extra_acked_filter: Box<[f64; EXTRA_ACKED_ROUNDS]>,
}

/// State of BBR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBwDown,
    ProbeBwCruise,
    ProbeBwRefill,
    ProbeBwUp,
    ProbeRtt,
}

impl Mode {
    fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// Pacing gain and window gain (§5.6.1).
    fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, DEFAULT_CWND_GAIN),
            Self::Drain => (DRAIN_PACING_GAIN, DEFAULT_CWND_GAIN),
            Self::ProbeBwDown => (DOWN_PACING_GAIN, DEFAULT_CWND_GAIN),
            Self::ProbeBwCruise | Self::ProbeBwRefill => (1.0, DEFAULT_CWND_GAIN),
            Self::ProbeBwUp => (UP_PACING_GAIN, UP_CWND_GAIN),
            Self::ProbeRtt => (1.0, PROBE_RTT_CWND_GAIN),
        }
    }
}

/// Rate sample of an acknowledgment in the draft's units (`RS`).
#[derive(Clone, Copy, Debug)]
struct DeliverySample {
    /// In segments per second; zero without a reliable sample.
    delivery_rate: f64,
    /// In segments; zero without a sample.
    delivered: f64,
    newly_acked: f64,
}

impl DeliverySample {
    fn of(sample: &RateSample) -> Self {
        let delivered = sample.delivered.map_or(0.0, f64::from);
        let interval = sample.interval.map_or(0.0, seconds);
        let delivery_rate = if interval > 0.0 { delivered / interval } else { 0.0 };
        Self { delivery_rate, delivered, newly_acked: sample.acked_sacked.into() }
    }
}

impl Default for Bbr3Draft {
    fn default() -> Self {
        Self {
            state: Mode::Startup,
            rng: Rng::stream(0, "bbr3", 0),
            cwnd: 0.0,
            initial_cwnd: 0.0,
            mss: 0,
            pacing_rate: 0.0,
            send_quantum: MIN_QUANTUM,
            bw: 0.0,
            max_bw: 0.0,
            max_bw_filter: [(0, 0.0); 2],
            cycle_count: 0,
            min_rtt: f64::INFINITY,
            min_rtt_stamp: Instant::ZERO,
            probe_rtt_min_delay: f64::INFINITY,
            probe_rtt_min_stamp: Instant::ZERO,
            probe_rtt_expired: false,
            probe_rtt: ProbeRtt::default(),
            next_round_delivered: 0,
            round_count: 0,
            round_start: false,
            drain_start_round: 0,
            idle_restart: false,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            bounds: Box::default(),
            cycle: Cycle::default(),
            prior_cwnd: 0.0,
            in_recovery: false,
            has_seen_rtt: false,
            extra_acked_interval_start: Instant::ZERO,
            extra_acked_delivered: 0.0,
            extra_acked_filter: Box::new([0.0; EXTRA_ACKED_ROUNDS]),
        }
    }
}

impl ControlDocs for Bbr3Draft {
    const SOURCE: &'static str = "draft-ietf-ccwg-bbr-06";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("StartupPacingGain", 277, "%", "Gain of the rate in Startup."),
        Constant::new("DrainPacingGain", 50, "%", "Gain of the rate in Drain."),
        Constant::new("DefaultCwndGain", 200, "%", "Gain of the window, except in ProbeBW_UP and ProbeRTT."),
        Constant::new("ProbeBW_UP pacing gain", 125, "%", "Gain of the rate while probing for more bandwidth."),
        Constant::new("ProbeBW_UP cwnd gain", 225, "%", "Gain of the window while probing for more bandwidth."),
        Constant::new("ProbeBW_DOWN pacing gain", 90, "%", "Gain of the rate while draining the resulting queue."),
        Constant::new("ProbeRTTCwndGain", 50, "%", "Gain of the window in ProbeRTT."),
        Constant::new(
            "PacingMarginPercent",
            1,
            "%",
            "Margin by which the pacing rate stays below gain times bandwidth.",
        ),
        Constant::new("LossThresh", 2, "%", "Loss ratio of a flight above which loss is excessive."),
        Constant::new("BBRStartupFullLossCnt", 6, "ranges", "Lost ranges of a round that may end Startup."),
        Constant::new("Beta", 70, "%", "Factor to which losses lower the bounds at most."),
        Constant::new("Headroom", 15, "%", "Headroom left free while not probing."),
        Constant::new("MinPipeCwnd", 4, "segments", "Minimum window."),
        Constant::new("MinRTTFilterLen", 10, "s", "Window of the minimum filter of the RTT."),
        Constant::new("ProbeRTTInterval", 5, "s", "Time without a lower RTT after which ProbeRTT starts."),
        Constant::new("ProbeRTTDuration", 200, "ms", "Minimum time in ProbeRTT, in addition to one round."),
        Constant::new("MaxBwFilterLen", 2, "cycles", "Window of the maximum filter of the delivery rate."),
        Constant::new(
            "ExtraAckedFilterLen",
            EXTRA_ACKED_ROUNDS as u64,
            "rounds",
            "Window of the maximum filter of excess acknowledgments.",
        ),
    ];
}

impl CongestionControl for Bbr3Draft {
    fn needs(&self) -> Needs {
        Needs { steers: true, losses: true, paces: true, ..Needs::default() }
    }

    fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn burst(&self, _: Option<Rate>) -> BurstSize {
        BurstSize::Exactly(self.send_quantum as u32)
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for Bbr3Draft {
    /// `OnInit` (§5.2.1).
    fn on_established(&mut self, flight: &mut Flight) {
        self.cwnd = flight.window.cwnd.into();
        (self.initial_cwnd, self.mss) = (self.cwnd, flight.window.mss);
        if flight.srtt > Duration::ZERO {
            self.min_rtt = seconds(flight.srtt);
        }
        self.probe_rtt_min_delay = self.min_rtt;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (flight.now, flight.now);
        self.extra_acked_interval_start = flight.now;
        self.init_pacing_rate(flight);
    }

    /// `UpdateOnACK` (§5.2.3).
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        let rs = DeliverySample::of(sample);
        self.finish_undo(flight);
        self.update_latest_delivery_signals(flight, sample, &rs);
        self.update_congestion_signals(flight, sample, &rs);
        self.update_ack_aggregation(flight, &rs);
        self.check_full_bw_reached(sample, &rs);
        self.check_startup_done(flight, sample);
        self.check_drain_done(flight);
        self.update_probe_bw_cycle_phase(flight, sample, &rs);
        self.update_min_rtt(flight, sample);
        self.check_probe_rtt(flight, &rs);
        self.advance_latest_delivery_signals(&rs);
        self.bw = self.max_bw.min(self.bounds.bw_shortterm);
        self.set_pacing_rate(flight, self.state.gains().0);
        self.send_quantum = (self.pacing_rate * QUANTUM_S).min(MAX_QUANTUM / f64::from(self.mss)).max(MIN_QUANTUM);
        self.set_cwnd(flight, &rs);
        self.in_recovery = flight.state >= CaState::Recovery;
    }

    fn before_reduction(&mut self, _: &Window) {
        self.save_state_upon_loss();
    }

    /// `HandleLostPacket` (§5.5.10.2).
    fn on_loss(&mut self, flight: &mut Flight, loss: &LostSegment) {
        self.note_loss(flight);
        self.bounds.count_range(loss);
        self.judge_lost(flight, loss);
    }

    fn probe_repaired(&mut self, flight: &mut Flight, _: bool) {
        self.note_loss(flight);
    }

    /// Entering and leaving recovery (§5.6.4.4).
    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        if state == CaState::Loss {
            // The stack has set the window to one segment more than the data in flight.
            self.cwnd = flight.window.cwnd.into();
            self.in_recovery = true;
        } else if self.in_recovery && state < CaState::Recovery {
            self.restore_cwnd();
            flight.window.cwnd = self.cwnd as u32;
            self.in_recovery = false;
        }
    }

    /// `HandleRestartFromIdle` (§5.4.1).
    fn on_restart(&mut self, flight: &mut Flight) {
        if flight.in_flight > 0 || !flight.is_app_limited {
            return;
        }
        self.idle_restart = true;
        // Differs: the draft sets only the start of the interval. Data delivered before the pause would then count as
        // delivered after it, and the window of an application that pauses would grow with each pause. Linux resets
        // both, too.
        (self.extra_acked_delivered, self.extra_acked_interval_start) = (0.0, flight.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(flight, 1.0);
        } else if self.state == Mode::ProbeRtt {
            self.check_probe_rtt_done(flight);
            flight.window.cwnd = self.cwnd as u32;
        }
    }

    /// `HandleSpuriousLossDetection` (§5.5.11.2).
    fn undo_cwnd(&mut self, _: &Window) -> u32 {
        self.restore_cwnd();
        self.reset_full_bw(0.0);
        self.bounds.undo();
        self.cwnd as u32
    }
}

impl Bbr3Draft {
    fn start_round(&mut self, flight: &Flight) {
        self.next_round_delivered = flight.delivered;
    }

    /// `UpdateMaxBw`, `UpdateRound` (§5.5.1, §5.5.5).
    fn update_max_bw(&mut self, flight: &Flight, sample: &RateSample, rs: &DeliverySample) {
        self.round_start = sample.delivered.is_some() && sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round(flight);
            self.round_count += 1;
            self.cycle.rounds_since_probe_up += 1;
            self.extra_acked_filter[(self.round_count % EXTRA_ACKED_ROUNDS as u64) as usize] = 0.0;
        }
        let rate = rs.delivery_rate;
        if rate > 0.0 && (rate >= self.max_bw || !sample.is_app_limited) {
            let slot = &mut self.max_bw_filter[(self.cycle_count % 2) as usize];
            let best = if slot.0 == self.cycle_count { slot.1.max(rate) } else { rate };
            *slot = (self.cycle_count, best);
            let within = |&(cycle, _): &&(u64, f64)| cycle + 1 >= self.cycle_count;
            self.max_bw = self.max_bw_filter.iter().filter(within).fold(0.0, |max, slot| slot.1.max(max));
        }
    }

    /// `UpdateACKAggregation` (§5.5.9).
    fn update_ack_aggregation(&mut self, flight: &Flight, rs: &DeliverySample) {
        let mut expected = self.bw * seconds(flight.now - self.extra_acked_interval_start);
        if self.extra_acked_delivered <= expected {
            (self.extra_acked_delivered, self.extra_acked_interval_start, expected) = (0.0, flight.now, 0.0);
        }
        self.extra_acked_delivered += rs.newly_acked;
        let extra = (self.extra_acked_delivered - expected).min(self.cwnd);
        let slot = &mut self.extra_acked_filter[(self.round_count % EXTRA_ACKED_ROUNDS as u64) as usize];
        *slot = slot.max(extra);
    }

    /// Maximum excess of the last ten rounds; until the pipe is full, of this round.
    fn extra_acked(&self) -> f64 {
        match self.full_bw_reached {
            true => self.extra_acked_filter.iter().fold(0.0, |most, &extra| extra.max(most)),
            false => self.extra_acked_filter[(self.round_count % EXTRA_ACKED_ROUNDS as u64) as usize],
        }
    }

    /// `CheckFullBWReached` (§5.3.1.2).
    fn check_full_bw_reached(&mut self, sample: &RateSample, rs: &DeliverySample) {
        if self.full_bw_now || !self.round_start || sample.is_app_limited {
            return;
        }
        if rs.delivery_rate >= self.full_bw * 1.25 {
            return self.reset_full_bw(rs.delivery_rate);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= 3;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn reset_full_bw(&mut self, full_bw: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (full_bw, 0, false);
    }

    /// `CheckStartupDone` (§5.3.1.1).
    fn check_startup_done(&mut self, flight: &Flight, sample: &RateSample) {
        self.check_startup_high_loss(flight, sample);
        if self.state == Mode::Startup && self.full_bw_reached {
            self.state = Mode::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    /// `CheckDrainDone` (§5.3.2).
    fn check_drain_done(&mut self, flight: &Flight) {
        let is_drained = || f64::from(flight.in_flight) <= self.inflight(self.bw);
        if self.state == Mode::Drain && (is_drained() || self.round_count > self.drain_start_round + 3) {
            self.start_probe_bw_down(flight);
        }
    }

    /// `UpdateMinRTT` (§5.3.4.3).
    fn update_min_rtt(&mut self, flight: &Flight, sample: &RateSample) {
        self.probe_rtt_expired = flight.now > self.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt.map(seconds) {
            if rtt < self.probe_rtt_min_delay || self.probe_rtt_expired {
                (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, flight.now);
            }
        }
        let expired = flight.now > self.min_rtt_stamp + MIN_RTT_FILTER_LEN;
        if self.probe_rtt_min_delay < self.min_rtt || expired {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
    }

    /// `CheckProbeRTT`, `HandleProbeRTT` (§5.3.4.3).
    fn check_probe_rtt(&mut self, flight: &mut Flight, rs: &DeliverySample) {
        if self.state != Mode::ProbeRtt && self.probe_rtt_expired && !self.idle_restart {
            // The state is set first, as in the draft, so that a larger window from before is kept.
            self.state = Mode::ProbeRtt;
            self.save_cwnd();
            self.probe_rtt.begin();
            self.cycle.stop();
            self.start_round(flight);
        }
        if self.state == Mode::ProbeRtt {
            flight.mark_app_limited();
            let is_small = f64::from(flight.in_flight) <= self.probe_rtt_cwnd();
            match self.probe_rtt.advance(is_small, flight.now + PROBE_RTT_DURATION, self.round_start) {
                ProbeRttState::Waiting => {}
                ProbeRttState::Drained => self.start_round(flight),
                ProbeRttState::RoundDone => self.check_probe_rtt_done(flight),
            }
        }
        if rs.delivered > 0.0 {
            self.idle_restart = false;
        }
    }

    /// `CheckProbeRTTDone`, `ExitProbeRTT` (§5.3.4.3, §5.3.4.4).
    fn check_probe_rtt_done(&mut self, flight: &Flight) {
        if !self.probe_rtt.is_over(flight.now) {
            return;
        }
        self.probe_rtt_min_stamp = flight.now;
        self.restore_cwnd();
        self.bounds.reset_short_term();
        if self.full_bw_reached {
            self.start_probe_bw_down(flight);
            self.state = Mode::ProbeBwCruise;
        } else {
            self.state = Mode::Startup;
        }
    }

    fn init_pacing_rate(&mut self, flight: &mut Flight) {
        self.has_seen_rtt = flight.srtt > Duration::ZERO;
        let rtt = if self.has_seen_rtt { seconds(flight.srtt) } else { 0.001 };
        self.pace(STARTUP_PACING_GAIN * self.initial_cwnd / rtt, flight);
    }

    /// `SetPacingRateWithGain` (§5.6.2).
    fn set_pacing_rate(&mut self, flight: &mut Flight, gain: f64) {
        if !self.has_seen_rtt && flight.srtt > Duration::ZERO {
            self.init_pacing_rate(flight);
        }
        let rate = gain * self.bw * (100.0 - PACING_MARGIN_PERCENT) / 100.0;
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pace(rate, flight);
        }
    }

    fn pace(&mut self, rate: f64, flight: &mut Flight) {
        self.pacing_rate = rate;
        // At least one bit per second, so that the sender does not stall.
        flight.pacing_rate = Some(Rate::from_bps(((rate * f64::from(self.mss) * 8.0) as u64).max(1)));
    }

    /// `SetCwnd` (§5.6.4.6).
    fn set_cwnd(&mut self, flight: &mut Flight, rs: &DeliverySample) {
        if rs.newly_acked > 0.0 {
            let target = self.quantized(self.state.gains().1 * self.bdp(self.bw) + self.extra_acked());
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + rs.newly_acked).min(target);
            } else if self.cwnd < target || (flight.delivered as f64) < self.initial_cwnd {
                self.cwnd += rs.newly_acked;
            }
            self.cwnd = self.cwnd.max(MIN_PIPE_CWND);
        }
        if self.state == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.cap());
        flight.window.cwnd = self.cwnd as u32;
    }

    /// `BoundCwndForModel` (§5.6.4.7).
    fn cap(&self) -> f64 {
        let cap = match self.state {
            Mode::ProbeBwDown | Mode::ProbeBwRefill | Mode::ProbeBwUp => self.bounds.inflight_longterm,
            Mode::ProbeBwCruise | Mode::ProbeRtt => self.bounds.inflight_with_headroom(),
            Mode::Startup | Mode::Drain => f64::INFINITY,
        };
        cap.min(self.bounds.inflight_shortterm).max(MIN_PIPE_CWND)
    }

    fn save_cwnd(&mut self) {
        self.prior_cwnd = match self.in_recovery || self.state == Mode::ProbeRtt {
            true => self.prior_cwnd.max(self.cwnd),
            false => self.cwnd,
        };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        (PROBE_RTT_CWND_GAIN * self.bdp(self.bw)).max(MIN_PIPE_CWND)
    }

    /// `BDPMultiple(1)` (§5.6.4.2).
    fn bdp(&self, bw: f64) -> f64 {
        if self.min_rtt.is_finite() { bw * self.min_rtt } else { self.initial_cwnd }
    }

    /// `Inflight(1.0)` (§5.6.4.2).
    fn inflight(&self, bw: f64) -> f64 {
        self.quantized(self.bdp(bw))
    }

    /// `QuantizationBudget` (§5.6.4.2).
    fn quantized(&self, inflight: f64) -> f64 {
        let target = inflight.max(3.0 * self.send_quantum).max(MIN_PIPE_CWND);
        target + if self.state == Mode::ProbeBwUp { 2.0 } else { 0.0 }
    }
}

fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

const STARTUP_PACING_GAIN: f64 = 2.77;
const DRAIN_PACING_GAIN: f64 = 0.5;
const DEFAULT_CWND_GAIN: f64 = 2.0;
const UP_PACING_GAIN: f64 = 1.25;
const UP_CWND_GAIN: f64 = 2.25;
const DOWN_PACING_GAIN: f64 = 0.9;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
const PACING_MARGIN_PERCENT: f64 = 1.0;
const MIN_PIPE_CWND: f64 = 4.0;
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
const EXTRA_ACKED_ROUNDS: usize = 10;
/// A burst is one millisecond at the pacing rate, between two segments and 64 kB (§5.6.3).
const QUANTUM_S: f64 = 0.001;
const MIN_QUANTUM: f64 = 2.0;
const MAX_QUANTUM: f64 = 65_536.0;
