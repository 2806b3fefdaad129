//! Drops that make room when a limit is reached.

use super::config::{Config, MANY, Overflow};
use super::{FlowQueue, table::Flow};
use crate::aqm::{Aqm, DropReason, shed};
use crate::backlog::Backlog;
use crate::qdisc::Sink;
use crate::time::Instant;

/// Overflow rules.
#[derive(Debug)]
pub(super) struct OverflowHandler {
    pub overflow: Overflow,
    drop_batch: u32,
    raise: bool,
    pub headdrop: bool,
    /// Whether ties of the longest flows are resolved by the last change.
    pub by_changes: bool,
    /// Maximum number of queued packets per flow.
    pub depth: u32,
    /// Maximum number of flows with packets.
    slots: u32,
    /// Number of flows that share the limit.
    flows: u32,
    /// Number of the queue that last lost a packet.
    pub last_victim: Option<u32>,
}

impl OverflowHandler {
    /// `limit` is the maximum number of queued packets.
    pub fn new(config: &Config, limit: u32) -> Self {
        Self {
            overflow: config.overflow,
            drop_batch: config.drop_batch as u32,
            raise: config.raise,
            headdrop: config.headdrop,
            by_changes: config.overflow == Overflow::Longest,
            depth: config.depth as u32,
            // sfq_change: no more slots than the limit.
            slots: if config.divisor > 0 { limit.min(config.flows as u32) } else { u32::MAX },
            flows: config.flows as u32,
            last_victim: None,
        }
    }

    /// Whether the limits are the only bound and packets that fit need no notification.
    pub fn has_fast_path(&self) -> bool {
        let of_all = matches!(self.overflow, Overflow::Arrival | Overflow::Fattest);
        of_all && !self.by_changes && self.slots == u32::MAX && u64::from(self.depth) == MANY
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Whether a packet of `len` bytes that exceeds the limits may still be queued; others may be dropped for it.
    #[inline]
    pub(super) fn make_room(&mut self, now: Instant, len: u32, sink: &mut dyn Sink<P>) -> bool {
        match self.overflow_handler.overflow {
            Overflow::Arrival | Overflow::FairShare => false,
            // Room is made when it is queued, unless it does not fit an empty queue.
            Overflow::Fattest | Overflow::Longest => self.bounds.admit(Backlog::default(), len),
            Overflow::LongestFirst => {
                while !self.bounds.admit(self.store.backlog, len) {
                    if self.shed_longest_bin(now, sink).is_none() {
                        return false;
                    }
                }
                true
            }
        }
    }

    /// Whether flow `i` has room in its share, if shares are enforced.
    #[inline]
    pub(super) fn shares_fairly(&self, i: usize) -> bool {
        self.overflow_handler.overflow != Overflow::FairShare || self.within_share(i)
    }

    /// Whether flow `i` is scheduled or can be.
    #[inline]
    pub(super) fn has_slot(&self, i: usize) -> bool {
        self.overflow_handler.slots == u32::MAX
            || self.schedule.active() < self.overflow_handler.slots
            || !self.table.flows[i].sched.is_unscheduled()
    }

    /// ns-2's SFQ: whether flow `i` may queue another packet, given the remainder of the limit.
    fn within_share(&self, i: usize) -> bool {
        let used = self.table.flows[i].queue.packets;
        let (limit, flows) = (self.limits.packets.unwrap_or(u32::MAX), self.overflow_handler.flows);
        let left = limit - self.store.backlog.packets;
        used < left / 2 && (left >= flows || used <= limit / flows)
    }

    /// Whether a flow may queue another packet; its head may be dropped for it.
    #[inline]
    pub(super) fn bound_depth(&mut self, now: Instant, i: usize, sink: &mut dyn Sink<P>) -> bool {
        if self.table.flows[i].queue.packets < self.overflow_handler.depth {
            return true;
        }
        if self.overflow_handler.headdrop {
            self.with_ce_excluded(now, i, sink, |_, _, queue| queue.drop(0, DropReason::Limit));
            self.on_shed(now, i, 1, sink);
        }
        self.overflow_handler.headdrop
    }

    /// Drops packets until the limits hold. Returns whether the packet just queued, with handle `arrived`, survives.
    #[cold]
    pub(super) fn shed_excess(&mut self, now: Instant, arrived: u32, sink: &mut dyn Sink<P>) -> bool {
        let mut waits = true;
        while !self.bounds.hold(self.store.backlog) {
            let survives = match self.overflow_handler.overflow {
                Overflow::Longest => self.shed_longest(now, sink).map(|lost| lost != arrived),
                _ => self.shed_fattest(now, arrived, sink),
            };
            match survives {
                Some(survives) => waits &= survives,
                None => break,
            }
        }
        waits
    }

    /// Linux's FQ-CoDel: a batch at the head of the flow with the most bytes, at most half of them, at least one
    /// packet. Returns whether the packet with handle `arrived` survives.
    #[cold]
    fn shed_fattest(&mut self, now: Instant, arrived: u32, sink: &mut dyn Sink<P>) -> Option<bool> {
        let flows = &self.table.flows;
        // Ties go to the lowest queue number.
        let fatter = |&i: &usize| (flows[i].queue.bytes, core::cmp::Reverse(flows[i].bucket));
        let fattest = self.schedule.scheduled(flows).filter(|&i| !flows[i].queue.is_empty()).max_by_key(fatter)?;
        let goal = flows[fattest].queue.bytes / 2;
        let (mut packets, mut bytes, mut survives) = (0, 0, true);
        while packets == 0 || (packets < self.overflow_handler.drop_batch && bytes < goal) {
            let (handle, len) = self.discard(now, fattest, true, sink)?;
            packets += 1;
            bytes += len as u64;
            survives &= handle != arrived;
        }
        self.on_shed(now, fattest, packets, sink);
        Some(survives)
    }

    /// Linux's SFQ: a packet of the longest flow; ties go to the flow that reached this length last. If all have one
    /// packet, of the flow served next. Returns the packet's handle.
    #[cold]
    pub(super) fn shed_longest(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<u32> {
        let flows = &self.table.flows;
        let longer = |&i: &usize| (flows[i].queue.packets, flows[i].changed);
        let longest = self.schedule.scheduled(flows).max_by_key(longer)?;
        if flows[longest].queue.packets == 1 {
            // DRR++ keeps empty flows on its lists, and a manager can empty one on an arrival (CHOKe).
            let first = self.schedule.scheduled(flows).find(|&i| !flows[i].queue.is_empty())?;
            let (handle, _) = self.discard(now, first, false, sink)?;
            self.schedule.unlink_empty(&mut self.table.flows);
            return Some(handle);
        }
        let head = self.overflow_handler.headdrop;
        let (handle, _) = self.discard(now, longest, head, sink)?;
        if head {
            self.on_shed(now, longest, 1, sink);
        }
        Some(handle)
    }

    /// sfqCoDel of ns-2: the tail of the bin with the most packets; ties go to the highest bin number except the last
    /// victim. Returns the packet's handle.
    #[cold]
    fn shed_longest_bin(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<u32> {
        let flows = &self.table.flows;
        let last_victim = self.overflow_handler.last_victim;
        let longer = |&i: &usize| {
            let flow: &Flow<A> = &flows[i];
            (flow.queue.packets, last_victim != Some(flow.bucket), flow.bucket)
        };
        let longest = self.schedule.scheduled(flows).max_by_key(longer)?;
        self.overflow_handler.last_victim = Some(flows[longest].bucket);
        self.discard(now, longest, false, sink).map(|(handle, _)| handle)
    }

    /// Drops the first or the last packet of flow `i`. Returns its handle and size.
    fn discard(&mut self, now: Instant, i: usize, head: bool, sink: &mut dyn Sink<P>) -> Option<(u32, u32)> {
        let (_, _, mut view) = self.call_parts(now, i, sink);
        let handle = if head { view.queue.head()? } else { view.queue.tail()? };
        let meta = view.discard(handle, DropReason::Limit);
        if let Some(exclusion) = &mut self.ce_exclusion {
            exclusion.removed(i, &meta);
        }
        self.changed(i);
        Some((handle, meta.len))
    }

    /// Notifies the manager of flow `i` that its queue lost `n` packets at its head.
    fn on_shed(&mut self, now: Instant, i: usize, n: u32, sink: &mut dyn Sink<P>) {
        if self.overflow_handler.raise {
            self.with_ce_excluded(now, i, sink, |aqm, cx, _| shed(aqm, cx, n));
        }
    }
}
