//! `sojourn._core`: the simulator and its AQMs for Python.
//!
//! A thin layer that converts text and integers to Rust, and results to text and arrays; the crates below do the work.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | `output`, `values`, `slices` | results as arrays; values in both directions; long work that Ctrl-C can interrupt |
//! | `queue`, `replay`, `conformance` | a queue step by step, comparisons and checks of AQMs |
//! | `cc_check` | checks and comparisons of congestion controls |
//! | `classes`, `manager`, `views`, `borrowed_queue` | AQMs in Python and in libraries: lookup, calls, queue views |
//! | `recorded`, `emulated`, `emulator`, `trace` | runs of other engines, emulated links, delivery-opportunity traces |
//! | `sentences` | conditions about runs |
//! | `capture` | captures of real networks as columns |
//! | `gym` | episodes in which an agent controls a queue |
//! | `gym_cc` | episodes in which agents control connections |
//! | `net`, `net_report` | networks for the tests of transport stacks, and their results |
//! | `error` | exceptions |

#[cfg(target_os = "linux")]
mod borrowed_queue;
mod capture;
mod cc_check;
mod class_params;
mod classes;
mod conformance;
mod control_class;
mod control_views;
mod controls;
mod emulated;
mod emulator;
mod error;
mod gym;
mod gym_cc;
mod manager;
mod net;
mod net_report;
mod output;
mod queue;
mod recorded;
mod replay;
mod sentences;
mod slices;
mod trace;
mod values;
mod views;

use classes::{ClassFinder, PyAlgorithm, check_fault, foreign, is_python};
use controls::{UserFiles, check_control_faults, parse_absolute, parse_described};
use error::{AqmError, InputError, UnsignedInt, check, unwritten};
use output::Output;
use pyo3::prelude::*;
use queue::Queue;
use sojourn_aqm::registry::Catalogue;
use sojourn_aqm::units;
use sojourn_sim::parquet::{ParquetFolder, ROWS};
use sojourn_sim::scenario::{self, AqmSpec, Scenario, UnreadTables};
use sojourn_sim::{MemoryEstimate, Simulation, registry};
use std::path::PathBuf;

/// The compiled core: scenarios, simulations and single queues.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("AqmError", module.py().get_type::<AqmError>())?;
    module.add("UPTIME_NS", sojourn_sim::scenario::UPTIME.as_nanos())?;
    module.add_class::<Output>()?;
    module.add_class::<Queue>()?;
    module.add_class::<gym::Episodes>()?;
    module.add_class::<gym::PacketEpisodes>()?;
    module.add_class::<gym::PolicyNetwork>()?;
    module.add_class::<gym_cc::CcEpisodes>()?;
    module.add_class::<net::PyNet>()?;
    module.add_class::<net::PyEnd>()?;
    module.add_class::<net::PyEvent>()?;
    module.add_class::<net_report::PyReport>()?;
    module.add_class::<net_report::PyVerdict>()?;
    module.add_class::<PyAlgorithm>()?;
    module.add_class::<control_class::PyControlClass>()?;
    module.add_class::<control_views::FlightObject>()?;
    module.add_class::<control_views::AckObject>()?;
    module.add_class::<control_views::SampleObject>()?;
    module.add_class::<control_views::LossObject>()?;
    module.add_class::<sentences::PyVocabulary>()?;
    module.add_class::<sentences::PySentence>()?;
    module.add_class::<sentences::PyExpression>()?;
    module.add_class::<sentences::PyEvidence>()?;
    module.add_class::<views::CxView>()?;
    module.add_class::<views::FifoView>()?;
    module.add_class::<views::MetaView>()?;
    module.add_class::<views::LimitsView>()?;
    module.add_class::<views::LinkView>()?;
    module.add_function(wrap_pyfunction!(net_report::replay_decisions, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(parse_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(scenario_schema, module)?)?;
    module.add_function(wrap_pyfunction!(registry_json, module)?)?;
    module.add_function(wrap_pyfunction!(parse_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(conformance::check_aqm, module)?)?;
    module.add_function(wrap_pyfunction!(cc_check::check_cc, module)?)?;
    module.add_function(wrap_pyfunction!(cc_check::diff_cc, module)?)?;
    module.add_function(wrap_pyfunction!(replay::diff, module)?)?;
    module.add_function(wrap_pyfunction!(replay::made_up_arrivals, module)?)?;
    module.add_function(wrap_pyfunction!(replay::tc_queue, module)?)?;
    module.add_function(wrap_pyfunction!(replay::spelled_rate, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::paths, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::hosts, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::plan, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::state_of_queue, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::starts, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::summarise, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::quantiles_ms, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::end_summaries, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::payload_summary, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::whole, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::jain, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::bulk_groups, module)?)?;
    module.add_function(wrap_pyfunction!(recorded::mser, module)?)?;
    module.add_function(wrap_pyfunction!(duration_ns, module)?)?;
    module.add_function(wrap_pyfunction!(size_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(capture::read_capture, module)?)?;
    module.add_function(wrap_pyfunction!(trace::load_trace, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_stats, module)?)?;
    module.add_function(wrap_pyfunction!(trace::lte_presets, module)?)?;
    module.add_function(wrap_pyfunction!(trace::synth_lte, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_of_csv, module)?)?;
    module.add_function(wrap_pyfunction!(trace::csv_of_trace, module)?)?;
    module.add_function(wrap_pyfunction!(emulator::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(emulator::doctor, module)?)?;
    #[cfg(target_os = "linux")]
    {
        module.add_function(wrap_pyfunction!(emulated::emulated, module)?)?;
        module.add_function(wrap_pyfunction!(emulated::emulated_head, module)?)?;
        module.add_function(wrap_pyfunction!(emulated::emulated_flow, module)?)?;
        module.add_function(wrap_pyfunction!(emulated::dscp, module)?)?;
    }
    module.add_function(wrap_pyfunction!(gym::gym_names, module)?)?;
    module.add_function(wrap_pyfunction!(gym_cc::gym_cc_names, module)?)?;
    module.add_function(wrap_pyfunction!(need, module)?)?;
    module.add_function(wrap_pyfunction!(output::read_table, module)?)?;
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
/// paths of traces and of queue managers in Python start from the folder `base`; with `within` no file outside of it is
/// read.
#[pyfunction]
#[pyo3(signature = (text, sets, base, within = false))]
fn parse_scenario(
    py: Python<'_>,
    text: &str,
    sets: Vec<(String, String)>,
    base: &str,
    within: bool,
) -> PyResult<String> {
    let files = UserFiles::new(base, within).with_kernel_names();
    let classes = ClassFinder { confined: within, ..ClassFinder::of(base).with_kernel_names() };
    let parse = || Scenario::parse_among(text, &sets, &files, &classes);
    let canonical = py.detach(|| parse().map(|scenario| scenario.canonical()));
    check(py, canonical)
}

/// Maximum memory in bytes of a run of a scenario (TOML or JSON text with absolute paths): for lasting flows and
/// packets in flight, and for the rows of all probes unless they are written during the run.
#[pyfunction]
fn need(py: Python<'_>, scenario_json: &str) -> PyResult<(u64, u64)> {
    let need = py.detach(|| parse_described(scenario_json).map(|scenario| MemoryEstimate::of(&scenario)));
    check(py, need.map(|MemoryEstimate { run, recorded }| (run, recorded)))
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
/// spelling (`text`), every parameter (`params`), and the `algorithm` as in the registry. Relative paths of queue
/// managers in Python and of distribution tables start from the folder `base`; without `read` tables are not read and
/// need not exist.
#[pyfunction]
#[pyo3(signature = (text, base = ".", read = true))]
fn parse_aqm(py: Python<'_>, text: &str, base: &str, read: bool) -> PyResult<String> {
    let classes = ClassFinder::of(base).with_kernel_names();
    let unread = UnreadTables(&classes);
    let own: &dyn Catalogue = if read { &classes } else { &unread };
    let aqm = if text.trim_start().starts_with('{') {
        AqmSpec::read_with(&serde_json::from_str(text).map_err(error::input)?, own)
    } else {
        AqmSpec::parse_with(text, own)
    };
    check(py, aqm.map(|aqm| registry::aqm(&aqm).to_string()))
}

/// Nanoseconds of a duration with its unit ("5 ms").
#[pyfunction]
fn duration_ns(text: &str) -> PyResult<i64> {
    units::duration(text).map(|span| span.as_nanos()).map_err(error::input)
}

/// Bytes of a size with its unit ("1500 B").
#[pyfunction]
fn size_bytes(text: &str) -> PyResult<u64> {
    units::bytes(text).map_err(error::input)
}

/// Simulates a scenario (TOML or JSON text with absolute paths) once.
///
/// The interpreter lock is released meanwhile, unless a queue manager or a control is in Python; about every 50 ms signals are
/// handled and `progress` is called with the share done, from 0 to 1. An exception of either ends the run, and so does
/// one in a queue manager or a congestion control. With a `folder` the tables are written there as Parquet during the run, so that they take no
/// memory; a failed write raises `OSError`. Before a large list of the run grows, `grows` is called with the bytes that
/// it will take; an exception of it ends the run.
#[pyfunction]
#[pyo3(signature = (scenario_json, seed, progress = None, folder = None, grows = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
fn simulate(
    py: Python<'_>,
    scenario_json: &str,
    seed: UnsignedInt,
    progress: Option<Bound<'_, PyAny>>,
    folder: Option<PathBuf>,
    grows: Option<Py<PyAny>>,
) -> PyResult<Output> {
    let seed = seed.get("seed")?;
    let scenario = check(py, py.detach(|| parse_absolute(scenario_json)))?;
    let queues = MemoryEstimate::of_queues(&scenario);
    if let Some(grows) = grows.as_ref().filter(|_| queues > GROWTH) {
        grows.call1(py, (queues, "its queues need"))?;
    }
    let start = || {
        let configs = || scenario.hops().flat_map(|(_, link, reverse)| link.configs().chain(reverse.configs()));
        let controls: Vec<_> = scenario.user_controls().cloned().collect();
        let python = configs().any(is_python) || controls.iter().any(|control| control.needs_interpreter());
        let users = (foreign(configs()), controls);
        (Simulation::new(&scenario, seed), scenario.duration.as_secs_f64(), python, users)
    };
    let (mut simulation, duration_s, python, (foreign, controls)) = py.detach(start);
    let mut files = folder.as_deref().map(ParquetFolder::new);
    let mut written = Ok(());
    let (mut told, mut may_grow) = (GROWTH, Ok(()));
    let step = || {
        if let Some(grows) = &grows {
            let growth = simulation.growth(EVENTS_PER_STEP);
            if growth > told {
                told = growth;
                may_grow =
                    Python::attach(|py| grows.call1(py, (growth, "the data in flight of the run grow to")).map(drop));
                if may_grow.is_err() {
                    return None;
                }
            }
        }
        let faulty = || {
            foreign.iter().any(|config| config.fault().is_some())
                || controls.iter().any(|control| control.fault().is_some())
        };
        let mut done = simulation.advance(EVENTS_PER_STEP) || faulty();
        if let Some(files) = &mut files {
            written = simulation.take_rows(ROWS).into_iter().try_for_each(|table| files.write(table));
            done |= written.is_err();
        }
        if done { None } else { Some(simulation.now().as_secs_f64() / duration_s) }
    };
    if python {
        slices::run_attached(py, progress.as_ref(), step)?;
    } else {
        slices::run(py, progress.as_ref(), step)?;
    }
    may_grow?;
    check_fault(&foreign)?;
    check_control_faults(&controls)?;
    written.map_err(|error| unwritten(py, error))?;
    let output = py.detach(|| simulation.finish());
    // Check again: freeing the queues may have recorded faults.
    check_fault(&foreign)?;
    match files {
        Some(files) => Output::written(py, output, files),
        None => Output::new(py, output),
    }
}

/// Minimum size in bytes of a list whose growth is reported to `grows`.
const GROWTH: u64 = 16 << 20;
/// Events between checks of the clock, about a millisecond.
const EVENTS_PER_STEP: u64 = 4096;
