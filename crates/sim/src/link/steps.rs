//! A rate that changes in steps, exactly.

use super::server::{Pace, Sent, Source};
use crate::schedule::{Quanta, Schedule, Steps};
use sojourn_aqm::{Instant, Rate};

/// What remains of a packet at a change goes at the new rate.
#[derive(Clone, Debug)]
pub(super) struct Fluid(Schedule);

/// A packet ends when it would have ended without the change.
#[derive(Clone, Debug)]
pub(super) struct Latch(Schedule);

impl Fluid {
    pub fn new(rates: &Steps<Rate>) -> Self {
        Self(Schedule::new(rates))
    }
}

impl Latch {
    pub fn new(rates: &Steps<Rate>) -> Self {
        Self(Schedule::new(rates))
    }
}

impl Pace for Fluid {
    fn send(&mut self, start: Instant, bytes: u32) -> Sent {
        let end = self.0.fluid_end(start, bytes);
        Sent { end, free: end }
    }

    fn capacity(&self, from: Instant, to: Instant) -> u64 {
        self.0.bits_until(to) - self.0.bits_until(from)
    }
}

/// Its capacity is time: while a packet goes at an old rate, the new one is not there to be used.
impl Pace for Latch {
    fn send(&mut self, start: Instant, bytes: u32) -> Sent {
        let end = self.0.latched_end(start, bytes);
        Sent { end, free: end }
    }
}

/// Opportunities of one MTU, each when the rate has added up to one.
impl Source for Quanta {
    fn next_at(&self) -> Instant {
        self.next_at()
    }

    fn step(&mut self) {
        self.step();
    }
}
