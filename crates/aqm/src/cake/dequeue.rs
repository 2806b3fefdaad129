//! The next packet (`cake_dequeue`): the gate of the shaper, a tin, a flow of it, and COBALT's verdict.

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
                return DequeueResult::Empty;
            }
            // What was dropped on the way may have closed it again.
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

    /// The tin to serve.
    #[inline]
    fn choose(&mut self, now: Instant) -> Option<usize> {
        if self.rate == 0 { self.choose_by_credit() } else { self.choose_by_schedule(now) }
    }

    /// Without a rate: tins take turns by their quanta.
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

    /// The last tin that is on time by its own share; else the one that is due first, of equals the last.
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

    /// A packet of tin `t`, and whether COBALT marks it; nothing if the last flow had none, and all is to be looked at again.
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
                    // As long as it has others, looking at everything again would lead back here: neither the shaper
                    // nor any credit of a tin has changed, but by drops that are charged.
                    if ingress || !tin.is_active() {
                        return None;
                    }
                }
                TurnResult::Charged => {}
            }
        }
    }

    /// Takes packets from flow `i` until one is to be sent.
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

    /// Takes a packet's bytes, as the shaper counts them, from the credit of its flow and its tin.
    #[inline]
    fn charge_deficit(&mut self, t: usize, i: usize, bytes: u32) {
        let tin = &mut self.tins[t];
        tin.flows[i].deficit -= bytes as i32;
        tin.deficit -= bytes as i64;
    }
}

/// What became of a flow's turn.
enum TurnResult<P> {
    /// A packet to send, and whether it is marked.
    Send(Meta, P, bool),
    /// There is none.
    None,
    /// A drop was charged: the flow may have spent its credit.
    Charged,
}
