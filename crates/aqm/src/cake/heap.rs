//! The longest queue of all tins (`cake_heapify`, `cake_heapify_up`): a heap that is kept in order only while queues
//! overflow. Which of several equal ones is taken is the kernel's choice. So is how well it is kept in order: an entry
//! sinks by one rank where it should sink further, and then another queue than the longest may be shortened.

use super::hash::PLACES;
use super::tin::Tin;
use alloc::vec::Vec;

/// The flows of eight tins, the longest first.
#[derive(Clone, Debug)]
pub(super) struct Heap {
    /// Flows by their rank; flow `place` of tin `tin` is number `8 place + tin`.
    ranks: Vec<u16>,
    /// Where each flow is in `ranks`.
    at: Vec<u16>,
    /// Packets that are sent until the order is given up.
    timeout: u16,
}

impl Heap {
    /// Bytes of its lists.
    pub const BYTES: u64 = (2 * SIZE * size_of::<u16>()) as u64;

    pub fn new() -> Self {
        let all = || (0..SIZE as u16).collect();
        Self { ranks: all(), at: all(), timeout: 0 }
    }

    /// Whether the order is kept.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.timeout > 0
    }

    /// The tin and the place of the longest queue.
    pub fn longest(&mut self, tins: &[Tin]) -> (usize, usize) {
        if self.timeout == 0 {
            (0..SIZE / 2).rev().for_each(|i| self.sift_down(i, tins));
        }
        self.timeout = u16::MAX;
        let number = self.ranks[0] as usize;
        (number % TINS, number / TINS)
    }

    /// The order was wrong, and is made anew.
    pub fn disable(&mut self) {
        self.timeout = 0;
    }

    /// A packet is sent.
    #[inline]
    pub fn sent(&mut self) {
        self.timeout = self.timeout.saturating_sub(1);
    }

    /// The queue of a flow has grown.
    pub fn grown(&mut self, tin: usize, place: usize, tins: &[Tin]) {
        let mut i = self.at[place * TINS + tin] as usize;
        while i > 0 {
            let parent = (i - 1) / 2;
            if self.backlog(i, tins) <= self.backlog(parent, tins) {
                return;
            }
            self.swap(i, parent);
            i = parent;
        }
    }

    /// The queue of a flow has shrunk.
    pub fn shrunk(&mut self, tin: usize, place: usize, tins: &[Tin]) {
        self.sift_down(self.at[place * TINS + tin] as usize, tins);
    }

    /// Below the first exchange the kernel goes on comparing with the longer queue, which is above now.
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

/// Tins that there is room for, used or not.
const TINS: usize = 8;
const SIZE: usize = TINS * PLACES;
