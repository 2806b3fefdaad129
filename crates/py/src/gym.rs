//! Reinforcement-learning episodes with an agent-controlled queue, one or many at a time.

use crate::error::{UnsignedInt, input};
use crate::slices;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::policy::{ActionKind, Feature, MAX_TARGET_MS, MIN_LOG};
use sojourn_aqm::registry::REGISTERED;
use sojourn_aqm::units;
use sojourn_gym::{Batch, Outcomes, PacketEpisode, PolicyFile, Reward, RewardInput, Setup};
use sojourn_sim::Summary;
use sojourn_sim::scenario::Scenario;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Slots for episodes of scenarios with a queue under a policy.
///
/// `step` as a time with its unit; `action`, `observe` and `reward` by name (an empty reward: the caller computes it);
/// `start` in tc's syntax or empty: the manager before the first action, or to the end if `native`. `observations`,
/// `rewards` and `over` are arrays that are written in place.
#[pyclass(module = "sojourn._core")]
pub struct Episodes {
    /// Never locked: every access is exclusive (`get_mut`), and the mutex only makes the type `Sync` for PyO3.
    batch: Mutex<Batch>,
    /// Observation of each episode.
    #[pyo3(get)]
    observations: Py<PyArray2<f32>>,
    /// Reward of each episode's last step.
    #[pyo3(get)]
    rewards: Py<PyArray1<f64>>,
    /// Whether each episode ended with its last step.
    #[pyo3(get)]
    over: Py<PyArray1<bool>>,
}

#[pymethods]
impl Episodes {
    #[new]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        py: Python<'_>,
        step: &str,
        action: &str,
        observe: Vec<String>,
        stack: usize,
        reward: &str,
        start: &str,
        native: bool,
        count: usize,
        threads: usize,
    ) -> PyResult<Self> {
        let step = units::duration(step).map_err(|error| input(format!("step: {error}")))?;
        let mut setup = Setup::read(step, (action, &observe, stack), start, native).map_err(input)?;
        setup.reward = read_reward(reward, &Reward::ALL)?;
        let batch = Batch::new(setup, count, threads).map_err(|error| input(format!("threads: {error}")))?;
        let width = batch.width();
        Ok(Self {
            batch: Mutex::new(batch),
            observations: PyArray2::zeros(py, [count, width], false).unbind(),
            rewards: PyArray1::zeros(py, count, false).unbind(),
            over: PyArray1::zeros(py, count, false).unbind(),
        })
    }

    /// Sets the scenario of the next episodes in a slot: JSON text after the overrides `sets`, whose relative paths
    /// start from `base`.
    #[pyo3(signature = (place, scenario_json, sets = Vec::new(), base = "/"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn set(
        &mut self,
        py: Python<'_>,
        place: usize,
        scenario_json: &str,
        sets: Vec<(String, String)>,
        base: &str,
    ) -> PyResult<()> {
        let episode = all(&mut self.batch).episode(place);
        py.detach(|| episode.set(read_scenario(scenario_json, &sets, base)?).map_err(|refused| refused.to_string()))
            .map_err(input)
    }

    /// Starts episodes with these seeds in these slots and writes their first observations. Signals are handled
    /// meanwhile.
    fn reset(&mut self, py: Python<'_>, places: Vec<usize>, seeds: Vec<UnsignedInt>) -> PyResult<()> {
        for (&place, seed) in places.iter().zip(seeds) {
            let seed = seed.get("seed")?;
            let episode = all(&mut self.batch).episode(place);
            py.detach(|| episode.reset(seed));
        }
        if let [place] = places[..] {
            let episode = all(&mut self.batch).episode(place);
            slices::run(py, None, || if episode.warm_up() { None } else { Some(0.0) })?;
            let mut seen = self.observations.bind(py).try_readwrite()?;
            let width = all(&mut self.batch).width();
            all(&mut self.batch).episode(place).observe(&mut seen.as_slice_mut()?[place * width..][..width]);
            return Ok(());
        }
        let mut begins = vec![false; all(&mut self.batch).len()];
        places.iter().for_each(|&place| begins[place] = true);
        let mut seen = self.observations.bind(py).try_readwrite()?;
        let (batch, seen) = (all(&mut self.batch), seen.as_slice_mut()?);
        py.detach(|| batch.warm_up(&begins, seen));
        py.check_signals()
    }

    /// Steps the episode in the first slot; returns its reward and whether it has ended.
    fn step_one(&mut self, py: Python<'_>, action: f64) -> PyResult<(f64, bool)> {
        let mut seen = self.observations.bind(py).try_readwrite()?;
        let (width, seen) = (all(&mut self.batch).width(), seen.as_slice_mut()?);
        let episode = all(&mut self.batch).episode(0);
        let (worth, over) = py.detach(|| {
            let stepped = episode.step(action);
            episode.observe(&mut seen[..width]);
            stepped
        });
        py.check_signals()?;
        Ok((worth, over))
    }

    /// Steps every running episode by its action.
    fn step(
        &mut self,
        py: Python<'_>,
        actions: PyReadonlyArray1<'_, f64>,
        going: PyReadonlyArray1<'_, bool>,
    ) -> PyResult<()> {
        let (actions, going) = (actions.as_slice()?, going.as_slice()?);
        if actions.len() != all(&mut self.batch).len() || going.len() != actions.len() {
            return Err(input(format!(
                "action: {} actions for {} episodes",
                actions.len(),
                all(&mut self.batch).len()
            )));
        }
        let mut seen = self.observations.bind(py).try_readwrite()?;
        let mut worth = self.rewards.bind(py).try_readwrite()?;
        let mut over = self.over.bind(py).try_readwrite()?;
        let (seen, worth, over) = (seen.as_slice_mut()?, worth.as_slice_mut()?, over.as_slice_mut()?);
        let batch = all(&mut self.batch);
        py.detach(|| batch.step(actions, going, Outcomes { observations: seen, rewards: worth, over }));
        py.check_signals()
    }

    /// End of the last step in a slot, in seconds.
    fn time_s(&mut self, place: usize) -> f64 {
        all(&mut self.batch).episode(place).time_s()
    }

    /// Counters of the last step in a slot, by name; times in seconds. `flows` has a row per flow that lasts for the
    /// whole run: payload bytes delivered in order, packets sent, retransmissions since the start, and the current
    /// congestion window in segments and smoothed round-trip time in milliseconds.
    fn raw<'py>(&mut self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let episode = all(&mut self.batch).episode(place);
        let raw = PyDict::new(py);
        if let Some(&RewardInput { utilisation, jain, base_s, step }) = episode.measured() {
            let (probability, target_s) = episode.in_force();
            let counts = [
                ("arrived", step.arrived),
                ("arrived_bytes", step.arrived_bytes),
                ("ect", step.ect),
                ("ect1", step.ect1),
                ("departed", step.departed),
                ("departed_bytes", step.departed_bytes),
                ("dropped", step.dropped),
                ("overflowed", step.overflowed),
                ("marked", step.marked),
                ("waiting", step.waiting),
                ("waiting_bytes", step.waiting_bytes),
            ];
            let numbers = [
                ("span_s", step.span_s),
                ("sojourn_s", step.sojourn_s),
                ("longest_s", step.longest_s),
                ("p95_s", step.p95_s),
                ("empty_s", step.empty_s),
                ("head_s", step.head_s),
                ("utilisation", utilisation),
                ("jain", jain),
                ("base_s", base_s),
                ("probability", probability),
                ("target_s", target_s),
            ];
            counts.iter().try_for_each(|(name, count)| raw.set_item(name, count))?;
            numbers.iter().try_for_each(|(name, number)| raw.set_item(name, number))?;
        }
        let row = |flow: &sojourn_sim::FlowCounters| {
            let counts = [flow.delivered_bytes, flow.sent, flow.retransmissions].map(|n| n as f64);
            [counts.as_slice(), &[flow.cwnd, flow.srtt_ms]].concat()
        };
        let flows: Vec<_> = episode.flows().iter().map(row).collect();
        let flows =
            if flows.is_empty() { PyArray2::zeros(py, [0, 5], false) } else { PyArray2::from_vec2(py, &flows)? };
        raw.set_item("flows", flows)?;
        Ok(raw)
    }

    /// Ends the episode in a slot; returns its summary as JSON, or None if there is none. The rest of the scenario runs
    /// under the last action.
    fn finish(&mut self, py: Python<'_>, place: usize) -> PyResult<Option<String>> {
        let episode = all(&mut self.batch).episode(place);
        text_of(py.detach(|| episode.finish()))
    }
}

/// A slot for episodes with one action per packet that arrives at the bottleneck.
///
/// `observe` by name, for the last `stack` packets; three numbers of the packet itself follow. `observations` is
/// written in place.
#[pyclass(module = "sojourn._core")]
pub struct PacketEpisodes {
    /// Never locked, like that of [`Episodes`].
    packets: Mutex<PacketEpisode>,
    /// The observation.
    #[pyo3(get)]
    observation: Py<PyArray1<f32>>,
}

#[pymethods]
impl PacketEpisodes {
    #[new]
    fn new(py: Python<'_>, observe: Vec<String>, stack: usize) -> PyResult<Self> {
        // Step and action are not used: each packet is a step.
        let setup = Setup::read(sojourn_gym::MIN_STEP, ("probability", &observe, stack), "", false).map_err(input)?;
        let packets = PacketEpisode::new(setup);
        let observation = PyArray1::zeros(py, packets.width(), false).unbind();
        Ok(Self { packets: Mutex::new(packets), observation })
    }

    /// Sets the scenario of the next episodes, as [`Episodes::set`] does.
    #[pyo3(signature = (scenario_json, sets = Vec::new(), base = "/"))]
    fn set(&mut self, py: Python<'_>, scenario_json: &str, sets: Vec<(String, String)>, base: &str) -> PyResult<()> {
        let packets = one(&mut self.packets);
        py.detach(|| packets.set(read_scenario(scenario_json, &sets, base)?).map_err(|refused| refused.to_string()))
            .map_err(input)
    }

    /// Starts an episode and runs to the first arriving packet; returns whether there is one.
    fn reset(&mut self, py: Python<'_>, seed: UnsignedInt) -> PyResult<bool> {
        let seed = seed.get("seed")?;
        let packets = one(&mut self.packets);
        let any = py.detach(|| packets.reset(seed));
        self.observe(py)?;
        py.check_signals()?;
        Ok(any)
    }

    /// Applies the action to the packet (0 accepts, 1 marks, 2 drops) and runs to the next one; returns the reward and
    /// whether it was the last packet.
    fn step(&mut self, py: Python<'_>, action: f64) -> PyResult<(f64, bool)> {
        // Keep the interpreter lock: releasing it would take longer than a packet.
        let stepped = one(&mut self.packets).step(action);
        self.observe(py)?;
        py.check_signals()?;
        Ok(stepped)
    }

    /// Arrival time of the packet, or the end, in seconds.
    fn time_s(&mut self) -> f64 {
        one(&mut self.packets).time_s()
    }

    /// Ends the episode; returns its summary as JSON, or None if there is none.
    fn finish(&mut self, py: Python<'_>) -> PyResult<Option<String>> {
        let packets = one(&mut self.packets);
        text_of(py.detach(|| packets.finish()))
    }
}

impl PacketEpisodes {
    fn observe(&mut self, py: Python<'_>) -> PyResult<()> {
        let mut seen = self.observation.bind(py).try_readwrite()?;
        one(&mut self.packets).observe(seen.as_slice_mut()?);
        Ok(())
    }
}

/// Parses an environment's scenario, with built-in AQMs only: AQMs of users would need the interpreter, or checks after
/// each call.
pub(crate) fn read_scenario(json: &str, sets: &[(String, String)], base: &str) -> Result<Scenario, String> {
    Scenario::parse_with(json, sets, Path::new(base), REGISTERED).map_err(|error| error.to_string())
}

/// Looks up a reward by name; `None` if the name is empty, because the caller computes the reward.
pub(crate) fn read_reward<R: Copy>(name: &str, all: &[(&str, R)]) -> PyResult<Option<R>> {
    if name.is_empty() {
        return Ok(None);
    }
    let names = || all.iter().map(|&(name, _)| name).collect::<Vec<_>>().join(", ");
    let unknown = || input(format!("reward: unknown reward {name:?}; expected one of {}, or a function", names()));
    all.iter().find(|(known, _)| *known == name).map(|&(_, reward)| Some(reward)).ok_or_else(unknown)
}

/// Summary of an ended episode as JSON.
pub(crate) fn text_of(summary: Option<Summary>) -> PyResult<Option<String>> {
    summary.map(|summary| serde_json::to_string(&summary).map_err(input)).transpose()
}

fn one(packets: &mut Mutex<PacketEpisode>) -> &mut PacketEpisode {
    packets.get_mut().unwrap_or_else(PoisonError::into_inner)
}

fn all(batch: &mut Mutex<Batch>) -> &mut Batch {
    batch.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// A policy from a file: its action for an observation is that of the queue manager of the same name.
#[pyclass(module = "sojourn._core")]
pub struct PolicyNetwork(PolicyFile);

#[pymethods]
impl PolicyNetwork {
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        PolicyFile::parse(text).map(Self).map_err(input)
    }

    /// Output of the last layer for an observation of as many numbers as it takes.
    fn forward(&mut self, observation: PyReadonlyArray1<'_, f32>) -> PyResult<Vec<f32>> {
        let (seen, takes) = (observation.as_slice()?, self.0.spec.len());
        if seen.len() != takes {
            return Err(input(format!("observation: {} numbers; the policy needs {takes}", seen.len())));
        }
        Ok(self.0.network.forward(seen).to_vec())
    }
}

/// Names that an environment accepts: `actions` with their ranges (`low`, `high`, or `n` choices), entries of an
/// `observation` with their meaning, those in the `default`, and `rewards`.
#[pyfunction]
pub fn gym_names(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let names = PyDict::new(py);
    let actions = PyDict::new(py);
    for (name, law) in ActionKind::ALL {
        let (least, most) = match law {
            ActionKind::Probability | ActionKind::Coupled => (0.0, 1.0),
            ActionKind::ProbabilityLog => (MIN_LOG, 0.0),
            ActionKind::Delta => (0.0, law.outputs() as f64 - 1.0),
            ActionKind::Packet => (0.0, 2.0),
            ActionKind::Target => (MAX_TARGET_MS.0.ln(), MAX_TARGET_MS.1.ln()),
        };
        actions.set_item(name, (least, most, law == ActionKind::Delta))?;
    }
    names.set_item("actions", actions)?;
    names
        .set_item("observations", Feature::ALL.iter().map(|&(name, _, doc)| (name, doc.trim())).collect::<Vec<_>>())?;
    names.set_item("default", Feature::DEFAULT.map(Feature::name))?;
    names.set_item("rewards", Reward::ALL.map(|(name, _)| name))?;
    Ok(names)
}
