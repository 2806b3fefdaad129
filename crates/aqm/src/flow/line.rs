//! The packets of all flows in one slab, each flow's linked in a line: memory follows the backlog, not the flows.

use super::left_out::LeftOut;
use crate::aqm::{DropReason, Fifo, Popped};
use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};
use crate::qdisc::{Dequeued, Sink, Stats};
use crate::single::mark;
use crate::time::Instant;
use alloc::vec::Vec;

/// A flow's packets, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
    /// Of the first and of the last packet, if there is one.
    head: u32,
    tail: u32,
    pub packets: u32,
    pub bytes: u64,
}

impl Default for Line {
    fn default() -> Self {
        Self { head: NONE, tail: NONE, packets: 0, bytes: 0 }
    }
}

impl Line {
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

/// The packets, free places among them.
#[derive(Debug)]
pub(crate) struct Slab<P> {
    nodes: Vec<Node<P>>,
    /// First free place; the others follow by `next`.
    free: u32,
}

#[derive(Debug)]
struct Node<P> {
    meta: Meta,
    packet: Option<P>,
    /// The packet before it; of a line's first one, anything: a packet that leaves does not touch the next one.
    prev: u32,
    /// The packet behind it; of a line's last one none.
    next: u32,
}

impl<P> Slab<P> {
    pub fn with_capacity(packets: usize) -> Self {
        Self { nodes: Vec::with_capacity(packets), free: NONE }
    }

    /// Appends a packet to `line`; its handle.
    #[inline]
    pub fn push(&mut self, line: &mut Line, meta: Meta, packet: P) -> u32 {
        let (at, prev) = (self.free, line.tail);
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
        if line.packets == 0 {
            line.head = at;
        } else {
            self.nodes[prev as usize].next = at;
        }
        line.tail = at;
        line.packets += 1;
        line.bytes += meta.len as u64;
        at
    }

    /// Puts a packet into `line` behind the one with the handle `behind`, or before all; its handle.
    pub fn insert(&mut self, line: &mut Line, behind: Option<u32>, meta: Meta, packet: P) -> u32 {
        if behind == line.tail() {
            return self.push(line, meta, packet);
        }
        // Appended, and then moved to its place.
        let before = line.tail;
        let at = self.push(line, meta, packet);
        line.tail = before;
        self.nodes[before as usize].next = NONE;
        let next = behind.map_or(line.head, |behind| self.nodes[behind as usize].next);
        self.nodes[at as usize].prev = behind.unwrap_or(NONE);
        self.nodes[at as usize].next = next;
        self.nodes[next as usize].prev = at;
        match behind {
            Some(behind) => self.nodes[behind as usize].next = at,
            None => line.head = at,
        }
        at
    }

    /// Takes the packet with handle `at` out of `line`, in which it waits.
    #[inline]
    pub fn remove(&mut self, line: &mut Line, at: u32) -> (Meta, P) {
        if at == line.head {
            return self.pop(line, at);
        }
        let Node { prev, next, .. } = self.nodes[at as usize];
        self.nodes[prev as usize].next = next;
        if at == line.tail {
            line.tail = prev;
        } else {
            self.nodes[next as usize].prev = prev;
        }
        line.packets -= 1;
        line.bytes -= self.nodes[at as usize].meta.len as u64;
        self.take(at)
    }

    /// Appends all of `line` to `onto`.
    pub fn splice(&mut self, line: &mut Line, onto: &mut Line) {
        let Some(head) = line.head() else { return };
        match onto.tail() {
            None => onto.head = head,
            Some(tail) => {
                self.nodes[head as usize].prev = tail;
                self.nodes[tail as usize].next = head;
            }
        }
        onto.tail = line.tail;
        onto.packets += line.packets;
        onto.bytes += line.bytes;
        *line = Line::default();
    }

    /// Takes the head of `line` off: its handle, and it as a line of its own.
    pub fn behead(&mut self, line: &mut Line) -> Option<(u32, Line)> {
        let head = line.head()?;
        let bytes = self.release(line, head).len as u64;
        self.nodes[head as usize].next = NONE;
        Some((head, Line { head, tail: head, packets: 1, bytes }))
    }

    /// Takes the packet with the handle `head`, which is its first, out of `line`.
    #[inline]
    pub fn pop(&mut self, line: &mut Line, head: u32) -> (Meta, P) {
        self.release(line, head);
        self.take(head)
    }

    /// Takes the packet with the handle `head`, which is its first, out of `line` if it `goes`; what the algorithm saw of it is
    /// not copied.
    #[inline(always)]
    pub fn pop_if(&mut self, line: &mut Line, head: u32, goes: impl FnOnce(&Meta) -> bool) -> Option<(&Meta, P)> {
        let node = &mut self.nodes[head as usize];
        if !goes(&node.meta) {
            return None;
        }
        line.head = node.next;
        line.packets -= 1;
        line.bytes -= u64::from(node.meta.len);
        node.next = self.free;
        self.free = head;
        Some((&node.meta, node.packet.take().expect("a handle in a line is of a packet")))
    }

    /// Takes the packet with the handle `head`, which is its first, out of `line`, but leaves it where it lies for
    /// [`Self::collect`], before which nothing is queued: it is then copied once.
    #[inline]
    pub fn release(&mut self, line: &mut Line, head: u32) -> &Meta {
        let node = &self.nodes[head as usize];
        line.head = node.next;
        line.packets -= 1;
        line.bytes -= node.meta.len as u64;
        &node.meta
    }

    /// The packet released with the handle `at`.
    #[inline]
    pub fn collect(&mut self, at: u32) -> Dequeued<P> {
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
        let Some(packet) = node.packet.take() else { return Dequeued::Empty };
        Dequeued::Packet(node.meta, packet)
    }

    #[inline]
    fn take(&mut self, at: u32) -> (Meta, P) {
        let (meta, packet) = self.take_where_it_lies(at);
        (*meta, packet)
    }

    /// The packet released with the handle `at`; what the algorithm saw of it is not copied.
    #[inline(always)]
    pub fn take_where_it_lies(&mut self, at: u32) -> (&Meta, P) {
        let node = &mut self.nodes[at as usize];
        node.next = self.free;
        self.free = at;
        (&node.meta, node.packet.take().expect("a handle in a line is of a packet"))
    }

    #[inline]
    pub fn meta(&self, at: u32) -> &Meta {
        &self.nodes[at as usize].meta
    }

    /// The host's packet with the handle `at`.
    pub fn packet(&self, at: u32) -> &P {
        self.nodes[at as usize].packet.as_ref().expect("a handle in a line is of a packet")
    }

    /// Handle of the packet behind the one with the handle `at`.
    pub fn behind(&self, at: u32) -> Option<u32> {
        Some(self.nodes[at as usize].next).filter(|&next| next != NONE)
    }

    /// Handle of the packet of `line` before the one with the handle `at`.
    pub fn before(&self, line: &Line, at: u32) -> Option<u32> {
        (at != line.head).then(|| self.nodes[at as usize].prev)
    }

    /// Handle of packet `i` of `line`: at once for the first and the last, else by walking there.
    #[inline]
    fn nth(&self, line: &Line, i: usize) -> Option<u32> {
        let len = line.packets as usize;
        if i >= len {
            return None;
        }
        let mut at = line.head;
        if i <= len / 2 {
            (0..i).for_each(|_| at = self.nodes[at as usize].next);
        } else {
            at = line.tail;
            (i + 1..len).for_each(|_| at = self.nodes[at as usize].prev);
        }
        Some(at)
    }
}

/// The packets of all flows, and what has been counted of them.
#[derive(Debug)]
pub(super) struct Books<P> {
    pub packets: Slab<P>,
    pub total: Backlog,
    pub stats: Stats,
}

impl<P> Books<P> {
    #[inline]
    pub fn left(&mut self, len: u32) {
        self.total.packets -= 1;
        self.total.bytes -= len as u64;
    }

    /// Counts and hands out the packet that was released with the handle `at`.
    #[inline]
    pub fn send(&mut self, at: u32) -> Dequeued<P> {
        self.stats.departed.add(self.packets.meta(at).len);
        self.packets.collect(at)
    }
}

/// A flow's queue as its algorithm sees it in one call.
pub(super) struct View<'a, P> {
    pub books: &'a mut Books<P>,
    pub line: &'a mut Line,
    pub sink: &'a mut dyn Sink<P>,
    /// Handle of the packet that leaves.
    pub popped: Option<u32>,
}

impl<P> View<'_, P> {
    /// Drops the packet with handle `at`; what it was.
    pub fn discard(&mut self, at: u32, reason: DropReason) -> Meta {
        let (meta, packet) = self.books.packets.remove(self.line, at);
        self.books.left(meta.len);
        self.books.stats.dropped[reason as usize].add(meta.len);
        self.sink.dropped(meta, packet, reason);
        meta
    }

    #[inline]
    fn nth(&self, i: usize) -> Option<u32> {
        self.books.packets.nth(self.line, i)
    }
}

impl<P> Fifo for View<'_, P> {
    #[inline]
    fn len(&self) -> usize {
        self.line.packets as usize
    }
    #[inline]
    fn bytes(&self) -> u64 {
        self.line.bytes
    }
    #[inline]
    fn total_backlog(&self) -> Backlog {
        self.books.total
    }
    #[inline]
    fn meta(&self, i: usize) -> Option<Meta> {
        self.nth(i).map(|at| *self.books.packets.meta(at))
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(at) = self.nth(i) else { return false };
        let meta = &mut self.books.packets.nodes[at as usize].meta;
        if meta.ecn.is_ect() {
            mark(meta, &mut self.books.stats);
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
    fn pop(&mut self) -> Option<Popped> {
        debug_assert!(self.popped.is_none(), "one pop per dequeue");
        let head = self.line.head()?;
        let meta = *self.books.packets.release(self.line, head);
        self.books.left(meta.len);
        self.popped = Some(head);
        Some(Popped { meta })
    }
}

/// The queue of a flow in which nothing waits.
pub(super) struct Vacant {
    /// Of all flows.
    pub total: Backlog,
}

impl Fifo for Vacant {
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
    fn pop(&mut self) -> Option<Popped> {
        None
    }
}

/// The same where packets that carry CE are left out; what an algorithm is given then.
pub(super) struct Excluding<'v, 'a, P> {
    pub view: &'v mut View<'a, P>,
    pub now: Instant,
    /// Which flow's.
    pub flow: usize,
    pub left_out: &'v mut LeftOut,
}

impl<P> Fifo for Excluding<'_, '_, P> {
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
        Some(self.left_out.seen(self.now, at, *self.view.books.packets.meta(at)))
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(meta) = self.view.meta(i) else { return false };
        let waits = self.view.mark(i, reason);
        if !waits {
            self.left_out.removed(self.flow, &meta);
        } else if meta.ecn != Ecn::Ce {
            self.left_out.marked(self.flow, &meta);
        }
        waits
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(meta) = self.view.meta(i) {
            self.view.drop(i, reason);
            self.left_out.removed(self.flow, &meta);
        }
    }
    fn pop(&mut self) -> Option<Popped> {
        let Popped { meta } = self.view.pop()?;
        self.left_out.removed(self.flow, &meta);
        let at = self.view.popped?;
        Some(Popped { meta: self.left_out.seen(self.now, at, meta) })
    }
}

/// No packet, no flow.
pub(super) const NONE: u32 = u32::MAX;
