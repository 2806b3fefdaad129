#![doc = include_str!("../README.md")]

mod decisions;
mod error;
mod expect;
mod files;
mod net;
#[cfg(feature = "process")]
pub mod process;
mod report;
#[cfg(feature = "async")]
pub mod runtime;
mod seeds;

pub use decisions::{DecisionLog, LoggedDatagram};
pub use error::Error;
pub use expect::{TestRunner, expectation, expectation_with};
pub use net::{Datagram, End, Event, Net};
pub use report::{Report, Verdict};
#[doc(hidden)]
pub use seeds::run_test;
pub use seeds::seeds;
pub use sojourn_aqm::{Duration, Ecn, Instant};
pub use sojourn_net_macros::test;
pub use sojourn_sim::endpoint::{Cx, Endpoint, OtherEvent, Received, SendError, Side, Standing, Transmit};
