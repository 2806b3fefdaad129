//! What changes in links while a run goes on, in the order of time.

use crate::scenario::{LinkSpec, LossSpec, Scenario};
use sojourn_aqm::{Instant, Rng};

/// A change of a link.
pub(crate) struct PlannedChange {
    pub at: Instant,
    /// Number of the link.
    pub link: usize,
    pub loss: Option<LossSpec>,
    pub queue: Option<NewQueue>,
    seed: u64,
    /// Number of the change, from 1 on: its random streams are its own.
    number: u64,
}

/// What a link's queue is from then on.
pub(crate) struct NewQueue {
    /// The link with its queue manager and limits.
    pub spec: Box<LinkSpec>,
    /// Whether what waits stays, and the state.
    pub keeps: bool,
}

impl PlannedChange {
    /// The changes of a run with `seed`; those of one instant in the order of the links.
    pub fn all(scenario: &Scenario, seed: u64) -> Vec<Self> {
        Self::of_links(scenario.queues(), seed)
    }

    /// The changes of `links` in a run with `seed`; those of one instant in the order of the links.
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

    /// A random stream of `kind` that no other part of the run has.
    pub fn rng(&self, kind: &str) -> Rng {
        stream(self.seed, kind, self.number, self.link)
    }
}

/// The random stream that the queue of link `link` draws from in a run with `seed`: from the start for `number` 0, else
/// since change `number` of the link.
pub fn stream_of_queue(seed: u64, link: usize, number: u64) -> Rng {
    stream(seed, "queue", number, link)
}

/// The random stream of `kind` that change `number` of a link brings.
pub(super) fn stream(seed: u64, kind: &str, number: u64, link: usize) -> Rng {
    Rng::stream(seed, kind, number << 32 | link as u64)
}
