//! TCP with real segments: sequence space in bytes, a retransmission queue, SACK, acknowledgments that are packets.
//!
//! The endpoints do no I/O and own no clock. A host calls them with each event and its time, sends their segments
//! through a [`Wire`], and calls `on_timer` at their `deadline`. Both ends of a connection:
//!
//! | | |
//! |---|---|
//! | [`Sender`] | sends data, processes acknowledgments: retransmission, loss recovery, the congestion window |
//! | [`Receiver`] | receives data, sends acknowledgments: reassembly, SACK, delayed and compressed acknowledgments |
//!
//! Selected by name:
//!
//! | | |
//! |---|---|
//! | [`stack`] | the mechanisms of a kernel (or ns-2), one file each |
//! | [`cc`] | congestion controls, one file each |
//!
//! # Map
//!
//! The sender arranges mechanisms. Each is a type in its own file that owns its state and its rules: it is notified of
//! events and returns decisions, and it alone reads the fields of `Stack` that configure it.
//!
//! | Subject | Module |
//! |---|---|
//! | the connection's life | `sender`, `handshake` |
//! | the path of an acknowledgment (Linux's `tcp_ack`), and the kinds for which it is compiled | `sender/ack`, `kind` |
//! | an acknowledgment: its values, and the segments that it removes from the retransmission queue | `ack`, `clean_rtx_queue` |
//! | context of an event; the states of congestion avoidance | `context`, `state`, `stats` |
//! | headers, clocks, the host below | `header`, `sack`, `clock`, `wire` |
//! | sending: the send sequence, bursts, the receiver's window, headers, ECN | `transmission`, `queue`, `send_buffer`, `segmentation`, `small_queue`, `receive_window`, `output`, `ecn` |
//! | the congestion control and its window; window validation | `cc`, `control`, `validation` |
//! | for controls that need it: rate samples, pacing, a window set by the control | `flight`, `rate_sample`, `min_filter`, `pacing` |
//! | outstanding segments and their tags | `scoreboard`, `segment` |
//! | loss recovery: three state machines, their shared state, retransmissions | `recovery` |
//! | … loss detection | `reordering`, `rack`, `early_retransmit`, `tlp` |
//! | … window reduction and undo | `reduction`, `undo`, `frto` |
//! | RTT measurement, the timer and its expiry | `round_trip`, `rtt`, `timer`, `expiry` |
//! | the receiver: reassembly, delayed acknowledgments, ECN | `receiver`, `compressed_ack`, `receive_buffer` |
//! | segments as one super-packet | `offload` |
//! | a header as queue disciplines see it | `view` |
//! | events and snapshots for a host that observes a sender | `sender_event`, `snapshot` |
//! | checks of any congestion control, comparison of two (feature `conformance`) | `conformance` |
//! | QUIC: its own endpoints, with the same controls, pacing and rate samples | [`quic`] |
//!
//! Sequence numbers are absolute and do not wrap, windows count segments as in Linux, and the head of each file names
//! the source of its rules.
//!
//! # Example
//!
//! Forty segments over a pipe of 20 ms that loses each packet with probability 5 %:
//!
//! ```
//! use sojourn_aqm::{Duration, Ecn, Instant, Rng};
//! use sojourn_tcp::cc::AnyCc;
//! use sojourn_tcp::stack::Stack;
//! use sojourn_tcp::{Header, Receiver, ReceiverConfig, Sender, SenderConfig};
//!
//! let stack = Stack::find("linux-6.1").expect("a stack of that name");
//! let cc = AnyCc::new("cubic").expect("a congestion control of that name");
//! let (mss, sack, ecn, delayed_ack, receive_window) = (1448, true, false, true, None);
//! let mut sender = Sender::new(SenderConfig { stack, cc, mss, sack, ecn, initial_window: None, receive_window });
//! let mut receiver = Receiver::new(ReceiverConfig { stack, mss, sack, delayed_ack, ecn, receive_window });
//!
//! // Packets in flight, in the order of arrival: time, whether to the receiver, and the segment.
//! let mut pipe: Vec<(Instant, bool, Header)> = Vec::new();
//! let mut rng = Rng::from_state(7);
//! let mut now = Instant::ZERO;
//! let mut lossy = |pipe: &mut Vec<_>, now: Instant, to_receiver: bool, header: &Header| {
//!     if rng.uniform() >= 0.05 {
//!         pipe.push((now + Duration::from_millis(20), to_receiver, *header));
//!     }
//! };
//! sender.open(now, Some(40 * 1448), &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, true, header));
//! while !sender.is_finished() {
//!     // The next event: an arrival or a timer, at either end.
//!     let arrival = pipe.first().map_or(Instant::NEVER, |&(at, ..)| at);
//!     now = arrival.min(sender.deadline()).min(receiver.deadline());
//!     let arrived = (arrival == now).then(|| pipe.remove(0));
//!     let from_sender = &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, true, header);
//!     match arrived {
//!         Some((_, false, header)) => sender.on_segment(now, &header, from_sender),
//!         _ => sender.on_timer(now, from_sender),
//!     }
//!     let from_receiver = &mut |header: &Header, _: Ecn| lossy(&mut pipe, now, false, header);
//!     match arrived {
//!         Some((_, true, header)) => receiver.on_segment(now, &header, Ecn::NotEct, from_receiver),
//!         _ => receiver.on_timer(now, from_receiver),
//!     }
//! }
//! assert_eq!(receiver.delivered(), 40 * 1448);
//! assert!(sender.stats().retransmissions > 0, "the pipe loses packets");
//! ```

#[macro_use]
mod cloned;

mod ack;
pub mod cc;
mod clean_rtx_queue;
mod clock;
mod compressed_ack;
mod config;
#[cfg(any(test, feature = "conformance"))]
pub mod conformance;
mod context;
mod control;
mod early_retransmit;
mod ecn;
mod expiry;
mod flight;
mod frto;
mod handshake;
mod header;
mod kind;
mod min_filter;
mod offload;
mod output;
mod pacing;
mod queue;
pub mod quic;
mod rack;
mod rate_sample;
mod receive_buffer;
mod receive_window;
mod receiver;
mod recovery;
mod reduction;
mod reordering;
mod round_trip;
mod rtt;
mod sack;
mod scoreboard;
mod segment;
mod segmentation;
mod send_buffer;
mod sender;
mod sender_event;
mod small_queue;
mod snapshot;
pub mod stack;
mod state;
mod stats;
mod timer;
mod tlp;
mod transmission;
mod undo;
mod validation;
mod view;
mod wire;

pub use clock::{Clock, Ticks, UPTIME};
pub use config::SenderConfig;
pub use header::{Flags, Header};
pub use rate_sample::RateSample;
pub use receiver::{CeCounters, Receiver, ReceiverConfig};
pub use sack::{Sack, SeqRange};
pub use segment::LossMark;
pub use sender::Sender;
pub use sender_event::{SenderEvent, SenderState};
pub use small_queue::memory_below;
pub use state::CaState;
pub use stats::SenderStats;
pub use timer::TimerPurpose;
pub use wire::Wire;

pub(crate) use clock::{HostTime, is_newer, micros_at, unwrap_timestamp};
pub(crate) use header::FIRST_BYTE;
