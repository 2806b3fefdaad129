//! Periodic reseeding of the hash, so that flows do not share a queue for long (Linux's SFQ).
//!
//! Differs: queued packets are rehashed in the order of the schedule, in Linux by slot number; the timer is exact to
//! the nanosecond, Linux's timer wheel adds up to an eighth of the period.

use super::FlowQueue;
use super::config::Config;
use super::packet_list::PacketList;
use crate::aqm::{Aqm, DropReason};
use crate::error::ConfigError;
use crate::qdisc::Sink;
use crate::time::{Duration, Instant};

/// Timer of the reseeding.
#[derive(Debug)]
pub(super) struct Perturbation {
    period: Duration,
    next: Instant,
}

impl Perturbation {
    pub fn new(config: &Config) -> Self {
        let period = config.perturb_period;
        let next = if period > Duration::ZERO { Instant::ZERO + period } else { Instant::NEVER };
        Self { period, next }
    }
}

impl Perturbation {
    /// Rejects a period other than that of `old`.
    pub fn check_same(&self, old: &Self) -> Result<(), ConfigError> {
        if self.period == old.period { Ok(()) } else { Err(ConfigError::ImmutableParam("perturb_period")) }
    }

    /// Whether reseeding is disabled.
    pub fn is_off(&self) -> bool {
        self.period == Duration::ZERO
    }

    /// Continues with the timer of `old`.
    pub fn inherit(&mut self, old: &Self) {
        self.next = old.next;
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Runs every update and every reseeding due before `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        while self.perturbation.next < now {
            self.perturb(sink);
        }
        self.run_updates(now, false);
    }

    #[cold]
    fn perturb(&mut self, sink: &mut dyn Sink<P>) {
        let at = self.perturbation.next;
        self.perturbation.next = at + self.perturbation.period;
        self.table.perturb();
        if self.store.backlog.packets > 0 {
            self.run_updates(at, false);
            self.rehash(at, sink);
        }
    }

    /// Moves every queued packet to the flow of its new hash, flow by flow and in order. A packet that finds no room is
    /// dropped.
    fn rehash(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let mut all = PacketList::default();
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.disperse();
        }
        while let Some(i) = self.schedule.first() {
            self.store.packets.splice(&mut self.table.flows[i].queue, &mut all);
            self.schedule.unlink(&mut self.table.flows, i);
        }
        while let Some((handle, mut one)) = self.store.packets.detach_head(&mut all) {
            let meta = *self.store.packets.meta(handle);
            let i = self.find(&meta, now);
            let has_place = self.has_slot(i) && self.table.flows[i].queue.packets < self.overflow_handler.depth;
            if !has_place {
                let (_, _, mut view) = self.call_parts(now, i, sink);
                view.queue = &mut one;
                view.discard(handle, DropReason::Limit);
                if let Some(exclusion) = &mut self.ce_exclusion {
                    exclusion.dropped_unqueued(&meta);
                }
                continue;
            }
            self.with_ce_excluded(now, i, sink, |aqm, cx, _| {
                if let Some(aqm) = aqm.lifecycle() {
                    aqm.adopt(cx, &meta);
                }
            });
            if let Some(exclusion) = &mut self.ce_exclusion {
                exclusion.joined(i, &meta);
            }
            self.store.packets.splice(&mut one, &mut self.table.flows[i].queue);
            self.changed(i);
            self.schedule.activate(&mut self.table.flows, i);
            self.note_update(i);
        }
    }
}
