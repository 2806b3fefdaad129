//! Errors of scenarios.

use std::fmt;

/// Error in a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Key, e.g. `flows[0].rtt`, or line and column; empty for the whole file.
    pub place: String,
    /// Problem and correction.
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
