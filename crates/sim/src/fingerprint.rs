//! A run's fingerprint: one word over every verdict and departure of every queue.

use sojourn_aqm::{DropReason, Instant};

/// What happened to a packet at a queue.
#[derive(Clone, Copy, Debug)]
pub enum Fate {
    /// Accepted.
    Queued,
    /// Accepted and marked.
    Marked,
    /// Its transmission started.
    Departed,
    /// Its transmission started; it was newly marked in this queue.
    DepartedMarked,
    /// It went straight through: accepted, and its transmission started at once.
    Passed,
    /// Dropped.
    Dropped(DropReason),
}

/// A running 64-bit hash; the order of the records matters.
#[derive(Clone, Debug)]
pub struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(SEED)
    }
}

impl Fingerprint {
    /// Records that `fate` befell a packet of `flow`, `len` bytes long, at `now` in queue `link`.
    #[inline]
    pub fn record(&mut self, now: Instant, link: usize, flow: u32, len: u32, fate: Fate) {
        let fate = match fate {
            Fate::Queued => 0,
            Fate::Marked => 1,
            Fate::Departed => 2,
            Fate::DepartedMarked => 3,
            Fate::Passed => 4,
            Fate::Dropped(reason) => 5 + reason as u64,
        };
        let what = (flow as u64) << 32 | (len as u64) << 12 | (link as u64) << 4 | fate;
        self.0 = (self.0.rotate_left(23) ^ now.as_nanos()).wrapping_mul(FACTOR) ^ what;
    }

    /// The hash of everything recorded.
    pub fn finish(&self) -> u64 {
        let mut hash = self.0;
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
            fingerprint.record(Instant::from_nanos(nanos), link, flow, len, fate);
            fingerprint.finish()
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
}
