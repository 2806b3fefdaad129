//! Statistics of a trace: rate and its variability, autocorrelation, gaps and outages.

use super::Trace;
use serde::Serialize;

/// Statistics of a trace. Rates assume opportunities of one MTU; bins are complete ones from the start of the trace.
#[derive(Clone, Debug, Serialize)]
pub struct TraceStats {
    /// Opportunities per period.
    pub opportunities: usize,
    /// Time of the first one.
    pub first_ms: u32,
    /// Length of a period.
    pub duration_s: f64,
    /// Mean rate.
    pub mean_mbps: f64,
    /// Rates in bins of 10 ms, 100 ms, 1 s and 10 s; widths with at least three bins.
    pub bins: Vec<BinStats>,
    /// Autocorrelation of the rate in bins of 100 ms.
    pub autocorrelation: Vec<Autocorrelation>,
    /// Gaps between successive opportunities; the first one from the start of the trace.
    pub gaps: GapStats,
    /// Gaps above several thresholds.
    pub outages: Vec<OutageStats>,
    /// Mean length of the gaps above 100 ms; `None` without any.
    pub outage_mean_ms: Option<f64>,
    /// Median length of the gaps above 100 ms; `None` without any.
    pub outage_median_ms: Option<f64>,
    /// Brownian motion of the rate (Sprout's sigma): from the squared differences of the counts N of adjacent windows
    /// T, E (N₂ − N₁)² = 2 λ T + ⅔ σ² T³.
    pub sigma: Vec<Sigma>,
}

/// Rates in bins of one width.
#[derive(Clone, Debug, Serialize)]
pub struct BinStats {
    /// Width of a bin.
    pub width_ms: u32,
    /// Coefficient of variation: standard deviation per mean.
    pub cov: f64,
    /// Index of dispersion: variance per mean of the counts; 1 for a Poisson process.
    pub idc: f64,
    /// Share of empty bins.
    pub empty: f64,
    /// Quantiles of the rate: minimum, 5 %, 25 %, 50 %, 75 %, 95 %, maximum.
    pub rate_mbps: [f64; 7],
}

/// Autocorrelation at one lag; `None` if the trace is too short.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Autocorrelation {
    pub lag_s: f64,
    pub value: Option<f64>,
}

/// Gaps between opportunities.
#[derive(Clone, Debug, Serialize)]
pub struct GapStats {
    /// Share of gaps of 0 ms: within a burst.
    pub zero: f64,
    /// Share of gaps of 1 ms.
    pub one_ms: f64,
    /// Share of milliseconds with an opportunity.
    pub busy_ms: f64,
    /// Opportunities per busy millisecond.
    pub burst: f64,
    /// Quantiles of the gaps above zero: 50 %, 90 %, 99 %, 99.9 %, maximum.
    pub nonzero_ms: [f64; 5],
}

/// Gaps longer than `over_ms`.
#[derive(Clone, Debug, Serialize)]
pub struct OutageStats {
    /// Threshold.
    pub over_ms: u32,
    /// Number of such gaps per minute.
    pub per_minute: f64,
    /// Share of time in such gaps.
    pub time: f64,
}

/// Noise of the rate in windows of one width, in packets per second per square root of a second.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Sigma {
    pub width_ms: u32,
    pub value: f64,
}

impl TraceStats {
    /// Statistics of `trace` if an opportunity carries `mtu` bytes.
    pub fn of(trace: &Trace, mtu: u32) -> Self {
        let bits = f64::from(mtu) * 8.0;
        let end = trace.period_ms();
        let duration_s = f64::from(end) / 1000.0;
        let gaps = gaps(trace);
        let outages = OUTAGES_MS.map(|over_ms| {
            let long = gaps.iter().filter(|&&gap| gap > over_ms);
            let (count, time) = long.fold((0.0, 0.0), |(n, t), &gap| (n + 1.0, t + f64::from(gap)));
            OutageStats { over_ms, per_minute: count / duration_s * 60.0, time: time / f64::from(end) }
        });
        let mut long: Vec<f64> = gaps.iter().filter(|&&gap| gap > 100).map(|&gap| f64::from(gap)).collect();
        long.sort_by(f64::total_cmp);
        let per_100_ms = BinCounts::of(trace, 100);
        let autocorrelation =
            LAGS.map(|lag| Autocorrelation { lag_s: lag as f64 / 10.0, value: per_100_ms.autocorrelation(lag) });
        Self {
            opportunities: trace.len(),
            first_ms: trace.opportunities_ms[0],
            duration_s,
            mean_mbps: trace.len() as f64 * bits / duration_s / 1e6,
            bins: WIDTHS_MS.iter().filter_map(|&width| BinStats::of(trace, width, bits)).collect(),
            autocorrelation: autocorrelation.into(),
            gaps: GapStats::of(trace, &gaps),
            outages: outages.into(),
            outage_mean_ms: (!long.is_empty()).then(|| mean(&long)),
            outage_median_ms: (!long.is_empty()).then(|| quantile(&long, 0.5)),
            sigma: SIGMA_WIDTHS_MS.iter().filter_map(|&width| Sigma::of(trace, width)).collect(),
        }
    }
}

impl BinStats {
    fn of(trace: &Trace, width_ms: u32, bits: f64) -> Option<Self> {
        let counts = BinCounts::of(trace, width_ms);
        if counts.bins < 3 {
            return None;
        }
        let (mean, variance) = (counts.mean(), counts.variance());
        let empty = counts.empty() as f64 / counts.bins as f64;
        let mbps = bits / (f64::from(width_ms) / 1000.0) / 1e6;
        let rate_mbps = counts.quantiles([0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]).map(|count| count * mbps);
        Some(Self { width_ms, cov: variance.sqrt() / mean, idc: variance / mean, empty, rate_mbps })
    }
}

impl GapStats {
    fn of(trace: &Trace, gaps: &[u32]) -> Self {
        let share = |of: u32| gaps.iter().filter(|&&gap| gap == of).count() as f64 / gaps.len() as f64;
        let mut nonzero: Vec<f64> = gaps.iter().filter(|&&gap| gap > 0).map(|&gap| f64::from(gap)).collect();
        nonzero.sort_by(f64::total_cmp);
        Self {
            zero: share(0),
            one_ms: share(1),
            busy_ms: nonzero.len() as f64 / f64::from(trace.period_ms()),
            burst: trace.len() as f64 / nonzero.len() as f64,
            nonzero_ms: [0.5, 0.9, 0.99, 0.999, 1.0].map(|q| quantile(&nonzero, q)),
        }
    }
}

impl Sigma {
    fn of(trace: &Trace, width_ms: u32) -> Option<Self> {
        let counts = BinCounts::of(trace, width_ms);
        if counts.bins < 3 {
            return None;
        }
        let window_s = f64::from(width_ms) / 1000.0;
        let excess = (counts.mean_squared_step() - 2.0 * counts.mean()).max(0.0);
        Some(Self { width_ms, value: (excess * 1.5 / (window_s * window_s * window_s)).sqrt() })
    }
}

/// Opportunities per complete bin. Only non-empty bins are stored: a trace of two lines may last for weeks.
struct BinCounts {
    /// Number of bins.
    bins: u32,
    /// Non-empty bins in order, with their counts.
    full: Vec<(u32, f64)>,
}

impl BinCounts {
    fn of(trace: &Trace, width_ms: u32) -> Self {
        let bins = trace.period_ms() / width_ms;
        let mut full: Vec<(u32, f64)> = Vec::new();
        for bin in trace.opportunities_ms.iter().map(|ms| ms / width_ms).filter(|&bin| bin < bins) {
            match full.last_mut() {
                Some((last, count)) if *last == bin => *count += 1.0,
                _ => full.push((bin, 1.0)),
            }
        }
        Self { bins, full }
    }

    fn empty(&self) -> u32 {
        self.bins - self.full.len() as u32
    }

    fn mean(&self) -> f64 {
        self.full.iter().map(|(_, count)| count).sum::<f64>() / f64::from(self.bins)
    }

    fn variance(&self) -> f64 {
        let mean = self.mean();
        let squares: f64 = self.full.iter().map(|(_, count)| (count - mean) * (count - mean)).sum();
        (squares + f64::from(self.empty()) * mean * mean) / f64::from(self.bins)
    }

    /// Quantiles of the counts, interpolated between neighbours.
    fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [f64; N] {
        let mut sorted: Vec<f64> = self.full.iter().map(|&(_, count)| count).collect();
        sorted.sort_by(f64::total_cmp);
        let empty = self.empty() as usize;
        let at = |i: usize| i.checked_sub(empty).map_or(0.0, |i| sorted[i]);
        shares.map(|q| interpolated(at, self.bins as usize, q))
    }

    /// Mean squared difference of neighbouring counts.
    fn mean_squared_step(&self) -> f64 {
        let mut sum = 0.0;
        for (i, &(bin, count)) in self.full.iter().enumerate() {
            let before = i.checked_sub(1).map(|i| self.full[i]).filter(|&(other, _)| other + 1 == bin);
            if bin > 0 {
                let step = count - before.map_or(0.0, |(_, count)| count);
                sum += step * step;
            }
            let is_followed = self.full.get(i + 1).is_some_and(|&(other, _)| other == bin + 1);
            if !is_followed && bin + 1 < self.bins {
                sum += count * count;
            }
        }
        sum / f64::from(self.bins - 1)
    }

    /// Autocovariance per variance, both over all bins; `None` if there are too few.
    fn autocorrelation(&self, lag: u32) -> Option<f64> {
        let pairs = self.bins.checked_sub(lag).filter(|&pairs| pairs > 2)?;
        let (mean, variance) = (self.mean(), self.variance());
        let (mut products, mut first, mut second) = (0.0, 0.0, 0.0);
        let mut later = self.full.iter().peekable();
        for &(bin, count) in &self.full {
            if bin < pairs {
                first += count;
                while later.next_if(|(other, _)| *other < bin + lag).is_some() {}
                products +=
                    later.peek().filter(|(other, _)| *other == bin + lag).map_or(0.0, |(_, other)| count * other);
            }
            if bin >= lag {
                second += count;
            }
        }
        let covariance = products - mean * (first + second) + f64::from(pairs) * mean * mean;
        (variance > 0.0).then(|| covariance / f64::from(self.bins) / variance)
    }
}

fn gaps(trace: &Trace) -> Vec<u32> {
    let times = &trace.opportunities_ms;
    std::iter::once(times[0]).chain(times.windows(2).map(|pair| pair[1] - pair[0])).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Quantile of sorted values, interpolated between neighbours.
fn quantile(sorted: &[f64], q: f64) -> f64 {
    interpolated(|i| sorted[i], sorted.len(), q)
}

/// Quantile of the `n` sorted values that `at` returns.
fn interpolated(at: impl Fn(usize) -> f64, n: usize, q: f64) -> f64 {
    let position = q * (n - 1) as f64;
    let below = position as usize;
    at(below) + (position - below as f64) * (at((below + 1).min(n - 1)) - at(below))
}

const WIDTHS_MS: [u32; 4] = [10, 100, 1000, 10_000];

/// In bins of 100 ms.
const LAGS: [u32; 6] = [1, 5, 10, 50, 100, 300];

const OUTAGES_MS: [u32; 5] = [20, 50, 100, 300, 1000];

const SIGMA_WIDTHS_MS: [u32; 3] = [100, 500, 1000];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_by_hand() {
        // Bins of 10 ms: 2, 0, 1, and the last opportunity, at 40 ms, is after the fourth, empty one.
        let stats = TraceStats::of(&Trace::new(vec![3, 3, 25, 40]).unwrap(), 1500);
        assert_eq!((stats.opportunities, stats.first_ms, stats.duration_s, stats.mean_mbps), (4, 3, 0.04, 1.2));
        let bins = &stats.bins[0];
        assert_eq!((bins.width_ms, bins.empty, stats.bins.len()), (10, 0.5, 1));
        assert!((bins.cov - (11.0f64 / 9.0).sqrt()).abs() < 1e-12 && (bins.idc - 11.0 / 12.0).abs() < 1e-12);
        assert_eq!(bins.rate_mbps[6], 2.4);
        let gaps = &stats.gaps;
        assert_eq!((gaps.zero, gaps.one_ms, gaps.busy_ms), (0.25, 0.0, 0.075));
        assert_eq!((gaps.nonzero_ms[0], gaps.nonzero_ms[4]), (15.0, 22.0));
        assert_eq!((stats.outages[0].per_minute, stats.outages[0].time), (1500.0, 0.55));
        assert_eq!((stats.outage_mean_ms, stats.autocorrelation[0].value), (None, None));
    }

    /// The counts of all bins, empty ones included.
    fn dense(trace: &Trace, width_ms: u32) -> Vec<f64> {
        let mut counts = vec![0.0; (trace.period_ms() / width_ms) as usize];
        for &ms in &trace.opportunities_ms {
            if let Some(count) = counts.get_mut((ms / width_ms) as usize) {
                *count += 1.0;
            }
        }
        counts
    }

    #[test]
    fn sparse_bins_are_those_of_all_milliseconds() {
        let mut state = 12_345u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for gap in [3, 40, 700] {
            let mut at = 0;
            let mut step = || {
                at += (draw(gap) * draw(3)) as u32;
                at
            };
            let trace = Trace::new((0..3000).map(|_| step()).collect()).unwrap();
            for width in [7, 100, 1000] {
                let (values, counts) = (dense(&trace, width), BinCounts::of(&trace, width));
                let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-9 * (1.0 + b.abs()), "{a} for {b}");
                let expected = mean(&values);
                let of = |f: &dyn Fn(f64) -> f64| mean(&values.iter().map(|&x| f(x)).collect::<Vec<_>>());
                let variance = of(&|x| (x - expected) * (x - expected));
                close(counts.mean(), expected);
                close(counts.variance(), variance);
                let squares: Vec<f64> = values.windows(2).map(|p| (p[1] - p[0]) * (p[1] - p[0])).collect();
                close(counts.mean_squared_step(), mean(&squares));
                for lag in [1usize, 5, 13].into_iter().filter(|lag| lag + 2 < values.len()) {
                    let products = values.iter().zip(&values[lag..]).map(|(a, b)| (a - expected) * (b - expected));
                    let value = products.sum::<f64>() / values.len() as f64 / variance;
                    close(counts.autocorrelation(lag as u32).unwrap(), value);
                }
                let mut sorted = values.clone();
                sorted.sort_by(f64::total_cmp);
                for q in [0.0, 0.05, 0.37, 0.95, 1.0] {
                    close(counts.quantiles([q])[0], quantile(&sorted, q));
                }
            }
        }
    }

    #[test]
    fn two_lines_seven_weeks_apart_take_no_memory() {
        let trace = Trace::new(vec![1, u32::MAX]).unwrap();
        assert_eq!(BinCounts::of(&trace, 10).full, [(0, 1.0)]);
        let stats = TraceStats::of(&trace, 1500);
        assert_eq!((stats.opportunities, stats.gaps.nonzero_ms[4]), (2, f64::from(u32::MAX - 1)));
        assert_eq!(stats.bins[0].rate_mbps, [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.2]);
    }

    #[test]
    fn rates_that_alternate_are_anticorrelated() {
        let trace = Trace::new((0..400).filter(|ms| ms / 100 % 2 == 0).chain([1000]).collect()).unwrap();
        let long = Trace::new((0..10_000).filter(|ms| ms / 100 % 2 == 0).chain([10_000]).collect()).unwrap();
        assert!(TraceStats::of(&trace, 1500).autocorrelation[0].value.unwrap() < 0.0);
        let value = TraceStats::of(&long, 1500).autocorrelation[0].value.unwrap();
        assert!((value + 0.99).abs() < 1e-12, "{value}");
    }
}
