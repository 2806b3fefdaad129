//! TCP Prague version 0.6: marks and growth change the window only.
//!
//! Source: `tcp_prague.c` 0.6 (L4STeam/linux, commit 02573a2), without the fallback to classic ECN, which the module
//! does not use by default.
//!
//! In slow start the fractional window stays at the initial window, so after the first mark the window decreases to it
//! by one packet per acknowledgment.

use super::{
    AnyCc, BurstSize, CWND_UNIT, CaState, CongestionControl, Constant, ControlDocs, Flight, INT_MAX, LossState,
    MIN_CWND, NEEDS, Needs, ONE_CWND, Params, PathState, Rate, RateSample, RoundCounters, SHIFT_G, SteeringControl,
    Window, closest, limited, reduction_of,
};
use crate::segmentation::MIN_BURST;
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, config};

config! {
    /// Module parameters of TCP Prague 0.6.
    pub struct Config06 {
        /// Maximum duration of a burst at the rate, as a right shift of a second: 12 is 0.25 ms.
        prague_burst_shift: u32 = 12, in Value::Count(0) => Value::Count(31);
        /// Maximum number of segments per burst; 0 is no limit.
        prague_max_tso_segs: u32 = 0, in Value::Count(0) => INT_MAX;
        /// RTT independence: none (0), at short RTTs the growth of the target (1), scalable (2), or the growth of an
        /// RTT longer by the target (3).
        prague_rtt_scaling: u32 = RATE, in Value::Count(0) => Value::Count(3);
        /// RTT below which a flow grows as at this RTT, in whole units of 128 us; zero turns RTT independence off.
        prague_rtt_target: Duration = Duration::from_millis(25), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_millis(100));
        /// Rounds after slow start from which growth does not depend on the RTT.
        prague_rtt_transition: u32 = 500, in Value::Count(0) => INT_MAX;
    }
}

/// Prague 0.6.
#[derive(Clone, Debug)]
pub struct Prague06 {
    config: Config06,
    /// RTT below which a flow grows as at this RTT, in units of 128 µs.
    rtt_target: u64,
    /// Kind of RTT independence.
    rtt_indep: u32,
    /// Window in units of 2^-20 packets.
    frac_cwnd: u64,
    /// Marked fraction times 16, in 2^-20.
    upscaled_alpha: u64,
    alpha_us: u64,
    ai_ack_increase: u64,
    rounds: RoundCounters,
    saw_ce: bool,
    loss: LossState,
    cwr_us: u64,
    max_tso_burst: u32,
    path: PathState,
}

impl Default for Prague06 {
    fn default() -> Self {
        Self::from(Config06::default())
    }
}

impl From<Config06> for Prague06 {
    fn from(config: Config06) -> Self {
        let rtt_target = (config.prague_rtt_target.as_nanos() as u64 / 1_000) >> RTT_UNIT;
        Self {
            rtt_indep: if rtt_target > 0 { config.prague_rtt_scaling } else { NONE },
            rtt_target,
            config,
            frac_cwnd: 0,
            upscaled_alpha: MAX_ALPHA << SHIFT_G,
            alpha_us: 0,
            ai_ack_increase: ONE_CWND,
            rounds: RoundCounters::default(),
            saw_ce: false,
            loss: LossState::default(),
            cwr_us: 0,
            max_tso_burst: 1,
            path: PathState::default(),
        }
    }
}

impl ControlDocs for Prague06 {
    const SOURCE: &'static str = "TCP Prague 0.6, tcp_prague.c; RFC 9331";
    const CONSTANTS: &'static [Constant] = &[Constant::new(
        "PRAGUE_SHIFT_G",
        SHIFT_G as u64,
        "",
        "Gain g of the share of marks, as a right shift: 4 is 1/16.",
    )];
    const PARAMS: Params<Self> = Params::of::<Config06>();
}

impl CongestionControl for Prague06 {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn without_ecn(&self) -> Option<AnyCc> {
        AnyCc::new("reno")
    }

    fn burst(&self, _: Option<Rate>) -> BurstSize {
        BurstSize::Exactly(limited(self.max_tso_burst.max(MIN_BURST), self.config.prague_max_tso_segs))
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for Prague06 {
    fn on_established(&mut self, flight: &mut Flight) {
        self.path = PathState::of(flight);
        self.alpha_us = self.path.now_us;
        // No rate before the first acknowledgment: the module computes the rate before it has set the fractional
        // window.
        self.frac_cwnd = (flight.window.cwnd as u64) << CWND_UNIT;
        self.saw_ce = flight.delivered_ce > 0;
        self.new_round(flight);
    }

    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.path = PathState::of(flight);
        self.update_cwnd(flight, sample);
        let elapsed = self.path.now_us.saturating_sub(self.alpha_us) >= self.target_us();
        if flight.una >= self.rounds.next_seq && (elapsed || !self.is_rtt_indep(flight.window)) {
            self.update_alpha(flight);
        }
        self.update_pacing_rate(flight);
    }

    fn before_reduction(&mut self, window: &Window) {
        (self.loss.reduction_pending, self.loss.cwnd) = (true, window.cwnd);
    }

    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        self.path = PathState::of(flight);
        let reduction_pending = std::mem::take(&mut self.loss.reduction_pending);
        match state {
            CaState::Recovery => self.enter_loss(),
            CaState::Loss if reduction_pending => self.enter_loss(),
            CaState::Cwr => {
                self.loss.reduced = false;
                self.enter_cwr(flight.window);
            }
            CaState::Open => self.loss.reduced = false,
            CaState::Loss | CaState::Disorder => {}
        }
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.frac_cwnd = self.frac_cwnd.max(self.loss.amount);
        window.cwnd.max(self.loss.cwnd)
    }
}

impl Prague06 {
    fn is_rtt_indep(&self, window: &Window) -> bool {
        self.rtt_indep != NONE && !window.in_slow_start() && self.rounds.count >= self.config.prague_rtt_transition
    }

    /// RTT whose growth a flow has, in units of 128 µs (`prague_target_rtt`).
    fn target_rtt(&self) -> u64 {
        self.rtt_target + if self.rtt_indep == ADDITIVE { self.rtt() } else { 0 }
    }

    fn target_us(&self) -> u64 {
        self.target_rtt() << RTT_UNIT
    }

    /// Smoothed RTT in units of 128 µs.
    fn rtt(&self) -> u64 {
        self.path.srtt8 >> (3 + RTT_UNIT)
    }

    fn update_cwnd(&mut self, flight: &mut Flight, sample: &RateSample) {
        let mut left = (sample.acked_sacked as u64).saturating_sub(sample.ce as u64);
        self.saw_ce |= sample.ce > 0;
        if left > 0 && !self.loss.reduced && flight.is_cwnd_limited {
            if flight.window.in_slow_start() {
                left = flight.window.slow_start(left as u32) as u64;
                if left == 0 {
                    return self.cwnd_changed();
                }
            }
            let increase = closest(left * self.ai_ack_increase, self.target_cwnd() as u64);
            self.frac_cwnd += increase.max(left);
        }
        self.step(flight.window);
    }

    fn step(&mut self, window: &mut Window) {
        let target = self.target_cwnd();
        if window.cwnd > target && window.cwnd > MIN_CWND {
            window.cwnd -= 1;
            window.ssthresh = window.cwnd;
            self.cwnd_changed();
        } else if window.cwnd < target {
            window.cwnd += 1;
            self.cwnd_changed();
        }
    }

    fn target_cwnd(&self) -> u32 {
        (self.frac_cwnd.div_ceil(ONE_CWND) as u32).max(1)
    }

    fn update_alpha(&mut self, flight: &mut Flight) {
        if self.saw_ce {
            let alpha = self.upscaled_alpha;
            let share = self.rounds.share(flight, ALPHA_BITS);
            self.upscaled_alpha = (alpha - (alpha >> SHIFT_G) + share).min(MAX_ALPHA << SHIFT_G);
            self.alpha_us = self.path.now_us;
        }
        self.new_round(flight);
    }

    pub(super) fn update_pacing_rate(&mut self, flight: &mut Flight) {
        let PathState { mtu, srtt8, .. } = self.path;
        let doubled = (flight.window.cwnd < flight.window.ssthresh / 2) as u32;
        let packet = ((8_000_000 * mtu) << doubled) / srtt8.max(1);
        let rate = ((packet as u128 * self.frac_cwnd as u128 + (ONE_CWND as u128 >> 1)) >> CWND_UNIT) as u64;
        self.max_tso_burst = (((rate / mtu) >> self.config.prague_burst_shift) as u32).max(1);
        flight.pacing_rate = Some(Rate::from_bps(rate * 8));
    }

    fn new_round(&mut self, flight: &Flight) {
        self.rounds.begin(flight);
        self.cwnd_changed();
    }

    /// As in 0.7, with RTTs in units of 128 µs.
    fn cwnd_changed(&mut self) {
        let (rtt, target) = (self.rtt(), self.target_rtt());
        let scales = self.rounds.count >= self.config.prague_rtt_transition && rtt > 0 && rtt <= MAX_SCALED_RTT;
        self.ai_ack_increase = match self.rtt_indep {
            RATE | ADDITIVE if scales && rtt < target => closest((rtt << CWND_UNIT) * rtt, target * target),
            SCALABLE if scales => {
                let more = rtt.saturating_sub(R1).min(R0);
                closest(((ONE_CWND >> 3) * R0 + ONE_CWND * more) * rtt, R0 * R0)
            }
            _ => ONE_CWND,
        };
    }

    fn enter_loss(&mut self) {
        (self.loss.reduced, self.loss.amount) = (true, self.frac_cwnd);
        self.frac_cwnd -= self.frac_cwnd >> 1;
        self.cwnd_changed();
    }

    fn enter_cwr(&mut self, window: &Window) {
        let now = self.path.now_us;
        if self.is_rtt_indep(window) && now.saturating_sub(self.cwr_us) < self.target_us() {
            return;
        }
        self.cwr_us = now;
        self.frac_cwnd -= reduction_of(self.frac_cwnd, self.upscaled_alpha >> SHIFT_G, ALPHA_BITS);
    }
}

#[cfg(test)]
impl Prague06 {
    /// Fractional window and 16 times alpha.
    pub(super) fn inside(&self) -> (u64, u64) {
        (self.frac_cwnd, self.upscaled_alpha)
    }
}

const ALPHA_BITS: u32 = 20;
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
/// RTTs are in units of 2^7 µs.
const RTT_UNIT: u32 = 7;
/// Kinds of RTT independence (`RTT_CONTROL_…`).
const NONE: u32 = 0;
const RATE: u32 = 1;
const SCALABLE: u32 = 2;
const ADDITIVE: u32 = 3;
/// RTT above which growth is not scaled. The module's constant is in microseconds, but it compares it with RTTs in
/// units of 128 µs.
const MAX_SCALED_RTT: u64 = 100_000;
/// Growth of the kind SCALABLE is an eighth up to an RTT of about 1.5 ms, and whole from 16 ms more on.
const R0: u64 = (1 << 14) >> RTT_UNIT;
const R1: u64 = ((1 << 10) + (1 << 9)) >> RTT_UNIT;
