//! Buffers for frames.

use std::cell::RefCell;
use std::rc::Rc;

/// A stack of buffers: the one that was used last is used next, because it is in the cache.
#[derive(Clone, Default)]
pub struct Pool {
    free: Rc<RefCell<Vec<Box<[u8]>>>>,
}

/// Room for one read of a TUN device; goes back to its pool when it is dropped.
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
    /// Where to read a frame to.
    pub fn room(&mut self) -> &mut [u8] {
        self.bytes.as_mut().expect("a packet is returned only when dropped")
    }

    /// Says that `len` bytes were read.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(ROOM);
    }

    /// What was read, to be changed in place.
    pub fn frame_mut(&mut self) -> &mut [u8] {
        &mut self.bytes.as_mut().expect("a packet is returned only when dropped")[..self.len]
    }

    /// What was read: virtio header and IP packet.
    pub fn frame(&self) -> &[u8] {
        &self.bytes.as_ref().expect("a packet is returned only when dropped")[..self.len]
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.free.borrow_mut().extend(self.bytes.take());
    }
}

/// Most tags that a link's header has.
pub const MAX_TAGS: usize = 2;

/// Bytes of the longest link's header: two addresses, two tags, the type.
pub const MAX_LINK: usize = 14 + 4 * MAX_TAGS;

/// Virtio header, a link's header and the largest IP packet.
const ROOM: usize = 10 + MAX_LINK + 65_536;
