//! Making room when a limit is reached: who loses which packets.

use super::config::{Config, Overflow};
use super::line::View;
use super::{FlowQueue, table::Flow};
use crate::aqm::{Aqm, Backlog, Cx, DropReason};
use crate::qdisc::Sink;
use crate::time::Instant;

/// How room is made.
#[derive(Debug)]
pub(super) struct Shedding {
    overflow: Overflow,
    drop_batch: u32,
    raise: bool,
    headdrop: bool,
    /// Number of the queue that lost a packet last.
    last_victim: Option<u32>,
}

impl Shedding {
    pub fn new(config: &Config) -> Self {
        Self {
            overflow: config.overflow,
            drop_batch: config.drop_batch as u32,
            raise: config.raise,
            headdrop: config.headdrop,
            last_victim: None,
        }
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Whether a packet of `len` bytes may be queued in flow `i`, for which others may have to go.
    #[inline]
    pub(super) fn make_room(&mut self, now: Instant, i: usize, len: u32, sink: &mut dyn Sink<P>) -> bool {
        let link = self.host.link;
        if !self.limits.admit(self.total, len, link) {
            match self.shedding.overflow {
                Overflow::Arrival => return false,
                // Room is made when it is queued, unless no room would be enough.
                Overflow::Fattest | Overflow::Longest if self.limits.admit(Backlog::default(), len, link) => {}
                Overflow::Fattest | Overflow::Longest => return false,
                Overflow::LongestFirst => {
                    while !self.limits.admit(self.total, len, link) {
                        if self.shed_longest_bin(sink).is_none() {
                            return false;
                        }
                    }
                }
            }
        }
        if self.table.flows[i].line.packets < self.depth {
            return true;
        }
        if self.shedding.headdrop {
            self.discard(i, true, sink);
            self.tell(now, i, 1);
        }
        self.shedding.headdrop
    }

    /// Drops packets until the limits hold again. Whether the packet just queued, with that handle, still waits.
    #[inline]
    pub(super) fn shed_excess(&mut self, now: Instant, arrived: u32, sink: &mut dyn Sink<P>) -> bool {
        let mut waits = true;
        while !self.limits.hold(self.total, self.host.link) {
            let survives = match self.shedding.overflow {
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
        let fatter = |&i: &usize| (flows[i].line.bytes, core::cmp::Reverse(flows[i].bucket));
        let fattest = self.schedule.scheduled(flows).filter(|&i| !flows[i].line.is_empty()).max_by_key(fatter)?;
        let goal = flows[fattest].line.bytes / 2;
        let (mut packets, mut bytes, mut survives) = (0, 0, true);
        while packets == 0 || (packets < self.shedding.drop_batch && bytes < goal) {
            let (handle, len) = self.discard(fattest, true, sink)?;
            packets += 1;
            bytes += len as u64;
            survives &= handle != arrived;
        }
        self.tell(now, fattest, packets);
        Some(survives)
    }

    /// Linux's SFQ: a packet of the flow with the most, of equals the one that came to that number last; where all
    /// have one, of the flow whose turn is next. The handle of the packet.
    #[cold]
    fn shed_longest(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<u32> {
        let flows = &self.table.flows;
        let longer = |&i: &usize| (flows[i].line.packets, flows[i].changed);
        let longest = self.schedule.scheduled(flows).max_by_key(longer)?;
        if flows[longest].line.packets == 1 {
            // DRR++ keeps emptied flows on its lists, and a manager can empty one on an arrival (CHOKe).
            let first = self.schedule.scheduled(flows).find(|&i| !flows[i].line.is_empty())?;
            let (handle, _) = self.discard(first, false, sink)?;
            self.schedule.unlink_empty(&mut self.table.flows);
            return Some(handle);
        }
        let head = self.shedding.headdrop;
        let (handle, _) = self.discard(longest, head, sink)?;
        if head {
            self.tell(now, longest, 1);
        }
        Some(handle)
    }

    /// sfqCoDel of ns-2: the tail of the bin with the most packets, of equals the last in the order of the bins'
    /// numbers that is not the last victim. The handle of the packet.
    #[cold]
    fn shed_longest_bin(&mut self, sink: &mut dyn Sink<P>) -> Option<u32> {
        let flows = &self.table.flows;
        let last_victim = self.shedding.last_victim;
        let longer = |&i: &usize| {
            let flow: &Flow<A> = &flows[i];
            (flow.line.packets, last_victim != Some(flow.bucket), flow.bucket)
        };
        let longest = self.schedule.scheduled(flows).max_by_key(longer)?;
        self.shedding.last_victim = Some(flows[longest].bucket);
        self.discard(longest, false, sink).map(|(handle, _)| handle)
    }

    /// Drops the first or the last packet of flow `i`; its handle and its size.
    fn discard(&mut self, i: usize, head: bool, sink: &mut dyn Sink<P>) -> Option<(u32, u32)> {
        let flow = &mut self.table.flows[i];
        let handle = if head { flow.line.head()? } else { flow.line.tail()? };
        self.changes += 1;
        flow.changed = self.changes;
        let mut view = View {
            packets: &mut self.packets,
            line: &mut flow.line,
            total: &mut self.total,
            stats: &mut self.stats,
            sink,
            out: None,
        };
        let len = view.discard(handle, DropReason::Limit);
        Some((handle, len))
    }

    /// Tells the manager of flow `i` that its queue lost `n` packets at its head.
    fn tell(&mut self, now: Instant, i: usize, n: u32) {
        if self.shedding.raise {
            let flow = &mut self.table.flows[i];
            let backlog = flow.line.backlog();
            let mut cx = Cx { now, rng: &mut self.host.rng, total_backlog: self.total, backlog, link: self.host.link };
            flow.aqm.shed(&mut cx, n);
        }
    }
}
