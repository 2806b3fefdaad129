//! CoDel as in mahimahi's queue (codel_packet_queue.cc), with its bugs, because results were published with them.
//!
//! Times are whole milliseconds, rounded down: beyond a count of 10,000 the control law of a 100 ms interval yields 0
//! ms. An inner variable shadows the outer one, so the packet fetched after a drop is dropped unjudged, and the judged
//! one is sent. Time differences are unsigned. It only drops, because the queue has no ECN.

use super::{Config, StateVariables, counted};
use crate::aqm::{Aqm, Cx, DropReason, Fifo, Lifecycle, PoppedPacket};
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use core::ops::{Add, Sub};

/// Time or span in whole milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Millis(u64);

impl Millis {
    const ZERO: Self = Self(0);

    fn at(now: Instant) -> Self {
        Self(now.as_nanos() / NANOS)
    }

    fn of(span: Duration) -> Self {
        Self(span.as_nanos() as u64 / NANOS)
    }

    fn as_secs_f64(self) -> f64 {
        (self.0 * NANOS) as f64 / 1e9
    }
}

impl Add for Millis {
    type Output = Self;
    fn add(self, span: Self) -> Self {
        Self(self.0 + span.0)
    }
}

impl Sub for Millis {
    type Output = Self;
    /// Unsigned as in mahimahi: the time since a future instant is very long.
    fn sub(self, earlier: Self) -> Self {
        Self(self.0.wrapping_sub(earlier.0))
    }
}

/// State of a queue.
#[derive(Clone, Debug)]
pub(super) struct Mahimahi {
    /// End of the interval that started when the head went above target; `ZERO` while it is below.
    first_above_time: Millis,
    drop_next: Millis,
    /// Drops that count, of this phase or of the last one.
    count: u32,
    /// `count` right after the last entry into dropping.
    lastcount: u32,
    dropping: bool,
    target: Millis,
    interval: Millis,
}

impl Mahimahi {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self {
            first_above_time: Millis::ZERO,
            drop_next: Millis::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            target: Millis::of(config.target),
            interval: Millis::of(config.interval),
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        *self = Self { target: self.target, interval: self.interval, ..old.clone() };
    }

    /// Judges `head`, assuming that the `held` bytes before it have left. Returns whether it may be dropped.
    fn dodequeue(&mut self, head: Option<Meta>, held: u32, now: Millis, queue: &dyn Fifo) -> bool {
        let Some(head) = head else {
            self.first_above_time = Millis::ZERO;
            return false;
        };
        let sojourn_time = now - Millis::at(head.enqueued);
        let bytes = queue.total_backlog().bytes - held as u64 - head.len as u64;
        if sojourn_time < self.target || bytes <= PACKET_SIZE {
            self.first_above_time = Millis::ZERO;
        } else if self.first_above_time == Millis::ZERO {
            self.first_above_time = now + self.interval;
        } else {
            return now >= self.first_above_time;
        }
        false
    }

    /// Drops the packet after the judged one. Returns whether the dropped one was ok to drop.
    fn drop_successor(&mut self, now: Millis, queue: &mut dyn Fifo) -> bool {
        let held = queue.meta(0).map_or(0, |head| head.len);
        let successor = queue.meta(1);
        let ok_to_drop = self.dodequeue(successor, held, now, queue);
        if successor.is_some() {
            queue.drop(1, DropReason::Late);
        }
        ok_to_drop
    }

    /// While dropping and `drop_next` has passed: drops until the schedule has caught up with `now`.
    fn keep_dropping(&mut self, now: Millis, queue: &mut dyn Fifo) {
        while self.dropping && now >= self.drop_next {
            self.count = counted(self.count, 1);
            if !self.drop_successor(now, queue) {
                self.dropping = false;
                return;
            }
            self.drop_next = self.control_law(self.drop_next);
        }
    }

    /// Starts a phase with its first drop.
    fn enter_dropping(&mut self, now: Millis, queue: &mut dyn Fifo) {
        self.drop_successor(now, queue);
        let count = self.reentry_count(now);
        (self.count, self.lastcount, self.dropping) = (count, count, true);
        self.drop_next = self.control_law(now);
    }

    /// `count` at the start of a phase.
    fn reentry_count(&self, now: Millis) -> u32 {
        let delta = self.count.wrapping_sub(self.lastcount) as i32;
        let recent = now - self.drop_next < Millis(self.interval.0 * 16);
        if delta > 1 && recent { delta as u32 } else { 1 }
    }

    fn control_law(&self, t: Millis) -> Millis {
        t + Millis((self.interval.0 as f64 / libm::sqrt(self.count as f64)) as u64)
    }
}

impl Mahimahi {
    /// [`Aqm::dequeue`] without the transmission.
    pub fn judge(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) {
        let now = Millis::at(cx.now);
        let ok_to_drop = self.dodequeue(queue.meta(0), 0, now, queue);
        if self.dropping {
            if ok_to_drop {
                self.keep_dropping(now, queue);
            } else {
                self.dropping = false;
            }
        } else if ok_to_drop {
            self.enter_dropping(now, queue);
        }
    }
}

impl Aqm for Mahimahi {
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
        let (drop_next, first_above_time) = (self.drop_next.as_secs_f64(), self.first_above_time.as_secs_f64());
        StateVariables { count, lastcount, dropping, drop_next, first_above_time }.show(see);
    }
}

impl Lifecycle for Mahimahi {
    fn shed(&mut self, _: &mut Cx, n: u32) {
        self.count = counted(self.count, n);
    }

    fn unscheduled(&mut self) {
        self.dropping = false;
    }
}

/// Maximum small backlog: a packet of 1500 bytes with the header of a TUN device, on any link.
const PACKET_SIZE: u64 = 1504;
const NANOS: u64 = 1_000_000;

#[cfg(test)]
mod tests;
