//! Errors that prevent a shell from running its command.

use std::fmt;
use std::io;

/// A shell could not be created: one line with the place and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Bad input or usage.
    Input(String),
    /// The machine lacks something: a device, a permission, a descriptor, space.
    Machine(String),
}

impl Error {
    /// The exit code of the command line: 2 for input, 3 for the machine.
    pub const fn exit_code(&self) -> i32 {
        match self {
            Self::Input(_) => 2,
            Self::Machine(_) => 3,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(text) | Self::Machine(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<crate::log::WriteError> for Error {
    fn from(error: crate::log::WriteError) -> Self {
        Self::Machine(error.to_string())
    }
}

impl From<sojourn_sim::scenario::Error> for Error {
    fn from(error: sojourn_sim::scenario::Error) -> Self {
        Self::Input(error.to_string())
    }
}

/// Error of a failed system call of the emulator itself, with a remedy.
pub(crate) fn machine(error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let remedy = match error.raw_os_error() {
        Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files (ulimit -n)",
        Some(libc::EAGAIN) => "raise the limit on processes (ulimit -u)",
        Some(libc::ENOMEM) => "free some memory",
        _ => "see `sojourn doctor`",
    };
    Error::Machine(format!("shell: {error}; {remedy}"))
}
