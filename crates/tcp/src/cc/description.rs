//! Documentation of a control: its source, its constants and its parameters.

use super::Params;
use sojourn_aqm::params::{Param, Value};

/// A constant of a control's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Name in the source.
    pub name: &'static str,
    /// Value, in `unit`.
    pub value: u64,
    /// Unit, or the denominator ("/ 1024").
    pub unit: &'static str,
    /// Effect on the algorithm.
    pub meaning: &'static str,
}

impl Constant {
    /// Constant `name` with a value in `unit`.
    pub(super) const fn new(name: &'static str, value: u64, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, value, unit, meaning }
    }
}

/// Documentation that a control's own file provides.
pub trait ControlDocs: Default {
    /// Documents and source files that the control implements.
    const SOURCE: &'static str;
    /// Constants of the algorithm.
    const CONSTANTS: &'static [Constant] = &[];
    /// Parameters that a scenario can set.
    const PARAMS: Params<Self> = Params::NONE;
}

/// A registered control.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Name in scenarios.
    pub name: &'static str,
    /// One-line summary.
    pub summary: &'static str,
    /// Documents and source files that it implements.
    pub source: &'static str,
    /// Constants of the algorithm.
    pub constants: &'static [Constant],
    /// Parameters that a scenario can set.
    pub params: &'static [Param],
    /// Default of a parameter in [`Self::params`].
    pub defaults: fn(&str) -> Option<Value>,
    /// Size of its state per connection, in bytes.
    pub state_bytes: usize,
}
