//! The buffer below a queue discipline: what the driver and the card have taken is out of the queue manager's reach.
//!
//! A packet's sojourn time in the queue ends when it passes into the buffer. The packet in transmission stays in the
//! buffer until its last bit has gone, as it does in a driver's ring and in Linux's byte queue limits (BQL). A ring and a
//! limit may both bound what the driver takes.

use super::dql::Dql;
use super::{LinkContext, Queue};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::scenario::{RingUnit, TxRingSpec};
use sojourn_aqm::{DequeueResult, Instant, Meta};
use std::collections::VecDeque;

/// A buffer at work.
#[derive(Debug)]
pub(crate) struct TxRing {
    spec: TxRingSpec,
    ring: VecDeque<(Meta, Handle)>,
    /// Packets or bytes of the ring and of the packet in transmission.
    occupancy: u64,
    in_transmission: u64,
    stopped: bool,
    /// The byte limit that finds itself, and bytes of the packet in transmission.
    dql: Option<Dql>,
    in_transmission_bytes: u64,
}

impl TxRing {
    pub fn new(spec: TxRingSpec) -> Self {
        let dql = spec.bql.map(Dql::new);
        Self {
            spec,
            ring: VecDeque::new(),
            occupancy: 0,
            in_transmission: 0,
            stopped: false,
            dql,
            in_transmission_bytes: 0,
        }
    }

    /// Whether a packet waits in the buffer.
    pub fn is_waiting(&self) -> bool {
        !self.ring.is_empty()
    }

    fn push(&mut self, meta: Meta, handle: Handle, ip_bytes: u32) {
        self.occupancy += self.size(ip_bytes);
        self.stopped = match self.spec.unit {
            RingUnit::Bytes => self.occupancy > self.spec.stop,
            RingUnit::Packets => self.occupancy >= self.spec.stop,
        };
        if let Some(dql) = &mut self.dql {
            dql.queued(bytes(ip_bytes));
        }
        self.ring.push_back((meta, handle));
    }

    /// Whether the buffer takes another packet.
    fn is_open(&self) -> bool {
        !self.stopped && self.dql.as_ref().is_none_or(Dql::is_open)
    }

    /// The packet in transmission has gone.
    fn complete(&mut self, now: Instant) {
        self.occupancy -= std::mem::take(&mut self.in_transmission);
        if self.occupancy <= self.spec.wake {
            self.stopped = false;
        }
        // Without anything behind it a completion is told with the next packet; only how long slack was watched depends on when.
        let sent = std::mem::take(&mut self.in_transmission_bytes);
        if let Some(dql) = self.dql.as_mut().filter(|_| sent > 0) {
            dql.completed(now, sent);
        }
    }

    fn size(&self, ip_bytes: u32) -> u64 {
        match self.spec.unit {
            RingUnit::Bytes => bytes(ip_bytes),
            RingUnit::Packets => 1,
        }
    }
}

impl TxRing {
    /// The next packet for the server, which has nothing in transmission.
    #[inline(never)]
    pub fn take<P: Probe>(
        &mut self,
        now: Instant,
        queue: &mut Queue,
        books: &mut LinkContext<P>,
    ) -> DequeueResult<Handle> {
        self.complete(now);
        let not_before = self.refill(now, queue, books);
        let Some((meta, handle)) = self.ring.pop_front() else {
            return not_before.map_or(DequeueResult::Empty, DequeueResult::NotBefore);
        };
        let ip_bytes = books.packets.packet(handle).len;
        (self.in_transmission, self.in_transmission_bytes) = (self.size(ip_bytes), bytes(ip_bytes));
        DequeueResult::Packet(meta, handle)
    }

    /// Moves packets from the queue into the buffer until that stops; tells when the queue allows more, if it said so.
    #[inline(never)]
    pub fn refill<P: Probe>(&mut self, now: Instant, queue: &mut Queue, books: &mut LinkContext<P>) -> Option<Instant> {
        while self.is_open() {
            match queue.dequeue(now, books) {
                DequeueResult::Packet(meta, handle) => self.push(meta, handle, books.packets.packet(handle).len),
                DequeueResult::Empty => return None,
                DequeueResult::NotBefore(at) => return Some(at),
            }
        }
        None
    }

    /// The last byte of a packet has gone, and the next is taken later if at all.
    pub fn sent<P: Probe>(&mut self, now: Instant, queue: &mut Queue, books: &mut LinkContext<P>) {
        self.complete(now);
        self.refill(now, queue, books);
    }
}

/// Bytes of a packet as Linux's drivers count them.
fn bytes(ip_bytes: u32) -> u64 {
    (ip_bytes + ETHERNET_HEADER) as u64
}

/// What Linux's `skb->len` has more than the IP packet.
const ETHERNET_HEADER: u32 = 14;
