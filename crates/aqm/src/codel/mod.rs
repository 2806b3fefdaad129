//! CoDel, Controlled Delay: drops at the head while the sojourn time has stayed above `target` for an `interval`,
//! the faster the longer it stays (K. Nichols, V. Jacobson, ACM Queue 10(5), 2012; RFC 8289).
//!
//! One engine for every published variant: what differs between them is a knob, a profile is a set of knobs.
//! The code follows the order of the listing in RFC 8289 §5; there `dodequeue` takes the head out, here it looks at
//! it, so "after removal" means the backlog without the head.
//!
//! # When to use
//!
//! On a link with a rate that changes or is not known, with few flows, and where one setting has to do: `target` 5 to
//! 10 % of `interval`, `interval` about the longest usual RTT. With many flows on a slow link (less than about one
//! packet per flow and target) the delay stays above the target, the more so the more flows there are; put it under
//! [flow queueing](crate::fq_codel), or take [PIE](crate::pie). Below 3 Mbit/s or so, where one packet takes longer
//! than the target, raise `target` to a packet time or two. Unresponsive load is not held at all before the limit is.
//!
//! Profiles are for reproducing: `rfc8289` for new work, `linux` for what a Linux box does to the nanosecond, the
//! others for results published with them. `hardlimit` bounds the worst sojourn time on links that lose most of their
//! rate at once, at the price of losses.

mod config;
mod law;
#[cfg(test)]
mod tests;

pub use config::{Config, CountOn, Entry, HardLimit, MaxPacket, Reentry, SmallBacklog, Victim, Window};
pub use law::Law;

use crate::aqm::{Aqm, Cx, DropReason, Fifo, Popped};
use crate::packet::Meta;
use law::ControlLaw;

/// A CoDel-managed queue's state. Times are in the units of the [`Law`]'s clock.
#[derive(Clone, Debug)]
pub struct Codel {
    config: Config,
    law: ControlLaw,
    target: u64,
    max_delay: u64,
    ce_threshold: u64,
    /// When the head will have been above target for long enough; 0 while it is below.
    first_above_time: u64,
    /// Next drop while dropping; else about the time of the last one. Starting from 0 harms no re-entry rule:
    /// each of them looks at `count` first, and the 2012 one at times after an interval has passed.
    drop_next: u64,
    /// Drops of this phase, as the variant counts them.
    count: u32,
    /// `count` right after the last entry.
    lastcount: u32,
    dropping: bool,
    /// Largest packet seen, in bytes.
    maxpacket: u32,
    /// Sojourn time of the head last looked at.
    sojourn_time: u64,
}

impl Codel {
    /// An idle queue's state.
    pub fn new(config: &Config) -> Self {
        let law = config.law;
        Self {
            law: ControlLaw::new(law, config.interval),
            target: law.span(config.target),
            max_delay: law.span(config.max_delay),
            ce_threshold: law.span(config.ce_threshold),
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            maxpacket: config.maxpacket.initial(),
            sojourn_time: 0,
            config: config.clone(),
        }
    }

    /// Looks at the head: may it be dropped?
    #[inline(always)] // the look at every departure, with the few that follow a drop
    fn dodequeue<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &Q) -> Look {
        self.look_at(queue.meta(0), 0, now, cx, queue)
    }

    /// Looks at the packet that would be the head if `held` bytes before it had left.
    #[inline(always)]
    fn look_at<Q: Fifo>(&mut self, head: Option<Meta>, held: u32, now: u64, cx: &Cx, queue: &Q) -> Look {
        let Some(head) = head else {
            self.first_above_time = 0;
            return Look { ok_to_drop: false, hard_drop: false };
        };
        let law = self.law.law();
        self.sojourn_time = law.difference(now, law.clock(head.enqueued)) as u64;
        let maxpacket = self.maxpacket(head.len, cx.link.mtu);
        let bytes = queue.total_backlog().bytes - held as u64 - head.len as u64;

        let mut ok_to_drop = false;
        let last = queue.len() == 1;
        if !law.passed(self.sojourn_time, 0, self.target) || self.config.small_backlog.holds(bytes, maxpacket, last) {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.window(now);
        } else {
            let above = law.difference(now, self.first_above_time);
            // Linux waits until strictly after.
            ok_to_drop = if law == Law::Linux { above > 0 } else { above >= 0 };
        }
        let hard_drop = self.config.hard_limit != HardLimit::Off && self.exceeds(self.max_delay);
        Look { ok_to_drop: ok_to_drop || hard_drop, hard_drop }
    }

    /// Drops heads older than the hard limit; may the one then at the head be dropped?
    #[cold]
    fn drop_beyond_hard_limit<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) -> bool {
        loop {
            queue.drop(0, DropReason::HardLimit);
            let r = self.dodequeue(now, cx, queue);
            if !r.hard_drop {
                return r.ok_to_drop;
            }
        }
    }

    /// The look at the packet behind a dropped one.
    fn dodequeue_next<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) -> bool {
        let r = self.dodequeue(now, cx, queue);
        if r.hard_drop && self.config.hard_limit == HardLimit::Strict {
            return self.drop_beyond_hard_limit(now, cx, queue);
        }
        r.ok_to_drop
    }

    /// While dropping, at `drop_next` or later: drops until the schedule has caught up with `now`.
    fn keep_dropping<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) {
        while self.dropping && self.law.law().passed(now, self.drop_next, 0) {
            if self.config.count_on == CountOn::Drop {
                self.set_count(self.count + 1);
            }
            let (marked, ok_to_drop) = self.signal(now, cx, queue);
            if !ok_to_drop {
                self.dropping = false;
                return;
            }
            if self.config.count_on == CountOn::StillOk {
                self.set_count(self.count + 1);
            }
            // RFC 8289 §5.5: the next drop is scheduled from the previous one, not from `now`, so a late
            // dequeue does not slow the control law.
            self.drop_next += self.law.step(self.count);
            if marked {
                return;
            }
        }
    }

    /// Starts a phase with its first drop.
    fn enter_dropping<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) {
        self.signal(now, cx, queue);
        self.dropping = true;
        self.set_count(self.reentry_count(now));
        self.lastcount = self.count;
        self.drop_next = now + self.law.step(self.count);
    }

    /// Tells a sender of congestion. Returns whether with a mark, and whether the packet then at the head is ok to
    /// drop: a marked one is, so it counts; it is delivered, and the last one of this call.
    fn signal<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) -> (bool, bool) {
        if self.config.victim == Victim::Successor {
            return (false, self.drop_successor(now, cx, queue));
        }
        let marked = self.mark_or_drop(queue);
        (marked, marked || self.dodequeue_next(now, cx, queue))
    }

    /// mahimahi: an inner variable hides the outer one, so the packet fetched next is dropped and the one judged
    /// stays. Returns whether the dropped one was ok to drop.
    fn drop_successor<Q: Fifo>(&mut self, now: u64, cx: &Cx, queue: &mut Q) -> bool {
        let held = queue.meta(0).map_or(0, |head| head.len);
        let successor = queue.meta(1);
        let ok_to_drop = self.look_at(successor, held, now, cx, queue).ok_to_drop;
        if successor.is_some() {
            queue.drop(1, DropReason::Late);
        }
        ok_to_drop
    }

    /// Tells a sender of congestion with the head. Returns whether the head is still there, marked.
    fn mark_or_drop<Q: Fifo>(&mut self, queue: &mut Q) -> bool {
        if self.config.ecn {
            return queue.mark(0, DropReason::Late);
        }
        queue.drop(0, DropReason::Late);
        false
    }

    fn set_count(&mut self, count: u32) {
        self.count = count.min(MAX_COUNT);
        self.law.count_changed(self.count);
    }

    /// The size up to which a backlog is small, having seen a packet of `len` bytes.
    #[inline]
    fn maxpacket(&mut self, len: u32, mtu: u32) -> u32 {
        self.maxpacket = self.maxpacket.max(len);
        match self.config.maxpacket {
            MaxPacket::Mtu => mtu,
            MaxPacket::Tun => MaxPacket::Tun.initial(),
            MaxPacket::Seen256 | MaxPacket::Seen512 => self.maxpacket,
        }
    }

    /// How long the sojourn time must stay above target before the first drop.
    fn window(&self, now: u64) -> u64 {
        let shortened = self.config.window == Window::Act && self.count > 1 && self.recent(now, 8);
        if shortened { self.law.step(self.count) } else { self.law.interval() }
    }

    /// Whether a phase may begin now that the head is ok to drop.
    fn may_enter(&self, now: u64) -> bool {
        match self.config.entry {
            Entry::AtOnce => true,
            Entry::Acm => self.recent(now, 1) || self.law.law().passed(now, self.first_above_time, self.law.interval()),
        }
    }

    /// `count` at the start of a phase.
    fn reentry_count(&self, now: u64) -> u32 {
        let count = self.count;
        match self.config.reentry {
            Reentry::Acm if self.recent(now, 1) => count.saturating_sub(2).max(1),
            Reentry::Sub2 if count > 2 && self.recent(now, 8) => count - 2,
            Reentry::Act if count > 2 && self.recent(now, 8) => match count - 2 {
                less if less > 126 => (0.9844 * (less + 2) as f64) as u32,
                less => less,
            },
            Reentry::Delta => match count.wrapping_sub(self.lastcount) as i32 {
                delta if delta > 1 && self.recent(now, 16) => delta as u32,
                _ => 1,
            },
            Reentry::Const => self.config.n as u32,
            Reentry::Acm | Reentry::Sub2 | Reentry::Act => 1,
        }
    }

    /// Whether the last drop is less than so many intervals ago: `now - drop_next < intervals * interval`.
    fn recent(&self, now: u64, intervals: u64) -> bool {
        // mahimahi's difference is unsigned: a drop time ahead is not recent.
        let wraps = self.law.law() == Law::Millis && now < self.drop_next;
        !wraps && !self.law.law().passed(now, self.drop_next, intervals * self.law.interval())
    }

    /// Whether the head last looked at has waited longer than `span`.
    #[inline]
    fn exceeds(&self, span: u64) -> bool {
        self.law.law().difference(self.sojourn_time, span) > 0
    }
}

impl Aqm for Codel {
    fn dequeue<Q: Fifo>(&mut self, cx: &mut Cx, queue: &mut Q) -> Option<Popped> {
        if self.config.keep_above && queue.is_empty() {
            self.dropping = false;
            return None;
        }
        let now = self.config.law.clock(cx.now);
        let r = self.dodequeue(now, cx, queue);
        let ok_to_drop = if r.hard_drop { self.drop_beyond_hard_limit(now, cx, queue) } else { r.ok_to_drop };
        if self.dropping {
            if ok_to_drop {
                self.keep_dropping(now, cx, queue);
            } else {
                self.dropping = false;
            }
        } else if ok_to_drop && self.may_enter(now) {
            self.enter_dropping(now, cx, queue);
        }
        if self.exceeds(self.ce_threshold) && queue.meta(0).is_some_and(|head| head.ecn.is_ect()) {
            queue.mark(0, DropReason::Late);
        }
        queue.pop()
    }

    fn shed(&mut self, _: &mut Cx, n: u32) {
        // As in Linux, the inverse square root follows with the next change of the count only.
        self.count = self.count.saturating_add(n).min(MAX_COUNT);
    }

    fn unscheduled(&mut self) {
        self.dropping = false;
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let law = self.config.law;
        see("count", self.count as f64);
        see("lastcount", self.lastcount as f64);
        see("dropping", self.dropping as u8 as f64);
        see("drop_next", law.secs(self.drop_next));
        see("first_above_time", law.secs(self.first_above_time));
    }
}

/// What [`Codel::dodequeue`] found at the head.
struct Look {
    ok_to_drop: bool,
    hard_drop: bool,
}

/// Where `count` saturates.
const MAX_COUNT: u32 = i32::MAX as u32;
