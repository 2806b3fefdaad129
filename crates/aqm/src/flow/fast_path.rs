//! Fast path for packets without a decision, which is nearly all of them: callers that know the queue's type enqueue
//! and dequeue without a sink, a view of the queue or a result that contains a packet. DRR++ is written out here, with
//! one access to the flow and one to the packet; a single flag disables the path.

use super::FlowQueue;
use super::packet_list::PacketStore;
use super::table::Flow;
use crate::aqm::Aqm;
use crate::packet::Meta;
use crate::time::Instant;

impl<A: Aqm, P> FlowQueue<A, P> {
    /// Queues a stamped packet if its flow is known, it fits, and no decision is needed for packets that fit. Returns
    /// whether it did; otherwise nothing has changed.
    #[inline(never)]
    pub fn try_store(&mut self, meta: &Meta, packet: P) -> bool {
        if !self.has_fast_path || !self.bounds.admit(self.store.backlog, meta.len) {
            return false;
        }
        let Some(i) = self.table.known(meta) else { return false };
        self.store.stats.arrived.add(meta.len);
        self.push(i, 0, *meta, packet);
        true
    }

    /// Dequeues the next packet if its flow's manager has no decision to make; otherwise the state only changes as
    /// [`Qdisc::dequeue`](crate::qdisc::Qdisc::dequeue) at `now` would change it.
    #[inline(never)]
    pub fn try_dequeue_head(&mut self, now: Instant) -> Option<(&Meta, P)> {
        if !self.has_fast_path {
            return None;
        }
        if !self.schedule.has_two_lists() {
            return self.try_dequeue_single_list(now);
        }
        loop {
            let i = self.schedule.first()?;
            let flow = &mut self.table.flows[i];
            if flow.sched.deficit <= 0 {
                self.schedule.replenish(&mut self.table.flows, i);
                continue;
            }
            self.last_served = i as u32;
            let Flow { queue, sched, aqm, .. } = flow;
            let Some(head) = queue.head() else {
                self.serve_empty(now, i);
                continue;
            };
            let PacketStore { packets, backlog, stats } = &mut self.store;
            let mtu = self.host.link.mtu;
            let aqm = aqm.fast_dequeue()?;
            let goes = |meta: &Meta| aqm.try_release(now, meta, backlog.bytes - u64::from(meta.len), mtu);
            let (meta, packet) = packets.pop_if(queue, head, goes)?;
            backlog.packets -= 1;
            backlog.bytes -= u64::from(meta.len);
            stats.departed.add(meta.len);
            sched.deficit -= self.schedule.cost(meta.len);
            return Some((meta, packet));
        }
    }

    /// The same for schedulers other than DRR++.
    #[inline(never)]
    fn try_dequeue_single_list(&mut self, now: Instant) -> Option<(&Meta, P)> {
        let i = self.next_backlogged_flow(now)?;
        let head = self.release_head(now, i)?;
        let (meta, packet) = self.store.packets.take_in_place(head);
        self.store.stats.departed.add(meta.len);
        self.schedule.served(&mut self.table.flows, i, meta.len);
        Some((meta, packet))
    }
}

impl<A: Aqm, P> FlowQueue<A, P> {
    /// The next flow with a packet; the managers of empty flows before it are called.
    #[inline(always)]
    pub(super) fn next_backlogged_flow(&mut self, now: Instant) -> Option<usize> {
        loop {
            let i = self.schedule.ready(&mut self.table.flows, &self.store.packets)?;
            self.last_served = i as u32;
            if !self.table.flows[i].queue.is_empty() {
                return Some(i);
            }
            self.serve_empty(now, i);
        }
    }

    /// Releases the first packet of flow `i` if its manager has no decision to make. Returns its handle.
    #[inline(always)]
    pub(super) fn release_head(&mut self, now: Instant, i: usize) -> Option<u32> {
        if self.ce_exclusion.is_some() {
            return None;
        }
        let Self { table, store, host, .. } = self;
        let flow = &mut table.flows[i];
        let head = flow.queue.head()?;
        let meta = store.packets.meta(head);
        let behind = store.backlog.bytes - meta.len as u64;
        if !flow.aqm.fast_dequeue()?.try_release(now, meta, behind, host.link.mtu) {
            return None;
        }
        let len = store.packets.release(&mut flow.queue, head).len;
        store.removed(len);
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use crate::aqm::DropReason;
    use crate::codel::Codel;
    use crate::flow::{FlowQueue, flow_queue};
    use crate::limits::Limits;
    use crate::link::Link;
    use crate::packet::{Ecn, Meta};
    use crate::qdisc::{DequeueResult, Host, Qdisc};
    use crate::rate::Rate;
    use crate::registry::{self, AnyConfig};
    use crate::rng::Rng;
    use crate::time::Instant;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;

    fn queue(spelling: &str) -> FlowQueue<Codel, u32> {
        let config = registry::parse(spelling).expect("it is valid");
        let AnyConfig::FqCodel(config) = config else { unreachable!("{spelling} is FQ-CoDel") };
        let link = Link::new(Rate::from_bps(12_000_000), 1514);
        flow_queue(&config, Limits::packets(200), Host { link, rng: Rng::from_state(3) })
    }

    /// Complete visible state of a queue.
    fn seen(queue: &FlowQueue<Codel, u32>) -> (Vec<(&'static str, f64)>, Vec<String>, String) {
        let (mut state, mut parts) = (Vec::new(), Vec::new());
        queue.observe(&mut |name, value| state.push((name, value)));
        queue.subqueues(&mut |part| {
            parts.push(format!("{} {} {:?} {:?} {:?}", part.number, part.list, part.backlog, part.deficit, part.head));
            (part.observe)(&mut |name, value| parts.push(format!("{name} {value}")));
        });
        (state, parts, format!("{:?}", queue.stats()))
    }

    /// A queue with the fast path and one without drop, mark and send the same packets at the same times, and have the
    /// same state after each packet.
    #[test]
    fn what_needs_no_decision_is_done_as_if_it_had_been_asked_for() {
        for (spelling, is_quick) in [
            ("fq_codel", true),
            ("fq_codel flows 4", true),
            ("fq_codel@linux", true),
            ("fq_codel@linux-3.10 target 1ms", true),
            ("fq_codel scheduler sfq", true),
            ("fq_codel scheduler drr quantum 300B", true),
            ("fq_codel scheduler ns2 quantum 0B", true),
            ("fq_codel overflow arrival", true),
            ("fq_codel overflow longest", false),
            ("fq_codel overflow fair-share", false),
            ("fq_codel depth 30", false),
            ("fq_codel divisor 2048", false),
            ("fq_codel perturb_period 1s", false),
        ] {
            let (mut plain, mut quick) = (queue(spelling), queue(spelling));
            let (mut rng, mut now, mut free, mut stored, mut gone) = (Rng::from_state(9), 0, 0, 0, 0);
            let (mut lost, mut lost_quickly) = (Vec::new(), Vec::new());
            for n in 0..20_000_u32 {
                // Overload, then underload, then a pause in which all flows become empty.
                now += if n % 2_000 < 1_200 { rng.below(1_500_000) } else { rng.below(3_500_000) };
                now += if n % 2_000 == 0 { 2_000_000_000 } else { 0 };
                while free <= now && plain.backlog().packets > 0 {
                    let at = Instant::from_nanos(free);
                    let sent =
                        plain.dequeue(at, &mut |_: Meta, packet, reason: DropReason| lost.push((packet, reason)));
                    let sent_quickly = match quick.try_dequeue_head(at) {
                        Some((meta, packet)) => {
                            gone += 1;
                            DequeueResult::Packet(*meta, packet)
                        }
                        None => quick.dequeue(at, &mut |_: Meta, packet, reason| lost_quickly.push((packet, reason))),
                    };
                    assert_eq!(sent, sent_quickly, "{spelling}, packet {n}");
                    free += 1_000_000;
                }
                free = free.max(now);
                let at = Instant::from_nanos(now);
                let ecn = if n % 5 == 0 { Ecn::Ect0 } else { Ecn::NotEct };
                let len = 100 + rng.below(1_400) as u32;
                let meta = Meta { enqueued: at, ..Meta::new(len, rng.below(12) as u32).with_ecn(ecn) };
                plain.enqueue(at, meta, n, &mut |_: Meta, packet, reason| lost.push((packet, reason)));
                if quick.try_store(&meta, n) {
                    stored += 1;
                } else {
                    quick.enqueue(at, meta, n, &mut |_: Meta, packet, reason| lost_quickly.push((packet, reason)));
                }
                assert_eq!(lost, lost_quickly, "{spelling}, packet {n}");
                assert_eq!(seen(&plain), seen(&quick), "{spelling}, packet {n}");
            }
            assert_eq!((stored > 1_000, gone > 1_000), (is_quick, is_quick), "{spelling}: {stored}, {gone}");
            assert!(lost.len() > 100, "{spelling} drops {}", lost.len());
        }
    }
}
