//! LEDBAT, Low Extra Delay Background Transport: keeps `target` (100 ms) of one-way queueing delay and reduces the
//! window in proportion to any excess, so that it yields to other traffic that fills the queue (RFC 6817).
//!
//! The delay is that of the forward path by the timestamps of both ends; their resolution is one tick of the stack.
//! `gain` is 1, the maximum that the RFC allows, and there is no slow start, as in µTP. A loss halves the window once
//! per round trip.
//!
//! Differs: the window starts at the stack's initial window unless `initial_window` is set (the RFC recommends 2).
//! Whether the window is used enough to grow is decided by the stack (`tcp_is_cwnd_limited`) instead of
//! ALLOWED_INCREASE. After a time-out it grows from one segment more than the data in flight.
//!
//! # When to use
//!
//! For background transfers: updates, backups, file sharing. In a queue that holds more than 100 ms it yields to Reno
//! and CUBIC. Behind CoDel or PIE, which keep the delay far below its target, it competes like Reno. LEDBAT flows that
//! start at different times share badly: the later one includes the queue of the earlier one in its base delay.

use super::delays::{BASE_HISTORY, CURRENT_FILTER, DelayHistory};
use super::{Ack, CongestionControl, ControlDocs, Needs, Params, Window, WindowControl, reno};
use sojourn_aqm::params::Value;
use sojourn_aqm::{Duration, config};

config! {
    /// Parameters of LEDBAT (RFC 6817 §2.5).
    pub struct Config {
        /// Target queueing delay; the RFC allows at most 100 ms.
        target: Duration = Duration::from_millis(100), in Value::Time(Duration::from_micros(1)) => Value::Time(Duration::from_secs(10));
        /// Increase in segments per round trip at zero queueing delay; the RFC allows at most 1.
        gain: f64 = 1.0, in Value::Number(0.001) => Value::Number(1000.0);
        /// Window of the minimum filter of the base delay, in minutes.
        base_history: u32 = BASE_HISTORY, in Value::Count(1) => Value::Count(1440);
        /// Window of the minimum filter of the current delay, in samples.
        current_filter: u32 = CURRENT_FILTER, in Value::Count(1) => Value::Count(1000);
        /// Minimum window, in segments.
        min_cwnd: u32 = 2, in Value::Count(1) => Value::Count(1000);
    }
}

/// LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    config: Config,
    /// One-way delays.
    delays: DelayHistory,
    /// Window in bytes, with its fraction.
    bytes: f64,
}

impl Default for Ledbat {
    fn default() -> Self {
        Self::from(Config::default())
    }
}

impl From<Config> for Ledbat {
    fn from(config: Config) -> Self {
        Self { delays: DelayHistory::new(config.base_history, config.current_filter), bytes: 0.0, config }
    }
}

impl Ledbat {
    /// Adjusts the window on an acknowledgment of `packets`; it grows only if `may_grow` is set. The condition is Linux's
    /// `is_cwnd_limited` and not ALLOWED_INCREASE: a sender with bursts nearly always has a segment less in flight than
    /// its window, and the window would never grow.
    fn step(&mut self, window: &mut Window, packets: u32, may_grow: bool) {
        let target = self.config.target;
        let off_target = (target - self.delays.queueing_delay()).as_nanos() as f64 / target.as_nanos() as f64;
        if !may_grow && off_target > 0.0 {
            return;
        }
        let mss = window.mss as f64;
        if (self.bytes / mss) as u32 != window.cwnd {
            // The stack has set the window: a reduction, an undo or a restart after idle.
            self.bytes = window.cwnd as f64 * mss;
        }
        self.bytes += self.config.gain * off_target * packets as f64 * mss * mss / self.bytes;
        self.bytes = self.bytes.max(self.config.min_cwnd as f64 * mss);
        window.cwnd = (self.bytes / mss) as u32;
    }
}

impl ControlDocs for Ledbat {
    const SOURCE: &'static str = "RFC 6817";
    const PARAMS: Params<Self> = Params::of::<Config>();
}

impl CongestionControl for Ledbat {
    fn needs(&self) -> Needs {
        Needs { reports: true, grows_unlimited: true, ..Needs::NONE }
    }

    fn window(&mut self) -> Option<&mut dyn WindowControl> {
        Some(self)
    }
}

impl WindowControl for Ledbat {
    fn ssthresh(&mut self, window: &Window) -> u32 {
        reno::halved(window).min(window.cwnd)
    }

    fn grow(&mut self, window: &mut Window, ack: &Ack, is_limited: bool) {
        self.step(window, ack.packets, is_limited);
    }

    fn on_ack(&mut self, _: &mut Window, ack: &Ack) {
        if let Some(delay) = ack.one_way {
            self.delays.add_sample(ack.now, delay);
        }
    }

    fn min_cwnd(&mut self, _: &Window) -> u32 {
        self.config.min_cwnd
    }
}
