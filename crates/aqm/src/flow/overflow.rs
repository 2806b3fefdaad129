//! Making room when a limit is reached: who loses which packets.

use super::config::{Config, MANY, Overflow};
use super::{FlowQueue, table::Flow};
use crate::aqm::{Aqm, DropReason, shed};
use crate::backlog::Backlog;
use crate::qdisc::Sink;
use crate::time::Instant;

/// How room is made.
#[derive(Debug)]
pub(super) struct OverflowHandler {
    pub overflow: Overflow,
    drop_batch: u32,
    raise: bool,
    pub headdrop: bool,
    /// Whether it matters which of the longest flows has changed last.
    pub by_changes: bool,
    /// The most waiting packets of a flow.
    pub depth: u32,
    /// The most flows that wait at once.
    slots: u32,
    /// Flows that share the limit fairly.
    flows: u32,
    /// Number of the queue that lost a packet last.
    pub last_victim: Option<u32>,
}

impl OverflowHandler {
    /// `limit` is the most waiting packets.
    pub fn new(config: &Config, limit: u32) -> Self {
        Self {
            overflow: config.overflow,
            drop_batch: config.drop_batch as u32,
            raise: config.raise,
            headdrop: config.headdrop,
            by_changes: config.overflow == Overflow::Longest,
            depth: config.depth as u32,
            // sfq_change has no more slots than the limit.
            slots: if config.divisor > 0 { limit.min(config.flows as u32) } else { u32::MAX },
            flows: config.flows as u32,
            last_victim: None,
        }
    }

    /// Whether nothing but the limits bounds what waits, and nobody is told of a packet that fits.
    pub fn has_fast_path(&self) -> bool {
        let of_all = matches!(self.overflow, Overflow::Arrival | Overflow::Fattest);
        of_all && !self.by_changes && self.slots == u32::MAX && u64::from(self.depth) == MANY
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Whether a packet of `len` bytes that does not fit into the limits may be queued all the same; others may have to go
    /// for it.
    #[inline]
    pub(super) fn make_room(&mut self, now: Instant, len: u32, sink: &mut dyn Sink<P>) -> bool {
        match self.overflow_handler.overflow {
            Overflow::Arrival | Overflow::FairShare => false,
            // Room is made when it is queued, unless no room would be enough.
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

    /// Whether flow `i` has room in its share, if shares are fair.
    #[inline]
    pub(super) fn shares_fairly(&self, i: usize) -> bool {
        self.overflow_handler.overflow != Overflow::FairShare || self.within_share(i)
    }

    /// Whether flow `i` has a place in the round, or can get one.
    #[inline]
    pub(super) fn has_slot(&self, i: usize) -> bool {
        self.overflow_handler.slots == u32::MAX
            || self.schedule.active() < self.overflow_handler.slots
            || !self.table.flows[i].sched.is_unscheduled()
    }

    /// ns-2's SFQ: whether flow `i` may have another packet, by what is left of the limit.
    fn within_share(&self, i: usize) -> bool {
        let used = self.table.flows[i].queue.packets;
        let (limit, flows) = (self.limits.packets.unwrap_or(u32::MAX), self.overflow_handler.flows);
        let left = limit - self.store.backlog.packets;
        used < left / 2 && (left >= flows || used <= limit / flows)
    }

    /// Whether a flow may have another packet, for which its head may have to go.
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

    /// Drops packets until the limits hold again. Whether the packet just queued, with that handle, still waits.
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

    /// Linux's FQ-CoDel: a batch at the head of the flow with the most bytes, half of them at most, one at least.
    /// Whether the packet with the handle `arrived` survives.
    #[cold]
    fn shed_fattest(&mut self, now: Instant, arrived: u32, sink: &mut dyn Sink<P>) -> Option<bool> {
        let flows = &self.table.flows;
        // Of equals the first in the order of the queues' numbers.
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

    /// Linux's SFQ: a packet of the flow with the most, of equals the one that came to that number last; where all
    /// have one, of the flow whose turn is next. The handle of the packet.
    #[cold]
    pub(super) fn shed_longest(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<u32> {
        let flows = &self.table.flows;
        let longer = |&i: &usize| (flows[i].queue.packets, flows[i].changed);
        let longest = self.schedule.scheduled(flows).max_by_key(longer)?;
        if flows[longest].queue.packets == 1 {
            // DRR++ keeps emptied flows on its lists, and a manager can empty one on an arrival (CHOKe).
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

    /// sfqCoDel of ns-2: the tail of the bin with the most packets, of equals the last in the order of the bins'
    /// numbers that is not the last victim. The handle of the packet.
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

    /// Drops the first or the last packet of flow `i`; its handle and its size.
    fn discard(&mut self, now: Instant, i: usize, head: bool, sink: &mut dyn Sink<P>) -> Option<(u32, u32)> {
        let (_, _, mut view) = self.call_parts(now, i, sink);
        let handle = if head { view.queue.head()? } else { view.queue.tail()? };
        let meta = view.discard(handle, DropReason::Limit);
        if let Some(left_out) = &mut self.ce_exclusion {
            left_out.removed(i, &meta);
        }
        self.changed(i);
        Some((handle, meta.len))
    }

    /// Tells the manager of flow `i` that its queue lost `n` packets at its head.
    fn on_shed(&mut self, now: Instant, i: usize, n: u32, sink: &mut dyn Sink<P>) {
        if self.overflow_handler.raise {
            self.with_ce_excluded(now, i, sink, |aqm, cx, _| shed(aqm, cx, n));
        }
    }
}
