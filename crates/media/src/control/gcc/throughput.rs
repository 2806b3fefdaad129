//! Acknowledged throughput: rates over windows, weighted by their distance from the estimate (`bitrate_estimator.cc`).

use sojourn_aqm::Instant;

/// The throughput, in kbit/s; times in ms.
#[derive(Clone, Debug, Default)]
pub(super) struct Throughput {
    sum: u64,
    window: u64,
    before: Option<u64>,
    /// Estimate and variance.
    estimate: Option<(f64, f64)>,
}

impl Throughput {
    /// Processes a packet of `bytes` bytes, in the order of arrival.
    pub fn packet(&mut self, arrived: Instant, bytes: u32) {
        let now = (arrived.as_nanos() + 500_000) / 1_000_000;
        if let Some(sample) = self.sample(now, bytes) {
            self.estimate = Some(match self.estimate {
                None => (sample, FIRST_VARIANCE),
                Some(known) => weighted(known, sample),
            });
        }
    }

    /// The estimate in bit/s.
    pub fn bps(&self) -> Option<f64> {
        self.estimate.map(|(kbps, _)| kbps * 1000.0)
    }

    /// The rate of a window, when it ends.
    fn sample(&mut self, now: u64, bytes: u32) -> Option<f64> {
        let length = if self.estimate.is_none() { FIRST_WINDOW } else { WINDOW };
        if let Some(before) = self.before.filter(|&before| before <= now) {
            self.window += now - before;
            if now - before > length {
                (self.sum, self.window) = (0, self.window % length);
            }
        } else {
            (self.sum, self.window) = (0, 0);
        }
        self.before = Some(now);
        let over = self.window >= length;
        let sample = over.then(|| 8.0 * self.sum as f64 / length as f64);
        if over {
            (self.sum, self.window) = (0, self.window - length);
        }
        self.sum += u64::from(bytes);
        sample
    }
}

fn weighted((known, variance): (f64, f64), sample: f64) -> (f64, f64) {
    let uncertainty = UNCERTAINTY * (known - sample).abs() / known;
    let (of_sample, predicted) = (uncertainty * uncertainty, variance + GROWTH);
    let sum = of_sample + predicted;
    ((of_sample * known + predicted * sample) / sum, of_sample * predicted / sum)
}

const FIRST_WINDOW: u64 = 500;
const WINDOW: u64 = 150;
const UNCERTAINTY: f64 = 10.0;
const FIRST_VARIANCE: f64 = 50.0;
const GROWTH: f64 = 5.0;
