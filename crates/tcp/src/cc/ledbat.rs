//! LEDBAT, Low Extra Delay Background Transport: keeps 100 ms of one-way queueing delay and reduces the window in
//! proportion to any excess, so that it yields to other traffic that fills the queue (RFC 6817).
//!
//! The delay is that of the forward path by the timestamps of both ends; their resolution is one tick of the stack.
//! GAIN is 1, the maximum that the RFC allows, and there is no slow start, as in µTP. A loss halves the window once per
//! round trip.
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
use super::{Ack, CongestionControl, Constant, ControlDocs, Needs, Window, WindowControl, reno};
use sojourn_aqm::Duration;

/// LEDBAT.
#[derive(Clone, Debug, Default)]
pub struct Ledbat {
    /// One-way delays.
    delays: DelayHistory,
    /// Window in bytes, with its fraction.
    bytes: f64,
}

impl Ledbat {
    /// Adjusts the window on an acknowledgment of `packets`; it grows only if `may_grow` is set. The condition is Linux's
    /// `is_cwnd_limited` and not ALLOWED_INCREASE: a sender with bursts nearly always has a segment less in flight than
    /// its window, and the window would never grow.
    fn step(&mut self, window: &mut Window, packets: u32, may_grow: bool) {
        let off_target = (TARGET - self.delays.queueing_delay()).as_nanos() as f64 / TARGET.as_nanos() as f64;
        if !may_grow && off_target > 0.0 {
            return;
        }
        let mss = window.mss as f64;
        if (self.bytes / mss) as u32 != window.cwnd {
            // The stack has set the window: a reduction, an undo or a restart after idle.
            self.bytes = window.cwnd as f64 * mss;
        }
        self.bytes += GAIN as f64 * off_target * packets as f64 * mss * mss / self.bytes;
        self.bytes = self.bytes.max(MIN_CWND as f64 * mss);
        window.cwnd = (self.bytes / mss) as u32;
    }
}

impl ControlDocs for Ledbat {
    const SOURCE: &'static str = "RFC 6817";
    const CONSTANTS: &'static [Constant] = &[
        Constant::new("TARGET", TARGET.as_nanos() as u64 / 1_000_000, "ms", "Target queueing delay."),
        Constant::new("GAIN", GAIN as u64, "segments", "Increase per round trip at zero queueing delay."),
        Constant::new(
            "BASE_HISTORY",
            BASE_HISTORY as u64,
            "minutes",
            "Window of the minimum filter of the base delay.",
        ),
        Constant::new(
            "CURRENT_FILTER",
            CURRENT_FILTER as u64,
            "samples",
            "Window of the minimum filter of the current delay.",
        ),
        Constant::new("MIN_CWND", MIN_CWND as u64, "segments", "Minimum window."),
    ];
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
        MIN_CWND
    }
}

const TARGET: Duration = Duration::from_millis(100);
const GAIN: u32 = 1;
const MIN_CWND: u32 = 2;
