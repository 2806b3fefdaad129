//! RED, Random Early Detection: drops arrivals with a probability that grows with a slow average of the backlog (S.
//! Floyd, V. Jacobson, IEEE/ACM ToN 1(4), 1993), and Adaptive RED, which adapts the maximum probability so that the
//! average stays halfway between the thresholds (S. Floyd, R. Gummadi, S. Shenker, 2001; W. Feng et al., 1999).
//!
//! Two implementations serve as reference: ns-2's `red.cc` (by an author of the papers) in floating point, and Linux's
//! `red.h` and `sch_red.c` with tc's parameters in fixed point.
//!
//! # When to use
//!
//! For results published with it, and on links of a fixed and known rate with many flows, where thresholds in bytes can
//! be set to a delay. If the weight is too small or the thresholds do not fit the rate, it either does nothing or
//! empties the link; without manual tuning, use [Adaptive RED](crate::ared), CoDel or PIE.

mod config;
pub mod linux;
mod ns2;
pub mod tc;
#[cfg(test)]
mod tests;

pub use config::{AdaptiveMode, Arithmetic, Config, GentleSlope};

use crate::aqm::{Aqm, Cx, ExcessPolicy, Fifo, Lifecycle, PoppedPacket, Timer, Verdict, predecessor};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::rate::Rate;
use crate::time::Instant;
use core::any::Any;
use linux::LinuxRed;
use ns2::Ns2Red;

/// State of a queue under RED.
#[derive(Clone, Debug)]
pub struct Red {
    config: Config,
    engine: Engine,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one per queue, mostly Linux's idle table
enum Engine {
    Ns2(Ns2Red),
    Linux(LinuxRed),
}

impl Red {
    /// State of an idle queue; thresholds and weight are computed when it is attached to a link.
    pub fn new(config: &Config) -> Self {
        Self { engine: Engine::new(config, &Limits::default(), UNATTACHED), config: config.clone() }
    }
}

impl Engine {
    fn new(config: &Config, limits: &Limits, link: Link) -> Self {
        match config.arithmetic {
            Arithmetic::Ns2 => Self::Ns2(Ns2Red::new(config, link)),
            Arithmetic::Linux => Self::Linux(LinuxRed::new(config, limits, link)),
        }
    }
}

impl Aqm for Red {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.engine = Engine::new(&self.config, limits, link);
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, _: &mut dyn Fifo) -> Verdict {
        let backlog = cx.backlog;
        match &mut self.engine {
            Engine::Ns2(red) => red.arrive(cx, meta, backlog),
            Engine::Linux(red) => red.arrive(cx, meta, backlog),
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        let popped = queue.pop();
        if popped.is_none() {
            match &mut self.engine {
                Engine::Ns2(red) => red.fall_idle(cx.now),
                Engine::Linux(red) => red.fall_idle(cx.now),
            }
        }
        popped
    }

    #[inline(always)]
    fn timer(&mut self) -> Option<&mut dyn Timer> {
        Some(self)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        match &self.engine {
            Engine::Ns2(red) => red.observe(see),
            Engine::Linux(red) => red.observe(see),
        }
    }
}

impl Timer for Red {
    fn next_update(&mut self) -> Option<Instant> {
        match &self.engine {
            Engine::Ns2(_) => None,
            Engine::Linux(red) => red.next_update(),
        }
    }

    fn update(&mut self, at: Instant, _: &mut Cx) {
        if let Engine::Linux(red) = &mut self.engine {
            red.update(at);
        }
    }
}

impl Lifecycle for Red {
    /// Both implementations check the limit last, so a packet that does not fit counts as an arrival too.
    fn judges_overflow(&mut self) -> bool {
        true
    }

    fn overflowed(&mut self, _: &mut Cx, _: &Meta) {
        if let Engine::Ns2(red) = &mut self.engine {
            red.forced_drop();
        }
    }

    fn inherit(&mut self, old: &dyn Any, now: Instant) -> Result<ExcessPolicy, ConfigError> {
        let old: &Self = predecessor(old)?;
        match (&mut self.engine, &old.engine) {
            (Engine::Ns2(red), Engine::Ns2(old)) => {
                red.inherit(old);
                Ok(ExcessPolicy::Keep)
            }
            (Engine::Linux(red), Engine::Linux(_)) => {
                red.restart(now);
                Ok(ExcessPolicy::DropAll)
            }
            _ => Err(ConfigError::ImmutableParam("arithmetic")),
        }
    }
}

/// Link until the queue is attached to its own.
const UNATTACHED: Link = Link::new(Rate::from_bps(10_000_000), 1500);
