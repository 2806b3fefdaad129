//! The event set: one pending event per component.
//!
//! Every component owns a slot that holds the time of its next event, or never. Of several events at one
//! instant the one with the lowest slot comes first, so the order of simultaneous events is the order in
//! which the slots are laid out. The first [`HOT`] slots are looked through one by one: they hold the
//! components that every packet passes, and setting one of them is a single store. The others stand in a
//! tournament tree, in which a change climbs as far as it makes a difference.

use sojourn_aqm::Instant;

/// A component's place in the event set.
pub type Slot = u32;

/// Slots outside the tree; the components of all flows together use these.
pub const HOT: usize = 8;

/// The pending events of a simulation.
#[derive(Clone, Debug)]
pub struct EventSet {
    /// Time and slot in one word, so that the least of them is the earliest of the lowest slot.
    hot: [u64; HOT],
    /// A complete binary tree in an array: node 1 is the root, the leaves follow the inner nodes.
    tree: Vec<Pending>,
    leaves: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pending {
    at: u64,
    slot: Slot,
}

impl EventSet {
    /// An empty set with slots 0..`slots`.
    pub fn new(slots: usize) -> Self {
        let leaves = slots.saturating_sub(HOT).max(2).next_power_of_two();
        let mut tree = vec![Pending { at: NEVER, slot: 0 }; 2 * leaves];
        for (i, leaf) in tree[leaves..].iter_mut().enumerate() {
            leaf.slot = (HOT + i) as Slot;
        }
        for node in (1..leaves).rev() {
            tree[node] = tree[2 * node];
        }
        Self { hot: core::array::from_fn(|slot| packed(NEVER, slot)), tree, leaves }
    }

    /// Sets the time of a slot's next event; [`Instant::NEVER`] for none.
    #[inline]
    pub fn set(&mut self, slot: Slot, at: Instant) {
        match self.hot.get_mut(slot as usize) {
            Some(hot) => *hot = packed(at.as_nanos(), slot as usize),
            None => self.set_in_tree(slot, at.as_nanos()),
        }
    }

    /// The earliest event; its time is [`Instant::NEVER`] when nothing is pending.
    #[inline]
    pub fn first(&self) -> (Instant, Slot) {
        let hot = self.hot.iter().fold(u64::MAX, |least, &word| least.min(word));
        let root = self.tree[1];
        if root.at < hot >> HOT_BITS {
            return (Instant::from_nanos(root.at), root.slot);
        }
        (unpacked(hot), hot as Slot & ((1 << HOT_BITS) - 1))
    }

    /// When a slot's event is pending.
    #[inline]
    pub fn at(&self, slot: Slot) -> Instant {
        match self.hot.get(slot as usize) {
            Some(&word) => unpacked(word),
            None => Instant::from_nanos(self.tree[self.leaves + slot as usize - HOT].at),
        }
    }

    fn set_in_tree(&mut self, slot: Slot, at: u64) {
        let mut node = self.leaves + slot as usize - HOT;
        let mut winner = Pending { at, slot };
        self.tree[node] = winner;
        while node > 1 {
            let other = self.tree[node ^ 1];
            // The left one of two at the same time: its slots are lower.
            if other.at < winner.at || (other.at == winner.at && other.slot < winner.slot) {
                winner = other;
            }
            node /= 2;
            if self.tree[node] == winner {
                return;
            }
            self.tree[node] = winner;
        }
    }
}

fn packed(at: u64, slot: usize) -> u64 {
    at.min(NEVER_PACKED) << HOT_BITS | slot as u64
}

fn unpacked(word: u64) -> Instant {
    let at = word >> HOT_BITS;
    if at == NEVER_PACKED { Instant::NEVER } else { Instant::from_nanos(at) }
}

/// Bits that a hot slot's number needs.
const HOT_BITS: u32 = 3;

/// 73 years: beyond every simulation.
const NEVER_PACKED: u64 = u64::MAX >> HOT_BITS;

const NEVER: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ties_go_to_the_lowest_slot() {
        let mut events = EventSet::new(HOT + 5);
        for slot in [HOT as u32 + 4, 2, HOT as u32 + 3] {
            events.set(slot, Instant::from_nanos(7));
        }
        assert_eq!(events.first(), (Instant::from_nanos(7), 2));
        events.set(2, Instant::NEVER);
        assert_eq!(events.first(), (Instant::from_nanos(7), HOT as u32 + 3));
    }

    proptest! {
        #[test]
        fn agrees_with_a_linear_search(changes in prop::collection::vec((0u32..21, prop::option::of(0u64..20)), 1..200)) {
            let mut events = EventSet::new(21);
            let mut model = [u64::MAX; 21];
            for (slot, at) in changes {
                let at = at.unwrap_or(u64::MAX);
                model[slot as usize] = at;
                events.set(slot, Instant::from_nanos(at));
                let earliest = *model.iter().min().unwrap();
                let (first, winner) = events.first();
                prop_assert_eq!(first.as_nanos(), earliest);
                if earliest < u64::MAX {
                    prop_assert_eq!(winner as usize, model.iter().position(|&t| t == earliest).unwrap());
                }
            }
        }
    }
}
