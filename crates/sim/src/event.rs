//! The event set: one pending event per component.
//!
//! Every component owns a slot that holds the time of its next event, or never. Of several events at one
//! instant the one with the lowest slot comes first, so the order of simultaneous events is the order in
//! which the slots are laid out. The first slots are those that every packet sets: where they are few, as in a dumbbell,
//! they are looked through one by one, and setting one of them is a single store ([`DumbbellEvents`]); else they have a tournament
//! tree of their own, which is lower than one for all ([`GraphEvents`]). Timers are in a second tree; in a dumbbell those of sources
//! have a tree of their own, as a pacer sets them with every packet, and those of sinks, which may be called ahead of time;
//! elsewhere what lies behind them has: the few slots of generators, samplers and of the channels of wireless LANs. Of these
//! the last one, which nearly always is the only channel's, is a word of its own ([`CellEvents`]): every access sets it twice.

mod tree;

use sojourn_aqm::Instant;
use std::ops::Range;
use tree::Tree;

/// A component's place in the event set.
pub type Slot = u32;

/// The pending events of a simulation.
pub trait EventSet {
    /// An empty set with slots 0..`slots`, of which packets set the first `of_links`: half of them every packet, the others
    /// only where [`EventSet::enable_all`] was called. The slots `sinks`, behind them, are those of sinks' timers, and as many
    /// before these are those of sources' timers.
    fn new(of_links: usize, slots: usize, sinks: Range<Slot>) -> Self;

    /// From now on events may be pending in any slot.
    fn enable_all(&mut self);

    /// Whether [`EventSet::enable_all`] was called.
    fn is_all_enabled(&self) -> bool;

    /// Sets the time of a slot's next event; [`Instant::NEVER`] for none.
    fn set(&mut self, slot: Slot, at: Instant);

    /// The earliest event; its time is [`Instant::NEVER`] when nothing is pending.
    fn first(&self) -> (Instant, Slot);

    /// When the earliest event is due; never when nothing is pending.
    #[inline(always)]
    fn due(&self) -> Instant {
        self.first().0
    }

    /// The earliest event, unless it comes later than `last`, which is an instant of the run.
    #[inline(always)]
    fn first_until(&self, last: Instant) -> Option<(Instant, Slot)> {
        let (at, slot) = self.first();
        (at <= last).then_some((at, slot))
    }

    /// When a slot's event is pending.
    fn at(&self, slot: Slot) -> Instant;

    /// The lowest slot behind those of the links if its event and no earlier one behind them is due at `at`; none where
    /// they are not kept apart.
    fn timer_at(&self, _at: Instant) -> Option<Slot> {
        None
    }

    /// When the earliest timer of a sink is due; never where they are not kept apart.
    fn sinks_due(&self) -> Instant {
        Instant::NEVER
    }

    /// The slot of that timer.
    fn first_of_sinks(&self) -> Slot {
        unreachable!("the sinks' timers are not kept apart")
    }
}

/// For two links.
#[derive(Clone, Debug)]
pub struct DumbbellEvents {
    /// Time and slot in one word, so that the least of them is the earliest of the lowest slot.
    hot: [u64; HOT],
    /// The time of the earliest timer, behind that of any of them at the same instant.
    timer: u64,
    uses_all: bool,
    /// The first of the slots of sources, as many as there are of sinks, which lie behind them.
    first_source: Slot,
    flows: Slot,
    sources: Tree,
    sinks: Tree,
    /// What lies before and behind the timers of sources and sinks.
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
    /// The least of the words of hot slots.
    #[inline(always)]
    fn first_word(&self) -> u64 {
        let least = |words: &[u64]| words.iter().fold(u64::MAX, |least, &word| least.min(word));
        let hot = least(&self.hot[..HALF]);
        if self.uses_all { hot.min(least(&self.hot[HALF..])) } else { hot }
    }

    #[inline]
    fn set_timer(&mut self, slot: Slot, at: Instant) {
        match slot.wrapping_sub(self.first_source) {
            place if place < self.flows => self.sources.set(slot, at),
            place if place < 2 * self.flows => self.sinks.set(slot, at),
            _ => self.others.set(slot, at),
        }
        let least = self.sources.due().min(self.sinks.due()).min(self.others.due());
        self.timer = packed(Instant::from_nanos(least), LAST);
    }

    /// The tree of a slot behind those that are looked through.
    fn tree_of(&self, slot: Slot) -> &Tree {
        match slot.wrapping_sub(self.first_source) {
            place if place < self.flows => &self.sources,
            place if place < 2 * self.flows => &self.sinks,
            _ => &self.others,
        }
    }

    /// The earliest of the timers. Of several at one instant that with the lowest slot.
    fn first_timer(&self) -> (Instant, Slot) {
        let (sources, sinks, others) = (self.sources.due(), self.sinks.due(), self.others.due());
        if sources < sinks.min(others) {
            return self.sources.first();
        }
        let first = if sources <= sinks { self.sources.first() } else { self.sinks.first() };
        // Others have slots before and behind those.
        if first.0.as_nanos() < others { first } else { first.min(self.others.first()) }
    }
}

/// For any number of links.
#[derive(Clone, Debug)]
pub struct GraphEvents {
    front: Tree,
    timers: Tree,
    /// What lies behind the timers of sinks: generators, samplers, channels.
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
        // None is due where nothing is pending.
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
        // Of those with the same time the slots in front are the lowest.
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

/// For any number of links, and channels in the last slots.
#[derive(Clone, Debug)]
pub struct CellEvents {
    links: GraphEvents,
    last: Slot,
    /// When the event of the last slot is pending.
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

/// Slots that are looked through one by one, and how many of them every packet sets.
const HOT: usize = 8;
const HALF: usize = HOT / 2;

/// The last of them.
const LAST: usize = HOT - 1;

/// Bits that a hot slot's number needs.
const HOT_BITS: u32 = 3;

/// 73 years: beyond every simulation.
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

    /// Slots with the times that they are set to.
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

    /// No power of four, nor what lies before one.
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
