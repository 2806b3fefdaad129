//! Real-time media with congestion control: frames, a pacer, packets like those of RTP, feedback that is packets.
//!
//! The two ends do no I/O and own no clock. A host tells them what happens and when, and carries what they hand over:
//!
//! | | |
//! |---|---|
//! | [`Sender`] | makes frames in the rate that its control wants, paces their packets and probes, takes reports |
//! | [`Receiver`] | notes arrivals, makes reports, tells which frames have come whole |
//! | [`control`] | congestion controls, one file each |
//! | [`frames`] | the model of the encoder |
//!
//! All rates are in bits of IP packets per second, headers included.
//!
//! # Example
//!
//! NADA over a path of 2 Mbit/s and 50 ms each way, which nobody else uses:
//!
//! ```
//! use sojourn_aqm::{Duration, Instant, Rng};
//! use sojourn_media::{Receiver, Sender, Source, control};
//!
//! let source = Source { least_bps: 150e3, start_bps: 150e3, most_bps: 1.5e6, ..Source::default() };
//! let control = control::new("nada").expect("a control of that name");
//! let mut receiver = Receiver::new(control.reporting()).with_remote(control.remote());
//! let mut sender = Sender::new(source, control, Instant::ZERO, Instant::NEVER, Rng::stream(7, "source", 0));
//!
//! let way = Duration::from_millis(50);
//! let (mut idle, mut data, mut reports) = (Instant::ZERO, Vec::new(), Vec::new());
//! for ms in 0..20_000 {
//!     let now = Instant::ZERO + Duration::from_millis(ms);
//!     while let Some(packet) = sender.poll(now) {
//!         idle = idle.max(now) + Duration::from_secs_f64(packet.bytes as f64 * 8.0 / 2e6);
//!         data.push((idle + way, packet));
//!     }
//!     while data.first().is_some_and(|(at, _)| *at <= now) {
//!         let (at, packet) = data.remove(0);
//!         receiver.on_packet(at, &packet, packet.ecn);
//!     }
//!     if let Some(report) = receiver.poll(now) {
//!         reports.push((now + way, report));
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

/// RTP without extensions, UDP and IPv4: what every packet of media has besides its payload, in bytes.
pub const HEADERS: u32 = 12 + 8 + 20;
