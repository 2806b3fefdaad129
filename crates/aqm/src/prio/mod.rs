//! `prio`: bands served in strict order of priority, each with its own queue discipline (Linux, `sch_prio.c`).
//!
//! A packet joins the band that its sender names (`class = "1:2"` of a flow group is the second), otherwise the first
//! band whose filter it matches, otherwise the band of its priority: `priomap` has a band, counted from 0, for each of
//! the 16 priorities, which follow from the DSCP if the sender sets none. Bands without braces use tail drop: `prio
//! bands 2 priomap 1,1,1,1,1,1,0,0,1,1,1,1,1,1,1,1 { band 1 match dscp EF { codel }; band 2 { fq_codel } }`.
//!
//! The limit of the link applies to each band, as the device's queue limit does in Linux; a discipline in braces may
//! have an additional limit (`fq_codel limit 100`).
//!
//! # When to use
//!
//! If one kind of traffic must not wait for another and cannot starve it: a little voice, routing, acknowledgments.
//! Shape unbounded traffic first, with [HTB](crate::htb). Linux's default of three bands without parameters is
//! [pfifo_fast](crate::pfifo_fast).

mod config;
#[cfg(test)]
mod tests;

pub use config::{Band, Bands, Config, Settings};

use crate::backlog::Backlog;
use crate::class::Priomap;
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
use crate::time::Instant;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Prio queue discipline.
pub struct Prio<P> {
    handle: u16,
    bands: usize,
    priomap: Priomap,
    filters: Filters,
    family: Children<P>,
}

impl<P: Send + 'static> Prio<P> {
    /// Empty bands.
    pub fn new<H: ChildConfig>(config: &Config<H>, limits: Limits, host: Host) -> Self {
        let Settings { handle, bands, priomap } = config.settings;
        let bands = bands as usize;
        let child = |band: usize| config.children.of(band).and_then(|band| band.child.as_ref());
        let leaf = |band: usize| Leaf::new(child(band), limits, leaf_host(&host, band, host.link.rate));
        let matches = config.children.0.iter().map(|band| (band.number - 1, &band.matches[..]));
        let family = Children::new((0..bands).map(leaf).collect());
        Self { handle: handle.0, bands, priomap, filters: Filters::new(matches), family }
    }
}

impl<P> Prio<P> {
    /// Band of a packet (`prio_classify`).
    #[inline]
    fn classify(&self, meta: &Meta) -> usize {
        let priority = meta.priority();
        let first = self.priomap.band(0);
        if priority.major() == self.handle {
            // An unknown class, and the discipline itself, use the band of priority 0.
            return (priority.minor() as usize).checked_sub(1).filter(|&band| band < self.bands).unwrap_or(first);
        }
        // So does a class of another discipline.
        let by_priority = || if priority.major() == 0 { self.priomap.band(priority.minor()) } else { first };
        self.filters.find(meta).unwrap_or_else(by_priority)
    }
}

impl<P> Qdisc<P> for Prio<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.family.reserve(memory)
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        let band = self.classify(&meta);
        self.family.enqueue(band, now, Arrival { meta, packet }, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        let mut soonest: Option<Instant> = None;
        for band in 0..self.bands {
            match self.family.dequeue(band, now, sink) {
                DequeueResult::Empty => {}
                // A shaper in one band does not delay later bands.
                DequeueResult::NotBefore(at) => soonest = Some(soonest.map_or(at, |other| other.min(at))),
                packet => return packet,
            }
        }
        soonest.map_or(DequeueResult::Empty, DequeueResult::NotBefore)
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
        let classes = of_classes("prio", self.handle, 1.., self.family.leaves());
        let options = format!(r#""bands":{}"#, self.bands);
        Some(of_parent("prio", &options, &self.family.accounting, 0, &classes))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        for (name, backlog) in BACKLOGS.iter().zip(self.family.backlogs()) {
            see(name, backlog.packets as f64);
        }
    }

    fn queues(&self) -> Vec<String> {
        (1..=self.bands).map(|band| format!("band {band}")).collect()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.classify(meta)
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        (0..).zip(self.family.leaves()).for_each(|(band, leaf)| leaf.show("band", band, see));
    }
}

impl<P> fmt::Debug for Prio<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prio")
            .field("bands", &self.bands)
            .field("books", &self.family.accounting)
            .finish_non_exhaustive()
    }
}

/// Names of the bands' backlogs.
const BACKLOGS: [&str; config::MAX_BANDS as usize] = [
    "backlog_1",
    "backlog_2",
    "backlog_3",
    "backlog_4",
    "backlog_5",
    "backlog_6",
    "backlog_7",
    "backlog_8",
    "backlog_9",
    "backlog_10",
    "backlog_11",
    "backlog_12",
    "backlog_13",
    "backlog_14",
    "backlog_15",
    "backlog_16",
];

pub(crate) const WORDS: Option<WordsParser> = Some(config::words);
