//! Historic variants of CoDel, from the first publication to the drafts: one listing, with their differences as rules.
//! To add a variant, add its rules here and a line in `config.rs`.
//!
//! The order is that of the RFC's listing ([`super::rfc8289`]), which derives from these variants and has the
//! explanations. `acm2012` and its derivatives have an extra condition for entering a phase, and CoDel-ACT shortens the
//! wait before one.

use super::config::{HardLimit, SmallBacklog, Window};
use super::rfc8289::step;
use super::{Config, StateVariables, counted, mark_or_drop};
use crate::aqm::{Aqm, Cx, DropReason, Fifo, Lifecycle, PoppedPacket};
use crate::time::{Duration, Instant};

/// Rules that differ between the variants.
#[derive(Clone, Copy, Debug)]
pub(super) struct VariantRules {
    pub entry: EntryRule,
    pub window: Window,
    pub reentry: ReentryRule,
    pub count_on: CountRule,
    pub small_backlog: SmallBacklog,
    pub hard_limit: HardLimit,
}

/// Condition of a first drop, besides a sojourn time above target for the window.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryRule {
    /// No other condition.
    AtOnce,
    /// The last drop was less than an interval ago, or the sojourn time has been above target for another interval.
    Acm,
}

/// `count` on re-entry into dropping; 1 if the condition fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReentryRule {
    /// count - 2 within an interval of the last drop.
    Acm,
    /// count - 2 within 8 intervals of the last drop.
    Sub2,
    /// As `Sub2`, but multiplied by 0.9844 if that leaves more than 126.
    Act,
    /// count - 1 within 16 intervals of the last drop.
    Sub1,
    /// Constant: the parameter n.
    Const,
}

/// Drops, after the first of a phase, that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CountRule {
    /// Every drop.
    Drop,
    /// Drops after which the next packet is still ok to drop.
    StillOk,
    /// No drops.
    Never,
}

/// A published variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    pub knobs: VariantRules,
    /// Initial size of the largest packet, in bytes.
    pub maxpacket: u32,
}

/// As printed in ACM Queue 10(5).
pub(super) const ACM2012: Variant = Variant {
    knobs: VariantRules {
        entry: EntryRule::Acm,
        reentry: ReentryRule::Acm,
        count_on: CountRule::Drop,
        small_backlog: SmallBacklog::Below,
        ..NS2_2012.knobs
    },
    maxpacket: 512,
};

/// Gao et al. 2015: the listing of [`ACM2012`] with lines added.
pub(super) const HARD_LIMIT: Variant =
    Variant { knobs: VariantRules { hard_limit: HardLimit::Printed, ..ACM2012.knobs }, ..ACM2012 };

/// codel.cc of ns-2.36.
pub(super) const NS2_2012: Variant = Variant {
    knobs: VariantRules {
        entry: EntryRule::AtOnce,
        window: Window::Interval,
        reentry: ReentryRule::Sub2,
        count_on: CountRule::StillOk,
        small_backlog: SmallBacklog::AtMost,
        hard_limit: HardLimit::Off,
    },
    maxpacket: 256,
};

/// codel.cc of May 2012, the first module for ns-2: immediate entry; each drop counts before the next packet is judged.
pub(super) const NS2_PATCH: Variant = Variant {
    knobs: VariantRules { reentry: ReentryRule::Sub1, count_on: CountRule::Drop, ..NS2_2012.knobs },
    ..NS2_2012
};

/// Code that Gao et al. 2015 ran: [`NS2_PATCH`] with a loop before the first judgement.
pub(super) const HARD_LIMIT_NS2: Variant =
    Variant { knobs: VariantRules { hard_limit: HardLimit::Printed, ..NS2_PATCH.knobs }, ..NS2_PATCH };

/// codel.cc of July 2012.
pub(super) const ACT: Variant =
    Variant { knobs: VariantRules { window: Window::Act, reentry: ReentryRule::Act, ..NS2_2012.knobs }, ..NS2_2012 };

/// draft-ietf-aqm-codel-00.
pub(super) const DRAFT00: Variant = Variant { maxpacket: 512, ..NS2_2012 };

/// Schwarzkopf et al. 2016, III.E.4.
pub(super) const COUNT_N: Variant = Variant {
    knobs: VariantRules { reentry: ReentryRule::Const, count_on: CountRule::Never, ..DRAFT00.knobs },
    ..DRAFT00
};

/// Result of [`HistoricCodel::dodequeue`].
struct DodequeueResult {
    ok_to_drop: bool,
    /// Beyond the hard limit, if the variant has one.
    hard_drop: bool,
}

/// State of a queue.
#[derive(Clone, Debug)]
pub(super) struct HistoricCodel {
    /// End of the window that started when the head went above target; `ZERO` while it is below.
    first_above_time: Instant,
    /// Time of the next drop while dropping; otherwise about the time of the last one. An initial zero affects no
    /// re-entry rule: each checks `count` first, and the 2012 rule runs only after an interval has passed.
    drop_next: Instant,
    /// Drops that count, of this phase or of the last one.
    count: u32,
    /// `count` right after the last entry into dropping.
    lastcount: u32,
    dropping: bool,
    ecn: bool,
    knobs: VariantRules,
    /// Largest packet seen, in bytes.
    maxpacket: u32,
    n: u32,
    target: Duration,
    interval: Duration,
    max_delay: Duration,
}

impl HistoricCodel {
    /// State of an idle queue; rules that are also parameters come from the configuration.
    pub fn new(config: &Config, variant: &Variant) -> Self {
        Self {
            first_above_time: Instant::ZERO,
            drop_next: Instant::ZERO,
            count: 0,
            lastcount: 0,
            dropping: false,
            ecn: config.ecn,
            knobs: VariantRules {
                window: config.window,
                small_backlog: config.small_backlog,
                hard_limit: config.hard_limit,
                ..variant.knobs
            },
            maxpacket: variant.maxpacket,
            n: config.n as u32,
            target: config.target,
            interval: config.interval,
            max_delay: config.max_delay,
        }
    }

    /// Takes over the state of `old` and keeps its own parameters.
    pub fn inherit(&mut self, old: &Self) {
        let Self { ecn, knobs, n, target, interval, max_delay, .. } = *self;
        *self = Self { ecn, knobs, n, target, interval, max_delay, ..old.clone() };
    }
}

impl Aqm for HistoricCodel {
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

impl Lifecycle for HistoricCodel {
    fn shed(&mut self, _: &mut Cx, n: u32) {
        self.count = counted(self.count, n);
    }

    fn unscheduled(&mut self) {
        self.dropping = false;
    }
}

impl HistoricCodel {
    /// [`Aqm::dequeue`] without the transmission.
    pub fn judge(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) {
        let now = cx.now;
        let r = self.dodequeue(now, queue);
        let ok_to_drop = if r.hard_drop { self.drop_beyond_hard_limit(now, queue) } else { r.ok_to_drop };
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            } else if now >= self.drop_next {
                self.keep_dropping(now, queue);
            }
        } else if ok_to_drop && self.may_enter(now) {
            self.enter_dropping(now, queue);
        }
    }

    /// While dropping and `drop_next` has passed: drops until the schedule has caught up with `now`.
    fn keep_dropping(&mut self, now: Instant, queue: &mut dyn Fifo) {
        while self.dropping && now >= self.drop_next {
            if self.knobs.count_on == CountRule::Drop {
                self.count_drop();
            }
            let marked = mark_or_drop(queue, self.ecn);
            if !marked && !self.dodequeue_next(now, queue) {
                self.dropping = false;
                return;
            }
            if self.knobs.count_on == CountRule::StillOk {
                self.count_drop();
            }
            self.drop_next += step(self.interval, self.count);
            if marked {
                return;
            }
        }
    }

    fn count_drop(&mut self) {
        self.count = counted(self.count, 1);
    }

    /// Whether a phase may begin, given that the head is ok to drop.
    fn may_enter(&self, now: Instant) -> bool {
        match self.knobs.entry {
            EntryRule::AtOnce => true,
            EntryRule::Acm => self.recent(now, 1) || now - self.first_above_time >= self.interval,
        }
    }

    /// Starts a phase with its first drop.
    fn enter_dropping(&mut self, now: Instant, queue: &mut dyn Fifo) {
        if !mark_or_drop(queue, self.ecn) {
            self.dodequeue_next(now, queue);
        }
        let count = self.reentry_count(now);
        (self.count, self.lastcount, self.dropping) = (count, count, true);
        self.drop_next = now + step(self.interval, count);
    }

    /// `count` at the start of a phase.
    fn reentry_count(&self, now: Instant) -> u32 {
        let count = self.count;
        match self.knobs.reentry {
            ReentryRule::Acm if self.recent(now, 1) => count.saturating_sub(2).max(1),
            ReentryRule::Sub2 if count > 2 && self.recent(now, 8) => count - 2,
            ReentryRule::Act if count > 2 && self.recent(now, 8) => match count - 2 {
                less if less > 126 => (0.9844 * (less + 2) as f64) as u32,
                less => less,
            },
            ReentryRule::Sub1 if count > 1 && self.recent(now, 16) => count - 1,
            ReentryRule::Const => self.n,
            ReentryRule::Acm | ReentryRule::Sub2 | ReentryRule::Act | ReentryRule::Sub1 => 1,
        }
    }

    /// Whether the last drop is less than `intervals` intervals ago; true also if the drop time lies in the future
    /// after a quick exit.
    fn recent(&self, now: Instant, intervals: i64) -> bool {
        now - self.drop_next < self.interval * intervals
    }

    /// Drops heads older than the hard limit. Returns whether the remaining head may be dropped.
    #[cold]
    fn drop_beyond_hard_limit(&mut self, now: Instant, queue: &mut dyn Fifo) -> bool {
        loop {
            queue.drop(0, DropReason::HardLimit);
            let r = self.dodequeue(now, queue);
            if !r.hard_drop {
                return r.ok_to_drop;
            }
        }
    }

    /// Judges the packet after a dropped one, which the hard-limit listing does not check against the limit.
    fn dodequeue_next(&mut self, now: Instant, queue: &mut dyn Fifo) -> bool {
        let r = self.dodequeue(now, queue);
        if r.hard_drop && self.knobs.hard_limit == HardLimit::Strict {
            return self.drop_beyond_hard_limit(now, queue);
        }
        r.ok_to_drop
    }

    /// Judges the head.
    #[inline(always)] // runs at every departure
    fn dodequeue(&mut self, now: Instant, queue: &dyn Fifo) -> DodequeueResult {
        let Some(head) = queue.meta(0) else {
            self.first_above_time = Instant::ZERO;
            return DodequeueResult { ok_to_drop: false, hard_drop: false };
        };
        let sojourn_time = now - head.enqueued;
        self.maxpacket = self.maxpacket.max(head.len);
        let mut ok_to_drop = false;
        if sojourn_time < self.target || self.is_small(queue, head.len) {
            self.first_above_time = Instant::ZERO;
        } else if self.first_above_time == Instant::ZERO {
            self.first_above_time = now + self.window(now);
        } else {
            ok_to_drop = now >= self.first_above_time;
        }
        // The hard limit overrides the protection of a small backlog.
        let hard_drop = self.knobs.hard_limit != HardLimit::Off && sojourn_time > self.max_delay;
        DodequeueResult { ok_to_drop: ok_to_drop || hard_drop, hard_drop }
    }

    /// Whether the backlog without the head of `len` bytes is small.
    #[inline]
    fn is_small(&self, queue: &dyn Fifo, len: u32) -> bool {
        let (bytes, maxpacket) = (queue.total_backlog().bytes - len as u64, self.maxpacket as u64);
        match self.knobs.small_backlog {
            SmallBacklog::AtMost => bytes <= maxpacket,
            SmallBacklog::Below => bytes < maxpacket,
            SmallBacklog::AtMostOrLast => bytes <= maxpacket || queue.len() == 1,
        }
    }

    /// Time that the sojourn time must stay above target before the first drop; `count` is that of the last phase.
    fn window(&self, now: Instant) -> Duration {
        let shortened = self.knobs.window == Window::Act && self.count > 1 && self.recent(now, 8);
        if shortened { step(self.interval, self.count) } else { self.interval }
    }
}

#[cfg(test)]
mod tests;
