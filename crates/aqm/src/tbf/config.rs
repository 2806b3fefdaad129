//! Parameters of the token bucket filter, in tc's notation.

use crate::config;
use crate::error::ConfigError;
use crate::param_list;
use crate::params::{Bytes, Param, Value};
use crate::parent::{OnlyChild, ParentConfig, SingleParent};
use crate::psched::{Framing, LinkLayer, PschedRate, RATES, check_rate};
use crate::rate::Rate;
use crate::time::Duration;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Configuration of `tbf`.
pub type Config<H> = ParentConfig<Settings, OnlyChild<H>>;

config! {
    /// Rates and buckets.
    pub struct Settings {
        /// Shaped rate, 8 bit/s or more; zero does not shape.
        rate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Bucket size, also `buffer` and `maxburst`: the bytes that may leave at once after a pause. Larger packets
        /// are dropped.
        burst: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// Maximum bytes in the built-in queue, used without braces; either this or `latency`. Zero: the limit of the
        /// link.
        limit: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
        /// The same limit as a time: how long a packet may wait for tokens.
        latency: Duration = Duration::ZERO, in Value::Time(Duration::ZERO) => Value::Time(Duration::from_secs(1000));
        /// Rate at which the bucket itself is emptied; zero is unlimited.
        peakrate: Rate = Rate::from_bps(0), in RATES.0 => RATES.1;
        /// Bucket size of `peakrate`, also `minburst`.
        mtu: Bytes = Bytes(0), in Value::Bytes(0) => SIZE;
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

fn validate(c: &Settings) -> Result<(), ConfigError> {
    let zero = Rate::from_bps(0);
    if c.rate == zero {
        let without = [
            ("burst", c.burst.0 > 0),
            ("latency", c.latency > Duration::ZERO),
            ("peakrate", c.peakrate > zero),
            ("mtu", c.mtu.0 > 0),
        ];
        let needs = without.iter().find(|(_, given)| *given);
        return needs.map_or(Ok(()), |(name, _)| {
            Err(format!("tbf: {name} needs a rate; write e.g. rate 10mbit burst 5kB latency 50ms").into())
        });
    }
    for (name, rate) in [("rate", c.rate), ("peakrate", c.peakrate)] {
        check_rate(name, rate)?;
    }
    if c.burst.0 == 0 {
        return Err("tbf needs a burst with its rate; write e.g. rate 10mbit burst 5kB latency 50ms".into());
    }
    if c.limit.0 > 0 && c.latency > Duration::ZERO {
        return Err("tbf has both limit and latency, which set the same bound; leave one of them out".into());
    }
    match (c.peakrate > zero, c.mtu.0 > 0) {
        (true, false) => Err("tbf needs an mtu with its peakrate; write e.g. peakrate 20mbit mtu 1514B".into()),
        (false, true) => {
            Err("mtu is the bucket of peakrate; write e.g. peakrate 20mbit mtu 1514B, or leave it out".into())
        }
        (true, true) if c.peakrate.as_bps() / 8 <= c.rate.as_bps() / 8 => {
            let text = format!(
                "peakrate ({}) must be above rate ({}); write a higher one, or leave it out",
                c.peakrate, c.rate
            );
            Err(text.into())
        }
        _ => Ok(()),
    }
}

impl Settings {
    pub(super) fn framing(&self) -> Framing {
        Framing { overhead: self.overhead as u32, mpu: self.mpu as u32, layer: self.linklayer }
    }

    /// Limit in bytes of the queue without braces, if it is bounded (`tbf_parse_opt` of tc).
    pub(crate) fn limit_bytes(&self) -> Option<u64> {
        if self.latency == Duration::ZERO {
            return Some(self.limit.0).filter(|&limit| limit > 0);
        }
        let within = |rate: Rate, bucket: Bytes| {
            let micros = (self.latency.as_nanos() / 1000) as u128;
            let psched = PschedRate::new(rate, Framing::NONE);
            let bytes = psched.bytes_per_second as u128 * micros / 1_000_000 + bucket.0 as u128;
            bytes.min(u32::MAX as u128) as u64
        };
        let limit = within(self.rate, self.burst);
        let peaks = self.peakrate > Rate::from_bps(0);
        Some(if peaks { limit.min(within(self.peakrate, self.mtu)) } else { limit })
    }

    /// Refuses a bucket that is too small for a packet of `mtu` bytes.
    pub(crate) fn check_mtu(&self, mtu: u32) -> Result<(), ConfigError> {
        let Some(most) = self.max_size().filter(|&most| most < mtu) else { return Ok(()) };
        let name = if self.burst.0 == most as u64 { "burst" } else { "mtu" };
        let text = format!("{name} ({most} B) is below the largest packet of the link ({mtu} B), which tbf would drop");
        Err(format!("{text}; write at least {name} {mtu}B").into())
    }

    /// Maximum size of a packet that passes, if it is bounded.
    pub(super) fn max_size(&self) -> Option<u32> {
        let least = if self.mtu.0 > 0 { self.burst.0.min(self.mtu.0) } else { self.burst.0 };
        (self.rate > Rate::from_bps(0)).then_some(least as u32)
    }
}

impl SingleParent for Settings {
    const NAME: &'static str = "tbf";
    const EXAMPLE: &'static str = "tbf rate 10mbit burst 5kB { fq_codel }";

    fn check_child(&self, has_child: bool) -> Result<(), ConfigError> {
        let bounded = self.limit.0 > 0 || self.latency > Duration::ZERO;
        if self.rate > Rate::from_bps(0) && !bounded && !has_child {
            return Err(
                "tbf needs limit or latency, or a child discipline in braces; write e.g. latency 50ms, or { fq_codel }"
                    .into(),
            );
        }
        Ok(())
    }
}

/// Parses tc's alternative parameter names.
pub(super) fn words(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    _: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    let name = match word {
        "buffer" | "maxburst" => "burst",
        "minburst" => "mtu",
        _ => return Ok(false),
    };
    words.next();
    let value = words.next().ok_or_else(|| param_list::missing_value("tbf", word))?;
    param_list::add(given, "tbf", name, value.into()).map(|()| true)
}
