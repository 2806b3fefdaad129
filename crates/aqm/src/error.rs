//! Configuration errors of disciplines, parameters and combinations of values. Each text names the place and the
//! remedy.

use crate::quote::{cut, quoted};
use crate::units::UnitError;
use crate::value::Value;
use alloc::string::String;
use thiserror::Error;

/// An invalid text or configuration.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Parameters or limits that cannot be changed while packets wait.
    #[error(
        "it cannot be changed while it runs; replace the whole queue manager instead, which drops the queued packets"
    )]
    Immutable,
    /// A parameter that cannot be changed while packets wait.
    #[error("{0} cannot be changed while it runs; keep its initial value")]
    ImmutableParam(&'static str),
    /// No discipline, profile or parameter has this name; the text is that of [`crate::params::unknown`].
    #[error("{0}")]
    Unknown(String),
    /// A quantity that cannot be parsed.
    #[error("{name}: {reason}")]
    Unit {
        /// The parameter.
        name: &'static str,
        /// The unit error.
        reason: UnitError,
    },
    /// Not an integer.
    #[error("{name}: {} is not a whole number", quoted(text))]
    NotInteger {
        /// The parameter.
        name: &'static str,
        /// The input.
        text: String,
    },
    /// Not a number.
    #[error("{name}: {} is not a number", quoted(text))]
    NotNumber {
        /// The parameter.
        name: &'static str,
        /// The input.
        text: String,
    },
    /// Neither on nor off.
    #[error("{name}: {} is neither true nor false", quoted(text))]
    NotBool {
        /// The parameter.
        name: String,
        /// The input.
        text: String,
    },
    /// A word that is none of the parameter's choices.
    #[error("{name}: {} is not one of {}", quoted(text), choices.join(", "))]
    UnknownChoice {
        /// The parameter.
        name: &'static str,
        /// The input.
        text: String,
        /// The choices.
        choices: &'static [&'static str],
    },
    /// Not a class number.
    #[error("{name}: {} is not a class number; write it in hexadecimal as in tc, e.g. 20", quoted(text))]
    NotClassId {
        /// The parameter.
        name: &'static str,
        /// The input.
        text: String,
    },
    /// Not a map of priorities to bands.
    #[error(
        "{name}: {} is not a list of 16 bands, one per priority; write e.g. 1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1",
        quoted(text)
    )]
    NotPriomap {
        /// The parameter.
        name: &'static str,
        /// The input.
        text: String,
    },
    /// A value below or above its range.
    #[error("{name} = {value} is out of range; from {min} to {max}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// The value.
        value: Value,
        /// The minimum.
        min: Value,
        /// The maximum.
        max: Value,
    },
    /// A parameter that this version of the algorithm does not have.
    #[error(
        "{name}: version {version} of {algorithm} does not have this parameter; keep it at {left} (or write \
         {}@{version} for the version)",
        algorithm.to_lowercase()
    )]
    UnsupportedByVersion {
        /// The parameter.
        name: &'static str,
        /// The version.
        version: String,
        /// The algorithm, as its papers spell it.
        algorithm: String,
        /// The value that disables it.
        left: Value,
    },
    /// No name.
    #[error("an AQM needs a name, e.g. \"codel\"")]
    MissingName,
    /// One closing bracket too many.
    #[error("{} has an unmatched closing bracket; remove it", quoted(.0))]
    UnmatchedBracket(String),
    /// A closing bracket is missing.
    #[error("{} has an unclosed bracket; write e.g. \"fq(codel@act)\"", quoted(.0))]
    UnclosedBracket(String),
    /// Disciplines nested too deep.
    #[error("queue managers are nested more than {} deep; use fewer levels", crate::parent::text::DEEPEST)]
    TooDeep,
    /// One closing brace too many.
    #[error("{} has an unmatched closing brace; remove it", quoted(.0))]
    UnmatchedBrace(String),
    /// A closing brace is missing.
    #[error("{} has an unclosed brace; write e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"", quoted(.0))]
    UnclosedBrace(String),
    /// Words after the braces.
    #[error(
        "{} follows the braces; write parameters before them, e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"",
        quoted(.0)
    )]
    TrailingWords(String),
    /// Braces after a discipline without children.
    #[error("{0} takes no child discipline; {1} do, e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"")]
    NotClassful(&'static str, String),
    /// An invalid child in a parent's braces.
    #[error("{parent}: cannot hold {}; write e.g. {example:?}", quoted(inside))]
    InvalidChild {
        /// The parent.
        parent: &'static str,
        /// The input.
        inside: String,
        /// A valid child.
        example: String,
    },
    /// The last word is a parameter that needs a value.
    #[error("{} of {name} needs a value", cut(param))]
    MissingValue {
        /// The parameter.
        param: String,
        /// The discipline.
        name: String,
    },
    /// A parameter with two values.
    #[error("{} of {name} is given twice; leave one of them out", cut(param))]
    DuplicateParam {
        /// The parameter.
        param: String,
        /// The discipline.
        name: String,
    },
    /// Brackets after a discipline other than `fq`.
    #[error("{0} takes no AQM in brackets; only fq does, e.g. \"fq(codel@act)\"")]
    NoBrackets(&'static str),
    /// A discipline of several queues in brackets.
    #[error("{name} {does}; write e.g. \"fq(codel)\"")]
    NotSingleQueue {
        /// The discipline.
        name: &'static str,
        /// Its layout, as a predicate.
        does: &'static str,
    },
    /// `exclude_ce` in brackets.
    #[error("exclude_ce applies to all flows: write it after the brackets, e.g. \"fq(codel ecn) exclude_ce\"")]
    ExcludeCeInBrackets,
    /// `exclude_ce` of a discipline whose queues are coupled by marks.
    #[error("exclude_ce: the queues of {0} are coupled by their marks; leave it out")]
    ExcludeCeCoupled(&'static str),
    /// `exclude_ce` of a foreign discipline.
    #[error("exclude_ce: {0} measures its own backlog; leave it out")]
    ExcludeCeForeign(&'static str),
    /// `exclude_ce` of a discipline without this option.
    #[error("exclude_ce: {0} measures every packet, as Linux does; leave it out, or use fq(cobalt) exclude_ce")]
    ExcludeCeUnsupported(&'static str),
    /// `exclude_ce` of a parent.
    #[error(
        "exclude_ce: {0} does not measure its queue; write it after the discipline in the braces, e.g. {{ fq_codel \
         exclude_ce }}"
    )]
    ExcludeCeOnParent(&'static str),
    /// Incompatible values; the text is that of [`crate::params::Config::validate`] or of a custom algorithm.
    #[error("{0}")]
    InvalidCombination(String),
    /// An unusable algorithm of a [`crate::registry::Catalogue`]; the text is the catalogue's.
    #[error("{0}")]
    Catalogue(String),
}

impl From<String> for ConfigError {
    fn from(text: String) -> Self {
        Self::InvalidCombination(text)
    }
}

impl From<&str> for ConfigError {
    fn from(text: &str) -> Self {
        Self::InvalidCombination(text.into())
    }
}
