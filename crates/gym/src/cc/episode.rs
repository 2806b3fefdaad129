//! An episode in which agents control the congestion control of connections.

use super::observer::Observer;
use super::reward::RewardInput;
use super::setup::{MIN_RTT_STEP, Setup, StepLength};
use super::shared_state::SharedState;
use crate::episode::base_rtt;
use crate::setup::SetupError;
use crate::shares::Shares;
use sojourn_aqm::{Duration, Instant};
use sojourn_sim::scenario::{Probes, Scenario};
use sojourn_sim::{Simulation, Summary};
use sojourn_tcp::cc::AnyCc;
use std::sync::Arc;

/// Runs episodes one after another in which flows of a group are controlled by agents.
pub struct FlowEpisode {
    setup: Setup,
    agents: Vec<Agent>,
    scenario: Option<ScenarioInfo>,
    run: Option<Run>,
}

/// A connection as its agent observes it.
struct Agent {
    state: Arc<SharedState>,
    observer: Observer,
    /// End of the agent's step.
    due: Instant,
    /// Time at which the flow's application stops.
    stop: Instant,
    /// Bytes that the first link has sent, and could have sent, until the agent's last step.
    used: (u64, u64),
    reward_input: RewardInput,
}

/// A scenario and the constants of its episodes.
struct ScenarioInfo {
    scenario: Scenario,
    end: Instant,
    /// Index of the first agent's flow among the flows that last for the whole run.
    first: usize,
    /// Number of flows with agents.
    count: usize,
    base: Duration,
    nominal_bps: f64,
    cc: AnyCc,
}

struct Run {
    simulation: Simulation,
    at: Instant,
    shares: Shares,
}

impl FlowEpisode {
    /// Creates an environment without a scenario; see [`FlowEpisode::set`].
    pub fn new(setup: Setup) -> Self {
        let agent = || Agent {
            state: Arc::default(),
            observer: Observer::new(&setup.entries, setup.stack),
            due: Instant::ZERO,
            stop: Instant::NEVER,
            used: (0, 0),
            reward_input: RewardInput::default(),
        };
        Self { agents: (0..setup.max_agents).map(|_| agent()).collect(), setup, scenario: None, run: None }
    }

    /// Length of an observation.
    pub fn width(&self) -> usize {
        self.setup.width()
    }

    /// Maximum number of agents.
    pub fn max_agents(&self) -> usize {
        self.agents.len()
    }

    /// Sets the scenario of the following episodes, and returns its number of agents.
    ///
    /// # Errors
    /// If agents cannot control the group's flows.
    pub fn set(&mut self, mut scenario: Scenario) -> Result<usize, SetupError> {
        let spec = self.setup.agent_flows(&scenario)?;
        let cc = match &spec.traffic {
            sojourn_sim::scenario::Traffic::Tcp(file) => file.tcp.cc.control.clone(),
            _ => unreachable!("checked to be TCP"),
        };
        let count = (spec.count as usize).min(self.agents.len());
        let lasting = |spec: &&sojourn_sim::scenario::FlowSpec| !spec.traffic.opens_connections();
        let first = scenario.flows[..self.setup.group].iter().filter(lasting).map(|spec| spec.count as usize).sum();
        let base = base_rtt(&scenario, spec);
        let nominal_bps = scenario.link.service.nominal_rate(scenario.link.mtu).as_bps().max(1) as f64;
        scenario.probes = Probes::default();
        let end = Instant::ZERO + scenario.duration;
        (self.scenario, self.run) = (Some(ScenarioInfo { scenario, end, first, count, base, nominal_bps, cc }), None);
        Ok(count)
    }

    /// Starts an episode with `seed`; [`FlowEpisode::begin`] then runs it up to the first step. Does nothing without a
    /// scenario.
    pub fn reset(&mut self, seed: u64) {
        let Some(info) = &self.scenario else { return };
        self.run = None;
        let spec = &info.scenario.flows[self.setup.group];
        for (index, agent) in (0..).zip(&mut self.agents) {
            agent.state.clear();
            agent.observer.clear();
            let stagger = spec.stagger.unwrap_or(Duration::ZERO) * index;
            agent.stop = spec.stop.map_or(Instant::NEVER, |stop| Instant::ZERO + stop + stagger).min(info.end);
            (agent.due, agent.used) = (Instant::ZERO, (0, 0));
            let base_s = (info.base + spec.rtt_stagger.unwrap_or(Duration::ZERO) * index).as_secs_f64();
            agent.reward_input =
                RewardInput { jain: 1.0, base_s, nominal_bps: info.nominal_bps, ..RewardInput::default() };
        }
        let (setup, agents) = (&self.setup, &self.agents);
        let control = |group: u32, index: u32| {
            let agent = agents[..info.count].get(index as usize).filter(|_| group as usize == setup.group)?;
            Some(setup.control(&agent.state, setup.base(&info.cc)))
        };
        let simulation = Simulation::controlled(&info.scenario, seed, &control);
        self.run = Some(Run { simulation, at: Instant::ZERO, shares: Shares::new() });
    }

    /// Runs a part of the time before the first step, and returns whether that step can begin: a connection is open, or
    /// the episode is over.
    pub fn begin(&mut self) -> bool {
        let piece = match self.setup.step {
            StepLength::Fixed(step) => step,
            StepLength::Rtt => MIN_RTT_STEP,
        };
        let (Some(info), Some(run)) = (&self.scenario, &mut self.run) else { return true };
        let at = info.end.min(run.at + piece);
        self.run_until(at);
        self.agents.iter().any(|agent| agent.state.lock().last_ack.is_open) || self.is_over()
    }

    /// Schedules the actions of the agents whose step begins, and runs until the next step of any agent ends. Sets
    /// `due` for each agent whose step ended, and writes its reward to `rewards` (0 if rewards are external).
    pub fn step(&mut self, actions: &[f64], due: &mut [bool], rewards: &mut [f64]) {
        let Some(run) = &self.run else { return };
        let at = run.at;
        for (agent, &action) in self.agents.iter_mut().zip(actions) {
            if agent.due <= at && agent.state.lock().last_ack.is_open {
                agent.state.push_action(at + self.setup.delay, action);
                agent.observer.action = self.setup.action.clamp(action);
            }
        }
        let (count, end) = (self.count(), self.scenario.as_ref().map_or(at, |info| info.end));
        let next = self.agents[..count].iter_mut().filter(|agent| agent.stop > at).map(|agent| {
            if agent.due <= at {
                agent.due = match self.setup.step {
                    // All agents act at the same instants, even if one of them stops in between.
                    StepLength::Fixed(step) => end.min(at + step),
                    StepLength::Rtt => agent.stop.min(at + agent.state.lock().last_ack.srtt.max(MIN_RTT_STEP)),
                };
            }
            agent.due
        });
        let next = next.min().unwrap_or(at);
        self.run_until(next);
        for (i, agent) in self.agents.iter().enumerate() {
            due[i] = i < self.count() && agent.due == next && next > at;
            let reward = self.setup.reward.filter(|_| due[i]);
            rewards[i] = reward.map_or(0.0, |reward| reward.of(&agent.reward_input));
        }
    }

    fn run_until(&mut self, until: Instant) {
        let (Some(info), Some(run)) = (&self.scenario, &mut self.run) else { return };
        if until <= run.at {
            return;
        }
        run.simulation.advance_until(until);
        run.at = until;
        let flows = run.simulation.flows();
        let jain = run.shares.jain(until, &flows);
        let now = run.simulation.used_and_usable(0, until);
        for (agent, flow) in self.agents[..info.count].iter_mut().zip(&flows[info.first..]) {
            if agent.due > until {
                continue;
            }
            agent.due = until;
            agent.observer.sample(until, flow.sent, &agent.state);
            let (used, usable) = (now.0 - agent.used.0, now.1 - agent.used.1);
            agent.reward_input.utilisation = if usable > 0 { used as f64 / usable as f64 } else { 0.0 };
            (agent.reward_input.jain, agent.reward_input.interval) = (jain, agent.observer.interval);
            agent.used = now;
        }
    }

    /// Number of agents in the scenario.
    pub fn count(&self) -> usize {
        self.scenario.as_ref().map_or(0, |info| info.count)
    }

    /// Whether the agent's application has stopped, or no episode is running.
    pub fn has_stopped(&self, agent: usize) -> bool {
        self.run.as_ref().is_none_or(|run| run.at >= self.agents[agent].stop)
    }

    /// Whether every agent's application has stopped.
    pub fn is_over(&self) -> bool {
        (0..self.count()).all(|agent| self.has_stopped(agent))
    }

    /// Writes the observation of an agent.
    pub fn observe(&self, agent: usize, into: &mut [f32]) {
        self.agents[agent].observer.write(into);
    }

    /// Measurements of the agent's last step.
    pub fn reward_input(&self, agent: usize) -> &RewardInput {
        &self.agents[agent].reward_input
    }

    /// The end of the last step, in seconds.
    pub fn time_s(&self) -> f64 {
        self.run.as_ref().map_or(0.0, |run| (run.at - Instant::ZERO).as_secs_f64())
    }

    /// Ends the episode and returns the summary that `sojourn run` prints, with the fingerprint. The remainder of the
    /// scenario runs under the last actions.
    pub fn finish(&mut self) -> Option<Summary> {
        self.run.take().map(|run| run.simulation.finish().summary)
    }
}
