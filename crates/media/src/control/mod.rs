//! Congestion controls of media: what rate the encoder gets, and when its packets leave.

mod gcc;
mod nada;
mod scream;

use crate::frames::Source;
use crate::prober::ProbeCluster;
use crate::report::ReportConfig;
use sojourn_aqm::{Duration, Ecn, Instant};
use std::fmt::Debug;

/// A congestion control of media. One file, and one line in [`CONTROLS`].
pub trait Control: Debug + Send {
    /// How it wants to be told of arrivals; the same at any time.
    fn report_config(&self) -> ReportConfig;
    /// What it has at the receiver, which then tells a rate in its reports.
    fn remote(&self) -> Option<Box<dyn RemoteEstimator>> {
        None
    }
    /// Learns what it controls, before anything else.
    fn begin(&mut self, now: Instant, source: &Source);
    /// Learns the ECN field of its packets, one that its [`Entry`] admits, if it is not `NotEct`.
    fn set_ecn(&mut self, ecn: Ecn) {
        let _ = ecn;
    }
    /// The encoder has made a frame.
    fn on_frame(&mut self, frame: &NewFrame) {
        let _ = frame;
    }
    /// A packet was sent; `in_flight` bytes are out now, with it.
    fn on_sent(&mut self, sent: &SentPacket, in_flight: u64) {
        let _ = (sent, in_flight);
    }
    /// A report has told what became of packets.
    fn on_feedback(&mut self, results: &Feedback);
    /// Probes that it wants, each told once; asked after reports and timers.
    fn take_probes(&mut self) -> Vec<ProbeCluster> {
        Vec::new()
    }
    /// When its timer is due.
    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
    /// Its deadline has come, or an earlier one; `waiting` bytes wait for the pacer.
    fn on_timer(&mut self, now: Instant, waiting: u64) {
        let _ = (now, waiting);
    }
    /// The rates, while `waiting` bytes wait for the pacer.
    fn rates(&self, waiting: u64) -> Rates;
    /// Bytes that may be out; without it, only the pacer holds packets back. One packet may always be out, and one more goes
    /// after half a second in which none did.
    fn window_bytes(&self) -> Option<u64> {
        None
    }
}

/// The receiving end of a control that estimates the rate there.
pub trait RemoteEstimator: Debug + Send {
    /// A packet of so many IP bytes arrived that was sent at `sent`.
    fn on_packet(&mut self, now: Instant, sent: Instant, bytes: u32);
    /// The rate that a report tells, in bit/s; nothing before there is one.
    fn estimate_bps(&mut self) -> Option<f64>;
    /// Whether a report is due without waiting.
    fn is_urgent(&self) -> bool;
}

/// A frame that was made.
#[derive(Clone, Copy, Debug)]
pub struct NewFrame {
    /// When.
    pub at: Instant,
    /// Bytes of its IP packets.
    pub bytes: u64,
    /// How long the oldest packet before the pacer has been there.
    pub waited: Duration,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Its IP bytes.
    pub bytes: u32,
    /// When it left the pacer.
    pub at: Instant,
    /// The probe that it belongs to.
    pub probe: Option<u32>,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketResult {
    /// Its number.
    pub seq: u64,
    /// Its IP bytes.
    pub bytes: u32,
    /// When it left the pacer.
    pub sent: Instant,
    /// When it arrived; `None` where it did not.
    pub arrived: Option<Instant>,
    /// Its ECN field on arrival.
    pub ecn: Ecn,
    /// The probe that it belongs to.
    pub probe: Option<u32>,
}

impl PacketResult {
    /// Its one-way delay, if it arrived.
    pub fn delay(&self) -> Option<Duration> {
        self.arrived.map(|arrived| arrived - self.sent)
    }

    /// Whether it arrived with a mark of congestion.
    pub fn is_marked(&self) -> bool {
        self.ecn == Ecn::Ce
    }
}

/// What a report tells.
#[derive(Clone, Copy, Debug)]
pub struct Feedback<'a> {
    /// When it arrived.
    pub now: Instant,
    /// When the receiver made it.
    pub sent_at: Instant,
    /// Packets in the order of sending; at least one.
    pub packets: &'a [PacketResult],
    /// Bytes that are still out.
    pub in_flight: u64,
    /// The rate that the receiver tells (REMB).
    pub remb_bps: Option<f64>,
}

impl Feedback<'_> {
    /// The packets that arrived, with their round-trip times, from which the time at the receiver is taken.
    pub fn round_trips(&self) -> impl Iterator<Item = Duration> + '_ {
        let there_and_back = |packet: &PacketResult| {
            let held = self.sent_at - packet.arrived?;
            Some(self.now - packet.sent - held)
        };
        self.packets.iter().filter_map(there_and_back)
    }
}

/// What a control sets, in bit/s; above zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// For the encoder.
    pub target_bps: f64,
    /// For the pacer.
    pub pacing_bps: f64,
}

/// A line of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name in scenarios.
    pub name: &'static str,
    /// A shorter one.
    pub alias: Option<&'static str>,
    /// What it is.
    pub summary: &'static str,
    /// Documents and files that it follows.
    pub source: &'static str,
    /// ECN fields that its packets may have: the first one unless told otherwise.
    pub ecn: &'static [Ecn],
    make: fn() -> Box<dyn Control>,
}

/// Every control.
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
        summary: "Google congestion control as libwebrtc runs it: delay, its second estimator by losses, probes",
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

/// The line of the control called `name`.
pub fn entry(name: &str) -> Option<&'static Entry> {
    let is_meant = |known: &str| known.eq_ignore_ascii_case(name);
    CONTROLS.iter().find(|entry| is_meant(entry.name) || entry.alias.is_some_and(is_meant))
}

/// The control called `name`, in its initial state.
pub fn new(name: &str) -> Option<Box<dyn Control>> {
    entry(name).map(|entry| (entry.make)())
}
