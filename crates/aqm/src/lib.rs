//! Queue disciplines without a clock, a socket or a simulator.
//!
//! A queue manager ([`Aqm`]) decides. A queue discipline ([`Qdisc`]) holds the host's packets and applies the
//! decisions. A host (simulator, emulator, network stack) owns the clock and calls both. Nothing here reads a clock or
//! draws from a global generator, so the same calls give the same verdicts everywhere.
//!
//! # Map
//!
//! | module | contents |
//! |---|---|
//! | [`aqm`] | [`Aqm`], the interface of a queue manager on one queue; drop reasons |
//! | [`qdisc`], [`single`], [`flow`], [`dual`] | [`Qdisc`]: one queue, a queue per flow, two coupled queues |
//! | [`codel`], [`cobalt`], [`codel_dt`], [`pie`], [`pi2`], [`red`], [`ared`], [`choke`], [`blue`], [`sfb`], [`pi`], [`rem`], [`avq`], [`droptail`], [`drophead`] | queue managers |
//! | [`fq_codel`], [`fq_pie`], [`sfqcodel`], [`sfq`], [`sfq_red`], [`drr`], [`fq`], [`dualpi2`], [`cake`], [`sch_fq`], [`pfifo_fast`] | queue managers in a queue per flow, in two coupled queues, or below a shaper |
//! | [`tbf`], [`police`], [`prio`], [`htb`], [`netem`], [`parent`] | disciplines with children |
//! | [`registry`], [`named`], [`params`], [`custom`], [`foreign`], [`error`] | names, profiles and parameters; algorithms of users and other crates, disciplines of libraries; configuration errors |
//! | [`packet`], [`class`], [`dscp`], [`limits`], [`backlog`], [`link`], [`link_layer`] | packet metadata, queue limits and link properties that an algorithm can read |
//! | [`tcp_view`], [`headers`] | a packet's TCP header, for a discipline that queries its [`Sink`]; IP and TCP headers |
//! | [`time`], [`units`], [`rate`], [`rng`] | integer nanoseconds, quantities as text, exact transmission times, random streams |
//! | [`policy`] | a queue manager driven by a policy: a controller outside, or a small network |
//! | [`replay`] | recorded arrivals through a queue: kernel vectors, comparisons |
//! | `conformance` | invariants of every discipline (feature `conformance`) |
//!
//! # In your own transport
//!
//! A QUIC or WebRTC stack with a managed send queue is such a host: `P` is its packet or a handle, and it passes its
//! own clock with each call. `examples/embedding.rs` is complete. Algorithm updates need no timer. A [`SingleQueue`]
//! does not allocate after construction while its packets fit the preallocated capacity: the limit, at most 1024, or
//! that of [`SingleQueue::with_capacity`]. The crate needs only `core` and `alloc`; `examples/no_std.rs` fails to
//! compile if a dependency pulls in `std`.
#![no_std]
// The code of disciplines that are not linked.
#![cfg_attr(sojourn_only, allow(dead_code, unused_imports, unused_variables))]
extern crate alloc;

pub mod aqm;
pub mod ared;
pub mod avq;
pub mod backlog;
pub mod blue;
pub mod cake;
pub mod cake_mq;
mod ce_exclusion;
pub mod choke;
pub mod class;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
#[cfg(feature = "conformance")]
pub mod conformance;
mod coupled;
pub mod custom;
mod decimal;
mod departure;
pub mod deque;
pub mod drophead;
pub mod droptail;
pub mod drr;
pub mod dscp;
pub mod dual;
pub mod dualpi2;
pub mod error;
pub mod escape;
pub mod flow;
pub mod foreign;
pub mod fq;
pub mod fq_codel;
pub mod fq_pie;
pub mod headers;
pub mod htb;
pub mod in_kernel;
mod inverse_root;
pub mod limits;
pub mod link;
pub mod link_layer;
pub mod named;
pub mod netem;
pub mod packet;
pub mod param_list;
pub mod params;
pub mod parent;
pub mod pfifo_fast;
pub mod pi;
pub mod pi2;
pub mod pie;
pub mod police;
pub mod policy;
pub mod prio;
mod psched;
pub mod qdisc;
pub mod queue_layout;
mod quote;
pub mod rate;
pub mod red;
pub mod registry;
pub mod rem;
pub mod replay;
mod reservation;
mod ring;
pub mod rng;
pub mod sch_fq;
pub mod sfb;
pub mod sfq;
pub mod sfq_red;
pub mod sfqcodel;
pub mod single;
pub mod tbf;
pub mod tcp_view;
#[cfg(test)]
mod testing;
pub mod time;
pub mod units;
pub mod value;

pub use aqm::{
    Aqm, Bypass, Cx, DropReason, ExcessPolicy, FastDequeue, Fifo, Lifecycle, PoppedPacket, Timer, Verdict, predecessor,
};
pub use backlog::Backlog;
pub use dual::DualQueue;
pub use flow::FlowQueue;
pub use limits::Limits;
pub use link::Link;
pub use packet::{Ecn, Meta};
pub use qdisc::{DequeueResult, EnqueueResult, Host, ObserveFn, Qdisc, Sink, Stats, SubqueueInfo};
pub use rate::{Rate, Serializer};
pub use reservation::{Reservation, ReservationError};
pub use rng::Rng;
pub use single::SingleQueue;
pub use tcp_view::{SackBlocks, TcpView};
pub use time::{Duration, Instant};
