//! LEDBAT++: LEDBAT on the round-trip time with a `target` of 60 ms, an increase slower than Reno's, a multiplicative
//! decrease, and periodic slowdowns in which every flow measures the empty path (draft-irtf-iccrg-ledbat-plus-plus-01).
//!
//! The increase per round trip is GAIN = 1 / min(16, ⌈2 TARGET / base⌉) segments, in slow start GAIN per acknowledged
//! segment. Above the target the window W shrinks by W (delay / TARGET − 1) per round trip, at most by half. The first
//! slow start ends at three quarters of the target. Two round trips later, and then after nine times the length of each
//! slowdown, the window falls to two segments for two round trips, and slow start restores it.
//!
//! Differs: the draft does not specify how a loss affects a slow start after a slowdown; here slow start ends at the
//! threshold. After a time-out slow start also runs up to the threshold. The window starts at the stack's initial
//! window (the draft recommends 2).
//!
//! Draft 01 is implemented from memory; TARGET, GAIN, the slowdown of two round trips and the factor of nine were
//! checked against the documentation of freenet-core.
//!
//! # When to use
//!
//! For background transfers that must share fairly among themselves, which LEDBAT flows do not; Windows Update uses it.
//! The slowdowns cost about a tenth of the rate.

use super::delays::{BASE_HISTORY, CURRENT_FILTER, DelayHistory};
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Params, Window, WindowControl, WindowEvent, reno};
use crate::state::CaState;
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, Instant, config};

config! {
    /// Parameters of LEDBAT++, with the names of RFC 6817.
    pub struct Config {
        /// Target queueing delay.
        target: Duration = Duration::from_millis(60), in Value::Time(Duration::from_micros(1)) => Value::Time(Duration::from_secs(10));
        /// Window of the minimum filter of the base RTT, in minutes.
        base_history: u32 = BASE_HISTORY, in Value::Count(1) => Value::Count(1440);
        /// Window of the minimum filter of the current RTT, in samples.
        current_filter: u32 = CURRENT_FILTER, in Value::Count(1) => Value::Count(1000);
        /// Minimum window, and window of a slowdown, in segments.
        min_cwnd: u32 = 2, in Value::Count(1) => Value::Count(1000);
    }
}

/// LEDBAT++.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    config: Config,
    /// Round-trip times.
    delays: DelayHistory,
    /// Window in segments, with its fraction.
    window: f64,
    /// Current phase.
    phase: Phase,
    /// Window at the last slowdown, or the threshold of a later loss.
    ssthresh: f64,
}

/// Phases of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Phase {
    /// First slow start.
    #[default]
    SlowStart,
    /// The window follows the delay until the next slowdown.
    Steady { slowdown: Instant },
    /// The window is two segments from `since` to `until`.
    Slowdown { since: Instant, until: Instant },
    /// Slow start up to the threshold; `since` is the start of the preceding slowdown, if any.
    RampUp { since: Option<Instant> },
}

impl Default for LedbatPp {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for LedbatPp {
    fn from(config: Config) -> Self {
        let delays = DelayHistory::new(config.base_history, config.current_filter);
        Self { config, delays, window: 0.0, phase: Phase::default(), ssthresh: 0.0 }
    }
}

impl LedbatPp {
    /// 1 / GAIN.
    fn divisor(&self) -> u32 {
        let base = self.delays.base().map_or(1, |base| base.as_nanos().max(1) as u64);
        (2 * self.config.target.as_nanos() as u64).div_ceil(base).min(MAX_DIVISOR as u64) as u32
    }

    /// Duration of `n` round trips.
    fn round_trips(&self, n: i64) -> Duration {
        self.delays.current().map_or(Duration::ZERO, |rtt| rtt * n)
    }

    /// Ends slow start; the initial slowdown follows two round trips later.
    fn end_slow_start(&mut self, now: Instant) {
        self.phase = Phase::Steady { slowdown: now + self.round_trips(SLOWDOWN_RTTS) };
    }

    /// Performs the phase change that is due at `now`.
    fn advance(&mut self, now: Instant, window: &mut Window) {
        match self.phase {
            Phase::Steady { slowdown } if now >= slowdown => {
                self.phase = Phase::Slowdown { since: now, until: now + self.round_trips(SLOWDOWN_RTTS) };
                self.ssthresh = window.cwnd as f64;
                window.ssthresh = window.cwnd;
                self.set(window, self.config.min_cwnd as f64);
            }
            Phase::Slowdown { since, until } if now >= until => self.phase = Phase::RampUp { since: Some(since) },
            _ => {}
        }
    }

    /// Adjusts the window on an acknowledgment of `packets`; it grows only if `may_grow` is set.
    fn step(&mut self, window: &mut Window, packets: u32, may_grow: bool, now: Instant) {
        if self.window as u32 != window.cwnd {
            // The stack has set the window: a reduction, an undo or a restart after idle.
            self.window = window.cwnd as f64;
        }
        let target = self.config.target;
        let (w, packets, gain) = (self.window, packets as f64, 1.0 / self.divisor() as f64);
        match self.phase {
            Phase::SlowStart if self.delays.queueing_delay() > target * 3 / 4 => self.end_slow_start(now),
            Phase::SlowStart if may_grow => return self.set(window, w + gain * packets),
            Phase::RampUp { since } => {
                if w < self.ssthresh {
                    return self.set(window, if may_grow { (w + gain * packets).min(self.ssthresh) } else { w });
                }
                let pause = since.map_or(Duration::ZERO, |since| (now - since) * SLOWDOWN_SHARE);
                self.phase = Phase::Steady { slowdown: now + pause.max(self.round_trips(SLOWDOWN_RTTS)) };
            }
            Phase::Slowdown { .. } => return,
            Phase::SlowStart | Phase::Steady { .. } => {}
        }
        let delay = self.delays.queueing_delay();
        if delay >= target {
            let excess = (delay - target).as_nanos() as f64 / target.as_nanos() as f64;
            let per_round_trip = (gain - w * excess).max(-w / 2.0);
            self.set(window, w + per_round_trip * packets / w);
        } else if may_grow {
            self.set(window, w + gain * packets / w);
        }
    }

    fn set(&mut self, window: &mut Window, segments: f64) {
        self.window = segments.max(self.config.min_cwnd as f64);
        window.cwnd = self.window as u32;
    }
}

impl ControlDocs for LedbatPp {
    const SOURCE: &'static str = "draft-irtf-iccrg-ledbat-plus-plus-01; RFC 6817";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("GAIN", MAX_DIVISOR as u64, "", "Maximum divisor of Reno's increase."),
        Constant::new(
            "slowdown",
            SLOWDOWN_RTTS as u64,
            "round trips",
            "Time before the first slowdown, and length of each without its ramp.",
        ),
        Constant::new("interval", SLOWDOWN_SHARE as u64, "slowdowns", "Time between two slowdowns, in lengths of one."),
    ];
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for LedbatPp {
    fn needs(&self) -> Needs {
        Needs { reports: true, grows_unlimited: true, ..Needs::NONE }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for LedbatPp {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        let half = reno::halved(window).min(window.cwnd);
        self.ssthresh = half as f64;
        half
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        self.step(window, ack.packets, is_limited, ack.now);
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.delays.add_sample(ack.now, rtt);
        }
        if ack.state == CaState::Open {
            self.advance(ack.now, window);
        }
    }

    fn state_changed(&mut self, _: &mut Window, state: CaState, now: Instant, _: u64) {
        if self.phase == Phase::SlowStart && state >= CaState::Cwr {
            self.end_slow_start(now);
        }
    }

    fn event(&mut self, _: &mut Window, event: WindowEvent) {
        if event == WindowEvent::TimedOut {
            self.phase = Phase::RampUp { since: None };
        }
    }

    fn min_cwnd(&mut self, _: &Window) -> u32 {
        self.config.min_cwnd
    }
}

/// The increase is at least 1/16 of Reno's.
const MAX_DIVISOR: u32 = 16;
/// In round trips.
const SLOWDOWN_RTTS: i64 = 2;
/// Slowdowns take a tenth of the time: the next one follows after nine times the length of the last.
const SLOWDOWN_SHARE: i64 = 9;
