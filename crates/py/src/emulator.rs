//! The emulator's command line.

#[cfg(target_os = "linux")]
use crate::classes::SharedLibraries;
use pyo3::prelude::*;

/// End of a command line of the emulator.
#[derive(IntoPyObject)]
pub struct EndedCommand {
    code: i32,
    log: Option<String>,
    is_temporary: bool,
    expected: Vec<String>,
    is_quiet: bool,
}

/// Runs a command line of the emulator, `["link", "--rate", "12mbit", "--", "curl", …]`, to its end.
///
/// Returns the exit `code`, or minus the signal number if a signal ended the command; the folder `log` of the log from
/// which a result can be made, if one was requested; the sentences `expected` that must be true of it, if the command
/// succeeded; whether these are its only use (`is_temporary`), and whether nothing but errors is printed (`is_quiet`).
/// Only for a single-threaded process, because it forks.
#[pyfunction]
#[cfg(target_os = "linux")]
pub fn emulate(words: Vec<String>) -> EndedCommand {
    let sojourn_emu::cli::CommandResult { code, log, is_temporary, expected, is_quiet } =
        sojourn_emu::cli::main(&words, &SharedLibraries);
    EndedCommand { code, log, is_temporary, expected, is_quiet }
}

/// Raises an error: the emulator needs Linux.
#[pyfunction]
#[cfg(not(target_os = "linux"))]
pub fn emulate(words: Vec<String>) -> EndedCommand {
    let name = words.first().map_or("it", String::as_str);
    eprintln!("Error: {name}: the emulator needs Linux; simulate instead (sojourn run, sojourn compare)");
    EndedCommand { code: 3, log: None, is_temporary: false, expected: Vec::new(), is_quiet: false }
}

/// Checks what this machine can emulate, as JSON; with `measures` also the rates, which takes about twenty seconds.
/// Only for a single-threaded process. Before each measurement signals are handled, and `progress` is called with the
/// share done, the measurements made and their total.
#[pyfunction]
#[pyo3(signature = (progress = None, measures = true))]
#[cfg(target_os = "linux")]
pub fn doctor(py: Python<'_>, progress: Option<Bound<'_, PyAny>>, measures: bool) -> PyResult<String> {
    let mut raised = None;
    let mut goes_on = |made: usize, all: usize| {
        let report = || {
            py.check_signals()?;
            progress.as_ref().map_or(Ok(()), |told| told.call1((made as f64 / all as f64, made, all)).map(drop))
        };
        raised = report().err();
        raised.is_none()
    };
    let found = sojourn_emu::doctor::examine(measures, &mut goes_on);
    if let Some(error) = raised {
        return Err(error);
    }
    match found {
        Ok(found) => Ok(found.to_string()),
        Err(interrupted) => {
            // The signal that interrupted a measurement was sent to the whole process, so deliver it.
            interrupted.raise();
            py.check_signals()?;
            Err(pyo3::exceptions::PyKeyboardInterrupt::new_err(()))
        }
    }
}

/// Checks what this machine can emulate: nothing without Linux.
#[pyfunction]
#[pyo3(signature = (progress = None, measures = true))]
#[cfg(not(target_os = "linux"))]
pub fn doctor(progress: Option<Bound<'_, PyAny>>, measures: bool) -> String {
    let _ = (progress, measures);
    r#"{"possible": false, "rates": [], "commands": [], "checks": [{"name": "linux", "ok": false, "needed": true, "text": "not Linux",
    "remedy": "simulate instead", "mend": "simulate instead"}]}"#
        .to_string()
}
