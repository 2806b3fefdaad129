//! Google congestion control of draft-ietf-rmcat-gcc-02. The receiver estimates the rate from the delay variation
//! (Kalman filter, adaptive threshold) and reports it in REMB; the sender uses the minimum of this and its loss-based
//! rate.
//!
//! The draft compares the filter's output m with the threshold (`gcc@draft02`); implementations compare m times the
//! number of groups, at most 60 (`gcc@draft02-scaled`).
//!
//! Differs: the receiver assumes a round-trip time of 200 ms because it does not send. Outliers are limited only in the
//! filter's variance, as in implementations. REMB rates and sending times are not rounded.

use super::aimd::LinkCapacityEstimator;
use super::arrivals::{GroupDeltas, InterArrival};
use crate::control::{Control, Feedback, Rates, RemoteEstimator};
use crate::frames::Source;
use crate::report::{Format, ReportConfig};
use sojourn_aqm::{Duration, Instant};
use std::collections::VecDeque;

/// The sender: section 6.
#[derive(Clone, Debug, Default)]
pub(in crate::control) struct Draft02 {
    /// Whether the filter's output is scaled before the comparison.
    is_scaled: bool,
    source: Source,
    by_loss_bps: f64,
    remb_bps: Option<f64>,
}

impl Draft02 {
    /// The draft's comparison.
    pub fn literal() -> Self {
        Self::default()
    }

    /// Compares the filter's output times the number of groups so far, at most 60.
    pub fn scaled() -> Self {
        Self { is_scaled: true, ..Self::default() }
    }
}

impl Control for Draft02 {
    fn report_config(&self) -> ReportConfig {
        ReportConfig::timed(Format::Remb, |_| REMB_INTERVAL)
    }

    fn remote(&self) -> Option<Box<dyn RemoteEstimator>> {
        Some(Box::new(Estimator::new(if self.is_scaled { MAX_DELTAS } else { 1 })))
    }

    fn begin(&mut self, _: Instant, source: &Source) {
        (self.source, self.by_loss_bps) = (*source, source.start_bps);
    }

    fn on_feedback(&mut self, results: &Feedback) {
        self.remb_bps = results.remb_bps.or(self.remb_bps);
        let lost = results.packets.iter().filter(|packet| packet.arrived.is_none()).count();
        let share = lost as f64 / results.packets.len() as f64;
        if share < LOW_LOSS {
            self.by_loss_bps *= GROWTH;
        } else if share > HIGH_LOSS {
            self.by_loss_bps *= 1.0 - 0.5 * share;
        }
        self.by_loss_bps = self.by_loss_bps.max(self.source.min_bps).min(self.source.max_bps);
    }

    fn rates(&self, _: u64) -> Rates {
        let target_bps = self.by_loss_bps.min(self.remb_bps.unwrap_or(f64::INFINITY)).max(self.source.min_bps);
        Rates { target_bps, pacing_bps: super::PACING * target_bps }
    }
}

/// The receiver: section 5.
#[derive(Clone, Debug)]
struct Estimator {
    /// Maximum factor of the filter's output; the factor is the number of deltas so far.
    max_deltas: u32,
    deltas: u32,
    arrivals: InterArrival,
    filter: Filter,
    detector: Detector,
    /// Arrivals of the last second.
    window: VecDeque<(Instant, u32)>,
    first: Option<Instant>,
    a_hat: Option<f64>,
    capacity: LinkCapacityEstimator,
    state: State,
    updated: Option<Instant>,
    reported_bps: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Hold,
    Increase,
    Decrease,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Over,
    Normal,
    Under,
}

impl Estimator {
    fn new(max_deltas: u32) -> Self {
        Self {
            max_deltas,
            deltas: 0,
            arrivals: InterArrival::default(),
            filter: Filter::default(),
            detector: Detector::default(),
            window: VecDeque::new(),
            first: None,
            a_hat: None,
            capacity: LinkCapacityEstimator::default(),
            state: State::Increase,
            updated: None,
            reported_bps: f64::INFINITY,
        }
    }

    /// Receive rate, after the first half second.
    fn r_hat(&self, now: Instant) -> Option<f64> {
        let span = (now - self.first?).min(WINDOW);
        let bytes: u32 = self.window.iter().map(|&(_, bytes)| bytes).sum();
        (span >= MIN_WINDOW).then(|| f64::from(bytes) * 8.0 / span.as_secs_f64())
    }

    /// Section 5.5.
    fn control(&mut self, now: Instant, signal: Signal) {
        let Some(r_hat) = self.r_hat(now) else { return };
        let a_hat = self.a_hat.unwrap_or(r_hat);
        let since = self.updated.replace(now).map_or(0.0, |updated| (now - updated).as_secs_f64());
        self.state = match (signal, self.state) {
            (Signal::Over, _) => State::Decrease,
            (Signal::Normal, State::Decrease) | (Signal::Under, _) => State::Hold,
            (Signal::Normal, State::Hold | State::Increase) => State::Increase,
        };
        self.a_hat = Some(match self.state {
            State::Hold => a_hat,
            State::Increase => self.increased(a_hat, r_hat, since),
            State::Decrease => {
                self.capacity.clear_if(r_hat, LinkCapacityEstimator::is_above);
                self.capacity.take(r_hat);
                a_hat.min(BETA * r_hat)
            }
        });
    }

    fn increased(&mut self, a_hat: f64, r_hat: f64, since: f64) -> f64 {
        self.capacity.clear_if(r_hat, LinkCapacityEstimator::is_below);
        let grown = if self.capacity.is_known() {
            let frame = a_hat / 30.0;
            let packet = frame / (frame / 9600.0).ceil();
            let alpha = 0.5 * (since / RESPONSE_TIME).min(1.0);
            a_hat + (alpha * packet).max(1000.0 * since)
        } else {
            a_hat * libm::pow(ETA, since.min(1.0))
        };
        grown.min(1.5 * r_hat)
    }
}

impl RemoteEstimator for Estimator {
    fn on_packet(&mut self, now: Instant, sent: Instant, bytes: u32) {
        self.first.get_or_insert(now);
        self.window.push_back((now, bytes));
        while self.window.front().is_some_and(|&(at, _)| now - at >= WINDOW) {
            self.window.pop_front();
        }
        if let Some(deltas) = self.arrivals.packet(sent, now) {
            let m = self.filter.update(deltas);
            self.deltas = (self.deltas + 1).min(self.max_deltas);
            let signal = self.detector.signal(now, f64::from(self.deltas) * m);
            self.control(now, signal);
        }
    }

    fn estimate_bps(&mut self) -> Option<f64> {
        self.reported_bps = self.a_hat.unwrap_or(f64::INFINITY);
        self.a_hat
    }

    /// A decrease is reported at once.
    fn is_urgent(&self) -> bool {
        self.a_hat.is_some_and(|a_hat| a_hat < URGENT * self.reported_bps)
    }
}

/// Section 5.3: mean change of the queueing delay from group to group, in ms.
#[derive(Clone, Debug)]
struct Filter {
    m: f64,
    e: f64,
    var_v: f64,
    /// Inter-departure times of the last groups.
    sent: VecDeque<f64>,
}

impl Default for Filter {
    fn default() -> Self {
        Self { m: 0.0, e: E_0, var_v: 1.0, sent: VecDeque::new() }
    }
}

impl Filter {
    fn update(&mut self, deltas: GroupDeltas) -> f64 {
        self.sent.push_back(deltas.sent.as_millis_f64());
        if self.sent.len() > GROUPS {
            self.sent.pop_front();
        }
        let z = (deltas.arrived - deltas.sent).as_millis_f64() - self.m;
        // 1 / f_max, in ms.
        let shortest = self.sent.iter().copied().fold(f64::INFINITY, f64::min);
        let alpha = libm::pow(1.0 - CHI, 30.0 * shortest / 1000.0);
        let limited = z.min(3.0 * self.var_v.sqrt());
        self.var_v = (alpha * self.var_v + (1.0 - alpha) * limited * limited).max(1.0);
        let gain = (self.e + Q) / (self.var_v + self.e + Q);
        self.m += z * gain;
        self.e = (1.0 - gain) * (self.e + Q);
        self.m
    }
}

/// Section 5.4; times in ms.
#[derive(Clone, Debug)]
struct Detector {
    threshold: f64,
    before: f64,
    updated: Option<Instant>,
    over_since: Option<Instant>,
}

impl Default for Detector {
    fn default() -> Self {
        Self { threshold: DEL_VAR_TH_0, before: 0.0, updated: None, over_since: None }
    }
}

impl Detector {
    fn signal(&mut self, now: Instant, m: f64) -> Signal {
        let rises = m >= std::mem::replace(&mut self.before, m);
        let signal = if m > self.threshold {
            let since = *self.over_since.get_or_insert(now);
            if now - since >= OVERUSE_TIME_TH && rises { Signal::Over } else { Signal::Normal }
        } else {
            self.over_since = None;
            if m < -self.threshold { Signal::Under } else { Signal::Normal }
        };
        let elapsed = self.updated.replace(now).map_or(0.0, |updated| (now - updated).as_millis_f64());
        let beyond = m.abs() - self.threshold;
        if beyond <= MAX_BEYOND {
            let k = if beyond < 0.0 { K_D } else { K_U };
            self.threshold = (self.threshold + elapsed.min(LONGEST_STEP) * k * beyond).clamp(6.0, 600.0);
        }
        signal
    }
}

// Names of table 1.
const Q: f64 = 1e-3;
const E_0: f64 = 0.1;
const CHI: f64 = 0.01;
const DEL_VAR_TH_0: f64 = 12.5;
const OVERUSE_TIME_TH: Duration = Duration::from_millis(10);
const K_U: f64 = 0.01;
const K_D: f64 = 0.000_18;
const BETA: f64 = 0.85;
/// `T`, from half a second to one.
const MIN_WINDOW: Duration = Duration::from_millis(500);
const WINDOW: Duration = Duration::from_secs(1);
/// From the text of sections 5.3 to 6.
const GROUPS: usize = 5;
const MAX_BEYOND: f64 = 15.0;
const ETA: f64 = 1.08;
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
const GROWTH: f64 = 1.05;
/// 100 ms and a round-trip time of 200 ms, in seconds.
const RESPONSE_TIME: f64 = 0.3;
/// From libwebrtc: maximum factor of the filter's output, maximum time step of the threshold in ms, time between
/// reports, and ratio to the reported rate below which a report is urgent.
const MAX_DELTAS: u32 = 60;
const LONGEST_STEP: f64 = 100.0;
const REMB_INTERVAL: Duration = Duration::from_secs(1);
const URGENT: f64 = 0.97;
