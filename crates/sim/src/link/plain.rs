//! A link that is plain: what most links are. Under a discipline that is known when this is compiled, most packets wait, leave
//! or pass without its judgement; they have a way of their own, on which they are not copied and nothing is called.

use super::core::LinkCore;
use super::serial::SerialServer;
use super::{LinkContext, QueueEntry, ServiceResult, meta};
use crate::packet::Arrival;
use crate::probe::Probe;
use sojourn_aqm::{Instant, Meta, Serializer};

/// A link of constant rate and constant delay without a buffer below, whose framing is an overhead at most.
pub(crate) struct PlainLink<'a> {
    server: &'a mut SerialServer<Serializer>,
    body: &'a mut LinkCore,
}

impl<'a> PlainLink<'a> {
    #[inline(always)]
    pub fn new(server: &'a mut SerialServer<Serializer>, body: &'a mut LinkCore) -> Self {
        Self { server, body }
    }

    /// A packet arrives. None if the discipline has to decide about it: then [`Self::judge`] is called.
    #[inline(always)]
    pub fn arrive<P: Probe>(
        &mut self,
        now: Instant,
        arrival: Arrival,
        books: &mut LinkContext<P>,
    ) -> Option<ServiceResult> {
        let Arrival { handle, packet, .. } = arrival;
        let seen = meta(now, (packet.len + self.body.overhead(), 1), &arrival, books);
        let Self { server, body } = self;
        if server.is_busy(now) {
            let queue = &mut body.queue;
            // Apart from below, so that it need not be in memory where it goes straight into its place.
            let meta = Meta { enqueued: now, ..seen };
            let stored = queue.try_store(&meta, handle, books) || queue.try_store_in_flow(&meta, handle, books);
            return stored.then(|| ServiceResult::nothing(server.schedule_call()));
        }
        let mut meta = Meta { enqueued: now, ..seen };
        let fate = server.try_pass_through(&mut meta, body, books)?;
        Some(server.pass::<true, P>(QueueEntry { meta, handle, packet }, fate, body, books))
    }

    /// The discipline decides about a packet that arrives and that the probe has seen.
    pub fn enqueue_and_serve<P: Probe>(
        &mut self,
        now: Instant,
        arrival: &Arrival,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        let &Arrival { handle, packet, origin } = arrival;
        let meta = packet.meta(packet.len + self.body.overhead(), origin);
        self.server.offer::<true, P>(now, QueueEntry { meta, handle, packet }, self.body, books)
    }

    /// The time has come for which the server asked. None if the discipline has to decide what leaves: then
    /// [`Self::on_server`] is called.
    #[inline(always)]
    pub fn try_serve<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> Option<ServiceResult> {
        let packet = self.body.queue.try_dequeue_head(now, books)?;
        Some(self.server.go_on_with::<true, P>(now, packet, self.body, books))
    }

    /// The same, whatever leaves.
    #[inline(always)]
    pub fn on_server<P: Probe>(&mut self, now: Instant, books: &mut LinkContext<P>) -> ServiceResult {
        if let Some(packet) = self.body.queue.try_dequeue_flow_head(now, books) {
            return self.server.go_on_with::<true, P>(now, packet, self.body, books);
        }
        self.server.serve::<true, P>(now, self.body, books)
    }
}
