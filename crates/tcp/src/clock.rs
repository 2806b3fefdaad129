//! Clocks of hosts: ticks, timestamps, microseconds.

use sojourn_aqm::{Duration, Instant};

/// A time on a host's coarse clock, or a span. Timestamps on the wire are its low 32 bits.
pub type Ticks = u64;

/// An instant, and the tick of the host's clock in which it lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTime {
    pub at: Instant,
    pub tick: Ticks,
}

impl HostTime {
    /// The tick of this host whose timestamp the other side echoes.
    #[inline]
    pub fn echoed(self, ts_ecr: u32) -> Ticks {
        unwrap_timestamp(self.tick, ts_ecr)
    }

    /// Ticks since the one that a timestamp echoes; none since one to come.
    #[inline(always)]
    pub fn since_echoed(self, ts_ecr: u32) -> Ticks {
        // As `tick - echoed(ts_ecr)`, with no look at what lies on the way.
        let since = -i64::from(ts_ecr.wrapping_sub(self.tick as u32) as i32);
        (since.max(0) as u64).min(self.tick)
    }
}

/// The tick nearest to `now` that has these low 32 bits.
#[inline]
pub(crate) fn unwrap_timestamp(now: Ticks, low: u32) -> Ticks {
    now.saturating_add_signed(low.wrapping_sub(now as u32) as i32 as i64)
}

/// Whether a timestamp is newer than another one (RFC 7323 §5.2: by half of their range).
#[inline]
pub(crate) fn is_newer(stamp: u32, than: u32) -> bool {
    stamp.wrapping_sub(than) as i32 > 0
}

/// How long every host had been up when the run began. So had the guest of the kernel engine, and the queue managers of links:
/// clocks of microseconds turn over when theirs do.
pub const UPTIME: Duration = Duration::from_nanos(10_000_000_100);

/// Microseconds on a host's clock (`tcp_mstamp`), on which the run begins 100 ns behind a whole one.
#[inline]
pub(crate) fn micros_at(at: Instant) -> u64 {
    (at + UPTIME).as_nanos() / 1_000
}

/// A host's coarse clock: jiffies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    tick: Duration,
}

impl Clock {
    /// A clock that counts spans of `tick`.
    pub const fn new(tick: Duration) -> Self {
        Self { tick }
    }

    /// Ticks at `now`.
    #[inline]
    pub fn ticks(self, now: Instant) -> Ticks {
        now.as_nanos() / self.tick.as_nanos() as u64
    }

    /// The tick at `at`, with it.
    #[inline]
    pub(crate) fn now(self, at: Instant) -> HostTime {
        HostTime { at, tick: self.ticks(at) }
    }

    /// The instant of a tick.
    #[inline]
    pub fn instant(self, ticks: Ticks) -> Instant {
        Instant::from_nanos(ticks * self.tick.as_nanos() as u64)
    }

    /// The span of a number of ticks.
    #[inline]
    pub fn duration(self, ticks: Ticks) -> Duration {
        self.tick * ticks as i64
    }

    /// Ticks in a span, begun ones included.
    pub(crate) fn ticks_rounded_up(self, span: Duration) -> Ticks {
        (span.as_nanos() as u64).div_ceil(self.tick.as_nanos() as u64)
    }

    /// Ticks in a span, at least one.
    pub fn ticks_at_least_one(self, span: Duration) -> Ticks {
        ((span.as_nanos() / self.tick.as_nanos()) as u64).max(1)
    }
}
