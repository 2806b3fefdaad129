//! The link that a queue feeds, and the machine that it is in.

use crate::rate::Rate;
use crate::time::{Duration, Instant};

/// What the link below the queue is, and its machine, as far as an algorithm may know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Nominal rate: of a fixed-rate link the rate, of a trace its mean.
    pub rate: Rate,
    /// Largest packet in bytes, as the queue accounts it.
    pub mtu: u32,
    /// Propagation delay behind it, one way, where it is known; else zero. Of one that changes, the first.
    pub delay: Duration,
    /// How long the machine had been up at the origin of the host's clock: Linux counts time from the boot. Zero where the
    /// host's clock does so, too.
    pub uptime: Duration,
}

impl Link {
    /// A link whose delay is not known, of a machine that booted at the origin of the clock.
    pub const fn new(rate: Rate, mtu: u32) -> Self {
        Self { rate, mtu, delay: Duration::ZERO, uptime: Duration::ZERO }
    }

    /// When the machine booted, for spans since then: before the clock's origin it has no order.
    pub(crate) fn boot(&self) -> Instant {
        Instant::ZERO - self.uptime
    }
}
