//! The link that a queue feeds.

use crate::rate::Rate;
use crate::time::Duration;

/// What the link below the queue is, as far as an algorithm may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Nominal rate: of a fixed-rate link the rate, of a trace its mean.
    pub rate: Rate,
    /// Largest packet in bytes, as the queue accounts it.
    pub mtu: u32,
    /// Propagation delay behind it, one way, where it is known; else zero. Of one that changes, the first.
    pub delay: Duration,
}

impl Link {
    /// A link whose delay is not known.
    pub const fn new(rate: Rate, mtu: u32) -> Self {
        Self { rate, mtu, delay: Duration::ZERO }
    }
}
