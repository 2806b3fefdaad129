//! Counters of a sender.

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Data segments retransmitted.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
}
