//! Policer: a token bucket that drops the packets that exceed it and passes the others to another queue discipline
//! (Linux, `act_police.c` of 6.1 and 6.12, whose arithmetic this follows).
//!
//! Tokens are nanoseconds at the rate. A packet conforms if both buckets, that of `rate` and that of `peakrate`, hold
//! its transmission time, and takes it from them; any other packet is dropped and takes nothing. No packet waits, so
//! the policer adds no delay; braces name the queue discipline behind it, `police rate 10mbit burst 20kB { fq_codel }`.
//! Without braces it is tail drop within the limit of the link. With `pkts_rate` the bucket holds packets instead of
//! bytes. Drops have the reason `early` and are counted as `overlimits`. Packets larger than `mtu` are dropped as well.
//!
//! A super-packet conforms as a whole or is dropped as a whole, as in Linux: one larger than `burst` never passes. Only
//! `mtu` is compared with its segments (`tcf_police_mtu_check`). If the discipline in the braces splits super-packets,
//! the policer gets the segments.
//!
//! Differs: the size of a segment is the mean of the super-packet. `burst` in nanoseconds is rounded up to tc's ticks of
//! 64 ns, as by iproute2 since 6.15; earlier ones round down. `avrate` needs a rate estimator and is missing, as are the
//! actions of tc other than to drop what exceeds and to pass what conforms.
//!
//! # When to use
//!
//! To model a rate that a provider enforces by drops instead of a queue, or an ingress policer of a router. TCP gets
//! less than the rate unless `burst` is about a bandwidth-delay product; a shaper ([`tbf`](crate::tbf),
//! [`cake`](crate::cake)) delays instead.

use crate::aqm::DropReason;
use crate::backlog::Backlog;
use crate::config;
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::packet::Meta;
use crate::param_list;
use crate::params::{Bytes, Param, Value, WordsParser};
use crate::parent::buckets::TokenBuckets;
use crate::parent::leaf::{Accounting, Leaf};
use crate::parent::statistics::{of_class, of_parent};
use crate::parent::{ChildConfig, OnlyChild, ParentConfig, SingleParent};
use crate::psched::{Framing, LinkLayer, PschedRate, RATES, check_rate};
use crate::qdisc::{Arrival, DequeueResult, EnqueueResult, Host, Qdisc, Sink, Stats, SubqueueInfo};
use crate::rate::Rate;
use crate::reservation::{Reservation, ReservationError};
use crate::time::{Duration, Instant};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Configuration of `police`.
pub type Config<H> = ParentConfig<Settings, OnlyChild<H>>;

config! {
    /// Rates and buckets.
    pub struct Settings {
        /// Policed rate, 8 bit/s or more; zero does not police bytes.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Bucket size, also `buffer` and `maxburst`: the bytes that pass at once after a pause.
        burst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Rate at which the bucket itself is emptied; zero is unlimited.
        peakrate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Maximum packet size, also `minburst`, and bucket size of `peakrate`. Zero: 2040 B with a rate (tc's rate
        /// table), otherwise unlimited.
        mtu: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Policed rate in packets per second, instead of `rate`; zero does not police packets.
        pkts_rate: u64 = 0, in Value::Count(0) => Value::Count(MAX_PACKETS);
        /// Bucket size of `pkts_rate` in packets.
        pkts_burst: u64 = 0, in Value::Count(0) => Value::Count(MAX_PACKETS);
        /// Overhead of each packet on the wire in bytes.
        overhead: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Minimum size on the wire, overhead included.
        mpu: u64 = 0, in Value::Count(0) => Value::Count(65_535);
        /// Link layer, which determines the size on the wire of a packet with its overhead.
        linklayer: LinkLayer = LinkLayer::Ethernet, in Value::Choice("") => Value::Choice(""), choices LinkLayer::WORDS;
    }
    profiles { "linux", "Linux 6.1 and 6.12" => |_| {}; }
    validate validate
}

/// Maximum of Linux's 32 bits.
const SIZE: Value = Value::Bytes(u32::MAX as u64);
const MAX_PACKETS: u64 = 1_000_000_000;
/// Default of `mtu` with a rate: 255 cells of 8 bytes (`tcf_police_init`, `tc_calc_rtable`).
const DEFAULT_MTU: u32 = 2040;
/// `PSCHED_TICKS2NS(1)`.
const TICK_NS: u64 = 64;

fn validate(c: &Settings) -> Result<(), ConfigError> {
    let zero = Rate::from_bps(0);
    let needs = |missing: &str, example: &str| Err(format!("police: {missing}; write e.g. {example}").into());
    for (name, rate) in [("rate", c.rate), ("peakrate", c.peakrate)] {
        check_rate(name, rate)?;
    }
    if c.rate == zero && c.burst.0 > 0 {
        return needs("burst needs a rate", "rate 10mbit burst 20kB");
    }
    if c.rate == zero && c.peakrate > zero {
        return needs("peakrate needs a rate", "rate 10mbit burst 20kB peakrate 20mbit mtu 1514B");
    }
    if c.rate > zero && c.burst.0 == 0 {
        return needs("rate needs a burst", "rate 10mbit burst 20kB");
    }
    if c.peakrate > zero && c.mtu.0 == 0 {
        return needs("peakrate needs an mtu", "peakrate 20mbit mtu 1514B");
    }
    if (c.pkts_rate > 0) != (c.pkts_burst > 0) {
        return needs("pkts_rate and pkts_burst go together", "pkts_rate 1000 pkts_burst 100");
    }
    if c.rate > zero && c.pkts_rate > 0 {
        return Err("police has both rate and pkts_rate; leave one of them out".into());
    }
    for (name, bucket) in [("burst", c.bytes()), ("pkts_burst", c.packets())] {
        if bucket.is_some_and(|(_, size)| size as u64 >= TICK_NS * u32::MAX as u64) {
            return Err(format!("{name} is 274 s or more at its rate; write a smaller one").into());
        }
    }
    Ok(())
}

impl Settings {
    fn framing(&self) -> Framing {
        Framing { overhead: self.overhead as u32, mpu: self.mpu as u32, layer: self.linklayer }
    }

    /// Bucket of `rate`.
    fn bytes(&self) -> Option<(PschedRate, i64)> {
        (self.rate > Rate::from_bps(0)).then(|| {
            let rate = PschedRate::new(self.rate, self.framing());
            (rate, bucket_time(rate.bytes_per_second, self.burst.0))
        })
    }

    /// Bucket of `pkts_rate`, in which a packet is a byte.
    fn packets(&self) -> Option<(PschedRate, i64)> {
        (self.pkts_rate > 0).then(|| {
            let rate = PschedRate::new(Rate::from_bps(8 * self.pkts_rate), Framing::NONE);
            (rate, bucket_time(self.pkts_rate, self.pkts_burst))
        })
    }

    fn max_size(&self) -> u32 {
        match self.mtu.0 {
            0 if self.rate > Rate::from_bps(0) => DEFAULT_MTU,
            0 => u32::MAX,
            mtu => mtu as u32,
        }
    }

    /// Refuses settings that drop every packet of `mtu` bytes.
    pub(crate) fn check_mtu(&self, mtu: u32) -> Result<(), ConfigError> {
        let refuse = |name: &str, size: u64, least: u64| {
            let text = format!("{name} ({size} B) is below the largest packet of the link ({mtu} B)");
            Err(format!("{text}, which police would drop; write at least {name} {least}B").into())
        };
        if self.max_size() < mtu {
            return refuse("mtu", self.max_size() as u64, mtu as u64);
        }
        match self.bytes() {
            Some((rate, size)) if rate.time_for(mtu) > size => {
                refuse("burst", self.burst.0, self.framing().wire_bytes(mtu))
            }
            _ => Ok(()),
        }
    }
}

/// Transmission time of `count` at `per_second` in ns, rounded up to ticks (`tc_calc_xmittime`).
fn bucket_time(per_second: u64, count: u64) -> i64 {
    let ticks = (count as u128 * 1_000_000_000).div_ceil(per_second as u128 * TICK_NS as u128);
    (ticks * TICK_NS as u128).min(i64::MAX as u128) as i64
}

impl SingleParent for Settings {
    const NAME: &'static str = "police";
    const EXAMPLE: &'static str = "police rate 10mbit burst 20kB { fq_codel }";
}

/// Policer in front of a queue discipline.
pub struct Police<P> {
    bucket: Option<PolicedBucket>,
    /// Maximum packet size.
    mtu: u32,
    leaf: Leaf<P>,
    accounting: Accounting,
    /// Packets that did not conform.
    overlimits: u64,
}

#[derive(Clone, Debug)]
enum PolicedBucket {
    Bytes(TokenBuckets),
    Packets(TokenBuckets),
}

impl PolicedBucket {
    fn new(settings: &Settings) -> Option<Self> {
        let peak = (settings.peakrate > Rate::from_bps(0)).then(|| {
            let peak = PschedRate::new(settings.peakrate, settings.framing());
            (peak, peak.time_for(settings.max_size()))
        });
        let bytes = settings.bytes().map(|bucket| Self::Bytes(TokenBuckets::full(bucket, peak)));
        bytes.or_else(|| settings.packets().map(|bucket| Self::Packets(TokenBuckets::full(bucket, None))))
    }

    #[inline]
    fn conforms(&mut self, now: Instant, len: u32) -> bool {
        let taken = match self {
            Self::Bytes(tokens) => tokens.take(now, len),
            Self::Packets(tokens) => tokens.take(now, 1),
        };
        taken.is_ok()
    }

    fn tokens(&self) -> &TokenBuckets {
        let (Self::Bytes(tokens) | Self::Packets(tokens)) = self;
        tokens
    }
}

impl<P: Send + 'static> Police<P> {
    /// Empty queue with full buckets.
    pub fn new<H: ChildConfig>(config: &Config<H>, limits: Limits, host: Host) -> Self {
        let settings = &config.settings;
        let (bucket, mtu) = (PolicedBucket::new(settings), settings.max_size());
        let leaf = Leaf::new(config.children.0.as_deref(), limits, host);
        Self { bucket, mtu, leaf, accounting: Accounting::default(), overlimits: 0 }
    }
}

impl<P> Police<P> {
    fn conforms(&mut self, now: Instant, meta: &Meta) -> bool {
        // Rounded up, the mean of a super-packet with a short last segment is at most the size of the others.
        let segment = meta.len.div_ceil(u32::from(meta.segments.max(1)));
        segment <= self.mtu && self.bucket.as_mut().is_none_or(|bucket| bucket.conforms(now, meta.len))
    }
}

impl<P: 'static> Qdisc<P> for Police<P> {
    fn reserve(&mut self, memory: &mut Reservation) -> Result<(), ReservationError> {
        self.leaf.reserve(memory)
    }

    fn enqueue(&mut self, now: Instant, meta: Meta, packet: P, sink: &mut dyn Sink<P>) -> EnqueueResult {
        self.accounting.arrived(meta.len);
        let arrival = Arrival { meta, packet };
        if !self.conforms(now, &meta) {
            self.overlimits += 1;
            return self.accounting.drop_arrival(now, arrival, DropReason::Early, sink);
        }
        self.leaf.enqueue(now, arrival, &mut self.accounting, sink)
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> DequeueResult<P> {
        self.leaf.dequeue(now, &mut self.accounting, sink)
    }

    fn splits_gso(&self) -> bool {
        self.leaf.splits_gso()
    }

    fn needs_tcp_headers(&self) -> bool {
        self.leaf.needs_tcp_headers()
    }

    /// `tcf_police_init` fills the buckets.
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

    /// As for any parent; tc shows a policer with its filter.
    fn statistics(&self) -> Option<String> {
        let class = of_class("police", ":1", &self.leaf);
        Some(of_parent("police", "", &self.accounting, self.overlimits, &[class]))
    }

    fn observe(&self, see: &mut dyn FnMut(&'static str, f64)) {
        let seconds = |tokens: fn(&TokenBuckets) -> Duration| {
            self.bucket.as_ref().map_or(0.0, |bucket| tokens(bucket.tokens()).as_secs_f64())
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

impl<P> fmt::Debug for Police<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Police")
            .field("bucket", &self.bucket)
            .field("accounting", &self.accounting)
            .finish_non_exhaustive()
    }
}

/// Parses tc's alternative parameter names and its actions.
fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    let name = match word {
        "buffer" | "maxburst" => "burst",
        "minburst" => "mtu",
        "drop" | "shot" => {
            words.next();
            return Ok(true);
        }
        "conform-exceed" => {
            words.next();
            let action = words.next().ok_or_else(|| param_list::missing_value("police", word))?;
            return check_action(action).map(|()| true);
        }
        "ok" | "pass" | "pipe" | "continue" | "reclassify" => return check_action(word).map(|()| true),
        _ => return Ok(false),
    };
    words.next();
    let value = words.next().ok_or_else(|| param_list::missing_value("police", word))?;
    param_list::add(given, "police", name, value.into()).map(|()| true)
}

/// Accepts `EXCEED` or `EXCEED/CONFORM` if it drops the packets that exceed and passes those that conform.
fn check_action(text: &str) -> Result<(), ConfigError> {
    let (exceed, conform) = text.split_once('/').unwrap_or((text, "ok"));
    let drops = |action: &str| matches!(action, "drop" | "shot");
    if drops(exceed) && matches!(conform, "ok" | "pass" | "pipe" | "continue") {
        return Ok(());
    }
    Err(format!("police drops what exceeds it and passes the rest, which {text} does not; write drop").into())
}

pub(crate) const WORDS: Option<WordsParser> = Some(words);

#[cfg(test)]
mod tests;
