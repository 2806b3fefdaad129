//! Errors of writing, reading and replaying logs.

use sojourn_sim::scenario;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use thiserror::Error;

/// A write error that ended a log; the text names the file and the remedy.
#[derive(Debug, Error)]
#[error("{}: {error}{}", path.display(), remedy(error.kind()))]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// The system's error.
    pub error: io::Error,
}

fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free some space. The log ends there",
        _ => "; the log ends there",
    }
}

/// A log cannot be read or replayed. The text continues the name of the log: `up.log: is truncated in its header`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file does not begin with the magic of a log.
    #[error("is not a log of an emulated link")]
    NoLog,
    /// The file ends before its first record.
    #[error("is truncated in its header")]
    CutOff,
    /// The head is not valid JSON.
    #[error("has a damaged header: {0}")]
    Head(serde_json::Error),
    /// The log was written by another version.
    #[error("has format {found}, this version reads {expected}; run it again")]
    Format {
        /// Format in the head.
        found: String,
        /// Format that this version reads.
        expected: u32,
    },
    /// The record of this number is invalid.
    #[error("has a damaged record {0}")]
    Record(usize),
    /// The log is of a delay or a loss, or of the other direction.
    #[error("is a log of {kind} {side}; give one of link {expected}")]
    Other {
        /// Kind in the head.
        kind: String,
        /// Direction in the head.
        side: String,
        /// Requested direction.
        expected: &'static str,
    },
    /// The link in the head is invalid.
    #[error(transparent)]
    Link(#[from] scenario::Error),
    /// The head has no seed.
    #[error("its header has no seed")]
    NoSeed,
    /// A packet never arrived.
    #[error("has no arrival of packet {0}")]
    NoArrival(usize),
    /// A packet left before it arrived.
    #[error("record {record} names packet {packet}, which has not arrived")]
    LateArrival {
        /// Number of the packet.
        packet: u32,
        /// Number of the record of its fate.
        record: usize,
    },
    /// A packet has two fates.
    #[error("records two fates of packet {0}")]
    TwoFates(u32),
    /// A packet has an impossible size.
    #[error("record {record} has a packet of {bytes} bytes")]
    Size {
        /// Its size.
        bytes: u32,
        /// Number of its record.
        record: usize,
    },
    /// The time of this record is before that of an earlier one, or beyond the maximum.
    #[error("goes back in time, or is too long, at record {0}")]
    Time(usize),
    /// More payload of a packet left than it has.
    #[error("has an impossible payload of packet {0}")]
    Payload(u32),
}
