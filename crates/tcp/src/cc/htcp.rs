//! H-TCP: an increase that grows with the time since the last loss, and a decrease that only empties the queue (R. N.
//! Shorten and D. J. Leith, PFLDnet 2004).
//!
//! Integer arithmetic as in Linux 6.1 (`tcp_htcp.c`) on every stack, with times and RTTs in jiffies. In the first
//! second after a loss the window grows like Reno's, then by an additional 10 t + (t / 2)² after t more seconds, scaled
//! by the minimum RTT. A loss multiplies the window by minRTT / maxRTT, between 0.5 and 0.8, but by 0.5 if the rate
//! achieved between losses changed by more than a fifth (bandwidth switch). The maximum RTT decays by 5 % of its
//! distance to the minimum per loss.
//!
//! # When to use
//!
//! On long paths of high rate. Flows with different RTTs get nearly equal rates, because the increase depends on time
//! instead of round trips.

use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Params, Window, WindowControl, WindowEvent};
use crate::stack::Stack;
use crate::state::CaState;
use crate::{Clock, Ticks};
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, Instant, config};

config! {
    /// Module parameters of H-TCP.
    pub struct Config {
        /// Scales the increase by the minimum RTT, so that flows with different RTTs get nearly equal rates.
        use_rtt_scaling: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// A loss halves the window if the rate achieved between losses changed by more than a fifth.
        use_bandwidth_switch: bool = true, in Value::Flag(false) => Value::Flag(true);
    }
}

/// H-TCP. Times are in jiffies.
#[derive(Clone, Debug)]
pub struct Htcp {
    config: Config,
    clock: Clock,
    /// Increase in segments per round trip, in 1/128.
    alpha: u32,
    /// Multiplicative decrease factor, in 1/128.
    beta: u8,
    /// The decrease may follow the RTTs: not before the second loss at a constant rate.
    modeswitch: bool,
    /// Packets that the current acknowledgment covers.
    pkts_acked: u16,
    /// Packets acknowledged since `lasttime`.
    packetcount: u32,
    /// Minimum RTT; zero before the first sample.
    min_rtt: u32,
    /// Maximum RTT, decaying with each loss.
    max_rtt: u32,
    /// A reduction was computed; `alpha` follows when the state change is reported.
    alpha_is_due: bool,
    /// Time of the last congestion event or of its end; none before data was sent.
    last_cong: Option<Ticks>,
    /// `last_cong`, `max_rtt` and `old_max_b` before the reduction, for an undo; none when there is nothing to undo.
    undo: Option<(Option<Ticks>, u32, u32)>,
    /// Maximum rate since the last congestion event, in packets per second.
    max_b: u32,
    /// Maximum rate before the last congestion event, in packets per second.
    old_max_b: u32,
    /// Smoothed rate (`Bi`).
    bi: u32,
    /// Start of the current rate measurement; none before the first, whose rate is then nearly zero.
    lasttime: Option<Ticks>,
}

impl Default for Htcp {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Htcp {
    fn from(config: Config) -> Self {
        Self::new(config, Clock::new(Duration::from_millis(1)))
    }
}

impl Htcp {
    fn new(config: Config, clock: Clock) -> Self {
        Self {
            config,
            clock,
            alpha: ALPHA_BASE,
            beta: BETA_MIN,
            modeswitch: false,
            pkts_acked: 1,
            packetcount: 0,
            min_rtt: 0,
            max_rtt: 0,
            alpha_is_due: false,
            last_cong: None,
            undo: None,
            max_b: 0,
            old_max_b: 0,
            bi: 0,
            lasttime: None,
        }
    }

    /// Jiffies per second.
    fn hz(&self) -> u32 {
        self.clock.ticks_at_least_one(Duration::from_secs(1)) as u32
    }

    /// Jiffies since the last congestion event.
    fn cong_time(&self, now: Ticks) -> u32 {
        self.last_cong.map_or(0, |at| (now - at) as u32)
    }

    fn measure_rtt(&mut self, rtt: u32, state: CaState) {
        if self.min_rtt > rtt || self.min_rtt == 0 {
            self.min_rtt = rtt;
        }
        if state == CaState::Open {
            self.max_rtt = self.max_rtt.max(self.min_rtt);
            if self.max_rtt < rtt && rtt <= self.max_rtt + self.clock.ticks_rounded_up(MAX_RISE) as u32 {
                self.max_rtt = rtt;
            }
        }
    }

    /// Rate over an interval of at least an RTT in which about a window was acknowledged.
    fn measure_rate(&mut self, now: Ticks, packets: u32, cwnd: u32, state: CaState) {
        if !matches!(state, CaState::Open | CaState::Disorder) {
            (self.packetcount, self.lasttime) = (0, Some(now));
            return;
        }
        self.packetcount += packets;
        // The kernel's `lasttime` starts at zero and jiffies start five minutes before they wrap, so its first rate is
        // nearly zero. An unbounded first interval gives the same.
        let span = self.lasttime.map_or(u32::MAX, |at| (now - at) as u32);
        let window = cwnd.wrapping_sub((self.alpha >> 7).max(1));
        if self.packetcount < window || span < self.min_rtt || self.min_rtt == 0 {
            return;
        }
        let cur_bi = self.packetcount.wrapping_mul(self.hz()) / span;
        if self.cong_time(now) / self.min_rtt <= JUST_AFTER {
            (self.max_b, self.bi) = (cur_bi, cur_bi);
        } else {
            self.bi = self.bi.wrapping_mul(3).wrapping_add(cur_bi) / 4;
            self.max_b = self.max_b.max(self.bi);
        }
        (self.packetcount, self.lasttime) = (0, Some(now));
    }

    /// Sets the multiplicative decrease factor (`htcp_beta_update`).
    fn update_beta(&mut self) {
        if self.config.use_bandwidth_switch && self.rate_has_changed() {
            (self.beta, self.modeswitch) = (BETA_MIN, false);
        } else if self.modeswitch && self.min_rtt > self.clock.ticks_rounded_up(MIN_RTT) as u32 && self.max_rtt > 0 {
            self.beta = (((self.min_rtt << 7) / self.max_rtt) as u8).clamp(BETA_MIN, BETA_MAX);
        } else {
            (self.beta, self.modeswitch) = (BETA_MIN, true);
        }
    }

    /// Whether the maximum rate has changed by more than a fifth since the congestion event before the last.
    fn rate_has_changed(&mut self) -> bool {
        let old = std::mem::replace(&mut self.old_max_b, self.max_b);
        self.max_b.wrapping_mul(5).wrapping_sub(old.wrapping_mul(4)) > old.wrapping_mul(2)
    }

    /// Sets the increase by the time since the last congestion event (`htcp_alpha_update`).
    fn update_alpha(&mut self, now: Ticks) {
        let (hz, mut diff) = (self.hz(), self.cong_time(now));
        let mut factor = 1u32;
        if diff > hz {
            diff -= hz;
            let half = diff / 2;
            factor = (diff.wrapping_mul(10).wrapping_add(half.wrapping_mul(half) / hz) / hz).wrapping_add(1);
        }
        if self.config.use_rtt_scaling && self.min_rtt > 0 {
            let scale = ((hz << 3) / (10 * self.min_rtt)).clamp(1 << 2, 10 << 3);
            factor = (factor.wrapping_shl(3) / scale).max(1);
        }
        self.alpha = factor.wrapping_mul(2 * (128 - self.beta as u32));
        if self.alpha == 0 {
            self.alpha = ALPHA_BASE;
        }
    }
}

impl ControlDocs for Htcp {
    const SOURCE: &'static str = "R. N. Shorten and D. J. Leith, PFLDnet 2004; Linux 6.1 tcp_htcp.c";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("ALPHA_BASE", ALPHA_BASE as u64, "/ 128", "Initial increase per round trip."),
        Constant::new("BETA_MIN", BETA_MIN as u64, "/ 128", "Minimum factor of the window after a loss."),
        Constant::new("BETA_MAX", BETA_MAX as u64, "/ 128", "Maximum factor of the window after a loss."),
        Constant::new(
            "maxRTT rise",
            millis(MAX_RISE),
            "ms",
            "Increase over the maximum RTT above which a sample does not replace it.",
        ),
        Constant::new("minRTT", millis(MIN_RTT), "ms", "Minimum RTT up to which a loss halves the window."),
        Constant::new(
            "ccount",
            JUST_AFTER as u64,
            "RTTs",
            "Time after a congestion event at which the rate is measured again.",
        ),
    ];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Htcp {
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

impl WindowControl for Htcp {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        self.update_beta();
        self.alpha_is_due = true;
        if self.min_rtt > 0 && self.max_rtt > self.min_rtt {
            self.max_rtt = self.min_rtt + (self.max_rtt - self.min_rtt) * FADING / 100;
        }
        ((window.cwnd as u64 * self.beta as u64) >> 7).max(2) as u32
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, _: bool) {
        if window.in_slow_start() {
            window.slow_start(ack.packets);
            return;
        }
        if window.cwnd_cnt.wrapping_mul(self.alpha) >> 7 >= window.cwnd {
            window.cwnd += 1;
            window.cwnd_cnt = 0;
            self.update_alpha(self.clock.ticks(ack.now));
        } else {
            window.cwnd_cnt += self.pkts_acked as u32;
        }
        // Later growth before the next report counts one packet, as in the kernel.
        self.pkts_acked = 1;
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if ack.state == CaState::Open {
            self.pkts_acked = ack.packets as u16;
        }
        if let Some(rtt) = ack.rtt.filter(|&rtt| rtt > Duration::ZERO) {
            self.measure_rtt(self.clock.ticks_rounded_up(rtt) as u32, ack.state);
        }
        if self.config.use_bandwidth_switch {
            self.measure_rate(self.clock.ticks(ack.now), ack.packets, window.cwnd, ack.state);
        }
    }

    fn state_changed(&mut self, _: &mut Window, state: CaState, now: Instant, _: u64) {
        let now = self.clock.ticks(now);
        match state {
            CaState::Open => {
                if self.undo.take().is_some() {
                    self.last_cong = Some(now);
                }
            }
            CaState::Disorder => {}
            CaState::Cwr | CaState::Recovery | CaState::Loss => {
                if std::mem::take(&mut self.alpha_is_due) {
                    self.update_alpha(now);
                }
                self.undo = Some((self.last_cong, self.max_rtt, self.old_max_b));
                self.last_cong = Some(now);
            }
        }
    }

    fn event(&mut self, _: &mut Window, event: WindowEvent) {
        if let WindowEvent::Restarted { now, .. } = event {
            self.last_cong.get_or_insert(self.clock.ticks(now));
        }
    }

    fn undo_cwnd(&mut self, window: &Window) -> u32 {
        if let Some((last_cong, max_rtt, old_max_b)) = self.undo.take() {
            (self.last_cong, self.max_rtt, self.old_max_b) = (last_cong, max_rtt, old_max_b);
        }
        window.cwnd
    }
}

const fn millis(span: Duration) -> u64 {
    span.as_nanos() as u64 / 1_000_000
}

/// 1, in 1/128.
const ALPHA_BASE: u32 = 1 << 7;
/// 0.5, in 1/128.
const BETA_MIN: u8 = 1 << 6;
/// 0.8, in 1/128.
const BETA_MAX: u8 = 102;
const MAX_RISE: Duration = Duration::from_millis(20);
const MIN_RTT: Duration = Duration::from_millis(10);
/// In RTTs.
const JUST_AFTER: u32 = 3;
/// Percentage of the difference between maximum and minimum RTT that remains after a loss.
const FADING: u32 = 95;
