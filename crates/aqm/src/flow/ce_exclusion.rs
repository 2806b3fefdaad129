//! CE exclusion for flow queueing: the time spent on CE-marked packets of any flow, and each flow's CE-marked packets
//! in its backlog.

use crate::backlog::Backlog;
use crate::ce_exclusion::{CeBacklog, CeTime};
use crate::packet::{Ecn, Meta};
use crate::reservation::{Reservation, ReservationError, move_to_larger};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct CeExclusion {
    time: CeTime,
    total: CeBacklog,
    /// By flow number.
    flows: Vec<CeBacklog>,
    /// By packet handle: the time spent on CE-marked packets before its arrival.
    ce_time_at_enqueue: Vec<Duration>,
}

impl CeExclusion {
    /// Backlogs of all flows and of flow `i` without the excluded packets.
    pub fn visible_backlogs(&self, i: usize, total: Backlog, backlog: Backlog) -> (Backlog, Backlog) {
        let own = self.flows.get(i).map_or(backlog, |flow| flow.without_ce(backlog));
        (self.total.without_ce(total), own)
    }

    /// Reserves memory for `flows` and `packets`.
    pub fn reserve(&mut self, flows: usize, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        memory.vec(&mut self.flows, flows)?;
        memory.vec(&mut self.ce_time_at_enqueue, packets)
    }

    /// Continues from `old`, in the larger of both memories.
    pub fn take_over(&mut self, old: &mut Self) {
        (self.time, self.total) = (old.time, old.total);
        move_to_larger(&mut self.flows, &mut old.flows);
        move_to_larger(&mut self.ce_time_at_enqueue, &mut old.ce_time_at_enqueue);
    }

    pub fn queued(&mut self, now: Instant, i: usize, handle: u32, meta: &Meta) {
        let handle = handle as usize;
        if self.ce_time_at_enqueue.len() <= handle {
            self.ce_time_at_enqueue.resize(handle + 1, Duration::ZERO);
        }
        self.ce_time_at_enqueue[handle] = self.time.at(now);
        self.joined(i, meta);
        if meta.ecn == Ecn::Ce {
            self.total.add(meta);
        }
    }

    /// The queued packets are about to join other flows.
    pub fn disperse(&mut self) {
        self.flows.clear();
    }

    /// A queued packet has joined flow `i`.
    pub fn joined(&mut self, i: usize, meta: &Meta) {
        if self.flows.len() <= i {
            self.flows.resize(i + 1, CeBacklog::default());
        }
        if meta.ecn == Ecn::Ce {
            self.flows[i].add(meta);
        }
    }

    pub fn marked(&mut self, i: usize, meta: &Meta) {
        self.total.add(meta);
        self.flows[i].add(meta);
    }

    pub fn removed(&mut self, i: usize, meta: &Meta) {
        self.total.remove(meta);
        self.flows[i].remove(meta);
    }

    /// A packet outside any flow was dropped.
    pub fn dropped_unqueued(&mut self, meta: &Meta) {
        self.total.remove(meta);
    }

    pub fn visible_meta(&self, now: Instant, handle: u32, meta: Meta) -> Meta {
        self.time.visible_meta(now, self.ce_time_at_enqueue[handle as usize], meta)
    }

    /// A packet was sent; `ce`: it carries CE.
    pub fn sent(&mut self, now: Instant, ce: bool) {
        self.time.departed(now, ce);
    }

    /// The link was polled in vain.
    pub fn idle(&mut self, now: Instant) {
        self.time.departed(now, false);
    }
}
