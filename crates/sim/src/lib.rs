//! A deterministic packet simulator for queue managers.
//!
//! A [`scenario::Scenario`] and a seed determine a [`Simulation`]; it gives a summary, tables, and a fingerprint of every
//! verdict and departure that is the same on every machine. Parallelism is across runs, never inside one.

mod event;
mod fingerprint;
mod flows;
mod histogram;
mod link;
mod network;
mod packet;
mod probe;
mod random;
mod recorded;
mod replayed;
mod sampler;
pub mod scenario;
mod simulation;
mod summary;
pub mod table;
pub mod tcp;
pub mod trace;
mod traffic;
mod warmup;
mod window;
mod windows;
mod wlan;

pub use histogram::Histogram;
pub use link::outside::{Medium, Sent, Transmitter, opportunities};
pub use recorded::{Happened, Limited, Recorded, What};
pub use replayed::Replayed;
pub use simulation::{Output, Simulation};
pub use summary::{
    DatagramSummary, FlowSummary, GroupSummary, HopSummary, LinkSummary, Links, PayloadSummary, Quantiles, Summary,
};
pub use table::{Column, Table};
pub use traffic::{Planned, mos, plan, r_factor};
pub use warmup::{Statistics, mser};
pub use wlan::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};
