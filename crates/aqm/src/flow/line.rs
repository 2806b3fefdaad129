//! The packets of all flows in one slab, each flow's linked in a line: memory follows the backlog, not the flows.

use super::left_out::LeftOut;
use crate::aqm::{DropReason, Fifo, Popped};
use crate::backlog::Backlog;
use crate::packet::Meta;
use crate::qdisc::{Sink, Stats};
use crate::single::mark;
use crate::time::Instant;
use alloc::vec::Vec;

/// A flow's packets, first in, first out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line {
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
    prev: u32,
    next: u32,
}

impl<P> Slab<P> {
    pub fn with_capacity(packets: usize) -> Self {
        Self { nodes: Vec::with_capacity(packets), free: NONE }
    }

    /// Appends a packet to `line`; its handle.
    #[inline]
    pub fn push(&mut self, line: &mut Line, meta: Meta, packet: P) -> u32 {
        let node = Node { meta, packet: Some(packet), prev: line.tail, next: NONE };
        let at = self.free;
        let at = if at == NONE {
            self.nodes.push(node);
            self.nodes.len() as u32 - 1
        } else {
            self.free = self.nodes[at as usize].next;
            self.nodes[at as usize] = node;
            at
        };
        match line.tail {
            NONE => line.head = at,
            tail => self.nodes[tail as usize].next = at,
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
        let node = &mut self.nodes[at as usize];
        let (meta, packet) = (node.meta, node.packet.take().expect("a handle in a line is of a packet"));
        let (prev, next) = (node.prev, node.next);
        node.next = self.free;
        self.free = at;
        match prev {
            NONE => line.head = next,
            prev => self.nodes[prev as usize].next = next,
        }
        match next {
            NONE => line.tail = prev,
            next => self.nodes[next as usize].prev = prev,
        }
        line.packets -= 1;
        line.bytes -= meta.len as u64;
        (meta, packet)
    }

    /// Appends all of `line` to `onto`.
    pub fn splice(&mut self, line: &mut Line, onto: &mut Line) {
        let Some(head) = line.head() else { return };
        self.nodes[head as usize].prev = onto.tail;
        match onto.tail {
            NONE => onto.head = head,
            tail => self.nodes[tail as usize].next = head,
        }
        onto.tail = line.tail;
        onto.packets += line.packets;
        onto.bytes += line.bytes;
        *line = Line::default();
    }

    /// Takes the head of `line` off: its handle, and it as a line of its own.
    pub fn behead(&mut self, line: &mut Line) -> Option<(u32, Line)> {
        let head = line.head()?;
        let bytes = self.nodes[head as usize].meta.len as u64;
        self.unlink_head(line, head);
        self.nodes[head as usize].next = NONE;
        Some((head, Line { head, tail: head, packets: 1, bytes }))
    }

    /// Takes the packet with the handle `head`, which is its first, out of `line`.
    #[inline]
    pub fn pop(&mut self, line: &mut Line, head: u32) -> (Meta, P) {
        self.unlink_head(line, head);
        let node = &mut self.nodes[head as usize];
        node.next = self.free;
        self.free = head;
        (node.meta, node.packet.take().expect("a handle in a line is of a packet"))
    }

    #[inline]
    fn unlink_head(&mut self, line: &mut Line, head: u32) {
        let node = &self.nodes[head as usize];
        line.head = node.next;
        line.packets -= 1;
        line.bytes -= node.meta.len as u64;
        match line.head {
            NONE => line.tail = NONE,
            next => self.nodes[next as usize].prev = NONE,
        }
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

    /// Handle of the packet before the one with the handle `at`.
    pub fn before(&self, at: u32) -> Option<u32> {
        Some(self.nodes[at as usize].prev).filter(|&prev| prev != NONE)
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

/// A flow's queue as its algorithm sees it in one call.
pub(super) struct View<'a, P> {
    pub now: Instant,
    /// Which flow's.
    pub flow: usize,
    pub packets: &'a mut Slab<P>,
    pub line: &'a mut Line,
    pub total: &'a mut Backlog,
    pub stats: &'a mut Stats,
    pub sink: &'a mut dyn Sink<P>,
    pub left_out: Option<&'a mut LeftOut>,
    pub out: Option<P>,
}

impl<P> View<'_, P> {
    #[inline]
    fn remove(&mut self, at: u32) -> (Meta, P) {
        let (meta, packet) = self.packets.remove(self.line, at);
        if let Some(left_out) = &mut self.left_out {
            left_out.removed(self.flow, &meta);
        }
        self.total.packets -= 1;
        self.total.bytes -= meta.len as u64;
        (meta, packet)
    }

    /// Drops the packet with handle `at`; its size.
    pub fn discard(&mut self, at: u32, reason: DropReason) -> u32 {
        let (meta, packet) = self.remove(at);
        self.stats.dropped[reason as usize].add(meta.len);
        self.sink.dropped(meta, packet, reason);
        meta.len
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
        *self.total
    }
    #[inline]
    fn meta(&self, i: usize) -> Option<Meta> {
        let at = self.packets.nth(self.line, i)?;
        let meta = *self.packets.meta(at);
        Some(match &self.left_out {
            None => meta,
            Some(left_out) => left_out.seen(self.now, at, meta),
        })
    }
    fn mark(&mut self, i: usize, reason: DropReason) -> bool {
        let Some(at) = self.packets.nth(self.line, i) else { return false };
        let meta = &mut self.packets.nodes[at as usize].meta;
        if meta.ecn.is_ect() {
            if mark(meta, self.stats) {
                if let Some(left_out) = &mut self.left_out {
                    left_out.marked(self.flow, meta);
                }
            }
            return true;
        }
        self.discard(at, reason);
        false
    }
    fn drop(&mut self, i: usize, reason: DropReason) {
        if let Some(at) = self.packets.nth(self.line, i) {
            self.discard(at, reason);
        }
    }
    #[inline]
    fn pop(&mut self) -> Option<Popped> {
        debug_assert!(self.out.is_none(), "one pop per dequeue");
        let head = self.line.head()?;
        let (meta, packet) = self.packets.pop(self.line, head);
        self.total.packets -= 1;
        self.total.bytes -= meta.len as u64;
        self.out = Some(packet);
        Some(Popped {
            meta: match &mut self.left_out {
                None => meta,
                Some(left_out) => left_out.popped(self.now, self.flow, head, meta),
            },
        })
    }
}

/// No packet, no flow.
pub(super) const NONE: u32 = u32::MAX;
