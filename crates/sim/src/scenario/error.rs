//! Errors of scenarios.

use std::fmt;

/// Why a scenario was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Where: a key such as `flows[0].rtt`, or a line and column; empty for the whole.
    pub place: String,
    /// What is wrong, and what to write.
    pub message: String,
}

impl Error {
    pub(crate) fn new(place: impl Into<String>, message: impl Into<String>) -> Self {
        Self { place: place.into(), message: message.into() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.place.is_empty() {
            write!(f, "{}: ", self.place)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
