//! Leaving CE-marked packets out of what an algorithm measures (N. Khademi et al. 2013, section 7): a packet that is
//! marked instead of dropped goes on filling the queue, and so makes the algorithm mark others.
//!
//! An algorithm then sees a backlog without the packets that carry CE, and sojourn times without the time that the
//! link spent on such packets while the packet waited. The time is measured, from one dequeue to the next, so that it
//! holds on links of any rate; a mark that was already being transmitted when the packet came counts with its rest.

use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};

/// How long the link has been transmitting CE-marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CeTime {
    /// Until the last departure.
    total: Duration,
    departed: Instant,
    /// Whether what departed then carries CE.
    ce: bool,
}

impl CeTime {
    /// Up to `now`.
    pub fn at(&self, now: Instant) -> Duration {
        if self.ce { self.total + (now - self.departed) } else { self.total }
    }

    /// The queue was asked for a packet at `now`, and gave one that carries CE or not, or none.
    pub fn departed(&mut self, now: Instant, ce: bool) {
        *self = Self { total: self.at(now), departed: now, ce };
    }

    /// The packet as the algorithm sees it, queued when the link had spent `before`.
    pub fn visible_meta(&self, now: Instant, before: Duration, meta: Meta) -> Meta {
        Meta { enqueued: meta.enqueued + (self.at(now) - before), ..meta }
    }
}

/// The waiting packets that carry CE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CeBacklog(Backlog);

impl CeBacklog {
    /// A packet has joined them: it came with CE, or was newly marked.
    pub fn add(&mut self, meta: &Meta) {
        self.0.packets += 1;
        self.0.bytes += meta.len as u64;
    }

    /// A packet has left the queue.
    pub fn remove(&mut self, meta: &Meta) {
        if meta.ecn == Ecn::Ce {
            self.0.packets -= 1;
            self.0.bytes -= meta.len as u64;
        }
    }

    /// The others of `backlog`.
    pub fn without_ce(&self, backlog: Backlog) -> Backlog {
        Backlog { packets: backlog.packets - self.0.packets, bytes: backlog.bytes - self.0.bytes }
    }
}
