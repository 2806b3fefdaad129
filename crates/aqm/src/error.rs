//! Why a discipline, a parameter or a combination of values is refused. Each text names the place and the remedy.

use crate::quote::{cut, quoted};
use crate::units::UnitError;
use crate::value::Value;
use alloc::string::String;
use thiserror::Error;

/// Why a text or a configuration is refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// Parameters or limits that cannot be changed while packets wait.
    #[error("it cannot be changed while it runs; only another queue manager can take its place, without what waits")]
    Immutable,
    /// A parameter that cannot.
    #[error("{0} cannot be changed while it runs; leave it as it was at the start")]
    ImmutableParam(&'static str),
    /// There is no discipline, profile or parameter of this name; the text is that of [`crate::params::unknown`].
    #[error("{0}")]
    Unknown(String),
    /// A quantity that cannot be read.
    #[error("{name}: {reason}")]
    Unit {
        /// The parameter.
        name: &'static str,
        /// What is wrong with it.
        reason: UnitError,
    },
    /// A count that is none.
    #[error("{name}: {} is not a whole number", quoted(text))]
    NotInteger {
        /// The parameter.
        name: &'static str,
        /// What was written.
        text: String,
    },
    /// A number that is none.
    #[error("{name}: {} is not a number", quoted(text))]
    NotNumber {
        /// The parameter.
        name: &'static str,
        /// What was written.
        text: String,
    },
    /// A flag that is neither on nor off.
    #[error("{name}: {} is neither true nor false", quoted(text))]
    NotBool {
        /// The parameter.
        name: String,
        /// What was written.
        text: String,
    },
    /// A word that the parameter does not know.
    #[error("{name}: {} is none of {}", quoted(text), choices.join(", "))]
    UnknownChoice {
        /// The parameter.
        name: &'static str,
        /// What was written.
        text: String,
        /// The words that it knows.
        choices: &'static [&'static str],
    },
    /// The number of a class that is none.
    #[error("{name}: {} is not the number of a class; write it in hexadecimal as tc, e.g. 20", quoted(text))]
    NotClassId {
        /// The parameter.
        name: &'static str,
        /// What was written.
        text: String,
    },
    /// A map of priorities to bands that is none.
    #[error(
        "{name}: {} is not a band for each of 16 priorities; write e.g. 1,2,2,2,1,2,0,0,1,1,1,1,1,1,1,1",
        quoted(text)
    )]
    NotPriomap {
        /// The parameter.
        name: &'static str,
        /// What was written.
        text: String,
    },
    /// A value below or above its range.
    #[error("{name} = {value} is out of range; from {min} to {max}")]
    OutOfRange {
        /// The parameter.
        name: &'static str,
        /// What was written.
        value: Value,
        /// The smallest value.
        min: Value,
        /// The largest value.
        max: Value,
    },
    /// A parameter that this version of the algorithm does not have.
    #[error(
        "{name}: version {version} of {algorithm} does not have it; \
         leave it at {left} (or write {}@{version} for the version)",
        algorithm.to_lowercase()
    )]
    UnsupportedByVersion {
        /// The parameter.
        name: &'static str,
        /// The version.
        version: String,
        /// The algorithm, as its papers write it.
        algorithm: String,
        /// The value at which it does nothing.
        left: Value,
    },
    /// A text without a name.
    #[error("an AQM needs a name, e.g. \"codel\"")]
    MissingName,
    /// A closing bracket too many.
    #[error("{} closes a bracket that it does not open", quoted(.0))]
    UnmatchedBracket(String),
    /// A closing bracket too few.
    #[error("{} lacks a closing bracket; write e.g. \"fq(codel@act)\"", quoted(.0))]
    UnclosedBracket(String),
    /// Disciplines within disciplines without end.
    #[error("queue managers are nested more than {} deep; write fewer inside each other", crate::parent::text::DEEPEST)]
    TooDeep,
    /// A closing brace too many.
    #[error("{} closes a brace that it does not open", quoted(.0))]
    UnmatchedBrace(String),
    /// A closing brace too few.
    #[error("{} lacks a closing brace; write e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"", quoted(.0))]
    UnclosedBrace(String),
    /// Words behind the braces.
    #[error(
        "{} comes behind the braces; write parameters before them, e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"",
        quoted(.0)
    )]
    TrailingWords(String),
    /// Braces behind what holds no other discipline.
    #[error("{0} holds no other discipline; {1} do, e.g. \"tbf rate 10mbit burst 5kB {{ fq_codel }}\"")]
    NotClassful(&'static str, String),
    /// A discipline with something in its braces that cannot be there.
    #[error("{parent}: {} is not what it holds; write e.g. {example:?}", quoted(inside))]
    InvalidChild {
        /// The parent.
        parent: &'static str,
        /// What was written.
        inside: String,
        /// What it could be.
        example: String,
    },
    /// The last word is a parameter that needs a value.
    #[error("{} of {name} lacks its value", cut(param))]
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
    /// Brackets behind what has no queue per flow to fill.
    #[error("{0} takes no AQM in brackets; only fq does, e.g. \"fq(codel@act)\"")]
    NoBrackets(&'static str),
    /// A discipline of several queues in brackets.
    #[error("{name} {does}; write e.g. \"fq(codel)\"")]
    NotSingleQueue {
        /// The discipline.
        name: &'static str,
        /// What it does instead of managing one queue.
        does: &'static str,
    },
    /// `exclude_ce` in brackets.
    #[error("exclude_ce is of all flows: write it behind the brackets, e.g. \"fq(codel ecn) exclude_ce\"")]
    ExcludeCeInBrackets,
    /// `exclude_ce` of a discipline that needs the marks.
    #[error("exclude_ce: the queues of {0} are coupled by their marks; leave it out")]
    ExcludeCeCoupled(&'static str),
    /// `exclude_ce` of a discipline of others.
    #[error("exclude_ce: {0} measures by itself what waits; leave it out")]
    ExcludeCeForeign(&'static str),
    /// `exclude_ce` of a discipline that has no such choice.
    #[error("exclude_ce: {0} measures every packet, as Linux does; leave it out, or take fq(cobalt) exclude_ce")]
    ExcludeCeUnsupported(&'static str),
    /// `exclude_ce` of a parent.
    #[error(
        "exclude_ce: {0} measures nothing; write it behind the discipline in the braces, e.g. {{ fq_codel exclude_ce }}"
    )]
    ExcludeCeOnParent(&'static str),
    /// Values that do not go together: what [`crate::params::Config::validate`] or an algorithm of others says.
    #[error("{0}")]
    InvalidCombination(String),
    /// An algorithm of a [`crate::registry::Catalogue`] that cannot be had: what the catalogue says.
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
