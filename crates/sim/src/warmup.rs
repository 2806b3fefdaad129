//! Start of a run's statistics: given, or found from the run's own backlog.
//!
//! K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC
//! 2000: MSER-5. Its series is the number of packets in all queues together, at a thousand equal steps: any traffic and
//! any queue manager has a backlog, and it builds up at the start. Sampling is no event, so fingerprints equal those of
//! a given warm-up.

use crate::scenario::{Scenario, Warmup};
use crate::window::Window;
use sojourn_aqm::{Duration, Instant};

/// Samples of the backlog per run.
const STEPS: i64 = 1000;
/// Steps per batch.
const BATCH: i64 = 5;
/// Minimum number of batches after the transient: fewer may be equal by chance.
const FEWEST_BATCHES: usize = 5;
/// Maximum warm-up of a run whose link or load changes with time; otherwise it is a tenth of the run.
const MAX_DEFAULT: Duration = Duration::from_secs(10);
/// Flows per additional batch between possible starts: each start takes a snapshot of every flow.
const MANY_FLOWS: u64 = 2_000;
/// Reason of a run that has not settled although its link and load do not change.
const NO_STEADY_STATE: &str = "the backlog has no steady state";
/// Maximum number of batches between possible starts; the minimum is one.
const MAX_BATCHES: u64 = 20;

/// Possible starts and the end of a run's statistics, and the samples that decide on the start.
#[derive(Clone, Debug)]
pub struct Statistics {
    window: Window,
    search: Option<Search>,
}

/// The search for a steady state.
#[derive(Clone, Debug)]
struct Search {
    step: Duration,
    due: Instant,
    /// Packets queued after each step.
    backlog: Vec<u64>,
    /// Start of the statistics if link or load change with time.
    fallback_start: Instant,
    /// When the last flow has started and early changes are over: no steady state is before.
    earliest_start: Instant,
    /// Description of what changes in link or load.
    changes: Option<String>,
}

/// The start of a run's statistics.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatisticsStart {
    /// Index of the instant in the window.
    pub number: usize,
    /// The instant, in seconds.
    pub warmup_s: f64,
    /// With an automatic warm-up: whether a steady state was found.
    pub settled: Option<bool>,
    /// Why no steady state was found.
    pub not_settled: Option<String>,
}

impl Statistics {
    /// Statistics with the warm-up of a scenario.
    pub fn of(scenario: &Scenario) -> Self {
        let end = Instant::ZERO + scenario.duration;
        let span = match scenario.warmup {
            Warmup::Fixed(span) => return Self::given(Instant::ZERO + span, end),
            Warmup::Auto => scenario.duration,
        };
        let step = Duration::from_nanos((span.as_nanos() + STEPS - 1) / STEPS);
        let fallback = (span / 10).min(MAX_DEFAULT);
        let stride = (1 + scenario.flow_count() / MANY_FLOWS).min(MAX_BATCHES) as usize;
        // The candidates of MSER-5: the first half of the batches.
        let batches = span.as_nanos() / (BATCH * step.as_nanos());
        let starts = (0..=batches / 2).rev().step_by(stride).map(|batch| Instant::ZERO + step * (BATCH * batch));
        let search = Search {
            step,
            due: Instant::ZERO + step,
            backlog: Vec::with_capacity(STEPS as usize),
            fallback_start: Instant::ZERO + fallback,
            earliest_start: Instant::ZERO + scenario.last_change_before(fallback),
            changes: scenario.changes(fallback),
        };
        let half = Instant::ZERO + span / 2;
        Self { window: Window::new(starts.chain([search.fallback_start, half]), end), search: Some(search) }
    }

    /// Statistics from `begin` to `end`.
    pub fn given(begin: Instant, end: Instant) -> Self {
        Self { window: Window::new([begin], end), search: None }
    }

    /// The end of the statistics.
    pub fn end(&self) -> Instant {
        self.window.end
    }

    /// The possible starts, beginning with the start of the run.
    pub fn starts(&self) -> &[Instant] {
        self.window.starts()
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// When the next sample of the backlog is due.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.search.as_ref().map_or(Instant::NEVER, |search| search.due)
    }

    /// Adds the number of packets in all queues at the instant that is due.
    pub(crate) fn add_sample(&mut self, packets: u64) {
        let search = self.search.as_mut().expect("called only when a search is due");
        search.backlog.push(packets);
        search.due += search.step;
    }

    /// The start of the statistics, after the run.
    pub(crate) fn begin(&self) -> StatisticsStart {
        let starts = self.window.starts();
        let begin = |number: usize, settled, not_settled| {
            let warmup_s = (starts[number] - Instant::ZERO).as_secs_f64();
            StatisticsStart { number, warmup_s, settled, not_settled }
        };
        let Some(search) = &self.search else { return begin(starts.len() - 1, None, None) };
        if let Some(change) = &search.changes {
            return begin(self.window.number(search.fallback_start), Some(false), Some(change.clone()));
        }
        match search.settled() {
            Some(at) => begin(self.window.number(at), Some(true), None),
            // The last candidate: half of the run.
            None => begin(starts.len() - 1, Some(false), Some(NO_STEADY_STATE.into())),
        }
    }
}

impl Search {
    /// When the queues settled, if they did.
    fn settled(&self) -> Option<Instant> {
        let series: Vec<f64> = self.backlog.iter().map(|&packets| packets as f64).collect();
        let head = mser(&series, BATCH as usize)?;
        Some((Instant::ZERO + self.step * head as i64).max(self.earliest_start))
    }
}

/// Number of values at the head of `series` that belong to its transient, after MSER with batches of `batch` values
/// (MSER-5 has five); `None` if the series has not settled.
///
/// Batch means before d are truncated; d minimises the squared standard error of the mean of the others, sum of (y -
/// mean)² over (n - d)². A minimum in the second half means that the series is too short. The last five batches are no
/// candidates.
pub fn mser(series: &[f64], batch: usize) -> Option<usize> {
    let means: Vec<f64> =
        series.chunks_exact(batch).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
    if means.len() < 2 * FEWEST_BATCHES {
        return None;
    }
    let (mut best, mut minimum) = (0, f64::INFINITY);
    let (mut mean, mut squares) = (0.0, 0.0);
    // Welford's update, backwards.
    for (d, &value) in means.iter().enumerate().rev() {
        let count = means.len() - d;
        let step = value - mean;
        mean += step / count as f64;
        squares += step * (value - mean);
        let error = squares / (count * count) as f64;
        if count >= FEWEST_BATCHES && error <= minimum {
            (best, minimum) = (d, error);
        }
    }
    (best <= means.len() / 2).then_some(best * batch)
}
