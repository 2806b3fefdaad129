//! What a sender is made of, and what it tells of itself.

use crate::cc::AnyCc;
use crate::stack::Stack;

/// What a sender is made of.
#[derive(Clone, Debug)]
pub struct SenderConfig {
    /// The stack's mechanisms.
    pub stack: &'static Stack,
    /// The congestion control.
    pub cc: AnyCc,
    /// Payload of a full segment in bytes.
    pub mss: u32,
    /// Whether SACK is negotiated.
    pub sack: bool,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// Initial window in segments; the stack's when absent.
    pub initial_window: Option<u32>,
    /// The receiver's window in bytes; the stack's when absent.
    pub receive_window: Option<u64>,
}

/// Where congestion avoidance stands (Linux `TCP_CA_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing suspicious.
    Open,
    /// Duplicates or SACKs were seen.
    Disorder,
    /// The window is being reduced because of a congestion mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A time-out expired.
    Loss,
}

/// Counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Data segments sent again.
    pub retransmissions: u64,
    /// Retransmission time-outs.
    pub timeouts: u64,
}
