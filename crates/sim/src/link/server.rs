//! What serves a queue. A new kind of link is a [`Pace`], if it sends packet after packet, or a [`OpportunitySource`], if it serves in
//! opportunities.

use super::core::LinkCore;
use super::{LinkContext, NextCall, QueueEntry, ServiceResult};
use crate::probe::Probe;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{Instant, Rng};

/// How long a transmission takes.
pub(crate) trait Pace: Send {
    /// Starts the transmission of `bytes` at `start`, which is never before [`TransmissionTimes::free`] of the last one.
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes;

    /// What a server that is never idle does in a span: nanoseconds where nothing else is said, or bits.
    #[inline]
    fn capacity(&self, from: Instant, to: Instant) -> u64 {
        (to - from).as_nanos() as u64
    }
}

impl Pace for Box<dyn Pace> {
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes {
        (**self).send(start, bytes)
    }
    fn capacity(&self, from: Instant, to: Instant) -> u64 {
        (**self).capacity(from, to)
    }
}

/// A transmission that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmissionTimes {
    /// When its last bit leaves.
    pub end: Instant,
    /// When the next packet can be taken; not before `end`.
    pub free: Instant,
}

/// Where opportunities come from: the same ones in every run with the same seed, whoever uses them.
pub(crate) trait OpportunitySource: Send {
    /// When the next opportunity is due; [`Instant::NEVER`] if there is none.
    fn next_at(&self) -> Instant;
    /// Goes on to the one after it.
    fn step(&mut self);
    /// Passes over the opportunities up to and including `now`; returns their number.
    fn pass(&mut self, now: Instant) -> u64 {
        let mut passed = 0;
        while self.next_at() <= now {
            self.step();
            passed += 1;
        }
        passed
    }
}

/// Where a server sits.
pub(crate) struct ServerParams {
    /// Number of its link.
    pub index: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Bytes that one opportunity carries.
    pub mtu: u32,
    /// When the statistics can begin.
    pub window: Window,
}

impl ServerParams {
    /// The server's own random stream.
    pub fn rng(&self) -> Rng {
        Rng::stream(self.seed, "link", self.index as u64)
    }
}

/// What serves a queue, in a simulation or for another host.
pub(crate) trait Server {
    /// A packet arrives.
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        entry: QueueEntry,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult;

    /// The time has come for which it asked.
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, books: &mut LinkContext<P>) -> ServiceResult;

    /// The queue is about to be changed at `now`.
    fn before_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, books: &mut LinkContext<P>) {
        let _ = (now, body, books);
    }

    /// The queue has been changed at `now`: what waits may go earlier.
    fn after_change<P: Probe>(
        &mut self,
        now: Instant,
        body: &mut LinkCore,
        books: &mut LinkContext<P>,
    ) -> ServiceResult {
        let _ = (now, body, books);
        ServiceResult::nothing(NextCall::Unchanged)
    }

    /// Books that the transmission of `bytes` began at `now`, as another host has seen it.
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally);

    /// What it has used until `now`, if `used` includes what has begun, and what it could have used.
    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64);

    /// What it could have used from instant `number` of the window on.
    fn usable_from(&mut self, window: &Window, number: usize) -> u64;

    /// What it could do between `from` and `to`, which never goes back; opportunities are counted from the start on.
    fn usable(&mut self, from: Instant, to: Instant) -> u64;

    /// What a transmission of `bytes` from `start` to `free` uses of that.
    fn used(&mut self, start: Instant, free: Instant, bytes: u32) -> u64;

    /// Sends `bytes` that are there at `start`, and nothing with them.
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes;

    /// When its next opportunity is due, if it serves in opportunities.
    fn opportunity(&self) -> Option<Instant>;

    /// Its opportunities, if it serves in opportunities.
    fn opportunities(&mut self) -> Option<&mut dyn OpportunitySource>;
}
