//! Congestion controls of media: what rate the encoder gets, and when its packets leave.

mod gcc;
mod nada;

use crate::frames::Source;
use crate::receiver::Reporting;
use sojourn_aqm::{Duration, Ecn, Instant};
use std::fmt::Debug;

/// A congestion control of media. One file, and one line in [`CONTROLS`].
pub trait Control: Debug + Send {
    /// How it wants to be told of arrivals; the same at any time.
    fn reporting(&self) -> Reporting;
    /// Learns what it controls, before anything else.
    fn begin(&mut self, now: Instant, source: &Source);
    /// A packet was sent; `in_flight` bytes are out now, with it.
    fn on_sent(&mut self, sent: &Sent, in_flight: u64) {
        let _ = (sent, in_flight);
    }
    /// A report has told what became of packets.
    fn on_results(&mut self, results: &Results);
    /// When its timer is due.
    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
    /// Its deadline has come, or an earlier one.
    fn on_timer(&mut self, now: Instant) {
        let _ = now;
    }
    /// The rates, while `waiting` bytes wait for the pacer.
    fn rates(&self, waiting: u64) -> Rates;
    /// Bytes that may be out; without it, only the pacer holds packets back. One packet may always be out.
    fn window_bytes(&self) -> Option<u64> {
        None
    }
    /// The ECN field of the next packet.
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its IP bytes.
    pub bytes: u32,
    /// When it left the pacer.
    pub at: Instant,
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
pub struct Results<'a> {
    /// When it arrived.
    pub now: Instant,
    /// When the receiver made it.
    pub made: Instant,
    /// Packets in the order of sending; at least one.
    pub packets: &'a [PacketResult],
    /// Bytes that are still out.
    pub in_flight: u64,
}

impl Results<'_> {
    /// The packets that arrived, with their round-trip times, from which the time at the receiver is taken.
    pub fn round_trips(&self) -> impl Iterator<Item = Duration> + '_ {
        let there_and_back = |packet: &PacketResult| {
            let held = self.made - packet.arrived?;
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
    make: fn() -> Box<dyn Control>,
}

/// Every control.
pub const CONTROLS: &[Entry] = &[
    Entry {
        name: "nada@ns3-rmcat",
        alias: Some("nada"),
        summary: "NADA (RFC 8698) as in its authors' code for ns-3: delay, losses and marks in one signal",
        source: "Cisco ns3-rmcat, nada-controller.cc and sender-based-controller.cc (draft-ietf-rmcat-nada-05)",
        make: || Box::new(nada::Nada::ns3_rmcat()),
    },
    Entry {
        name: "nada@rfc8698",
        alias: None,
        summary: "NADA as in the pseudo code of RFC 8698: the signal has no ceiling, losses are smoothed with each packet",
        source: "RFC 8698, as code quotes it that follows it",
        make: || Box::new(nada::Nada::rfc8698()),
    },
    Entry {
        name: "gcc@unprobed",
        alias: None,
        summary: "Google congestion control of libwebrtc without probes, with its first loss controller (2 % and 10 %)",
        source: "libwebrtc of June 2025, modules/congestion_controller/goog_cc",
        make: || Box::new(gcc::Gcc::new()),
    },
];

/// The control called `name`, in its initial state.
pub fn new(name: &str) -> Option<Box<dyn Control>> {
    CONTROLS.iter().find(|entry| entry.name == name || entry.alias == Some(name)).map(|entry| (entry.make)())
}
