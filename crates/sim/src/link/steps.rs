//! A rate that changes in steps.
//!
//! The end of a transmission is computed when it starts, in exact bit-nanoseconds through all changes: the schedule is
//! known, so a change of the rate needs no event. A transmission that ends at the instant of a change had the old rate.

use super::server::{OpportunitySource, Pace, TransmissionTimes};
use crate::schedule::{Quanta, Schedule, Steps};
use sojourn_aqm::{Instant, Rate};

/// The rest of a packet is sent at the new rate.
#[derive(Clone, Debug)]
pub(super) struct Fluid(Schedule);

/// A packet in transmission keeps the old rate. A saturated link may therefore send less than the integral of its rate:
/// a slow packet blocks a link that has become fast.
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

/// Capacity is measured in time: during a packet at an old rate, the new rate is not available.
impl Pace for Latch {
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        let end = self.0.latched_end(start, bytes);
        TransmissionTimes { end, free: end }
    }
}

/// Treatment of a packet in transmission when the rate changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RateChangeMode {
    /// See [`Fluid`].
    Fluid,
    /// See [`Latch`].
    Latch,
}

/// A rate with unscheduled changes; the results are those of a schedule that contains them.
#[derive(Clone, Debug)]
pub(super) struct VariableRate {
    rates: Steps<Rate>,
    schedule: Schedule,
    ending: RateChangeMode,
    /// The last packet: its start, its bytes, and the schedule's position before it.
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

    /// Sets the rate to `to` from `at` until the next step of the schedule; the last packet must have started by `at`.
    /// Returns the new times of that packet.
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

/// Opportunities of one MTU, each due when the rate has accumulated one.
impl OpportunitySource for Quanta {
    fn next_at(&self) -> Instant {
        self.next_at()
    }

    fn step(&mut self) {
        self.step();
    }
}
