//! The link that a queue feeds.

use crate::rate::Rate;

/// What the link below the queue is, as far as an algorithm may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Nominal rate: of a fixed-rate link the rate, of a trace its mean.
    pub rate: Rate,
    /// Largest packet in bytes, as the queue accounts it.
    pub mtu: u32,
}
