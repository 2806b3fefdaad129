//! The delay-based rate: increases until over-use, then decreases below the throughput (`aimd_rate_control.cc`,
//! `link_capacity_estimator.cc`).

use super::trendline::BandwidthUsage;
use sojourn_aqm::{Duration, Instant};

/// The delay-based rate, in bit/s.
#[derive(Clone, Debug)]
pub(super) struct Aimd {
    min_bps: f64,
    rate_bps: f64,
    /// Last known throughput.
    throughput_bps: f64,
    capacity: LinkCapacityEstimator,
    state: State,
    changed: Option<Instant>,
    rtt: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

impl Aimd {
    pub fn new(min_bps: f64, start_bps: f64) -> Self {
        let rate_bps = start_bps.max(min_bps);
        let (capacity, state) = (LinkCapacityEstimator::default(), State::Hold);
        Self { min_bps, rate_bps, throughput_bps: rate_bps, capacity, state, changed: None, rtt: FIRST_RTT }
    }

    pub fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Sets the rate from a probe.
    pub fn set(&mut self, now: Instant, bps: f64) {
        self.rate_bps = bps.max(self.min_bps);
        self.changed = Some(now);
    }

    pub fn bps(&self) -> f64 {
        self.rate_bps
    }

    /// Processes a report. Returns the rate, or `None` if it was too early to change it.
    pub fn update(&mut self, now: Instant, usage: BandwidthUsage, throughput_bps: Option<f64>) -> Option<f64> {
        match (usage, throughput_bps) {
            (BandwidthUsage::Over, Some(bps)) if !self.may_reduce(now, bps) => return None,
            (BandwidthUsage::Over, None) => {
                // One bit/s below half, as in libwebrtc.
                if !self.may_reduce(now, self.rate_bps / 2.0 - 1.0) {
                    return None;
                }
                self.rate_bps = (self.rate_bps / 2.0).max(self.min_bps);
                self.changed = Some(now);
            }
            _ => self.change(now, usage, throughput_bps),
        }
        Some(self.rate_bps)
    }

    fn may_reduce(&self, now: Instant, throughput_bps: f64) -> bool {
        let interval = self.rtt.max(Duration::from_millis(10)).min(Duration::from_millis(200));
        self.changed.is_none_or(|changed| now - changed >= interval) || throughput_bps < 0.5 * self.rate_bps
    }

    fn change(&mut self, now: Instant, usage: BandwidthUsage, throughput_bps: Option<f64>) {
        self.throughput_bps = throughput_bps.unwrap_or(self.throughput_bps);
        self.state = match (usage, self.state) {
            (BandwidthUsage::Normal, State::Hold) => {
                self.changed = Some(now);
                State::Increase
            }
            (BandwidthUsage::Normal, state) => state,
            (BandwidthUsage::Over, _) => State::Decrease,
            (BandwidthUsage::Under, _) => State::Hold,
        };
        match self.state {
            State::Hold => {}
            State::Increase => self.increase(now),
            State::Decrease => self.decrease(now),
        }
        self.rate_bps = self.rate_bps.max(self.min_bps);
    }

    fn increase(&mut self, now: Instant) {
        self.capacity.clear_if(self.throughput_bps, LinkCapacityEstimator::is_below);
        let max_bps = 1.5 * self.throughput_bps + 10e3;
        if self.rate_bps < max_bps {
            let since = self.changed.map_or(1.0, |changed| (now - changed).as_secs_f64());
            let step = match self.capacity.estimate {
                Some(_) => self.near_step() * since,
                None => (self.rate_bps * (libm::pow(1.08, since.min(1.0)) - 1.0)).max(1e3),
            };
            self.rate_bps = (self.rate_bps + step).min(max_bps);
        }
        self.changed = Some(now);
    }

    /// Increase near the capacity, in bit/s per second: one packet per twice the response time.
    fn near_step(&self) -> f64 {
        let frame = self.rate_bps / 30.0;
        let packet = frame / (frame / 8.0 / 1200.0).ceil();
        let response = 2.0 * (self.rtt.as_secs_f64() + 0.1);
        (packet / response).max(4e3)
    }

    fn decrease(&mut self, now: Instant) {
        let mut rate_bps = BETA * self.throughput_bps;
        if rate_bps > 5e3 {
            rate_bps -= 5e3;
        }
        if let (true, Some(kbps)) = (rate_bps > self.rate_bps, self.capacity.estimate) {
            rate_bps = BETA * kbps * 1e3;
        }
        self.rate_bps = self.rate_bps.min(rate_bps);
        self.capacity.clear_if(self.throughput_bps, LinkCapacityEstimator::is_above);
        self.capacity.take(self.throughput_bps);
        self.state = State::Hold;
        self.changed = Some(now);
    }
}

/// Link capacity, estimated from the throughput at over-use, in kbit/s.
#[derive(Clone, Debug)]
pub(super) struct LinkCapacityEstimator {
    estimate: Option<f64>,
    /// Variance divided by the estimate.
    deviation: f64,
}

impl Default for LinkCapacityEstimator {
    fn default() -> Self {
        Self { estimate: None, deviation: MIN_DEVIATION }
    }
}

impl LinkCapacityEstimator {
    /// Without the estimate; the deviation is kept.
    fn cleared(&self) -> Self {
        Self { estimate: None, deviation: self.deviation }
    }

    /// Clears the estimate if a rate is beyond it.
    pub fn clear_if(&mut self, bps: f64, is_beyond: impl Fn(&Self, f64) -> bool) {
        if is_beyond(self, bps) {
            *self = self.cleared();
        }
    }

    pub fn is_known(&self) -> bool {
        self.estimate.is_some()
    }

    pub fn take(&mut self, throughput_bps: f64) {
        let sample = throughput_bps / 1e3;
        let estimate = self.estimate.map_or(sample, |known| (1.0 - CAPACITY_GAIN) * known + CAPACITY_GAIN * sample);
        let error = estimate - sample;
        let deviation = (1.0 - CAPACITY_GAIN) * self.deviation + CAPACITY_GAIN * error * error / estimate.max(1.0);
        *self = Self { estimate: Some(estimate), deviation: deviation.clamp(MIN_DEVIATION, MAX_DEVIATION) };
    }

    /// Three standard deviations.
    fn reach(&self, estimate: f64) -> f64 {
        3.0 * (self.deviation * estimate).sqrt()
    }

    pub fn is_below(&self, bps: f64) -> bool {
        self.estimate.is_some_and(|estimate| bps / 1e3 > estimate + self.reach(estimate))
    }

    pub fn is_above(&self, bps: f64) -> bool {
        self.estimate.is_some_and(|estimate| bps / 1e3 < estimate - self.reach(estimate))
    }
}

const FIRST_RTT: Duration = Duration::from_millis(200);
const BETA: f64 = 0.85;
const CAPACITY_GAIN: f64 = 0.05;
const MIN_DEVIATION: f64 = 0.4;
const MAX_DEVIATION: f64 = 2.5;
