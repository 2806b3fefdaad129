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

use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Window, WindowControl, WindowEvent};
use crate::stack::Stack;
use crate::state::CaState;
use crate::{Clock, Ticks};
use sojourn_aqm::Duration;

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
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
        Self::new(Clock::new(Duration::from_millis(1)))
    }
}

impl Bic {
    fn new(clock: Clock) -> Self {
        let delayed_ack = 2 << ACK_RATIO_SHIFT;
        Self { clock, cnt: 0, last_max_cwnd: 0, last_cwnd: 0, last_time: None, delayed_ack }
    }

    /// `bictcp_update`: packets per segment of growth.
    fn update(&mut self, cwnd: u32, now: Ticks) {
        let fresh = |at: Ticks| now.wrapping_sub(at) <= self.clock.ticks_at_least_one(UPDATE_INTERVAL);
        if self.last_cwnd == cwnd && self.last_time.is_some_and(fresh) {
            return;
        }
        (self.last_cwnd, self.last_time) = (cwnd, Some(now));
        if cwnd <= LOW_WINDOW {
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
        let smooth = cwnd.wrapping_mul(SMOOTH_PART) / BICTCP_B;
        if cwnd < self.last_max_cwnd {
            return match (self.last_max_cwnd - cwnd) / BICTCP_B {
                dist if dist > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                0 | 1 => smooth,
                dist => cwnd / dist,
            };
        }
        match cwnd - self.last_max_cwnd {
            beyond if beyond < BICTCP_B => smooth,
            beyond if beyond < MAX_INCREMENT * (BICTCP_B - 1) => cwnd.wrapping_mul(BICTCP_B - 1) / beyond,
            _ => cwnd / MAX_INCREMENT,
        }
    }
}

impl ControlDocs for Bic {
    const SOURCE: &'static str = "L. Xu, K. Harfoush and I. Rhee, INFOCOM 2004; Linux 6.1 tcp_bic.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("beta", BETA as u64, "/ 1024", "Factor of the window after a loss."),
        Constant::new("low_window", LOW_WINDOW as u64, "packets", "Window up to which it behaves as Reno."),
        Constant::new(
            "max_increment",
            MAX_INCREMENT as u64,
            "packets",
            "Maximum increase of the window per round trip.",
        ),
        Constant::new("BICTCP_B", BICTCP_B as u64, "", "Divisor of the distance to the target that gives a step."),
        Constant::new(
            "smooth_part",
            SMOOTH_PART as u64,
            "packets",
            "Near the last maximum a step is the window times this, divided by BICTCP_B.",
        ),
    ];
}

impl CongestionControl for Bic {
    fn needs(&self) -> Needs {
        Needs { reports: true, ..Needs::default() }
    }

    fn attach(&mut self, stack: &Stack, _: bool) {
        *self = Self::new(stack.clock());
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Bic {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let cwnd = window.cwnd as u64;
        self.last_max_cwnd = if window.cwnd < self.last_max_cwnd {
            // Fast convergence: a flow whose window did not recover to the maximum releases bandwidth to others.
            (cwnd * (BICTCP_BETA_SCALE + BETA) as u64 / (2 * BICTCP_BETA_SCALE) as u64) as u32
        } else {
            window.cwnd
        };
        let left = match window.cwnd {
            0..=LOW_WINDOW => cwnd >> 1,
            _ => cwnd * BETA as u64 / BICTCP_BETA_SCALE as u64,
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

    fn event(&mut self, _: &mut Window, event: WindowEvent) {
        if event == WindowEvent::TimedOut {
            *self = Self::new(self.clock);
        }
    }
}

/// 0.8, in 1/1024.
const BETA: u32 = 819;
const BICTCP_BETA_SCALE: u32 = 1024;
const BICTCP_B: u32 = 4;
const MAX_INCREMENT: u32 = 16;
const LOW_WINDOW: u32 = 14;
const SMOOTH_PART: u32 = 20;
/// Packets per segment of growth before the first loss: 5 % per round trip.
const MAX_BEFORE_LOSS: u32 = 20;
const ACK_RATIO_SHIFT: u32 = 4;
/// With an unchanged window `cnt` is recomputed only after this time (HZ / 32).
const UPDATE_INTERVAL: Duration = Duration::from_nanos(1_000_000_000 / 32);
