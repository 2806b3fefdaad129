//! Changes of links during a run, in the order of time.
//!
//! Rates and delays become steps of a schedule before anything reads them. A change of a queue interrupts the run one
//! nanosecond earlier instead of taking a slot in the event set, which would cost every run.

use crate::scenario::{LinkSpec, LossSpec, Scenario};
use sojourn_aqm::{Instant, Rng};

/// A change of a link.
pub(crate) struct PlannedChange {
    pub at: Instant,
    /// Index of the link.
    pub link: usize,
    pub loss: Option<LossSpec>,
    pub queue: Option<NewQueue>,
    seed: u64,
    /// Index of the change, from 1; each change has its own random streams.
    number: u64,
}

/// A link's queue after a change.
pub(crate) struct NewQueue {
    /// The link with its new qdisc and limits.
    pub spec: Box<LinkSpec>,
    /// Whether the backlog and the state are kept.
    pub keeps: bool,
}

impl PlannedChange {
    /// The changes of a run with `seed`, at one instant in the order of the links.
    pub fn all(scenario: &Scenario, seed: u64) -> Vec<Self> {
        Self::of_links(scenario.queues(), seed)
    }

    /// The changes of `links` in a run with `seed`, at one instant in the order of the links.
    pub fn of_links<'a>(links: impl Iterator<Item = &'a LinkSpec>, seed: u64) -> Vec<Self> {
        let mut all = Vec::new();
        for (link, spec) in links.enumerate() {
            let mut present = spec.clone();
            for (number, change) in (1..).zip(&spec.changes) {
                present.apply(change);
                let queue =
                    change.is_of_queue().then(|| NewQueue { spec: Box::new(present.clone()), keeps: change.keeps });
                all.push(Self { at: Instant::ZERO + change.at, link, loss: change.loss, queue, seed, number });
            }
        }
        all.sort_by_key(|planned: &Self| planned.at);
        all
    }

    /// The change's own random stream of `kind`.
    pub fn rng(&self, kind: &str) -> Rng {
        stream(self.seed, kind, self.number, self.link)
    }
}

/// Random stream of the queue of link `link` in a run with `seed`: from the start for `number` 0, otherwise since
/// change `number` of the link.
pub fn stream_of_queue(seed: u64, link: usize, number: u64) -> Rng {
    stream(seed, "queue", number, link)
}

/// Random stream of `kind` of change `number` of a link.
pub(super) fn stream(seed: u64, kind: &str, number: u64, link: usize) -> Rng {
    Rng::stream(seed, kind, number << 32 | link as u64)
}
