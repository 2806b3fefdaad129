//! A deterministic packet simulator for queue managers.
//!
//! A [`scenario::Scenario`] and a seed determine a [`Simulation`]; it gives a summary, tables, and a fingerprint of every
//! verdict and departure that is the same on every machine. Parallelism is across runs, never inside one.
//!
//! # Map
//!
//! | module | what it is for |
//! |---|---|
//! | [`scenario`] | scenario files as checked types; each key is declared once |
//! | `simulation`, `run`, `event`, `counters` | the loop: take the earliest event, let its component act; steps, and what is read between them |
//! | `network`, `packet` | a graph: paths over links, access links, packets in flight; calls links and the wireless LAN |
//! | `link` | queue, server, medium and pipe of a link, which is called and says what leaves |
//! | `wlan` | a wireless LAN, called in the same way |
//! | `radio`, `schedule`, [`trace`], [`capture`] | below scenarios and links: frames of 802.11, values in steps, delivery-opportunity traces, captures |
//! | `traffic`, `flows` | what sends; connections that come and go |
//! | `probe`, `sampler`, [`table`], `parquet` | what is recorded per packet and per interval, as columns; these as files |
//! | `tally`, `ledger`, `status` | what is counted of queues, of groups of flows and of a flow |
//! | `summary`, `report`, `quantiles`, `emodel`, `histogram`, `window`, `windows`, `warmup` | the numbers of every run, and when they begin |
//! | [`registry`] | everything that has a name, as JSON |
//! | `need` | how much memory a run is going to take |
//! | `fingerprint`, `random` | one word over all verdicts of all queues; draws that are equal on every machine |
//! | `recorded`, `replayed` | results of other engines through the same accounting |
//!
//! A packet goes from `traffic` through `network` to `link`, where the queue discipline of `sojourn-aqm` judges it, and
//! on to the sink; what becomes of it goes to `tally`, `fingerprint` and `probe`.

pub mod capture;
mod counters;
mod devices;
mod drops;
mod emodel;
mod endpoints;
mod event;
mod fingerprint;
mod flows;
mod histogram;
mod ledger;
mod link;
mod link_replay;
mod media;
mod memory;
mod network;
mod packet;
#[cfg(feature = "parquet")]
pub mod parquet;
mod playback;
mod probe;
mod quantiles;
mod queue_event;
mod radio;
mod random;
mod recording;
pub mod registry;
mod report;
mod responsiveness;
mod run;
mod sampler;
pub mod scenario;
mod schedule;
mod senders;
mod simulation;
mod status;
mod summary;
pub mod table;
mod tally;
pub mod trace;
mod traffic;
mod warmup;
mod window;
mod windows;
mod wlan;

pub use counters::{FlowCounters, LinkCounters};
pub use emodel::{mos, r_factor};
pub use endpoints::{EndpointCounts, EndpointIndex, EndpointSummary, UnknownEndpoint};
#[cfg(feature = "run-order")]
pub use fingerprint::run_order;
pub use flows::{BulkShares, ControlFactory, ForwardTotals};
pub use histogram::Histogram;
pub use link::external::{Medium, TransmissionTimes, Transmitter, opportunities};
pub use link::stream_of_queue;
pub use link_replay::LinkReplay;
pub use media::MediaSummary;
pub use memory::MemoryEstimate;
pub use playback::VideoSummary;
pub use quantiles::Quantiles;
pub use queue_event::{QueueEvent, fate_of_drop};
pub use recording::{DropPolicy, EntryKind, RecordingAnalysis, RecordingEntry, RecordingError};
pub use responsiveness::{Confidence, Responsiveness, RpmSummary};
pub use simulation::{OfferedPacket, Output, QueueView, Simulation, SubqueueVisitor};
pub use summary::{
    DatagramSummary, FlowSummary, GroupSummary, HopSummary, LinkSummary, Links, PayloadSummary, QueueSummary, Summary,
    jain,
};
pub use table::{Column, Table};
pub use traffic::{PlannedSource, plan};
pub use warmup::{Statistics, mser};
pub use wlan::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};
