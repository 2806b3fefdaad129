//! BBR version 3 as in Google's Linux: the model of version 1 with bounds on bandwidth and inflight that losses set.
//!
//! Source: `tcp_bbr.c` of github.com/google/bbr, branch v3 (commit 001a430), with its names, integers and order;
//! draft-ietf-ccwg-bbr describes the changes from version 1. The bounds are in `bounds.rs`, the PROBE_BW cycle in
//! `cycle.rs`.
//!
//! Differs: routes do not have the feature `ECN_LOW` (shallow marking threshold), so ECN marks are ignored as in Linux
//! by default; the receiver acknowledges as its own stack does, without `fast_ack_mode`; random waits are drawn from
//! the simulation's stream.
//!
//! # When to use
//!
//! For the current BBR. It probes for bandwidth every two to three seconds, or as often as a Reno flow of its size
//! would lose a packet; between probes it leaves 15 % headroom. A loss above 2 % of a flight marks the limit of the
//! path. In shallow buffers it leaves CUBIC more than version 1 does.

mod bounds;
pub(super) mod cycle;
#[cfg(test)]
mod tests;

use super::bbr::aggregation::{AckAggregation, EXTRA_ACKED_ROUNDS, Round};
use super::bbr::pacer::{PacingRate, packets_in_net_at_edt};
use super::bbr::probe_rtt::{ProbeRtt, ProbeRttState};
use super::bbr::units::{BW_UNIT, MARGIN_PERCENT, MAX_BURST, PACING_SHIFT, SCALE, UNIT, bdp, micros, valid};
use super::{CongestionControl, Constant, ControlDocs, Flight, LostSegment, Needs, SteeringControl, Window};
use crate::rate_sample::RateSample;
use crate::segmentation::MIN_BURST;
use crate::stack::Stack;
use crate::state::CaState;
use crate::{Clock, Ticks};
use bounds::Bounds;
use cycle::Cycle;
use sojourn_aqm::{Duration, Rng};

/// BBR, version 3, as in Google's Linux.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mode: Mode,
    clock: Clock,
    rng: Rng,
    /// Minimum RTT of the last ten seconds, in microseconds.
    min_rtt_us: Option<u64>,
    min_rtt_stamp: Ticks,
    /// Minimum RTT of the last five seconds; PROBE_RTT refreshes it.
    probe_rtt_min_us: Option<u64>,
    probe_rtt_min_stamp: Ticks,
    probe_rtt: ProbeRtt<Ticks>,
    /// The round ends with the first sample of a packet that was sent after this many packets were delivered.
    next_rtt_delivered: u64,
    round_start: bool,
    /// Data was sent after idle, and none of it has been delivered yet.
    idle_restart: bool,
    pacing_gain: u64,
    cwnd_gain: u64,
    /// Bandwidth at the last growth by at least a quarter.
    full_bw: u64,
    full_bw_cnt: u32,
    /// Bandwidth has not grown for three rounds.
    full_bw_now: bool,
    /// Bandwidth has plateaued at least once since the start.
    full_bw_reached: bool,
    /// Maximum bandwidth of the previous and of this cycle.
    bw_hi: [u64; 2],
    // Boxed, so that senders with other controls do not become larger.
    bounds: Box<Bounds>,
    cycle: Cycle,
    prev_ca_state: CaState,
    /// Window before recovery or PROBE_RTT.
    prior_cwnd: u32,
    init_cwnd: u32,
    extra: AckAggregation,
    /// The window is at its target: acknowledgments change nothing while the application limits the rate.
    try_fast_path: bool,
    /// Pacing rate, in bytes per second.
    pacer: PacingRate<STARTUP_PACING_GAIN, 1>,
}

/// State of BBR; PROBE_BW has four phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round to find the bandwidth.
    Startup,
    /// Drains the queue that STARTUP built.
    Drain,
    /// PROBE_BW: sends faster than the estimated bandwidth to probe for more.
    ProbeUp,
    /// PROBE_BW: sends slower until the queue is drained and there is headroom.
    ProbeDown,
    /// PROBE_BW: sends at the estimated bandwidth, with headroom.
    ProbeCruise,
    /// PROBE_BW: sends at the estimated bandwidth without headroom for one round.
    ProbeRefill,
    /// Half of the bandwidth-delay product in flight, to measure the RTT without a queue.
    ProbeRtt,
}

impl Mode {
    /// Linux's mode, which is the same for all phases of PROBE_BW.
    fn of_linux(self) -> Self {
        if self.is_probe_bw() { Self::ProbeUp } else { self }
    }

    fn is_probe_bw(self) -> bool {
        matches!(self, Self::ProbeUp | Self::ProbeDown | Self::ProbeCruise | Self::ProbeRefill)
    }
}

impl Default for Bbr3 {
    fn default() -> Self {
        Self {
            mode: Mode::Startup,
            clock: Clock::new(Duration::from_millis(1)),
            rng: Rng::stream(0, "bbr3", 0),
            min_rtt_us: None,
            min_rtt_stamp: 0,
            probe_rtt_min_us: None,
            probe_rtt_min_stamp: 0,
            probe_rtt: ProbeRtt::default(),
            next_rtt_delivered: 0,
            round_start: false,
            idle_restart: false,
            pacing_gain: STARTUP_PACING_GAIN,
            cwnd_gain: CWND_GAIN,
            full_bw: 0,
            full_bw_cnt: 0,
            full_bw_now: false,
            full_bw_reached: false,
            bw_hi: [0, 0],
            bounds: Box::default(),
            cycle: Cycle::default(),
            prev_ca_state: CaState::Open,
            prior_cwnd: 0,
            init_cwnd: 0,
            extra: AckAggregation::default(),
            try_fast_path: false,
            pacer: PacingRate::default(),
        }
    }
}

impl ControlDocs for Bbr3 {
    const SOURCE: &'static str = "github.com/google/bbr, branch v3, tcp_bbr.c; draft-ietf-ccwg-bbr-06";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("bbr_startup_pacing_gain", STARTUP_PACING_GAIN, "/ 256", "Gain of the rate in STARTUP."),
        Constant::new("bbr_drain_gain", DRAIN_GAIN, "/ 256", "Gain of the rate in DRAIN."),
        Constant::new("bbr_cwnd_gain", CWND_GAIN, "/ 256", "Gain of the window, except in PROBE_UP and PROBE_RTT."),
        Constant::new("bbr_pacing_gain[UP]", UP_GAIN, "/ 256", "Gain of the rate while probing for more bandwidth."),
        Constant::new(
            "bbr_pacing_gain[DOWN]",
            DOWN_GAIN,
            "/ 256",
            "Gain of the rate while draining the resulting queue.",
        ),
        Constant::new("bbr_bw_probe_cwnd_gain", UP_CWND_GAIN, "/ 256", "Additional gain of the window in PROBE_UP."),
        Constant::new("bbr_min_rtt_win_sec", 10, "s", "Window of the minimum filter of the RTT."),
        Constant::new("bbr_probe_rtt_win_ms", 5_000, "ms", "Time without a lower RTT after which PROBE_RTT starts."),
        Constant::new("bbr_probe_rtt_mode_ms", 200, "ms", "Minimum time in PROBE_RTT, in addition to one round."),
        Constant::new("bbr_probe_rtt_cwnd_gain", PROBE_RTT_CWND_GAIN, "/ 256", "Gain of the window in PROBE_RTT."),
        Constant::new("bbr_cwnd_min_target", MIN_CWND as u64, "packets", "Minimum window."),
        Constant::new(
            "bbr_full_bw_thresh",
            FULL_BW_THRESH,
            "/ 256",
            "Growth of the rate per round that shows that the path is not full yet.",
        ),
        Constant::new(
            "bbr_full_bw_cnt",
            FULL_BW_ROUNDS as u64,
            "rounds",
            "Rounds without such growth after which the path counts as full.",
        ),
        Constant::new(
            "bbr_pacing_margin_percent",
            MARGIN_PERCENT,
            "%",
            "Margin by which the pacing rate stays below gain times bandwidth.",
        ),
        Constant::new(
            "bbr_loss_thresh",
            bounds::LOSS_THRESH,
            "/ 256",
            "Loss ratio of a flight above which loss is excessive.",
        ),
        Constant::new(
            "bbr_full_loss_cnt",
            bounds::FULL_LOSSES as u64,
            "events",
            "Loss events of a round that may end STARTUP.",
        ),
        Constant::new("bbr_beta", bounds::BETA, "/ 256", "Share by which losses lower the bounds."),
        Constant::new("bbr_inflight_headroom", bounds::HEADROOM, "/ 256", "Headroom left free while not probing."),
        Constant::new(
            "bbr_bw_probe_max_rounds",
            cycle::MAX_ROUNDS as u64,
            "rounds",
            "Maximum time between two probes for bandwidth.",
        ),
        Constant::new(
            "bbr_bw_probe_base_us",
            cycle::BASE_WAIT_US,
            "µs",
            "Wait before a probe for bandwidth, to which a random wait is added,",
        ),
        Constant::new("bbr_bw_probe_rand_us", cycle::RANDOM_WAIT_US, "µs", "… the maximum of that random wait."),
    ];
}

impl CongestionControl for Bbr3 {
    fn needs(&self) -> Needs {
        Needs { steers: true, losses: true, paces: true, wide_buffer: true, ..Needs::default() }
    }

    fn attach(&mut self, stack: &Stack, _: bool) {
        self.clock = stack.clock();
    }

    fn seed(&mut self, rng: Rng) {
        self.rng = rng;
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for Bbr3 {
    /// `bbr_init`.
    fn on_established(&mut self, flight: &mut Flight) {
        let now = self.clock.ticks(flight.now);
        self.init_cwnd = flight.window.cwnd.min(0x7f);
        self.next_rtt_delivered = flight.delivered;
        self.bounds.loss_round_delivered = flight.delivered + 1;
        (self.min_rtt_us, self.min_rtt_stamp) = (flight.min_rtt.map(micros), now);
        (self.probe_rtt_min_us, self.probe_rtt_min_stamp) = (self.min_rtt_us, now);
        self.extra.restart(flight.now);
        self.pacer.start(flight);
    }

    /// `bbr_main`: called for each acknowledgment.
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.bounds.finish_save();
        self.update_round_start(flight, sample);
        let bw = valid(sample).map_or(0, |(delivered, us)| (delivered * BW_UNIT).div_ceil(us));
        self.update_latest_signals(flight, sample, bw);
        if !self.run_fast_path(flight, sample, bw) {
            self.update_gains();
            self.pace(flight, self.pacing_gain);
            self.set_cwnd(flight, sample);
            self.bound_cwnd(flight);
        }
        self.advance_latest_signals(sample, bw);
        self.prev_ca_state = flight.state;
    }

    fn before_reduction(&mut self, window: &Window) {
        self.save_cwnd(window.cwnd);
        self.bounds.save();
    }

    /// `bbr_skb_marked_lost`.
    fn on_loss(&mut self, flight: &mut Flight, loss: &LostSegment) {
        self.note_loss(flight);
        self.judge_lost(flight, loss);
    }

    /// `bbr_run_loss_probe_recovery`.
    fn probe_repaired(&mut self, flight: &mut Flight, is_app_limited: bool) {
        self.note_loss(flight);
        let tx_in_flight = self.bounds.inflight_latest + 1;
        self.judge_flight(flight, &LostSegment { tx_in_flight, lost: 1, is_app_limited, continues: false }, |_| {
            tx_in_flight
        });
    }

    /// `bbr_set_state`.
    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        self.bounds.finish_save();
        if state == CaState::Loss {
            self.prev_ca_state = CaState::Loss;
            self.reset_full_bw(0);
            if !self.is_probing_bandwidth() {
                self.bounds.init_inflight_lo(flight.window.cwnd.max(self.prior_cwnd));
            }
        } else if self.prev_ca_state == CaState::Loss {
            flight.window.cwnd = flight.window.cwnd.max(self.prior_cwnd);
            self.try_fast_path = false;
        }
    }

    /// `bbr_cwnd_event` for `CA_EVENT_TX_START`.
    fn on_restart(&mut self, flight: &mut Flight) {
        if !flight.is_app_limited {
            return;
        }
        self.idle_restart = true;
        self.extra.restart(flight.now);
        if self.mode.is_probe_bw() {
            self.pace(flight, UNIT);
        } else if self.mode == Mode::ProbeRtt {
            self.check_probe_rtt_done(flight);
        }
    }

    fn undo_cwnd(&mut self, _: &Window) -> u32 {
        self.reset_full_bw(0);
        self.bounds.undo();
        self.try_fast_path = false;
        self.prior_cwnd
    }
}

impl Bbr3 {
    /// Maximum bandwidth of the last one to two cycles.
    fn max_bw(&self) -> u64 {
        self.bw_hi[0].max(self.bw_hi[1])
    }

    /// Bandwidth that the model uses.
    fn bw(&self) -> u64 {
        self.max_bw().min(self.bounds.bw_lo)
    }

    fn update_round_start(&mut self, flight: &Flight, sample: &RateSample) {
        self.round_start = valid(sample).is_some() && sample.prior_delivered >= self.next_rtt_delivered;
        if self.round_start {
            self.next_rtt_delivered = flight.delivered;
            self.cycle.rounds_since_probe = (self.cycle.rounds_since_probe + 1).min(0xff);
        }
    }

    /// Fast path that skips most of the model while the application limits the rate (`bbr_run_fast_path`). Returns
    /// whether nothing has changed.
    fn run_fast_path(&mut self, flight: &mut Flight, sample: &RateSample, bw: u64) -> bool {
        let calm = sample.is_app_limited && bw < self.max_bw() && !self.bounds.loss_in_round;
        if !(self.try_fast_path && calm) {
            self.update_congestion_signals(flight, sample, bw);
            let window = if self.full_bw_reached { EXTRA_ACKED_ROUNDS } else { 1 };
            let round = Round { bw: self.bw(), starts: self.round_start, window };
            self.extra.update(flight, sample, round);
            self.check_loss_too_high_in_startup(flight, sample);
            self.check_full_bw_reached(sample, bw);
            self.check_drain(flight);
            self.update_cycle_phase(flight, sample, bw);
            self.update_min_rtt(flight, sample);
            return false;
        }
        let before = (self.mode.of_linux(), self.min_rtt_us);
        self.check_drain(flight);
        self.update_cycle_phase(flight, sample, bw);
        self.update_min_rtt(flight, sample);
        before == (self.mode.of_linux(), self.min_rtt_us) && self.try_fast_path
    }

    /// Whether the pipe is full: bandwidth has not grown by a quarter in three rounds.
    fn check_full_bw_reached(&mut self, sample: &RateSample, bw: u64) {
        if self.full_bw_now || sample.is_app_limited {
            return;
        }
        if bw >= (self.full_bw * FULL_BW_THRESH) >> SCALE {
            return self.reset_full_bw(bw);
        }
        if self.round_start {
            self.full_bw_cnt += 1;
            self.full_bw_now = self.full_bw_cnt >= FULL_BW_ROUNDS;
            self.full_bw_reached |= self.full_bw_now;
        }
    }

    fn reset_full_bw(&mut self, bw: u64) {
        (self.full_bw, self.full_bw_cnt, self.full_bw_now) = (bw, 0, false);
    }

    fn check_drain(&mut self, flight: &mut Flight) {
        let target = |bbr: &Self, flight: &Flight| bbr.inflight(flight.window.mss, bbr.max_bw(), UNIT);
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            // For monitoring only; BBR does not use the threshold.
            flight.window.ssthresh = target(self, flight);
            self.bounds.reset_signals();
        }
        if self.mode == Mode::Drain && self.packets_in_net_at_edt(flight, flight.in_flight) <= target(self, flight) {
            self.start_probe_down(flight);
        }
    }

    fn update_min_rtt(&mut self, flight: &mut Flight, sample: &RateSample) {
        let now = self.clock.ticks(flight.now);
        let probe_expired = now > self.probe_rtt_min_stamp + self.clock.ticks_at_least_one(PROBE_RTT_WINDOW);
        if let Some(rtt) = sample.rtt.map(micros) {
            // A delayed acknowledgment must not replace an expired minimum: its RTT includes the delay timer.
            let less = self.probe_rtt_min_us.is_none_or(|min_rtt| rtt < min_rtt);
            if less || (probe_expired && !sample.is_ack_delayed) {
                (self.probe_rtt_min_us, self.probe_rtt_min_stamp) = (Some(rtt), now);
            }
        }
        let expired = now > self.min_rtt_stamp + self.clock.ticks_at_least_one(MIN_RTT_WINDOW);
        let unknown = |rtt: Option<u64>| rtt.unwrap_or(u64::MAX);
        if unknown(self.probe_rtt_min_us) <= unknown(self.min_rtt_us) || expired {
            (self.min_rtt_us, self.min_rtt_stamp) = (self.probe_rtt_min_us, self.probe_rtt_min_stamp);
        }
        if probe_expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            // The mode is set first, so that the window saved for PROBE_RTT does not replace a larger one from before.
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(flight.window.cwnd);
            self.probe_rtt.begin();
            self.cycle.stop();
            self.next_rtt_delivered = flight.delivered;
        }
        if self.mode == Mode::ProbeRtt {
            // Samples of the small flight must not lower the bandwidth estimate.
            flight.mark_app_limited();
            let is_small = flight.in_flight <= self.probe_rtt_cwnd();
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
        if sample.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    fn check_probe_rtt_done(&mut self, flight: &mut Flight) {
        let now = self.clock.ticks(flight.now);
        if !self.probe_rtt.is_over(now) {
            return;
        }
        self.probe_rtt_min_stamp = now;
        flight.window.cwnd = flight.window.cwnd.max(self.prior_cwnd);
        self.bounds.reset_lower();
        if self.full_bw_reached {
            self.start_probe_down(flight);
            self.start_probe_cruise();
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn probe_rtt_cwnd(&self) -> u32 {
        self.bdp(self.bw(), PROBE_RTT_CWND_GAIN).max(MIN_CWND)
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (STARTUP_PACING_GAIN, CWND_GAIN),
            Mode::Drain => (DRAIN_GAIN, CWND_GAIN),
            Mode::ProbeUp => (UP_GAIN, CWND_GAIN + UP_CWND_GAIN),
            Mode::ProbeDown => (DOWN_GAIN, CWND_GAIN),
            Mode::ProbeCruise | Mode::ProbeRefill => (UNIT, CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    fn pace(&mut self, flight: &mut Flight, gain: u64) {
        self.pacer.set(flight, self.bw(), gain, self.full_bw_reached);
    }

    fn set_cwnd(&mut self, flight: &mut Flight, sample: &RateSample) {
        let acked = sample.acked_sacked;
        if acked > 0 {
            let target = self.bdp(self.bw(), self.cwnd_gain) + self.extra.cwnd(self.bw());
            let target = self.quantized(flight.window.mss, target);
            let cwnd = &mut flight.window.cwnd;
            self.try_fast_path = false;
            if self.full_bw_reached {
                *cwnd += acked;
                if *cwnd >= target {
                    (*cwnd, self.try_fast_path) = (target, true);
                }
            } else if *cwnd < target || *cwnd < 2 * self.init_cwnd {
                *cwnd += acked;
            } else {
                self.try_fast_path = true;
            }
            *cwnd = (*cwnd).max(MIN_CWND);
        }
        if self.mode == Mode::ProbeRtt {
            flight.window.cwnd = flight.window.cwnd.min(self.probe_rtt_cwnd());
        }
    }

    fn save_cwnd(&mut self, cwnd: u32) {
        self.prior_cwnd = match self.prev_ca_state < CaState::Recovery && self.mode != Mode::ProbeRtt {
            true => cwnd,
            false => self.prior_cwnd.max(cwnd),
        };
    }

    /// In-flight target for a bandwidth, with a quantization budget for bursts.
    fn inflight(&self, mss: u32, bw: u64, gain: u64) -> u32 {
        self.quantized(mss, self.bdp(bw, gain))
    }

    fn bdp(&self, bw: u64, gain: u64) -> u32 {
        self.min_rtt_us.map_or(self.init_cwnd, |min_rtt| bdp(bw, min_rtt, gain))
    }

    /// Adds room for one burst each at the sender, in the network and at the receiver.
    fn quantized(&self, mss: u32, cwnd: u32) -> u32 {
        let target = cwnd.max(3 * self.tso_segs_goal(mss)).max(MIN_CWND);
        target + if self.mode == Mode::ProbeUp { 2 } else { 0 }
    }

    fn tso_segs_goal(&self, mss: u32) -> u32 {
        let halvings = self.min_rtt_us.unwrap_or(u64::MAX) >> TSO_RTT_SHIFT;
        let by_rtt = if halvings < 32 { GSO_LEGACY_MAX_SIZE >> halvings } else { 0 };
        let bytes = ((self.pacer.rate() >> PACING_SHIFT) + by_rtt).min(MAX_BURST);
        ((bytes / mss as u64) as u32).max(MIN_BURST)
    }

    fn packets_in_net_at_edt(&self, flight: &Flight, in_flight: u32) -> u32 {
        let burst = if self.pacing_gain > UNIT { self.tso_segs_goal(flight.window.mss) } else { 0 };
        packets_in_net_at_edt(flight, in_flight, burst, self.bw())
    }
}

/// 4 ln 2: minimum pacing gain that doubles the rate each round.
const STARTUP_PACING_GAIN: u64 = UNIT * 277 / 100 + 1;
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
const CWND_GAIN: u64 = UNIT * 2;
const UP_GAIN: u64 = UNIT * 5 / 4;
const DOWN_GAIN: u64 = UNIT * 91 / 100;
const UP_CWND_GAIN: u64 = UNIT / 4;
const PROBE_RTT_CWND_GAIN: u64 = UNIT / 2;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
const PROBE_RTT_WINDOW: Duration = Duration::from_secs(5);
const PROBE_RTT_TIME: Duration = Duration::from_millis(200);
const MIN_CWND: u32 = 4;
const FULL_BW_THRESH: u64 = UNIT * 5 / 4;
const FULL_BW_ROUNDS: u32 = 3;
/// Each 512 µs of minimum RTT halves the part of a burst that depends on it.
const TSO_RTT_SHIFT: u32 = 9;
const GSO_LEGACY_MAX_SIZE: u64 = 65_536;
