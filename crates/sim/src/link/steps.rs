//! A rate that changes in steps, exactly.
//!
//! A packet's work is counted in bit-nanoseconds, bits × 10⁹, of which a rate of r bit/s does r in a nanosecond; what
//! the last nanosecond of a packet leaves over is carried into the next, as [`sojourn_aqm::Serializer`] does.

use super::one_by_one::{OneByOne, Pace, Sent};
use super::opportunity::{Opportunities, Source};
use super::{Seat, Server};
use crate::scenario::{Change, Steps};
use sojourn_aqm::{Instant, Rate};

/// The rates over time.
#[derive(Clone, Debug)]
struct Schedule {
    /// When each rate begins to hold, the rate in bit/s, and the bit-nanoseconds that were possible until then.
    steps: Vec<(Instant, u64, u128)>,
    /// The step of the last start.
    at: usize,
    /// Bit-nanoseconds carried over from the last packet; below the rate of its step.
    remainder: u64,
}

/// What remains of a packet at a change goes at the new rate.
#[derive(Clone, Debug)]
pub(crate) struct Fluid(Schedule);

/// A packet ends when it would have ended without the change.
#[derive(Clone, Debug)]
pub(crate) struct Latch(Schedule);

/// Opportunities of one MTU, each when the rate has added up to one.
#[derive(Clone, Debug)]
struct Quanta {
    schedule: Schedule,
    mtu: u32,
    next: Instant,
}

impl Server {
    /// A schedule of rates.
    pub fn steps(rates: &Steps<Rate>, change: Change, seat: &Seat) -> Self {
        let schedule = Schedule::new(rates);
        match change {
            Change::Fluid => Self::Fluid(OneByOne::new(Fluid(schedule))),
            Change::Latch => Self::Latch(OneByOne::new(Latch(schedule))),
            Change::Opportunity => Self::Opportunities(Opportunities::new(Quanta::new(schedule, seat.mtu), seat)),
        }
    }
}

/// The opportunities of `mtu` bytes that `rates` add up to.
pub(crate) fn opportunities(rates: &Steps<Rate>, mtu: u32) -> impl Iterator<Item = Instant> + use<> {
    let mut quanta = Quanta::new(Schedule::new(rates), mtu);
    std::iter::from_fn(move || {
        let at = quanta.next_at();
        quanta.step();
        Some(at)
    })
}

impl Quanta {
    fn new(schedule: Schedule, mtu: u32) -> Self {
        let mut quanta = Self { schedule, mtu, next: Instant::ZERO };
        quanta.step();
        quanta
    }
}

impl Schedule {
    fn new(rates: &Steps<Rate>) -> Self {
        let mut steps: Vec<(Instant, u64, u128)> = Vec::new();
        for (at, rate) in rates.iter() {
            let at = Instant::ZERO + at;
            let done = steps.last().map_or(0, |&(since, rate, done)| done + work_in(rate, since, at));
            steps.push((at, rate.as_bps(), done));
        }
        Self { steps, at: 0, remainder: 0 }
    }

    /// Goes to the step of `now`. What was carried over is done long since if the step is another one.
    fn advance(&mut self, now: Instant) {
        while self.until().is_some_and(|until| until <= now) {
            self.at += 1;
            self.remainder = 0;
        }
    }

    /// When the present step ends.
    fn until(&self) -> Option<Instant> {
        self.steps.get(self.at + 1).map(|&(until, ..)| until)
    }

    /// When `bytes` that begin at `start` have gone, through all changes on the way; [`FAR`] if never.
    fn fluid_end(&mut self, start: Instant, bytes: u32) -> Instant {
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

    /// When `bytes` that begin at `start` have gone at the rate of that instant, which is above zero.
    fn latched_end(&mut self, start: Instant, bytes: u32) -> Instant {
        self.advance(start);
        let rate = self.steps[self.at].1;
        let work = bytes as u64 * NANOS_PER_BYTE_AT_1_BPS + self.remainder;
        let nanos = work / rate;
        self.remainder = work - nanos * rate;
        Instant::from_nanos(start.as_nanos() + nanos)
    }

    /// Bits that were possible until `now`, rounded down.
    fn bits_until(&self, now: Instant) -> u64 {
        let step = self.steps.partition_point(|&(since, ..)| since <= now) - 1;
        let (since, rate, done) = self.steps[step];
        ((done + work_in(rate, since, now)) / NANOS_PER_SECOND) as u64
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

    fn of(server: &mut Server) -> Option<&mut OneByOne<Self>> {
        match server {
            Server::Fluid(server) => Some(server),
            _ => None,
        }
    }
}

/// Its capacity is time: while a packet goes at an old rate, the new one is not there to be used.
impl Pace for Latch {
    fn send(&mut self, start: Instant, bytes: u32) -> Sent {
        let end = self.0.latched_end(start, bytes);
        Sent { end, free: end }
    }

    fn of(server: &mut Server) -> Option<&mut OneByOne<Self>> {
        match server {
            Server::Latch(server) => Some(server),
            _ => None,
        }
    }
}

impl Source for Quanta {
    fn next_at(&self) -> Instant {
        if self.next >= FAR { Instant::NEVER } else { self.next }
    }

    fn step(&mut self) {
        self.next = self.schedule.fluid_end(self.next, self.mtu);
    }
}

/// Bit-nanoseconds of `rate` in a span.
fn work_in(rate: u64, from: Instant, to: Instant) -> u128 {
    rate as u128 * (to - from).as_nanos() as u128
}

/// Later than any run ends (63 years), and early enough that delays can be added.
const FAR: Instant = Instant::from_nanos(2_000_000_000_000_000_000);

const NANOS_PER_BYTE_AT_1_BPS: u64 = 8_000_000_000;

const NANOS_PER_SECOND: u128 = 1_000_000_000;

#[cfg(test)]
mod tests;
