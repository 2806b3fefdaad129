//! Servers of a queue. A new kind of link implements [`Pace`] if it sends one packet at a time, or
//! [`OpportunitySource`] if it serves in delivery opportunities.

use super::core::LinkCore;
use super::{LinkContext, NextCall, QueueEntry, ServiceResult};
use crate::probe::Probe;
use crate::tally::Tally;
use crate::window::Window;
use sojourn_aqm::{Instant, Rng};

/// Computes the times of transmissions.
pub(crate) trait Pace: Send {
    /// Starts the transmission of `bytes` at `start`, not before [`TransmissionTimes::free`] of the last one.
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes;

    /// Capacity of a server that is never idle in a span: nanoseconds by default, or bits.
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

/// Times of a transmission that has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmissionTimes {
    /// When the last bit leaves.
    pub end: Instant,
    /// When the next packet can start; not before `end`.
    pub free: Instant,
}

/// A source of delivery opportunities, which depend only on the seed, not on their use.
pub(crate) trait OpportunitySource: Send {
    /// When the next opportunity is due; [`Instant::NEVER`] if there is none.
    fn next_at(&self) -> Instant;
    /// Advances to the following opportunity.
    fn step(&mut self);
    /// Skips the opportunities up to and including `now`; returns their number.
    fn pass(&mut self, now: Instant) -> u64 {
        let mut passed = 0;
        while self.next_at() <= now {
            self.step();
            passed += 1;
        }
        passed
    }
}

/// Parameters of a server.
pub(crate) struct ServerParams {
    /// Index of the link.
    pub index: usize,
    /// Seed of the run.
    pub seed: u64,
    /// Bytes per opportunity.
    pub mtu: u32,
    /// The instants at which statistics may begin.
    pub window: Window,
}

impl ServerParams {
    /// The server's own random stream.
    pub fn rng(&self) -> Rng {
        Rng::stream(self.seed, "link", self.index as u64)
    }
}

/// Serves a queue, in the simulator or for another host.
pub(crate) trait Server {
    /// Handles the arrival of a packet.
    fn offer<P: Probe>(
        &mut self,
        now: Instant,
        entry: QueueEntry,
        body: &mut LinkCore,
        cx: &mut LinkContext<P>,
    ) -> ServiceResult;

    /// Handles the event that the server has scheduled.
    fn serve<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult;

    /// Called before the queue changes at `now`.
    fn before_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) {
        let _ = (now, body, cx);
    }

    /// Called after the queue has changed at `now`: waiting packets may be sent earlier.
    fn after_change<P: Probe>(&mut self, now: Instant, body: &mut LinkCore, cx: &mut LinkContext<P>) -> ServiceResult {
        let _ = (now, body, cx);
        ServiceResult::nothing(NextCall::Unchanged)
    }

    /// Counts a transmission of `bytes` that began at `now` in another host.
    fn replay(&mut self, now: Instant, bytes: u32, tally: &mut Tally);

    /// Used and available capacity up to `now`; `used` includes transmissions that have begun.
    fn used_and_usable(&mut self, used: u64, now: Instant) -> (u64, u64);

    /// Available capacity from instant `number` of the window on.
    fn usable_from(&mut self, window: &Window, number: usize) -> u64;

    /// Available capacity between `from` and `to`, which never decreases; opportunities are counted from the start.
    fn usable(&mut self, from: Instant, to: Instant) -> u64;

    /// Capacity used by a transmission of `bytes` from `start` to `free`.
    fn used(&mut self, start: Instant, free: Instant, bytes: u32) -> u64;

    /// Transmits `bytes` that are ready at `start`, without other packets.
    fn send(&mut self, start: Instant, bytes: u32) -> TransmissionTimes;

    /// When the next opportunity is due, if the server has opportunities.
    fn opportunity(&self) -> Option<Instant>;

    /// The source of opportunities, if the server has one.
    fn opportunities(&mut self) -> Option<&mut dyn OpportunitySource>;
}
