//! Excludes CE-marked packets from an algorithm's measurements (N. Khademi et al. 2013, section 7): a packet that is
//! marked instead of dropped stays in the queue, and so causes further marks.
//!
//! The algorithm then sees a backlog without the packets that carry CE, and sojourn times without the time the link
//! spent on such packets while the packet was queued. That time is measured from one dequeue to the next, so it holds
//! at any rate; if a marked packet was in transmission on arrival, the remainder counts.

use crate::backlog::Backlog;
use crate::packet::{Ecn, Meta};
use crate::time::{Duration, Instant};

/// Time that the link has spent on CE-marked packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CeTime {
    /// Up to the last departure.
    total: Duration,
    departed: Instant,
    /// Whether the packet that departed then carries CE.
    ce: bool,
}

impl CeTime {
    /// Total up to `now`.
    pub fn at(&self, now: Instant) -> Duration {
        if self.ce { self.total + (now - self.departed) } else { self.total }
    }

    /// The queue was polled at `now`; `ce`: it returned a packet with CE.
    pub fn departed(&mut self, now: Instant, ce: bool) {
        *self = Self { total: self.at(now), departed: now, ce };
    }

    /// The packet as the algorithm sees it; `before` is the total at its arrival.
    pub fn visible_meta(&self, now: Instant, before: Duration, meta: Meta) -> Meta {
        Meta { enqueued: meta.enqueued + (self.at(now) - before), ..meta }
    }
}

/// Backlog of packets that carry CE.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CeBacklog(Backlog);

impl CeBacklog {
    /// A packet with CE was queued, or a queued one newly marked.
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

    /// The part of `backlog` without CE.
    pub fn without_ce(&self, backlog: Backlog) -> Backlog {
        Backlog { packets: backlog.packets - self.0.packets, bytes: backlog.bytes - self.0.bytes }
    }
}
