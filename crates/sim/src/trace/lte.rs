//! Synthetic traces like those of an LTE link.
//!
//! The logarithm of the rate is a sum of three Ornstein–Uhlenbeck terms on a grid of 20 ms, capped at a multiple of the
//! median. Outages start as a Poisson process and last Pareto times of at most 2 s. Opportunities come in geometric
//! batches at the points of a renewal process with gamma gaps in operational time, that is, in opportunities. The
//! presets are fitted to recordings of Winstein et al. (NSDI 2013) by random search over 18 statistics.

use super::{MAX_LINES, Trace, TraceError};
use crate::random::{gamma, geometric, normal};
use sojourn_aqm::Rng;

/// Parameters of the model.
#[derive(Clone, Copy, Debug)]
pub struct Lte {
    /// Time average of the rate in Mbit/s, with opportunities of 1500 bytes.
    pub mean_mbps: f64,
    /// Time constant in s and standard deviation of each term of the log-rate.
    pub terms: [(f64, f64); 3],
    /// Maximum rate, as a multiple of the median.
    pub cap: f64,
    /// Outages per minute, their minimum length in ms, and the Pareto index of their lengths.
    pub outages: (f64, f64, f64),
    /// Mean opportunities per batch.
    pub batch: f64,
    /// Shape of the gamma gaps between batches.
    pub shape: f64,
}

/// The fitted presets: name, recording, parameters.
pub const PRESETS: &[(&str, &str, Lte)] = &[
    (
        "verizon-short",
        "Verizon-LTE-short.down",
        lte(5.028, [(0.124, 0.154), (5.713, 0.581), (5.324, 0.537)], 2.903, (12.761, 77.888, 1.486), (1.041, 0.719)),
    ),
    (
        "verizon-short-up",
        "Verizon-LTE-short.up",
        lte(5.946, [(0.083, 0.084), (3.031, 0.511), (7.962, 0.272)], 2.632, (10.823, 45.815, 0.8), (1.203, 0.901)),
    ),
    (
        "tmobile-short",
        "TMobile-LTE-short.down",
        lte(16.703, [(0.006, 0.158), (1.712, 0.844), (11.828, 0.55)], 2.337, (24.047, 30.311, 1.151), (3.276, 0.41)),
    ),
    (
        "att-driving",
        "ATT-LTE-driving.down",
        lte(5.173, [(0.146, 0.096), (8.407, 0.481), (13.406, 0.612)], 2.394, (19.505, 49.2, 1.148), (1.236, 0.676)),
    ),
    (
        "tmobile-umts-driving",
        "TMobile-UMTS-driving.down",
        lte(2.02, [(0.063, 0.102), (9.578, 0.706), (13.3, 0.464)], 3.31, (20.231, 68.633, 0.8), (1.265, 2.404)),
    ),
];

const fn lte(
    mean_mbps: f64,
    terms: [(f64, f64); 3],
    cap: f64,
    outages: (f64, f64, f64),
    (batch, shape): (f64, f64),
) -> Lte {
    Lte { mean_mbps, terms, cap, outages, batch, shape }
}

impl Lte {
    /// A trace of `seconds` s with `seed`; the same on every machine.
    pub fn trace(&self, seconds: u32, seed: u64) -> Result<Trace, TraceError> {
        if seconds == 0 {
            return Err(TraceError("0 s is too short; give at least 1 s".to_string()));
        }
        let lines = self.mean_mbps * 1e6 / OPPORTUNITY_BITS * f64::from(seconds);
        if seconds > LONGEST_S || lines > MAX_LINES as f64 {
            let text = format!("{seconds} s would make {lines:.0} lines; at most {MAX_LINES}, and {LONGEST_S} s");
            return Err(TraceError(text));
        }
        let rates = self.relative_rates(seconds, seed);
        let outages = self.outage_spans(seconds, seed);
        let total: f64 = RelativeRates::new(&rates, &outages).sum();
        let per_ms = self.mean_mbps * 1e3 / OPPORTUNITY_BITS;
        let scale = if total > 0.0 { per_ms * (rates.len() * GRID_MS) as f64 / total } else { 0.0 };
        let opportunities = self.batches(RelativeRates::new(&rates, &outages).map(|rate| rate * scale), seed);
        Trace::new(opportunities)
    }

    /// Rate on the grid, relative to its median, without outages.
    fn relative_rates(&self, seconds: u32, seed: u64) -> Vec<f64> {
        let mut log_rates = vec![0.0; seconds as usize * 1000 / GRID_MS];
        for (i, &(tau_s, sd)) in self.terms.iter().enumerate() {
            let mut rng = Rng::stream(seed, "lte rate", i as u64);
            let keep = libm::exp(-(GRID_MS as f64 / 1000.0) / tau_s);
            let spread = sd * (1.0 - keep * keep).sqrt();
            // Stationary from the first step on.
            let mut value = sd * normal(&mut rng);
            for log_rate in &mut log_rates {
                value = keep * value + spread * normal(&mut rng);
                *log_rate += value;
            }
        }
        let mean = log_rates.iter().sum::<f64>() / log_rates.len() as f64;
        log_rates.iter().map(|log_rate| libm::exp(log_rate - mean).min(self.cap)).collect()
    }

    /// First millisecond and end of each outage.
    fn outage_spans(&self, seconds: u32, seed: u64) -> Vec<(usize, usize)> {
        let (per_minute, min_ms, index) = self.outages;
        let mut rng = Rng::stream(seed, "lte outages", 0);
        let (mut now_ms, mut spans) = (0.0, Vec::new());
        loop {
            now_ms += 60_000.0 / per_minute * rng.exponential();
            if now_ms >= f64::from(seconds) * 1000.0 {
                return spans;
            }
            let length_ms = (min_ms * libm::pow(1.0 - rng.uniform(), -1.0 / index)).min(LONGEST_OUTAGE_MS);
            spans.push((now_ms as usize, (now_ms + length_ms) as usize));
            now_ms += length_ms;
        }
    }

    /// Milliseconds of the opportunities in this link's batches; `per_ms` is the mean number of opportunities in each
    /// millisecond.
    pub(super) fn batches(&self, per_ms: impl Iterator<Item = f64>, seed: u64) -> Vec<u32> {
        let mut rng = Rng::stream(seed, "lte batches", 0);
        let scale = self.batch / self.shape;
        let mut point = scale * gamma(&mut rng, self.shape);
        let (mut done, mut opportunities) = (0.0, Vec::new());
        for (ms, rate) in (0..).zip(per_ms) {
            done += rate;
            while point < done {
                let size = geometric(&mut rng, self.batch);
                opportunities.extend(std::iter::repeat_n(ms, size as usize));
                point += scale * gamma(&mut rng, self.shape);
            }
        }
        opportunities
    }
}

/// The relative rate of each millisecond: zero in an outage.
struct RelativeRates<'a> {
    rates: &'a [f64],
    outages: &'a [(usize, usize)],
    ms: usize,
}

impl<'a> RelativeRates<'a> {
    fn new(rates: &'a [f64], outages: &'a [(usize, usize)]) -> Self {
        Self { rates, outages, ms: 0 }
    }
}

impl Iterator for RelativeRates<'_> {
    type Item = f64;

    fn next(&mut self) -> Option<f64> {
        let ms = self.ms;
        let rate = *self.rates.get(ms / GRID_MS)?;
        self.ms += 1;
        while self.outages.first().is_some_and(|&(_, end)| end <= ms) {
            self.outages = &self.outages[1..];
        }
        let down = self.outages.first().is_some_and(|&(start, _)| start <= ms);
        Some(if down { 0.0 } else { rate })
    }
}

const GRID_MS: usize = 20;

const OPPORTUNITY_BITS: f64 = 12_000.0;

/// Maximum length of an outage. Dead zones of minutes, as on long drives, are deliberately left out.
const LONGEST_OUTAGE_MS: f64 = 2000.0;

/// Maximum length of a trace: ten days.
pub(super) const LONGEST_S: u32 = 864_000;
