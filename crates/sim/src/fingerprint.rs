//! A run's fingerprint: a 64-bit hash over every verdict and departure of every queue, in the order of each queue.
//!
//! Each queue has its own hash, because an engine may compute one queue ahead of events elsewhere: one hash over all
//! queues would then differ for the same results.

use sojourn_aqm::{DropReason, Instant, Meta};

/// The fate of a packet at a queue.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Accepted.
    Queued,
    /// Accepted and marked.
    Marked,
    /// Transmission started.
    Departed,
    /// Transmission started; the packet was newly marked in this queue.
    DepartedMarked,
    /// Accepted, and transmission started at once.
    Passed,
    /// Dropped.
    Dropped(DropReason),
}

/// A queue's running 64-bit hash. The order of its own records matters, that of records at other queues does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Fingerprint {
    /// Records the `fate` of a packet at `now` in queue `link`.
    #[inline(always)]
    pub fn record(&mut self, now: Instant, link: usize, meta: &Meta, fate: Fate) {
        let fate = match fate {
            Fate::Queued => 0,
            Fate::Marked => 1,
            Fate::Departed => 2,
            Fate::DepartedMarked => 3,
            Fate::Passed => 4,
            Fate::Dropped(reason) => 5 + reason as u64,
        };
        let entry = (meta.flow as u64) << 32 | (meta.len as u64) << 12 | (link as u64) << 4 | fate;
        self.0 = mixed(self.0, now.as_nanos()) ^ entry;
        #[cfg(feature = "run-order")]
        run_order::record(now, entry);
    }

    /// The hash of a run, from its queues in the order of their numbers. Unused queues are skipped, so an additional
    /// link without traffic changes nothing.
    pub fn of_run(queues: impl IntoIterator<Item = Self>) -> u64 {
        let used = queues.into_iter().filter(|&queue| queue != Self::default());
        let mut hash = used.fold(SEED, |hash, queue| mixed(hash, queue.0));
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(FACTOR);
        hash ^ (hash >> 29)
    }
}

#[inline(always)]
fn mixed(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR)
}

/// One hash over the records of all queues in the order in which the engine makes them, for the last run started on
/// this thread. It shows whether an engine change altered that order, on which no result may depend.
#[cfg(feature = "run-order")]
pub mod run_order {
    use super::{FACTOR, SEED, mixed};
    use sojourn_aqm::Instant;
    use std::cell::Cell;

    thread_local! {
        static HASH: Cell<u64> = const { Cell::new(SEED) };
    }

    /// Resets the hash at the start of a run.
    pub(crate) fn begin() {
        HASH.set(SEED);
    }

    pub(super) fn record(now: Instant, entry: u64) {
        HASH.set(mixed(HASH.get(), now.as_nanos()) ^ entry);
    }

    /// The hash of all records since the start of the run.
    pub fn hash() -> u64 {
        let mut hash = HASH.get();
        hash ^= hash >> 32;
        hash = hash.wrapping_mul(FACTOR);
        hash ^ (hash >> 29)
    }
}

const SEED: u64 = 0x736f_6a6f_7572_6e31;
const FACTOR: u64 = 0x9fb2_1c65_1e98_df25;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_record_counts() {
        let of = |nanos, link, flow, len, fate| {
            let mut fingerprint = Fingerprint::default();
            fingerprint.record(Instant::from_nanos(nanos), link, &Meta::new(len, flow), fate);
            Fingerprint::of_run([fingerprint])
        };
        let base = of(1, 0, 0, 1500, Fate::Queued);
        for other in [
            of(2, 0, 0, 1500, Fate::Queued),
            of(1, 1, 0, 1500, Fate::Queued),
            of(1, 0, 1, 1500, Fate::Queued),
            of(1, 0, 0, 1501, Fate::Queued),
            of(1, 0, 0, 1500, Fate::Dropped(DropReason::Limit)),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_order_counts_at_each_queue_and_of_the_queues_but_not_across_them() {
        let records = |order: &[(usize, u64)]| {
            let mut queues = [Fingerprint::default(); 3];
            for &(link, nanos) in order {
                queues[link].record(Instant::from_nanos(nanos), link, &Meta::new(1500, 0), Fate::Queued);
            }
            queues
        };
        let queues = records(&[(0, 1), (2, 1), (0, 2)]);
        let run = Fingerprint::of_run(queues);
        assert_eq!(run, Fingerprint::of_run(records(&[(2, 1), (0, 1), (0, 2)])));
        assert_ne!(run, Fingerprint::of_run(records(&[(0, 2), (2, 1), (0, 1)])));
        assert_ne!(run, Fingerprint::of_run([queues[2], queues[1], queues[0]]));
        assert_eq!(run, Fingerprint::of_run([queues[0], queues[2]]), "an unused queue");
    }
}
