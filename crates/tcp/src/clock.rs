//! Clocks of hosts: jiffies, timestamps, microseconds.

use sojourn_aqm::{Duration, Instant};

/// A time on a host's coarse clock, or a span. 64 bits, so that timers need no wrapping arithmetic; a timestamp on the
/// wire is the low 32 bits (RFC 7323).
pub type Ticks = u64;

/// An instant, and the tick of the host's clock that contains it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostTime {
    pub at: Instant,
    pub tick: Ticks,
}

impl HostTime {
    /// The tick of this host whose timestamp the peer echoes.
    #[inline]
    pub fn echoed(self, ts_ecr: u32) -> Ticks {
        unwrap_timestamp(self.tick, ts_ecr)
    }

    /// Ticks since the tick of an echoed timestamp; zero if that lies in the future.
    #[inline(always)]
    pub fn since_echoed(self, ts_ecr: u32) -> Ticks {
        // Equal to `tick - echoed(ts_ecr)` saturated at zero, without a branch.
        let since = -i64::from(ts_ecr.wrapping_sub(self.tick as u32) as i32);
        (since.max(0) as u64).min(self.tick)
    }
}

/// The tick nearest to `now` with these low 32 bits.
#[inline]
pub(crate) fn unwrap_timestamp(now: Ticks, low: u32) -> Ticks {
    now.saturating_add_signed(low.wrapping_sub(now as u32) as i32 as i64)
}

/// Whether a timestamp is newer than another (RFC 7323 §5.2: less than half the range ahead).
#[inline]
pub(crate) fn is_newer(stamp: u32, than: u32) -> bool {
    stamp.wrapping_sub(than) as i32 > 0
}

/// Uptime of every host at the start of the run, the same as of the kernel engine's guest and of the links' queue
/// disciplines, so that microsecond clocks change at the same instants. The 100 ns are the guest's too: its run begins
/// 100 ns after a tick.
pub const UPTIME: Duration = Duration::from_nanos(10_000_000_100);

/// Microseconds on a host's clock (`tcp_mstamp`). Rounded with [`UPTIME`]: otherwise rate samples differ from the
/// kernel's by a microsecond, and flows soon diverge.
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
    /// A clock with ticks of `tick`.
    pub const fn new(tick: Duration) -> Self {
        Self { tick }
    }

    /// Ticks at `now`.
    #[inline]
    pub fn ticks(self, now: Instant) -> Ticks {
        now.as_nanos() / self.tick.as_nanos() as u64
    }

    /// The tick at `at`, together with it.
    #[inline]
    pub(crate) fn now(self, at: Instant) -> HostTime {
        HostTime { at, tick: self.ticks(at) }
    }

    /// Beginning of a tick.
    #[inline]
    pub fn instant(self, ticks: Ticks) -> Instant {
        Instant::from_nanos(ticks * self.tick.as_nanos() as u64)
    }

    /// The span of a number of ticks.
    #[inline]
    pub fn duration(self, ticks: Ticks) -> Duration {
        self.tick * ticks as i64
    }

    /// Ticks in a span, rounded up.
    pub(crate) fn ticks_rounded_up(self, span: Duration) -> Ticks {
        (span.as_nanos() as u64).div_ceil(self.tick.as_nanos() as u64)
    }

    /// Ticks in a span, at least one.
    pub fn ticks_at_least_one(self, span: Duration) -> Ticks {
        ((span.as_nanos() / self.tick.as_nanos()) as u64).max(1)
    }
}
