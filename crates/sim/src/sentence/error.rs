//! Errors of sentences.

use super::suggest::nearest;
use std::fmt;

/// A wrong sentence: place, fault and remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(String);

impl Error {
    pub(super) fn new(text: String) -> Self {
        Self(text)
    }

    /// About a word that is not in `known`.
    pub(super) fn unknown(about: &str, word: &str, known: &[String]) -> Self {
        let hint = match nearest(word, known) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("expected one of {}", known.join(", ")),
        };
        Self(format!("{about} \"{word}\" is unknown; {hint}"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}
