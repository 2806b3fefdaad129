//! What the managers of flows do not see where CE-marked packets are left out: the time spent on those of any flow, and
//! each flow's own in its backlog.

use crate::backlog::Backlog;
use crate::ce_exclusion::{CeBacklog, CeTime};
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct CeExclusion {
    time: CeTime,
    total: CeBacklog,
    /// By number of the flow.
    flows: Vec<CeBacklog>,
    /// For the packet of each handle the time that had been spent on others when it came.
    ce_time_at_enqueue: Vec<Duration>,
}

impl CeExclusion {
    /// The backlogs of all flows and of flow `i` without the packets left out.
    pub fn visible_backlogs(&self, i: usize, total: Backlog, backlog: Backlog) -> (Backlog, Backlog) {
        let own = self.flows.get(i).map_or(backlog, |flow| flow.without_ce(backlog));
        (self.total.without_ce(total), own)
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

    /// The waiting packets are about to join other flows.
    pub fn disperse(&mut self) {
        self.flows.clear();
    }

    /// A packet that waits has joined flow `i`.
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

    /// A packet is dropped that is in no flow.
    pub fn dropped_unqueued(&mut self, meta: &Meta) {
        self.total.remove(meta);
    }

    pub fn visible_meta(&self, now: Instant, handle: u32, meta: Meta) -> Meta {
        self.time.visible_meta(now, self.ce_time_at_enqueue[handle as usize], meta)
    }

    /// A packet is sent that carries CE or not.
    pub fn sent(&mut self, now: Instant, ce: bool) {
        self.time.departed(now, ce);
    }

    /// The link was given nothing.
    pub fn idle(&mut self, now: Instant) {
        self.time.departed(now, false);
    }
}
