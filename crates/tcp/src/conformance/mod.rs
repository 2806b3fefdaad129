//! Checks of any congestion control, and a comparison of two, call by call.
//!
//! Behind a feature, as the conformance suite of queue managers: tools need it, a simulation does not.

mod check;
mod connection;
mod copies;
mod diff;
mod disturbance;
pub(crate) mod ends;
mod judge;
mod memory;
mod path;
mod recording;
mod repeat;
mod situations;
#[cfg(test)]
mod tests;
mod verdict;
mod words;
pub(crate) mod world;

pub use check::{Check, MemoryGauge, Outcome, Part, Report, check};
pub use diff::{Diff, DiffReport, Difference, diff};
pub use recording::{CallObserver, CallRecord, RecordedDefinition};
