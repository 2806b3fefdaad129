//! A tournament tree of pending events: a change climbs only as far as it makes a difference.

use crate::event::Slot;
use sojourn_aqm::Instant;

/// The pending events of slots `first`, `first + 1`, …
///
/// A node holds the time of the earliest of its four children, which lie side by side. Nodes hold no slots: the walk
/// down finds the slot of the earliest event, taking the first of several children with the same time, so ties go to
/// the lowest slot. With times and slots in 128-bit words a graph takes 7 % more instructions per packet.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    first: Slot,
    /// The number of the first leaf, a power of four. The root is node 1; the children of node `i` are `4 i` to `4 i +
    /// 3`.
    leaves: usize,
    /// `fours[i]`: the times of the four children of node `i`.
    fours: Vec<[u64; 4]>,
    /// The time of the earliest event.
    root: u64,
}

impl Tree {
    /// An empty tree of `slots` slots from `first` on.
    pub fn new(first: Slot, slots: usize) -> Self {
        let mut leaves = 4;
        while leaves < slots {
            leaves *= 4;
        }
        let fours = vec![[NEVER; 4]; leaves / 4 + slots.div_ceil(4).max(1)];
        Self { first, leaves, fours, root: NEVER }
    }

    /// When the earliest event is due.
    #[inline(always)]
    pub fn due(&self) -> u64 {
        self.root
    }

    /// The earliest event.
    #[inline]
    pub fn first(&self) -> (Instant, Slot) {
        let mut node = 1;
        while node < self.leaves {
            let four = &self.fours[node];
            let behind = |at: u64| usize::from(at != self.root);
            // The number of children before the first that is due at this time, without branches.
            node = 4 * node + behind(four[0]) * (1 + behind(four[1]) * (1 + behind(four[2])));
        }
        (Instant::from_nanos(self.root), self.first + (node - self.leaves) as Slot)
    }

    /// When the event of `slot` is due.
    pub fn at(&self, slot: Slot) -> Instant {
        let node = self.node(slot);
        Instant::from_nanos(self.fours[node / 4][node % 4])
    }

    /// Sets the time of a slot's event.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Instant) {
        let (mut node, mut minimum) = (self.node(slot), at.as_nanos());
        while node > 1 {
            let four = &mut self.fours[node / 4];
            let leaf = &mut four[node % 4];
            if *leaf == minimum {
                return;
            }
            *leaf = minimum;
            minimum = four[0].min(four[1]).min(four[2].min(four[3]));
            node /= 4;
        }
        self.root = minimum;
    }

    #[inline(always)]
    fn node(&self, slot: Slot) -> usize {
        self.leaves + (slot - self.first) as usize
    }
}

const NEVER: u64 = u64::MAX;
