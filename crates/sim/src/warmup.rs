//! When the statistics of a run begin: given, or found from the run's own backlog.
//!
//! K. P. White, M. J. Cobb, S. C. Spratt, "A comparison of five steady-state truncation heuristics for simulation", WSC
//! 2000: MSER-5. Its series is the number of packets that wait in all queues together, at a thousand equal steps.

use crate::scenario::{Scenario, Warmup};
use crate::window::Window;
use sojourn_aqm::{Duration, Instant};

/// Steps of a run at which the backlog is looked at.
const STEPS: i64 = 1000;
/// Steps in a batch.
const BATCH: i64 = 5;
/// Batches that have to remain behind the transient: so few can be equal by chance.
const FEWEST_BATCHES: usize = 5;
/// Warm-up of a run whose link or load changes with time: a tenth of the run, at most this.
const MAX_DEFAULT: Duration = Duration::from_secs(10);
/// Flows from which on the statistics can begin at fewer instants, as each of them has to be remembered for each flow.
const MANY_FLOWS: u64 = 2_000;
/// Why a run has not settled whose link and load do not change.
const NO_STEADY_STATE: &str = "the backlog has no steady state";
/// Fewest batches between such instants are one, and most are these.
const MAX_BATCHES: u64 = 20;

/// When the statistics of a run may begin and end, and what is learnt about it meanwhile.
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
    /// Packets that waited after each step.
    backlog: Vec<u64>,
    /// When the statistics begin if link or load change with time.
    fallback_start: Instant,
    /// When the last flow has begun and early changes are over: no steady state is before that.
    earliest_start: Instant,
    /// What of link or load changes with time.
    changes: Option<String>,
}

/// When the statistics of a run began.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StatisticsStart {
    /// Number of the instant in the window.
    pub number: usize,
    /// The instant, in seconds.
    pub warmup_s: f64,
    /// Where it was searched for: whether a steady state was found.
    pub settled: Option<bool>,
    /// Why none was found.
    pub not_settled: Option<String>,
}

impl Statistics {
    /// As a scenario says.
    pub fn of(scenario: &Scenario) -> Self {
        let end = Instant::ZERO + scenario.duration;
        let span = match scenario.warmup {
            Warmup::Fixed(span) => return Self::given(Instant::ZERO + span, end),
            Warmup::Auto => scenario.duration,
        };
        let step = Duration::from_nanos((span.as_nanos() + STEPS - 1) / STEPS);
        let otherwise = (span / 10).min(MAX_DEFAULT);
        let stride = (1 + scenario.flow_count() / MANY_FLOWS).min(MAX_BATCHES) as usize;
        // The candidates of MSER-5: the first half of the batches.
        let batches = span.as_nanos() / (BATCH * step.as_nanos());
        let starts = (0..=batches / 2).rev().step_by(stride).map(|batch| Instant::ZERO + step * (BATCH * batch));
        let search = Search {
            step,
            due: Instant::ZERO + step,
            backlog: Vec::with_capacity(STEPS as usize),
            fallback_start: Instant::ZERO + otherwise,
            earliest_start: Instant::ZERO + scenario.last_change_before(otherwise),
            changes: scenario.changes(otherwise),
        };
        let half = Instant::ZERO + span / 2;
        Self { window: Window::new(starts.chain([search.fallback_start, half]), end), search: Some(search) }
    }

    /// From `begin` to `end`.
    pub fn given(begin: Instant, end: Instant) -> Self {
        Self { window: Window::new([begin], end), search: None }
    }

    /// When they end.
    pub fn end(&self) -> Instant {
        self.window.end
    }

    /// The instants at which they can begin, the start of the run first.
    pub fn starts(&self) -> &[Instant] {
        self.window.starts()
    }

    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// When the backlog is to be told next.
    #[inline]
    pub(crate) fn due(&self) -> Instant {
        self.search.as_ref().map_or(Instant::NEVER, |search| search.due)
    }

    /// Tells how many packets wait in all queues at the instant that is due.
    pub(crate) fn add_sample(&mut self, packets: u64) {
        let search = self.search.as_mut().expect("nobody else asks");
        search.backlog.push(packets);
        search.due += search.step;
    }

    /// When the statistics begin, of a run that is over.
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
    /// When the queues have settled, if they have.
    fn settled(&self) -> Option<Instant> {
        let series: Vec<f64> = self.backlog.iter().map(|&packets| packets as f64).collect();
        let head = mser(&series, BATCH as usize)?;
        Some((Instant::ZERO + self.step * head as i64).max(self.earliest_start))
    }
}

/// Values at the head of `series` that belong to its transient, after MSER with batches of so many values (MSER-5 has
/// five); `None` if it has not settled.
///
/// Of the means of batches, those before d are left out; d is chosen so that the squared standard error of the mean of
/// the rest, sum of (y - mean)² over (n - d)², is least. A least value in the second half says that the series is too
/// short. The last five batches are no candidates.
pub fn mser(series: &[f64], batch: usize) -> Option<usize> {
    let means: Vec<f64> =
        series.chunks_exact(batch).map(|batch| batch.iter().sum::<f64>() / batch.len() as f64).collect();
    if means.len() < 2 * FEWEST_BATCHES {
        return None;
    }
    let (mut best, mut least) = (0, f64::INFINITY);
    let (mut mean, mut squares) = (0.0, 0.0);
    // Welford's update, from the end.
    for (d, &value) in means.iter().enumerate().rev() {
        let count = means.len() - d;
        let step = value - mean;
        mean += step / count as f64;
        squares += step * (value - mean);
        let error = squares / (count * count) as f64;
        if count >= FEWEST_BATCHES && error <= least {
            (best, least) = (d, error);
        }
    }
    (best <= means.len() / 2).then_some(best * batch)
}
