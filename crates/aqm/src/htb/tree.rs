//! Class tree: the classes, per level those that can send, and those that wait for tokens.

use super::class::{Class, Feed, Mode, PRIOS, Position};
use super::config::{Class as Configured, LEVELS, Settings};
use crate::time::{Duration, Instant};
use alloc::vec;
use alloc::vec::Vec;

/// All classes.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// In numeric order.
    classes: Vec<Class>,
    levels: [Level; LEVELS],
    /// Time of the last dequeue.
    pub now: Instant,
    /// Number of times that a class ran into its ceiling.
    pub overlimits: u64,
}

/// Classes of one level.
#[derive(Clone, Debug)]
struct Level {
    /// Per priority, the classes that can send, by number.
    rows: Vec<Feed>,
    row_mask: u8,
    /// Classes with a pending mode change, the earliest first, ties in order of arrival.
    waiting: Vec<usize>,
    /// Lower bound of the next mode change.
    near_event: Instant,
}

impl Tree {
    /// Builds the tree of `configured`, which are in numeric order and name existing parents.
    pub fn new<H>(settings: &Settings, configured: &[&Configured<H>]) -> Self {
        let index = |minor: u16| place_of(configured, minor);
        let parents: Vec<_> = configured.iter().map(|class| class.parent.and_then(index)).collect();
        let mut children = vec![0_usize; configured.len()];
        parents.iter().flatten().for_each(|&parent| children[parent] += 1);
        let depth = |i: usize| core::iter::successors(parents[i], |&parent| parents[parent]).count();
        let mut leaves = 0..;
        let classes: Vec<_> = (0..configured.len())
            .map(|i| {
                let (leaf, level) = if children[i] == 0 { (leaves.next(), 0) } else { (None, LEVELS - 1 - depth(i)) };
                let position = Position { parent: parents[i], level, leaf, children: children[i] };
                Class::new(settings, configured[i], position)
            })
            .collect();
        let levels = core::array::from_fn(|level| {
            let capacity = classes.iter().filter(|class| class.level == level).count();
            let rows = (0..PRIOS).map(|_| Feed::new(capacity)).collect();
            Level { rows, row_mask: 0, waiting: Vec::with_capacity(capacity), near_event: Instant::ZERO }
        });
        Self { classes, levels, now: Instant::ZERO, overlimits: 0 }
    }

    /// Index of the queue of class `i`, if it is a leaf.
    #[inline]
    pub fn leaf_of(&self, i: usize) -> Option<usize> {
        self.classes[i].leaf
    }

    /// Numbers of the leaves, in the order of their queues.
    pub fn leaves(&self) -> impl Iterator<Item = u16> {
        self.classes.iter().filter(|class| class.leaf.is_some()).map(|class| class.minor)
    }

    /// Index of the class with number `minor`.
    pub fn find(&self, minor: u16) -> Option<usize> {
        self.classes.binary_search_by_key(&minor, |class| class.minor).ok()
    }

    /// Number and tokens of class `i`.
    pub fn state(&self, i: usize) -> (u16, i64, i64) {
        let class = &self.classes[i];
        (class.minor, class.tokens, class.ctokens)
    }

    /// Bitmap of the priorities with classes of `level` that can send.
    #[inline]
    pub fn row_mask(&self, level: usize) -> u8 {
        self.levels[level].row_mask
    }

    /// Activates a leaf, which has packets (`htb_activate`).
    #[inline]
    pub fn activate(&mut self, i: usize) {
        if self.classes[i].prio_activity == 0 {
            self.classes[i].prio_activity = 1 << self.classes[i].prio;
            self.activate_prios(i);
        }
    }

    /// Deactivates a leaf, which has no packets left (`htb_deactivate`).
    pub fn deactivate(&mut self, i: usize) {
        if self.classes[i].prio_activity != 0 {
            self.deactivate_prios(i);
            self.classes[i].prio_activity = 0;
        }
    }

    /// Adds an active class to the rows of its level, or to the feeds of the ancestors that it borrows from.
    fn activate_prios(&mut self, mut i: usize) {
        let mut mask = self.classes[i].prio_activity;
        while let (Mode::MayBorrow, Some(parent)) = (self.classes[i].mode, self.classes[i].parent) {
            if mask == 0 {
                return;
            }
            for prio in prios(mask) {
                let feed = &mut self.classes[parent].feeds[prio];
                if !feed.is_empty() {
                    // The parent is already active for this priority.
                    mask &= !(1 << prio);
                }
                feed.insert(i);
            }
            self.classes[parent].prio_activity |= mask;
            i = parent;
        }
        if self.classes[i].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[i].level];
            level.row_mask |= mask;
            prios(mask).for_each(|prio| level.rows[prio].insert(i));
        }
    }

    /// Removes an active class from all feeds and rows; its mode must still be the one with which it was added.
    fn deactivate_prios(&mut self, mut i: usize) {
        let mut mask = self.classes[i].prio_activity;
        while let (Mode::MayBorrow, Some(parent)) = (self.classes[i].mode, self.classes[i].parent) {
            if mask == 0 {
                return;
            }
            let mut emptied = 0;
            for prio in prios(mask) {
                let feed = &mut self.classes[parent].feeds[prio];
                if feed.ptr == Some(i) {
                    (feed.last, feed.ptr) = (Some(i), None);
                }
                feed.remove(i);
                if feed.is_empty() {
                    emptied |= 1 << prio;
                }
            }
            self.classes[parent].prio_activity &= !emptied;
            (i, mask) = (parent, emptied);
        }
        if self.classes[i].mode == Mode::CanSend {
            let level = &mut self.levels[self.classes[i].level];
            for prio in prios(mask) {
                let row = &mut level.rows[prio];
                if row.ptr == Some(i) {
                    row.advance();
                }
                row.remove(i);
                if row.is_empty() {
                    level.row_mask &= !(1 << prio);
                }
            }
        }
    }

    /// Sets the mode that class `i` has `ahead` nanoseconds after its last token update. Returns the nanoseconds until
    /// it changes (`htb_change_class_mode`).
    fn change_mode(&mut self, i: usize, ahead: i64) -> i64 {
        let (mode, wait) = self.classes[i].mode_in(ahead);
        let old = self.classes[i].mode;
        if mode == old {
            return wait;
        }
        self.overlimits += u64::from(mode == Mode::CantSend);
        let is_active = self.classes[i].prio_activity != 0;
        if is_active && old != Mode::CantSend {
            self.deactivate_prios(i);
        }
        self.classes[i].mode = mode;
        if is_active && mode != Mode::CantSend {
            self.activate_prios(i);
        }
        wait
    }

    /// Schedules a mode change of class `i` in `wait` nanoseconds (`htb_add_to_wait_tree`).
    fn add_to_wait(&mut self, i: usize, wait: i64) {
        let key = self.now + Duration::from_nanos(wait.max(1));
        self.classes[i].pq_key = key;
        let level = &mut self.levels[self.classes[i].level];
        level.near_event = level.near_event.min(key);
        let at = level.waiting.partition_point(|&other| self.classes[other].pq_key <= key);
        level.waiting.insert(at, i);
    }

    /// Charges a packet of `len` bytes of the leaf `i`, sent with tokens of the class at level `lender`, to all classes
    /// from the leaf up (`htb_charge_class`).
    #[inline]
    pub fn charge(&mut self, i: usize, lender: usize, len: u32) {
        let mut next = Some(i);
        while let Some(i) = next {
            let class = &mut self.classes[i];
            // Classes below the lender borrow, so only their ceilings are charged.
            class.account(self.now, len, class.level >= lender);
            let (old, level) = (class.mode, class.level);
            next = class.parent;
            let wait = self.change_mode(i, 0);
            let mode = self.classes[i].mode;
            if mode != old {
                if old != Mode::CanSend {
                    self.levels[level].waiting.retain(|&other| other != i);
                }
                if mode != Mode::CanSend {
                    self.add_to_wait(i, wait);
                }
            }
        }
    }

    /// Performs the due mode changes of a level (`htb_do_events`). Returns the time of the next one, or of the next
    /// check.
    #[inline]
    pub fn do_events(&mut self, level: usize) -> Instant {
        if self.now < self.levels[level].near_event {
            return self.levels[level].near_event;
        }
        let event = loop {
            let Some(&i) = self.levels[level].waiting.first() else { break self.now + Duration::from_secs(1) };
            let key = self.classes[i].pq_key;
            if key > self.now {
                break key;
            }
            self.levels[level].waiting.remove(0);
            let wait = self.change_mode(i, self.classes[i].since(self.now));
            if self.classes[i].mode != Mode::CanSend {
                self.add_to_wait(i, wait);
            }
        };
        self.levels[level].near_event = event;
        event
    }

    /// Leaf whose turn it is among those that can send, at `level` itself or with the tokens of a class there
    /// (`htb_lookup_leaf`).
    #[inline]
    pub fn lookup_leaf(&mut self, prio: usize, level: usize) -> Option<usize> {
        if self.levels[level].row_mask & 1 << prio == 0 {
            return None;
        }
        // Path of classes from the row down, whose feeds are followed.
        let mut path = [0; LEVELS];
        let mut depth = 0;
        loop {
            let feed = self.feed(path[..depth].last().copied(), prio, level);
            if let (None, Some(last)) = (feed.ptr, feed.last) {
                feed.ptr = feed.from(last);
            }
            feed.last = None;
            let ptr = feed.ptr;
            if ptr.is_none() {
                // Past the last class: restart at the first one and advance the level above.
                feed.ptr = feed.first();
            }
            match ptr {
                Some(i) if self.classes[i].leaf.is_some() => return Some(i),
                Some(i) => {
                    path[depth] = i;
                    depth += 1;
                }
                None if depth > 0 => {
                    depth -= 1;
                    self.feed(path[..depth].last().copied(), prio, level).advance();
                }
                None => {}
            }
        }
    }

    fn feed(&mut self, class: Option<usize>, prio: usize, level: usize) -> &mut Feed {
        match class {
            Some(i) => &mut self.classes[i].feeds[prio],
            None => &mut self.levels[level].rows[prio],
        }
    }

    /// Charges `len` bytes to the turn of leaf `i`, and passes the turn on if it is over.
    #[inline]
    pub fn spend_turn(&mut self, i: usize, prio: usize, level: usize, len: u32) {
        if self.classes[i].spend_turn(level, len) {
            self.pass_turn(i, prio, level);
        }
    }

    /// Passes the turn on from leaf `i`.
    pub fn pass_turn(&mut self, i: usize, prio: usize, level: usize) {
        let above = if level > 0 { self.classes[i].parent } else { None };
        self.feed(above, prio, 0).advance();
    }
}

/// Index of the class with number `minor` among `classes`, which are in numeric order.
pub(super) fn place_of<H>(classes: &[&Configured<H>], minor: u16) -> Option<usize> {
    classes.binary_search_by_key(&minor, |class| class.minor).ok()
}

/// Priorities in a mask, the lowest number first.
fn prios(mut mask: u8) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let prio = (mask != 0).then(|| mask.trailing_zeros() as usize)?;
        mask &= mask - 1;
        Some(prio)
    })
}
