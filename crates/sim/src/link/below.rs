//! The buffer below a queue discipline: what the driver and the card have taken is out of the queue manager's reach.
//!
//! A packet's sojourn time in the queue ends when it passes into the buffer. The packet in transmission stays in the
//! buffer until its last bit has gone, as it does in a driver's ring and in Linux's byte queue limits (BQL).

use super::Link;
use crate::network::Network;
use crate::packet::Handle;
use crate::probe::Probe;
use crate::scenario::{BelowSpec, Unit};
use sojourn_aqm::{Dequeued, Instant, Meta};
use std::collections::VecDeque;

/// A buffer at work.
#[derive(Debug)]
pub(crate) struct Below {
    spec: BelowSpec,
    ring: VecDeque<(Meta, Handle)>,
    /// Packets or bytes of the ring and of the packet in transmission.
    inside: u64,
    in_transmission: u64,
    stopped: bool,
}

impl Below {
    pub fn new(spec: BelowSpec) -> Self {
        Self { spec, ring: VecDeque::new(), inside: 0, in_transmission: 0, stopped: false }
    }

    /// Whether a packet waits in the buffer.
    #[inline]
    pub fn waits(&self) -> bool {
        !self.ring.is_empty()
    }

    fn push(&mut self, meta: Meta, handle: Handle, ip_bytes: u32) {
        self.inside += self.size(ip_bytes);
        self.stopped = match self.spec.unit {
            Unit::Bytes => self.inside > self.spec.stop,
            Unit::Packets => self.inside >= self.spec.stop,
        };
        self.ring.push_back((meta, handle));
    }

    /// The packet in transmission has gone.
    fn complete(&mut self) {
        self.inside -= std::mem::take(&mut self.in_transmission);
        if self.inside <= self.spec.wake {
            self.stopped = false;
        }
    }

    fn size(&self, ip_bytes: u32) -> u64 {
        match self.spec.unit {
            Unit::Bytes => (ip_bytes + ETHERNET_HEADER) as u64,
            Unit::Packets => 1,
        }
    }
}

impl Link {
    /// Whether a packet waits for the server.
    #[inline]
    pub fn waits(&self) -> bool {
        self.tally.waiting() > 0 || self.below.as_ref().is_some_and(|below| below.waits())
    }
}

impl<P: Probe> Network<P> {
    /// The next packet for the server, which has nothing in transmission.
    #[inline(always)]
    pub fn take(&mut self, now: Instant, l: usize) -> Dequeued<Handle> {
        if self.links[l].below.is_some() { self.take_from_below(now, l) } else { self.dequeue(now, l) }
    }

    /// A packet has come to the queue: hands down what the buffer takes.
    #[inline]
    pub fn fill_below(&mut self, now: Instant, l: usize) {
        if self.links[l].below.is_some() {
            self.refill(now, l);
        }
    }

    /// The last byte of a packet has gone, and the next is taken later if at all.
    #[inline]
    pub fn sent_from_below(&mut self, now: Instant, l: usize) {
        if let Some(below) = &mut self.links[l].below {
            below.complete();
            self.refill(now, l);
        }
    }

    #[inline(never)]
    fn take_from_below(&mut self, now: Instant, l: usize) -> Dequeued<Handle> {
        self.below(l).complete();
        let not_before = self.refill(now, l);
        let Some((meta, handle)) = self.below(l).ring.pop_front() else {
            return not_before.map_or(Dequeued::Empty, Dequeued::NotBefore);
        };
        let len = self.packets.packet(handle).len;
        let below = self.below(l);
        below.in_transmission = below.size(len);
        Dequeued::Packet(meta, handle)
    }

    /// Moves packets from the queue into the buffer until that stops; tells when the queue allows more, if it said so.
    #[inline(never)]
    fn refill(&mut self, now: Instant, l: usize) -> Option<Instant> {
        while !self.below(l).stopped {
            match self.dequeue(now, l) {
                Dequeued::Packet(meta, handle) => {
                    let len = self.packets.packet(handle).len;
                    self.below(l).push(meta, handle, len);
                }
                Dequeued::Empty => return None,
                Dequeued::NotBefore(at) => return Some(at),
            }
        }
        None
    }

    fn below(&mut self, l: usize) -> &mut Below {
        self.links[l].below.as_mut().expect("the link has a buffer below its queue")
    }
}

/// What Linux's `skb->len` has more than the IP packet.
const ETHERNET_HEADER: u32 = 14;
