//! The state of congestion avoidance.

/// Where congestion avoidance stands (Linux `TCP_CA_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
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
