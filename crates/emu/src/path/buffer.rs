//! Buffers for frames.

use std::cell::RefCell;
use std::rc::Rc;

/// A stack of free buffers: the most recently used one is reused first, because it is in the cache.
#[derive(Clone, Default)]
pub struct Pool {
    free: Rc<RefCell<Vec<Box<[u8]>>>>,
}

/// Memory for one read of a TUN device; returns to its pool when dropped.
pub struct Buffer {
    bytes: Option<Box<[u8]>>,
    len: usize,
    pool: Pool,
}

impl Pool {
    /// An empty pool.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty buffer.
    pub fn take(&self) -> Buffer {
        let bytes = self.free.borrow_mut().pop().unwrap_or_else(|| vec![0; ROOM].into());
        Buffer { bytes: Some(bytes), len: 0, pool: self.clone() }
    }
}

impl Buffer {
    /// Memory to read a frame into.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.as_mut().expect("a packet is returned only when dropped")
    }

    /// Sets the length of the frame that was read.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(ROOM);
    }

    /// The frame, to be changed in place.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.bytes.as_mut().expect("a packet is returned only when dropped")[..self.len]
    }

    /// The frame: virtio header and IP packet.
    pub fn frame(&self) -> &[u8] {
        &self.bytes.as_ref().expect("a packet is returned only when dropped")[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.free.borrow_mut().extend(self.bytes.take());
    }
}

/// Maximum number of VLAN tags in a link-layer header.
pub const MAX_TAGS: usize = 2;

/// Bytes of the longest link-layer header: two addresses, two tags, the type.
pub const MAX_LINK: usize = 14 + 4 * MAX_TAGS;

/// Virtio header, link-layer header and the largest IP packet.
const ROOM: usize = 10 + MAX_LINK + 65_536;
