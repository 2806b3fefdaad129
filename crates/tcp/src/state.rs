//! The state of congestion avoidance.

/// State of congestion avoidance (Linux `TCP_CA_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing suspicious.
    Open,
    /// Duplicates or SACKs have arrived.
    Disorder,
    /// The window is being reduced because of a congestion mark.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A time-out expired.
    Loss,
}
