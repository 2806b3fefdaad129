//! Checks of a congestion control, and the comparison of two.

use crate::controls::UserFiles;
use crate::error::{UnsignedInt, check, input};
use crate::slices;
use pyo3::prelude::*;
use serde_json::{Value, json};
use sojourn_sim::scenario::ControlSpec;
use sojourn_tcp::cc::foreign::{ControlDefinition, NativeDefinition};
use sojourn_tcp::conformance::{Check, Diff, DiffReport, MemoryGauge, Report};
use std::sync::Arc;

/// Checks a congestion control in scripted connections and in random ones with at least `events` calls; JSON.
///
/// `connections` and `calls`; `passed`; `fingerprint`, a hash of all calls and results that another process must find,
/// too; `parts`, each with `name`, `outcome` ("passed", "noted", "skipped" or "failed") and `detail`. The interpreter
/// lock is released meanwhile; `progress` as for `simulate`. Relative paths start from `base`.
#[pyfunction]
#[pyo3(signature = (spelling, base, events, seed, progress = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn check_cc(
    py: Python<'_>,
    spelling: &str,
    base: &str,
    events: UnsignedInt,
    seed: UnsignedInt,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let definition = definition_named(py, spelling, base)?;
    let mut check = Check::new(Arc::clone(&definition), events.get("events")?, seed.get("seed")?, memory_gauge());
    run(py, &[definition], progress.as_ref(), || check.step())?;
    Ok(report(&check.report()).to_string())
}

/// Makes the calls of random connections of the control `a` to the control `b`, too; compares `events` of them; JSON.
///
/// `connections` and `calls`; `needs`, lines about faces and needs that differ; `fault` of A, or None; and
/// `first_difference`, None or `number`, `connection`, `stack`, `time_ns`, `call`, `field`, `a`, `b` and `earlier`. The
/// other arguments are those of `check_cc`; `stacks` limits the connections to some of linux-6.1, linux-3.13 and
/// quic-rfc9002.
#[pyfunction]
#[pyo3(signature = (a, b, base, events, seed, progress = None, stacks = Vec::new()))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub fn diff_cc(
    py: Python<'_>,
    a: &str,
    b: &str,
    base: &str,
    events: UnsignedInt,
    seed: UnsignedInt,
    progress: Option<Bound<'_, PyAny>>,
    stacks: Vec<String>,
) -> PyResult<String> {
    let [a, b] = [definition_named(py, a, base)?, definition_named(py, b, base)?];
    let diff = Diff::new(Arc::clone(&a), Arc::clone(&b), events.get("events")?, seed.get("seed")?);
    let mut diff = diff.over(&stacks).map_err(input)?;
    run(py, &[a, b], progress.as_ref(), || diff.step())?;
    Ok(difference(&diff.report()).to_string())
}

/// The congestion control that `spelling` denotes; relative paths start from `base`.
fn definition_named(py: Python<'_>, spelling: &str, base: &str) -> PyResult<Arc<dyn ControlDefinition>> {
    let found = check(py, ControlSpec::parse(spelling, &UserFiles::new(base, false)).map_err(|e| format!("cc: {e}")))?;
    Ok(found.definition.unwrap_or_else(|| Arc::new(NativeDefinition::new(found.control, &found.text))))
}

/// Runs `step` to its end, with the interpreter lock if one of `definitions` needs it.
fn run(
    py: Python<'_>,
    definitions: &[Arc<dyn ControlDefinition>],
    progress: Option<&Bound<'_, PyAny>>,
    step: impl FnMut() -> Option<f64> + Send,
) -> PyResult<()> {
    match definitions.iter().any(|definition| definition.needs_interpreter()) {
        true => slices::run_attached(py, progress, step),
        false => slices::run(py, progress, step),
    }
}

/// Resident memory of the process, if the system reports it.
fn memory_gauge() -> Option<MemoryGauge> {
    resident_memory()?;
    Some(Box::new(|| resident_memory().unwrap_or(0)))
}

/// `VmRSS` of Linux, in bytes.
fn resident_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes * 1_024)
}

fn report(report: &Report) -> Value {
    let parts = report.parts.iter();
    let parts = parts.map(|part| json!({ "name": part.name, "outcome": part.outcome.name(), "detail": part.detail }));
    json!({
        "connections": report.connections,
        "calls": report.calls,
        "passed": report.has_passed(),
        "fingerprint": format!("{:016x}", report.fingerprint),
        "parts": parts.collect::<Vec<_>>(),
    })
}

fn difference(report: &DiffReport) -> Value {
    let first = report.first.as_ref().map(|first| {
        json!({
            "number": first.number,
            "connection": first.connection,
            "stack": first.stack,
            "time_ns": first.time_ns,
            "call": first.call,
            "field": first.field,
            "a": first.a,
            "b": first.b,
            "earlier": first.earlier,
        })
    });
    json!({
        "connections": report.connections,
        "calls": report.calls,
        "needs": report.differing_needs,
        "fault": report.fault,
        "first_difference": first,
    })
}
