//! Token bucket filter: shapes to a rate, with bursts up to the size of the bucket; packets wait for tokens in another
//! queue discipline (Linux, `sch_tbf.c` of 6.1 and 6.12, whose arithmetic this follows).
//!
//! Tokens are nanoseconds at the rate. A packet leaves when both buckets, that of `rate` and that of `peakrate`, hold
//! its transmission time; until then the discipline returns the time of the next departure. Without braces the inner
//! queue uses tail drop with a limit of `limit` bytes, or of as many as `latency` allows, whatever the limit of the
//! link. Braces name the inner discipline, `tbf rate 10mbit burst 5kB { fq_codel }`, and `limit` has no effect, as in
//! Linux.
//!
//! Differs: all parameters have defaults, so that `tbf` alone does not shape; tc requires `rate`, `burst` and `limit`
//! or `latency`, as is done here if there is a `rate`. A packet peeked at is not in the backlog that the inner
//! discipline sees. Limits count it; if several queues have limits, these are smaller by the largest packet instead.
//!
//! # When to use
//!
//! To model a shaper as it is deployed: in front of a modem with [FQ-CoDel](crate::fq_codel) in its braces, or as the
//! bottleneck of a testbed with a `limit`. If packets are dropped instead of delayed, use [police](crate::police); if
//! classes share a rate, [HTB](crate::htb). For a link that is itself slow and bursty, `link.bucket` of a scenario is
//! below its queue, not above.

mod config;
#[cfg(test)]
mod tests;

pub use crate::psched::LinkLayer;
pub use config::{Config, Settings};

use crate::backlog::Backlog;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::link::Link;
use crate::packet::Meta;
use crate::params::{Bytes, WordsParser};
use crate::parent::ChildConfig;
use crate::parent::buckets::TokenBuckets;
use crate::parent::leaf::{Accounting, Leaf, PeekResult};
use crate::parent::statistics::{of_class, of_parent};
use crate::psched::PschedRate;
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::rate::Rate;
use crate::reservation::{Reservation, ReservationError};
use crate::time::{Duration, Instant};
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

/// TBF queue discipline.
pub struct Tbf<P> {
    bucket: Option<BoundedBuckets>,
    leaf: Leaf<P>,
    accounting: Accounting,
    /// Dequeues that found a packet but no tokens.
    overlimits: u64,
}

/// Buckets, and the largest packet that they hold.
#[derive(Clone, Debug)]
struct BoundedBuckets {
    tokens: TokenBuckets,
    max_size: u32,
}

impl BoundedBuckets {
    fn new(settings: &Settings) -> Option<Self> {
        let max_size = settings.max_size()?;
        let bucket = |rate, size: Bytes| {
            let rate = PschedRate::new(rate, settings.framing());
            (rate, rate.time_for(size.0 as u32))
        };
        let peak = (settings.mtu.0 > 0).then(|| bucket(settings.peakrate, settings.mtu));
        Some(Self { tokens: TokenBuckets::full(bucket(settings.rate, settings.burst), peak), max_size })
    }
}

impl<P: Send + 'static> Tbf<P> {
    /// Empty queue with full buckets.
    pub fn new<H: ChildConfig>(config: &Config<H>, limits: Limits, host: Host) -> Self {
        let settings = &config.settings;
        let bucket = BoundedBuckets::new(settings);
        // The inner discipline sees the shaped rate as its link's rate.
        let rate = if settings.rate > Rate::from_bps(0) { settings.rate.min(host.link.rate) } else { host.link.rate };
        let host = Host { link: Link { rate, ..host.link }, ..host };
        let child = config.children.0.as_deref();
        let limits = match settings.limit_bytes().filter(|_| child.is_none()) {
            Some(most) => Limits::bytes(most),
            None => limits,
        };
        Self { bucket, leaf: Leaf::with_peek(child, limits, host), accounting: Accounting::default(), overlimits: 0 }
    }
}

impl<P: 'static> Qdisc<P> for Tbf<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.leaf.reserve(memory)
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accounting.arrived(meta.len);
        if self.bucket.as_ref().is_some_and(|bucket| meta.len > bucket.max_size) {
            return self.accounting.refuse(now, Arrival { meta, packet }, sink);
        }
        self.leaf.enqueue(now, Arrival { meta, packet }, &mut self.accounting, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        if let Some(bucket) = &mut self.bucket {
            match self.leaf.peek(now, &mut self.accounting, sink) {
                PeekResult::Bytes(len) => {
                    if let Err(wait) = bucket.tokens.take(now, len) {
                        self.overlimits += 1;
                        return DequeueResult::NotBefore(now + wait);
                    }
                }
                PeekResult::Empty => return DequeueResult::Empty,
                PeekResult::NotBefore(at) => return DequeueResult::NotBefore(at),
            }
        }
        self.leaf.dequeue(now, &mut self.accounting, sink)
    }

    /// Linux splits only super-packets that exceed a bucket (`tbf_segment`).
    fn splits_gso(&self) -> bool {
        true
    }

    fn needs_tcp_headers(&self) -> bool {
        self.leaf.needs_tcp_headers()
    }

    /// `tbf_change` fills both buckets and sets the limit of its queue without drops.
    fn inherit(&mut self, old: &mut dyn Any, now: Instant, sink: &mut dyn Sink<P>) -> Result<(), ConfigError> {
        let old: &mut Self = old.downcast_mut().ok_or(ConfigError::Immutable)?;
        self.leaf.inherit(&mut old.leaf, now, &mut old.accounting, sink)?;
        core::mem::swap(&mut self.accounting, &mut old.accounting);
        self.overlimits = old.overlimits;
        Ok(())
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        Some(self)
    }

    fn drop_delayed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        self.leaf.drop_delayed(now, &mut self.accounting, sink);
    }

    fn settle(&mut self, now: Instant) {
        self.leaf.settle(now);
    }

    fn backlog(&self) -> Backlog {
        self.accounting.total
    }

    fn stats(&self) -> &Stats {
        &self.accounting.stats
    }

    fn statistics(&self) -> Option<String> {
        // The handle is assigned by the host.
        let class = of_class("tbf", ":1", &self.leaf);
        Some(of_parent("tbf", "", &self.accounting, self.overlimits, &[class]))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |tokens: fn(&TokenBuckets) -> Duration| {
            self.bucket.as_ref().map_or(0.0, |bucket| tokens(&bucket.tokens).as_secs_f64())
        };
        see("tokens", seconds(TokenBuckets::tokens));
        see("ptokens", seconds(TokenBuckets::ptokens));
        see("overlimits", self.overlimits as f64);
        self.leaf.observe(see);
    }

    fn queues(&self) -> Vec<String> {
        self.leaf.qdisc().queues()
    }

    fn queue_of(&self, meta: &Meta) -> usize {
        self.leaf.qdisc().queue_of(meta)
    }

    fn subqueues(&self, see: &mut dyn FnMut(SubqueueInfo<'_>)) {
        self.leaf.qdisc().subqueues(see);
    }
}

impl<P> fmt::Debug for Tbf<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tbf").field("bucket", &self.bucket).field("books", &self.accounting).finish_non_exhaustive()
    }
}

pub(crate) const WORDS: Option<WordsParser> = Some(config::words);
