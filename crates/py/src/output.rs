//! Results of a run for Python.

use crate::error::{input, unwritten};
use numpy::PyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_sim::parquet::{self, ParquetFolder};
use sojourn_sim::{Column, Table};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Result of a run.
#[pyclass(frozen, module = "sojourn._core")]
pub struct Output {
    /// Summary as JSON.
    #[pyo3(get)]
    summary: String,
    /// Number of rows of each table that is in a file and not in `tables`, by name.
    #[pyo3(get)]
    written: BTreeMap<&'static str, u64>,
    tables: Py<PyDict>,
}

impl Output {
    /// Passes the columns to numpy without copying them.
    pub fn new(py: Python<'_>, output: sojourn_sim::Output) -> PyResult<Self> {
        let summary = serde_json::to_string(&output.summary).map_err(input)?;
        Self::of(py, summary, output.tables)
    }

    /// As [`Output::new`], but writes the remaining rows of all tables to files.
    pub fn written(py: Python<'_>, output: sojourn_sim::Output, mut files: ParquetFolder) -> PyResult<Self> {
        let sojourn_sim::Output { summary, tables } = output;
        let write = || {
            tables.into_iter().try_for_each(|table| files.write(table))?;
            files.finish()
        };
        let written = py.detach(write).map_err(|error| unwritten(py, error))?.into_iter().collect();
        Ok(Self { written, ..Self::new(py, sojourn_sim::Output { summary, tables: Vec::new() })? })
    }

    /// As [`Output::new`], for a summary that is already JSON.
    pub fn of(py: Python<'_>, summary: String, recorded: Vec<Table>) -> PyResult<Self> {
        let tables = PyDict::new(py);
        for table in recorded {
            tables.set_item(table.name, columns(py, table)?)?;
        }
        Ok(Self { summary, written: BTreeMap::new(), tables: tables.unbind() })
    }
}

#[pymethods]
impl Output {
    /// Tables by name, each a dictionary of columns; the arrays are the same in every call.
    fn tables<'py>(&self, py: Python<'py>) -> Bound<'py, PyDict> {
        self.tables.bind(py).clone()
    }
}

/// Columns of a table that a run has written to a file; None for a file of another writer. Raises `InputError` for one
/// that cannot be read.
#[pyfunction]
pub fn read_table(py: Python<'_>, file: PathBuf) -> PyResult<Option<Bound<'_, PyDict>>> {
    let read = py.detach(|| parquet::read(&file)).map_err(input)?;
    read.map(|read| by_name(py, read)).transpose()
}

/// Columns of a table by name.
pub fn columns(py: Python<'_>, table: Table) -> PyResult<Bound<'_, PyDict>> {
    by_name(py, table.columns)
}

fn by_name(py: Python<'_>, named: Vec<(String, Column)>) -> PyResult<Bound<'_, PyDict>> {
    let columns = PyDict::new(py);
    for (name, column) in named {
        match column {
            Column::U8(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::U16(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::U32(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::U64(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
            Column::F64(values) => columns.set_item(name, PyArray1::from_vec(py, values))?,
        }
    }
    Ok(columns)
}
