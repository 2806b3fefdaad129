//! Fast path of plain links, monomorphised per qdisc: enqueue, dequeue or bypass without a verdict. Most links are
//! plain.
//!
//! It pays only if no address is taken on this path: a packet, the counters or a result that another function may read
//! has to be built in memory, which costs as much as the work.

use super::core::LinkCore;
use super::serial::SerialServer;
use super::{LinkContext, QueueEntry, ServiceResult, meta};
use crate::packet::Arrival;
use crate::probe::Probe;
use sojourn_aqm::{Instant, Meta, Serializer};

/// A lossless link of constant rate and delay, without driver ring, with at most an overhead as framing.
pub(crate) struct PlainLink<'a> {
    server: &'a mut SerialServer<Serializer>,
    body: &'a mut LinkCore,
}

impl<'a> PlainLink<'a> {
    #[inline(always)]
    pub fn new(server: &'a mut SerialServer<Serializer>, body: &'a mut LinkCore) -> Self {
        Self { server, body }
    }

    /// Handles an arrival. Returns `None` if it needs a verdict: call [`Self::enqueue_and_serve`] then.
    #[inline(always)]
    pub fn arrive<P: Probe>(
        &mut self,
        now: Instant,
        arrival: Arrival,
        cx: &mut LinkContext<P>,
    ) -> Option<ServiceResult> {
        let Arrival { handle, packet, .. } = arrival;
        let unstamped = meta(now, (packet.len + self.body.overhead(), 1), &arrival, cx);
        let Self { server, body } = self;
        if server.is_busy(now) {
            let queue = &mut body.queue;
            // A separate copy from the one below, so that the compiler can build it in its slot.
            let meta = Meta { enqueued: now, ..unstamped };
            let stored = queue.try_store(&meta, handle, cx) || queue.try_store_in_flow(&meta, handle, cx);
            return stored.then(|| ServiceResult::nothing(server.schedule_call()));
        }
        let mut meta = Meta { enqueued: now, ..unstamped };
        let fate = server.try_pass_through(&mut meta, body, cx)?;
        Some(server.pass::<true, P>(QueueEntry { meta, handle, packet }, fate, body, cx))
    }

    /// General path for an arrival after [`Self::arrive`] has notified the probe of it. Computes the metadata again, so
    /// that the fast path builds nothing for this one.
    pub fn enqueue_and_serve<P: Probe>(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult {
        let &Arrival { handle, packet, origin } = arrival;
        let meta = packet.meta(packet.len + self.body.overhead(), origin);
        self.server.offer::<true, P>(now, QueueEntry { meta, handle, packet }, self.body, cx)
    }

    /// Handles the server's event. Returns `None` if the dequeue needs a verdict: call [`Self::on_server`] then.
    #[inline(always)]
    pub fn try_serve<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> Option<ServiceResult> {
        let packet = self.body.queue.try_dequeue_head(now, cx)?;
        Some(self.server.go_on_with::<true, P>(now, packet, self.body, cx))
    }

    /// General path for the server's event.
    #[inline(always)]
    pub fn on_server<P: Probe>(&mut self, now: Instant, cx: &mut LinkContext<P>) -> ServiceResult {
        if let Some(packet) = self.body.queue.try_dequeue_flow_head(now, cx) {
            return self.server.go_on_with::<true, P>(now, packet, self.body, cx);
        }
        self.server.serve::<true, P>(now, self.body, cx)
    }
}
