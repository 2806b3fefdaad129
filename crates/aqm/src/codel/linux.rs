//! CoDel as in Linux (`include/net/codel.h`, `codel_impl.h` of 6.1), with its arithmetic: 32-bit ticks of 1024 ns, and
//! a 16-bit inverse square root that one Newton step per change of `count` refines. Names follow the kernel's.
//!
//! `linux-3.10` is the code of 3.6 to 3.19: the largest packet seen defines a small backlog (`maxpacket`), and an empty
//! queue leaves `first_above_time` unchanged (`keep_above`). The latter is from memory for 3.10.
//!
//! Differs: `count` saturates.

use super::selector::Selector;
use super::{Config, MAX_COUNT, MaxPacket, StateVariables, counted, mark_beyond_threshold, mark_or_drop};
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket};
use crate::inverse_root::newton_step;
use crate::link::Link;
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use core::ops::{Add, Sub};

/// Time or span of the kernel's clock (`codel_time_t`). It wraps after 4,398 s, so order is the sign of a difference:
/// spans up to 2,199 s compare correctly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ticks(u32);

impl Ticks {
    const ZERO: Self = Self(0);
    /// Ticks of 1024 ns: a shift, while microseconds would need a division.
    const SHIFT: u32 = 10;

    /// Tick of a point in time, rounded down.
    #[inline]
    fn at(now: Instant) -> Self {
        Self((now.as_nanos() >> Self::SHIFT) as u32)
    }

    /// Ticks of a span, rounded down; capped at the longest span that compares correctly.
    fn of(span: Duration) -> Self {
        Self((span.as_nanos() >> Self::SHIFT).min(i32::MAX as i64) as u32)
    }

    /// `codel_time_after`.
    #[inline]
    fn is_after(self, other: Self) -> bool {
        (self - other).0 as i32 > 0
    }

    /// `codel_time_before`.
    #[inline]
    fn is_before(self, other: Self) -> bool {
        ((self - other).0 as i32) < 0
    }

    fn as_secs_f64(self) -> f64 {
        ((self.0 as u64) << Self::SHIFT) as f64 / 1e9
    }

    /// Seconds on the clock of a host that was up for `uptime` at its origin.
    fn on_clock(self, uptime: Duration) -> f64 {
        self.as_secs_f64() - uptime.as_secs_f64()
    }
}

impl Add for Ticks {
    type Output = Self;
    #[inline]
    fn add(self, span: Self) -> Self {
        Self(self.0.wrapping_add(span.0))
    }
}

impl Sub for Ticks {
    type Output = Self;
    #[inline]
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }
}

/// State of a queue: `codel_vars` and the used parts of `codel_params` and `codel_stats`.
#[derive(Clone, Debug)]
pub(super) struct Linux {
    /// Drops that count, of this phase or of the last one.
    count: u32,
    /// `count` right after the last entry into dropping.
    lastcount: u32,
    dropping: bool,
    /// Approximation of 1/sqrt(count), 16 bits after the point.
    rec_inv_sqrt: u16,
    ecn: bool,
    keep_above: bool,
    /// End of the interval that started when the head went above target; zero while it is below.
    first_above_time: Ticks,
    /// Time of the next drop while dropping; otherwise about the time of the last one.
    drop_next: Ticks,
    /// Sojourn time of the head judged last.
    ldelay: Ticks,
    target: Ticks,
    interval: Ticks,
    ce_threshold: Ticks,
    selector: Selector,
    /// Largest packet seen, if it defines a small backlog.
    maxpacket: Option<u32>,
    /// Kernel clock at the origin of the host's clock.
    uptime: Duration,
}

impl Linux {
    /// `codel_params_init`, `codel_vars_init` and `codel_stats_init`.
    pub fn new(config: &Config) -> Self {
        Self {
            count: 0,
            lastcount: 0,
            dropping: false,
            // 0 is the root of no count. A first phase with a count of 1 sets it. If drops over the limit have raised
            // the count before (`shed`), Newton's step keeps it at 0: all drops of that phase are due at once.
            rec_inv_sqrt: 0,
            ecn: config.ecn,
            keep_above: config.keep_above,
            first_above_time: Ticks::ZERO,
            drop_next: Ticks::ZERO,
            ldelay: Ticks::ZERO,
            target: Ticks::of(config.target),
            interval: Ticks::of(config.interval),
            ce_threshold: Ticks::of(config.ce_threshold),
            selector: Selector::new(config),
            maxpacket: match config.maxpacket {
                MaxPacket::Mtu => None,
                MaxPacket::Seen256 => Some(256),
            },
            uptime: Duration::ZERO,
        }
    }

    /// [`Aqm::attach`]: the kernel's clock starts at boot, so the initial `drop_next` of 0 is long past.
    pub fn attach(&mut self, link: Link) {
        self.uptime = link.uptime;
    }

    /// Takes over the variables of `old` and keeps its own parameters; `keep_above` and the use of `maxpacket` depend
    /// on the version.
    pub fn inherit(&mut self, old: &Self) {
        let parameters = self.clone();
        *self = Self { selector: parameters.selector, ..old.clone() };
        (self.ecn, self.keep_above) = (parameters.ecn, parameters.keep_above);
        (self.target, self.interval, self.ce_threshold) =
            (parameters.target, parameters.interval, parameters.ce_threshold);
        self.maxpacket = parameters.maxpacket.map(|first| old.maxpacket.unwrap_or(first));
    }

    /// Changes `count` and updates the root by one Newton step, which suffices when `count` rises by one. After a jump
    /// the root is inaccurate for a while; each further step squares its error.
    fn set_count(&mut self, count: u32) {
        // Differs: the kernel lets the count wrap, which is harmless because it never divides by it.
        self.count = count.min(MAX_COUNT);
        // Only the upper 16 bits are kept.
        self.rec_inv_sqrt = (newton_step((self.rec_inv_sqrt as u32) << 16, self.count) >> 16) as u16;
    }

    /// `codel_get_time` for a time on the host's clock.
    #[inline(always)]
    fn codel_get_time(&self, at: Instant) -> Ticks {
        Ticks::at(at + self.uptime)
    }

    /// `codel_control_law`: `interval / sqrt(count)` as one multiplication.
    fn control_law(&self, t: Ticks) -> Ticks {
        let step = (self.interval.0 as u64 * ((self.rec_inv_sqrt as u64) << 16)) >> 32;
        t + Ticks(step as u32)
    }

    /// `codel_should_drop`: whether the head may be dropped.
    #[inline(always)] // runs at every departure
    fn should_drop(&mut self, head: Option<Meta>, now: Ticks, cx: &Cx, queue: &dyn Fifo) -> bool {
        let Some(head) = head else {
            self.first_above_time = Ticks::ZERO;
            return false;
        };
        self.ldelay = now - self.codel_get_time(head.enqueued);
        let largest = match &mut self.maxpacket {
            None => cx.link.mtu,
            Some(seen) => {
                *seen = head.len.max(*seen);
                *seen
            }
        };
        let backlog = || queue.total_backlog().bytes - head.len as u64;
        if self.ldelay.is_before(self.target) || backlog() <= largest as u64 {
            // Below target: another whole interval must pass before packets may be dropped.
            self.first_above_time = Ticks::ZERO;
        } else if self.first_above_time == Ticks::ZERO {
            // Just above target. A packet may be dropped only if the delay stays above for an interval, because a burst
            // has drained by then and a standing queue has not.
            self.first_above_time = now + self.interval;
        } else {
            return now.is_after(self.first_above_time);
        }
        false
    }

    /// `codel_dequeue` with a head, without the transmission.
    #[inline(always)]
    fn judge_head(&mut self, head: Meta, now: Ticks, cx: &Cx, queue: &mut dyn Fifo) {
        let drop = self.should_drop(Some(head), now, cx, queue);
        if self.dropping {
            if !drop {
                // Sojourn time below target: leave dropping state.
                self.dropping = false;
            } else if !now.is_before(self.drop_next) {
                self.keep_dropping(now, cx, queue);
            }
        } else if drop {
            self.enter_dropping(now, cx, queue);
        }
        if self.ldelay.is_after(self.ce_threshold) {
            mark_beyond_threshold(queue, |head| self.selector.admits(head));
        }
    }

    /// Loop of `codel_dequeue`: the next drop is due. With a large backlog drops can be due more often than packets
    /// leave, so several may be due now.
    #[inline(always)]
    fn keep_dropping(&mut self, now: Ticks, cx: &Cx, queue: &mut dyn Fifo) {
        while self.dropping && !now.is_before(self.drop_next) {
            self.set_count(self.count + 1);
            if mark_or_drop(queue, self.ecn) {
                self.drop_next = self.control_law(self.drop_next);
                return;
            }
            if !self.should_drop(queue.meta(0), now, cx, queue) {
                // The drop ended the phase, but it was counted.
                self.dropping = false;
                return;
            }
            // Scheduled from the last drop time, not from `now`: a late dequeue does not slow down the control law.
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    /// Other branch of `codel_dequeue`: enter dropping state.
    #[inline(always)]
    fn enter_dropping(&mut self, now: Ticks, cx: &Cx, queue: &mut dyn Fifo) {
        if !mark_or_drop(queue, self.ecn) {
            self.should_drop(queue.meta(0), now, cx, queue);
        }
        self.dropping = true;
        // If the delay rises above target soon after it fell below, the drop rate that controlled the queue last time
        // is a good start. It is the increase of `count` in the last phase, because `count` itself has grown over
        // several phases.
        let delta = self.count.wrapping_sub(self.lastcount) as i32;
        let recent = (now - self.drop_next).is_before(Ticks(self.interval.0.wrapping_mul(16)));
        if delta > 1 && recent {
            // The inexact root suffices: the following steps correct it quadratically.
            self.set_count(delta as u32);
        } else {
            self.count = 1;
            self.rec_inv_sqrt = ONE;
        }
        self.lastcount = self.count;
        self.drop_next = self.control_law(now);
    }
}

impl Linux {
    /// `codel_dequeue` without the transmission.
    #[inline(always)]
    pub fn judge(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) {
        let Some(head) = queue.meta(0) else {
            self.dropping = false;
            if !self.keep_above {
                self.first_above_time = Ticks::ZERO;
            }
            return;
        };
        if !self.try_release(cx.now, &head) {
            self.judge_head(head, self.codel_get_time(cx.now), cx, queue);
        }
    }

    /// `FastDequeue::try_release`: below target and not dropping, as most packets of a controlled queue are.
    #[inline(always)]
    pub fn try_release(&mut self, now: Instant, head: &Meta) -> bool {
        let ldelay = self.codel_get_time(now) - self.codel_get_time(head.enqueued);
        let is_below = ldelay.is_before(self.target) && !ldelay.is_after(self.ce_threshold);
        let goes = is_below && !self.dropping && self.maxpacket.is_none();
        if goes {
            self.ldelay = ldelay;
            self.first_above_time = Ticks::ZERO;
        }
        goes
    }
}

impl Aqm for Linux {
    #[inline]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        self.judge(cx, queue);
        queue.pop()
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let Self { count, lastcount, dropping, .. } = *self;
        let is_below = self.first_above_time == Ticks::ZERO;
        let first_above_time = if is_below { 0.0 } else { self.first_above_time.on_clock(self.uptime) };
        let drop_next = self.drop_next.on_clock(self.uptime);
        StateVariables { count, lastcount, dropping, drop_next, first_above_time }.show(see);
    }
}

impl Lifecycle for Linux {
    fn shed(&mut self, _: &mut Cx, n: u32) {
        // As in the kernel, the root is updated at the next change only.
        self.count = counted(self.count, n);
    }

    fn unscheduled(&mut self) {
        self.dropping = false;
    }
}

/// 1/sqrt(1) to 16 bits.
const ONE: u16 = u16::MAX;

#[cfg(test)]
mod tests;
