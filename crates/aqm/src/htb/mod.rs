//! HTB, the hierarchical token bucket: classes with a guaranteed rate that borrow unused bandwidth up to a ceiling,
//! each with its own queue discipline (M. Devera; Linux, `sch_htb.c` of 6.1 and 6.12, whose order and arithmetic this
//! follows).
//!
//! `htb default 20 { class 1:1 rate 10mbit; class 1:10 parent 1:1 rate 2mbit ceil 10mbit prio 0 match dscp EF; class
//! 1:20 parent 1:1 rate 8mbit ceil 10mbit prio 1 { fq_codel } }`: the numbers are tc's, in hexadecimal, and the
//! keywords are those of `tc class add … htb`. A packet joins the class that its sender names (`class = "1:10"` of a
//! flow group), otherwise the first one whose filter it matches, otherwise the `default`; without a default it is sent
//! directly, before all others and without shaping. Leaves without braces use tail drop.
//!
//! A class has the parameters `parent` (omitted for a class of the root), `rate`, `ceil` (default: its rate), `burst`
//! and `cburst` (depths of its buckets; default: `mtu`, 1600 B as in tc), `prio` from 0 to 7, `quantum` (default: its
//! rate over `r2q`, from 1000 to 200,000 B), `overhead`, `mpu` and `linklayer` (`ethernet` or `atm`), and any number of
//! `match dscp EF`, `match src HOST`, `match dst HOST` and `match flow FLOW`, one of which must match.
//!
//! Every class has two buckets, one for its rate and one for its ceiling. A leaf with tokens in both may send; without
//! tokens of its rate it may borrow from the nearest ancestor that has some. Classes with lower `prio` go first, and
//! those with the same `prio` share by their `quantum`. All changes of a class's mode happen at times known in advance,
//! so a queue without tokens is not polled before the next of them. Tokens beyond `cburst` are lost while a class waits
//! for its turn, so a class with a shallow bucket stays below its ceiling: with tc's default a ceiling of 4 Mbit/s
//! gives 3.2 beside two other classes.
//!
//! Differs: a ceiling below the rate, a parent that does not exist and a default that is not a leaf are refused; Linux
//! accepts them and shapes differently.
//!
//! The limit of the link applies to each leaf, as the device's queue limit does in Linux, so that a class cannot push
//! out the packets of others; a discipline in braces may have an additional limit (`fq_codel limit 100`). Direct
//! packets are limited by `direct_qlen`.
//!
//! # When to use
//!
//! To reproduce a router's configuration: `sqm-scripts` shape with HTB and FQ-CoDel, and providers implement tariffs
//! with it. For a new setup on a home link [CAKE](crate::cake) does the same with fewer parameters. A single class
//! needs only the [token bucket filter](crate::tbf).

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
use crate::parent::children::Children;
use crate::parent::class::Filters;
use crate::parent::leaf::{Leaf, leaf_host};
use crate::parent::statistics::{of_classes, of_parent};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::reservation::{Reservation, ReservationError};
use crate::ring::Ring;
use crate::time::{Duration, Instant};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use config::LEVELS;
use core::fmt;
use tree::{Tree, place_of};

/// HTB queue discipline.
pub struct Htb<P> {
    tree: Tree,
    family: Children<P>,
    filters: Filters,
    handle: u16,
    /// Class of packets that match no filter.
    default: Option<usize>,
    /// Packets without a class.
    direct: Ring<P>,
    direct_qlen: u32,
    direct_packets: u64,
    /// Class that was served last.
    last_served: Option<usize>,
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
                // The inner discipline sees the ceiling as its link's rate.
                let rate = class.settings.ceiling().min(host.link.rate);
                Leaf::new(class.child.as_ref(), limits, leaf_host(&host, i, rate))
            })
            .collect();
        let index = |minor: u16| place_of(&classes, minor);
        let matches = config.children.0.iter().filter_map(|class| Some((index(class.minor)?, &class.matches[..])));
        Self {
            tree,
            family: Children::new(leaves),
            filters: Filters::new(matches),
            handle: settings.handle.0,
            default: index(settings.default.0),
            direct: Ring::with_capacity(settings.direct_qlen.min(MAX_PREALLOCATED) as usize),
            direct_qlen: settings.direct_qlen as u32,
            direct_packets: 0,
            last_served: None,
        }
    }
}

impl<P> Htb<P> {
    /// Class of a packet; `None` for direct packets (`htb_classify`).
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
        let accounting = &mut self.family.accounting;
        accounting.arrived(meta.len);
        if self.direct.len() as u32 >= self.direct_qlen {
            return accounting.refuse(now, Arrival { meta, packet }, sink);
        }
        meta.enqueued = now;
        accounting.queued(meta.len);
        self.direct_packets += 1;
        self.direct.push(meta, packet);
        EnqueueResult::Queued
    }

    /// Dequeues a packet of a class that may send at `level` with the priority `prio` (`htb_dequeue_tree`). If there is
    /// none because a child shapes, lowers `soonest` to the time of the child's next packet.
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
                    self.last_served = Some(class);
                    return Some((meta, packet));
                }
                DequeueResult::NotBefore(at) => *soonest = at.min(*soonest),
                // The leaf dropped all its packets, which the check above handles.
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
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.direct.reserve(self.direct_qlen as usize, memory)?;
        self.family.reserve(memory)
    }

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
        let (minor, tokens, ctokens) = self.last_served.map_or((0, 0, 0), |class| self.tree.state(class));
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

/// tc has no alternative keywords for HTB's parameters.
pub(crate) const WORDS: Option<WordsParser> = None;

/// Bytes per class, with its entries in the row of its level and in the feeds of each priority.
pub(crate) const CLASS_BYTES: u64 = (size_of::<class::Class>() + (1 + 2 * class::PRIOS) * size_of::<usize>()) as u64;

/// Maximum sleep: the kernel polls again after 5 s in any case.
const LONGEST_WAIT: Duration = Duration::from_secs(5);
const MAX_PREALLOCATED: u64 = 1024;
