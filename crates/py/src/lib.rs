//! `sojourn._core`: the simulator and its queue managers for Python.
//!
//! A thin layer: texts and integers come in, texts and arrays go out, and everything that they mean is decided
//! in the crates below.

mod error;
mod output;
mod queue;
mod registry;
mod replay;
mod slices;

use error::{InputError, Unsigned, input};
use output::Output;
use pyo3::prelude::*;
use queue::Queue;
use sojourn_sim::Simulation;
use sojourn_sim::scenario::{self, AqmSpec, Error, Scenario};
use std::path::Path;

/// The compiled core: scenarios, simulations and single queues.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add_class::<Output>()?;
    module.add_class::<Queue>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(parse_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry_json, module)?)?;
    module.add_function(wrap_pyfunction!(parse_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(replay::diff, module)?)?;
    module.add_function(wrap_pyfunction!(replay::made_up_arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(replay::tc_queue, module)?)?;
    module.add_function(wrap_pyfunction!(simulate, module)?)
}

/// Version of the core.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Canonical JSON of a scenario in TOML or JSON, every default written out.
///
/// `sets` are overrides by dotted path, e.g. ("link.rate", "20 Mbit/s"); an empty value removes the key. Relative
/// paths of traces start from the folder `base`.
#[pyfunction]
fn parse_scenario(py: Python<'_>, text: &str, sets: Vec<(String, String)>, base: &str) -> PyResult<String> {
    let parse = || Scenario::parse(text, &sets, Path::new(base)).map(|scenario| scenario.canonical());
    py.detach(parse).map_err(input)
}

/// JSON Schema (draft 2020-12) of scenario files.
#[pyfunction]
fn scenario_schema() -> String {
    scenario::schema()
}

/// Everything registered, as JSON: queue managers with parameters and profiles, TCP stacks, congestion controls,
/// kinds of traffic.
#[pyfunction(name = "registry")]
fn registry_json() -> String {
    registry::registry().to_string()
}

/// JSON of a queue manager given as a text ("codel@act target 5ms") or as a JSON table: name, profile, shortest
/// spelling (`text`) and every parameter (`params`).
#[pyfunction]
fn parse_aqm(text: &str) -> PyResult<String> {
    let aqm = if text.trim_start().starts_with('{') {
        AqmSpec::read(&serde_json::from_str(text).map_err(input)?)
    } else {
        AqmSpec::parse(text)
    };
    aqm.map(|aqm| registry::aqm(&aqm).to_string()).map_err(input)
}

/// Simulates a scenario (TOML or JSON text with absolute paths) once.
///
/// The interpreter is free meanwhile; about every 50 ms signals are handled and `progress` is called with the share
/// done, from 0 to 1. What either raises ends the run.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, progress = None))]
fn simulate(
    py: Python<'_>,
    scenario_json: &str,
    seed: Unsigned,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<Output> {
    let seed = seed.get("seed")?;
    let start = || -> Result<_, Error> {
        let scenario = Scenario::parse(scenario_json, &[], Path::new("/"))?;
        Ok((Simulation::new(&scenario, seed), scenario.duration.as_secs_f64()))
    };
    let (mut simulation, duration_s) = py.detach(start).map_err(input)?;
    slices::run(py, progress.as_ref(), || {
        let done = simulation.advance(EVENTS_PER_STEP);
        if done { None } else { Some(simulation.now().as_secs_f64() / duration_s) }
    })?;
    Output::new(py, py.detach(|| simulation.finish()))
}

/// Events between two looks at the clock: a millisecond or so.
const EVENTS_PER_STEP: u64 = 4096;
