//! Vegas: compares the window with the bandwidth-delay product at the minimum RTT and keeps two to four packets in the
//! queue (L. S. Brakmo and L. L. Peterson, IEEE JSAC 13(8), 1995).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_vegas.c`) on every stack. Once per round trip with at least three samples
//! the window moves by one segment; in slow start it is set to the bandwidth-delay product as soon as more than one
//! packet is queued. The window may move even if it was not fully used. Outside the state Open it is Reno; after idle
//! it measures anew.
//!
//! # When to use
//!
//! As the classic delay-based control. Alone it keeps alpha to beta packets in the queue at any buffer size, and behind
//! CoDel it never sees a drop. It starves next to a control that fills the buffer.

use super::params::INT_MAX;
use super::rounds::{MIN_SAMPLES, RttRounds};
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Params, Window, WindowControl, WindowEvent, reno};
use crate::state::CaState;
use sojourn_aqm::params::Value;
use sojourn_aqm::{Instant, config};

config! {
    /// Module parameters of Vegas.
    pub struct Config {
        /// Packets in the queue below which the window grows by one per round trip.
        alpha: u32 = 2, in Value::Count(0) => INT_MAX;
        /// Packets in the queue above which the window shrinks by one per round trip.
        beta: u32 = 4, in Value::Count(0) => INT_MAX;
        /// Packets in the queue above which slow start ends.
        gamma: u32 = 1, in Value::Count(0) => INT_MAX;
    }
}

/// Vegas.
#[derive(Clone, Debug, Default)]
pub struct Vegas {
    config: Config,
    /// Minimum RTTs of the connection and of this round.
    rounds: RttRounds,
}

impl From<Config> for Vegas {
    fn from(config: Config) -> Self {
        Self { config, ..Self::default() }
    }
}

impl Vegas {
    fn advance(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        let packets = ack.packets;
        let over = self.rounds.enabled && self.rounds.is_over(ack);
        if !self.rounds.enabled || (over && !self.rounds.is_sampled()) {
            if is_limited {
                reno::increase(window, packets);
            }
        } else if over {
            self.adjust(window, packets);
        } else if window.in_slow_start() {
            window.slow_start(packets);
        }
        if over {
            self.rounds.begin(ack.nxt);
        }
    }

    /// Adjusts the window at the end of a round.
    fn adjust(&self, window: &mut Window, packets: u32) {
        let base = self.rounds.base_rtt;
        let target = (window.cwnd as u64 * base as u64 / self.rounds.min_rtt as u64) as u32;
        // Wraps as in the kernel, at 5000 segments and 0.86 s of queue.
        let diff = window.cwnd.wrapping_mul(self.rounds.queueing_delay()) / base;
        if window.in_slow_start() {
            if diff > self.config.gamma {
                window.cwnd = window.cwnd.min(target + 1);
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start(packets);
            }
        } else if diff > self.config.beta {
            window.cwnd -= 1;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < self.config.alpha {
            window.cwnd += 1;
        }
        window.cwnd = window.cwnd.max(2);
        window.ssthresh = window.current_ssthresh(CaState::Open);
    }
}

impl ControlDocs for Vegas {
    const SOURCE: &'static str = "L. S. Brakmo and L. L. Peterson, IEEE JSAC 13(8), 1995; Linux 6.1 tcp_vegas.c";
    const CONSTANTS: &'static [Constant] =
        &[Constant::new("cntRTT", MIN_SAMPLES as u64, "samples", "Samples of a round up to which it grows as Reno.")];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Vegas {
    fn needs(&self) -> Needs {
        Needs { reports: true, grows_unlimited: true, ..Needs::NONE }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Vegas {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        self.advance(window, ack, is_limited);
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
