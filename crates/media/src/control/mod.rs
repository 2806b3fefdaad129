//! Congestion controls of media: the encoder's target rate, and when packets are sent.

mod gcc;
mod nada;
mod scream;

use crate::frames::Source;
use crate::prober::ProbeCluster;
use crate::report::ReportConfig;
use sojourn_aqm::{Duration, Ecn, Instant};
use std::fmt::Debug;

/// A congestion control of media. A new one is a file and an entry in [`CONTROLS`].
pub trait Control: Debug + Send {
    /// Format and schedule of reports; constant.
    fn report_config(&self) -> ReportConfig;
    /// The control's receiving end, if it has one, which adds a rate to reports.
    fn remote(&self) -> Option<Box<dyn RemoteEstimator>> {
        None
    }
    /// Called before all other methods.
    fn begin(&mut self, now: Instant, source: &Source);
    /// Sets the ECN field of the packets: `NotEct`, or one of [`Entry::ecn`].
    fn set_ecn(&mut self, ecn: Ecn) {
        let _ = ecn;
    }
    /// Called when the encoder has generated a frame.
    fn on_frame(&mut self, frame: &NewFrame) {
        let _ = frame;
    }
    /// Called when a packet was sent; `in_flight` includes it.
    fn on_sent(&mut self, sent: &SentPacket, in_flight: u64) {
        let _ = (sent, in_flight);
    }
    /// Called for each report.
    fn on_feedback(&mut self, results: &Feedback);
    /// Removes and returns the requested probes; called after reports and timers.
    fn take_probes(&mut self) -> Vec<ProbeCluster> {
        Vec::new()
    }
    /// When the control's timer is due.
    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
    /// Called at the deadline or later; `waiting` bytes are in the pacer queue.
    fn on_timer(&mut self, now: Instant, waiting: u64) {
        let _ = (now, waiting);
    }
    /// Current rates, with `waiting` bytes in the pacer queue.
    fn rates(&self, waiting: u64) -> Rates;
    /// Congestion window in bytes, if the control has one. The sender always allows one packet in flight, and one more
    /// after 0.5 s without sending.
    fn window_bytes(&self) -> Option<u64> {
        None
    }
}

/// The receiving end of a control that estimates the rate at the receiver.
pub trait RemoteEstimator: Debug + Send {
    /// Processes the arrival of a packet of `bytes` IP bytes, sent at `sent`.
    fn on_packet(&mut self, now: Instant, sent: Instant, bytes: u32);
    /// The estimate for a report that is being made, in bit/s, if there is one.
    fn estimate_bps(&mut self) -> Option<f64>;
    /// Whether a report is due at once.
    fn is_urgent(&self) -> bool;
}

/// A generated frame.
#[derive(Clone, Copy, Debug)]
pub struct NewFrame {
    /// Time of generation.
    pub at: Instant,
    /// Bytes of the frame's IP packets.
    pub bytes: u64,
    /// Age of the oldest packet in the pacer queue.
    pub waited: Duration,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// IP bytes.
    pub bytes: u32,
    /// When the packet left the pacer.
    pub at: Instant,
    /// The probe cluster, for a probe packet.
    pub probe: Option<u32>,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketResult {
    /// Sequence number.
    pub seq: u64,
    /// IP bytes.
    pub bytes: u32,
    /// When the packet left the pacer.
    pub sent: Instant,
    /// When the packet arrived; `None` if it is lost.
    pub arrived: Option<Instant>,
    /// ECN field on arrival.
    pub ecn: Ecn,
    /// The probe cluster, for a probe packet.
    pub probe: Option<u32>,
}

impl PacketResult {
    /// One-way delay, if the packet arrived.
    pub fn delay(&self) -> Option<Duration> {
        self.arrived.map(|arrived| arrived - self.sent)
    }

    /// Whether the packet arrived marked (CE).
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce
    }
}

/// A report, matched with the sent packets.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// Arrival of the report.
    pub now: Instant,
    /// When the receiver sent the report.
    pub sent_at: Instant,
    /// Covered packets in the order of sending; at least one.
    pub packets: &'a [PacketResult],
    /// Bytes still in flight.
    pub in_flight: u64,
    /// The receiver's estimate (REMB).
    pub remb_bps: Option<f64>,
}

impl Feedback<'_> {
    /// Round-trip times of the arrived packets, without their waiting time at the receiver.
    pub fn round_trips(&self) -> impl Iterator<Item = Duration> + '_ {
        let round_trip = |packet: &PacketResult| {
            let held = self.sent_at - packet.arrived?;
            Some(self.now - packet.sent - held)
        };
        self.packets.iter().filter_map(round_trip)
    }
}

/// Rates set by a control, in bit/s; above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// For the encoder.
    pub target_bps: f64,
    /// For the pacer.
    pub pacing_bps: f64,
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in scenarios.
    pub name: &'static str,
    /// Short name.
    pub alias: Option<&'static str>,
    /// One-line description.
    pub summary: &'static str,
    /// Documents and source files that the control follows.
    pub source: &'static str,
    /// Permitted ECN fields of the packets; the first one is the default.
    pub ecn: &'static [Ecn],
    make: fn() -> Box<dyn Control>,
}

/// All controls.
pub const CONTROLS: &[Entry] = &[
    Entry {
        name: "nada@ns3-rmcat",
        alias: Some("nada"),
        summary: "NADA (RFC 8698) as in its authors' code for ns-3: delay, losses and marks in one signal",
        source: "Cisco ns3-rmcat, nada-controller.cc and sender-based-controller.cc (draft-ietf-rmcat-nada-05)",
        ecn: &[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1],
        make: || Box::new(nada::Nada::ns3_rmcat()),
    },
    Entry {
        name: "nada@rfc8698",
        alias: None,
        summary: "NADA as in the pseudo code of RFC 8698: the signal has no ceiling, losses are smoothed with each packet",
        source: "RFC 8698",
        ecn: &[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1],
        make: || Box::new(nada::Nada::rfc8698()),
    },
    Entry {
        name: "gcc@libwebrtc",
        alias: Some("gcc"),
        summary: "Google congestion control as libwebrtc runs it: delay, its second estimator by losses, probing",
        source: "libwebrtc of 2025, modules/congestion_controller/goog_cc and modules/pacing",
        ecn: &[Ecn::NotEct],
        make: || Box::new(gcc::Gcc::libwebrtc()),
    },
    Entry {
        name: "gcc@draft02",
        alias: None,
        summary: "Google congestion control of its draft: a Kalman filter at the receiver, REMB, losses of 2 % and 10 %",
        source: "draft-ietf-rmcat-gcc-02, as code and its table quote it",
        ecn: &[Ecn::NotEct],
        make: || Box::new(gcc::Draft02::literal()),
    },
    Entry {
        name: "gcc@draft02-scaled",
        alias: None,
        summary: "gcc@draft02 with the filter's output compared up to sixtyfold, as implementations do",
        source: "draft-ietf-rmcat-gcc-02, and libwebrtc's comparison",
        ecn: &[Ecn::NotEct],
        make: || Box::new(gcc::Draft02::scaled()),
    },
    Entry {
        name: "gcc@unprobed",
        alias: None,
        summary: "Google congestion control of libwebrtc without probes, with its first loss controller (2 % and 10 %)",
        source: "libwebrtc of June 2025, modules/congestion_controller/goog_cc",
        ecn: &[Ecn::NotEct],
        make: || Box::new(gcc::Gcc::unprobed()),
    },
    Entry {
        name: "scream@v2",
        alias: Some("scream"),
        summary: "SCReAM version 2: a window by losses, marks and delay, a rate by the window; scalable (L4S)",
        source: "draft-ietf-ccwg-rfc8298bis-screamv2, as of August 2026",
        ecn: &[Ecn::Ect1, Ecn::Ect0, Ecn::NotEct],
        make: || Box::new(scream::Scream2::new()),
    },
    Entry {
        name: "scream@rfc8298",
        alias: None,
        summary: "SCReAM of RFC 8298: a window like LEDBAT's, a rate by the queue before the pacer",
        source: "RFC 8298",
        ecn: &[Ecn::NotEct, Ecn::Ect0],
        make: || Box::new(scream::Scream1::new()),
    },
];

/// The entry with name or alias `name`, ignoring case.
pub fn entry(name: &str) -> Option<&'static Entry> {
    let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
    CONTROLS.iter().find(|entry| is_meant(entry.name) || entry.alias.is_some_and(is_meant))
}

/// The control with name or alias `name`, in its initial state.
pub fn new(name: &str) -> Option<Box<dyn Control>> {
    entry(name).map(|entry| (entry.make)())
}
