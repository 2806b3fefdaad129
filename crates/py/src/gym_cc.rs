//! Reinforcement-learning episodes with agent-controlled connections.

use crate::error::{UnsignedInt, input};
use crate::gym::{read_reward, read_scenario, text_of};
use crate::slices;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_gym::cc::{ActionKind, Feature, FlowEpisode, Reward, RewardInput, Setup};
use std::sync::{Mutex, PoisonError};

/// A slot for episodes with an agent per flow of a group, at most `most` agents.
///
/// `step` as a time with its unit or "rtt", `delay` as a time; `action`, `observe` and `reward` by name (an empty
/// reward: the caller computes it); with `native` that control runs instead of agents. `observations`, `rewards`, `due`
/// and `over` are arrays that are written in place.
#[pyclass(module = "sojourn._core")]
pub struct CcEpisodes {
    /// Never locked, like that of [`Episodes`](crate::gym::Episodes).
    connections: Mutex<FlowEpisode>,
    /// Observation of each agent.
    #[pyo3(get)]
    observations: Py<PyArray2<f32>>,
    /// Reward of each agent's last step.
    #[pyo3(get)]
    rewards: Py<PyArray1<f64>>,
    /// Whether each agent's step has just ended.
    #[pyo3(get)]
    due: Py<PyArray1<bool>>,
    /// Whether each agent's application has stopped, or the scenario has ended.
    #[pyo3(get)]
    over: Py<PyArray1<bool>>,
}

#[pymethods]
impl CcEpisodes {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        step: &str,
        delay: &str,
        action: &str,
        gain: f64,
        keeps: bool,
        observe: Vec<String>,
        stack: usize,
        reward: &str,
        group: usize,
        most: usize,
        native: &str,
    ) -> PyResult<Self> {
        let mut setup = Setup::read(step, delay, action, &observe, stack).map_err(input)?;
        (setup.gain, setup.keeps_cwnd_on_rto, setup.group, setup.max_agents) = (gain, keeps, group, most);
        setup.reward = read_reward(reward, &Reward::ALL)?;
        if !native.is_empty() {
            setup.run_natively(native).map_err(input)?;
        }
        let connections = FlowEpisode::new(setup);
        Ok(Self {
            observations: PyArray2::zeros(py, [most, connections.width()], false).unbind(),
            rewards: PyArray1::zeros(py, most, false).unbind(),
            due: PyArray1::zeros(py, most, false).unbind(),
            over: PyArray1::zeros(py, most, false).unbind(),
            connections: Mutex::new(connections),
        })
    }

    /// Sets the scenario of the next episodes: JSON text after the overrides `sets`, whose relative paths start from
    /// `base`; returns the number of agents.
    #[pyo3(signature = (scenario_json, sets = Vec::new(), base = "/"))]
    fn set(&mut self, py: Python<'_>, scenario_json: &str, sets: Vec<(String, String)>, base: &str) -> PyResult<usize> {
        let connections = all(&mut self.connections);
        py.detach(|| connections.set(read_scenario(scenario_json, &sets, base)?).map_err(|refused| refused.to_string()))
            .map_err(input)
    }

    /// Starts an episode and runs until a connection is open. Signals are handled meanwhile.
    fn reset(&mut self, py: Python<'_>, seed: UnsignedInt) -> PyResult<()> {
        let seed = seed.get("seed")?;
        let connections = all(&mut self.connections);
        py.detach(|| connections.reset(seed));
        slices::run(py, None, || if connections.begin() { None } else { Some(0.0) })?;
        self.due.bind(py).try_readwrite()?.as_slice_mut()?.fill(true);
        self.show(py)
    }

    /// Applies the actions of the agents whose step begins, and runs until the next step of an agent ends.
    fn step(&mut self, py: Python<'_>, actions: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let actions = actions.as_slice()?;
        let connections = all(&mut self.connections);
        if actions.len() != connections.max_agents() {
            return Err(input(format!("action: {} actions for {} agents", actions.len(), connections.max_agents())));
        }
        let (mut due, mut worth) = (self.due.bind(py).try_readwrite()?, self.rewards.bind(py).try_readwrite()?);
        let (slice, worth) = (due.as_slice_mut()?, worth.as_slice_mut()?);
        py.detach(|| connections.step(actions, slice, worth));
        drop(due);
        self.show(py)?;
        py.check_signals()
    }

    /// End of the last step, in seconds.
    fn time_s(&mut self) -> f64 {
        all(&mut self.connections).time_s()
    }

    /// Counters of an agent's last step, by name; times in seconds, rates in payload bits per second.
    fn raw<'py>(&mut self, py: Python<'py>, agent: usize) -> PyResult<Bound<'py, PyDict>> {
        let &RewardInput { utilisation, jain, base_s, nominal_bps, interval } =
            all(&mut self.connections).reward_input(agent);
        let raw = PyDict::new(py);
        let counts = [
            ("sent", interval.sent),
            ("delivered", interval.delivered),
            ("marked", interval.marked),
            ("lost", interval.lost),
            ("cwnd", interval.cwnd.into()),
            ("in_flight", interval.in_flight.into()),
        ];
        let numbers = [
            ("span_s", interval.span_s),
            ("rtt_s", interval.rtt_s),
            ("least_rtt_s", interval.min_rtt_s),
            ("srtt_s", interval.srtt_s),
            ("gradient", interval.gradient),
            ("rate_bps", interval.rate_bps),
            ("pacing_bps", interval.pacing_bps),
            ("loss", interval.loss()),
            ("utilisation", utilisation),
            ("jain", jain),
            ("base_s", base_s),
            ("nominal_bps", nominal_bps),
        ];
        counts.iter().try_for_each(|(name, count)| raw.set_item(name, count))?;
        numbers.iter().try_for_each(|(name, number)| raw.set_item(name, number))?;
        Ok(raw)
    }

    /// Ends the episode; returns its summary as JSON, or None if there is none. The rest of the scenario runs under the
    /// last actions.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let connections = all(&mut self.connections);
        text_of(py.detach(|| connections.finish()))
    }
}

impl CcEpisodes {
    /// Writes each agent's observation and whether its application has stopped.
    fn show(&mut self, py: Python<'_>) -> PyResult<()> {
        let (mut seen, mut over) = (self.observations.bind(py).try_readwrite()?, self.over.bind(py).try_readwrite()?);
        let connections = all(&mut self.connections);
        let width = connections.width();
        let rows = seen.as_slice_mut()?.chunks_exact_mut(width);
        for (agent, (row, over)) in rows.zip(over.as_slice_mut()?).enumerate() {
            connections.observe(agent, row);
            *over = agent >= connections.count() || connections.has_stopped(agent);
        }
        Ok(())
    }
}

fn all(connections: &mut Mutex<FlowEpisode>) -> &mut FlowEpisode {
    connections.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// Names that environments of connections accept, as [`gym_names`](crate::gym::gym_names) for queues.
#[pyfunction]
pub fn gym_cc_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    let actions = PyDict::new(py);
    ActionKind::ALL.iter().try_for_each(|(name, law)| actions.set_item(name, law.range()))?;
    names.set_item("actions", actions)?;
    names
        .set_item("observations", Feature::ALL.iter().map(|&(name, _, doc)| (name, doc.trim())).collect::<Vec<_>>())?;
    names.set_item("default", Feature::DEFAULT.map(Feature::name))?;
    names.set_item("rewards", Reward::ALL.map(|(name, _)| name))?;
    Ok(names)
}
