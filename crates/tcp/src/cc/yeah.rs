//! YeAH: Scalable TCP while the queue is short, Reno otherwise, with a window reduction that drains the queue before it
//! overflows (A. Baiocchi, A. Castellani and F. Vacirca, PFLDnet 2007).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_yeah.c`) on every stack. The queue is estimated once per round trip as in
//! Vegas. If more than 80 packets are queued, or if the RTT exceeds its minimum by more than an eighth, the mode is
//! slow and the window grows like Reno's. With more than 80 packets, the queue is subtracted from the window, down to
//! an estimate of Reno's window (`reno_count`). A loss subtracts the queue, between an eighth and half of the window,
//! but half after 16 slow round trips in a row, which indicate greedy competitors.
//!
//! # When to use
//!
//! As a hybrid for long paths of high rate: alone it keeps queues below 80 packets, and next to loss-based flows it
//! competes like Reno.

use super::rounds::RttRounds;
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Window, WindowControl, WindowEvent, scalable};
use crate::state::CaState;
use sojourn_aqm::Instant;

/// YeAH.
#[derive(Clone, Debug)]
pub struct Yeah {
    /// Minimum RTTs of the connection and of this round.
    rounds: RttRounds,
    /// Packets in the queue by the last estimate (`lastQ`).
    last_q: u32,
    /// Consecutive slow round trips; zero in fast mode.
    doing_reno_now: u32,
    /// Estimate of the window that Reno would have.
    reno_count: u32,
    /// Fast round trips since the last loss, reset at 50.
    fast_count: u32,
}

impl Default for Yeah {
    fn default() -> Self {
        Self { rounds: RttRounds::default(), last_q: 0, doing_reno_now: 0, reno_count: MIN_RENO, fast_count: 0 }
    }
}

impl Yeah {
    fn cong_avoid(&self, window: &mut Window, packets: u32) {
        if self.doing_reno_now == 0 {
            return scalable::increase(window, packets);
        }
        let left = if window.in_slow_start() { window.slow_start(packets) } else { packets };
        if left > 0 {
            window.step(window.cwnd, left);
        }
    }

    /// Decides on mode and window at the end of a round.
    fn judge(&mut self, window: &mut Window) {
        let queued = self.rounds.queueing_delay();
        let queue = (window.cwnd as u64 * queued as u64 / self.rounds.min_rtt as u64) as u32;
        if queue > ALPHA || queued > self.rounds.base_rtt / PHY {
            if queue > ALPHA && window.cwnd > self.reno_count {
                let reduction = (queue / GAMMA).min(window.cwnd >> EPSILON);
                window.cwnd = (window.cwnd - reduction).max(self.reno_count);
                window.ssthresh = window.cwnd;
            }
            self.reno_count = match self.reno_count {
                0..=MIN_RENO => (window.cwnd >> 1).max(2),
                count => count + 1,
            };
            self.doing_reno_now = (self.doing_reno_now + 1).min(0xff_ffff);
        } else {
            self.fast_count += 1;
            if self.fast_count > ZETA {
                (self.reno_count, self.fast_count) = (MIN_RENO, 0);
            }
            self.doing_reno_now = 0;
        }
        self.last_q = queue;
    }
}

impl ControlDocs for Yeah {
    const SOURCE: &'static str =
        "A. Baiocchi, A. Castellani and F. Vacirca, PFLDnet 2007; Linux 6.1 tcp_yeah.c, tcp_vegas.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new(
            "ALPHA",
            ALPHA as u64,
            "packets",
            "Packets in the queue above which the window is reduced by them.",
        ),
        Constant::new("GAMMA", GAMMA as u64, "", "Divisor of the queue that gives the reduction per round trip."),
        Constant::new(
            "DELTA",
            DELTA as u64,
            "bits",
            "A loss takes at least the window divided by 2 to the power of this.",
        ),
        Constant::new(
            "EPSILON",
            EPSILON as u64,
            "bits",
            "A reduction takes at most the window divided by 2 to the power of this.",
        ),
        Constant::new(
            "PHY",
            PHY as u64,
            "",
            "The mode is slow while the queueing delay exceeds the minimum RTT divided by this.",
        ),
        Constant::new(
            "RHO",
            RHO as u64,
            "round trips",
            "Consecutive slow rounds after which a loss halves the window.",
        ),
        Constant::new(
            "ZETA",
            ZETA as u64,
            "round trips",
            "Fast rounds after which the estimate of Reno's window is reset.",
        ),
    ];
}

impl CongestionControl for Yeah {
    fn needs(&self) -> Needs {
        Needs { reports: true, ..Needs::default() }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Yeah {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let half = (window.cwnd >> 1).max(2);
        let reduction = if self.doing_reno_now < RHO { self.last_q.min(half).max(window.cwnd >> DELTA) } else { half };
        self.fast_count = 0;
        self.reno_count = (self.reno_count >> 1).max(MIN_RENO);
        window.cwnd.saturating_sub(reduction).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        self.cong_avoid(window, ack.packets);
        if self.rounds.is_over(ack) {
            if self.rounds.is_sampled() {
                self.judge(window);
            }
            self.rounds.begin(ack.nxt);
        }
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        self.rounds.add_sample(ack);
    }

    fn state_changed(&mut self, _: &mut Window, state: CaState, _: Instant, nxt: u64) {
        self.rounds.state_changed(state, nxt);
    }

    fn event(&mut self, _: &mut Window, event: WindowEvent) {
        if let WindowEvent::Restarted { .. } = event {
            self.rounds.restart();
        }
    }
}

const ALPHA: u32 = 80;
const GAMMA: u32 = 1;
const DELTA: u32 = 3;
const EPSILON: u32 = 1;
const PHY: u32 = 8;
const RHO: u32 = 16;
const ZETA: u32 = 50;
/// Initial value of `reno_count`.
const MIN_RENO: u32 = 2;
