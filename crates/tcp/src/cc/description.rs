//! What a control tells of itself: its source and its constants.

/// A constant of a control's algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Its name in the source.
    pub name: &'static str,
    /// Its value, in `unit`.
    pub value: u64,
    /// The unit, or what it is a fraction of ("/ 1024").
    pub unit: &'static str,
    /// What it does.
    pub meaning: &'static str,
}

impl Constant {
    /// A constant called `name`, which is `value` `unit`.
    pub(super) const fn new(name: &'static str, value: u64, unit: &'static str, meaning: &'static str) -> Self {
        Self { name, value, unit, meaning }
    }
}

/// The parts of a control's page that only its own file knows.
pub trait ControlDocs {
    /// The documents and files that it follows.
    const SOURCE: &'static str;
    /// The constants of its algorithm.
    const CONSTANTS: &'static [Constant] = &[];
}

/// A registered control.
#[derive(Clone, Copy, Debug)]
pub struct Description {
    /// Its name in scenarios.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Documents and files that it follows.
    pub source: &'static str,
    /// The constants of its algorithm.
    pub constants: &'static [Constant],
    /// Bytes of its state per connection.
    pub state_bytes: usize,
}
