//! The driver ring below a queue discipline: packets there are out of the AQM's reach.
//!
//! A packet's sojourn time ends when it enters the ring. The packet in transmission occupies the ring until its last
//! bit has been sent, as in a driver's ring and in Linux's byte queue limits (BQL). A ring size and a BQL limit may
//! both apply.
//!
//! A byte limit stops the driver when it is exceeded, as in BQL: `1514 B` allows one full packet in transmission and
//! another one in the ring.

use super::dql::Dql;
use super::{LinkContext, Queue};
use crate::packet::Handle;
use crate::probe::Probe;
use crate::scenario::{RingUnit, TxRingSpec};
use sojourn_aqm::{DequeueResult, Instant, Meta};
use std::collections::VecDeque;

/// State of a driver ring.
#[derive(Debug)]
pub(crate) struct TxRing {
    spec: TxRingSpec,
    ring: VecDeque<(Meta, Handle)>,
    /// Packets or bytes in the ring, including the packet in transmission.
    occupancy: u64,
    in_transmission: u64,
    stopped: bool,
    /// BQL's dynamic limit, and the bytes of the packet in transmission.
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

    /// Whether a packet waits in the ring.
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

    /// Whether the ring accepts another packet.
    fn is_open(&self) -> bool {
        !self.stopped && self.dql.as_ref().is_none_or(Dql::is_open)
    }

    /// Completes the packet in transmission.
    fn complete(&mut self, now: Instant) {
        self.occupancy -= std::mem::take(&mut self.in_transmission);
        if self.occupancy <= self.spec.wake {
            self.stopped = false;
        }
        // If nothing follows, the next packet reports the completion; only the period of the slack observation depends
        // on its time.
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
    /// Takes the next packet; the server must be idle.
    #[inline(never)]
    pub fn take<P: Probe>(
        &mut self,
        now: Instant,
        queue: &mut Queue,
        cx: &mut LinkContext<P>,
    ) -> DequeueResult<Handle> {
        self.complete(now);
        let not_before = self.refill(now, queue, cx);
        let Some((meta, handle)) = self.ring.pop_front() else {
            return not_before.map_or(DequeueResult::Empty, DequeueResult::NotBefore);
        };
        let ip_bytes = cx.packets.packet(handle).len;
        (self.in_transmission, self.in_transmission_bytes) = (self.size(ip_bytes), bytes(ip_bytes));
        DequeueResult::Packet(meta, handle)
    }

    /// Moves packets from the queue into the ring until that stops; returns the queue's `NotBefore` time, if any.
    #[inline(never)]
    pub fn refill<P: Probe>(&mut self, now: Instant, queue: &mut Queue, cx: &mut LinkContext<P>) -> Option<Instant> {
        while self.is_open() {
            match queue.dequeue(now, cx) {
                DequeueResult::Packet(meta, handle) => self.push(meta, handle, cx.packets.packet(handle).len),
                DequeueResult::Empty => return None,
                DequeueResult::NotBefore(at) => return Some(at),
            }
        }
        None
    }

    /// Completes a transmission when the next packet is taken later, if at all.
    pub fn sent<P: Probe>(&mut self, now: Instant, queue: &mut Queue, cx: &mut LinkContext<P>) {
        self.complete(now);
        self.refill(now, queue, cx);
    }
}

/// Bytes of a packet as Linux drivers count them.
fn bytes(ip_bytes: u32) -> u64 {
    (ip_bytes + ETHERNET_HEADER) as u64
}

/// `skb->len` in a driver minus the IP packet's length.
const ETHERNET_HEADER: u32 = 14;
