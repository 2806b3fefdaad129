//! Memory reserved before the first packet, for a host that must not allocate while packets arrive: a kernel.
//!
//! Simulator and emulator reserve nothing: their queues grow with the longest backlog.

use crate::limits::{Bounds, Limits};
use crate::link::Link;
use alloc::collections::{BinaryHeap, VecDeque};
use alloc::vec::Vec;
use thiserror::Error;

/// Memory of one discipline, see [`Qdisc::reserve`](crate::Qdisc::reserve).
#[derive(Clone, Copy, Debug)]
pub struct Reservation {
    smallest: u32,
    most: u64,
    bytes: u64,
}

/// Why the memory of a discipline cannot be reserved.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ReservationError {
    /// Beyond the host's maximum.
    #[error("its limit needs {bytes} B of memory or more, a queue may have {most} B; write a smaller limit")]
    TooLarge {
        /// Bytes needed up to the first request that was refused.
        bytes: u64,
        /// The host's maximum.
        most: u64,
    },
    /// The allocator refused a block.
    #[error("not enough memory for its limit, {bytes} B; write a smaller limit")]
    NoMemory {
        /// Bytes needed up to the request that was refused.
        bytes: u64,
    },
    /// The discipline allocates while packets arrive.
    #[error("{0}")]
    Impossible(&'static str),
}

impl Reservation {
    /// A reservation of at most `most` bytes. A limit in bytes or time admits no more packets than of `smallest` bytes
    /// each.
    pub const fn new(smallest: u32, most: u64) -> Self {
        Self { smallest, most, bytes: 0 }
    }

    /// Bytes reserved.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bounds the packets of `limits` on `link`. Returns the bound.
    pub(crate) fn bound(&self, limits: &mut Limits, link: Link) -> usize {
        let mut bounds = limits.on(link);
        let packets = self.bound_packets(&mut bounds);
        *limits = limits.with_packets(u32::try_from(packets).unwrap_or(u32::MAX));
        packets
    }

    /// Bounds the packets of `bounds`. Returns the bound.
    pub(crate) fn bound_packets(&self, bounds: &mut Bounds) -> usize {
        bounds.packets = bounds.packets.min(bounds.bytes / u64::from(self.smallest));
        usize::try_from(bounds.packets).unwrap_or(usize::MAX)
    }

    /// Reserves room for `len` values in all.
    pub fn vec<T>(&mut self, values: &mut Vec<T>, len: usize) -> Result<(), ReservationError> {
        self.account::<T>(len)?;
        values.try_reserve_exact(len.saturating_sub(values.len())).map_err(|_| self.refused())
    }

    /// Reserves room for `len` values in all.
    pub fn deque<T>(&mut self, values: &mut VecDeque<T>, len: usize) -> Result<(), ReservationError> {
        self.account::<T>(len)?;
        values.try_reserve_exact(len.saturating_sub(values.len())).map_err(|_| self.refused())
    }

    /// Reserves room for `len` values in all.
    pub fn heap<T: Ord>(&mut self, values: &mut BinaryHeap<T>, len: usize) -> Result<(), ReservationError> {
        self.account::<T>(len)?;
        values.try_reserve_exact(len.saturating_sub(values.len())).map_err(|_| self.refused())
    }

    /// Counts memory of `len` values that is allocated elsewhere.
    pub fn account<T>(&mut self, len: usize) -> Result<(), ReservationError> {
        self.bytes = self.bytes.saturating_add((len as u64).saturating_mul(size_of::<T>() as u64));
        if self.bytes > self.most {
            return Err(ReservationError::TooLarge { bytes: self.bytes, most: self.most });
        }
        Ok(())
    }

    fn refused(&self) -> ReservationError {
        ReservationError::NoMemory { bytes: self.bytes }
    }
}

/// Moves the values of `old` to `new`, which is empty, into the larger of both memories.
pub(crate) fn move_to_larger<T>(new: &mut Vec<T>, old: &mut Vec<T>) {
    if new.capacity() > old.capacity() { new.append(old) } else { core::mem::swap(new, old) }
}

/// The same for a deque.
pub(crate) fn move_deque_to_larger<T>(new: &mut VecDeque<T>, old: &mut VecDeque<T>) {
    if new.capacity() > old.capacity() { new.append(old) } else { core::mem::swap(new, old) }
}
