//! DualPI2: the Dual-Queue Coupled AQM of RFC 9332 with PI2 (its Appendix A), and Linux's (`sch_dualpi2.c` since 6.17)
//! in integer arithmetic. L4S packets have a queue of their own that is served first within bounds. They are marked
//! with k p', and classic packets are dropped or marked with p'², so that both kinds of flows get about the same rate.
//!
//! One file per version; both use Linux's scheduler, because the RFC leaves it open.
//!
//! Differs: the RFC's controller uses the greater delay of both queues, as in Linux; with the classic delay alone, as
//! in the RFC's first listing, unresponsive L4S traffic would never be dropped.
//!
//! There are no random vectors of the kernel, because 6.1 and 6.12 have no DualPI2; the expected values of the unit
//! tests were computed outside of this crate.
//!
//! # When to use
//!
//! At a bottleneck that carries scalable congestion controls (TCP Prague, L4S) beside classic ones and has no per-flow
//! queues: scalable traffic waits about a millisecond, classic traffic about `target`, and both get about the same
//! rates. Without ECT(1) traffic it is a PI2.

mod config;
mod linux;
mod rfc9332;
pub(crate) mod tc_args;
#[cfg(test)]
mod tests;
mod wrr;

pub use config::{Classification, Config, Marking, Scheduler, Version};

use crate::aqm::{Cx, Verdict};
use crate::dual::{DualAqm, DualSnapshot, QueueKind};
use crate::error::ConfigError;
use crate::link::Link;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError};
use crate::time::Instant;
use linux::Linux;
use rfc9332::Rfc9332;

/// Forwards a call to the version's engine.
macro_rules! of_version {
    ($dualpi2:expr, $version:ident => $call:expr) => {
        match $dualpi2 {
            Engine::Rfc9332($version) => $call,
            Engine::Linux($version) => $call,
        }
    };
}

/// State of two coupled queues.
#[derive(Clone, Debug)]
pub struct DualPi2(Engine);

#[derive(Clone, Debug)]
enum Engine {
    Rfc9332(Rfc9332),
    Linux(Linux),
}

impl DualPi2 {
    /// State of two empty queues.
    pub fn new(config: &Config) -> Self {
        Self(match config.version {
            Version::Rfc9332 => Engine::Rfc9332(Rfc9332::new(config)),
            Version::Linux => Engine::Linux(Linux::new(config)),
        })
    }

    /// Sets p' to `p`, from 0 to 1, until the controller's next update.
    pub(crate) fn set_p(&mut self, p: f64) {
        of_version!(&mut self.0, pi2 => pi2.set_p(p));
    }
}

impl DualAqm for DualPi2 {
    fn inherit(&mut self, old: &Self) -> Result<(), ConfigError> {
        match (&mut self.0, &old.0) {
            (Engine::Rfc9332(pi2), Engine::Rfc9332(old)) => pi2.inherit(old),
            (Engine::Linux(pi2), Engine::Linux(old)) => pi2.inherit(old),
            _ => Err(ConfigError::ImmutableParam("version")),
        }
    }

    fn reserve(&mut self, packets: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        match &mut self.0 {
            Engine::Linux(pi2) => pi2.reserve(packets, memory),
            Engine::Rfc9332(_) => Ok(()),
        }
    }

    fn splits_gso(&self) -> bool {
        of_version!(&self.0, pi2 => pi2.config.split_gso)
    }

    fn classify(&self, meta: &Meta) -> QueueKind {
        of_version!(&self.0, pi2 => pi2.classify(meta))
    }

    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        of_version!(&mut self.0, pi2 => pi2.enqueue(cx, meta, side))
    }

    fn choose(&mut self, now: Instant, link: Link, queues: &DualSnapshot) -> Option<QueueKind> {
        of_version!(&mut self.0, pi2 => pi2.choose(now, link, queues))
    }

    fn judge(&mut self, cx: &mut Cx, meta: &Meta, side: QueueKind) -> Verdict {
        of_version!(&mut self.0, pi2 => pi2.judge(cx, meta, side))
    }

    fn sent(&mut self, side: QueueKind, len: u32, queues: &DualSnapshot) {
        of_version!(&mut self.0, pi2 => pi2.sent(side, len, queues));
    }

    fn next_update(&self) -> Instant {
        of_version!(&self.0, pi2 => pi2.next_update())
    }

    fn update(&mut self, at: Instant, queues: &DualSnapshot) {
        of_version!(&mut self.0, pi2 => pi2.update(at, queues));
    }

    fn skip_idle(&mut self, until: Instant) {
        of_version!(&mut self.0, pi2 => pi2.skip_idle(until));
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        of_version!(&self.0, pi2 => pi2.observe(see));
    }
}
