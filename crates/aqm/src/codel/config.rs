//! Parameters and versions of CoDel, one line per version.

use super::historic::{self, ReentryRule};
use super::rfc8289;
use super::selector::Selector;
use crate::params::{self, Value};
use crate::time::Duration;
use crate::{choice, config};
use alloc::format;

/// Declares the versions and the configuration. Each line has a version's keyword, description and engine; each version
/// is also a profile of the same name.
macro_rules! versions {
    ($( $version:ident = $word:literal, $summary:literal => $engine:expr; )+) => {
        choice! {
            /// Published algorithm or implementation to follow.
            pub enum Version { $( #[doc = $summary] $version = $word, )+ }
        }

        impl Version {
            /// Keyword, also the name of the profile.
            fn word(self) -> &'static str {
                match self { $( Self::$version => $word, )+ }
            }

            /// Engine that implements the version.
            pub(super) fn engine(self) -> Engine {
                match self { $( Self::$version => $engine, )+ }
            }
        }

        config! {
            /// CoDel's configuration; the default is RFC 8289.
            pub struct Config {
                /// Acceptable standing queue delay: sojourn times below it never cause drops.
                target: Duration = rfc8289::TARGET, in MICROSECOND => Value::Time(Duration::from_secs(10));
                /// Time that the sojourn time must stay above target before the first drop: a worst-case round-trip
                /// time.
                interval: Duration = rfc8289::INTERVAL, in MICROSECOND => Value::Time(Duration::from_secs(100));
                /// Marks ECN-capable packets instead of dropping them, at most one per dequeue.
                ecn: bool = false, in Value::Flag(false) => Value::Flag(true);
                /// Marks every ECN-capable packet that has waited longer than this; the default, an hour, is never
                /// reached.
                ce_threshold: Duration = HOUR, in Value::Time(Duration::ZERO) => Value::Time(HOUR);
                /// Limits ce_threshold to packets whose DS field under ce_threshold_mask is this (tc's
                /// ce_threshold_selector VALUE/MASK); 1 under 3 is ECT(1) (linux).
                ce_threshold_selector: u64 = 0, in Value::Count(0) => Value::Count(255);
                /// Bits of the DS field that ce_threshold_selector compares; zero selects every packet (linux).
                ce_threshold_mask: u64 = 0, in Value::Count(0) => Value::Count(255);
                /// Version of the algorithm; each has its profile, and refuses parameters that it lacks.
                version: Version = Version::Rfc8289, in WORD => WORD, choices Version::WORDS;
                /// Constant drop count (count-n).
                n: u64 = 600, in Value::Count(1) => Value::Count(1_000_000_000);
                /// Maximum sojourn time (hardlimit).
                max_delay: Duration = Duration::from_millis(50), in MICROSECOND => Value::Time(Duration::from_secs(100));
                /// Whether packets older than max_delay are dropped outright: off, as printed in the paper, or strictly
                /// (hardlimit).
                hard_limit: HardLimit = HardLimit::Off, in WORD => WORD, choices HardLimit::WORDS;
                /// Time that the sojourn time must stay above target: the interval, or less after a recent phase
                /// (historic versions).
                window: Window = Window::Interval, in WORD => WORD, choices Window::WORDS;
                /// Backlog that counts as small, so nothing is dropped: less than one largest packet, or at most one
                /// (historic versions).
                small_backlog: SmallBacklog = SmallBacklog::AtMost, in WORD => WORD, choices SmallBacklog::WORDS;
                /// Largest packet: the link's, or, as in older Linux, the largest seen so far (linux).
                maxpacket: MaxPacket = MaxPacket::Mtu, in WORD => WORD, choices MaxPacket::WORDS;
                /// Keeps the time since which the sojourn time is above target when the queue is found empty, as older
                /// Linux did; it matters if the bytes of other flows count too (linux).
                keep_above: bool = false, in Value::Flag(false) => Value::Flag(true);
            }
            profiles {
                $( $word, $summary => |c| c.become_version(Version::$version); )+
                "hardlimit-strict", "Hard Limit CoDel, no packet beyond max_delay" => |c| {
                    c.become_version(Version::HardLimit);
                    c.hard_limit = HardLimit::Strict;
                };
                "linux-3.10", "Linux 3.6 to 3.19: the largest packet is the largest seen" => |c| {
                    c.become_version(Version::Linux);
                    c.maxpacket = MaxPacket::Seen256;
                    c.keep_above = true;
                };
            }
            validate |c| {
                if c.target >= c.interval {
                    return Err(format!("target ({}) must be below interval ({}); write e.g. target 5ms interval 100ms", c.target, c.interval).into());
                }
                if c.version == Version::Mahimahi && c.interval < MILLISECOND {
                    return Err(format!("interval ({}) rounds to 0 ms, and mahimahi computes in whole milliseconds; write e.g. interval 100ms", c.interval).into());
                }
                params::refuse_unsupported(c, "CoDel", c.version.word(), |param| c.version.has(param))?;
                Selector::validate(c)
            }
        }
    };
}

versions! {
    Rfc8289 = "rfc8289", "RFC 8289 (2018)" => Engine::Rfc8289;
    Acm2012 = "acm2012", "the first publication, ACM Queue 10(5), 2012: a fresh phase waits for two intervals; each drop counts, count - 2 on re-entry within one; the largest packet is the largest seen, 512 B at first" => Engine::Historic(&historic::ACM2012);
    Ns2_2012 = "ns2-2012", "ns-2 (ns-2.36): count - 2 on re-entry within 8 intervals; the largest packet is the largest seen, 256 B at first" => Engine::Historic(&historic::NS2_2012);
    Ns2Patch = "ns2-patch", "the first module for ns-2 (May 2012): as ns2-2012, but each drop counts, and count - 1 on re-entry within 16 intervals" => Engine::Historic(&historic::NS2_PATCH);
    Draft00 = "draft00", "draft-ietf-aqm-codel-00 (2014) as printed by Schwarzkopf et al. 2016: ns2-2012 with a largest packet of 512 B at first" => Engine::Historic(&historic::DRAFT00);
    Act = "act", "CoDel-ACT (K. Nichols, July 2012): ns2-2012 in which a count above 126 decays, and a recent phase shortens the wait" => Engine::Historic(&historic::ACT);
    Linux = "linux", "Linux since 4.0: fixed-point law, count at each drop" => Engine::Linux;
    HardLimit = "hardlimit", "Hard Limit CoDel (Gao et al. 2015) as printed: acm2012 with at most one packet per dequeue beyond max_delay" => Engine::Historic(&historic::HARD_LIMIT);
    HardLimitNs2 = "hardlimit-ns2", "Hard Limit CoDel as Gao et al. 2015 ran it in ns-2: ns2-patch in which packets beyond max_delay are dropped before CoDel's first check" => Engine::Historic(&historic::HARD_LIMIT_NS2);
    Mahimahi = "mahimahi", "mahimahi's queue, bugs included: whole milliseconds, each drop counts, and the packet after the judged one is dropped" => Engine::Mahimahi;
    CountN = "count-n", "draft00 with a constant count n (Schwarzkopf et al. 2016, III.E.4)" => Engine::Historic(&historic::COUNT_N);
}

/// Implementation behind a version.
#[derive(Clone, Copy, Debug)]
pub(super) enum Engine {
    Rfc8289,
    Linux,
    Mahimahi,
    Historic(&'static historic::Variant),
}

choice! {
    /// Handling of packets that have waited longer than max_delay.
    pub enum HardLimit {
        /// No special handling.
        Off = "off",
        /// Dropped before the first judgement only, as printed: one of them can still pass after a drop.
        Printed = "printed",
        /// Dropped whenever they reach the head.
        Strict = "strict",
    }
}

choice! {
    /// Time that the sojourn time must stay above target.
    pub enum Window {
        /// One interval.
        Interval = "interval",
        /// interval/sqrt(count) if the last drop is less than 8 intervals ago.
        Act = "act",
    }
}

choice! {
    /// Maximum backlog, without the packet at the head, that prevents drops.
    pub enum SmallBacklog {
        /// Less than one largest packet.
        Below = "below",
        /// One largest packet or less.
        AtMost = "at-most",
        /// One largest packet or less, or no other packet in this queue (sfqCoDel's bins).
        AtMostOrLast = "at-most-or-last",
    }
}

choice! {
    /// Size of the largest packet.
    pub enum MaxPacket {
        /// The link's MTU.
        Mtu = "mtu",
        /// The largest packet that has reached the head, at least 256 bytes.
        Seen256 = "seen-256",
    }
}

impl Config {
    /// Switches to the version and its values of the parameters that others share.
    fn become_version(&mut self, version: Version) {
        self.version = version;
        if let Engine::Historic(variant) = version.engine() {
            let historic::VariantRules { window, small_backlog, hard_limit, .. } = variant.knobs;
            (self.window, self.small_backlog, self.hard_limit) = (window, small_backlog, hard_limit);
        }
    }
}

impl Version {
    /// Whether the version has the parameter.
    fn has(self, param: &str) -> bool {
        let own: &[&str] = match self.engine() {
            Engine::Rfc8289 => &["ecn", "ce_threshold"],
            Engine::Linux => {
                &["ecn", "ce_threshold", "ce_threshold_selector", "ce_threshold_mask", "maxpacket", "keep_above"]
            }
            // mahimahi's queue only drops.
            Engine::Mahimahi => &[],
            Engine::Historic(variant) => match param {
                "n" if variant.knobs.reentry == ReentryRule::Const => &["n"],
                "max_delay" | "hard_limit" if variant.knobs.hard_limit != HardLimit::Off => {
                    &["max_delay", "hard_limit"]
                }
                _ => &["ecn", "window", "small_backlog"],
            },
        };
        COMMON.contains(&param) || own.contains(&param)
    }
}

/// Parameters that every version has.
const COMMON: [&str; 3] = ["version", "target", "interval"];
const HOUR: Duration = Duration::from_secs(3600);
const MILLISECOND: Duration = Duration::from_millis(1);
const MICROSECOND: Value = Value::Time(Duration::from_micros(1));
/// A choice has no numeric range, only its keywords.
const WORD: Value = Value::Choice("");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Config as _;
    use crate::testing::config;
    use alloc::string::ToString;

    #[test]
    fn target_must_be_below_interval() {
        let refused = config::<Config>("rfc8289", &[("target", "100 ms")]).validate().unwrap_err().to_string();
        assert_eq!(refused, "target (100 ms) must be below interval (100 ms); write e.g. target 5ms interval 100ms");
        assert!(config::<Config>("rfc8289", &[("target", "99 ms")]).validate().is_ok());
    }

    #[test]
    fn mahimahi_needs_an_interval_of_a_millisecond() {
        let short = config::<Config>("mahimahi", &[("target", "1 us"), ("interval", "900 us")]);
        let refused = short.validate().unwrap_err().to_string();
        assert!(
            refused.starts_with("interval (900 us) rounds to 0 ms, and mahimahi computes in whole milliseconds"),
            "{refused}"
        );
    }

    #[test]
    fn a_version_refuses_what_it_does_not_have() {
        for (profile, param, text, refused) in [
            ("rfc8289", "ce_threshold", "1 ms", false),
            ("rfc8289", "window", "act", true),
            ("rfc8289", "window", "interval", false),
            ("rfc8289", "n", "5", true),
            ("linux", "maxpacket", "seen-256", false),
            ("linux-3.10", "keep_above", "off", false),
            ("linux", "small_backlog", "below", true),
            ("mahimahi", "ecn", "on", true),
            ("mahimahi", "ce_threshold", "1 ms", true),
            ("mahimahi", "hard_limit", "strict", true),
            ("ns2-2012", "small_backlog", "at-most-or-last", false),
            ("ns2-2012", "window", "act", false),
            ("ns2-2012", "keep_above", "on", true),
            ("ns2-2012", "ce_threshold", "1 ms", true),
            ("acm2012", "max_delay", "9 ms", true),
            ("hardlimit", "max_delay", "9 ms", false),
            ("hardlimit", "n", "5", true),
            ("count-n", "n", "5", false),
        ] {
            let config = config::<Config>(profile, &[(param, text)]);
            assert_eq!(config.validate().is_err(), refused, "{profile} {param} {text}");
        }
        let refusal = config::<Config>("mahimahi", &[("ecn", "on")]).validate().unwrap_err().to_string();
        let expected = "ecn: version mahimahi of CoDel does not have this parameter; keep it at false (or write codel@mahimahi for the version)";
        assert_eq!(refusal, expected);
    }

    #[test]
    fn every_version_is_its_profiles_and_every_profile_is_valid() {
        for word in Version::WORDS {
            assert_eq!(config::<Config>(word, &[]).version.word(), *word);
        }
        for (profile, _) in Config::PROFILES {
            assert_eq!(config::<Config>(profile, &[]).validate(), Ok(()), "{profile}");
        }
        assert_eq!(config::<Config>("rfc8289", &[]), Config::default(), "the plain name's profile is the default");
        assert!(Duration::from_secs(3600) == Config::default().ce_threshold);
    }
}
