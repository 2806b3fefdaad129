//! Parameters and versions of COBALT.

use super::law::KernelRelease;
use super::rate::{MIN_RATE, bytes_per_second};
use crate::error::ConfigError;
use crate::params::{self, Value};
use crate::rate::Rate;
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

config! {
    /// COBALT's configuration; the default is Linux 6.12.
    pub struct Config {
        /// Acceptable standing queue delay: packets with a lower sojourn time are never dropped or marked.
        target: Duration = Duration::from_millis(5), in MICROSECOND => Value::Time(Duration::from_secs(50));
        /// Interval of the control law, divided by the square root of the count: a worst-case round-trip time.
        interval: Duration = Duration::from_millis(100), in MICROSECOND => Value::Time(Duration::from_secs(1000));
        /// Rate behind the queue, 512 bit/s or more: target is at least 1.5 packet times at it, interval at least twice
        /// the target, and delays up to 4 packet times are never acted upon. Zero: target and interval as given.
        bandwidth: Rate = Rate::from_bps(0), in Value::Rate(Rate::from_bps(0)) => Value::Rate(Rate::from_bps(1_000_000_000_000));
        /// Marks ECN-capable packets that CoDel's law would drop; BLUE still drops.
        ecn: bool = true, in Value::Flag(false) => Value::Flag(true);
        /// Sojourn time above which BLUE's probability rises as at an overflow; the default, an hour, is never reached
        /// (ns3).
        blue_threshold: Duration = HOUR, in Value::Time(Duration::ZERO) => Value::Time(HOUR);
        /// Sojourn time above which every ECN-capable packet is marked; the default, an hour, is never reached (ns3).
        ce_threshold: Duration = HOUR, in Value::Time(Duration::ZERO) => Value::Time(HOUR);
        /// Applies ce_threshold to ECT(1) and CE packets only, and exempts them from everything else (ns3).
        l4s: bool = false, in Value::Flag(false) => Value::Flag(true);
        /// Version of the algorithm; each has its profile and refuses parameters that it lacks.
        version: Version = Version::Linux, in WORD => WORD, choices Version::WORDS;
    }
    profiles {
        "linux", "Linux 6.12, as in its CAKE" => |_| {};
        "linux-6.1", "Linux 6.1: three of the first square roots are less exact" => |c| c.version = Version::Linux61;
        "linux-7.3", "Linux 7.3: BLUE draws no random number for packets that CoDel's law drops" => |c| c.version = Version::Linux73;
        "ns3", "ns-3: a grace interval, drops arrivals at the limit and also the last packet, no marks unless enabled" => |c| {
            c.version = Version::Ns3;
            c.ecn = false;
            c.blue_threshold = Duration::from_millis(400);
        };
    }
    validate validate
}

choice! {
    /// Implementation to follow.
    pub enum Version {
        /// Linux 6.12.
        Linux = "linux",
        /// Linux 6.1.
        Linux61 = "linux-6.1",
        /// Linux 7.3.
        Linux73 = "linux-7.3",
        /// ns-3's port.
        Ns3 = "ns3",
    }
}

impl Version {
    /// Kernel release whose CoDel and BLUE arithmetic applies.
    pub(super) fn release(self) -> KernelRelease {
        match self {
            Self::Linux61 => KernelRelease::Linux61,
            Self::Linux | Self::Ns3 => KernelRelease::Linux612,
            Self::Linux73 => KernelRelease::Linux73,
        }
    }
}

fn validate(c: &Config) -> Result<(), ConfigError> {
    if c.target >= c.interval {
        return Err(format!(
            "target ({}) must be below interval ({}); write e.g. target 5ms interval 100ms",
            c.target, c.interval
        )
        .into());
    }
    refuse_slow(c.bandwidth)?;
    let word = match params::Parameter::to_value(c.version) {
        Value::Choice(word) => word,
        other => unreachable!("a version is a word, not {other:?}"),
    };
    let of_ns3 = |name: &str| matches!(name, "blue_threshold" | "ce_threshold" | "l4s");
    let ns3 = c.version == Version::Ns3;
    params::refuse_unsupported(c, "COBALT", word, |name| if ns3 { name != "bandwidth" } else { !of_ns3(name) })
}

/// Refuses a non-zero rate below the minimum of the kernel's arithmetic.
pub(crate) fn refuse_slow(bandwidth: Rate) -> Result<(), ConfigError> {
    if bandwidth.as_bps() > 0 && bytes_per_second(bandwidth) < MIN_RATE {
        return Err(format!(
            "bandwidth ({bandwidth}) is below 512 bit/s (64 B/s), the minimum that Linux shapes to; write e.g. bandwidth 1mbit"
        )
        .into());
    }
    Ok(())
}

const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
const HOUR: Duration = Duration::from_secs(3600);
/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");
