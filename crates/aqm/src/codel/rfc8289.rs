//! CoDel as listed in RFC 8289: section 5 in its order, with its names.
//!
//! Differs: the RFC's `dodequeue` removes the head and judges it; here the head is judged in place, because a removed
//! packet is one that is transmitted. The RFC's backlog after the removal is then the backlog without the head. `count`
//! saturates.
//!
//! The listing has no marks (`ecn`, `ce_threshold`): they are set where Linux sets them, with the RFC's count.

use super::{Config, StateVariables, counted, mark_beyond_threshold, mark_or_drop};
use crate::aqm::{Aqm, Cx, Fifo, Lifecycle, PoppedPacket};
use crate::packet::Meta;
use crate::time::{Duration, Instant};

// 5.1. Data Types

/// Result of [`Rfc8289::dodequeue`].
struct DodequeueResult {
    sojourn_time: Duration,
    /// Whether the sojourn time has been above `target` for at least `interval`.
    ok_to_drop: bool,
}

// 5.2. Per-Queue State

/// State of a queue.
#[derive(Clone, Debug)]
pub(super) struct Rfc8289 {
    /// End of the interval that started when the sojourn time went above `target`; `ZERO` while it is below.
    first_above_time: Instant,
    /// Time of the next drop while dropping; otherwise about the time of the last one.
    drop_next: Instant,
    /// Drops that count, of this phase or of the last one.
    count: u32,
    /// `count` right after the last entry into dropping.
    lastcount: u32,
    dropping: bool,
    ecn: bool,
    target: Duration,
    interval: Duration,
    ce_threshold: Duration,
}

// 5.3. Constants. The third of the RFC, the largest packet, is the link's MTU.

/// 5 to 10 % of the interval, so that a link stays utilised with its queue held there.
pub(super) const TARGET: Duration = Duration::from_millis(5);
/// About the longest usual round-trip time: a sender needs one to react, so only a queue that lasts longer is a
/// standing queue and not a burst.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);

impl Rfc8289 {
    /// State of an idle queue. A `drop_next` of zero is harmless: it is compared only if `count` shows an earlier
    /// phase.
    pub fn new(config: &Config) -> Self {
        Self {
            first_above_time: Instant::ZERO,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            ecn: config.ecn,
            target: config.target,
            interval: config.interval,
            ce_threshold: config.ce_threshold,
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { ecn, target, interval, ce_threshold, .. } = *self;
        *self = Self { ecn, target, interval, ce_threshold, ..old.clone() };
    }

    pub fn set_target(&mut self, target: Duration) {
        self.target = target;
    }
}

impl Aqm for Rfc8289 {
    // 5.4. Enqueue Routine: stamp the packet with its arrival time; every queue discipline here does so.

    // 5.5. Dequeue Routine

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

impl Lifecycle for Rfc8289 {
    fn shed(&mut self, _: &mut Cx, n: u32) {
        self.count = counted(self.count, n);
    }

    fn unscheduled(&mut self) {
        self.dropping = false;
    }
}

impl Rfc8289 {
    /// [`Aqm::dequeue`] without the transmission.
    #[inline(always)]
    pub fn judge(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) {
        let Some(head) = queue.meta(0) else {
            // Same result as the listing; a shortcut, because empty flow queues are visited often.
            self.first_above_time = Instant::ZERO;
            self.dropping = false;
            return;
        };
        let (now, mtu) = (cx.now, cx.link.mtu);
        if !self.try_release(now, &head, bytes_behind(&head, queue), mtu) {
            self.dodequeue_and_drop(now, mtu, queue);
        }
    }

    /// `FastDequeue::try_release`: the two cases of most packets of a controlled queue: below target, or above target
    /// with nothing due.
    #[inline(always)]
    pub fn try_release(&mut self, now: Instant, head: &Meta, behind: u64, mtu: u32) -> bool {
        let sojourn_time = now - head.enqueued;
        if sojourn_time > self.ce_threshold {
            return false;
        }
        if sojourn_time >= self.target {
            return self.waits(now, behind > mtu as u64);
        }
        if !self.dropping {
            self.first_above_time = Instant::ZERO;
        }
        !self.dropping
    }

    /// Whether a head above target changes nothing, because the interval or the time to the next drop still runs.
    /// `is_queue`: the backlog behind the head is not small.
    #[inline(always)]
    fn waits(&self, now: Instant, is_queue: bool) -> bool {
        let ok_to_drop = now >= self.first_above_time;
        let waits = if self.dropping { ok_to_drop && now < self.drop_next } else { !ok_to_drop };
        is_queue && self.first_above_time != Instant::ZERO && waits
    }

    /// The listing's treatment of the head, without the transmission.
    #[inline(always)]
    fn dodequeue_and_drop(&mut self, now: Instant, mtu: u32, queue: &mut dyn Fifo) {
        let mut r = self.dodequeue(now, mtu, queue);
        if self.dropping {
            if !r.ok_to_drop {
                // Delay below target, or queue almost empty: leave dropping state.
                self.dropping = false;
            } else if now >= self.drop_next {
                self.keep_dropping(now, mtu, queue, &mut r);
            }
        } else if r.ok_to_drop {
            self.enter_dropping(now, mtu, queue, &mut r);
        }
        if r.sojourn_time > self.ce_threshold {
            mark_beyond_threshold(queue, |_| true);
        }
    }

    /// The next drop is due. With a large backlog drops can be due more often than packets leave, hence a loop that
    /// drops as many now as are due.
    #[inline(always)] // monomorphised per queue type: calls through a vtable cost more
    fn keep_dropping(&mut self, now: Instant, mtu: u32, queue: &mut dyn Fifo, r: &mut DodequeueResult) {
        while self.dropping && now >= self.drop_next {
            let marked = mark_or_drop(queue, self.ecn);
            if !marked {
                *r = self.dodequeue(now, mtu, queue);
            }
            if !r.ok_to_drop {
                // A drop that ends the phase is not counted, and `drop_next` stays at its due time.
                self.dropping = false;
                return;
            }
            self.count = counted(self.count, 1);
            // From the last drop, not from `now`: a late dequeue does not slow down the control law.
            self.drop_next = self.control_law(self.drop_next, self.count);
            if marked {
                return;
            }
        }
    }

    /// The sojourn time has been above target for an interval: enter dropping state with a drop.
    #[inline(always)] // monomorphised per queue type: calls through a vtable cost more
    fn enter_dropping(&mut self, now: Instant, mtu: u32, queue: &mut dyn Fifo, r: &mut DodequeueResult) {
        if !mark_or_drop(queue, self.ecn) {
            *r = self.dodequeue(now, mtu, queue);
        }
        self.dropping = true;
        // If the last phase ended recently, the drop rate that controlled the queue then is a better start than one
        // drop per interval. `drop_next` was at most an interval after the last drop, so it shows when that was; it may
        // lie in the future. Only the drops of the last phase carry over, as in Linux, which the RFC follows.
        let delta = self.count.wrapping_sub(self.lastcount) as i32;
        let recent = now - self.drop_next < self.interval * 16;
        self.count = if delta > 1 && recent { delta as u32 } else { 1 };
        self.drop_next = self.control_law(now, self.count);
        self.lastcount = self.count;
    }

    // 5.6. Helper Routines

    /// Time of the drop after the one at `t`. TCP's rate falls with the square root of the drop rate, so intervals that
    /// shrink with the square root of the number of drops lower it linearly, regardless of the number of senders.
    fn control_law(&self, t: Instant, count: u32) -> Instant {
        t + step(self.interval, count)
    }

    /// Judges the head, and tracks for how long the sojourn time has been above target.
    #[inline(always)] // runs at every departure
    fn dodequeue(&mut self, now: Instant, mtu: u32, queue: &dyn Fifo) -> DodequeueResult {
        let Some(head) = queue.meta(0) else {
            self.first_above_time = Instant::ZERO;
            return DodequeueResult { sojourn_time: Duration::ZERO, ok_to_drop: false };
        };
        let sojourn_time = now - head.enqueued;
        let mut ok_to_drop = false;
        // A backlog of one packet is no standing queue, whatever its delay: a slow link needs it to stay utilised.
        if sojourn_time < self.target || bytes_behind(&head, queue) <= mtu as u64 {
            self.first_above_time = Instant::ZERO;
        } else if self.first_above_time == Instant::ZERO {
            // Just above target: a packet may be dropped once the delay has stayed above for an interval.
            self.first_above_time = now + self.interval;
        } else {
            ok_to_drop = now >= self.first_above_time;
        }
        DodequeueResult { sojourn_time, ok_to_drop }
    }
}

/// Backlog without the head, in bytes.
#[inline(always)]
fn bytes_behind(head: &Meta, queue: &dyn Fifo) -> u64 {
    queue.total_backlog().bytes - head.len as u64
}

/// `interval / sqrt(count)`, to the nanosecond.
pub(super) fn step(interval: Duration, count: u32) -> Duration {
    Duration::from_nanos(libm::round(interval.as_nanos() as f64 / libm::sqrt(count as f64)) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codel::MAX_COUNT;
    use crate::codel::testing::{MockFifo, dequeue, ms, state};
    use crate::testing::config;

    #[test]
    fn the_control_law_is_exact_to_the_nanosecond() {
        for (count, nanos) in [(1, 100_000_000), (2, 70_710_678), (3, 57_735_027), (4, 50_000_000), (2500, 2_000_000)] {
            assert_eq!(step(INTERVAL, count).as_nanos(), nanos, "count {count}");
        }
    }

    #[test]
    fn re_entry_counts() {
        for (count, lastcount, intervals, expected) in [
            (10, 3, 0.1, 7),
            (10, 8, 0.1, 2),
            (10, 9, 0.1, 1),
            (10, 3, 15.9, 7),
            (10, 3, 16.0, 1),
            (10, 3, -0.5, 7), // drop_next in the future after a quick exit
            (3, 10, 0.1, 1),
        ] {
            let mut codel = Rfc8289::new(&config("rfc8289", &[]));
            (codel.count, codel.lastcount) = (count, lastcount);
            codel.first_above_time = ms(9_900.0);
            codel.drop_next = ms(10_000.0 - 100.0 * intervals);
            let mut line = MockFifo { others: 9000, ..MockFifo::of(&[9_000.0, 9_500.0]) };
            dequeue(&mut codel, 10_000.0, &mut line);
            let found = (line.dropped.len(), codel.count, codel.lastcount);
            assert_eq!(found, (1, expected, expected), "{count} {lastcount}, {intervals} intervals ago");
            assert_eq!(codel.drop_next, ms(10_000.0) + step(INTERVAL, expected));
        }
    }

    #[test]
    fn count_saturates() {
        let mut codel = Rfc8289::new(&config("rfc8289", &[]));
        (codel.count, codel.dropping) = (MAX_COUNT, true);
        (codel.first_above_time, codel.drop_next) = (ms(9_900.0), ms(10_000.0));
        dequeue(&mut codel, 10_000.0, &mut MockFifo { others: 9000, ..MockFifo::of(&[9_000.0, 9_500.0]) });
        assert_eq!(state(&codel, "count"), f64::from(MAX_COUNT));
    }
}
