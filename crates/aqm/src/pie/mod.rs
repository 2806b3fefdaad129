//! PIE, Proportional Integral controller Enhanced: drops arrivals with a probability `p` that a controller derives from
//! the queueing delay (R. Pan et al., HPSR 2013; draft-ietf-aqm-pie-00; RFC 8033; RFC 8034; Linux).
//!
//! One file per version; the versions in floating point share the controller.
//!
//! # When to use
//!
//! If drops must happen on arrival and random drops are acceptable: hardware, cable modems (`docsis`), and links with
//! so many flows that CoDel's delay grows. The rate of the link must change slowly compared with `tupdate`. `linux`
//! matches Linux; `draft00` and `cisco2013` are for results published before the RFC, `cisco2013-ticks` for the effects
//! of the 2013 module's integer arithmetic at low rates.

mod cisco2013;
mod cisco2013_ticks;
mod config;
mod controller;
mod docsis;
mod linux;
mod rfc8033;

pub use config::{Activation, Config, Decay, Scaling, Version};
pub use controller::updated_probability;

use crate::aqm::{
    Aqm, Cx, ExcessPolicy, Fifo, Lifecycle, PoppedPacket, Timer, Verdict, emptied, next_update, overflowed, predecessor,
};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::time::Instant;
use cisco2013::Cisco2013;
use cisco2013_ticks::Cisco2013Ticks;
use core::any::Any;
use docsis::Docsis;
use linux::Linux;
use rfc8033::Rfc8033;

/// State of a queue under PIE.
#[derive(Clone, Debug)]
pub struct Pie(Engine);

#[derive(Clone, Debug)]
enum Engine {
    Rfc8033(Rfc8033),
    Cisco2013(Cisco2013),
    Cisco2013Ticks(Cisco2013Ticks),
    Docsis(Docsis),
    Linux(Linux),
}

impl Pie {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self(match config.version {
            Version::Rfc8033 => Engine::Rfc8033(Rfc8033::new(config)),
            Version::Cisco2013 => Engine::Cisco2013(Cisco2013::new(config)),
            Version::Cisco2013Ticks => Engine::Cisco2013Ticks(Cisco2013Ticks::new(config)),
            Version::Docsis => Engine::Docsis(Docsis::new(config)),
            Version::Linux => Engine::Linux(Linux::new(config)),
        })
    }
}

/// Forwards a call to the version's engine.
macro_rules! of_version {
    ($pie:expr, $version:ident => $call:expr) => {
        match $pie {
            Engine::Rfc8033($version) => $call,
            Engine::Cisco2013($version) => $call,
            Engine::Cisco2013Ticks($version) => $call,
            Engine::Docsis($version) => $call,
            Engine::Linux($version) => $call,
        }
    };
}

impl Aqm for Pie {
    fn attach(&mut self, limits: &Limits, link: Link) {
        of_version!(&mut self.0, pie => pie.attach(limits, link));
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        of_version!(&mut self.0, pie => pie.enqueue(cx, meta, queue))
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        of_version!(&mut self.0, pie => pie.dequeue(cx, queue))
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
        of_version!(&self.0, pie => pie.observe(see));
    }
}

impl Timer for Pie {
    #[inline(always)]
    fn next_update(&mut self) -> Option<Instant> {
        of_version!(&mut self.0, pie => next_update(pie))
    }

    fn update(&mut self, at: Instant, cx: &mut Cx) {
        of_version!(&mut self.0, pie => pie.update(at, cx));
    }

    fn skip_idle(&mut self, until: Instant) {
        of_version!(&mut self.0, pie => pie.skip_idle(until));
    }
}

impl Lifecycle for Pie {
    fn overflowed(&mut self, cx: &mut Cx, meta: &Meta) {
        of_version!(&mut self.0, pie => overflowed(pie, cx, meta));
    }

    #[inline(always)]
    fn emptied(&mut self, cx: &mut Cx) {
        of_version!(&mut self.0, pie => emptied(pie, cx));
    }

    /// `pie_change` of sch_pie.c leaves the variables and the timer unchanged; so do the other versions.
    fn inherit(&mut self, old: &dyn Any, _: Instant) -> Result<ExcessPolicy, ConfigError> {
        let old: &Self = predecessor(old)?;
        match (&mut self.0, &old.0) {
            (Engine::Rfc8033(pie), Engine::Rfc8033(old)) => pie.inherit(old),
            (Engine::Cisco2013(pie), Engine::Cisco2013(old)) => pie.inherit(old),
            (Engine::Cisco2013Ticks(pie), Engine::Cisco2013Ticks(old)) => pie.inherit(old),
            (Engine::Docsis(pie), Engine::Docsis(old)) => pie.inherit(old),
            (Engine::Linux(pie), Engine::Linux(old)) => pie.inherit(old),
            _ => return Err(ConfigError::ImmutableParam("version")),
        }
        Ok(ExcessPolicy::DropOldest)
    }
}
