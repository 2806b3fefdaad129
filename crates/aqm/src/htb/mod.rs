//! HTB, the hierarchical token bucket: classes that are promised a rate and borrow up to a ceiling what others leave, each
//! with a queue discipline of its own (M. Devera; Linux, `sch_htb.c` of 6.1 and 6.12, whose order and arithmetic this
//! follows).
//!
//! `htb default 20 { class 1:1 rate 10mbit; class 1:10 parent 1:1 rate 2mbit ceil 10mbit prio 0 match dscp EF; class 1:20
//! parent 1:1 rate 8mbit ceil 10mbit prio 1 { fq_codel } }`: the numbers are tc's, in hexadecimal, and the words those of
//! `tc class add … htb`. A packet joins the class that its sender names (`class = "1:10"` of a flow group), else the first
//! one whose filter it matches, else the `default`; without one it goes directly, before all others and without a shaper.
//! Leaves without braces drop at their tails.
//!
//! A class takes `parent` (none for one of the root), `rate`, `ceil` (else its rate), `burst` and `cburst` (the depths of its
//! buckets; else `mtu`, 1600 B as tc has it), `prio` from 0 to 7, `quantum` (else its rate over `r2q`, from 1000 to 200,000
//! B), `overhead`, `mpu` and `linklayer` (`ethernet` or `atm`), and as many of `match dscp EF`, `match src HOST`, `match dst
//! HOST` and `match flow FLOW` as it takes, any of which is enough.
//!
//! Every class has two buckets, one for its rate and one for its ceiling. A leaf with tokens of both sends; without those of
//! its rate it may borrow from the nearest ancestor that has them; classes of lower `prio` go first, and those of one
//! `prio` take turns by their `quantum`. All changes of a class's mode come at times that are known beforehand, so what
//! waits without tokens is not asked for before the next of them.
//!
//! Differs: a ceiling below the rate, a parent that does not exist and a default that is no leaf are refused; Linux takes
//! them and shapes to something else.
//!
//! The limit of the link holds in each leaf, as that of the device's queue does in Linux, so that a class pushes out nobody
//! else's packets; a discipline in braces may have one of its own besides (`fq_codel limit 100`). What goes directly has
//! `direct_qlen`.
//!
//! # When to use
//!
//! To write down what a router runs: `sqm-scripts` shape with HTB and FQ-CoDel, providers sell tariffs with it. For the
//! link of a home without an inheritance to keep, [CAKE](crate::cake) does the same with fewer words. One class needs only
//! the [token bucket filter](crate::tbf).

mod class;
mod config;
#[cfg(test)]
mod tests;
mod tree;

pub use config::{Class, ClassSettings, Classes, Config, Rounding, Settings};

use crate::backlog::Backlog;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::params::WordsParser;
use crate::parent::ChildConfig;
use crate::parent::children::Family;
use crate::parent::class::Filters;
use crate::parent::leaf::{Leaf, leaf_host};
use crate::parent::statistics::{of_classes, of_parent};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::ring::Ring;
use crate::time::{Duration, Instant};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use config::LEVELS;
use core::fmt;
use tree::{Tree, place_of};

/// The queue discipline.
pub struct Htb<P> {
    tree: Tree,
    family: Family<P>,
    filters: Filters,
    handle: u16,
    /// The number of the class of what matches no filter.
    default: Option<usize>,
    /// What no class wants.
    direct: Ring<P>,
    direct_qlen: u32,
    direct_packets: u64,
    /// The class that was served last.
    shown: Option<usize>,
}

impl<P: Send + 'static> Htb<P> {
    /// Empty queues and full buckets.
    pub fn new<H: ChildConfig>(config: &Config<H>, limits: Limits, host: Host) -> Self {
        let settings = &config.settings;
        let classes = config.children.sorted();
        let tree = Tree::new(settings, &classes);
        let leaves: Vec<Leaf<P>> = classes
            .iter()
            .enumerate()
            .filter(|&(i, _)| tree.leaf_of(i).is_some())
            .map(|(i, class)| {
                let rate = class.settings.ceiling().min(host.link.rate);
                Leaf::new(class.child.as_ref(), limits, leaf_host(&host, i, rate))
            })
            .collect();
        let place = |minor: u16| place_of(&classes, minor);
        let matches = config.children.0.iter().filter_map(|class| Some((place(class.minor)?, &class.matches[..])));
        Self {
            tree,
            family: Family::new(leaves),
            filters: Filters::new(matches),
            handle: settings.handle.0,
            default: place(settings.default.0),
            direct: Ring::with_capacity(settings.direct_qlen.min(MAX_PREALLOCATED) as usize),
            direct_qlen: settings.direct_qlen as u32,
            direct_packets: 0,
            shown: None,
        }
    }
}

impl<P> Htb<P> {
    /// The class of a packet; none for those that go directly (`htb_classify`).
    #[inline]
    fn classify(&self, meta: &Meta) -> Option<usize> {
        let named = meta.class;
        if named.major() == self.handle {
            if named.minor() == 0 {
                return None;
            }
            if let Some(class) = self.tree.find(named.minor()).filter(|&class| self.tree.leaf_of(class).is_some()) {
                return Some(class);
            }
        }
        self.filters.find(meta).or(self.default)
    }

    #[cold]
    fn enqueue_directly(&mut self, now: Instant, mut meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let books = &mut self.family.accounting;
        books.arrived(meta.len);
        if self.direct.len() as u32 >= self.direct_qlen {
            return books.refuse(now, Arrival { meta, packet }, sink);
        }
        meta.enqueued = now;
        books.queued(meta.len);
        self.direct_packets += 1;
        self.direct.push(meta, packet);
        EnqueueResult::Queued
    }

    /// A packet of a class that may send at `level` with the priority `prio` (`htb_dequeue_tree`). Where there is none, but
    /// for a child that shapes itself, `soonest` is when that will have one.
    #[inline]
    fn dequeue_tree(
        &mut self,
        (prio, level): (usize, usize),
        now: Instant,
        soonest: &mut Instant,
        sink: &mut dyn Sink<P>,
    ) -> Option<(Meta, P)> {
        let mut start = self.tree.lookup_leaf(prio, level)?;
        let mut class = start;
        loop {
            let leaf = self.tree.leaf_of(class).expect("only leaves are looked up");
            if self.family.is_empty(leaf) {
                self.tree.deactivate(class);
                let next = self.tree.lookup_leaf(prio, level)?;
                if class == start {
                    start = next;
                }
                class = next;
                continue;
            }
            match self.family.dequeue(leaf, now, sink) {
                DequeueResult::Packet(meta, packet) => {
                    self.tree.spend_turn(class, prio, level, meta.len);
                    if self.family.is_empty(leaf) {
                        self.tree.deactivate(class);
                    }
                    self.tree.charge(class, level, meta.len);
                    self.shown = Some(class);
                    return Some((meta, packet));
                }
                DequeueResult::NotBefore(at) => *soonest = at.min(*soonest),
                // It dropped all that it had, which is found out above.
                DequeueResult::Empty if self.family.is_empty(leaf) => continue,
                DequeueResult::Empty => {}
            }
            self.tree.pass_turn(class, prio, level);
            class = self.tree.lookup_leaf(prio, level)?;
            if class == start {
                return None;
            }
        }
    }
}

impl<P> Qdisc<P> for Htb<P> {
    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let Some(class) = self.classify(&meta) else { return self.enqueue_directly(now, meta, packet, sink) };
        let leaf = self.tree.leaf_of(class).expect("filters and the default are of leaves");
        let enqueued = self.family.enqueue(leaf, now, Arrival { meta, packet }, sink);
        if !self.family.is_empty(leaf) {
            self.tree.activate(class);
        }
        enqueued
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        if let Some(queued) = self.direct.pop() {
            self.family.accounting.departed(queued.meta.len);
            return DequeueResult::Packet(queued.meta, queued.packet);
        }
        if self.family.accounting.total.packets == 0 {
            return DequeueResult::Empty;
        }
        self.tree.now = now;
        let mut next_event = now + LONGEST_WAIT;
        let mut soonest = Instant::NEVER;
        for level in 0..LEVELS {
            next_event = next_event.min(self.tree.do_events(level));
            let mut row = self.tree.row_mask(level);
            while row != 0 {
                let prio = row.trailing_zeros() as usize;
                row &= row - 1;
                if let Some((meta, packet)) = self.dequeue_tree((prio, level), now, &mut soonest, sink) {
                    return DequeueResult::Packet(meta, packet);
                }
            }
        }
        if self.family.accounting.total.packets == 0 {
            return DequeueResult::Empty;
        }
        DequeueResult::NotBefore(next_event.min(soonest))
    }

    fn splits_gso(&self) -> bool {
        self.family.splits_gso()
    }

    fn needs_tcp_headers(&self) -> bool {
        self.family.needs_tcp_headers()
    }

    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        self.family.drop_delayed(now, sink);
    }

    fn settle(&mut self, now: Instant) {
        self.family.settle(now);
    }

    fn backlog(&self) -> Backlog {
        self.family.accounting.total
    }

    fn stats(&self) -> &Stats {
        &self.family.accounting.stats
    }

    fn statistics(&self) -> Option<String> {
        let classes = of_classes("htb", self.handle, self.tree.leaves(), self.family.leaves());
        let default = self.default.map_or(0, |class| self.tree.state(class).0);
        let options = format!(
            r#""default":"{default:#x}","direct_packets_stat":{},"direct_qlen":{}"#,
            self.direct_packets, self.direct_qlen
        );
        Some(of_parent("htb", &options, &self.family.accounting, self.tree.overlimits, &classes))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let (minor, tokens, ctokens) = self.shown.map_or((0, 0, 0), |class| self.tree.state(class));
        see("class", minor as f64);
        see("tokens", Duration::from_nanos(tokens).as_secs_f64());
        see("ctokens", Duration::from_nanos(ctokens).as_secs_f64());
        see("overlimits", self.tree.overlimits as f64);
        see("direct_packets", self.direct_packets as f64);
    }

    fn queues(&self) -> Vec<String> {
        let classes = self.tree.leaves().map(|minor| format!("class {:x}:{minor:x}", self.handle));
        classes.chain(["direct".into()]).collect()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        let leaf = self.classify(meta).and_then(|class| self.tree.leaf_of(class));
        leaf.unwrap_or_else(|| self.tree.leaves().count())
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        let leaves = self.tree.leaves().zip(self.family.leaves());
        leaves.for_each(|(minor, leaf)| leaf.show("class", minor.into(), see));
    }
}

impl<P> fmt::Debug for Htb<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Htb").field("tree", &self.tree).field("books", &self.family.accounting).finish_non_exhaustive()
    }
}

/// tc has no other words for HTB's own parameters.
pub(crate) const WORDS: Option<WordsParser> = None;

/// Bytes of a class, with its places among those of its level, which feed it for each priority.
pub(crate) const CLASS_BYTES: u64 = (size_of::<class::Class>() + (1 + 2 * class::PRIOS) * size_of::<usize>()) as u64;

/// The kernel looks again after 5 s whatever happens.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const MAX_PREALLOCATED: u64 = 1024;
