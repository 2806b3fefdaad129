//! A deterministic packet simulator for queue managers.
//!
//! A [`scenario::Scenario`] and a seed determine a [`Simulation`]. It returns a summary, tables, and a fingerprint of
//! every verdict and departure, which is the same on every machine. Parallelism is across runs, never inside one.
//!
//! # Map
//!
//! | module | purpose |
//! |---|---|
//! | [`scenario`] | scenario files as checked types; each key is declared once |
//! | `simulation`, `run`, `event`, `counters` | the event loop; steps, and counters that are readable between steps |
//! | `network`, `packet` | the graph: paths over links, access links, packets in flight; calls links and the wireless
//! LAN |
//! | `link` | queue, server, medium and pipe of a link; it is called and returns departures |
//! | `wlan` | a wireless LAN, called in the same way |
//! | `radio`, `schedule`, [`trace`], [`capture`] | below scenarios and links: 802.11 frames, values in steps,
//! delivery-opportunity traces, captures |
//! | `traffic`, `flows` | traffic sources; connections that are opened and closed during a run |
//! | `probe`, `sampler`, [`table`], `parquet` | records per packet and per interval as columns, and as files |
//! | `tally`, `ledger`, `status` | counters of queues, of groups of flows and of a flow |
//! | `summary`, `report`, `quantiles`, `emodel`, `histogram`, `window`, `windows`, `warmup` | the results of every run,
//! and the start of its statistics |
//! | [`registry`] | all names for scenario files, as JSON |
//! | `memory` | memory estimate of a run |
//! | `fingerprint`, `random` | a hash over all verdicts of all queues; random draws that are equal on every machine |
//! | [`sentence`] | conditions about runs: `p99(sojourn) > 10 * target` |
//! | `document_paths` | paths of flows in a canonical scenario whose files may be gone |
//! | `recording`, `link_replay`, `endpoints` | results of other engines through the same accounting |
//!
//! A packet goes from `traffic` through `network` to `link`, where the queue discipline of `sojourn-aqm` decides on it,
//! and on to the sink; its fate goes to `tally`, `fingerprint` and `probe`.

pub mod capture;
mod counters;
mod devices;
mod document_paths;
mod drops;
mod emodel;
pub mod endpoint;
mod endpoints;
mod event;
mod fingerprint;
mod flows;
mod histogram;
mod hosts;
mod ledger;
mod link;
mod link_replay;
mod media;
mod memory;
mod network;
mod packet;
mod packet_capture;
#[cfg(feature = "parquet")]
pub mod parquet;
mod payload;
mod playback;
mod probe;
mod programs;
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
pub mod sentence;
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
pub use document_paths::paths_of_document;
pub use emodel::{mos, r_factor};
pub use endpoints::{EndpointCounts, EndpointIndex, EndpointSummary, UnknownEndpoint};
#[cfg(feature = "run-order")]
pub use fingerprint::run_order;
pub use flows::{BulkShares, ControlFactory, ForwardTotals};
pub use histogram::Histogram;
pub use hosts::Decision;
pub use link::external::{Medium, TransmissionTimes, Transmitter, opportunities};
pub use link::stream_of_queue;
pub use link_replay::LinkReplay;
pub use media::MediaSummary;
pub use memory::MemoryEstimate;
pub use playback::VideoSummary;
pub use programs::{NoteSummary, ProgramSummary, SentSummary};
pub use quantiles::Quantiles;
pub use queue_event::{QueueEvent, fate_of_drop};
/// The version that `stack = "quinn"` runs.
#[cfg(feature = "quinn")]
pub use quinn_proto;
pub use recording::{DropPolicy, EntryKind, RecordingAnalysis, RecordingEntry, RecordingError};
pub use responsiveness::{Confidence, Responsiveness, RpmSummary};
pub use simulation::{OfferedPacket, Output, QueueView, Simulation, SubqueueVisitor};
pub use summary::{
    DatagramSummary, FlowSummary, GroupSummary, HopSummary, LinkSummary, Links, PayloadSummary, QueueSummary, Summary,
    jain,
};
pub use table::{Column, Table};
pub use traffic::{PlannedSource, plan};
#[cfg(feature = "quinn")]
pub use traffic::{QuinnEnd, quinn_programs};
pub use warmup::{Statistics, mser};
pub use wlan::{AggregateSummary, NodeSummary, RateUse, RttSummary, StationSummary, WlanSummary};
