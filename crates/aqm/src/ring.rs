//! A growable ring of queued packets: no allocation once it has reached its largest size.
//!
//! Not `VecDeque`: a packet leaves its slot in one copy to where the caller wants it, where `pop_front` builds an option
//! of all of it first (a fifth of the instructions of a tail-drop queue).

use crate::aqm::FastDequeue;
use crate::packet::Meta;
use crate::qdisc::DequeueResult;
use crate::time::Instant;
use alloc::vec::Vec;
use core::mem;

/// A queued packet: its metadata beside the host's handle.
#[derive(Clone, Debug)]
pub struct QueuedPacket<P> {
    /// What the algorithm sees.
    pub meta: Meta,
    /// The host's packet.
    pub packet: P,
}

/// First in, first out, with its length in bytes.
#[derive(Clone, Debug)]
pub struct Ring<P> {
    /// The places that have been used, of a power of two.
    slots: Vec<Slot<P>>,
    /// Places, less one.
    mask: usize,
    /// Number of the first packet, counted on without end; its place is what `mask` leaves of it.
    head: usize,
    len: usize,
    bytes: u64,
}

/// A packet that has left the queue and still lies in its place.
pub struct ReleasedPacket<'a> {
    pub place: usize,
    pub meta: &'a Meta,
}

#[derive(Clone, Debug)]
struct Slot<P> {
    meta: Meta,
    /// None where no packet waits.
    packet: Option<P>,
}

impl<P> Default for Ring<P> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<P> Ring<P> {
    /// An empty ring with room for `packets`.
    pub fn with_capacity(packets: usize) -> Self {
        let places = packets.next_power_of_two();
        Self {
            slots: Vec::with_capacity(if packets == 0 { 0 } else { places }),
            mask: places - 1,
            head: 0,
            len: 0,
            bytes: 0,
        }
    }

    /// Appends at the tail.
    #[inline(always)]
    pub fn push(&mut self, meta: Meta, packet: P) {
        self.bytes += meta.len as u64;
        if self.len > self.mask {
            self.grow();
        }
        let at = self.place(self.len);
        self.len += 1;
        match self.slots.get_mut(at) {
            Some(slot) => {
                slot.meta = meta;
                slot.packet = Some(packet);
            }
            None => self.slots.push(Slot { meta, packet: Some(packet) }),
        }
    }

    /// Takes the head if `aqm` has nothing to decide of it at `now` on a link with this MTU, else nothing is done. What the
    /// algorithm saw of the packet stays where it lies, so that it need not be copied.
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

    /// Takes the head.
    #[inline]
    pub fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let slot = self.behead()?;
        Some(QueuedPacket { meta: slot.meta, packet: slot.packet.take()? })
    }

    /// Takes the head out of the queue, but leaves it where it lies for [`Self::collect`], before which nothing is
    /// pushed: it is then copied once.
    #[inline]
    pub fn release(&mut self) -> Option<ReleasedPacket<'_>> {
        let place = self.place(0);
        let slot = self.behead()?;
        Some(ReleasedPacket { place, meta: &slot.meta })
    }

    /// The metadata of the packet released from `place`.
    pub fn released(&self, place: usize) -> Option<&Meta> {
        self.slots.get(place).map(|slot| &slot.meta)
    }

    /// The packet released from `place`.
    #[inline]
    pub fn collect(&mut self, place: usize) -> DequeueResult<P> {
        let Some(slot) = self.slots.get_mut(place) else { return DequeueResult::Empty };
        let Some(packet) = slot.packet.take() else { return DequeueResult::Empty };
        DequeueResult::Packet(slot.meta, packet)
    }

    /// Takes packet `i` out, keeping the order of the others.
    pub fn remove(&mut self, i: usize) -> Option<QueuedPacket<P>> {
        if i >= self.len {
            return None;
        }
        // The fewer of the others move up.
        if i < self.len / 2 {
            (0..i).rev().for_each(|i| self.swap_with_next(i));
            return self.pop();
        }
        (i..self.len - 1).for_each(|i| self.swap_with_next(i));
        self.len -= 1;
        let at = self.place(self.len);
        let slot = &mut self.slots[at];
        self.bytes -= slot.meta.len as u64;
        Some(QueuedPacket { meta: slot.meta, packet: slot.packet.take()? })
    }

    /// The metadata of packet `i`.
    #[inline]
    pub fn meta_mut(&mut self, i: usize) -> Option<&mut Meta> {
        let at = self.place(i);
        if i < self.len { self.slots.get_mut(at).map(|slot| &mut slot.meta) } else { None }
    }

    /// The metadata of packet `i`.
    #[inline]
    pub fn meta(&self, i: usize) -> Option<&Meta> {
        if i < self.len { self.slots.get(self.place(i)).map(|slot| &slot.meta) } else { None }
    }

    /// Packets.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The slot of the head, which is one no longer.
    #[inline]
    fn behead(&mut self) -> Option<&mut Slot<P>> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slots.get_mut(self.head & self.mask)?;
        self.head = self.head.wrapping_add(1);
        self.len -= 1;
        self.bytes -= slot.meta.len as u64;
        Some(slot)
    }

    /// Where packet `i` is, or would be.
    #[inline]
    fn place(&self, i: usize) -> usize {
        self.head.wrapping_add(i) & self.mask
    }

    fn swap_with_next(&mut self, i: usize) {
        let (a, b) = (self.place(i), self.place(i + 1));
        self.slots.swap(a, b);
    }

    /// Makes room for as many packets again, of a full ring.
    #[cold]
    fn grow(&mut self) {
        let places = (2 * self.len).max(MIN_CAPACITY);
        let at = self.place(0);
        let mut slots = mem::replace(&mut self.slots, Vec::with_capacity(places));
        self.slots.extend(slots.drain(at.min(slots.len())..));
        self.slots.append(&mut slots);
        self.slots.truncate(self.len);
        (self.mask, self.head) = (places - 1, 0);
    }
}

/// The places of a ring that has grown for the first time.
const MIN_CAPACITY: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::VecDeque;

    /// What `VecDeque` does, packet by packet, over wrapping, growing and taking out anywhere.
    #[test]
    fn a_ring_is_a_queue_of_any_length() {
        for capacity in [0, 1, 2, 3, 8] {
            let (mut ring, mut queue) = (Ring::with_capacity(capacity), VecDeque::new());
            let mut rng = crate::rng::Rng::from_state(capacity as u64);
            for n in 0..20_000_u32 {
                match rng.below(8) {
                    // Longer and longer on the average, and now and then empty.
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
                            let place = ring.release().map(|released| released.place).expect("it is not empty");
                            assert_eq!(ring.collect(place), DequeueResult::Packet(Meta::new(packet, packet), packet));
                            assert_eq!(ring.collect(place), DequeueResult::Empty, "it has gone");
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
