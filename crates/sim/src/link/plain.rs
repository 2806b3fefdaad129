//! A link that is plain: what most links are. Under a discipline that is known when this is compiled, most packets wait, leave
//! or pass without its judgement; they have a way of their own, on which they are not copied and nothing is called.

use super::body::Body;
use super::one_by_one::OneByOne;
use super::{Books, QueueEntry, Served, meta};
use crate::packet::Arrival;
use crate::probe::Probe;
use sojourn_aqm::{Instant, Meta, Serializer};

/// A link of constant rate and constant delay without a buffer below, whose framing is an overhead at most.
pub(crate) struct Plain<'a> {
    server: &'a mut OneByOne<Serializer>,
    body: &'a mut Body,
}

impl<'a> Plain<'a> {
    #[inline(always)]
    pub fn new(server: &'a mut OneByOne<Serializer>, body: &'a mut Body) -> Self {
        Self { server, body }
    }

    /// A packet arrives. None if the discipline has to decide about it: then [`Self::judge`] is called.
    #[inline(always)]
    pub fn arrive<P: Probe>(&mut self, now: Instant, arrival: Arrival, books: &mut Books<P>) -> Option<Served> {
        let Arrival { handle, packet, .. } = arrival;
        let seen = meta(now, (packet.len + self.body.overhead(), 1), &arrival, books);
        let Self { server, body } = self;
        if server.is_taken(now) {
            let queue = &mut body.queue;
            // Apart from below, so that it need not be in memory where it goes straight into its place.
            let meta = Meta { enqueued: now, ..seen };
            let stored = queue.stores(&meta, handle, books) || queue.stores_in_flow(&meta, handle, books);
            return stored.then(|| Served::nothing(server.calls()));
        }
        let mut meta = Meta { enqueued: now, ..seen };
        let fate = server.goes_through(&mut meta, body, books)?;
        Some(server.pass::<true, P>(QueueEntry { meta, handle, packet }, fate, body, books))
    }

    /// The discipline decides about a packet that arrives and that the probe has seen.
    pub fn judge<P: Probe>(&mut self, now: Instant, arrival: &Arrival, books: &mut Books<P>) -> Served {
        let &Arrival { handle, packet, origin } = arrival;
        let meta = packet.meta(packet.len + self.body.overhead(), origin);
        self.server.offer::<true, P>(now, QueueEntry { meta, handle, packet }, self.body, books)
    }

    /// The time has come for which the server asked. None if the discipline has to decide what leaves: then
    /// [`Self::on_server`] is called.
    #[inline(always)]
    pub fn goes_on<P: Probe>(&mut self, now: Instant, books: &mut Books<P>) -> Option<Served> {
        let packet = self.body.queue.lets_head_go(now, books)?;
        Some(self.server.go_on_with::<true, P>(now, packet, self.body, books))
    }

    /// The same, whatever leaves.
    #[inline(always)]
    pub fn on_server<P: Probe>(&mut self, now: Instant, books: &mut Books<P>) -> Served {
        if let Some(packet) = self.body.queue.lets_head_of_flow_go(now, books) {
            return self.server.go_on_with::<true, P>(now, packet, self.body, books);
        }
        self.server.serve::<true, P>(now, self.body, books)
    }
}
