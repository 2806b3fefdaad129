//! Helpers shared by the tests of whole runs.
#![allow(dead_code)] // each file of tests uses its part

pub mod worlds;

use sojourn_sim::scenario::Scenario;
use sojourn_sim::{Column, Output, Simulation};
use std::fs;
use std::path::{Path, PathBuf};

/// Parses a scenario that must be valid.
pub fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, &[], Path::new(".")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Runs a scenario text with its own seed.
pub fn run(text: &str) -> Output {
    let scenario = scenario(text);
    Simulation::new(&scenario, scenario.seed).finish()
}

/// All scenarios of `scenarios/` by name.
pub fn scenarios() -> Vec<(String, Scenario)> {
    let folder = folder().join("scenarios");
    let mut files: Vec<PathBuf> =
        fs::read_dir(&folder).expect("the folder is there").map(|f| f.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let load = |file: &PathBuf| {
        let text = fs::read_to_string(file).expect("a scenario is readable");
        let scenario = Scenario::parse(&text, &[], &folder).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        (file.file_stem().unwrap().to_str().unwrap().to_string(), scenario)
    };
    files.iter().map(load).collect()
}

/// Folder of the tests of whole runs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// A column of an output table.
pub fn column<'a>(output: &'a Output, table: &str, column: &str) -> &'a Column {
    let table = output.tables.iter().find(|t| t.name == table).unwrap_or_else(|| panic!("no table {table}"));
    &table.columns.iter().find(|(name, _)| name == column).unwrap_or_else(|| panic!("no column {column}")).1
}

/// A column of integers.
pub fn whole(output: &Output, table: &str, name: &str) -> Vec<u64> {
    column(output, table, name).wholes().unwrap_or_else(|| panic!("{table}.{name} holds no whole numbers"))
}

/// A column of floating-point numbers.
pub fn real(output: &Output, table: &str, name: &str) -> Vec<f64> {
    match column(output, table, name) {
        Column::F64(v) => v.clone(),
        other => panic!("{table}.{name} holds whole numbers: {other:?}"),
    }
}

/// A trace file in a temporary folder that lives as long as the value.
pub struct TraceFile(tempfile::TempDir);

impl TraceFile {
    /// Opportunities in milliseconds.
    pub fn new(opportunities_ms: impl IntoIterator<Item = u64>) -> Self {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let lines: String = opportunities_ms.into_iter().map(|ms| format!("{ms}\n")).collect();
        std::fs::write(folder.path().join("made.down"), lines).expect("the trace is written");
        Self(folder)
    }

    /// Path of the file, for a scenario.
    pub fn path(&self) -> String {
        self.0.path().join("made.down").display().to_string()
    }
}
