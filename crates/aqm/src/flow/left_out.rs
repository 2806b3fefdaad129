//! What the managers of flows do not see where CE-marked packets are left out: the time spent on those of any flow, and
//! each flow's own in its backlog.

use crate::backlog::Backlog;
use crate::left_out::{CeBacklog, CeTime};
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};
use alloc::vec::Vec;

#[derive(Debug, Default)]
pub(super) struct LeftOut {
    time: CeTime,
    total: CeBacklog,
    /// By number of the flow.
    flows: Vec<CeBacklog>,
    /// For the packet of each handle the time that had been spent on others when it came.
    before: Vec<Duration>,
}

impl LeftOut {
    /// The backlogs of all flows and of flow `i` without the packets left out.
    pub fn others(&self, i: usize, total: Backlog, backlog: Backlog) -> (Backlog, Backlog) {
        let own = self.flows.get(i).map_or(backlog, |flow| flow.others(backlog));
        (self.total.others(total), own)
    }

    pub fn queued(&mut self, now: Instant, i: usize, handle: u32, meta: &Meta) {
        let handle = handle as usize;
        if self.before.len() <= handle {
            self.before.resize(handle + 1, Duration::ZERO);
        }
        self.before[handle] = self.time.at(now);
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
    pub fn vanished(&mut self, meta: &Meta) {
        self.total.remove(meta);
    }

    pub fn seen(&self, now: Instant, handle: u32, meta: Meta) -> Meta {
        self.time.seen(now, self.before[handle as usize], meta)
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
