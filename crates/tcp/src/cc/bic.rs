//! BIC: binary search for the window between the last two losses, by at most 16 segments per round trip (L. Xu, K.
//! Harfoush and I. Rhee, INFOCOM 2004).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_bic.c`) on every stack. Up to a window of 14 segments BIC is Reno. Per
//! round trip the window moves a quarter of the distance to the window before the last loss, and beyond that window it
//! accelerates symmetrically; within four segments of it one segment takes five windows. A loss multiplies the window
//! by 0.8; if the window had not yet reached the last maximum, that maximum is lowered too (fast convergence). The step
//! is corrected for the number of packets per acknowledgment although Linux counts packets since 4.0, so with delayed
//! acknowledgments BIC grows twice as fast since then.
//!
//! # When to use
//!
//! To reproduce Linux 2.6.8 to 2.6.18, in which it was the default, and as the predecessor of CUBIC. It scales to large
//! windows independently of the RTT, and on short paths it takes more from Reno than CUBIC does.

use super::params::INT_MAX;
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Params, Window, WindowControl, WindowEvent};
use crate::stack::Stack;
use crate::state::CaState;
use crate::{Clock, Ticks};
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, config};

config! {
    /// Module parameters of BIC.
    pub struct Config {
        /// A loss before the window has reached the last maximum lowers that maximum too.
        fast_convergence: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Maximum increase of the window per round trip, in packets.
        max_increment: u32 = 16, in Value::Count(1) => Value::Count(1 << 20);
        /// Window up to which it behaves as Reno, in packets.
        low_window: u32 = 14, in Value::Count(0) => INT_MAX;
        /// Factor of the window after a loss, in 1/1024.
        beta: u32 = 819, in Value::Count(0) => Value::Count(BICTCP_BETA_SCALE as u64);
        /// Initial slow-start threshold, in packets; 0 leaves the stack's.
        initial_ssthresh: u32 = 0, in Value::Count(0) => INT_MAX;
        /// Near the last maximum a step is the window times this, divided by BICTCP_B, in packets.
        smooth_part: u32 = 20, in Value::Count(0) => Value::Count(1 << 20);
    }
}

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    config: Config,
    clock: Clock,
    /// Packets per segment of growth.
    cnt: u32,
    /// Window before the last loss, lowered by fast convergence.
    last_max_cwnd: u32,
    /// Window for which `cnt` was computed.
    last_cwnd: u32,
    /// Time at which `cnt` was computed; none since the last time-out.
    last_time: Option<Ticks>,
    /// Mean number of packets per acknowledgment, in 1/16.
    delayed_ack: u32,
}

impl Default for Bic {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Bic {
    fn from(config: Config) -> Self {
        Self::new(config, Clock::new(Duration::from_millis(1)))
    }
}

impl Bic {
    fn new(config: Config, clock: Clock) -> Self {
        let delayed_ack = 2 << ACK_RATIO_SHIFT;
        Self { config, clock, cnt: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: None, delayed_ack }
    }

    /// `bictcp_update`: packets per segment of growth.
    fn update(&mut self, cwnd: u32, now: Ticks) {
        let fresh = |at: Ticks| now.wrapping_sub(at) <= self.clock.ticks_at_least_one(UPDATE_INTERVAL);
        if self.last_cwnd == cwnd && self.last_time.is_some_and(fresh) {
            return;
        }
        (self.last_cwnd, self.last_time) = (cwnd, Some(now));
        if cwnd <= self.config.low_window {
            self.cnt = cwnd;
            return;
        }
        let mut cnt = self.search(cwnd);
        if self.last_max_cwnd == 0 {
            // Before the first loss: at least 5 % per round trip.
            cnt = cnt.min(MAX_BEFORE_LOSS);
        }
        self.cnt = ((cnt << ACK_RATIO_SHIFT) / self.delayed_ack).max(1);
    }

    fn search(&self, cwnd: u32) -> u32 {
        let max_increment = self.config.max_increment;
        let smooth = cwnd.wrapping_mul(self.config.smooth_part) / BICTCP_B;
        if cwnd < self.last_max_cwnd {
            return match (self.last_max_cwnd - cwnd) / BICTCP_B {
                dist if dist > max_increment => cwnd / max_increment,
                0 | 1 => smooth,
                dist => cwnd / dist,
            };
        }
        match cwnd - self.last_max_cwnd {
            beyond if beyond < BICTCP_B => smooth,
            beyond if beyond < max_increment * (BICTCP_B - 1) => cwnd.wrapping_mul(BICTCP_B - 1) / beyond,
            _ => cwnd / max_increment,
        }
    }
}

impl ControlDocs for Bic {
    const SOURCE: &'static str = "L. Xu, K. Harfoush and I. Rhee, INFOCOM 2004; Linux 6.1 tcp_bic.c";
    const CONSTANTS: &'static [Constant] =
        &[Constant::new("BICTCP_B", BICTCP_B as u64, "", "Divisor of the distance to the target that gives a step.")];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Bic {
    fn needs(&self) -> Needs {
        Needs { reports: true, ..Needs::default() }
    }

    fn attach(&mut self, stack: &Stack, _: bool) {
        *self = Self::new(self.config.clone(), stack.clock());
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Bic {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let cwnd = window.cwnd as u64;
        self.last_max_cwnd = if window.cwnd < self.last_max_cwnd && self.config.fast_convergence {
            // Fast convergence: a flow whose window did not recover to the maximum releases bandwidth to others.
            (cwnd * (BICTCP_BETA_SCALE + self.config.beta) as u64 / (2 * BICTCP_BETA_SCALE) as u64) as u32
        } else {
            window.cwnd
        };
        let left = if window.cwnd <= self.config.low_window {
            cwnd >> 1
        } else {
            cwnd * self.config.beta as u64 / BICTCP_BETA_SCALE as u64
        };
        left.max(2) as u32
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        let left = if window.in_slow_start() { window.slow_start(ack.packets) } else { ack.packets };
        if left > 0 {
            self.update(window.cwnd, self.clock.ticks(ack.now));
            window.step(self.cnt, left);
        }
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        if ack.state == CaState::Open {
            let mean = self.delayed_ack >> ACK_RATIO_SHIFT;
            self.delayed_ack = (self.delayed_ack + ack.packets) - mean;
        }
    }

    fn event(&mut self, window: &mut Window, event: WindowEvent) {
        match event {
            WindowEvent::TimedOut => *self = Self::new(self.config.clone(), self.clock),
            // The connection sends for the first time.
            WindowEvent::Restarted { .. } if self.config.initial_ssthresh > 0 => {
                window.ssthresh = std::mem::take(&mut self.config.initial_ssthresh);
            }
            WindowEvent::Restarted { .. } | WindowEvent::Reduced => {}
        }
    }
}

const BICTCP_BETA_SCALE: u32 = 1024;
const BICTCP_B: u32 = 4;
/// Packets per segment of growth before the first loss: 5 % per round trip.
const MAX_BEFORE_LOSS: u32 = 20;
const ACK_RATIO_SHIFT: u32 = 4;
/// With an unchanged window `cnt` is recomputed only after this time (HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
