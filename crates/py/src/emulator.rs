//! The emulator's command line.

#[cfg(target_os = "linux")]
use crate::own::SharedLibraries;
use pyo3::prelude::*;

/// Runs a command line of the emulator, `["link", "--rate", "12mbit", "--", "curl", …]`, to its end.
///
/// Returns the exit code, or minus the number of the signal that ended the command; and the folder of a log from which
/// a result can be made, if one was asked for. Only for a process with a single thread, because it forks.
#[pyfunction]
#[cfg(target_os = "linux")]
pub fn emulate(words: Vec<String>) -> (i32, Option<String>) {
    let ended = sojourn_emu::cli::main(&words, &SharedLibraries);
    (ended.code, ended.log)
}

/// Refuses: there is no emulator here.
#[pyfunction]
#[cfg(not(target_os = "linux"))]
pub fn emulate(words: Vec<String>) -> (i32, Option<String>) {
    let name = words.first().map_or("it", String::as_str);
    eprintln!("Error: {name}: the emulator needs Linux; simulate instead (sojourn run, sojourn compare)");
    (3, None)
}

/// What this machine can emulate, as JSON: a few seconds. Only for a process with a single thread.
#[pyfunction]
#[cfg(target_os = "linux")]
pub fn doctor() -> String {
    sojourn_emu::doctor::examine().to_string()
}

/// What this machine can emulate: nothing.
#[pyfunction]
#[cfg(not(target_os = "linux"))]
pub fn doctor() -> String {
    r#"{"possible": false, "rates": [], "checks": [{"name": "linux", "ok": false, "needed": true, "text": "not Linux",
    "remedy": "simulate instead", "mend": "simulate instead"}]}"#
        .to_string()
}
