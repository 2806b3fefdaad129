//! The event set: one pending event per component.
//!
//! Each component owns a slot with the time of its next event, or never. Simultaneous events are ordered by slot,
//! lowest first, so the layout of the slots defines their order.
//!
//! Most events are those of links, and a change of the earliest event climbs to the root of a tree. The slots that
//! every packet sets therefore come first and lie apart from timers. A dumbbell has so few of them that a linear search
//! is cheap and setting one is a single store ([`DumbbellEvents`]); otherwise they have their own tournament tree,
//! lower than one for all slots ([`GraphEvents`]). Timers are in a second tree. In a dumbbell the sources' timers have
//! their own tree, because a pacer sets them with every packet, and so do the sinks', which may be called ahead of
//! time. In a graph the few slots after the timers (generators, samplers, wireless channels) have their own tree.
//! [`CellEvents`] keeps the last slot, usually that of the only channel, in a separate word, because every channel
//! access sets it twice.

mod tree;

use sojourn_aqm::Instant;
use std::ops::Range;
use tree::Tree;

/// Index of a component in the event set.
pub type Slot = u32;

/// The pending events of a simulation.
pub trait EventSet {
    /// An empty set with slots 0..`slots`. Packets set the first `of_links`: every packet the lower half, the upper
    /// half only after [`EventSet::enable_all`]. Slots `sinks` are the sinks' timers; the same number before them are
    /// the sources' timers.
    fn new(of_links: usize, slots: usize, sinks: Range<Slot>) -> Self;

    /// Allows events in every slot from now on.
    fn enable_all(&mut self);

    /// Whether [`EventSet::enable_all`] was called.
    fn is_all_enabled(&self) -> bool;

    /// Sets the time of a slot's next event; [`Instant::NEVER`] for none.
    fn set(&mut self, slot: Slot, at: Instant);

    /// The earliest event; its time is [`Instant::NEVER`] if none is pending.
    fn first(&self) -> (Instant, Slot);

    /// When the earliest event is due; never if none is pending.
    #[inline(always)]
    fn due(&self) -> Instant {
        self.first().0
    }

    /// The earliest event, unless it is due after `last`, which is an instant of the run.
    #[inline(always)]
    fn first_until(&self, last: Instant) -> Option<(Instant, Slot)> {
        let (at, slot) = self.first();
        (at <= last).then_some((at, slot))
    }

    /// When the event of `slot` is due.
    fn at(&self, slot: Slot) -> Instant;

    /// The lowest slot after those of links if its event is due at `at` and no earlier timer is pending; none if timers
    /// are not kept apart.
    fn timer_at(&self, _at: Instant) -> Option<Slot> {
        None
    }

    /// When the earliest sink timer is due; never if sinks are not kept apart.
    fn sinks_due(&self) -> Instant {
        Instant::NEVER
    }

    /// The slot of the earliest sink timer.
    fn first_of_sinks(&self) -> Slot {
        unreachable!("the sinks' timers are not kept apart")
    }
}

/// The events of two links: a linear search over their eight words is faster than a tree, and setting one is a single
/// store.
#[derive(Clone, Debug)]
pub struct DumbbellEvents {
    /// Time and slot packed into a word, so that the minimum is the earliest event of the lowest slot.
    hot: [u64; HOT],
    /// The time of the earliest timer, packed so that link events at the same instant come first.
    timer: u64,
    uses_all: bool,
    /// The first source slot; there are as many as sink slots, which follow them.
    first_source: Slot,
    flows: Slot,
    sources: Tree,
    sinks: Tree,
    /// Slots before and after the timers of sources and sinks.
    others: Tree,
}

impl EventSet for DumbbellEvents {
    fn new(of_links: usize, slots: usize, sinks: Range<Slot>) -> Self {
        assert!(of_links <= HOT, "two links have {HOT} slots");
        let hot = core::array::from_fn(|slot| packed(Instant::NEVER, slot));
        let (flows, first_source) = (sinks.len() as Slot, sinks.start - sinks.len() as Slot);
        Self {
            hot,
            timer: packed(Instant::NEVER, LAST),
            uses_all: false,
            first_source,
            flows,
            sources: Tree::new(first_source, sinks.len()),
            sinks: Tree::new(sinks.start, sinks.len()),
            others: Tree::new(HOT as Slot, slots.saturating_sub(HOT)),
        }
    }

    fn enable_all(&mut self) {
        self.uses_all = true;
    }

    fn is_all_enabled(&self) -> bool {
        self.uses_all
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, at: Instant) {
        match self.hot.get_mut(slot as usize) {
            Some(hot) => *hot = packed(at, slot as usize),
            None => self.set_timer(slot, at),
        }
        debug_assert!(self.uses_all || !(HALF..HOT).contains(&(slot as usize)) || at == Instant::NEVER, "slot {slot}");
    }

    #[inline(always)]
    fn first(&self) -> (Instant, Slot) {
        let first = self.first_word();
        if self.timer < first { self.first_timer() } else { (unpacked(first), slot_of(first)) }
    }

    #[inline(always)]
    fn first_until(&self, last: Instant) -> Option<(Instant, Slot)> {
        let first = self.first_word();
        let at = Instant::from_nanos(first.min(self.timer) >> HOT_BITS);
        if at > last.min(LATEST) {
            return None;
        }
        Some(if self.timer < first { self.first_timer() } else { (at, slot_of(first)) })
    }

    #[inline(always)]
    fn at(&self, slot: Slot) -> Instant {
        match self.hot.get(slot as usize) {
            Some(&word) => unpacked(word),
            None => self.tree_of(slot).at(slot),
        }
    }

    fn timer_at(&self, at: Instant) -> Option<Slot> {
        let (due, slot) = self.first_timer();
        (due == at).then_some(slot)
    }

    #[inline(always)]
    fn sinks_due(&self) -> Instant {
        Instant::from_nanos(self.sinks.due())
    }

    fn first_of_sinks(&self) -> Slot {
        self.sinks.first().1
    }
}

impl DumbbellEvents {
    /// The minimum of the links' words.
    #[inline(always)]
    fn first_word(&self) -> u64 {
        let minimum = |words: &[u64]| words.iter().fold(u64::MAX, |minimum, &word| minimum.min(word));
        let hot = minimum(&self.hot[..HALF]);
        if self.uses_all { hot.min(minimum(&self.hot[HALF..])) } else { hot }
    }

    #[inline]
    fn set_timer(&mut self, slot: Slot, at: Instant) {
        match slot.wrapping_sub(self.first_source) {
            index if index < self.flows => self.sources.set(slot, at),
            index if index < 2 * self.flows => self.sinks.set(slot, at),
            _ => self.others.set(slot, at),
        }
        let minimum = self.sources.due().min(self.sinks.due()).min(self.others.due());
        self.timer = packed(Instant::from_nanos(minimum), LAST);
    }

    /// The tree of a slot after those of the links.
    fn tree_of(&self, slot: Slot) -> &Tree {
        match slot.wrapping_sub(self.first_source) {
            index if index < self.flows => &self.sources,
            index if index < 2 * self.flows => &self.sinks,
            _ => &self.others,
        }
    }

    /// The earliest timer; of simultaneous ones that with the lowest slot.
    fn first_timer(&self) -> (Instant, Slot) {
        let (sources, sinks, others) = (self.sources.due(), self.sinks.due(), self.others.due());
        if sources < sinks.min(others) {
            return self.sources.first();
        }
        let first = if sources <= sinks { self.sources.first() } else { self.sinks.first() };
        // `others` has slots both before and after those of sources and sinks.
        if first.0.as_nanos() < others { first } else { first.min(self.others.first()) }
    }
}

/// The events of any number of links.
#[derive(Clone, Debug)]
pub struct GraphEvents {
    front: Tree,
    timers: Tree,
    /// Slots after the sinks' timers: generators, samplers, channels.
    others: Tree,
    /// The first slots of `timers` and of `others`.
    splits: [Slot; 2],
}

impl EventSet for GraphEvents {
    fn new(of_links: usize, slots: usize, sinks: Range<Slot>) -> Self {
        let (timers, others) = ((of_links / 2) as Slot, sinks.end);
        let tree = |from: Slot, to: Slot| Tree::new(from, (to - from) as usize);
        Self {
            front: tree(0, timers),
            timers: tree(timers, others),
            others: tree(others, slots as Slot),
            splits: [timers, others],
        }
    }

    fn enable_all(&mut self) {}

    fn is_all_enabled(&self) -> bool {
        true
    }

    #[inline(always)]
    fn due(&self) -> Instant {
        Instant::from_nanos(self.front.due().min(self.timers.due()).min(self.others.due()))
    }

    #[inline(always)]
    fn first_until(&self, last: Instant) -> Option<(Instant, Slot)> {
        // With nothing pending, `due` is never.
        (self.due() <= last).then(|| self.first())
    }

    #[inline(never)]
    fn set(&mut self, slot: Slot, at: Instant) {
        let [timers, others] = self.splits;
        let tree = if slot < timers {
            &mut self.front
        } else if slot < others {
            &mut self.timers
        } else {
            &mut self.others
        };
        tree.set(slot, at);
    }

    #[inline(never)]
    fn first(&self) -> (Instant, Slot) {
        // On ties the lower slots win, and `front` has the lowest.
        let (front, timers, others) = (self.front.due(), self.timers.due(), self.others.due());
        if front <= timers && front <= others {
            self.front.first()
        } else if timers <= others {
            self.timers.first()
        } else {
            self.others.first()
        }
    }

    fn at(&self, slot: Slot) -> Instant {
        let [timers, others] = self.splits;
        if slot < timers {
            self.front.at(slot)
        } else if slot < others {
            self.timers.at(slot)
        } else {
            self.others.at(slot)
        }
    }
}

/// The events of any number of links, with channels in the last slots.
#[derive(Clone, Debug)]
pub struct CellEvents {
    links: GraphEvents,
    last: Slot,
    /// When the event of the last slot is due.
    at: Instant,
}

impl EventSet for CellEvents {
    fn new(of_links: usize, slots: usize, sinks: Range<Slot>) -> Self {
        let last = (slots - 1) as Slot;
        Self { links: GraphEvents::new(of_links, slots, sinks), last, at: Instant::NEVER }
    }

    fn enable_all(&mut self) {}

    fn is_all_enabled(&self) -> bool {
        true
    }

    #[inline(always)]
    fn set(&mut self, slot: Slot, at: Instant) {
        if slot == self.last {
            self.at = at;
        } else {
            self.links.set(slot, at);
        }
    }

    #[inline(always)]
    fn due(&self) -> Instant {
        self.links.due().min(self.at)
    }

    #[inline(always)]
    fn first_until(&self, last: Instant) -> Option<(Instant, Slot)> {
        if self.at < self.links.due() {
            return (self.at <= last).then_some((self.at, self.last));
        }
        self.links.first_until(last)
    }

    #[inline(always)]
    fn first(&self) -> (Instant, Slot) {
        if self.at < self.links.due() { (self.at, self.last) } else { self.links.first() }
    }

    fn at(&self, slot: Slot) -> Instant {
        if slot == self.last { self.at } else { self.links.at(slot) }
    }
}

fn packed(at: Instant, slot: usize) -> u64 {
    at.as_nanos().min(NEVER_PACKED) << HOT_BITS | slot as u64
}

fn unpacked(word: u64) -> Instant {
    let at = word >> HOT_BITS;
    if at == NEVER_PACKED { Instant::NEVER } else { Instant::from_nanos(at) }
}

fn slot_of(word: u64) -> Slot {
    word as Slot & LAST as Slot
}

/// Slots searched linearly; every packet sets the first half of them.
const HOT: usize = 8;
const HALF: usize = HOT / 2;

/// The last of these slots, also the mask of a slot's bits.
const LAST: usize = HOT - 1;

/// Bits of a packed slot number.
const HOT_BITS: u32 = 3;

/// Packed "never": 73 years, longer than any simulation.
const NEVER_PACKED: u64 = u64::MAX >> HOT_BITS;
const LATEST: Instant = Instant::from_nanos(NEVER_PACKED - 1);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ties_go_to_the_lowest_slot<E: EventSet>(of_links: usize) {
        let mut events = E::new(of_links, 19, 17..18);
        events.enable_all();
        for slot in [18, 2, 17] {
            events.set(slot, Instant::from_nanos(7));
        }
        assert_eq!(events.first(), (Instant::from_nanos(7), 2));
        events.set(2, Instant::NEVER);
        assert_eq!(events.first(), (Instant::from_nanos(7), 17));
    }

    #[test]
    fn timers_behind_the_links_are_found_by_their_instant() {
        let at = Instant::from_nanos(7);
        let mut events = DumbbellEvents::new(8, 19, 17..18);
        events.enable_all();
        [18, 2, 17].into_iter().for_each(|slot| events.set(slot, at));
        assert_eq!((events.timer_at(at), events.timer_at(Instant::from_nanos(8))), (Some(17), None));
        events.set(17, Instant::from_nanos(6));
        assert_eq!(events.timer_at(at), None, "an earlier one is due before");
    }

    #[test]
    fn ties_go_to_the_lowest_slot_of_all() {
        ties_go_to_the_lowest_slot::<DumbbellEvents>(8);
        ties_go_to_the_lowest_slot::<GraphEvents>(8);
        ties_go_to_the_lowest_slot::<GraphEvents>(18);
        ties_go_to_the_lowest_slot::<CellEvents>(8);
    }

    /// Slots with the times they are set to.
    type Changes = Vec<(u32, Option<u64>)>;

    fn agrees_with_a_linear_search<E: EventSet>(of_links: usize, changes: &Changes) -> Result<(), TestCaseError> {
        let mut events = E::new(of_links, SLOTS, 40..61);
        events.enable_all();
        let mut model = [u64::MAX; SLOTS];
        for &(slot, at) in changes {
            let at = at.unwrap_or(u64::MAX);
            model[slot as usize] = at;
            events.set(slot, Instant::from_nanos(at));
            prop_assert_eq!(events.at(slot).as_nanos(), at);
            let earliest = *model.iter().min().unwrap();
            let sinks = (40..61).map(|slot| events.at(slot)).min();
            prop_assert!(events.sinks_due() == Instant::NEVER || Some(events.sinks_due()) == sinks);
            let (first, winner) = events.first();
            prop_assert_eq!(first.as_nanos(), earliest);
            if earliest < u64::MAX {
                prop_assert_eq!(winner as usize, model.iter().position(|&t| t == earliest).unwrap());
            }
        }
        Ok(())
    }

    /// Neither a power of four nor one less.
    const SLOTS: usize = 77;

    proptest! {
        #[test]
        fn any_set_agrees_with_a_linear_search(
            changes in prop::collection::vec((0..SLOTS as u32, prop::option::of(0u64..20)), 1..300),
        ) {
            agrees_with_a_linear_search::<DumbbellEvents>(8, &changes)?;
            agrees_with_a_linear_search::<DumbbellEvents>(4, &changes)?;
            agrees_with_a_linear_search::<GraphEvents>(8, &changes)?;
            agrees_with_a_linear_search::<GraphEvents>(42, &changes)?;
            agrees_with_a_linear_search::<CellEvents>(42, &changes)?;
        }
    }
}
