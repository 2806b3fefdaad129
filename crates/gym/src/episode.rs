//! An episode: a run in steps in which an agent controls the bottleneck's queue.

use crate::reward::{Reward, RewardInput};
use crate::setup::{Setup, SetupError};
use crate::shares::Shares;
use sojourn_aqm::policy::{Feature, Observer, SharedState, StepStats};
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{FlowSpec, Scenario};
use sojourn_sim::{FlowCounters, Simulation, Summary};
use std::sync::Arc;

/// Runs episodes one after another and reuses what they share. No episode is running before the first
/// [`Episode::reset`].
pub struct Episode {
    setup: Arc<Setup>,
    state: Arc<SharedState>,
    observer: Observer,
    scenario: Option<ScenarioInfo>,
    run: Option<Run>,
}

/// A scenario and the constants of its episodes.
struct ScenarioInfo {
    scenario: Scenario,
    begin: Instant,
    end: Instant,
    base_s: f64,
}

/// A running episode.
struct Run {
    simulation: Simulation,
    at: Instant,
    /// Bytes that the link has sent, and could have sent, until `at`.
    used: (u64, u64),
    shares: Option<Shares>,
    reward_input: RewardInput,
}

impl Episode {
    /// Creates an environment without a scenario; see [`Episode::set`].
    pub fn new(setup: Arc<Setup>) -> Self {
        let state = SharedState::new(setup.spec.has(Feature::Flows));
        // An external reward (None) may use any statistic, so collect sojourn times for it too.
        let counts = setup.reward.is_none_or(|reward| reward == Reward::Qoo);
        let state = Arc::new(if counts { state.with_sojourns() } else { state });
        let observer = Observer::new(setup.spec.clone());
        Self { setup, state, observer, scenario: None, run: None }
    }

    /// Sets the scenario of the following episodes.
    ///
    /// # Errors
    /// If an agent cannot control the scenario's bottleneck.
    pub fn set(&mut self, scenario: Scenario) -> Result<(), SetupError> {
        let (begin, end) = (self.setup.begin(&scenario)?, Instant::ZERO + scenario.duration);
        let base = scenario.flows.iter().map(|flow| base_rtt(&scenario, flow)).min();
        let base_s = base.unwrap_or(MIN_BASE).as_secs_f64();
        let scenario = self.setup.with_agent(scenario, &self.state)?;
        (self.scenario, self.run) = (Some(ScenarioInfo { scenario, begin, end, base_s }), None);
        Ok(())
    }

    /// Whether a scenario is set.
    pub fn is_set(&self) -> bool {
        self.scenario.is_some()
    }

    /// Starts an episode with `seed`; [`Episode::warm_up`] then runs it up to the first step. Does nothing without a
    /// scenario.
    pub fn reset(&mut self, seed: u64) {
        let Some(info) = &self.scenario else { return };
        self.run = None;
        self.state.clear();
        self.observer.clear();
        let simulation = Simulation::new(&info.scenario, seed);
        let fair = self.setup.reward == Some(Reward::Fair);
        let shares = fair.then(Shares::new);
        let reward_input = RewardInput { utilisation: 0.0, jain: 1.0, base_s: info.base_s, step: StepStats::default() };
        self.run = Some(Run { simulation, at: Instant::ZERO, used: (0, 0), shares, reward_input });
    }

    /// Runs up to 250 ms of the warm-up, and returns whether it is complete. The first observation covers the last step
    /// length of the warm-up.
    pub fn warm_up(&mut self) -> bool {
        let (Some(info), Some(run)) = (&self.scenario, &mut self.run) else { return true };
        let last = info.begin - self.setup.step.min(info.begin - Instant::ZERO);
        if run.at < last {
            run.at = last.min(run.at + PIECE);
            run.simulation.advance_until(run.at);
            return false;
        }
        if last > Instant::ZERO {
            self.observer.sample(last, &self.state);
            self.observer.forget();
        }
        run.used = run.simulation.used_and_usable(0, last);
        let begin = info.begin;
        self.run_until(begin);
        true
    }

    /// Applies `action` and runs the next step. Returns the reward (0 if rewards are external) and whether the step was
    /// the episode's last.
    pub fn step(&mut self, action: f64) -> (f64, bool) {
        let (Some(info), Some(run)) = (&self.scenario, &self.run) else { return (0.0, true) };
        if run.at >= info.end {
            return (0.0, true);
        }
        let next = info.end.min(run.at + self.setup.step);
        let over = next == info.end;
        self.setup.spec.action.act(action, &self.state);
        self.run_until(next);
        let reward = self.measured().zip(self.setup.reward).map_or(0.0, |(measured, reward)| reward.of(measured));
        (reward, over)
    }

    fn run_until(&mut self, until: Instant) {
        let Some(run) = &mut self.run else { return };
        run.simulation.advance_until(until);
        run.at = until;
        run.reward_input.step = *self.observer.sample(until, &self.state);
        let now = run.simulation.used_and_usable(0, until);
        let (used, usable) = (now.0 - run.used.0, now.1 - run.used.1);
        run.reward_input.utilisation = if usable > 0 { used as f64 / usable as f64 } else { 0.0 };
        run.used = now;
        if let Some(shares) = &mut run.shares {
            run.reward_input.jain = shares.jain(until, &run.simulation.flows());
        }
    }

    /// Writes the observation of the last steps.
    pub fn observe(&self, into: &mut [f32]) {
        self.observer.write(into);
    }

    /// The end of the last step, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |run| (run.at - Instant::ZERO).as_secs_f64())
    }

    /// Measurements of the last step; `None` if no episode is running.
    pub fn measured(&self) -> Option<&RewardInput> {
        self.run.as_ref().map(|run| &run.reward_input)
    }

    /// Counters of each flow that lasts for the whole run.
    pub fn flows(&self) -> Vec<FlowCounters> {
        self.run.as_ref().map_or_else(Vec::new, |run| run.simulation.flows())
    }

    /// Current drop probability and current target in seconds.
    pub fn in_force(&self) -> (f64, f64) {
        (self.state.probability(), self.state.target().as_secs_f64())
    }

    /// Ends the episode and returns the summary that `sojourn run` prints, with the fingerprint. The remainder of the
    /// scenario runs under the last action.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|run| run.simulation.finish().summary)
    }
}

/// Maximum simulated time per call of [`Episode::warm_up`], so that callers can handle signals in between.
const PIECE: Duration = Duration::from_millis(250);

/// Two-way propagation delay, at least [`MIN_BASE`].
pub(crate) fn base_rtt(scenario: &Scenario, flow: &FlowSpec) -> Duration {
    let hops: Vec<_> = scenario.hops().flat_map(|(_, link, reverse)| [link.delay, reverse.delay]).collect();
    let links = flow.paths.data.iter().chain(flow.paths.acks.iter());
    let delay = |link: usize| hops.get(link).copied().unwrap_or(Duration::ZERO);
    links.fold(flow.access_delay * 2, |sum, &link| sum + delay(link.into())).max(MIN_BASE)
}

/// Keeps quotients by the base RTT finite.
const MIN_BASE: Duration = Duration::from_millis(1);
