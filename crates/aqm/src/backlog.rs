//! The backlog of a queue.

/// A backlog: queued packets, without the one in transmission.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Queued packets.
    pub packets: u32,
    /// Queued bytes.
    pub bytes: u64,
}
