//! COBALT, CoDel and BLUE alternating: the queue manager inside [CAKE](crate::cake) (J. Palmei et al., LANMAN 2019;
//! Linux, `sch_cake.c`). CoDel's law acts on responsive traffic; BLUE's probability grows with every overflow and drops
//! unresponsive traffic.
//!
//! It differs from [CoDel](crate::codel) in its memory: `count` decays on the schedule of its growth, and a new phase
//! continues from the remaining count. As in Linux, the first congestion of a queue has no grace interval: the second
//! packet over target is dropped.
//!
//! Differs: in Linux it exists only as part of CAKE. Here too, a queue that overflows loses its oldest packets.
//!
//! # When to use
//!
//! Instead of CoDel if unresponsive traffic can fill the queue: BLUE takes up to a minute to find the share of packets
//! to drop. If the link is slow, set `bandwidth`, which raises `target` to 1.5 packet times. For a home router use
//! [CAKE](crate::cake) as a whole. `ns3` is for results of that simulator: it grants the first congestion an interval,
//! ignores packet times, drops arrivals at the limit, and marks only on request.

mod config;
pub(crate) mod law;
pub(crate) mod rate;
#[cfg(test)]
mod tests;

pub(crate) use config::refuse_slow;
pub use config::{Config, Version};

use crate::aqm::{Aqm, Cx, DropReason, ExcessPolicy, Fifo, Lifecycle, PoppedPacket, Verdict, predecessor};
use crate::drophead::make_room;
use crate::error::ConfigError;
use crate::limits::{Bounds, Limits};
use crate::link::Link;
use crate::packet::Meta;
use crate::time::{Duration, Instant};
use core::any::Any;
use law::{HeadPacket, Params, State};
use rate::ScaledRate;

/// State of a queue under COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt {
    state: State,
    params: Params,
    config: Config,
    bounds: Bounds,
}

impl Cobalt {
    /// State of an idle queue.
    pub fn new(config: &Config) -> Self {
        let state = if config.version == Version::Ns3 { State::graceful() } else { State::default() };
        let params = params(config, config.target, config.interval);
        Self { state, params, config: config.clone(), bounds: Bounds::default() }
    }

    /// Whether the packet is only marked with CE beyond the threshold, and exempt from everything else (ns-3's L4S
    /// mode).
    fn marks_l4s(&self, head: &Meta, sojourn: Duration) -> bool {
        self.config.l4s && head.ecn.is_l4s() && sojourn > self.config.ce_threshold
    }
}

/// Parameters of a queue without a rate.
fn params(config: &Config, target: Duration, interval: Duration) -> Params {
    let release = config.version.release();
    Params { blue_threshold: config.blue_threshold.as_nanos(), ..Params::new(target, interval, release) }
}

impl Cobalt {
    /// Drops and marks from the head on, then dequeues.
    #[inline(never)]
    fn judge(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        loop {
            let Some(head) = queue.meta(0) else {
                self.state.queue_empty(&self.params, cx.now);
                return None;
            };
            let sojourn = cx.now - head.enqueued;
            if self.marks_l4s(&head, sojourn) {
                queue.mark(0, DropReason::Late);
                return queue.pop();
            }
            let markable = self.config.ecn && head.ecn.is_ect();
            let taken = HeadPacket { now: cx.now, enqueued: head.enqueued, bulk: 0, markable };
            let decision = self.state.should_drop(&self.params, taken, cx.rng);
            // The last packet of a queue is spared, except in ns-3.
            if decision.drop && (queue.len() > 1 || self.config.version == Version::Ns3) {
                queue.drop(0, DropReason::Late);
                continue;
            }
            if decision.mark || markable && !self.config.l4s && sojourn > self.config.ce_threshold {
                queue.mark(0, DropReason::Late);
            }
            return queue.pop();
        }
    }
}

impl Aqm for Cobalt {
    fn attach(&mut self, limits: &Limits, link: Link) {
        self.bounds = limits.on(link);
        if self.config.version != Version::Ns3 {
            self.state = State::cleared(link.boot());
        }
        let rate = rate::bytes_per_second(self.config.bandwidth);
        let scaled = ScaledRate::new(rate, link.mtu, self.config.target, self.config.interval);
        self.params = Params { mtu_time: scaled.mtu_time, ..params(&self.config, scaled.target, scaled.interval) };
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &mut Cx, meta: &Meta, queue: &mut dyn Fifo) -> Verdict {
        if !self.bounds.admit(queue.total_backlog(), meta.len) {
            // If there are other queues, their host makes room.
            let alone = cx.total_backlog == cx.backlog;
            if self.judges_overflow() && alone && make_room(self.bounds, meta.len, queue) {
                self.state.queue_full(&self.params, cx.now);
            }
        }
        Verdict::Accept
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &mut Cx, queue: &mut dyn Fifo) -> Option<PoppedPacket> {
        if let Some(head) = queue.meta(0) {
            let is_below = cx.now - head.enqueued <= self.config.ce_threshold;
            if is_below && self.state.is_below_target(&self.params, cx.now, head.enqueued) {
                return queue.pop();
            }
        }
        self.judge(cx, queue)
    }

    #[inline(always)]
    fn lifecycle(&mut self) -> Option<&mut dyn Lifecycle> {
        Some(self)
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        self.state.observe(see);
    }
}

impl Lifecycle for Cobalt {
    fn judges_overflow(&mut self) -> bool {
        self.config.version != Version::Ns3
    }

    fn overflowed(&mut self, cx: &mut Cx, _: &Meta) {
        self.state.queue_full(&self.params, cx.now);
    }

    fn shed(&mut self, cx: &mut Cx, _: u32) {
        self.state.queue_full(&self.params, cx.now);
    }

    /// `cake_change` of sch_cake.c leaves the `cobalt_vars` of all queues unchanged and drops nothing.
    fn inherit(&mut self, old: &dyn Any, _: Instant) -> Result<ExcessPolicy, ConfigError> {
        let old: &Self = predecessor(old)?;
        if self.config.version != old.config.version {
            return Err(ConfigError::ImmutableParam("version"));
        }
        self.state = old.state;
        Ok(ExcessPolicy::Keep)
    }
}
