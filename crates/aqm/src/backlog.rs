//! How much waits in a queue.

/// A backlog: what waits, not what is being transmitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Waiting packets.
    pub packets: u32,
    /// Waiting bytes.
    pub bytes: u64,
}
