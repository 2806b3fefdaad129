//! Statistics of adaptive-video players.

use crate::table::recorder;
use serde::Serialize;
use sojourn_aqm::Duration;

/// Sums over the players of a group in one interval of the run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Playback {
    /// Players that started, and the sum of their start-up times.
    pub started: u64,
    pub startup: Duration,
    /// Segments received, and the sum of their rates in bit/s.
    pub segments: u64,
    pub rates_bps: u64,
    /// Segments requested in another rate than the previous one.
    pub switches: u64,
    /// Number of stalls, and their total length.
    pub stalls: u64,
    pub stalled: Duration,
}

impl Playback {
    pub fn add(&mut self, other: &Self) {
        self.startup += other.startup;
        self.stalled += other.stalled;
        for (sum, more) in [
            (&mut self.started, other.started),
            (&mut self.segments, other.segments),
            (&mut self.rates_bps, other.rates_bps),
            (&mut self.switches, other.switches),
            (&mut self.stalls, other.stalls),
        ] {
            *sum += more;
        }
    }
}

/// Statistics of the players of a group, inside the statistics window.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct VideoSummary {
    /// Players that started to play.
    pub began: u64,
    /// Mean time from the start to the first picture; `None` if no player started.
    pub startup_ms: Option<f64>,
    /// Segments received.
    pub segments: u64,
    /// Mean rate of the segments; `None` without segments.
    pub rate_bps: Option<f64>,
    /// Segments requested in another rate than the previous one.
    pub switches: u64,
    /// Number of stalls.
    pub stalls: u64,
    /// Total length of the stalls, without the start-up times.
    pub stalled_s: f64,
}

impl VideoSummary {
    pub(crate) fn of(seen: &Playback) -> Self {
        let mean = |sum: f64, count: u64| (count > 0).then(|| sum / count as f64);
        Self {
            began: seen.started,
            startup_ms: mean(seen.startup.as_millis_f64(), seen.started),
            segments: seen.segments,
            rate_bps: mean(seen.rates_bps as f64, seen.segments),
            switches: seen.switches,
            stalls: seen.stalls,
            stalled_s: seen.stalled.as_secs_f64(),
        }
    }
}

recorder! {
    /// A row for each segment received.
    VideoRows("video") {
        group: u32 => U32,
        client: u32 => U32,
        segment: u32 => U32,
        start_ns: u64 => U64,
        duration_ns: u64 => U64,
        bytes: u64 => U64,
        rate_bps: u64 => U64,
        buffer_ns: u64 => U64,
        stalled_ns: u64 => U64,
    }
}
