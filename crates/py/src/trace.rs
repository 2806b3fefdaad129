//! Traces of delivery opportunities, as arrays of milliseconds; the simulator's crate implements the functions.

use crate::error::{UnsignedInt, input};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use serde_json::json;
use sojourn_sim::scenario::MIN_MTU;
use sojourn_sim::trace::{Lte, PRESETS, Series, Trace, TraceStats};
use std::path::Path;

/// Opportunities of the trace file at `path`, in milliseconds.
#[pyfunction]
pub fn load_trace<'py>(py: Python<'py>, path: &str) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let trace = py.detach(|| Trace::load(Path::new(path))).map_err(input)?;
    Ok(PyArray1::from_vec(py, trace.opportunities_ms))
}

/// JSON of a trace's statistics if an opportunity carries `mtu` bytes.
#[pyfunction]
pub fn trace_stats(opportunities_ms: PyReadonlyArray1<'_, u32>, mtu: UnsignedInt) -> PyResult<String> {
    let stats = TraceStats::of(&trace(&opportunities_ms)?, size(mtu)?);
    serde_json::to_string(&stats).map_err(input)
}

/// Presets of the LTE-like model, as JSON: name, the recording that it is fitted to, and its mean rate.
#[pyfunction]
pub fn lte_presets() -> String {
    let preset = |&(name, source, lte): &(&str, &str, Lte)| json!({ "name": name, "fitted_to": source, "mean_mbps": lte.mean_mbps });
    json!(PRESETS.iter().map(preset).collect::<Vec<_>>()).to_string()
}

/// Opportunities of `seconds` s of an LTE-like link, in milliseconds; the same seed gives the same result everywhere.
#[pyfunction]
pub fn synth_lte<'py>(
    py: Python<'py>,
    preset: &str,
    seconds: UnsignedInt,
    seed: UnsignedInt,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (seconds, seed) = (seconds.get("seconds")?, seed.get("seed")?);
    let lte = find(preset)?;
    let trace = py.detach(|| lte.trace(seconds, seed)).map_err(|e| input(format!("seconds: {e}")))?;
    Ok(PyArray1::from_vec(py, trace.opportunities_ms))
}

/// Opportunities of `mtu` bytes for a rate series in CSV, in milliseconds: evenly spaced within a step, or in the
/// bursts of an LTE-like preset. `units`: those of times and rates without units.
#[pyfunction]
#[pyo3(
    signature = (csv, mtu, bursts = None, seed = UnsignedInt::of(1), units = None),
    text_signature = "(csv, mtu, bursts=None, seed=1, units=None)"
)]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn trace_of_csv<'py>(
    py: Python<'py>,
    csv: &str,
    mtu: UnsignedInt,
    bursts: Option<&str>,
    seed: UnsignedInt,
    units: Option<(String, String)>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (mtu, seed) = (size(mtu)?, seed.get("seed")?);
    let bursts = bursts.map(find).transpose()?;
    let convert = || {
        let units = units.as_ref().map_or([None; 2], |(time, rate)| [Some(time.as_str()), Some(rate.as_str())]);
        let series = Series::parse(csv, units)?;
        bursts.map_or_else(|| series.trace(mtu), |lte| series.bursty_trace(mtu, lte, seed))
    };
    let trace = py.detach(convert).map_err(input)?;
    Ok(PyArray1::from_vec(py, trace.opportunities_ms))
}

/// Rates of a trace in steps of `step_ms`, as CSV.
#[pyfunction]
pub fn csv_of_trace(
    opportunities_ms: PyReadonlyArray1<'_, u32>,
    step_ms: UnsignedInt,
    mtu: UnsignedInt,
) -> PyResult<String> {
    let series = Series::of(&trace(&opportunities_ms)?, step_ms.get("step_ms")?, size(mtu)?);
    series.map(|series| series.csv()).map_err(|e| input(format!("step_ms: {e}")))
}

fn find(preset: &str) -> PyResult<&'static Lte> {
    let found = PRESETS.iter().find(|(name, ..)| *name == preset).map(|(.., lte)| lte);
    found.ok_or_else(|| input(sojourn_aqm::params::unknown("preset", preset, PRESETS.iter().map(|preset| preset.0))))
}

fn trace(opportunities_ms: &PyReadonlyArray1<'_, u32>) -> PyResult<Trace> {
    Trace::new(opportunities_ms.as_slice().map_err(input)?.to_vec()).map_err(input)
}

fn size(mtu: UnsignedInt) -> PyResult<u32> {
    match mtu.get("mtu")? {
        0 => Err(input(format!("mtu: 0 B carries nothing; give at least {MIN_MTU} B"))),
        mtu if u64::from(mtu) < MIN_MTU => {
            Err(input(format!("mtu: {mtu} B is below the minimum of IPv4; give at least {MIN_MTU} B")))
        }
        mtu => Ok(mtu),
    }
}
