//! What is wrong with a log: why it could not be written on, and why it cannot be read or replayed.

use sojourn_sim::scenario;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use thiserror::Error;

/// A log that ended because its file took no more; the text names the file and the remedy.
#[derive(Debug, Error)]
#[error("{}: {error}{}", path.display(), remedy(error.kind()))]
pub struct WriteError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub error: io::Error,
}

fn remedy(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => "; free some space. The log ends there",
        _ => "; the log ends there",
    }
}

/// Why a log cannot be read or replayed. The text goes on from the name of the log: `up.log: is cut off in its head`.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file does not begin as a log does.
    #[error("is not a log of an emulated link")]
    NoLog,
    /// It ends before its first record.
    #[error("is truncated in its header")]
    CutOff,
    /// The head is no JSON.
    #[error("has a damaged header: {0}")]
    Head(serde_json::Error),
    /// It was written by another version.
    #[error("has format {found}, this version reads {expected}; run it again")]
    Format {
        /// As the head says it.
        found: String,
        /// What this version reads.
        expected: u32,
    },
    /// The record of this number is none.
    #[error("has a damaged record {0}")]
    Record(usize),
    /// It is of a delay or a loss, or of the other direction.
    #[error("is a log of {kind} {side}; give one of link {expected}")]
    Other {
        /// What it is of, as the head says it.
        kind: String,
        /// Its direction, as the head says it.
        side: String,
        /// The direction that is asked for.
        expected: &'static str,
    },
    /// The head describes no link.
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
        /// Number of the record in which it leaves.
        record: usize,
    },
    /// A packet left twice.
    #[error("records two fates of packet {0}")]
    TwoFates(u32),
    /// A packet of a size that no link carries.
    #[error("record {record} has a packet of {bytes} bytes")]
    Size {
        /// Its size.
        bytes: u32,
        /// Number of its record.
        record: usize,
    },
    /// The time of this record is before that of an earlier one, or centuries away.
    #[error("goes back in time, or is too long, at record {0}")]
    Time(usize),
    /// More payload left than a packet has.
    #[error("has an impossible payload of packet {0}")]
    Payload(u32),
}
