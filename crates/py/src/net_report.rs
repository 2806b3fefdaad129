//! Results of a run of a network, and sentences about them.

use crate::error::input;
use crate::net::{ECNS, raised};
use crate::output::columns;
use pyo3::exceptions::PyAssertionError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_net::{DecisionLog, Report, TestRunner, Verdict, expectation_with};
use std::path::PathBuf;

/// Sends the datagrams of a decision log at their times, without the programs, until the end of the run.
///
/// Returns the report, and the fingerprint of the run that wrote the log; empty if the log does not have it. Raises
/// `InputError` for a log that is of another form.
#[pyfunction]
pub fn replay_decisions(py: Python<'_>, path: PathBuf) -> PyResult<(PyReport, String)> {
    let log = DecisionLog::load(path).map_err(raised)?;
    let report = py.detach(|| log.replay()).map_err(raised)?;
    Ok((PyReport(report), log.fingerprint))
}

/// Results of a run.
#[pyclass(frozen, name = "Report", module = "sojourn._core")]
pub struct PyReport(pub Report);

#[pymethods]
impl PyReport {
    /// Demands that a sentence about the run holds, such as "p99(delay, call) <= 30 ms and share(call) >= 30 %".
    ///
    /// Raises `AssertionError` with both sides, the seed, the hashes, the decision log and a command that repeats the
    /// run, and `InputError` for a sentence that cannot be read.
    fn expect(&self, py: Python<'_>, sentence: &str) -> PyResult<()> {
        self.0.judge(sentence).map_err(raised)?;
        let runner = runner(py)?;
        expectation_with(&self.0, sentence, &runner).map_err(PyAssertionError::new_err)
    }

    /// Judges a sentence about the run. Raises `InputError` if it cannot be read.
    fn judge(&self, sentence: &str) -> PyResult<PyVerdict> {
        self.0.judge(sentence).map(PyVerdict).map_err(raised)
    }

    /// Writes NAME-SEED.json, the record, and NAME-SEED.decisions, the decision log, into a folder; returns the path of
    /// the log.
    fn write(&self, folder: PathBuf) -> PyResult<PathBuf> {
        self.0.write(folder).map_err(raised)
    }

    /// Name of the run.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// Seed of the run.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Summary of the run, as of every simulation.
    #[getter]
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &serde_json::to_string(self.0.summary()).map_err(input)?)
    }

    /// Record of the run for `sojourn gate`: world, seed, summary, histogram of sojourn times, hashes.
    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        parsed(py, &self.0.record().to_string())
    }

    /// Hash of every verdict and departure of every queue, in 16 hexadecimal digits.
    #[getter]
    fn fingerprint(&self) -> &str {
        self.0.fingerprint()
    }

    /// Hash of every datagram sent: time, end, addresses, size, ECN field and tag.
    #[getter]
    fn decisions(&self) -> String {
        self.0.decisions()
    }

    /// Hash of the scenario, in 16 hexadecimal digits.
    #[getter]
    fn world(&self) -> String {
        self.0.world()
    }

    /// Number of datagrams sent.
    #[getter]
    fn datagrams(&self) -> u64 {
        self.0.datagrams()
    }

    /// Every datagram sent, unless the net keeps no log: time, source address, destination, payload bytes, ECN field.
    fn log(&self) -> Vec<(u64, String, String, u32, &'static str)> {
        let datagrams = self.0.log().iter().map(|one| {
            (one.at.as_nanos(), one.from.to_string(), one.to.to_string(), one.bytes, ECNS[one.ecn as usize])
        });
        datagrams.collect()
    }

    /// Recorded tables by name, each a dictionary of columns.
    fn tables<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tables = PyDict::new(py);
        for table in &self.0.output().tables {
            tables.set_item(table.name, columns(py, table.clone())?)?;
        }
        Ok(tables)
    }

    fn __repr__(&self) -> String {
        format!("<Report {} seed {} decisions {}>", self.0.name(), self.0.seed(), self.0.decisions())
    }
}

/// Result of a sentence about a run; true if it holds.
#[pyclass(frozen, name = "Verdict", module = "sojourn._core")]
pub struct PyVerdict(Verdict);

#[pymethods]
impl PyVerdict {
    /// The sentence.
    #[getter]
    fn sentence(&self) -> &str {
        &self.0.sentence
    }

    /// Whether it holds.
    #[getter]
    fn holds(&self) -> bool {
        self.0.holds
    }

    /// By how much: positive if it holds.
    #[getter]
    fn margin(&self) -> f64 {
        self.0.margin
    }

    /// Per comparison: its text, its unit, and the values of both sides; NaN for a run without the value.
    #[getter]
    fn sides(&self) -> Vec<(&str, &str, f64, f64)> {
        self.0.sides.iter().map(|(text, unit, [left, right])| (text.as_str(), unit.as_str(), *left, *right)).collect()
    }

    fn __bool__(&self) -> bool {
        self.0.holds
    }

    fn __repr__(&self) -> String {
        format!("<Verdict {:?} {}>", self.0.sentence, if self.0.holds { "holds" } else { "does not hold" })
    }
}

/// pytest, or the program that runs.
fn runner(py: Python<'_>) -> PyResult<TestRunner> {
    let quote = |text: &str| -> PyResult<String> { py.import("shlex")?.call_method1("quote", (text,))?.extract() };
    // pytest: "tests/test_call.py::test_call[seed-7] (call)".
    if let Some(test) = std::env::var("PYTEST_CURRENT_TEST").ok().filter(|test| !test.is_empty()) {
        let test = test.rsplit_once(" (").map_or(test.as_str(), |(test, _)| test);
        let command = format!("python -m pytest {}", quote(test)?);
        return Ok(TestRunner { command, reads_seed: true, folder: PathBuf::from(".pytest_cache/sojourn-net") });
    }
    let words: Vec<String> = py.import("sys")?.getattr("orig_argv")?.extract()?;
    let words = words.iter().skip(1).map(|word| quote(word)).collect::<PyResult<Vec<_>>>()?;
    let command = format!("python {}", words.join(" "));
    let (command, folder) = (command.trim_end().to_string(), std::env::temp_dir().join("sojourn-net"));
    Ok(TestRunner { command, reads_seed: false, folder })
}

fn parsed<'py>(py: Python<'py>, json: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (json,))
}
