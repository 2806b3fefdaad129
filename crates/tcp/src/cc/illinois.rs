//! Illinois: Reno with an increase that falls from 10 to 0.3 segments per round trip and a decrease that rises from 1/8
//! to 1/2 as the mean queueing delay grows (S. Liu, T. Başar and R. Srikant, Performance Evaluation 65, 2008).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_illinois.c`) on every stack. The mean RTT is taken per round trip, the
//! maximum RTT over the connection; both parameters are set once per round trip, even if the window is not fully used.
//!
//! # When to use
//!
//! On long paths of high rate on which delay predicts loss, if the flow must still compete with loss-based controls:
//! delay sets only the step size, loss the direction.

use super::params::INT_MAX;
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Params, Window, WindowControl};
use crate::state::CaState;
use sojourn_aqm::params::Value;
use sojourn_aqm::{Instant, config};

config! {
    /// Module parameters of Illinois.
    pub struct Config {
        /// Window below which it behaves as Reno, in packets.
        win_thresh: u32 = 15, in Value::Count(0) => INT_MAX;
        /// Round trips at low delay before the increase is maximal again; the kernel counts them in eight bits.
        theta: u32 = 5, in Value::Count(0) => Value::Count(255);
    }
}

/// Illinois. RTTs are in microseconds.
#[derive(Clone, Debug)]
pub struct Illinois {
    config: Config,
    /// Sum of the RTTs of this round.
    sum_rtt: u64,
    /// Number of RTT samples of this round; wraps as in the kernel.
    cnt_rtt: u16,
    /// Minimum RTT.
    base_rtt: u32,
    /// Maximum RTT.
    max_rtt: u32,
    /// The round ends when this sequence number is acknowledged.
    end_seq: u64,
    /// Increase in segments per round trip, in 1/128.
    alpha: u32,
    /// Fraction of the window that a loss takes, in 1/64.
    beta: u32,
    /// Packets that the current acknowledgment covers.
    acked: u16,
    /// Whether the mean delay has been above the low threshold.
    rtt_above: bool,
    /// Rounds of low delay since then.
    rtt_low: u8,
}

impl Default for Illinois {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Illinois {
    fn from(config: Config) -> Self {
        Self {
            config,
            sum_rtt: 0,
            cnt_rtt: 0,
            base_rtt: 0x7fff_ffff,
            max_rtt: 0,
            end_seq: 0,
            alpha: ALPHA_MAX,
            beta: BETA_BASE,
            acked: 0,
            rtt_above: false,
            rtt_low: 0,
        }
    }
}

impl Illinois {
    fn reset_round(&mut self, nxt: u64) {
        (self.end_seq, self.cnt_rtt, self.sum_rtt) = (nxt, 0, 0);
    }

    /// Sets both parameters when a round ends.
    fn update_params(&mut self, cwnd: u32, ack: &Ack) {
        if ack.una <= self.end_seq {
            return;
        }
        if cwnd < self.config.win_thresh {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
        } else if self.cnt_rtt > 0 {
            let dm = self.max_rtt - self.base_rtt;
            let da = ((self.sum_rtt / self.cnt_rtt as u64) as u32).wrapping_sub(self.base_rtt);
            self.alpha = self.alpha_of(da, dm);
            self.beta = beta_of(da, dm);
        }
        self.reset_round(ack.nxt);
    }

    /// Increase at a mean queueing delay of `da`, with a maximum queueing delay of `dm`.
    fn alpha_of(&mut self, da: u32, dm: u32) -> u32 {
        let d1 = dm / 100;
        if da <= d1 {
            if self.rtt_above {
                // A single round of low delay does not raise the increase to its maximum.
                self.rtt_low += 1;
                if (self.rtt_low as u32) < self.config.theta {
                    return self.alpha;
                }
                (self.rtt_low, self.rtt_above) = (0, false);
            }
            return ALPHA_MAX;
        }
        self.rtt_above = true;
        let (dm, da) = (dm - d1, da - d1);
        (dm * ALPHA_MAX) / (dm + da.wrapping_mul(ALPHA_MAX - ALPHA_MIN) / ALPHA_MIN)
    }
}

impl ControlDocs for Illinois {
    const SOURCE: &'static str =
        "S. Liu, T. Başar and R. Srikant, Performance Evaluation 65, 2008; Linux 6.1 tcp_illinois.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("ALPHA_MIN", ALPHA_MIN as u64, "/ 128", "Increase per round trip at the largest delay."),
        Constant::new(
            "ALPHA_MAX",
            ALPHA_MAX as u64,
            "/ 128",
            "Increase per round trip at the lowest delay, and initially.",
        ),
        Constant::new(
            "ALPHA_BASE",
            ALPHA_BASE as u64,
            "/ 128",
            "Increase per round trip of small windows, and after a time-out.",
        ),
        Constant::new(
            "BETA_MIN",
            BETA_MIN as u64,
            "/ 64",
            "Share of the window that a loss takes at a delay up to a tenth of the largest.",
        ),
        Constant::new(
            "BETA_MAX",
            BETA_MAX as u64,
            "/ 64",
            "Share of the window that a loss takes from eight tenths of the largest delay on.",
        ),
        Constant::new("RTT_MAX", RTT_MAX as u64, "us", "Upper limit of RTT samples."),
    ];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Illinois {
    fn needs(&self) -> Needs {
        Needs { reports: true, grows_unlimited: true, ..Needs::NONE }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Illinois {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let decrease = (window.cwnd as u64 * self.beta as u64) >> BETA_SHIFT;
        (window.cwnd - decrease as u32).max(2)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        self.update_params(window.cwnd, ack);
        if !is_limited {
            return;
        }
        if window.in_slow_start() {
            window.slow_start(ack.packets);
            return;
        }
        window.cwnd_cnt += self.acked as u32;
        let delta = window.cwnd_cnt.wrapping_mul(self.alpha) >> ALPHA_SHIFT;
        if delta >= window.cwnd {
            window.cwnd += delta / window.cwnd;
            window.cwnd_cnt = 0;
        }
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        self.acked = ack.packets as u16;
        if let Some(rtt) = ack.rtt {
            let rtt = (rtt.as_nanos() as u64 / 1_000).min(RTT_MAX as u64) as u32;
            self.base_rtt = self.base_rtt.min(rtt);
            self.max_rtt = self.max_rtt.max(rtt);
            self.cnt_rtt = self.cnt_rtt.wrapping_add(1);
            self.sum_rtt += rtt as u64;
        }
    }

    fn state_changed(&mut self, _: &mut Window, state: CaState, _: Instant, nxt: u64) {
        if state == CaState::Loss {
            (self.alpha, self.beta) = (ALPHA_BASE, BETA_BASE);
            (self.rtt_low, self.rtt_above) = (0, false);
            self.reset_round(nxt);
        }
    }
}

/// Decrease at a mean queueing delay of `da`, with a maximum queueing delay of `dm`.
fn beta_of(da: u32, dm: u32) -> u32 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    if da <= d2 {
        BETA_MIN
    } else if da >= d3 || d3 <= d2 {
        BETA_MAX
    } else {
        (BETA_MIN * d3 - BETA_MAX * d2 + (BETA_MAX - BETA_MIN) * da) / (d3 - d2)
    }
}

const ALPHA_SHIFT: u32 = 7;
const ALPHA_MIN: u32 = (3 << ALPHA_SHIFT) / 10;
const ALPHA_MAX: u32 = 10 << ALPHA_SHIFT;
const ALPHA_BASE: u32 = 1 << ALPHA_SHIFT;
const BETA_SHIFT: u32 = 6;
const BETA_MIN: u32 = (1 << BETA_SHIFT) / 8;
const BETA_MAX: u32 = (1 << BETA_SHIFT) / 2;
const BETA_BASE: u32 = BETA_MAX;
const RTT_MAX: u32 = u32::MAX / ALPHA_MAX;
