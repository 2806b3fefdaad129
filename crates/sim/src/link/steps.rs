//! A rate that changes in steps, exactly.

use super::server::{OpportunitySource, Pace, TransmissionTimes};
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
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        let end = self.0.fluid_end(start, bytes);
        TransmissionTimes { end, free: end }
    }

    fn capacity(&self, from: Instant, to: Instant) -> u64 {
        self.0.bits_until(to) - self.0.bits_until(from)
    }
}

/// Its capacity is time: while a packet goes at an old rate, the new one is not there to be used.
impl Pace for Latch {
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        let end = self.0.latched_end(start, bytes);
        TransmissionTimes { end, free: end }
    }
}

/// A packet in transmission when the rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateChangeMode {
    /// As [`Fluid`] has it.
    Fluid,
    /// As [`Latch`] has it.
    Latch,
}

/// A rate of which nobody knows beforehand when it changes: each packet is as if that had been in a schedule.
#[derive(Clone, Debug)]
pub(super) struct VariableRate {
    rates: Steps<Rate>,
    schedule: Schedule,
    ending: RateChangeMode,
    /// The last packet: when it began, its bytes, where the schedule stood before it.
    last: Option<(Instant, u32, (usize, u64))>,
}

impl VariableRate {
    pub fn new(rates: &Steps<Rate>, ending: RateChangeMode) -> Self {
        Self { rates: rates.clone(), schedule: Schedule::new(rates), ending, last: None }
    }

    pub fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        self.last = Some((start, bytes, self.schedule.position()));
        let end = match self.ending {
            RateChangeMode::Fluid => self.schedule.fluid_end(start, bytes),
            RateChangeMode::Latch => self.schedule.latched_end(start, bytes),
        };
        TransmissionTimes { end, free: end }
    }

    /// The rate is `to` from `at` on, at which the last packet had begun, until the next step of the schedule; what becomes
    /// of that packet.
    pub fn change(&mut self, at: Instant, to: Rate) -> Option<TransmissionTimes> {
        self.rates.insert(at - Instant::ZERO, to);
        let before = self.last.map_or((0, 0), |(.., before)| before);
        self.schedule.restore(&self.rates, before);
        self.last.map(|(start, bytes, _)| self.send(start, bytes))
    }

    pub fn capacity(&self, from: Instant, to: Instant) -> u64 {
        self.schedule.bits_until(to) - self.schedule.bits_until(from)
    }
}

/// Opportunities of one MTU, each when the rate has added up to one.
impl OpportunitySource for Quanta {
    fn next_at(&self) -> Instant {
        self.next_at()
    }

    fn step(&mut self) {
        self.step();
    }
}
