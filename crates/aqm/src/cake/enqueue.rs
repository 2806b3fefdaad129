//! Enqueue (`cake_enqueue`), and drops to make room (`cake_drop`).

use super::Cake;
use super::ack_filter::redundant_ack;
use super::config::Hash;
use super::hash::Keys;
use crate::aqm::DropReason;
use crate::packet::Meta;
use crate::qdisc::{EnqueueResult, Sink};
use crate::rng::mix;
use crate::time::Instant;

impl<P> Cake<P> {
    #[inline]
    pub(super) fn accept(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        meta.enqueued = now;
        self.stats.arrived.add(meta.len);
        let t = self.tin_of(&meta);
        if self.config.wash {
            meta.dscp = 0;
        }
        let keys = self.keys(&meta);
        let isolation = self.config.isolation;
        let i = self.tins[t].flow_index(&keys, isolation);
        self.shaper.refresh(&mut self.tins[t], self.total.packets == 0, now);
        self.measure(meta.len / u32::from(meta.segments.max(1)));

        let tin = &mut self.tins[t];
        tin.stats.largest = tin.stats.largest.max(meta.len);
        let arrived = self.packets.push(&mut tin.flows[i].queue, meta, packet);
        tin.stats.packets += 1;
        tin.stats.bytes += meta.len as u64;
        tin.backlog += meta.len as u64;
        self.total.packets += 1;
        self.total.bytes += meta.len as u64;
        let filtered = self.filter(now, t, i, sink);
        if self.heap.is_kept() {
            self.heap.grown(t, i, &self.tins);
        }
        if let Some(autorate) = &mut self.autorate {
            if let Some(rate) = autorate.arrived(now, meta.len.saturating_sub(filtered) as u64) {
                self.reconfigure(rate);
            }
        }
        self.tins[t].activate(i, isolation, &mut self.host.rng);

        self.xstats.max_memory_used = self.xstats.max_memory_used.max(self.total.bytes);
        // The arrived packet itself may be dropped, if it is at the head of the longest queue.
        let mut waits = true;
        while self.total.packets > 0 && !self.has_room() {
            waits &= self.shed(now, sink) != Some(arrived);
        }
        if waits { EnqueueResult::Queued } else { EnqueueResult::Dropped(DropReason::Limit) }
    }

    /// Tin that a packet joins.
    #[inline]
    pub(super) fn tin_of(&self, meta: &Meta) -> usize {
        self.table[(meta.dscp & 63) as usize] as usize
    }

    /// Hashes of the packet's flow and hosts.
    #[inline]
    fn keys(&self, meta: &Meta) -> Keys {
        let hashed = |number: u32, salt: u64| match self.config.hash {
            Hash::Perturbed => (mix(number as u64 ^ self.seed ^ salt) >> 32) as u32,
            Hash::Modulo => number,
        };
        let (source, destination) = meta.hosts;
        // The salt separates a flow from a host of the same number.
        Keys { flow: hashed(meta.flow, 0), source: hashed(source, HOST), destination: hashed(destination, HOST) }
    }

    /// Records the sizes of a packet, or of a super-packet's segments.
    #[inline]
    fn measure(&mut self, len: u32) {
        let network = self.framing.network(len);
        let adjusted = self.framing.adjusted(network);
        for (bounds, size) in [(&mut self.xstats.network, network), (&mut self.xstats.adjusted, adjusted)] {
            *bounds = (bounds.0.min(size), bounds.1.max(size));
        }
    }

    /// Drops an acknowledgment that the last packet of flow `i` makes redundant. Returns its bytes.
    fn filter(&mut self, now: Instant, t: usize, i: usize, sink: &mut dyn Sink<P>) -> u32 {
        let line = &mut self.tins[t].flows[i].queue;
        let Some(handle) = redundant_ack(line, &self.packets, self.config.ack_filter, sink) else { return 0 };
        let (meta, packet) = self.packets.remove(line, handle);
        self.removed(t, &meta);
        self.tins[t].stats.ack_drops += 1;
        if self.config.ingress {
            self.charge(t, &meta, now, true);
        }
        let len = meta.len;
        self.discard(meta, packet, DropReason::Early, sink);
        len
    }

    fn has_room(&self) -> bool {
        self.total.bytes <= self.memory_limit && self.limits.hold(self.total, self.host.link)
    }

    /// Drops the head of the longest queue. Returns its handle.
    #[cold]
    fn shed(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<u32> {
        let (t, i) = self.heap.longest(&self.tins);
        let Some(tin) = self.tins.get_mut(t).filter(|tin| !tin.flows[i].queue.is_empty()) else {
            self.heap.disable();
            return None;
        };
        let flow = &mut tin.flows[i];
        tin.unresponsive += u32::from(flow.state.queue_full(&tin.params, now));
        let handle = flow.queue.head()?;
        let (meta, packet) = self.packets.pop(&mut flow.queue, handle);
        tin.stats.drops += 1;
        self.removed(t, &meta);
        if self.config.ingress {
            self.charge(t, &meta, now, true);
        }
        self.discard(meta, packet, DropReason::Limit, sink);
        self.heap.shrunk(t, i, &self.tins);
        Some(handle)
    }
}

/// Salt that separates host numbers from flow numbers.
const HOST: u64 = 0x5eed_0000_0000_0000;
