//! Results from the logs of emulated links.

use crate::classes::SharedLibraries;
use crate::error::input;
use crate::output::Output;
use pyo3::prelude::*;
use serde_json::json;
use sojourn_emu::log::{self, Log};
use sojourn_sim::Statistics;
use sojourn_sim::scenario::Scenario;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Header of a log of an emulated path and the time of its last record in ns, as JSON.
#[pyfunction]
pub fn emulated_head(py: Python<'_>, path: PathBuf) -> PyResult<String> {
    let (head, records) = py.detach(|| read(&path))?;
    Ok(json!({ "head": head, "end_ns": log::end(&records).as_nanos() }).to_string())
}

/// Summary and tables of a simulation, computed from the logs of both directions of every link of a scenario: its first
/// link first, and of each link the forward direction (down) first. Also, as JSON by queue name, how far each log
/// agrees with a replay through the simulator's queue, and how many of its packets were late or refused; and the
/// payload in bytes that left for the first time from each instant on, in ns, at which the statistics can begin, by
/// queue and flow; and per log the packets lost on the medium after their link, by their numbers among its arrivals.
///
/// The scenario gives names of links, warm-up, length and probes. Its traffic is read only to find out whether the load
/// changes.
#[pyfunction]
#[allow(clippy::type_complexity)] // Documented above.
pub fn emulated(
    py: Python<'_>,
    logs: Vec<PathBuf>,
    scenario_json: &str,
) -> PyResult<(Output, String, BTreeMap<u64, log::Payload>, Vec<Vec<u32>>)> {
    let found = py.detach(|| {
        let scenario = Scenario::parse_with(scenario_json, &[], Path::new("/"), &SharedLibraries).map_err(input)?;
        let names: Vec<String> = scenario.hops().map(|(name, ..)| name.to_string()).collect();
        if logs.len() != 2 * names.len() {
            return Err(input(format!(
                "{} logs; give one for each direction of the {} links",
                logs.len(),
                names.len()
            )));
        }
        let read = logs.iter().map(|path| read(path)).collect::<PyResult<Vec<_>>>()?;
        let found = log::results(&names, &read, &scenario.probes, Statistics::of(&scenario), &SharedLibraries);
        let found =
            found.map_err(|log::LogFileError { log, error }| input(format!("{}: {error}", logs[log].display())))?;
        Ok::<_, PyErr>((found, scenario.queue_names()))
    })?;
    let (found, names) = found;
    let direction = |l: usize| {
        let agreement = &found.agreement[l];
        json!({
            "replayed": agreement.packets,
            "agreeing": agreement.agreeing,
            "overdue": found.overdue[l].0,
            "latest_ns": found.overdue[l].1,
            "refused": found.rejected_writes[l],
        })
    };
    let about: serde_json::Map<_, _> = names.into_iter().enumerate().map(|(l, name)| (name, direction(l))).collect();
    let about = serde_json::Value::Object(about).to_string();
    let payload = found.payload.into_iter().map(|(start, left)| (start.as_nanos(), left)).collect();
    Ok((Output::new(py, found.output)?, about, payload, found.lost))
}

/// Number of a TCP flow in the logs of an emulated link: addresses as 4 or 16 bytes, ports of sender and receiver.
#[pyfunction]
pub fn emulated_flow(source: Vec<u8>, destination: Vec<u8>, source_port: u16, port: u16) -> PyResult<u32> {
    let flow = sojourn_emu::tcp_flow(&source, &destination, source_port, port);
    flow.ok_or_else(|| input("addresses: give both as 4 or as 16 bytes"))
}

/// DSCP of a name, such as EF, or of a number as a text.
#[pyfunction]
pub fn dscp(text: &str) -> PyResult<u8> {
    sojourn_aqm::dscp::parse(text).map_err(input)
}

fn read(path: &Path) -> PyResult<Log> {
    let name = path.display();
    let bytes = std::fs::read(path).map_err(|e| input(format!("{name}: {e}; give a log of an emulated link")))?;
    log::read(&bytes).map_err(|error| input(format!("{name}: {error}")))
}
