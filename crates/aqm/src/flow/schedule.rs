//! Order of service: the next flow, and the deficit of a turn.
//!
//! Every scheduler is a list whose first flow is served or moved to the end; DRR++ has two lists.

use super::config::{Config, Scheduler};
use super::packet_list::{NONE, Slab};
use super::scheduler_entry::{FlowList, SchedulerEntry};
use super::table::Flow;
use crate::aqm::Aqm;
use crate::error::ConfigError;

/// List of flows.
#[derive(Clone, Copy, Debug)]
struct List {
    head: u32,
    tail: u32,
    len: u32,
}

const EMPTY: List = List { head: NONE, tail: NONE, len: 0 };

impl List {
    #[inline]
    fn push<A>(&mut self, flows: &mut [Flow<A>], i: u32) {
        flows[i as usize].sched.next = NONE;
        match self.tail {
            NONE => self.head = i,
            tail => flows[tail as usize].sched.next = i,
        }
        self.tail = i;
        self.len += 1;
    }

    /// Removes the first flow, followed by `next`.
    #[inline]
    fn pop(&mut self, next: u32) {
        self.head = next;
        if next == NONE {
            self.tail = NONE;
        }
        self.len -= 1;
    }

    /// Inserts `i` after `before`, or at the front.
    fn insert<A>(&mut self, flows: &mut [Flow<A>], i: u32, before: u32) {
        let next = if before == NONE { self.head } else { flows[before as usize].sched.next };
        flows[i as usize].sched.next = next;
        match before {
            NONE => self.head = i,
            before => flows[before as usize].sched.next = i,
        }
        if next == NONE {
            self.tail = i;
        }
        self.len += 1;
    }
}

/// The scheduled flows.
#[derive(Debug)]
pub(super) struct Schedule {
    scheduler: Scheduler,
    scaled: bool,
    quantum: i64,
    /// DRR++: flows before their first turn, served first.
    new: List,
    /// DRR++: the other flows; otherwise all flows.
    old: List,
    /// Number of flows that became active.
    pub new_flow_count: u64,
}

impl Schedule {
    pub fn new(config: &Config) -> Self {
        let scaled = config.scaled_allot;
        let quantum = cost(scaled, config.quantum.0 as u32);
        Self { scheduler: config.scheduler, scaled, quantum, new: EMPTY, old: EMPTY, new_flow_count: 0 }
    }

    /// Rejects an order other than that of `old`.
    pub fn check_same(&self, old: &Self) -> Result<(), ConfigError> {
        if self.scheduler != old.scheduler {
            return Err(ConfigError::ImmutableParam("scheduler"));
        }
        if self.scaled != old.scaled {
            return Err(ConfigError::ImmutableParam("scaled_allot"));
        }
        Ok(())
    }

    /// Continues with the lists of `old` and its own quantum.
    pub fn inherit(&mut self, old: &Self) {
        (self.new, self.old, self.new_flow_count) = (old.new, old.old, old.new_flow_count);
    }

    /// Remaining deficit of a flow in bytes; `None` if turns count packets.
    pub fn deficit(&self, turn: &SchedulerEntry) -> Option<i64> {
        let unit = if self.scaled { 8 } else { 1 };
        (self.quantum > 0).then_some(turn.deficit * unit)
    }

    /// A packet was queued in flow `i`: schedules the flow unless it is scheduled.
    #[inline(always)] // the check is hot in enqueue; rehashing is its other user
    pub fn activate<A>(&mut self, flows: &mut [Flow<A>], i: usize) {
        if flows[i].sched.is_unscheduled() {
            self.join(flows, i);
        }
    }

    /// Schedules flow `i`, which is not scheduled.
    #[inline]
    pub fn join<A>(&mut self, flows: &mut [Flow<A>], i: usize) {
        self.new_flow_count += 1;
        // The rest of an earlier deficit expires: an idle flow earns nothing.
        flows[i].sched = SchedulerEntry { deficit: self.quantum, next: NONE, list: FlowList::New };
        if self.scheduler == Scheduler::DrrPlusPlus {
            self.new.push(flows, i as u32);
        } else {
            self.join_list(flows, i as u32);
        }
    }

    #[inline(never)]
    fn join_list<A>(&mut self, flows: &mut [Flow<A>], i: u32) {
        match self.scheduler {
            Scheduler::DrrPlusPlus => self.new.push(flows, i),
            Scheduler::Sfq | Scheduler::Drr => self.old.push(flows, i),
            Scheduler::Ns2 => {
                let last_new = self.scheduled(flows).take_while(|&f| flows[f].sched.list == FlowList::New).last();
                self.old.insert(flows, i, last_new.map_or(NONE, |f| f as u32));
            }
        }
    }

    /// The flow to serve next; only DRR++ may return an empty one.
    #[inline(always)]
    pub fn ready<A: Aqm, P>(&mut self, flows: &mut [Flow<A>], packets: &Slab<P>) -> Option<usize> {
        if self.scheduler == Scheduler::DrrPlusPlus {
            return self.ready_of_two_lists(flows);
        }
        self.ready_of_one_list(flows, packets)
    }

    #[inline(never)]
    fn ready_of_one_list<A: Aqm, P>(&mut self, flows: &mut [Flow<A>], packets: &Slab<P>) -> Option<usize> {
        self.unlink_empty(flows);
        loop {
            let i = self.first()?;
            let flow = &flows[i];
            let Some(head) = flow.queue.head() else {
                // An empty flow leaves the schedule on its turn, not in the search for a deficit (sfqCoDel).
                self.rotate(flows, i);
                continue;
            };
            let may_send = match self.scheduler {
                Scheduler::Drr => cost(self.scaled, packets.meta(head).len) <= flow.sched.deficit,
                _ => flow.sched.deficit > 0 || self.quantum == 0,
            };
            if may_send {
                flows[i].sched.list = FlowList::Old;
                return Some(i);
            }
            flows[i].sched.deficit += self.quantum;
            self.rotate(flows, i);
        }
    }

    /// DRR++ (RFC 8290 §4.2): new flows first; a flow without a positive deficit receives a quantum and moves to the
    /// end of the old list.
    #[inline(always)]
    fn ready_of_two_lists<A>(&mut self, flows: &mut [Flow<A>]) -> Option<usize> {
        loop {
            let i = self.first()?;
            if flows[i].sched.deficit > 0 {
                return Some(i);
            }
            self.replenish(flows, i);
        }
    }

    /// Whether the scheduler is DRR++.
    #[inline(always)]
    pub fn has_two_lists(&self) -> bool {
        self.scheduler == Scheduler::DrrPlusPlus
    }

    /// Adds a quantum to flow `i`, the first in its list, and moves it to the end of the old list.
    #[inline]
    pub fn replenish<A>(&mut self, flows: &mut [Flow<A>], i: usize) {
        flows[i].sched.deficit += self.quantum;
        self.rotate(flows, i);
    }

    /// Cost of a packet of `len` bytes, in units of the deficit.
    #[inline(always)]
    pub fn cost(&self, len: u32) -> i64 {
        cost(self.scaled, len)
    }

    /// The flow served, the first in its list, had nothing to send.
    #[inline]
    pub fn ran_empty<A: Aqm>(&mut self, flows: &mut [Flow<A>], i: usize) {
        // A new flow that becomes empty moves to the old list (RFC 8290 §4.2): otherwise flows of single packets, new
        // each time, would starve the old ones.
        let waits = flows[i].sched.list == FlowList::New && self.old.head != NONE;
        if self.scheduler == Scheduler::DrrPlusPlus && waits {
            self.rotate(flows, i);
        } else {
            self.unlink(flows, i);
        }
    }

    /// The flow served, the first in its list, has sent `len` bytes.
    #[inline]
    pub fn served<A: Aqm>(&mut self, flows: &mut [Flow<A>], i: usize, len: u32) {
        if self.scheduler == Scheduler::DrrPlusPlus {
            flows[i].sched.deficit -= cost(self.scaled, len);
            return;
        }
        match self.quantum {
            // With SFQ an empty flow leaves at once, below.
            0 if self.scheduler == Scheduler::Sfq && flows[i].queue.is_empty() => {}
            0 => self.rotate(flows, i),
            _ => flows[i].sched.deficit -= cost(self.scaled, len),
        }
        if matches!(self.scheduler, Scheduler::Sfq | Scheduler::Drr) {
            self.unlink_empty(flows);
        }
    }

    /// Unschedules empty flows at the front.
    #[inline]
    pub fn unlink_empty<A: Aqm>(&mut self, flows: &mut [Flow<A>]) {
        while let Some(i) = self.first().filter(|&i| flows[i].queue.is_empty()) {
            self.unlink(flows, i);
        }
    }

    /// The first flow.
    #[inline]
    pub fn first(&self) -> Option<usize> {
        let i = if self.new.head == NONE { self.old.head } else { self.new.head };
        (i != NONE).then_some(i as usize)
    }

    /// The scheduled flow after flow `i`.
    #[inline]
    pub fn after<A>(&self, flows: &[Flow<A>], i: usize) -> Option<usize> {
        let next = match flows[i].sched.next {
            NONE if self.new.tail == i as u32 => self.old.head,
            next => next,
        };
        (next != NONE).then_some(next as usize)
    }

    /// The scheduled flows in order.
    pub fn scheduled<A>(&self, flows: &[Flow<A>]) -> impl Iterator<Item = usize> {
        core::iter::successors(self.first(), |&i| self.after(flows, i))
    }

    /// Lengths of the new and the old list; a single list is the old one.
    pub fn len(&self) -> (u32, u32) {
        (self.new.len, self.old.len)
    }

    /// Number of scheduled flows.
    #[inline]
    pub fn active(&self) -> u32 {
        self.new.len + self.old.len
    }

    /// Moves flow `i`, the first in its list, to the end of the old list.
    #[inline]
    pub fn rotate<A>(&mut self, flows: &mut [Flow<A>], i: usize) {
        let turn = &mut flows[i].sched;
        let next = turn.next;
        turn.list = FlowList::Old;
        if self.new.head != NONE {
            self.new.pop(next);
            self.old.push(flows, i as u32);
        } else if next != NONE {
            // Within one list, whose length does not change.
            turn.next = NONE;
            self.old.head = next;
            flows[self.old.tail as usize].sched.next = i as u32;
            self.old.tail = i as u32;
        }
    }

    /// Unschedules flow `i`, the first in its list.
    #[inline]
    pub fn unlink<A: Aqm>(&mut self, flows: &mut [Flow<A>], i: usize) {
        let flow = &mut flows[i];
        flow.sched.list = FlowList::Unscheduled;
        if let Some(aqm) = flow.aqm.lifecycle() {
            aqm.unscheduled();
        }
        let list = if self.new.head == NONE { &mut self.old } else { &mut self.new };
        list.pop(flow.sched.next);
    }
}

/// Cost of a packet of `len` bytes, in units of the deficit.
#[inline]
fn cost(scaled: bool, len: u32) -> i64 {
    if scaled { len.div_ceil(8) as i64 } else { len as i64 }
}
