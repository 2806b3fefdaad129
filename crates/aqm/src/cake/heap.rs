//! Heap of all tins' queues by length (`cake_heapify`, `cake_heapify_up`), kept in order only while queues overflow. As
//! in the kernel, an entry sinks by only one level when it should sink further, so another queue than the longest may
//! be shortened. Ties are resolved as in the kernel.

use super::hash::CAKE_QUEUES;
use super::tin::Tin;
use alloc::vec::Vec;

/// Flows of eight tins, the longest queue first.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    /// Flows in heap order; flow `flow` of tin `tin` has the number `8 flow + tin`.
    ranks: Vec<u16>,
    /// Index of each flow in `ranks`.
    at: Vec<u16>,
    /// Packets until the heap is no longer maintained.
    timeout: u16,
}

impl Heap {
    /// Bytes of both arrays.
    pub const BYTES: u64 = (2 * SIZE * size_of::<u16>()) as u64;

    pub fn new() -> Self {
        let all = || (0..SIZE as u16).collect();
        Self { ranks: all(), at: all(), timeout: 0 }
    }

    /// Whether the heap is maintained.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.timeout > 0
    }

    /// Tin and flow slot of the longest queue.
    pub fn longest(&mut self, tins: &[Tin]) -> (usize, usize) {
        if self.timeout == 0 {
            (0..SIZE / 2).rev().for_each(|i| self.sift_down(i, tins));
        }
        self.timeout = u16::MAX;
        let number = self.ranks[0] as usize;
        (number % TINS, number / TINS)
    }

    /// Invalidates the heap, because its order was wrong.
    pub fn disable(&mut self) {
        self.timeout = 0;
    }

    /// Accounts for a sent packet.
    #[inline]
    pub fn sent(&mut self) {
        self.timeout = self.timeout.saturating_sub(1);
    }

    /// Restores the order after the queue of a flow has grown.
    pub fn grown(&mut self, tin: usize, flow: usize, tins: &[Tin]) {
        let mut i = self.at[flow * TINS + tin] as usize;
        while i > 0 {
            let parent = (i - 1) / 2;
            if self.backlog(i, tins) <= self.backlog(parent, tins) {
                return;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    /// Restores the order after the queue of a flow has shrunk.
    pub fn shrunk(&mut self, tin: usize, flow: usize, tins: &[Tin]) {
        self.sift_down(self.at[flow * TINS + tin] as usize, tins);
    }

    /// After the first exchange the kernel compares with the longer queue, which is above now. With a correct heap
    /// packets would be dropped from other flows than in Linux 6.1.
    fn sift_down(&mut self, mut i: usize, tins: &[Tin]) {
        let mut most = self.backlog(i, tins);
        loop {
            let mut longest = i;
            for child in [2 * i + 1, 2 * i + 2] {
                if child < SIZE && self.backlog(child, tins) > most {
                    (longest, most) = (child, self.backlog(child, tins));
                }
            }
            if longest == i {
                return;
            }
            self.swap(i, longest);
            i = longest;
        }
    }

    #[inline]
    fn backlog(&self, i: usize, tins: &[Tin]) -> u64 {
        let number = self.ranks[i] as usize;
        tins.get(number % TINS).map_or(0, |tin| tin.flows[number / TINS].queue.bytes)
    }

    fn swap(&mut self, i: usize, j: usize) {
        self.ranks.swap(i, j);
        self.at[self.ranks[i] as usize] = i as u16;
        self.at[self.ranks[j] as usize] = j as u16;
    }
}

/// Tins with room in the heap, used or not.
const TINS: usize = 8;
const SIZE: usize = TINS * CAKE_QUEUES;
