//! Dequeue (`cake_dequeue`): the shaper, a tin, one of its flows, and COBALT's verdict.

use super::Cake;
use crate::aqm::DropReason;
use crate::cobalt::law::HeadPacket;
use crate::packet::Meta;
use crate::qdisc::{DequeueResult, Sink};
use crate::single::mark;
use crate::time::Instant;

impl<P> Cake<P> {
    #[inline]
    pub(super) fn dequeue_packet(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        let mut first_look = true;
        loop {
            if self.total.packets == 0 {
                // As in `cake_dequeue`, no flow decays while the queue is empty, so CAKE needs no periodic update.
                return DequeueResult::Empty;
            }
            // Charged drops may have closed the shaper again.
            if let Some(at) = self.shaper.not_before(now) {
                self.xstats.overlimits += 1;
                return DequeueResult::NotBefore(at);
            }
            let Some(t) = self.choose(now) else { return DequeueResult::Empty };
            self.current = t;
            if let Some((mut meta, packet, marked)) = self.serve(t, now, &mut first_look, sink) {
                self.tins[t].stats.marks += u64::from(marked);
                if marked {
                    mark(&mut meta, &mut self.stats);
                }
                self.stats.departed.add(meta.len);
                return DequeueResult::Packet(meta, packet);
            }
        }
    }

    /// Tin to serve.
    #[inline]
    fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.rate == 0 { self.choose_by_credit() } else { self.choose_by_schedule(now) }
    }

    /// Without a rate: round robin by the quanta of the tins.
    fn choose_by_credit(&mut self) -> Option<usize> {
        let (mut t, mut wrapped, mut empty) = (self.current, false, true);
        loop {
            let tin = &mut self.tins[t];
            let active = tin.is_active();
            if tin.deficit >= 0 && active {
                return Some(t);
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.share.quantum as i64;
            }
            empty &= !active;
            t += 1;
            if t == self.tins.len() {
                t = 0;
                if wrapped && empty {
                    return None;
                }
                wrapped = true;
            }
        }
    }

    /// The last tin that is on time by its own share; otherwise the tin that is due first (of equals, the last one).
    fn choose_by_schedule(&self, now: Instant) -> Option<usize> {
        let mut best: Option<(usize, i64)> = None;
        for (t, tin) in self.tins.iter().enumerate().filter(|(_, tin)| tin.is_active()) {
            let wait = (tin.next - now).as_nanos();
            if wait <= 0 || best.is_none_or(|(_, least)| wait <= least) {
                best = Some((t, wait));
            }
        }
        best.map(|(t, _)| t)
    }

    /// Dequeues a packet from tin `t`. Returns also whether COBALT marks it; `None` to restart from the shaper.
    #[inline]
    fn serve(
        &mut self,
        t: usize,
        now: Instant,
        first_look: &mut bool,
        sink: &mut dyn Sink<P>,
    ) -> Option<(Meta, P, bool)> {
        let (isolation, ingress) = (self.config.isolation, self.config.ingress);
        loop {
            let tin = &mut self.tins[t];
            let i = tin.first(core::mem::take(first_look))?;
            if tin.flows[i].deficit <= 0 {
                tin.replenish(i, isolation, &mut self.host.rng);
                continue;
            }
            self.last_served = (t, i);
            match self.serve_flow(t, i, now, sink) {
                TurnResult::Send(meta, packet, marked) => return Some((meta, packet, marked)),
                TurnResult::None => {
                    let tin = &mut self.tins[t];
                    tin.found_empty(i, isolation, now);
                    // While the tin has other flows, a restart would lead back here, because neither the shaper nor any
                    // tin's credit has changed, except by charged drops.
                    if ingress || !tin.is_active() {
                        return None;
                    }
                }
                TurnResult::Charged => {}
            }
        }
    }

    /// Dequeues from flow `i` until a packet survives.
    #[inline]
    fn serve_flow(&mut self, t: usize, i: usize, now: Instant, sink: &mut dyn Sink<P>) -> TurnResult<P> {
        let ingress = self.config.ingress;
        loop {
            let tin = &mut self.tins[t];
            let flow = &mut tin.flows[i];
            let Some(head) = flow.queue.head() else { return TurnResult::None };
            let (meta, packet) = self.packets.pop(&mut flow.queue, head);
            let bulk = if ingress { tin.bulk } else { 0 };
            let rng = &mut self.host.rng;
            let taken = HeadPacket { now, enqueued: meta.enqueued, bulk, markable: meta.ecn.is_ect() };
            let decision = flow.state.should_drop(&tin.params, taken, rng);
            let dropped = decision.drop && !flow.queue.is_empty();
            self.removed(t, &meta);
            if self.heap.is_kept() {
                self.heap.shrunk(t, i, &self.tins);
            }
            if !dropped {
                let bytes = self.charge(t, &meta, now, false);
                self.charge_deficit(t, i, bytes);
                self.tins[t].stats.sent((now - meta.enqueued).as_nanos() as u64);
                self.heap.sent();
                return TurnResult::Send(meta, packet, decision.mark);
            }
            self.tins[t].stats.drops += 1;
            if ingress {
                let bytes = self.charge(t, &meta, now, true);
                self.charge_deficit(t, i, bytes);
            }
            self.discard(meta, packet, DropReason::Late, sink);
            if ingress {
                return TurnResult::Charged;
            }
        }
    }

    /// Charges a packet's bytes, as the shaper counts them, to its flow and its tin.
    #[inline]
    fn charge_deficit(&mut self, t: usize, i: usize, bytes: u32) {
        let tin = &mut self.tins[t];
        tin.flows[i].deficit -= bytes as i32;
        tin.deficit -= bytes as i64;
    }
}

/// Outcome of serving a flow.
enum TurnResult<P> {
    /// A packet to send, and whether it is marked.
    Send(Meta, P, bool),
    /// The flow is empty.
    None,
    /// A drop was charged: the flow may have used up its credit.
    Charged,
}
