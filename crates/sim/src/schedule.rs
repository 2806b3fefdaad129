//! Values that change at given times, and exact transmission times at a changing rate.
//!
//! The work of a packet is counted in bit-nanoseconds, bits × 10⁹: a rate of r bit/s does r of them per nanosecond. The
//! remainder of a packet's last nanosecond is carried into the next packet, as in [`sojourn_aqm::Serializer`].

use sojourn_aqm::{Duration, Instant, Rate};
use std::fmt;

/// A value from the start of the run, and its later values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T> {
    /// Start time of each value: the first at 0 s, then strictly ascending.
    steps: Vec<(Duration, T)>,
}

impl<T: Copy> Steps<T> {
    /// One value for the whole run.
    pub fn constant(value: T) -> Self {
        Self { steps: vec![(Duration::ZERO, value)] }
    }

    /// Values and their start times: the first at zero, then strictly ascending.
    pub(crate) fn from_ordered(steps: Vec<(Duration, T)>) -> Self {
        debug_assert!(
            steps.first().is_some_and(|step| step.0 == Duration::ZERO) && steps.is_sorted_by(|a, b| a.0 < b.0)
        );
        Self { steps }
    }

    /// The value at the start.
    pub fn first(&self) -> T {
        self.steps[0].1
    }

    /// Sets the value from `at` up to the next existing step.
    pub fn insert(&mut self, at: Duration, value: T) {
        match self.steps.binary_search_by_key(&at, |&(since, _)| since) {
            Ok(i) => self.steps[i].1 = value,
            Err(i) => self.steps.insert(i, (at, value)),
        }
    }

    /// The value at `at`.
    pub fn at(&self, at: Duration) -> T {
        self.steps[self.steps.partition_point(|&(since, _)| since <= at).max(1) - 1].1
    }

    /// Whether the value changes.
    pub fn changes(&self) -> bool {
        self.steps.len() > 1
    }

    /// Times at which the value changes, in order.
    pub fn changes_at(&self) -> impl Iterator<Item = Duration> + '_ {
        self.steps[1..].iter().map(|&(at, _)| at)
    }

    /// The start time of each value, and the value.
    pub fn iter(&self) -> impl Iterator<Item = (Duration, T)> + '_ {
        self.steps.iter().copied()
    }
}

impl<T: fmt::Display> fmt::Display for Steps<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [(_, only)] = &self.steps[..] {
            return only.fmt(f);
        }
        for (i, (at, value)) in self.steps.iter().enumerate() {
            write!(f, "{}{value}@{at}", if i > 0 { "," } else { "" })?;
        }
        Ok(())
    }
}

/// Rates over time.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    /// Start time of each rate, the rate in bit/s, and the bit-nanoseconds possible before it.
    steps: Vec<(Instant, u64, u128)>,
    /// Step of the last packet's start.
    at: usize,
    /// Bit-nanoseconds carried over from the last packet; less than the rate of its step.
    remainder: u64,
}

impl Schedule {
    pub fn new(rates: &Steps<Rate>) -> Self {
        let mut steps: Vec<(Instant, u64, u128)> = Vec::new();
        for (at, rate) in rates.iter() {
            let at = Instant::ZERO + at;
            let done = steps.last().map_or(0, |&(since, rate, done)| done + work_in(rate, since, at));
            steps.push((at, rate.as_bps(), done));
        }
        Self { steps, at: 0, remainder: 0 }
    }

    /// The state before the next packet, for [`Self::restore`].
    pub fn position(&self) -> (usize, u64) {
        (self.at, self.remainder)
    }

    /// Replaces the rates and goes back to the state before a packet; both schedules must be equal up to then.
    pub fn restore(&mut self, rates: &Steps<Rate>, (at, remainder): (usize, u64)) {
        *self = Self { at, remainder, ..Self::new(rates) };
    }

    /// Moves to the step of `now`. A new step drops the remainder, less than a nanosecond of work, which is done by
    /// then.
    fn advance(&mut self, now: Instant) {
        while self.until().is_some_and(|until| until <= now) {
            self.at += 1;
            self.remainder = 0;
        }
    }

    /// When the current step ends.
    fn until(&self) -> Option<Instant> {
        self.steps.get(self.at + 1).map(|&(until, ..)| until)
    }

    /// When the transmission of `bytes` that starts at `start` ends, through all changes of the rate; [`FAR`] if never.
    pub fn fluid_end(&mut self, start: Instant, bytes: u32) -> Instant {
        self.advance(start);
        let mut work = bytes as u64 * NANOS_PER_BYTE_AT_1_BPS + self.remainder;
        let mut now = start;
        loop {
            let rate = self.steps[self.at].1;
            let possible = self.until().map(|until| work_in(rate, now, until));
            if rate > 0 && possible.is_none_or(|possible| work as u128 <= possible) {
                let nanos = work / rate;
                self.remainder = work - nanos * rate;
                return Instant::from_nanos(now.as_nanos() + nanos);
            }
            let (Some(until), Some(possible)) = (self.until(), possible) else { return FAR };
            work -= possible as u64;
            now = until;
            self.at += 1;
        }
    }

    /// When the transmission of `bytes` that starts at `start` ends at the rate of that instant, which is above zero.
    pub fn latched_end(&mut self, start: Instant, bytes: u32) -> Instant {
        self.advance(start);
        let rate = self.steps[self.at].1;
        let work = bytes as u64 * NANOS_PER_BYTE_AT_1_BPS + self.remainder;
        let nanos = work / rate;
        self.remainder = work - nanos * rate;
        Instant::from_nanos(start.as_nanos() + nanos)
    }

    /// Bits that were possible until `now`, rounded down.
    pub fn bits_until(&self, now: Instant) -> u64 {
        let step = self.steps.partition_point(|&(since, ..)| since <= now) - 1;
        let (since, rate, done) = self.steps[step];
        ((done + work_in(rate, since, now)) / NANOS_PER_SECOND) as u64
    }
}

/// Times of opportunities of `mtu` bytes: each when `rates` have added up to one. [`FAR`] or later if never.
#[derive(Clone, Debug)]
pub(crate) struct Quanta {
    schedule: Schedule,
    mtu: u32,
    next: Instant,
}

impl Quanta {
    pub fn new(rates: &Steps<Rate>, mtu: u32) -> Self {
        let mut schedule = Schedule::new(rates);
        let next = schedule.fluid_end(Instant::ZERO, mtu);
        Self { schedule, mtu, next }
    }

    /// Time of the next opportunity; [`Instant::NEVER`] if there is none.
    pub fn next_at(&self) -> Instant {
        if self.next >= FAR { Instant::NEVER } else { self.next }
    }

    /// Moves on to the following opportunity.
    pub fn step(&mut self) {
        self.next = self.schedule.fluid_end(self.next, self.mtu);
    }
}

impl Iterator for Quanta {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        let at = self.next_at();
        self.step();
        Some(at)
    }
}

/// Bit-nanoseconds of `rate` from `from` to `to`.
fn work_in(rate: u64, from: Instant, to: Instant) -> u128 {
    rate as u128 * (to - from).as_nanos() as u128
}

/// After the end of any run (63 years), and early enough to add delays without overflow.
pub(crate) const FAR: Instant = Instant::from_nanos(2_000_000_000_000_000_000);

const NANOS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
