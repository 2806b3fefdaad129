//! TCP Prague version 0.7: DCTCP for the Internet, with a fractional window, accurate ECN, pacing, and growth that is
//! RTT-independent below 25 ms.
//!
//! Source: `tcp_prague.c` 0.7 (minuscat/rpi-6.18.y, commit 330b511), with its names, integers and order. Version 0.6 is
//! in `v0_6.rs`.
//!
//! At four packets or fewer, marks and growth change the rate and the window follows (rate mode); above, they change
//! the window. Below about 1 Mbit/s packets shrink so that two of them fit into 25 ms.
//!
//! Not implemented: the SYN's codepoint in the third packet of the handshake, PLB, and the module's behaviour when CWR
//! is entered and left at once after a tail loss probe that repaired a loss.
//!
//! # When to use
//!
//! As the sender of L4S: behind `dualpi2`, or `fq_codel` with a `ce_threshold` for ECT(1), its queue is below a
//! millisecond. In one queue with CUBIC that marks both alike (RFC 3168) it takes nearly all of the capacity.

#[cfg(test)]
mod tests;
mod v0_6;

pub use v0_6::Prague06;

use super::params::INT_MAX;
use super::{
    AnyCc, BurstSize, CongestionControl, Constant, ControlDocs, Flight, Needs, Params, SteeringControl, Window,
};
use crate::rate_sample::RateSample;
use crate::state::CaState;
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, Rate, config};

config! {
    /// Module parameters of TCP Prague 0.7.
    pub struct Config {
        /// Maximum duration of a burst at the rate, as a right shift of a second: 12 is 0.25 ms.
        prague_burst_shift: u32 = 12, in Value::Count(0) => Value::Count(31);
        /// Maximum number of segments per burst; 0 is no limit.
        prague_max_tso_segs: u32 = 0, in Value::Count(0) => INT_MAX;
        /// Rounds after slow start from which growth does not depend on the RTT.
        prague_rtt_transition: u32 = 4, in Value::Count(0) => INT_MAX;
        /// RTT below which a flow grows as at this RTT, in whole microseconds.
        prague_rtt_target: Duration = Duration::from_millis(25), in Value::Time(Duration::ZERO) => Value::Time(Duration::from_millis(100));
        /// Share of marks before the first one: 0 for none, the first mark halves the window; 1 for all.
        prague_alpha_mode: u32 = 0, in Value::Count(0) => Value::Count(1);
        /// Marks and growth change the window (0), the rate (1), or the rate at small windows (2).
        prague_cwnd_mode: u32 = 2, in Value::Count(0) => Value::Count(2);
        /// Window up to which they change the rate in mode 2, in packets of 1500 bytes.
        prague_cwnd_transit: u32 = 4, in Value::Count(0) => INT_MAX;
    }
}

/// Prague 0.7.
#[derive(Clone, Debug)]
pub struct Prague {
    config: Config,
    /// RTT below which a flow grows as at this RTT, in 1/8 µs.
    target_rtt8: u64,
    /// Window in units of 2^-20 packets.
    frac_cwnd: u64,
    /// Rate in bytes per second, headers included.
    rate_bytes: u64,
    /// Marked fraction times 16, in 2^-24.
    upscaled_alpha: u64,
    alpha_us: u64,
    /// Growth per packet acknowledged without a mark, in 2^-20 packets per window.
    ai_ack_increase: u64,
    /// Slow RTT: 128 times the smoothed RTT in 1/8 µs.
    hsrtt: u64,
    rounds: RoundCounters,
    /// A mark was seen, so there is an AQM on the path.
    saw_ce: bool,
    /// Rate mode: the rate is changed and the window follows.
    by_rate: bool,
    loss: LossState,
    /// Time of the last reduction on marks.
    cwr_us: u64,
    /// Maximum packet size.
    mtu_cache: u64,
    max_tso_burst: u32,
    path: PathState,
}

impl Default for Prague {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Prague {
    fn from(config: Config) -> Self {
        Self {
            target_rtt8: (config.prague_rtt_target.as_nanos() as u64 / 1_000) << 3,
            frac_cwnd: 0,
            rate_bytes: 0,
            upscaled_alpha: if config.prague_alpha_mode == 1 { MAX_ALPHA << SHIFT_G } else { 0 },
            alpha_us: 0,
            ai_ack_increase: 0,
            hsrtt: 0,
            rounds: RoundCounters::default(),
            saw_ce: false,
            by_rate: config.prague_cwnd_mode == 1,
            loss: LossState::default(),
            cwr_us: 0,
            mtu_cache: 0,
            max_tso_burst: 0,
            path: PathState::default(),
            config,
        }
    }
}

/// Rounds since slow start, and the counters at the start of the current round.
#[derive(Clone, Copy, Debug, Default)]
struct RoundCounters {
    count: u32,
    next_seq: u64,
    delivered: u64,
    delivered_ce: u64,
}

impl RoundCounters {
    fn begin(&mut self, flight: &Flight) {
        let count = self.count.saturating_add(!flight.window.in_slow_start() as u32);
        let (delivered, delivered_ce) = (flight.delivered, flight.delivered_ce);
        *self = Self { count, next_seq: flight.nxt, delivered, delivered_ce };
    }

    /// Marked fraction of the packets of this round, in 2^-`bits`.
    fn share(&self, flight: &Flight, bits: u32) -> u64 {
        ((flight.delivered_ce - self.delivered_ce) << bits) / (flight.delivered - self.delivered).max(1)
    }
}

/// State before a loss.
#[derive(Clone, Copy, Debug, Default)]
struct LossState {
    /// No growth until the state is Open again.
    reduced: bool,
    /// A reduction was requested, and its state change has not been reported yet.
    reduction_pending: bool,
    cwnd: u32,
    /// Rate before the loss, or in version 0.6 the fractional window.
    amount: u64,
}

/// Path properties at the last callback.
#[derive(Clone, Copy, Debug, Default)]
struct PathState {
    /// Packet size in bytes.
    mtu: u64,
    /// Smoothed RTT times 8, in microseconds; zero before the first sample.
    srtt8: u64,
    now_us: u64,
}

impl PathState {
    fn of(flight: &Flight) -> Self {
        Self {
            mtu: flight.window.mss as u64 + HEADERS,
            srtt8: flight.srtt.as_nanos() as u64 / 125,
            now_us: flight.now.as_nanos() / 1_000,
        }
    }

    /// One packet per RTT, in bytes per second.
    fn packet_per_rtt(&self) -> u64 {
        8_000_000 * self.mtu / if self.srtt8 > 0 { self.srtt8 } else { 1 }
    }
}

/// Needs of Prague, in either version.
const NEEDS: Needs = Needs {
    samples: true,
    steers: true,
    paces: true,
    ecn: true,
    accurate_ecn: true,
    ect1: true,
    ect_on_control: true,
    ..Needs::NONE
};

impl ControlDocs for Prague {
    const SOURCE: &'static str =
        "TCP Prague 0.7, tcp_prague.c; RFC 9331; draft-briscoe-iccrg-prague-congestion-control";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new(
            "PRAGUE_SHIFT_G",
            SHIFT_G as u64,
            "",
            "Gain g of the share of marks, as a right shift: 4 is 1/16.",
        ),
        Constant::new("MINIMUM_RATE", MINIMUM_RATE, "B/s", "Minimum rate."),
        Constant::new("MIN_CWND", MIN_CWND as u64, "packets", "Minimum window."),
        Constant::new(
            "MIN_MSS",
            MIN_MSS,
            "B",
            "Minimum segment size, used if two segments of the path's size do not fit.",
        ),
    ];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Prague {
    fn needs(&self) -> Needs {
        NEEDS
    }

    fn without_ecn(&self) -> Option<AnyCc> {
        AnyCc::new("reno")
    }

    fn burst(&self, _: Option<Rate>) -> BurstSize {
        BurstSize::Exactly(limited(self.max_tso_burst, self.config.prague_max_tso_segs))
    }

    fn steering(&mut self) -> Option<&mut dyn SteeringControl> {
        Some(self)
    }
}

impl SteeringControl for Prague {
    fn on_established(&mut self, flight: &mut Flight) {
        self.path = PathState::of(flight);
        let PathState { mtu, srtt8, now_us } = self.path;
        let cwnd = flight.window.cwnd as u64;
        (self.alpha_us, self.mtu_cache, self.frac_cwnd) = (now_us, mtu, cwnd << CWND_UNIT);
        self.rate_bytes = match srtt8 {
            0 => MINIMUM_RATE,
            _ => (self.path.packet_per_rtt() * cwnd.max(flight.in_flight as u64)).max(MINIMUM_RATE),
        };
        self.saw_ce = flight.delivered_ce > 0;
        self.hsrtt = if srtt8 > 0 { srtt8 } else { 8 } << HSRTT_SHIFT;
        self.update_pacing_rate(flight);
        self.new_round(flight);
    }

    /// `prague_cong_control`: called for each acknowledgment.
    fn steer(&mut self, flight: &mut Flight, sample: &RateSample) {
        self.path = PathState::of(flight);
        self.update_cwnd(flight, sample);
        let elapsed = self.path.now_us.saturating_sub(self.alpha_us) >= self.target_rtt8 / 8;
        if flight.una >= self.rounds.next_seq && (elapsed || !self.is_rtt_indep(flight.window)) {
            self.update_alpha(flight);
        }
        self.update_pacing_rate(flight);
        if self.config.prague_cwnd_mode != 2 {
            return;
        }
        let transit = self.config.prague_cwnd_transit as u64 * MTU_SYS;
        self.by_rate = self.saw_ce && flight.window.cwnd as u64 * self.path.mtu <= transit;
        match self.by_rate {
            true => self.frac_cwnd = self.frac_of_rate(),
            false => self.rate_bytes = self.rate_of_frac(),
        }
    }

    fn before_reduction(&mut self, window: &Window) {
        (self.loss.reduction_pending, self.loss.cwnd) = (true, window.cwnd);
    }

    /// `prague_state`, and the event of a retransmission time-out.
    fn on_state(&mut self, flight: &mut Flight, state: CaState) {
        self.path = PathState::of(flight);
        let reduction_pending = std::mem::take(&mut self.loss.reduction_pending);
        match state {
            CaState::Recovery => self.enter_loss(flight.window),
            CaState::Loss if reduction_pending => self.enter_loss(flight.window),
            CaState::Cwr => {
                // The acknowledgment that carried the mark may also have ended a loss episode.
                self.loss.reduced = false;
                self.enter_cwr(flight.window);
            }
            CaState::Open => self.loss.reduced = false,
            CaState::Loss | CaState::Disorder => {}
        }
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        self.loss.reduced = false;
        self.rate_bytes = self.rate_bytes.max(self.loss.amount);
        self.frac_cwnd = self.frac_of_rate();
        window.cwnd.max(self.loss.cwnd)
    }
}

impl Prague {
    /// Whether growth and reductions are RTT-independent: from some rounds after slow start.
    fn is_rtt_indep(&self, window: &Window) -> bool {
        !window.in_slow_start() && self.rounds.count >= self.config.prague_rtt_transition
    }

    fn virtual_rtt8(&self) -> u64 {
        self.path.srtt8.max(self.target_rtt8)
    }

    fn update_cwnd(&mut self, flight: &mut Flight, sample: &RateSample) {
        let unmarked = (sample.acked_sacked as u64).saturating_sub(sample.ce as u64);
        if sample.ce > 0 {
            if !self.saw_ce && self.config.prague_alpha_mode == 0 {
                // The first mark ends slow start and halves the window. The halved window lasts only if this acknowledgment
                // delivered nothing unmarked: slow start sets the fractional window from `cwnd` again.
                self.frac_cwnd = (self.frac_cwnd + 1) >> 1;
            }
            self.saw_ce = true;
        }
        if unmarked > 0 && !self.loss.reduced && flight.is_cwnd_limited {
            let left = self.slow_start(flight, unmarked);
            if left == 0 {
                return self.cwnd_changed();
            }
            self.grow(flight.window, left);
        }
        self.step(flight.window);
    }

    /// Runs slow start if the window is below the threshold. Returns the packets left for congestion avoidance.
    fn slow_start(&mut self, flight: &mut Flight, acked: u64) -> u64 {
        if !flight.window.in_slow_start() {
            return acked;
        }
        let left = flight.window.slow_start(acked as u32);
        self.frac_cwnd = (flight.window.cwnd as u64) << CWND_UNIT;
        left as u64
    }

    fn grow(&mut self, window: &Window, acked: u64) {
        let mtu = self.path.mtu;
        if self.is_rtt_indep(window) && self.by_rate {
            let rtt8 = self.virtual_rtt8();
            let increase = ((acked * MTU_SYS) << RTT2SEC_SHIFT) / rtt8;
            let cwnd = (self.rate_bytes * rtt8).div_ceil(mtu << RTT2SEC_SHIFT);
            if cwnd > 0 {
                self.rate_bytes += closest(increase, cwnd);
            }
            self.frac_cwnd = (self.frac_cwnd + acked).max(self.frac_of_rate());
        } else {
            let mut increase = acked * self.ai_ack_increase;
            if self.frac_cwnd > 0 {
                increase = closest(increase << CWND_UNIT, self.frac_cwnd);
            }
            self.frac_cwnd += (increase * MTU_SYS / mtu).max(acked);
            self.rate_bytes = (self.rate_bytes + acked).max(self.rate_of_frac());
        }
    }

    /// Moves the window towards its target by one packet per acknowledgment.
    fn step(&mut self, window: &mut Window) {
        let target = self.target_cwnd();
        if window.cwnd > target {
            window.cwnd -= 1;
            window.ssthresh = window.cwnd;
            self.cwnd_changed();
        } else if window.cwnd < target {
            window.cwnd += 1;
            self.cwnd_changed();
        }
    }

    fn target_cwnd(&self) -> u32 {
        (self.frac_cwnd.div_ceil(ONE_CWND) as u32).max(MIN_CWND)
    }

    fn update_alpha(&mut self, flight: &mut Flight) {
        if self.saw_ce {
            let alpha = self.upscaled_alpha;
            let share = self.rounds.share(flight, ALPHA_BITS);
            self.upscaled_alpha = (alpha - (alpha >> SHIFT_G) + share).min(MAX_ALPHA << SHIFT_G);
            self.alpha_us = self.path.now_us;
            if self.is_rtt_indep(flight.window) && !self.loss.reduced {
                self.fit_packets(flight.window);
            }
        }
        self.hsrtt = self.hsrtt + self.path.srtt8 - (self.hsrtt >> HSRTT_SHIFT);
        self.new_round(flight);
    }

    /// Adapts the packet size so that two packets fit into a virtual RTT.
    fn fit_packets(&mut self, window: &mut Window) {
        let used = self.path.mtu;
        let mtu = self.largest_packet().min(self.mtu_cache).max(MIN_MSS + HEADERS);
        if mtu == used {
            return;
        }
        self.frac_cwnd = self.frac_cwnd * used / mtu;
        self.path.mtu = mtu;
        window.mss = (mtu - HEADERS) as u32;
        let cwnd = self.target_cwnd();
        if cwnd != window.cwnd {
            window.cwnd = cwnd;
            window.ssthresh = (window.ssthresh as u64 * used / mtu).min(Window::INFINITE_SSTHRESH as u64) as u32;
            self.cwnd_changed();
        }
    }

    /// Half of the data of a virtual RTT.
    fn largest_packet(&self) -> u64 {
        let PathState { mtu, srtt8, .. } = self.path;
        let bytes = if self.by_rate {
            scaled(self.rate_bytes, self.virtual_rtt8(), RTT2SEC_SHIFT)
        } else {
            let target = self.target_rtt8;
            let cwnd = if srtt8 < target { self.frac_cwnd * target / srtt8.max(1) } else { self.frac_cwnd };
            scaled(cwnd, mtu, CWND_UNIT)
        };
        bytes.div_ceil(MIN_CWND as u64)
    }

    fn update_pacing_rate(&mut self, flight: &mut Flight) {
        let PathState { mtu, now_us, .. } = self.path;
        let mut rate = if self.is_rtt_indep(flight.window) && self.by_rate {
            // A little faster in the first half of an RTT, a little slower in the second, for a steady number of marks
            // at a step AQM.
            let offset = scaled(RATE_OFFSET, self.rate_bytes, OFFSET_UNIT);
            let second_half = now_us.saturating_sub(self.alpha_us) >= self.virtual_rtt8() >> (3 + 1);
            if second_half { self.rate_bytes - offset } else { self.rate_bytes + offset }
        } else {
            let packets = (self.frac_cwnd >> CWND_UNIT).max(flight.in_flight as u64);
            self.rate_bytes = (self.path.packet_per_rtt() * packets).max(MINIMUM_RATE);
            self.rate_bytes
        };
        if flight.window.cwnd < flight.window.ssthresh / 2 {
            rate <<= 1;
        }
        self.max_tso_burst = (((rate / mtu) >> self.config.prague_burst_shift) as u32).max(1);
        flight.pacing_rate = Some(Rate::from_bps(rate * 8));
    }

    fn new_round(&mut self, flight: &Flight) {
        self.rounds.begin(flight);
        self.cwnd_changed();
    }

    /// Below the target growth is that of a flow with the target as its RTT and the same rate.
    fn cwnd_changed(&mut self) {
        let rtt8 = self.path.srtt8;
        let target = self.target_rtt8;
        let scales = self.rounds.count >= self.config.prague_rtt_transition && rtt8 > 0 && rtt8 < target;
        self.ai_ack_increase = match scales {
            true => closest((rtt8 << CWND_UNIT) * rtt8, target * target),
            false => ONE_CWND,
        };
    }

    fn enter_loss(&mut self, window: &Window) {
        (self.loss.reduced, self.loss.amount) = (true, self.rate_bytes);
        if self.is_rtt_indep(window) && self.by_rate {
            self.rate_bytes -= self.rate_bytes >> 1;
            self.frac_cwnd = self.frac_of_rate();
        } else {
            self.frac_cwnd -= self.frac_cwnd >> 1;
            // Outside rate mode the rate follows the window.
            self.rate_bytes = self.rate_of_frac();
        }
    }

    /// Reduces the window by half of the marked fraction, at most once per RTT or target.
    fn enter_cwr(&mut self, window: &Window) {
        let (independent, now) = (self.is_rtt_indep(window), self.path.now_us);
        if independent && now.saturating_sub(self.cwr_us) < self.target_rtt8 / 8 {
            return;
        }
        self.cwr_us = now;
        let alpha = self.upscaled_alpha >> SHIFT_G;
        if independent && self.by_rate {
            let reduction = scaled(self.rate_bytes, alpha, ALPHA_BITS + 1);
            self.rate_bytes = (self.rate_bytes - reduction).max(MINIMUM_RATE);
            self.frac_cwnd = self.frac_of_rate();
        } else {
            self.frac_cwnd -= reduction_of(self.frac_cwnd, alpha, ALPHA_BITS);
            self.rate_bytes = self.rate_of_frac();
        }
    }

    fn frac_of_rate(&self) -> u64 {
        let rtt8 = match self.hsrtt >> HSRTT_SHIFT {
            0 => self.path.srtt8,
            rtt8 => rtt8,
        };
        scaled(self.rate_bytes, rtt8, RTT2SEC_SHIFT - CWND_UNIT).div_ceil(self.path.mtu.max(1))
    }

    fn rate_of_frac(&self) -> u64 {
        scaled(self.path.packet_per_rtt(), self.frac_cwnd, CWND_UNIT).max(MINIMUM_RATE)
    }
}

/// A burst of at most `max` segments; 0 is no limit.
fn limited(burst: u32, max: u32) -> u32 {
    if max > 0 { burst.min(max) } else { burst }
}

/// Reduction of a fractional window for a marked fraction `alpha`, in 2^-`bits`: half of that fraction, rounded.
fn reduction_of(frac_cwnd: u64, alpha: u64, bits: u32) -> u64 {
    ((alpha as u128 * frac_cwnd as u128 + (1 << bits)) >> (bits + 1)) as u64
}

/// `a` * `b` >> `shift` (`mul_u64_u64_shr`).
fn scaled(a: u64, b: u64, shift: u32) -> u64 {
    ((a as u128 * b as u128) >> shift) as u64
}

/// Quotient rounded to the nearest integer.
fn closest(a: u64, b: u64) -> u64 {
    (a + b / 2) / b
}

const MIN_CWND: u32 = 2;
/// Payload of the smallest packet, in bytes.
const MIN_MSS: u64 = 150;
/// Headers of IPv4, TCP and timestamps, in bytes.
const HEADERS: u64 = 52;
/// In bytes per second: 100 kbit/s.
const MINIMUM_RATE: u64 = 12_500;
const ALPHA_BITS: u32 = 24;
const MAX_ALPHA: u64 = 1 << ALPHA_BITS;
const CWND_UNIT: u32 = 20;
const ONE_CWND: u64 = 1 << CWND_UNIT;
/// The gain g = 1/16.
const SHIFT_G: u32 = 4;
const MTU_SYS: u64 = 1_500;
/// 4/128, about 3 %.
const RATE_OFFSET: u64 = 4;
const OFFSET_UNIT: u32 = 7;
const HSRTT_SHIFT: u32 = 7;
/// Approximates 8,000,000 by 2^23.
const RTT2SEC_SHIFT: u32 = 23;
