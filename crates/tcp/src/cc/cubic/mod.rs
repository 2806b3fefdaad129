//! CUBIC as in Linux `tcp_cubic.c`, in its integer arithmetic.
//!
//! Source: Ha, Rhee and Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant", 2008, and the kernels named at the
//! constants below. Names are the kernel's. Time is in clock ticks and, inside the cubic function, in 1/1024 s; windows
//! are in segments.
//!
//! # When to use
//!
//! For most of today's traffic: CUBIC has been Linux's default since 2.6.19. It runs in the version of the stack.

mod root;
#[cfg(test)]
mod tests;

use self::root::cube_root;
use super::hystart::{self, HyStart};
use super::params::INT_MAX;
use super::{Ack, CongestionControl, ControlDocs, Params, Window, WindowControl, WindowEvent};
use crate::stack::cubic::{LINUX_6, Version};
use crate::stack::{self, GrowthCounting, Stack};
use crate::state::CaState;
use crate::{Clock, Ticks};
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, config};

config! {
    /// Module parameters of CUBIC in Linux 6.1; older kernels have the same defaults.
    pub struct Config {
        /// A loss before the window has reached the last maximum lowers that maximum too.
        fast_convergence: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Factor of the window after a loss, in 1/1024.
        beta: u32 = 717, in Value::Count(0) => Value::Count(BICTCP_BETA_SCALE as u64 - 1);
        /// Initial slow-start threshold without HyStart, in packets; 0 leaves the stack's.
        initial_ssthresh: u32 = 0, in Value::Count(0) => INT_MAX;
        /// Steepness of the curve: a tenth of C, in 1/1024 segments per cubed second.
        bic_scale: u32 = 41, in Value::Count(1) => Value::Count(1 << 20);
        /// Grows at least as fast as a Reno flow with the same losses.
        tcp_friendliness: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// HyStart may end slow start, if the stack's kernel has it.
        hystart: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Signals of HyStart: 1 for ACK trains, 2 for a rise of the RTT, 3 for both.
        hystart_detect: u32 = HYSTART_ACK_TRAIN | HYSTART_DELAY, in Value::Count(0) => Value::Count(3);
        /// Window from which HyStart may end slow start, in packets.
        hystart_low_window: u32 = 16, in Value::Count(0) => INT_MAX;
        /// Maximum spacing of acknowledgments within one train, in microseconds.
        hystart_ack_delta_us: u32 = 2_000, in Value::Count(0) => INT_MAX;
    }
}

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: Config,
    /// Windows per segment of growth of a Reno flow with the same mean, times 8: 15 for beta = 717, in the kernel's
    /// integers.
    beta_scale: u32,
    /// 1 / C in cubed units of time.
    cube_factor: u64,
    version: Version,
    clock: Clock,
    epoch: Epoch,
    /// W_max: window before the last reduction, lowered by fast convergence; 0 before the first.
    last_max_cwnd: u32,
    /// Window before the last reduction, for an undo.
    loss_cwnd: u32,
    /// Minimum RTT; zero before the first sample.
    delay_min: Duration,
    /// Mean number of packets per acknowledgment, times 16; in integers it never falls from 2 below 31/16.
    delayed_ack: u32,
    hystart: Option<HyStart>,
}

/// Growth since the last reduction.
#[derive(Clone, Debug, Default)]
struct Epoch {
    /// Time of the first acknowledgment of this epoch that grew the window.
    start: Option<Ticks>,
    /// Acknowledgments per segment of growth.
    cnt: u32,
    last_cwnd: u32,
    last_time: Ticks,
    /// Plateau of the cubic function.
    bic_origin_point: u32,
    /// Time from the start to the plateau, in 1/1024 s.
    bic_k: u32,
    /// Acknowledgments not yet added to `tcp_cwnd`.
    ack_cnt: u32,
    /// Window of a Reno flow with the same mean window.
    tcp_cwnd: u32,
}

impl Default for Cubic {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Cubic {
    fn from(config: Config) -> Self {
        Self::new(config, LINUX_6, Clock::new(Duration::from_millis(1)))
    }
}

impl Cubic {
    fn new(config: Config, version: Version, clock: Clock) -> Self {
        let hystart = version.hystart.filter(|_| config.hystart);
        let params = hystart::Params {
            ack_train: config.hystart_detect & HYSTART_ACK_TRAIN > 0,
            delay: config.hystart_detect & HYSTART_DELAY > 0,
            low_window: config.hystart_low_window,
            ack_delta: Duration::from_micros(config.hystart_ack_delta_us as i64),
        };
        Self {
            beta_scale: 8 * (BICTCP_BETA_SCALE + config.beta) / 3 / (BICTCP_BETA_SCALE - config.beta),
            cube_factor: (1 << (10 + 3 * BICTCP_HZ)) / config.cube_rtt_scale(),
            config,
            version,
            clock,
            epoch: Epoch::default(),
            last_max_cwnd: 0,
            loss_cwnd: 0,
            delay_min: Duration::ZERO,
            delayed_ack: 2 << ACK_RATIO_SHIFT,
            hystart: hystart.map(|hystart| HyStart::new(hystart, params)),
        }
    }

    /// `bictcp_acked`: takes the samples of an acknowledgment; HyStart may end slow start.
    fn take_sample(&mut self, window: &mut Window, ack: &Ack) {
        if self.version.delayed_ack && ack.state == CaState::Open {
            let ratio = self.delayed_ack - (self.delayed_ack >> ACK_RATIO_SHIFT) + ack.packets;
            self.delayed_ack = ratio.min(ACK_RATIO_LIMIT);
        }
        let Some(rtt) = ack.rtt else { return };
        // Samples right after a reduction still include the queue that caused it.
        let now = self.clock.ticks(ack.now);
        if self.epoch.start.is_some_and(|start| now - start < self.clock.ticks_at_least_one(Duration::from_secs(1))) {
            return;
        }
        if self.delay_min == Duration::ZERO || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if let Some(hystart) = self.hystart.as_mut().filter(|_| window.in_slow_start()) {
            if hystart.ends_slow_start(window.cwnd, ack, rtt, self.delay_min) {
                window.ssthresh = window.cwnd;
            }
        }
    }

    /// `bictcp_cong_avoid`.
    fn cong_avoid(&mut self, window: &mut Window, ack: &Ack) {
        let mut packets = ack.packets;
        if window.in_slow_start() {
            if let Some(hystart) = &mut self.hystart {
                hystart.grows(ack);
            }
            packets = window.slow_start(packets);
            if packets == 0 {
                return;
            }
        }
        // Kernels that do not count packets count this acknowledgment as one.
        let acked = if window.counting == GrowthCounting::Packets { packets } else { 1 };
        let cnt = self.update(window.cwnd, self.clock.ticks(ack.now), acked);
        window.step(cnt, packets);
    }

    /// `bictcp_update`: acknowledgments (or packets) per segment of growth.
    fn update(&mut self, cwnd: u32, now: Ticks, acked: u32) -> u32 {
        let epoch = &mut self.epoch;
        epoch.ack_cnt += acked;
        let since = now - epoch.last_time;
        if epoch.last_cwnd == cwnd && since <= self.clock.ticks_at_least_one(UPDATE_INTERVAL) {
            return epoch.cnt;
        }
        // Later kernels evaluate the cubic function at most once per jiffy; Reno's window advances all the same.
        if !(self.version.once_per_tick && epoch.start.is_some() && since == 0) {
            (epoch.last_cwnd, epoch.last_time) = (cwnd, now);
            let start = *epoch.start.get_or_insert_with(|| {
                epoch.ack_cnt = acked;
                epoch.tcp_cwnd = cwnd;
                let lost = self.last_max_cwnd.saturating_sub(cwnd) as u64;
                epoch.bic_k = cube_root(self.cube_factor.saturating_mul(lost));
                epoch.bic_origin_point = self.last_max_cwnd.max(cwnd);
                now
            });
            // Target window one round trip from now.
            let delay = if self.delay_min > Duration::ZERO { self.clock.ticks_at_least_one(self.delay_min) } else { 0 };
            let t = units_of_time(self.clock.duration(now - start + delay));
            let bic_target = epoch.w_cubic(t, self.config.cube_rtt_scale());
            epoch.cnt = if bic_target > cwnd { cwnd / (bic_target - cwnd) } else { scaled(cwnd, 100, 1) };
            if self.last_max_cwnd == 0 {
                // Before the first loss: at least 5 % per round trip.
                epoch.cnt = epoch.cnt.min(20);
            }
        }
        if self.config.tcp_friendliness {
            epoch.apply_tcp_friendliness(cwnd, self.beta_scale);
        }
        if self.version.delayed_ack {
            epoch.cnt = scaled(epoch.cnt, 1 << ACK_RATIO_SHIFT, self.delayed_ack);
        }
        epoch.cnt = epoch.cnt.max(self.version.min_cnt);
        epoch.cnt
    }
}

impl Config {
    /// C, in 1/1024 segments per cubed second: 410 for 0.4.
    fn cube_rtt_scale(&self) -> u64 {
        10 * self.bic_scale as u64
    }
}

impl Epoch {
    /// W_cubic(t) = C (t − K)³ + W_max, for `t` in 1/1024 s and C = `cube_rtt_scale` / 1024. The plateau counts from
    /// within one segment of W_max, that is cbrt(1/C) = 1.36 s early; a loss in that time leaves W_max unchanged. Mean
    /// windows are therefore up to 20 % above RFC 9438 §5.1.
    fn w_cubic(&self, t: u32, cube_rtt_scale: u64) -> u32 {
        let offs = t.abs_diff(self.bic_k).min(MAX_OFFSET) as u64;
        // The first kernels had a factor of 32 here, 12.5 times too small for their K.
        let delta = (cube_rtt_scale.saturating_mul(offs * offs * offs) >> (10 + 3 * BICTCP_HZ)) as u32;
        if t < self.bic_k {
            self.bic_origin_point.saturating_sub(delta)
        } else {
            self.bic_origin_point.saturating_add(delta)
        }
    }

    /// At least as fast as a Reno flow with the same losses, which grows by one segment in (1 + beta) / (3 (1 − beta))
    /// windows.
    fn apply_tcp_friendliness(&mut self, cwnd: u32, beta_scale: u32) {
        // Differs: at least one packet; with a small beta and window the kernel would not leave this loop.
        let per_step = scaled(cwnd, beta_scale, 8).max(1);
        while self.ack_cnt > per_step {
            self.ack_cnt -= per_step;
            self.tcp_cwnd += 1;
        }
        if self.tcp_cwnd > cwnd {
            self.cnt = self.cnt.min(cwnd / (self.tcp_cwnd - cwnd));
        }
    }
}

impl ControlDocs for Cubic {
    const SOURCE: &'static str = "S. Ha, I. Rhee and L. Xu, ACM SIGOPS 42(5), 2008; Linux tcp_cubic.c";
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Cubic {
    fn attach(&mut self, stack: &Stack, is_paced: bool) {
        let mut version = stack.cubic;
        if is_paced {
            version.hystart = version.hystart.map(stack::hystart::Config::paced);
        }
        *self = Self::new(self.config.clone(), version, stack.clock());
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Cubic {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.epoch.start = None;
        // Fast convergence: a flow whose window did not recover to W_max releases bandwidth to others.
        self.last_max_cwnd = if window.cwnd < self.last_max_cwnd && self.config.fast_convergence {
            scaled(window.cwnd, BICTCP_BETA_SCALE + self.config.beta, 2 * BICTCP_BETA_SCALE)
        } else {
            window.cwnd
        };
        self.loss_cwnd = window.cwnd;
        scaled(window.cwnd, self.config.beta, BICTCP_BETA_SCALE).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        self.cong_avoid(window, ack);
    }

    #[inline(always)]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        self.take_sample(window, ack);
    }

    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        match event {
            WindowEvent::TimedOut => {
                let reset = Self::new(self.config.clone(), self.version, self.clock);
                *self = Self { loss_cwnd: self.loss_cwnd, ..reset };
            }
            WindowEvent::Restarted { now, last_sent } => {
                // The connection sends for the first time. The kernel ignores this threshold with HyStart.
                if !self.config.hystart && self.config.initial_ssthresh > 0 {
                    window.ssthresh = std::mem::take(&mut self.config.initial_ssthresh);
                }
                // Shifts the epoch by the idle time, so that the window does not jump along the curve after a pause.
                if let Some(start) = self.epoch.start.as_mut().filter(|_| self.version.idle_shifts_epoch) {
                    let (now, last_sent) = (self.clock.ticks(now), self.clock.ticks(last_sent));
                    *start = (*start + (now - last_sent)).min(now);
                }
            }
            WindowEvent::Reduced => {}
        }
    }

    fn min_cwnd(&mut self, window: &Window) -> u32 {
        window.ssthresh
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        window.cwnd.max(self.loss_cwnd)
    }
}

/// Duration in units of the cubic function, 2^−10 s.
fn units_of_time(span: Duration) -> u32 {
    ((span.as_nanos() as u64).saturating_mul(1 << BICTCP_HZ) / 1_000_000_000).min(u32::MAX as u64) as u32
}

/// `n` * `by` / `of`, saturating: such windows exceed the capacity of any link.
fn scaled(n: u32, by: u32, of: u32) -> u32 {
    (n as u64 * by as u64 / of as u64).min(u32::MAX as u64) as u32
}

const BICTCP_BETA_SCALE: u32 = 1024;
/// log2 of the units of time in a second.
const BICTCP_HZ: u32 = 10;
/// Bits of `hystart_detect`.
const HYSTART_ACK_TRAIN: u32 = 1;
const HYSTART_DELAY: u32 = 2;
const ACK_RATIO_SHIFT: u32 = 4;
const ACK_RATIO_LIMIT: u32 = 32 << ACK_RATIO_SHIFT;
/// With an unchanged window `cnt` is recomputed only after this time (HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
/// Maximum distance from the plateau, four minutes: beyond it the cube would overflow 64 bits, and with the default C
/// the target is millions of segments anyway.
const MAX_OFFSET: u32 = 1 << 18;
