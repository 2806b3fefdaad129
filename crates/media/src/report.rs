//! Reports of arrivals: contents, wire format and schedule. Sizes of RFC 8888 reports are from its section 3.1; those
//! of REMB and transport-wide feedback were not checked against their documents.

use sojourn_aqm::{Duration, Ecn, Instant};

/// Format and schedule of a control's reports.
#[derive(Clone, Copy, Debug)]
pub struct ReportConfig {
    /// Wire format.
    pub format: Format,
    /// Time between reports as a function of the receive rate in bit/s, which is `None` before the first report.
    pub interval: fn(Option<f64>) -> Duration,
    /// If set, a report is also due with the last packet of a frame, and when this many packets wait for a report.
    pub early_after: Option<usize>,
}

impl ReportConfig {
    /// Periodic reports only.
    pub fn timed(format: Format, interval: fn(Option<f64>) -> Duration) -> Self {
        Self { format, interval, early_after: None }
    }
}

/// Wire format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 8888, section 3.1: two bytes per packet with the ECN field and the time before the report in 1/1024 s.
    Rfc8888,
    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1): times in 250 us
    /// units.
    TransportWide,
    /// A receiver report (RFC 3550, section 6.4.2) with a rate (draft-alvestrand-rmcat-remb); about packets it has only
    /// the loss fraction.
    Remb,
}

impl Format {
    /// Bytes of the IP packet of a report that covers `packets` packets.
    pub fn bytes(self, packets: u64) -> u32 {
        let rtcp = match self {
            // Header and sender; stream, begin_seq and num_reports; metrics, padded to words; report timestamp.
            Self::Rfc8888 => 8 + 8 + (2 * packets).next_multiple_of(4) + 4,
            // Header and sender; stream; base sequence number, count, reference time, report count; status chunks of
            // seven two-bit symbols; small deltas.
            Self::TransportWide => (8 + 4 + 8 + 2 * packets.div_ceil(7) + packets).next_multiple_of(4),
            // RR: header, sender and a report block. REMB: header, sender, media, identifier, count and rate, stream.
            Self::Remb => 8 + 24 + 4 + 4 + 4 + 4 + 4 + 4,
        };
        rtcp as u32 + 8 + 20
    }

    /// Arrival time of a packet, at the resolution of a report made at `made`.
    pub(crate) fn rounded(self, at: Instant, made: Instant) -> Instant {
        match self {
            Self::Rfc8888 => {
                let before = (made - at).as_nanos() as u128 * 1024 / 1_000_000_000;
                made - Duration::from_nanos((before * 1_000_000_000 / 1024) as i64)
            }
            Self::TransportWide => Instant::from_nanos(at.as_nanos() / 250_000 * 250_000),
            // REMB carries no arrival times; these are for statistics.
            Self::Remb => at,
        }
    }
}

/// A receiver's report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// When it was made.
    pub sent_at: Instant,
    /// First sequence number covered.
    pub begin: u64,
    /// Sequence number after the last one covered; packets missing in `arrivals` did not arrive.
    pub end: u64,
    /// Arrived packets in the order of sequence numbers.
    pub arrivals: Vec<Arrival>,
    /// Bytes of the report's IP packet.
    pub bytes: u32,
    /// Estimate of the control's receiving end, in bit/s.
    pub remb_bps: Option<f64>,
}

/// The arrival of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Sequence number.
    pub seq: u64,
    /// Arrival time at the resolution of the format.
    pub at: Instant,
    /// ECN field on arrival.
    pub ecn: Ecn,
}
