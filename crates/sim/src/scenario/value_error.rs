//! Errors of values: what is wrong with one, and what to write.

use sojourn_aqm::Duration;
use sojourn_aqm::refusal::Refusal;
use sojourn_aqm::units::UnitError;
use thiserror::Error;

/// Why a value of a scenario's key is refused: what is wrong with it, and what to write.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// What it has to be.
        expected: String,
        /// What it is.
        found: &'static str,
    },
    /// A quantity that cannot be read.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// There is nothing of this name; the text is that of [`sojourn_aqm::params::unknown`].
    #[error("{0}")]
    Unknown(String),
    /// A quantity of zero, or too close to it.
    #[error("{text:?} is not above zero; write e.g. {example:?}")]
    NotPositive {
        /// What was written.
        text: String,
        /// What could be.
        example: &'static str,
    },
    /// A value below or above its range.
    #[error("{value} is out of range; {range}")]
    OutOfRange {
        /// What was written.
        value: String,
        /// What is allowed.
        range: String,
    },
    /// A number with a fraction.
    #[error("{0} is not a whole number")]
    NotWhole(serde_json::Number),
    /// A list without entries.
    #[error("the list is empty; write e.g. {0:?}")]
    Empty(&'static str),
    /// A queue manager.
    #[error(transparent)]
    Aqm(#[from] Box<AqmError>),
    /// A loss.
    #[error(transparent)]
    Loss(#[from] Box<LossError>),
    /// Values in steps.
    #[error(transparent)]
    Steps(#[from] Box<StepsError>),
    /// A value whose form one key alone has: what is wrong with it.
    #[error("{0}")]
    Form(String),
}

/// Why a queue manager is refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AqmError {
    /// A name, a parameter or a combination of values.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Neither a text nor a table.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A table without a name.
    #[error("name is missing; write e.g. {{ name = \"codel\" }}")]
    NoName,
    /// A key of a table whose value is of another type.
    #[error("{key}: {reason}")]
    Key {
        /// The key.
        key: String,
        /// What is wrong.
        reason: ValueError,
    },
}

/// Why a loss is refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LossError {
    /// A value of another type, an unknown key, or a time.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The whole number is as likely a slip for one per cent.
    #[error("1 could be one per cent or all; write 1% or 1.0")]
    One,
    /// A text that is none.
    #[error("{0:?} is no probability; write e.g. 1% or 0.01")]
    NoProbability(String),
    /// A number below 0 or above 1.
    #[error("{0} is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %")]
    OutOfRange(f64),
    /// A key of a chain that is needed.
    #[error("{0} is missing; write e.g. {{ p = 0.002, r = 0.2 }}")]
    Missing(&'static str),
    /// A key of a chain whose value is refused.
    #[error("{key}: {reason}")]
    Key {
        /// The key.
        key: &'static str,
        /// What is wrong.
        reason: Box<Self>,
    },
    /// A chain that stays where it is.
    #[error("p and r are both 0, so the state never changes; write a plain probability")]
    Still,
}

/// Why values in steps are refused.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StepsError {
    /// The only value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// A step without a time.
    #[error("step {step:?} has no time; write e.g. {example:?}")]
    NoTime {
        /// The step.
        step: String,
        /// What could be written.
        example: &'static str,
    },
    /// A step whose value or time is refused.
    #[error("step {step:?}: {reason}")]
    Step {
        /// The step.
        step: String,
        /// What is wrong.
        reason: ValueError,
    },
    /// The first step is not at the start.
    #[error("the first step is at {0}; begin with one at 0 s")]
    LateStart(Duration),
    /// Two steps at one time.
    #[error("two steps are at {0}; keep one of them")]
    Twice(Duration),
    /// A step after a later one.
    #[error("the step at {at} comes after the one at {last}; put them in order")]
    Disordered {
        /// When the step is.
        at: Duration,
        /// When the one before it is.
        last: Duration,
    },
}
