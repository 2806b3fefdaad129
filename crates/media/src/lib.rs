//! Real-time media with congestion control: encoder frames, pacer, RTP-like packets, and feedback packets.
//!
//! The two ends do no I/O and have no clock. A host passes events with their times, and carries the packets and
//! reports:
//!
//! | | |
//! |---|---|
//! | [`Sender`] | generates frames at the control's target rate, paces their packets, probes, processes reports |
//! | [`Receiver`] | records arrivals, sends reports, reassembles frames |
//! | [`control`] | congestion controls, one file each |
//! | [`frames`] | the model of the encoder |
//!
//! All rates are in bits of IP packets per second, including headers.
//!
//! # Example
//!
//! NADA alone on a path of 2 Mbit/s with a one-way delay of 50 ms:
//!
//! ```
//! use sojourn_aqm::{Duration, Instant, Rng};
//! use sojourn_media::{Receiver, Sender, Source, control};
//!
//! let source = Source { min_bps: 150e3, start_bps: 150e3, max_bps: 1.5e6, ..Source::default() };
//! let control = control::new("nada").expect("a registered control");
//! let mut receiver = Receiver::new(control.report_config()).with_remote(control.remote());
//! let mut sender = Sender::new(source, control, Instant::ZERO, Instant::NEVER, Rng::stream(7, "source", 0));
//!
//! let delay = Duration::from_millis(50);
//! let (mut idle, mut data, mut reports) = (Instant::ZERO, Vec::new(), Vec::new());
//! for ms in 0..20_000 {
//!     let now = Instant::ZERO + Duration::from_millis(ms);
//!     while let Some(packet) = sender.poll(now) {
//!         idle = idle.max(now) + Duration::from_secs_f64(packet.bytes as f64 * 8.0 / 2e6);
//!         data.push((idle + delay, packet));
//!     }
//!     while data.first().is_some_and(|(at, _)| *at <= now) {
//!         let (at, packet) = data.remove(0);
//!         receiver.on_packet(at, &packet, packet.ecn);
//!     }
//!     if let Some(report) = receiver.poll(now) {
//!         reports.push((now + delay, report));
//!     }
//!     while reports.first().is_some_and(|(at, _)| *at <= now) {
//!         let (at, report) = reports.remove(0);
//!         sender.on_report(at, &report);
//!     }
//! }
//! assert!(sender.target_bps() > 1.4e6);
//! ```

pub mod control;
pub mod frames;
mod packet;
mod prober;
mod receiver;
mod report;
mod sender;

pub use frames::Source;
pub use packet::Packet;
pub use prober::ProbeCluster;
pub use receiver::{Frame, Receiver};
pub use report::{Arrival, Format, Report, ReportConfig};
pub use sender::Sender;

/// Header bytes of each media packet: RTP without extensions, UDP and IPv4.
pub const HEADERS: u32 = 12 + 8 + 20;
