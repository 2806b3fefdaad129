//! Opportunities of a recorded trace, which repeats after its last line, shifted by the last timestamp.

use super::server::OpportunitySource;
use crate::trace::Trace;
use sojourn_aqm::Instant;
use std::sync::Arc;

/// A position in a repeated trace.
#[derive(Clone, Debug)]
pub(super) struct TraceLaps {
    trace: Arc<Trace>,
    once: bool,
    /// Index of the next opportunity, over all laps.
    next: u64,
}

impl TraceLaps {
    /// A trace from its start, repeated unless `once`.
    pub fn new(trace: &Arc<Trace>, once: bool) -> Self {
        Self { trace: trace.clone(), once, next: 0 }
    }

    /// Number of opportunities at or before `now`.
    fn count_until(&self, now: Instant) -> u64 {
        let times = &self.trace.opportunities_ms;
        let period = self.trace.period_ms() as u64;
        let now_ms = now.as_nanos() / NANOS_PER_MS;
        let (lap, within) = (now_ms / period, (now_ms % period) as u32);
        if self.once && lap > 0 {
            return times.len() as u64;
        }
        lap * times.len() as u64 + times.partition_point(|&t| t <= within) as u64
    }
}

impl OpportunitySource for TraceLaps {
    fn next_at(&self) -> Instant {
        let times = &self.trace.opportunities_ms;
        let (lap, i) = (self.next / times.len() as u64, (self.next % times.len() as u64) as usize);
        if self.once && lap > 0 {
            return Instant::NEVER;
        }
        let ms = lap * self.trace.period_ms() as u64 + times[i] as u64;
        Instant::from_nanos(ms * NANOS_PER_MS)
    }

    fn step(&mut self) {
        self.next += 1;
    }

    fn pass(&mut self, now: Instant) -> u64 {
        let passed = self.count_until(now).saturating_sub(self.next);
        self.next += passed;
        passed
    }
}

const NANOS_PER_MS: u64 = 1_000_000;
