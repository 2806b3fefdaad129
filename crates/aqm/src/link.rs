//! The link that a queue feeds, and its machine.

use crate::rate::Rate;
use crate::time::{Duration, Instant};

/// Properties of the link below the queue and of its machine that an algorithm can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    /// Nominal rate: the rate of a fixed-rate link, the mean of a trace.
    pub rate: Rate,
    /// Largest packet in bytes, as the queue accounts it.
    pub mtu: u32,
    /// One-way propagation delay, if known; otherwise zero. The initial one if it changes. ns-2's RED needs it for its
    /// automatic weight.
    pub delay: Duration,
    /// Uptime of the machine at the origin of the host's clock, because Linux counts time from the boot. Zero if the
    /// host's clock does too.
    pub uptime: Duration,
}

impl Link {
    /// A link of unknown delay, in a machine that booted at the origin of the clock.
    pub const fn new(rate: Rate, mtu: u32) -> Self {
        Self { rate, mtu, delay: Duration::ZERO, uptime: Duration::ZERO }
    }

    /// Boot time of the machine, for spans since then; before the clock's origin it is not ordered.
    pub(crate) fn boot(&self) -> Instant {
        Instant::ZERO - self.uptime
    }
}
