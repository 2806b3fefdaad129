//! Purposes of connections.

use super::exchange::Script;

/// What a connection is for.
pub(super) enum Job {
    /// The source sends so many bytes.
    Upload(u64),
    /// The sink asks, the source answers.
    Dialogue(Script),
    /// The source keeps so many bytes unsent.
    Load(u64),
}
