//! A growable ring of queued packets: no allocation after it has reached its maximum size.
//!
//! Not `VecDeque`: a packet is copied once, from its slot to the caller; `pop_front` first builds an option of the
//! whole packet (a fifth of the instructions of a tail-drop queue).

use crate::aqm::FastDequeue;
use crate::packet::Meta;
use crate::qdisc::DequeueResult;
use crate::reservation::{Reservation, ReservationError, move_to_larger};
use crate::time::Instant;
use alloc::vec::Vec;

/// A queued packet: metadata beside the host's handle.
#[derive(Clone, Debug)]
pub struct QueuedPacket<P> {
    /// Metadata as the algorithm sees it.
    pub meta: Meta,
    /// The host's packet.
    pub packet: P,
}

/// A FIFO queue that counts its bytes.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    /// The slots used so far; the ring has a power of two.
    slots: Vec<Slot<P>>,
    /// Number of slots minus 1.
    mask: usize,
    /// Running number of the first packet, never wrapped; `mask` reduces it to a slot.
    head: usize,
    len: usize,
    bytes: u64,
}

/// A packet that has left the queue but is still in its slot.
pub struct ReleasedPacket<'a> {
    pub slot_index: usize,
    pub meta: &'a Meta,
}

#[derive(Clone, Debug)]
struct Slot<P> {
    meta: Meta,
    /// `None` in a free slot.
    packet: Option<P>,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<P> Ring<P> {
    /// An empty ring with capacity for `packets`. It goes round in as many slots as its longest backlog has needed; the
    /// others are memory that is not touched.
    pub fn with_capacity(packets: usize) -> Self {
        let capacity = packets.next_power_of_two();
        Self {
            slots: Vec::with_capacity(if packets == 0 { 0 } else { capacity }),
            mask: capacity.min(MIN_CAPACITY) - 1,
            head: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// Reserves slots for `packets`.
    pub fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        let slots = packets.checked_next_power_of_two().unwrap_or(usize::MAX);
        memory.vec(&mut self.slots, slots.max(MIN_CAPACITY))
    }

    /// Moves the packets of `old` here, an empty ring, into the larger of both memories.
    pub fn take_over(&mut self, old: &mut Self) {
        move_to_larger(&mut self.slots, &mut old.slots);
        (self.mask, self.head, self.len, self.bytes) = (old.mask, old.head, old.len, old.bytes);
        (old.mask, old.len, old.bytes) = (0, 0, 0);
    }

    /// Appends a packet.
    #[inline(always)]
    pub fn push(&mut self, meta: Meta, packet: P) {
        self.bytes += meta.len as u64;
        if self.len > self.mask {
            self.grow();
        }
        let at = self.slot_index(self.len);
        self.len += 1;
        match self.slots.get_mut(at) {
            Some(slot) => {
                slot.meta = meta;
                slot.packet = Some(packet);
            }
            None => self.slots.push(Slot { meta, packet: Some(packet) }),
        }
    }

    /// Pops the head if `aqm` has no decision to make on it at `now` on a link with this MTU; otherwise nothing
    /// changes. The metadata stays in its slot and is not copied.
    #[inline(always)]
    pub fn pop_if_released(&mut self, aqm: &mut dyn FastDequeue, now: Instant, mtu: u32) -> Option<(&Meta, P)> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slots.get_mut(self.head & self.mask)?;
        let behind = self.bytes - slot.meta.len as u64;
        if !aqm.try_release(now, &slot.meta, behind, mtu) {
            return None;
        }
        let packet = slot.packet.take()?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        self.bytes = behind;
        Some((&slot.meta, packet))
    }

    /// Pops the head.
    #[inline]
    pub fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let slot = self.detach_head()?;
        Some(QueuedPacket { meta: slot.meta, packet: slot.packet.take()? })
    }

    /// Removes the head from the queue but leaves it in its slot for [`Self::collect`], so that it is copied once. No
    /// push may come before `collect`.
    #[inline]
    pub fn release(&mut self) -> Option<ReleasedPacket<'_>> {
        let slot_index = self.slot_index(0);
        let slot = self.detach_head()?;
        Some(ReleasedPacket { slot_index, meta: &slot.meta })
    }

    /// The metadata of the packet released from slot `slot_index`.
    pub fn released(&self, slot_index: usize) -> Option<&Meta> {
        self.slots.get(slot_index).map(|slot| &slot.meta)
    }

    /// The packet released from slot `slot_index`.
    #[inline]
    pub fn collect(&mut self, slot_index: usize) -> DequeueResult<P> {
        let Some(slot) = self.slots.get_mut(slot_index) else { return DequeueResult::Empty };
        let Some(packet) = slot.packet.take() else { return DequeueResult::Empty };
        DequeueResult::Packet(slot.meta, packet)
    }

    /// Removes packet `i`, keeping the order of the others.
    pub fn remove(&mut self, i: usize) -> Option<QueuedPacket<P>> {
        if i >= self.len {
            return None;
        }
        // Moves the shorter side.
        if i < self.len / 2 {
            (0..i).rev().for_each(|i| self.swap_with_next(i));
            return self.pop();
        }
        (i..self.len - 1).for_each(|i| self.swap_with_next(i));
        self.len -= 1;
        let at = self.slot_index(self.len);
        let slot = &mut self.slots[at];
        self.bytes -= slot.meta.len as u64;
        Some(QueuedPacket { meta: slot.meta, packet: slot.packet.take()? })
    }

    /// The metadata of packet `i`.
    #[inline]
    pub fn meta_mut(&mut self, i: usize) -> Option<&mut Meta> {
        let at = self.slot_index(i);
        if i < self.len { self.slots.get_mut(at).map(|slot| &mut slot.meta) } else { None }
    }

    /// The metadata of packet `i`.
    #[inline]
    pub fn meta(&self, i: usize) -> Option<&Meta> {
        if i < self.len { self.slots.get(self.slot_index(i)).map(|slot| &slot.meta) } else { None }
    }

    /// Number of packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the ring is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes queued.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the head and returns its slot.
    #[inline]
    fn detach_head(&mut self) -> Option<&mut Slot<P>> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slots.get_mut(self.head & self.mask)?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        self.bytes -= slot.meta.len as u64;
        Some(slot)
    }

    /// Slot of packet `i`, also one past the end.
    #[inline]
    fn slot_index(&self, i: usize) -> usize {
        self.head.wrapping_add(i) & self.mask
    }

    fn swap_with_next(&mut self, i: usize) {
        let (a, b) = (self.slot_index(i), self.slot_index(i + 1));
        self.slots.swap(a, b);
    }

    /// Doubles the slots of a full ring.
    #[cold]
    fn grow(&mut self) {
        let slots = (2 * self.len).max(MIN_CAPACITY);
        let at = self.slot_index(0);
        self.slots.rotate_left(at);
        self.slots.reserve_exact(slots - self.len);
        (self.mask, self.head) = (slots - 1, 0);
    }
}

/// Slots at the start, and after the first growth.
const MIN_CAPACITY: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// Equals `VecDeque` for each packet: wrapping, growing, removal at any index.
    #[test]
    fn a_ring_is_a_queue_of_any_length() {
        for capacity in [0, 1, 2, 3, 8] {
            let (mut ring, mut queue) = (Ring::with_capacity(capacity), VecDeque::new());
            let mut rng = crate::rng::Rng::from_state(capacity as u64);
            for n in 0..20_000_u32 {
                match rng.below(8) {
                    // Grows on average, and is empty now and then.
                    0..4 => {
                        ring.push(Meta::new(n, n), n);
                        queue.push_back(n);
                    }
                    4..6 => assert_eq!(ring.pop().map(|queued| queued.packet), queue.pop_front()),
                    6 => {
                        let i = rng.below(queue.len() as u64 + 2) as usize;
                        assert_eq!(ring.remove(i).map(|queued| queued.packet), queue.remove(i), "{i}");
                    }
                    _ if n % 1000 < 100 => {
                        while let Some(packet) = queue.pop_front() {
                            let slot_index =
                                ring.release().map(|released| released.slot_index).expect("it is not empty");
                            assert_eq!(
                                ring.collect(slot_index),
                                DequeueResult::Packet(Meta::new(packet, packet), packet)
                            );
                            assert_eq!(ring.collect(slot_index), DequeueResult::Empty, "it has gone");
                        }
                    }
                    _ => {}
                }
                assert_eq!((ring.len(), ring.bytes()), (queue.len(), queue.iter().map(|&n| n as u64).sum()));
                let i = rng.below(queue.len() as u64 + 2) as usize;
                assert_eq!(ring.meta(i).map(|meta| meta.flow), queue.get(i).copied(), "{i}");
                assert_eq!(ring.meta_mut(i).map(|meta| meta.flow), queue.get(i).copied(), "{i}");
            }
        }
    }
}
