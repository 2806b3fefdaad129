//! Reports of arrivals: what they tell, what they look like on the wire, and when a control wants them.

use sojourn_aqm::{Duration, Ecn, Instant};

/// How a control is told of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct ReportConfig {
    /// What reports look like.
    pub format: Format,
    /// Time between two reports, of a receiver at which so many bit/s arrive; unknown before the first report.
    pub interval: fn(Option<f64>) -> Duration,
    /// Reports are made with the last packet of a frame, too, and where so many packets wait to be told of.
    pub early_after: Option<usize>,
}

impl ReportConfig {
    /// Reports in a format, by the clock alone.
    pub fn timed(format: Format, interval: fn(Option<f64>) -> Duration) -> Self {
        Self { format, interval, early_after: None }
    }
}

/// What reports look like on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// RFC 8888, section 3.1: two bytes a packet, times in 1/1024 s before that of the report, and ECN fields.
    Rfc8888,
    /// Transport-wide feedback (draft-holmer-rmcat-transport-wide-cc-extensions-01, section 3.1): times in 250 us.
    TransportWide,
    /// A receiver report (RFC 3550, section 6.4.2) with a rate (draft-alvestrand-rmcat-remb): of packets it tells the share
    /// that is lost alone.
    Remb,
}

impl Format {
    /// Bytes of the IP packet of a report about so many packets.
    pub fn bytes(self, packets: u64) -> u32 {
        let rtcp = match self {
            // Header and sender; stream, first number and count; padded to words; time of the report.
            Self::Rfc8888 => 8 + 8 + (2 * packets).next_multiple_of(4) + 4,
            // Header and sender; stream; first number, count, reference time, number of the report; chunks of seven
            // symbols of two bits; small deltas.
            Self::TransportWide => (8 + 4 + 8 + 2 * packets.div_ceil(7) + packets).next_multiple_of(4),
            // Header, sender and a block; header, sender, media, name, count and rate, stream.
            Self::Remb => 8 + 24 + 4 + 4 + 4 + 4 + 4 + 4,
        };
        rtcp as u32 + 8 + 20
    }

    /// When a packet came, as a report tells it that is made at `made`.
    pub(crate) fn rounded(self, at: Instant, made: Instant) -> Instant {
        match self {
            Self::Rfc8888 => {
                let before = (made - at).as_nanos() as u128 * 1024 / 1_000_000_000;
                made - Duration::from_nanos((before * 1_000_000_000 / 1024) as i64)
            }
            Self::TransportWide => Instant::from_nanos(at.as_nanos() / 250_000 * 250_000),
            // It has no times of packets: these are for the books.
            Self::Remb => at,
        }
    }
}

/// What a receiver tells.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// When it was made.
    pub sent_at: Instant,
    /// It tells of packets from this number on …
    pub begin: u64,
    /// … and up to before this one; those that did not arrive are not in `arrivals`.
    pub end: u64,
    /// What arrived, in the order of the packets' numbers.
    pub arrivals: Vec<Arrival>,
    /// Bytes of the IP packet that it is.
    pub bytes: u32,
    /// The rate that the receiver's part of the control tells, in bit/s.
    pub remb_bps: Option<f64>,
}

/// A packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its number.
    pub seq: u64,
    /// When it came, as the format tells it.
    pub at: Instant,
    /// Its ECN field then.
    pub ecn: Ecn,
}
