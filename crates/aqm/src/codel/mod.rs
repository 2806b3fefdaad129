//! CoDel, Controlled Delay: drops at the head once the sojourn time has stayed above `target` for an `interval`, and
//! faster the longer it stays there (K. Nichols, V. Jacobson, ACM Queue 10(5), 2012; RFC 8289).
//!
//! RFC 8289, Linux and mahimahi have a file each. The historic variants share one, because they differ in a few rules
//! only.
//!
//! # When to use
//!
//! On a link with a variable or unknown rate, with few flows, and if one setting must fit all: `target` 5 to 10 % of
//! `interval`, `interval` about the longest usual RTT. With many flows on a slow link (less than about one packet per
//! flow and target) the delay stays above the target, and grows with the number of flows; use [flow
//! queueing](crate::fq_codel) over it, or [PIE](crate::pie). Below about 3 Mbit/s, when one packet takes longer than
//! the target, raise `target` to one or two packet times. Unresponsive load fills the queue to its limit.
//!
//! Profiles are for reproducing: `rfc8289` for new work, `linux` to match Linux to the nanosecond, the others for
//! results published with them. `hardlimit` bounds the maximum sojourn time on links that lose most of their rate at
//! once, at the price of losses.

mod config;
mod historic;
mod linux;
mod mahimahi;
mod rfc8289;
pub(crate) mod selector;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use config::{Config, HardLimit, MaxPacket, SmallBacklog, Version, Window};

use crate::aqm::{Aqm, Cx, DropReason, ExcessPolicy, FastDequeue, Fifo, Lifecycle, PoppedPacket, predecessor};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::reservation::{Reservation, ReservationError};
use crate::time::{Duration, Instant};
use alloc::boxed::Box;
use core::any::Any;
use historic::HistoricCodel;
use linux::Linux;
use mahimahi::Mahimahi;
use rfc8289::Rfc8289;

/// State of a queue under CoDel.
#[derive(Clone, Debug)]
pub struct Codel(Engine);

// `repr(u8)`: a separate tag is cheaper to read than one that the compiler hides in a flag of a variant.
#[derive(Clone, Debug)]
#[repr(u8)]
enum Engine {
    Rfc8289(Rfc8289),
    Linux(Linux),
    Mahimahi(Mahimahi),
    /// Boxed, because with the tag it would exceed a cache line.
    Historic(Box<HistoricCodel>),
}

impl Codel {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        Self(match config.version.engine() {
            config::Engine::Rfc8289 => Engine::Rfc8289(Rfc8289::new(config)),
            config::Engine::Linux => Engine::Linux(Linux::new(config)),
            config::Engine::Mahimahi => Engine::Mahimahi(Mahimahi::new(config)),
            config::Engine::Historic(variant) => Engine::Historic(Box::new(HistoricCodel::new(config, variant))),
        })
    }
}

impl Codel {
    /// Sets the target of RFC 8289's CoDel and keeps its state; the other versions ignore it.
    pub(crate) fn set_target(&mut self, target: Duration) {
        if let Engine::Rfc8289(codel) = &mut self.0 {
            codel.set_target(target);
        }
    }
}

/// Forwards a call to the version's engine.
macro_rules! of_version {
    ($codel:expr, $version:ident => $call:expr) => {
        match $codel {
            Engine::Rfc8289($version) => $call,
            Engine::Linux($version) => $call,
            Engine::Mahimahi($version) => $call,
            Engine::Historic($version) => $call,
        }
    };
}

impl Codel {
    /// Judgement of the older versions, out of line to keep the fast path small.
    #[inline(never)]
    fn judge_as_before(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) {
        match &mut self.0 {
            Engine::Historic(codel) => codel.judge(cx, queue),
            Engine::Mahimahi(codel) => codel.judge(cx, queue),
            Engine::Rfc8289(_) | Engine::Linux(_) => {}
        }
    }
}

impl Aqm for Codel {
    fn attach(&mut self, _: &Limits, link: Link) {
        if let Engine::Linux(codel) = &mut self.0 {
            codel.attach(link);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        // Comparisons, because a jump through a table costs more instructions.
        if let Engine::Rfc8289(codel) = &mut self.0 {
            codel.judge(cx, queue);
        } else if let Engine::Linux(codel) = &mut self.0 {
            codel.judge(cx, queue);
        } else {
            self.judge_as_before(cx, queue);
        }
        queue.pop()
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    #[inline(always)]
    fn fast_dequeue(&mut self) -> Option<&mut dyn FastDequeue> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        of_version!(&self.0, codel => codel.observe(see));
    }
}

impl Lifecycle for Codel {
    fn shed(&mut self, cx: &mut Cx, n: u32) {
        of_version!(&mut self.0, codel => codel.shed(cx, n));
    }

    /// `codel_change` of sch_codel.c leaves `codel_vars` and `codel_stats` as they are.
    fn reserve(&mut self, _: usize, memory: &mut Reservation) -> Result<(), ReservationError> {
        match &self.0 {
            Engine::Historic(_) => memory.account::<HistoricCodel>(1),
            _ => Ok(()),
        }
    }

    fn inherit(&mut self, old: &dyn Any, _: Instant) -> Result<ExcessPolicy, ConfigError> {
        let old: &Self = predecessor(old)?;
        match (&mut self.0, &old.0) {
            (Engine::Rfc8289(codel), Engine::Rfc8289(old)) => codel.inherit(old),
            (Engine::Linux(codel), Engine::Linux(old)) => codel.inherit(old),
            (Engine::Mahimahi(codel), Engine::Mahimahi(old)) => codel.inherit(old),
            (Engine::Historic(codel), Engine::Historic(old)) => codel.inherit(old),
            _ => return Err(ConfigError::ImmutableParam("version")),
        }
        Ok(ExcessPolicy::DropOldest)
    }

    #[inline]
    fn unscheduled(&mut self) {
        if let Engine::Rfc8289(codel) = &mut self.0 {
            return codel.unscheduled();
        }
        of_version!(&mut self.0, codel => codel.unscheduled());
    }
}

impl FastDequeue for Codel {
    #[inline(always)]
    fn try_release(&mut self, now: Instant, head: &Meta, behind: u64, mtu: u32) -> bool {
        if let Engine::Rfc8289(codel) = &mut self.0 {
            codel.try_release(now, head, behind, mtu)
        } else if let Engine::Linux(codel) = &mut self.0 {
            codel.try_release(now, head)
        } else {
            false
        }
    }
}

/// State variables that a version exports; times in seconds.
struct StateVariables {
    count: u32,
    lastcount: u32,
    dropping: bool,
    drop_next: f64,
    first_above_time: f64,
}

impl StateVariables {
    fn show(&self, see: &mut dyn FnMut(&'static str, f64)) {
        see("count", self.count as f64);
        see("lastcount", self.lastcount as f64);
        see("dropping", self.dropping as u8 as f64);
        see("drop_next", self.drop_next);
        see("first_above_time", self.first_above_time);
    }
}

/// `count` plus `n`, saturated at [`MAX_COUNT`].
fn counted(count: u32, n: u32) -> u32 {
    count.saturating_add(n).min(MAX_COUNT)
}

/// Signals congestion with the head. Returns whether the head was marked: a marked packet stays and is delivered, so it
/// is the last one of the call.
fn mark_or_drop(queue: &mut dyn Fifo, ecn: bool) -> bool {
    if ecn {
        return queue.mark(0, DropReason::Late);
    }
    queue.drop(0, DropReason::Late);
    false
}

/// Marks the head if it is ECN-capable and `admits` accepts it, because it has waited longer than `ce_threshold`.
#[cold]
fn mark_beyond_threshold(queue: &mut dyn Fifo, admits: impl FnOnce(&Meta) -> bool) {
    if queue.meta(0).is_some_and(|head| head.ecn.is_ect() && admits(&head)) {
        queue.mark(0, DropReason::Late);
    }
}

/// `count` saturates here.
const MAX_COUNT: u32 = i32::MAX as u32;
