//! A constant rate, with exact transmission times.

use super::Server;
use crate::fingerprint::Fate;
use crate::network::{Component, NONE, Network};
use crate::packet::{Handle, Packet};
use crate::probe::Probe;
use sojourn_aqm::{Dequeued, Duration, Instant, Meta, Rate, Serializer};

/// A transmitter of constant rate.
#[derive(Debug)]
pub(crate) struct FixedRate {
    serializer: Serializer,
    /// When the packet in transmission has left.
    pub busy_until: Instant,
    /// The queue has not been asked since: a transmitter asks when it falls idle, and learns that there is nothing.
    pub owes_poll: bool,
    /// Whether an event is pending for when it falls idle.
    pub pending: bool,
}

impl FixedRate {
    pub fn new(rate: Rate) -> Self {
        Self { serializer: Serializer::new(rate), busy_until: Instant::ZERO, owes_poll: false, pending: false }
    }

    /// Starts a transmission of `bytes` at `now` and returns its length.
    #[inline]
    pub fn start(&mut self, now: Instant, bytes: u32) -> Duration {
        let time = self.serializer.time_for(bytes);
        self.busy_until = now + time;
        time
    }
}

impl<P: Probe> Network<P> {
    /// The transmitter is free: starts the next transmission.
    #[inline(always)]
    pub fn serve_fixed(&mut self, now: Instant, l: usize) {
        let next = self.dequeue(now, l);
        let link = &mut self.links[l];
        let Server::Fixed(server) = &mut link.server else { unreachable!("a link keeps its kind") };
        let slot = self.layout.slot(Component::Server(l));
        let (meta, handle) = match next {
            Dequeued::Packet(meta, handle) => (meta, handle),
            Dequeued::Empty => {
                (server.pending, server.owes_poll) = (false, false);
                self.events.set(slot, Instant::NEVER);
                return;
            }
            Dequeued::NotBefore(at) => {
                server.pending = true;
                self.events.set(slot, at);
                return;
            }
        };
        let end = now + server.start(now, meta.len);
        let waiting = link.tally.waiting() > 0;
        // With an empty queue there is nothing to wake up for; the poll is made up for on the next arrival.
        server.owes_poll = !waiting;
        if waiting || server.pending {
            self.events.set(slot, if waiting { end } else { Instant::NEVER });
            server.pending = waiting;
        }
        link.tally.transmission(now, end);
        self.leave(end, l, handle, *self.packets.packet(handle));
    }

    /// Something waits: the transmitter starts, or is told to go on when it is free.
    #[inline]
    pub fn wake_fixed(&mut self, now: Instant, l: usize) {
        let Server::Fixed(server) = &mut self.links[l].server else { unreachable!("a link keeps its kind") };
        if server.pending {
            return;
        }
        if server.busy_until <= now {
            self.serve_fixed(now, l);
            return;
        }
        server.pending = true;
        let at = server.busy_until;
        self.events.set(self.layout.slot(Component::Server(l)), at);
    }

    /// Takes an arriving packet straight through if the transmitter is idle and the discipline agrees.
    #[inline]
    pub fn passes_fixed(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) -> bool {
        let link = &mut self.links[l];
        let Server::Fixed(server) = &link.server else { unreachable!("a link keeps its kind") };
        if server.busy_until > now || server.pending {
            return false;
        }
        let Some(meta) = link.qdisc.pass(now, meta) else {
            self.poll_if_owed(now, l);
            return false;
        };
        self.pass(now, l, meta, handle, packet);
        true
    }

    /// A packet goes straight through an empty queue to an idle transmitter.
    #[inline]
    fn pass(&mut self, now: Instant, l: usize, meta: Meta, handle: Handle, packet: Packet) {
        let link = &mut self.links[l];
        let Server::Fixed(server) = &mut link.server else { unreachable!("a link keeps its kind") };
        let end = now + server.start(now, meta.len);
        server.owes_poll = false;
        link.tally.passage(now, &meta);
        link.tally.transmission(now, end);
        self.fingerprint.record(now, l, meta.flow, meta.len, Fate::Passed);
        self.probe.sent(now, l, handle, &meta, false);
        self.leave(end, l, handle, packet);
    }

    /// A transmitter that fell idle has asked its queue once more, when it did: some disciplines take note.
    #[inline]
    fn poll_if_owed(&mut self, now: Instant, l: usize) {
        let Server::Fixed(server) = &mut self.links[l].server else { return };
        debug_assert!(server.busy_until <= now);
        if !std::mem::take(&mut server.owes_poll) {
            return;
        }
        let idle_since = server.busy_until;
        let (qdisc, mut drops) = self.split(idle_since, l, NONE);
        let polled = qdisc.dequeue(idle_since, &mut drops);
        debug_assert_eq!(polled, Dequeued::Empty, "the queue was empty when the transmitter fell idle");
    }
}
