//! Errors of values; each text says what is wrong and what to write.

use sojourn_aqm::Duration;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::units::UnitError;
use thiserror::Error;

/// Error in the value of a key.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Wrong type.
    #[error("expected {expected}, found {found}")]
    Mismatch {
        /// Expected type, with an example.
        expected: String,
        /// Actual type.
        found: &'static str,
    },
    /// Invalid quantity or unit.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// Unknown name; text of [`sojourn_aqm::params::unknown`].
    #[error("{0}")]
    Unknown(String),
    /// Quantity that is zero or rounds to it.
    #[error("{text:?} is not above zero; write e.g. {example:?}")]
    NotPositive {
        /// Text of the file.
        text: String,
        /// Valid value.
        example: &'static str,
    },
    /// Value below or above its range.
    #[error("{value} is out of range; {range}")]
    OutOfRange {
        /// Value of the file.
        value: String,
        /// Allowed range.
        range: String,
    },
    /// Number with a fraction.
    #[error("{0} is not a whole number")]
    NotWhole(serde_json::Number),
    /// Empty list.
    #[error("the list is empty; write e.g. {0:?}")]
    Empty(&'static str),
    /// Error in a queue manager.
    #[error(transparent)]
    Aqm(#[from] Box<AqmError>),
    /// Error in a loss.
    #[error(transparent)]
    Loss(#[from] Box<LossError>),
    /// Error in a schedule.
    #[error(transparent)]
    Steps(#[from] Box<StepsError>),
    /// Error in a value with a form of its own.
    #[error("{0}")]
    Form(String),
}

/// Error in a queue manager.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum AqmError {
    /// Rejected name, parameter or combination of values.
    #[error(transparent)]
    Refused(#[from] ConfigError),
    /// Neither a text nor a table.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Table without a name.
    #[error("name is missing; write e.g. {{ name = \"codel\" }}")]
    NoName,
    /// Key of a table with a value of the wrong type.
    #[error("{key}: {reason}")]
    Key {
        /// The key.
        key: String,
        /// Error in its value.
        reason: ValueError,
    },
    /// Name of a kernel's file that no kernel accepts.
    #[error("{0:?} is not a kernel's name (up to 15 letters, digits, - and _); write e.g. \"kernel:mine like codel\"")]
    KernelName(String),
    /// Words behind the name of a kernel's file.
    #[error("kernel:{name} is followed by \"like AQM\" or \"options TYPE:BYTES:VALUE\", not by {words:?}")]
    KernelWords {
        /// The name.
        name: String,
        /// The words.
        words: String,
    },
    /// File of a kernel where none runs.
    #[error("{0} is compiled into a kernel and cannot be simulated; choose --engine kernel")]
    OnlyInKernel(String),
}

/// Error in a loss.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum LossError {
    /// Wrong type, unknown key or invalid time.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// The whole number 1, which may be meant as one per cent.
    #[error("1 is ambiguous, 1 % or 100 %; write 1% or 1.0")]
    One,
    /// Text that is not a probability.
    #[error("{0:?} is not a probability; write e.g. 1% or 0.01")]
    NoProbability(String),
    /// Number below 0 or above 1.
    #[error("{0} is out of range; a probability lies between 0 and 1, write e.g. 0.01 for 1 %")]
    OutOfRange(f64),
    /// Missing key of a chain.
    #[error("{0} is missing; write e.g. {{ p = 0.002, r = 0.2 }}")]
    Missing(&'static str),
    /// Key of a chain with an invalid value.
    #[error("{key}: {reason}")]
    Key {
        /// The key.
        key: &'static str,
        /// Error in its value.
        reason: Box<Self>,
    },
    /// Chain that never changes its state.
    #[error("p and r are both 0, so the state never changes; write a plain probability")]
    Still,
}

/// Error in a schedule.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum StepsError {
    /// Error in the single value.
    #[error(transparent)]
    Value(#[from] ValueError),
    /// Step without a time.
    #[error("step {step:?} has no time; write e.g. {example:?}")]
    NoTime {
        /// The step.
        step: String,
        /// Valid schedule.
        example: &'static str,
    },
    /// Step with an invalid value or time.
    #[error("step {step:?}: {reason}")]
    Step {
        /// The step.
        step: String,
        /// Error in its value.
        reason: ValueError,
    },
    /// First step after 0 s.
    #[error("the first step is at {0}; begin with one at 0 s")]
    LateStart(Duration),
    /// Two steps at the same time.
    #[error("two steps are at {0}; keep one of them")]
    Twice(Duration),
    /// Step that follows a later one.
    #[error("the step at {at} comes after the one at {last}; put them in order")]
    Disordered {
        /// Time of the step.
        at: Duration,
        /// Time of the previous step.
        last: Duration,
    },
}
