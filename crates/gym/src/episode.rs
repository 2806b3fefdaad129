//! A run in steps.

use crate::reward::{Reward, RewardInput};
use crate::setup::{Setup, SetupError};
use crate::shares::Shares;
use sojourn_aqm::policy::{Feature, Observer, SharedState, StepStats};
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{FlowSpec, Scenario};
use sojourn_sim::{FlowCounters, Simulation, Summary};
use std::sync::Arc;

/// A place for episodes, one after another, with what they share. One is not under way before the first
/// [`Episode::reset`].
pub struct Episode {
    setup: Arc<Setup>,
    state: Arc<SharedState>,
    observer: Observer,
    scenario: Option<ScenarioInfo>,
    run: Option<Run>,
}

/// A scenario and what is the same in each of its episodes.
struct ScenarioInfo {
    scenario: Scenario,
    begin: Instant,
    end: Instant,
    base_s: f64,
}

/// An episode under way.
struct Run {
    simulation: Simulation,
    at: Instant,
    /// What the link has used and could have used until then.
    used: (u64, u64),
    shares: Option<Shares>,
    reward_input: RewardInput,
}

impl Episode {
    /// A place for episodes of this set-up.
    pub fn new(setup: Arc<Setup>) -> Self {
        let board = SharedState::new(setup.spec.has(Feature::Flows));
        // A reward that somebody else gives may be of anything.
        let counts = setup.reward.is_none_or(|reward| reward == Reward::Qoo);
        let board = Arc::new(if counts { board.with_sojourns() } else { board });
        let observer = Observer::new(setup.spec.clone());
        Self { setup, state: board, observer, scenario: None, run: None }
    }

    /// Lets the next episodes be of `scenario`.
    pub fn set(&mut self, scenario: Scenario) -> Result<(), SetupError> {
        let (begin, end) = (self.setup.begin(&scenario)?, Instant::ZERO + scenario.duration);
        let base = scenario.flows.iter().map(|flow| base_rtt(&scenario, flow)).min();
        let base_s = base.unwrap_or(MIN_BASE).as_secs_f64();
        let scenario = self.setup.with_agent(scenario, &self.state)?;
        (self.scenario, self.run) = (Some(ScenarioInfo { scenario, begin, end, base_s }), None);
        Ok(())
    }

    /// Whether there is a scenario.
    pub fn is_set(&self) -> bool {
        self.scenario.is_some()
    }

    /// Begins an episode with `seed`, of which [`Episode::warm_up`] runs what lies before the first step. Without a
    /// scenario nothing begins.
    pub fn reset(&mut self, seed: u64) {
        let Some(known) = &self.scenario else { return };
        self.run = None;
        self.state.clear();
        self.observer.clear();
        let simulation = Simulation::new(&known.scenario, seed);
        let fair = self.setup.reward == Some(Reward::Fair);
        let shares = fair.then(Shares::new);
        let measured = RewardInput { utilisation: 0.0, jain: 1.0, base_s: known.base_s, step: StepStats::default() };
        self.run = Some(Run { simulation, at: Instant::ZERO, used: (0, 0), shares, reward_input: measured });
    }

    /// Runs what lies before the first step, a piece at a time; returns whether it is over. The observation is then that
    /// of the last step's length of it.
    pub fn warm_up(&mut self) -> bool {
        let (Some(known), Some(run)) = (&self.scenario, &mut self.run) else { return true };
        let last = known.begin - self.setup.step.min(known.begin - Instant::ZERO);
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
        let begin = known.begin;
        self.go(begin);
        true
    }

    /// Acts and runs the next step. Returns what it is worth, zero where somebody else judges, and whether it is the
    /// episode's last.
    pub fn step(&mut self, action: f64) -> (f64, bool) {
        let (Some(known), Some(run)) = (&self.scenario, &self.run) else { return (0.0, true) };
        if run.at >= known.end {
            return (0.0, true);
        }
        let next = known.end.min(run.at + self.setup.step);
        let over = next == known.end;
        self.setup.spec.law.act(action, &self.state);
        self.go(next);
        let worth = self.measured().zip(self.setup.reward).map_or(0.0, |(measured, reward)| reward.of(measured));
        (worth, over)
    }

    fn go(&mut self, until: Instant) {
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

    /// Writes the observation.
    pub fn observe(&self, into: &mut [f32]) {
        self.observer.write(into);
    }

    /// The end of the last step, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |run| (run.at - Instant::ZERO).as_secs_f64())
    }

    /// What happened in the last step.
    pub fn measured(&self) -> Option<&RewardInput> {
        self.run.as_ref().map(|run| &run.reward_input)
    }

    /// The counters of each flow that lasts for the whole run.
    pub fn flows(&self) -> Vec<FlowCounters> {
        self.run.as_ref().map_or_else(Vec::new, |run| run.simulation.flows())
    }

    /// The probability, or the target in seconds, that is in force.
    pub fn in_force(&self) -> (f64, f64) {
        (self.state.probability(), self.state.target().as_secs_f64())
    }

    /// Ends the episode, which [`Episode::reset`] follows: what `sojourn run` prints, with the fingerprint. What is left of
    /// the scenario is run under what is in force.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|run| run.simulation.finish().summary)
    }
}

/// What is run without a look at anything else.
const PIECE: Duration = Duration::from_millis(250);

/// The sum of propagation delays there and back.
pub(crate) fn base_rtt(scenario: &Scenario, flow: &FlowSpec) -> Duration {
    let hops: Vec<_> = scenario.hops().flat_map(|(_, link, reverse)| [link.delay, reverse.delay]).collect();
    let links = flow.paths.data.iter().chain(flow.paths.acks.iter());
    let delay = |link: usize| hops.get(link).copied().unwrap_or(Duration::ZERO);
    links.fold(flow.access_delay * 2, |sum, &link| sum + delay(link.into())).max(MIN_BASE)
}

/// So that what is divided by it is finite.
const MIN_BASE: Duration = Duration::from_millis(1);
