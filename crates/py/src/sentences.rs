//! Conditions about runs, and the runs as evidence for them.

use crate::error::input;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use serde_json::{Map, Value};
use sojourn_sim::sentence::{Evidence, Expression, Manager, Sentence, SojournBin, Vocabulary};

/// Names that a sentence may use.
///
/// `place` begins its errors. Each of `managers` is the spelling of a queue manager, a canonical scenario with it, and
/// the parameters of its unregistered queue managers by path; both in JSON. `points` are further canonical scenarios.
/// With `has_jain` the run's fairness index needs no group. Words without a link are about `link`, or about the first.
#[pyclass(frozen, name = "Vocabulary", module = "sojourn._core")]
pub struct PyVocabulary(Vocabulary);

#[pymethods]
impl PyVocabulary {
    #[new]
    #[pyo3(signature = (place, managers, points, has_jain, link = ""))]
    fn new(
        place: &str,
        managers: Vec<(String, String, String)>,
        points: Vec<String>,
        has_jain: bool,
        link: &str,
    ) -> PyResult<Self> {
        let managers = managers.into_iter().map(|(spelling, scenario, parameters)| {
            Ok(Manager { spelling, scenario: json(&scenario)?, parameters: table(&parameters)? })
        });
        let points = points.iter().map(|point| json(point)).collect::<PyResult<_>>()?;
        let words = Vocabulary::new(place, managers.collect::<PyResult<_>>()?, has_jain);
        Ok(Self(words.with_points(points).with_link(link)))
    }
}

/// A run: its canonical scenario and its summary in JSON, the parameters of its unregistered queue managers by path in
/// JSON, and the columns of its table `sojourn_histogram`, if a sentence needs them.
#[pyclass(frozen, name = "Evidence", module = "sojourn._core")]
pub struct PyEvidence(Evidence);

#[pymethods]
impl PyEvidence {
    #[new]
    #[pyo3(signature = (scenario, summary, parameters, histogram = None))]
    fn new(scenario: &str, summary: &str, parameters: &str, histogram: Option<HistogramColumns<'_>>) -> PyResult<Self> {
        let bins = histogram.map(|columns| columns.read()).transpose()?.unwrap_or_default();
        Ok(Self(Evidence::new(json(scenario)?, json(summary)?, bins).with_parameters(table(parameters)?)))
    }
}

/// Columns of a table `sojourn_histogram`.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct HistogramColumns<'py> {
    link: PyReadonlyArray1<'py, u16>,
    lower_ns: PyReadonlyArray1<'py, u64>,
    upper_ns: PyReadonlyArray1<'py, u64>,
    count: PyReadonlyArray1<'py, u64>,
}

impl HistogramColumns<'_> {
    fn read(&self) -> PyResult<Vec<SojournBin>> {
        let (link, count) = (self.link.as_slice()?, self.count.as_slice()?);
        let (lower, upper) = (self.lower_ns.as_slice()?, self.upper_ns.as_slice()?);
        if [lower.len(), upper.len(), count.len()].iter().any(|&length| length != link.len()) {
            return Err(input("histogram: the columns differ in length"));
        }
        let rows = link.iter().zip(lower).zip(upper.iter().zip(count));
        let bin = |((&link, &lower_ns), (&upper_ns, &count))| SojournBin { link, lower_ns, upper_ns, count };
        Ok(rows.map(bin).collect())
    }
}

/// A condition about runs. Raises `InputError` if it is wrong.
#[pyclass(frozen, name = "Sentence", module = "sojourn._core")]
pub struct PySentence(Sentence);

#[pymethods]
impl PySentence {
    #[new]
    fn new(text: &str, vocabulary: &PyVocabulary) -> PyResult<Self> {
        Sentence::parse(text, &vocabulary.0).map(Self).map_err(input)
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// Text, left side, right side and unit of each comparison.
    #[getter]
    fn comparisons(&self) -> Vec<(&str, &str, &str, &str)> {
        let about = self.0.comparisons().iter().map(|one| (one.text(), one.texts(), one.unit()));
        about.map(|(text, [left, right], unit)| (text, left, right, unit)).collect()
    }

    /// Numbers of the flow groups that it names.
    #[getter]
    fn groups(&self) -> Vec<usize> {
        self.0.groups().into_iter().collect()
    }

    /// Whether it needs the histogram of sojourn times.
    #[getter]
    fn needs_histogram(&self) -> bool {
        self.0.needs_histogram()
    }

    /// Margin of its truth for a run of each queue manager; positive if it is.
    fn margin(&self, runs: Vec<PyRef<'_, PyEvidence>>) -> f64 {
        self.0.margin(&evidence(&runs))
    }

    /// Both sides of each comparison; NaN if a run has no value.
    fn sides(&self, runs: Vec<PyRef<'_, PyEvidence>>) -> Vec<(f64, f64)> {
        self.0.sides(&evidence(&runs)).into_iter().map(|[left, right]| (left, right)).collect()
    }
}

/// A number about a run. Raises `InputError` if it is wrong.
#[pyclass(frozen, name = "Expression", module = "sojourn._core")]
pub struct PyExpression(Expression);

#[pymethods]
impl PyExpression {
    #[new]
    fn new(text: &str, vocabulary: &PyVocabulary) -> PyResult<Self> {
        Expression::parse(text, &vocabulary.0).map(Self).map_err(input)
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        self.0.text()
    }

    /// The unit: ms, Mbit/s, %, B, packets, or none.
    #[getter]
    fn unit(&self) -> &str {
        self.0.unit()
    }

    /// Whether it needs the histogram of sojourn times.
    #[getter]
    fn needs_histogram(&self) -> bool {
        self.0.needs_histogram()
    }

    /// The number for a run of each queue manager; NaN if a run has none.
    fn value(&self, runs: Vec<PyRef<'_, PyEvidence>>) -> f64 {
        self.0.value(&evidence(&runs))
    }
}

fn evidence<'a>(runs: &'a [PyRef<'_, PyEvidence>]) -> Vec<&'a Evidence> {
    runs.iter().map(|run| &run.0).collect()
}

fn json(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(input)
}

fn table(text: &str) -> PyResult<Map<String, Value>> {
    serde_json::from_str(text).map_err(input)
}
