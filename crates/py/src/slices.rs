//! Runs long work in short slices: without the interpreter lock, and with signals and progress handled in between.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Calls `step` until it returns `None`. Between slices it handles signals and calls `progress` with the share that
/// `step` returned, and at the end with 1; an exception of either ends the work.
pub fn run(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    mut step: impl FnMut() -> Option<f64> + Send,
) -> PyResult<()> {
    run_slices(py, progress, || Ok(py.detach(|| slice(&mut step))))
}

/// [`run`] for work that calls Python: it keeps the interpreter lock, lets other threads run between slices, and stops
/// after a step that left an exception pending.
pub fn run_attached(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    mut step: impl FnMut() -> Option<f64>,
) -> PyResult<()> {
    run_slices(py, progress, || {
        let share = slice(&mut || step().filter(|_| !PyErr::occurred(py)));
        PyErr::take(py).map_or(Ok(()), Err)?;
        py.detach(|| ());
        Ok(share)
    })
}

fn run_slices(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    mut slice: impl FnMut() -> PyResult<Option<f64>>,
) -> PyResult<()> {
    loop {
        let share = slice()?;
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((share.unwrap_or(1.0),))?;
        }
        if share.is_none() {
            return Ok(());
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the time of signal checks affects no result")]
fn slice(step: &mut impl FnMut() -> Option<f64>) -> Option<f64> {
    let start = Instant::now();
    loop {
        let share = step();
        if share.is_none() || start.elapsed() >= SLICE {
            return share;
        }
    }
}

/// Length of a slice: short enough for Ctrl-C to feel immediate, long enough for a negligible overhead.
const SLICE: Duration = Duration::from_millis(50);
