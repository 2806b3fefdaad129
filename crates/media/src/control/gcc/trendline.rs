//! Trendline filter: the slope of smoothed delays against an adaptive threshold (`trendline_estimator.cc`).

use super::arrivals::GroupDeltas;
use sojourn_aqm::Instant;
use std::collections::VecDeque;

/// Trendline filter and over-use detector; times in ms.
#[derive(Clone, Debug)]
pub(super) struct Trendline {
    deltas: u32,
    first_arrival: Option<f64>,
    accumulated: f64,
    smoothed: f64,
    /// Arrival times and smoothed delays of the last groups.
    history: VecDeque<(f64, f64)>,
    threshold: f64,
    trend: f64,
    updated: Option<f64>,
    over_using: Option<f64>,
    overuses: u32,
    usage: BandwidthUsage,
}

/// State of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum BandwidthUsage {
    #[default]
    Normal,
    Over,
    Under,
}

impl Default for Trendline {
    fn default() -> Self {
        Self {
            deltas: 0,
            first_arrival: None,
            accumulated: 0.0,
            smoothed: 0.0,
            history: VecDeque::new(),
            threshold: FIRST_THRESHOLD,
            trend: 0.0,
            updated: None,
            over_using: None,
            overuses: 0,
            usage: BandwidthUsage::Normal,
        }
    }
}

impl Trendline {
    /// Processes the deltas of two groups, computed when a packet arrived.
    pub fn update(&mut self, deltas: GroupDeltas, arrived: Instant) {
        // As in libwebrtc, these times are in whole milliseconds.
        let now = ((arrived.as_nanos() + 500_000) / 1_000_000) as f64;
        self.deltas = (self.deltas + 1).min(MAX_DELTAS);
        let first = *self.first_arrival.get_or_insert(now);
        self.accumulated += (deltas.arrived - deltas.sent).as_millis_f64();
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.history.push_back((now - first, self.smoothed));
        if self.history.len() > WINDOW {
            self.history.pop_front();
        }
        let slope = if self.history.len() == WINDOW { slope(&self.history) } else { None };
        self.detect(slope.unwrap_or(self.trend), deltas.sent.as_millis_f64(), now);
    }

    pub fn usage(&self) -> BandwidthUsage {
        self.usage
    }

    fn detect(&mut self, trend: f64, sent_delta: f64, now: f64) {
        if self.deltas < 2 {
            self.usage = BandwidthUsage::Normal;
            return;
        }
        let modified = f64::from(self.deltas.min(MIN_DELTAS)) * trend * GAIN;
        if modified > self.threshold {
            self.grows(trend, sent_delta);
        } else {
            (self.over_using, self.overuses) = (None, 0);
            self.usage = if modified < -self.threshold { BandwidthUsage::Under } else { BandwidthUsage::Normal };
        }
        self.trend = trend;
        self.adapt(modified.abs(), now);
    }

    /// The trend is above the threshold: over-use if it has been for long enough and does not fall.
    fn grows(&mut self, trend: f64, sent_delta: f64) {
        let over_using = self.over_using.map_or(sent_delta / 2.0, |time| time + sent_delta);
        self.over_using = Some(over_using);
        self.overuses += 1;
        if over_using > OVER_USING && self.overuses > 1 && trend >= self.trend {
            (self.over_using, self.overuses) = (Some(0.0), 0);
            self.usage = BandwidthUsage::Over;
        }
    }

    fn adapt(&mut self, modified: f64, now: f64) {
        let elapsed = (now - self.updated.replace(now).unwrap_or(now)).min(LONGEST_STEP);
        // The threshold ignores delay spikes.
        if modified > self.threshold + MAX_OFFSET {
            return;
        }
        let k = if modified < self.threshold { K_DOWN } else { K_UP };
        self.threshold = (self.threshold + k * (modified - self.threshold) * elapsed).clamp(6.0, 600.0);
    }
}

/// Least squares.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    let count = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (x, y) = (x / count, y / count);
    let products = |(above, below), point: &(f64, f64)| {
        (above + (point.0 - x) * (point.1 - y), below + (point.0 - x) * (point.0 - x))
    };
    let (above, below) = points.iter().fold((0.0, 0.0), products);
    (below != 0.0).then(|| above / below)
}

const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const GAIN: f64 = 4.0;
const MIN_DELTAS: u32 = 60;
const MAX_DELTAS: u32 = 1000;
const OVER_USING: f64 = 10.0;
const FIRST_THRESHOLD: f64 = 12.5;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
const MAX_OFFSET: f64 = 15.0;
const LONGEST_STEP: f64 = 100.0;
