//! The packets of all flows in one slab, linked into a list per flow: memory follows the backlog, not the number of
//! flows.

use super::ce_exclusion::CeExclusion;
use crate::aqm::{DropReason, Fifo, PoppedPacket};
use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{DequeueResult, Sink, Stats};
use crate::reservation::{Reservation, ReservationError, move_to_larger};
use crate::single::mark;
use crate::time::Instant;
use alloc::vec::Vec;

/// FIFO list of a flow's packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PacketList {
    /// Handles of the first and of the last packet, if there are any.
    head: u32,
    tail: u32,
    pub packets: u32,
    pub bytes: u64,
}

impl Default for PacketList {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl PacketList {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.packets == 0
    }

    #[inline]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets, bytes: self.bytes }
    }

    /// Handle of the first packet.
    #[inline]
    pub fn head(&self) -> Option<u32> {
        (self.packets > 0).then_some(self.head)
    }

    /// Handle of the last packet.
    #[inline]
    pub fn tail(&self) -> Option<u32> {
        (self.packets > 0).then_some(self.tail)
    }
}

/// Packets and free nodes.
#[derive(Debug)]
pub(crate) struct Slab<P> {
    nodes: Vec<Node<P>>,
    /// First free node; the others follow by `next`.
    free: u32,
}

#[derive(Debug)]
struct Node<P> {
    meta: Meta,
    packet: Option<P>,
    /// The previous packet; undefined for the first one, so that removing a head does not touch the next node.
    prev: u32,
    /// The next packet; `NONE` for the last one.
    next: u32,
}

impl<P> Slab<P> {
    pub fn with_capacity(packets: usize) -> Self {
        Self { nodes: Vec::with_capacity(packets), free: NONE }
    }

    /// Reserves nodes for `packets`.
    pub fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        memory.vec(&mut self.nodes, packets)
    }

    /// Moves the packets of `old` here, an empty slab, into the larger of both memories; their handles stay.
    pub fn take_over(&mut self, old: &mut Self) {
        move_to_larger(&mut self.nodes, &mut old.nodes);
        (self.free, old.free) = (old.free, NONE);
    }

    /// Appends a packet to `list`. Returns its handle.
    #[inline]
    pub fn push(&mut self, list: &mut PacketList, meta: Meta, packet: P) -> u32 {
        let (at, prev) = (self.free, list.tail);
        let at = match self.nodes.get_mut(at as usize) {
            Some(node) => {
                self.free = node.next;
                (node.meta, node.packet, node.prev, node.next) = (meta, Some(packet), prev, NONE);
                at
            }
            None => {
                self.nodes.push(Node { meta, packet: Some(packet), prev, next: NONE });
                self.nodes.len() as u32 - 1
            }
        };
        if list.packets == 0 {
            list.head = at;
        } else {
            self.nodes[prev as usize].next = at;
        }
        list.tail = at;
        list.packets += 1;
        list.bytes += meta.len as u64;
        at
    }

    /// Inserts a packet into `list` after handle `after`, or at the front. Returns its handle.
    pub fn insert(&mut self, list: &mut PacketList, after: Option<u32>, meta: Meta, packet: P) -> u32 {
        if after == list.tail() {
            return self.push(list, meta, packet);
        }
        // Appended first, then moved to its position.
        let before = list.tail;
        let at = self.push(list, meta, packet);
        list.tail = before;
        self.nodes[before as usize].next = NONE;
        let next = after.map_or(list.head, |behind| self.nodes[behind as usize].next);
        self.nodes[at as usize].prev = after.unwrap_or(NONE);
        self.nodes[at as usize].next = next;
        self.nodes[next as usize].prev = at;
        match after {
            Some(behind) => self.nodes[behind as usize].next = at,
            None => list.head = at,
        }
        at
    }

    /// Removes the packet with handle `at` from `list`.
    #[inline]
    pub fn remove(&mut self, list: &mut PacketList, at: u32) -> (Meta, P) {
        if at == list.head {
            return self.pop(list, at);
        }
        let Node { prev, next, .. } = self.nodes[at as usize];
        self.nodes[prev as usize].next = next;
        if at == list.tail {
            list.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
        list.packets -= 1;
        list.bytes -= self.nodes[at as usize].meta.len as u64;
        self.take(at)
    }

    /// Appends `list` to `onto`.
    pub fn splice(&mut self, list: &mut PacketList, onto: &mut PacketList) {
        let Some(head) = list.head() else { return };
        match onto.tail() {
            None => onto.head = head,
            Some(tail) => {
                self.nodes[head as usize].prev = tail;
                self.nodes[tail as usize].next = head;
            }
        }
        onto.tail = list.tail;
        onto.packets += list.packets;
        onto.bytes += list.bytes;
        *list = PacketList::default();
    }

    /// Detaches the head of `list`: its handle, and a list of this packet alone.
    pub fn detach_head(&mut self, list: &mut PacketList) -> Option<(u32, PacketList)> {
        let head = list.head()?;
        let bytes = self.release(list, head).len as u64;
        self.nodes[head as usize].next = NONE;
        Some((head, PacketList { head, tail: head, packets: 1, bytes }))
    }

    /// Removes the first packet of `list`, whose handle is `head`.
    #[inline]
    pub fn pop(&mut self, list: &mut PacketList, head: u32) -> (Meta, P) {
        self.release(list, head);
        self.take(head)
    }

    /// Removes the first packet of `list`, whose handle is `head`, if `goes` accepts it; the metadata is not copied.
    #[inline(always)]
    pub fn pop_if(&mut self, list: &mut PacketList, head: u32, goes: impl FnOnce(&Meta) -> bool) -> Option<(&Meta, P)> {
        let node = &mut self.nodes[head as usize];
        if !goes(&node.meta) {
            return None;
        }
        list.head = node.next;
        list.packets -= 1;
        list.bytes -= u64::from(node.meta.len);
        node.next = self.free;
        self.free = head;
        Some((&node.meta, node.packet.take().expect("a queued handle names a packet")))
    }

    /// Removes the first packet, whose handle is `head`, from `list` but leaves it in its node for [`Self::collect`],
    /// so that it is copied once. No packet may be queued before `collect`.
    #[inline]
    pub fn release(&mut self, list: &mut PacketList, head: u32) -> &Meta {
        let node = &self.nodes[head as usize];
        list.head = node.next;
        list.packets -= 1;
        list.bytes -= node.meta.len as u64;
        &node.meta
    }

    /// Returns the packet released with handle `at`.
    #[inline]
    pub fn collect(&mut self, at: u32) -> DequeueResult<P> {
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
        let Some(packet) = node.packet.take() else { return DequeueResult::Empty };
        DequeueResult::Packet(node.meta, packet)
    }

    #[inline]
    fn take(&mut self, at: u32) -> (Meta, P) {
        let (meta, packet) = self.take_in_place(at);
        (*meta, packet)
    }

    /// Returns the packet released with handle `at`; the metadata is not copied.
    #[inline(always)]
    pub fn take_in_place(&mut self, at: u32) -> (&Meta, P) {
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
        (&node.meta, node.packet.take().expect("a queued handle names a packet"))
    }

    #[inline]
    pub fn meta(&self, at: u32) -> &Meta {
        &self.nodes[at as usize].meta
    }

    /// The host's packet with handle `at`.
    pub fn packet(&self, at: u32) -> &P {
        self.nodes[at as usize].packet.as_ref().expect("a queued handle names a packet")
    }

    /// Handle of the packet after handle `at`.
    pub fn next_of(&self, at: u32) -> Option<u32> {
        Some(self.nodes[at as usize].next).filter(|&next| next != NONE)
    }

    /// Handle of the packet of `list` before handle `at`.
    pub fn previous_of(&self, list: &PacketList, at: u32) -> Option<u32> {
        (at != list.head).then(|| self.nodes[at as usize].prev)
    }

    /// Handle of packet `i` of `list`: immediate for the first and the last, otherwise by walking the list.
    #[inline]
    fn nth(&self, list: &PacketList, i: usize) -> Option<u32> {
        let len = list.packets as usize;
        if i >= len {
            return None;
        }
        let mut at = list.head;
        if i <= len / 2 {
            (0..i).for_each(|_| at = self.nodes[at as usize].next);
        } else {
            at = list.tail;
            (i + 1..len).for_each(|_| at = self.nodes[at as usize].prev);
        }
        Some(at)
    }
}

/// The packets of all flows, and their counters.
#[derive(Debug)]
pub(super) struct PacketStore<P> {
    pub packets: Slab<P>,
    pub backlog: Backlog,
    pub stats: Stats,
}

impl<P> PacketStore<P> {
    /// Takes packets and counters of `old`, in the larger of both memories.
    pub fn take_over(&mut self, old: &mut Self) {
        self.packets.take_over(&mut old.packets);
        (self.backlog, self.stats) = (old.backlog, old.stats);
    }

    #[inline]
    pub fn removed(&mut self, len: u32) {
        self.backlog.packets -= 1;
        self.backlog.bytes -= len as u64;
    }

    /// Counts and returns the packet released with handle `at`.
    #[inline]
    pub fn send(&mut self, at: u32) -> DequeueResult<P> {
        self.stats.departed.add(self.packets.meta(at).len);
        self.packets.collect(at)
    }
}

/// A flow's queue as its algorithm sees it during a call.
pub(super) struct View<'a, P> {
    pub store: &'a mut PacketStore<P>,
    pub queue: &'a mut PacketList,
    pub sink: &'a mut dyn Sink<P>,
    /// Handle of the popped packet.
    pub popped: Option<u32>,
}

impl<P> View<'_, P> {
    /// Drops the packet with handle `at`. Returns its metadata.
    pub fn discard(&mut self, at: u32, reason: DropReason) -> Meta {
        let (meta, packet) = self.store.packets.remove(self.queue, at);
        self.store.removed(meta.len);
        self.store.stats.dropped[reason as usize].add(meta.len);
        self.sink.dropped(meta, packet, reason);
        meta
    }

    #[inline]
    fn nth(&self, i: usize) -> Option<u32> {
        self.store.packets.nth(self.queue, i)
    }
}

impl<P> Fifo for View<'_, P> {
    #[inline]
    fn len(&self) -> usize {
        self.queue.packets as usize
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.queue.bytes
    }
    #[inline]
    fn total_backlog(&self) -> Backlog {
        self.store.backlog
    }
    #[inline]
    fn meta(&self, i: usize) -> Option<Meta> {
        self.nth(i).map(|at| *self.store.packets.meta(at))
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(at) = self.nth(i) else { return false };
        let meta = &mut self.store.packets.nodes[at as usize].meta;
        if meta.ecn.is_ect() {
            mark(meta, &mut self.store.stats);
            return true;
        }
        self.discard(at, reason);
        false
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(at) = self.nth(i) {
            self.discard(at, reason);
        }
    }
    #[inline]
    fn pop(&mut self) -> Option<PoppedPacket> {
        debug_assert!(self.popped.is_none(), "one pop per dequeue");
        let head = self.queue.head()?;
        let meta = *self.store.packets.release(self.queue, head);
        self.store.removed(meta.len);
        self.popped = Some(head);
        Some(PoppedPacket { meta })
    }
}

/// The queue of a flow without packets.
pub(super) struct EmptyQueue {
    /// Backlog of all flows.
    pub total: Backlog,
}

impl Fifo for EmptyQueue {
    #[inline]
    fn len(&self) -> usize {
        0
    }
    #[inline]
    fn bytes(&self) -> u64 {
        0
    }
    #[inline]
    fn total_backlog(&self) -> Backlog {
        self.total
    }
    #[inline]
    fn meta(&self, _: usize) -> Option<Meta> {
        None
    }
    fn mark(&mut self, _: usize, _: DropReason) -> bool {
        false
    }
    fn drop(&mut self, _: usize, _: DropReason) {}
    #[inline]
    fn pop(&mut self) -> Option<PoppedPacket> {
        None
    }
}

/// A [`View`] that excludes packets with CE.
pub(super) struct CeExcludedView<'v, 'a, P> {
    pub view: &'v mut View<'a, P>,
    pub now: Instant,
    /// Index of the flow.
    pub flow: usize,
    pub exclusion: &'v mut CeExclusion,
}

impl<P> Fifo for CeExcludedView<'_, '_, P> {
    fn len(&self) -> usize {
        self.view.len()
    }
    fn bytes(&self) -> u64 {
        self.view.bytes()
    }
    fn total_backlog(&self) -> Backlog {
        self.view.total_backlog()
    }
    fn meta(&self, i: usize) -> Option<Meta> {
        let at = self.view.nth(i)?;
        Some(self.exclusion.visible_meta(self.now, at, *self.view.store.packets.meta(at)))
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(meta) = self.view.meta(i) else { return false };
        let waits = self.view.mark(i, reason);
        if !waits {
            self.exclusion.removed(self.flow, &meta);
        } else if meta.ecn != Ecn::Ce {
            self.exclusion.marked(self.flow, &meta);
        }
        waits
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(meta) = self.view.meta(i) {
            self.view.drop(i, reason);
            self.exclusion.removed(self.flow, &meta);
        }
    }
    fn pop(&mut self) -> Option<PoppedPacket> {
        let PoppedPacket { meta } = self.view.pop()?;
        self.exclusion.removed(self.flow, &meta);
        let at = self.view.popped?;
        Some(PoppedPacket { meta: self.exclusion.visible_meta(self.now, at, meta) })
    }
}

/// No packet, no flow.
pub(super) const NONE: u32 = u32::MAX;
