//! Errors of a net, with place and remedy.

use sojourn_sim::endpoint::SendError;
use sojourn_sim::{scenario, sentence};
use std::path::PathBuf;

/// Error of a net.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The world is invalid.
    #[error(transparent)]
    World(#[from] scenario::Error),
    /// A file cannot be read or written.
    #[error("{}: {source}; check the path", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// A group of ends that the world does not have.
    #[error("{name:?}: the world has no such endpoint; {known}")]
    Group {
        /// Name that was asked for.
        name: String,
        /// Names of the world's endpoints, as a remedy.
        known: String,
    },
    /// A member beyond the group's `count`.
    #[error("{name:?} has {count} pairs of ends, numbered from 0; there is no number {index}")]
    Member {
        /// The group.
        name: String,
        /// Its size.
        count: u32,
        /// Number that was asked for.
        index: u32,
    },
    /// A tag that the group does not have.
    #[error("{group:?} has no tag {tag:?}; add it to the key tags of the group")]
    Tag {
        /// The group.
        group: String,
        /// Tag that was asked for.
        tag: String,
    },
    /// A datagram that cannot be sent.
    #[error("{end}: {source}")]
    Send {
        /// Name of the end.
        end: String,
        /// Reason.
        source: SendError,
    },
    /// A program that asks for what no run can give.
    #[error("{0}")]
    Fault(String),
    /// A clock of the process that cannot follow the net.
    #[cfg(feature = "process")]
    #[error("{0}")]
    Process(String),
    /// A time before the present.
    #[error("{at} ns is before the net's time, {now} ns; time never goes back")]
    Past {
        /// Time that was asked for.
        at: u64,
        /// The present.
        now: u64,
    },
    /// A sentence that cannot be read.
    #[error(transparent)]
    Sentence(#[from] sentence::Error),
    /// A decision log or a record of another form.
    #[error("{place}: {problem}; {remedy}")]
    Log {
        /// File and line.
        place: String,
        /// The fault.
        problem: String,
        /// Its remedy.
        remedy: &'static str,
    },
}

impl Error {
    /// Whether the host only has no room now: an event [`Room`](crate::Event::Room) follows.
    pub fn would_block(&self) -> bool {
        matches!(self, Self::Send { source: SendError::WouldBlock, .. })
    }
}

impl From<Error> for std::io::Error {
    /// As a socket reports it: `WouldBlock` if the host has no room now.
    fn from(error: Error) -> Self {
        let kind = if error.would_block() { std::io::ErrorKind::WouldBlock } else { std::io::ErrorKind::Other };
        Self::new(kind, error)
    }
}

/// The text for readers: `unwrap` in a test then prints the remedy as well.
impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}
