//! A growable ring of queued packets: no allocation once it has reached its largest size.

use crate::packet::Meta;
use alloc::collections::VecDeque;

/// A queued packet: its metadata beside the host's handle.
#[derive(Clone, Debug)]
pub struct Queued<P> {
    /// What the algorithm sees.
    pub meta: Meta,
    /// The host's packet.
    pub packet: P,
}

/// First in, first out, with its length in bytes.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    packets: VecDeque<Queued<P>>,
    bytes: u64,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Self { packets: VecDeque::new(), bytes: 0 }
    }
}

impl<P> Ring<P> {
    /// An empty ring with room for `packets`.
    pub fn with_capacity(packets: usize) -> Self {
        Self { packets: VecDeque::with_capacity(packets), bytes: 0 }
    }

    /// Appends at the tail.
    pub fn push(&mut self, meta: Meta, packet: P) {
        self.bytes += meta.len as u64;
        self.packets.push_back(Queued { meta, packet });
    }

    /// Takes the head.
    pub fn pop(&mut self) -> Option<Queued<P>> {
        let queued = self.packets.pop_front()?;
        self.bytes -= queued.meta.len as u64;
        Some(queued)
    }

    /// Takes packet `i` out, keeping the order of the others.
    pub fn remove(&mut self, i: usize) -> Option<Queued<P>> {
        if i == 0 {
            return self.pop();
        }
        let queued = self.packets.remove(i)?;
        self.bytes -= queued.meta.len as u64;
        Some(queued)
    }

    /// Packet `i`.
    pub fn get_mut(&mut self, i: usize) -> Option<&mut Queued<P>> {
        self.packets.get_mut(i)
    }

    /// Packet `i`.
    pub fn get(&self, i: usize) -> Option<&Queued<P>> {
        self.packets.get(i)
    }

    /// Packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
