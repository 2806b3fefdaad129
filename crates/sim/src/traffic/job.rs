//! Purposes of connections.

use super::exchange::Script;

/// The purpose of a connection.
pub(super) enum Job {
    /// The source sends this many bytes.
    Upload(u64),
    /// The sink sends requests, the source responds.
    Dialogue(Script),
    /// The source keeps this many bytes unsent.
    Load(u64),
}
