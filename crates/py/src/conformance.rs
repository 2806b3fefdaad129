//! The conformance suite on a named AQM.

use crate::classes::{ClassFinder, check_fault, is_python};
use crate::error::{UnsignedInt, check};
use crate::slices;
use pyo3::prelude::*;
use serde_json::json;
use sojourn_aqm::Rng;
use sojourn_aqm::conformance::Violation;
use sojourn_aqm::conformance::case::Case;
use sojourn_sim::scenario::AqmSpec;

/// Runs random operations on a queue manager, `operations` of them or until it breaks a rule; JSON.
///
/// `cases`, `operations` and packets that `arrived`, `departed` and were `dropped` or `marked`; `violation` is None or
/// `rule`, `step`, `detail` and `case`. A library that breaks the interface raises AqmError. The other arguments are
/// those of `simulate`; relative paths start from the current folder.
#[pyfunction]
#[pyo3(signature = (aqm, operations, seed, progress = None))]
pub fn check_aqm(
    py: Python<'_>,
    aqm: &str,
    operations: UnsignedInt,
    seed: UnsignedInt,
    progress: Option<Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (operations, seed) = (operations.get::<u64>("operations")?, seed.get("seed")?);
    let aqm = check(py, AqmSpec::parse_with(aqm, &ClassFinder::of(".")))?;
    let mut suite = Suite::new(&aqm, seed, operations);
    if is_python(&aqm.config) {
        slices::run_attached(py, progress.as_ref(), || suite.step())?;
    } else {
        slices::run(py, progress.as_ref(), || suite.step())?;
    }
    check_fault([&aqm.config])?;
    Ok(suite.report().to_string())
}

/// State of a run of the suite.
struct Suite<'a> {
    aqm: &'a AqmSpec,
    random: Rng,
    target_operations: u64,
    cases: u64,
    operations: u64,
    /// Arrived, departed, dropped and marked packets.
    packets: [u64; 4],
    violation: Option<(Violation, String)>,
}

impl<'a> Suite<'a> {
    fn new(aqm: &'a AqmSpec, seed: u64, target_operations: u64) -> Self {
        let random = Rng::stream(seed, "conformance", 0);
        Self { aqm, random, target_operations, cases: 0, operations: 0, packets: [0; 4], violation: None }
    }

    /// Runs part of a case; returns the share done, or None at the end.
    fn step(&mut self) -> Option<f64> {
        if self.operations >= self.target_operations || self.violation.is_some() || self.aqm.config.fault().is_some() {
            return None;
        }
        let bytes: Vec<u8> = (0..BYTES).map(|_| self.random.next_u64() as u8).collect();
        let drawn = Case::from_bytes(&bytes);
        let case = Case { aqm: self.aqm.text.clone(), config: self.aqm.config.clone(), ..drawn };
        self.cases += 1;
        self.operations += case.ops.len() as u64;
        match case.run() {
            Ok(stats) => {
                let counts = [stats.arrived, stats.departed, stats.dropped_total(), stats.marked];
                for (sum, count) in self.packets.iter_mut().zip(counts) {
                    *sum += count.packets;
                }
            }
            Err(violation) => self.violation = Some((violation, case.to_string())),
        }
        Some((self.operations as f64 / self.target_operations as f64).min(1.0))
    }

    fn report(&self) -> serde_json::Value {
        let [arrived, departed, dropped, marked] = self.packets;
        let violation = self.violation.as_ref().map(|(violation, case)| {
            let Violation { rule, step, detail } = violation;
            json!({ "rule": format!("{rule:?}"), "step": step, "detail": detail, "case": case })
        });
        json!({
            "cases": self.cases,
            "operations": self.operations,
            "arrived": arrived,
            "departed": departed,
            "dropped": dropped,
            "marked": marked,
            "violation": violation,
        })
    }
}

/// Random bytes per case, which encode about a hundred to ten thousand operations.
const BYTES: usize = 300;
