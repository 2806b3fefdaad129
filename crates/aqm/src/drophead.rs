//! Head drop: a queue without a manager that drops at its head to make room (Linux's `pfifo_head_drop`, Mahimahi's
//! `drophead`). The oldest packet is dropped, so the sender learns of the loss one queue length earlier.
//!
//! # When to use
//!
//! If a plain buffer must be large (a cellular base station, a shell around a real program) and senders should learn of
//! overflow early: the standing delay is that of tail drop, the reaction comes a full queue earlier.

use crate::aqm::{Aqm, Bypass, Cx, DropReason, ExcessPolicy, Fifo, Lifecycle, Verdict, predecessor};
use crate::backlog::Backlog;
use crate::config;
use crate::error::ConfigError;
use crate::limits::{Bounds, Limits};
use crate::link::Link;
use crate::packet::Meta;
use crate::time::Instant;
use core::any::Any;

config! {
    /// Head drop has no parameters beyond the queue's limits.
    pub struct Config {}
    profiles { "plain", "a FIFO that drops its oldest packets to make room for arrivals" => |_| {}; }
    validate |_| Ok(())
}

/// Head drop.
#[derive(Clone, Debug, Default)]
pub struct DropHead {
    bounds: Bounds,
}

impl DropHead {
    /// State of a queue: its limits, once attached.
    pub fn new(_: &Config) -> Self {
        Self::default()
    }
}

impl Aqm for DropHead {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.bounds = limits.on(link);
    }

    fn enqueue(&mut self, _: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if !self.bounds.admit(queue.total_backlog(), meta.len) {
            make_room(self.bounds, meta.len, queue);
        }
        Verdict::Accept
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    #[inline(always)]
    fn bypass(&mut self) -> Option<&mut dyn Bypass> {
        Some(self)
    }
}

impl Lifecycle for DropHead {
    /// Linux's queue of this kind also waits for the next arrival (`fifo_hd_init`).
    fn inherit(&mut self, old: &dyn Any, _: Instant) -> Result<ExcessPolicy, ConfigError> {
        predecessor::<Self>(old)?;
        Ok(ExcessPolicy::Keep)
    }

    fn judges_overflow(&mut self) -> bool {
        true
    }
}

impl Bypass for DropHead {}

/// Drops the oldest packets until an arriving one of `len` bytes fits. Returns whether it dropped any.
#[cold]
#[inline(never)]
pub(crate) fn make_room(bounds: Bounds, len: u32, queue: &mut dyn Fifo) -> bool {
    // A packet too large for an empty queue drops no other.
    if !bounds.admit(Backlog::default(), len) {
        return false;
    }
    let before = queue.len();
    while !queue.is_empty() && !bounds.admit(queue.total_backlog(), len) {
        queue.drop(0, DropReason::Limit);
    }
    queue.len() < before
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::qdisc::{DequeueResult, EnqueueResult, Host, Qdisc, Sink};
    use crate::rate::Rate;
    use crate::rng::Rng;
    use crate::single::SingleQueue;
    use alloc::vec::Vec;

    const LINK: Link = Link::new(Rate::from_bps(10_000_000), 1500);

    #[derive(Default)]
    struct DropLog(Vec<(u32, DropReason)>);

    impl Sink<u32> for DropLog {
        fn dropped(&mut self, _: Meta, id: u32, reason: DropReason) {
            self.0.push((id, reason));
        }
    }

    #[test]
    fn the_oldest_packets_make_room() {
        let host = Host { link: LINK, rng: Rng::from_state(1) };
        let mut queue = SingleQueue::new(DropHead::new(&Config {}), Limits::bytes(3000), host);
        let mut dropped = DropLog::default();
        let now = Instant::ZERO;
        for (id, len, enqueued) in [
            (0, 1000, EnqueueResult::Queued),
            (1, 1000, EnqueueResult::Queued),
            (2, 1000, EnqueueResult::Queued),
            (3, 1500, EnqueueResult::Queued), // replaces 0 and 1
            (4, 3001, EnqueueResult::Dropped(DropReason::Limit)),
            (5, 500, EnqueueResult::Queued),
        ] {
            assert_eq!(queue.enqueue(now, Meta::new(len, 0), id, &mut dropped), enqueued, "packet {id}");
        }
        assert_eq!(dropped.0, [0, 1, 4].map(|id| (id, DropReason::Limit)));
        for expected in [2, 3, 5] {
            assert!(matches!(queue.dequeue(now, &mut dropped), DequeueResult::Packet(_, id) if id == expected));
        }
    }
}
