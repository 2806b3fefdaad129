//! Quantiles of times, as in every result.

use crate::histogram::Histogram;
use serde::Serialize;

/// Times in milliseconds; `None` without samples. Mean and maximum are exact, quantiles within 0.1 %.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Quantiles {
    pub mean: Option<f64>,
    pub p10: Option<f64>,
    pub p25: Option<f64>,
    pub p50: Option<f64>,
    pub p75: Option<f64>,
    pub p90: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl Quantiles {
    /// The quantiles of a histogram.
    pub fn of(times: &Histogram) -> Self {
        let ms = |nanos: f64| nanos / 1e6;
        let [p10, p25, p50, p75, p90, p95, p99] =
            times.quantiles([0.10, 0.25, 0.50, 0.75, 0.90, 0.95, 0.99]).map(|quantile| quantile.map(ms));
        Self {
            mean: times.mean().map(ms),
            p10,
            p25,
            p50,
            p75,
            p90,
            p95,
            p99,
            max: times.max().map(|nanos| ms(nanos as f64)),
        }
    }
}
