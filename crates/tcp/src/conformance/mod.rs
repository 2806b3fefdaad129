//! A comparison of two congestion controls, call by call.
//!
//! Behind a feature, as the conformance suite of queue managers: tools need it, a simulation does not.

mod connection;
mod diff;
mod disturbance;
pub(crate) mod ends;
mod path;
mod recording;
mod words;
pub(crate) mod world;

pub use diff::{Diff, DiffReport, Difference, diff};
pub use recording::{CallObserver, CallRecord, RecordedDefinition};
