//! A tournament tree: the earliest of many pending events, and a change that climbs as far as it makes a difference.

use crate::event::Slot;
use sojourn_aqm::Instant;

/// The pending events of slots `first`, `first + 1`, …
///
/// A node is the time of the earliest of its four children, which lie side by side. Nodes have no slots: who wants the
/// earliest one's walks down, and takes the first of several children with the same time, whose slots are lower.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    first: Slot,
    /// The number of the first leaf, a power of four. The root is node 1; the children of node `i` are `4 i` and the three
    /// after it.
    leaves: usize,
    /// The times of the children of node `i` at place `i`.
    fours: Vec<[u64; 4]>,
    /// The time of the earliest of all.
    root: u64,
}

impl Tree {
    /// Nothing is pending in `slots` slots from `first` on.
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
            // As many as lie before the first that is due then.
            node = 4 * node + behind(four[0]) * (1 + behind(four[1]) * (1 + behind(four[2])));
        }
        (Instant::from_nanos(self.root), self.first + (node - self.leaves) as Slot)
    }

    /// When the event of a slot is pending.
    pub fn at(&self, slot: Slot) -> Instant {
        let node = self.node(slot);
        Instant::from_nanos(self.fours[node / 4][node % 4])
    }

    /// Sets the time of a slot's event.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Instant) {
        let (mut node, mut least) = (self.node(slot), at.as_nanos());
        while node > 1 {
            let four = &mut self.fours[node / 4];
            let place = &mut four[node % 4];
            if *place == least {
                return;
            }
            *place = least;
            least = four[0].min(four[1]).min(four[2].min(four[3]));
            node /= 4;
        }
        self.root = least;
    }

    #[inline(always)]
    fn node(&self, slot: Slot) -> usize {
        self.leaves + (slot - self.first) as usize
    }
}

const NEVER: u64 = u64::MAX;
