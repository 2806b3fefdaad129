//! Long work in short slices: without the interpreter lock inside, with signals and progress in between.

use pyo3::prelude::*;
use std::time::{Duration, Instant};

/// Calls `step` until it gives `None`. Between slices it handles signals and calls `progress` with what `step` gave,
/// and at the end with 1; what they raise ends the work.
pub fn run(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    mut step: impl FnMut() -> Option<f64> + Send,
) -> PyResult<()> {
    loop {
        let share = py.detach(|| slice(&mut step));
        py.check_signals()?;
        if let Some(progress) = progress {
            progress.call1((share.unwrap_or(1.0),))?;
        }
        if share.is_none() {
            return Ok(());
        }
    }
}

fn slice(step: &mut impl FnMut() -> Option<f64>) -> Option<f64> {
    let start = Instant::now();
    loop {
        let share = step();
        if share.is_none() || start.elapsed() >= SLICE {
            return share;
        }
    }
}

/// Short enough for Ctrl-C to seem immediate, long enough to cost nothing.
const SLICE: Duration = Duration::from_millis(50);
