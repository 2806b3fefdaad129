//! A queue discipline in tc's words, as recorded vectors name it, and ours with the same parameters.

use super::{DropNotification, tc_args};
use crate::error::ConfigError;
use crate::limits::Limits;
use crate::named::split_name;
use crate::params::Value;
use crate::registry::{Algorithm, NamedConfig, REGISTERED};
use crate::time::Instant;
use crate::units::UnitError;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use thiserror::Error;

/// Error in a `tc` line, or in applying its parameters to a discipline.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum TcError {
    /// An empty line.
    #[error("the qdisc has no kind, e.g. \"codel limit 1000\"")]
    MissingKind,
    /// A parameter without its value.
    #[error("{name} of the qdisc {text:?} needs a value")]
    MissingValue {
        /// The parameter.
        name: String,
        /// The line.
        text: String,
    },
    /// A gain that is not a number.
    #[error("{name}: {value:?} is not a number")]
    NotNumber {
        /// The parameter.
        name: String,
        /// The input.
        value: String,
    },
    /// An invalid limit.
    #[error("limit of the qdisc: {0}")]
    Limit(UnitError),
    /// An unknown or invalid AQM.
    #[error(transparent)]
    Aqm(#[from] ConfigError),
    /// The AQM does not accept the parameters of the line.
    #[error("with the recorded parameters \"{words}\": {reason}{}", compare(*instead))]
    Recorded {
        /// The parameters, in our syntax.
        words: String,
        /// Why it rejects them.
        reason: Box<ConfigError>,
        /// The recorded queue discipline, if another was requested.
        instead: Option<&'static str>,
    },
}

fn compare(instead: Option<&str>) -> String {
    instead.map(|own| format!("; the recording is from Linux, so compare {own}")).unwrap_or_default()
}

fn lacks(name: &str, text: &str) -> TcError {
    TcError::MissingValue { name: name.to_string(), text: text.to_string() }
}

/// tc's words after `qdisc add … `: `codel limit 1000 target 5ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcSpec<'a> {
    /// The kind of discipline.
    pub kind: &'a str,
    /// Parameters with values; flags without.
    params: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> TcSpec<'a> {
    /// Parses tc's words.
    pub fn parse(text: &'a str) -> Result<Self, TcError> {
        let mut words = text.split_whitespace();
        let kind = words.next().ok_or(TcError::MissingKind)?;
        let mut params = Vec::new();
        while let Some(name) = words.next() {
            let value = match is_flag(kind, name) {
                true => None,
                false => Some(words.next().ok_or_else(|| lacks(name, text))?),
            };
            params.push((name, value));
        }
        Ok(Self { kind, params })
    }

    /// Drops on arrival that the kernel reports to the sender as drops (NET_XMIT_DROP); the others it reports as
    /// congestion (NET_XMIT_CN).
    pub fn drop_notification(&self) -> DropNotification {
        let is = |kinds: &[&str]| kinds.contains(&self.kind);
        DropNotification {
            early: !is(&["red", "choke", "fq_pie", CAKE, CAKE_MQ, "sfb", DUALPI2]),
            limit: !is(&["fq_pie", "fq_codel", CAKE, CAKE_MQ, "sfb"]),
            queued: !is(&["fq_codel", "sfq", CAKE, CAKE_MQ]),
        }
    }

    /// Whether the kernel's discipline drops only arriving packets.
    pub fn drops_on_arrival(&self) -> bool {
        ["red", "pie", "fq_pie", "pfifo", "bfifo"].contains(&self.kind)
    }

    /// The discipline to compare with this line instead of `aqm`, if that is the same one from another source.
    pub fn linux_equivalent(&self, aqm: &str) -> Option<&'static str> {
        let own = self.linux_profile()?;
        let given = NamedConfig::parse(split_name(aqm).ok()?.0).ok()?;
        let is_other = self.names().contains(&given.algorithm().name) && NamedConfig::parse(own).ok()? != given;
        is_other.then_some(own)
    }

    /// Our name of this discipline, with the profile of Linux.
    fn linux_profile(&self) -> Option<&'static str> {
        let has = |words: &[&str]| self.params.iter().any(|(name, _)| words.contains(name));
        Some(match self.kind {
            "codel" => "codel@linux",
            "fq_codel" => "fq_codel@linux",
            "pie" => "pie@linux",
            "fq_pie" => "fq_pie",
            "red" if has(&ADAPTS) => "ared@linux-5.7",
            "red" => "red@linux",
            "choke" => "choke",
            "sfq" if has(&["redflowlimit"]) => "sfq_red",
            "sfq" => "sfq",
            "sfb" => "sfb@tc",
            DUALPI2 => "dualpi2@linux",
            FQ => "sch_fq",
            _ => return None,
        })
    }

    /// `aqm` with this line's parameters unless it sets them itself, and the limits of its queue. A discipline of
    /// another kind takes only the limit. `created` is the kernel's clock at the creation of its queue.
    ///
    /// The kernel seeds the hash of a flow queue at run time, so ours has no collisions here.
    pub fn apply(&self, aqm: &str, created: Option<Instant>) -> Result<(NamedConfig, Limits), TcError> {
        let given = NamedConfig::parse(aqm)?;
        let algorithm = given.algorithm();
        let has = |name: &str| algorithm.params.iter().any(|param| param.name == name);
        let is_this = self.names().contains(&algorithm.name);
        let mut words = String::new();
        let is_linux = given.config.value("version").is_none_or(|version| version == Value::Choice("linux"));
        if let Some(created) = created.filter(|_| is_this && is_linux && has("created")) {
            words += &format!(" created {}ns", created.as_nanos());
        }
        if is_this && has("hash") && self.kind != FQ {
            words += if is_cake(self.kind) { " hash modulo" } else { " hash perfect" };
        }
        for &(name, value) in self.params.iter().filter(|_| is_this) {
            // tc does not send a gain of 0, so the kernel keeps its default.
            let unsent = self.is_gain(name) && value.is_some_and(|value| value.parse() == Ok(0.0));
            let without_effect = self.kind == FQ && ["buckets", "timer_slack"].contains(&name);
            if ADAPTS.contains(&name) || without_effect || unsent || name == "limit" && !has("limit") {
                continue;
            }
            words += &format!(" {name}");
            if let Some(value) = value {
                words += &format!(" {}", self.with_unit(algorithm, name, value)?);
            }
        }
        let named = NamedConfig::parse_over(aqm, &words, REGISTERED).map_err(|reason| {
            let words = words.trim().to_string();
            TcError::Recorded { words, reason: Box::new(reason), instead: self.linux_equivalent(aqm) }
        })?;
        let limits = if is_this && (has("limit") || has("memlimit")) { Limits::default() } else { self.limits()? };
        Ok((named, limits))
    }

    /// Whether a parameter is a gain of PIE, which tc counts in sixteenths per second.
    fn is_gain(&self, name: &str) -> bool {
        ["pie", "fq_pie"].contains(&self.kind) && ["alpha", "beta"].contains(&name)
    }

    /// Our names of this kind.
    fn names(&self) -> &[&str] {
        match self.kind {
            "red" => &["red", "ared"],
            "pie" => &["pie", "fq_pie"],
            "sfq" => &["sfq", "sfq_red"],
            FQ => &["sch_fq"],
            _ => core::slice::from_ref(&self.kind),
        }
    }

    fn limits(&self) -> Result<Limits, TcError> {
        let name = if is_cake(self.kind) { "memlimit" } else { "limit" };
        let Some(&(_, Some(limit))) = self.params.iter().find(|(known, _)| *known == name) else {
            return Ok(Limits::default());
        };
        let (number, unit) = match (tc_args::size(limit), self.kind) {
            (Some(bytes), "red" | "bfifo" | CAKE | CAKE_MQ) => (format!("{bytes}"), "B"),
            (Some(packets), _) => (format!("{packets}"), "packets"),
            (None, _) => (limit.to_string(), ""),
        };
        Limits::parse(&format!("{number}{unit}")).map_err(TcError::Limit)
    }

    /// Converts a value of tc to our syntax.
    fn with_unit(&self, algorithm: &Algorithm, name: &str, value: &str) -> Result<String, TcError> {
        if self.is_gain(name) {
            let sixteenths: f64 =
                value.parse().map_err(|_| TcError::NotNumber { name: name.to_string(), value: value.to_string() })?;
            return Ok(format!("{}", sixteenths / 16.0));
        }
        if self.kind == "sfb" && ["rehash", "db"].contains(&name) {
            return Ok(format!("{value}ms"));
        }
        if name == "quantum" && ["fq_codel", "fq_pie", "sfq"].contains(&self.kind) {
            // Minimum of fq_codel_change, fq_pie_change and sfq_change.
            return Ok(tc_args::size(value).map_or_else(|| value.to_string(), |bytes| format!("{}B", bytes.max(256))));
        }
        let range = algorithm.params.iter().find(|param| param.name == name).map(|param| param.range.0);
        Ok(range.and_then(|range| tc_args::ours(range, value)).unwrap_or_else(|| value.to_string()))
    }
}

/// Whether a word of tc for a qdisc of `kind` takes no value.
fn is_flag(kind: &str, name: &str) -> bool {
    match kind {
        CAKE | CAKE_MQ => !VALUED_OF_CAKE.contains(&name),
        FQ => FLAGS_OF_FQ.contains(&name),
        DUALPI2 => FLAGS_OF_DUALPI2.contains(&name),
        _ => FLAGS.contains(&name) || name.strip_prefix("no").is_some_and(|flag| FLAGS.contains(&flag)),
    }
}

fn is_cake(kind: &str) -> bool {
    [CAKE, CAKE_MQ].contains(&kind)
}

/// Most of its words are keywords, in our syntax as well.
const CAKE: &str = "cake";
const CAKE_MQ: &str = "cake_mq";
const VALUED_OF_CAKE: [&str; 6] = ["bandwidth", "rtt", "memlimit", "overhead", "mpu", "fwmark"];
/// tc's name; ours takes brackets and is another discipline.
const FQ: &str = "fq";
const FLAGS_OF_FQ: [&str; 4] = ["pacing", "nopacing", "horizon_drop", "horizon_cap"];
const DUALPI2: &str = "dualpi2";
const FLAGS_OF_DUALPI2: [&str; 8] =
    ["l4s_ect", "any_ect", "drop_on_overload", "overflow", "drop_enqueue", "drop_dequeue", "split_gso", "no_split_gso"];
/// tc's spellings of RED's flag; ours is a profile.
const ADAPTS: [&str; 2] = ["adaptative", "adaptive"];
/// Words without a value.
const FLAGS: [&str; 8] =
    [ADAPTS[0], ADAPTS[1], "ecn", "harddrop", "nodrop", "headdrop", "bytemode", "dq_rate_estimator"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_of_the_line_lie_under_those_given() {
        for (aqm, line, spelling, limit) in [
            ("codel@linux", "codel limit 60 target 7ms interval 100ms", "codel@linux target 7ms", "60 packets"),
            ("codel@linux target 9ms", "codel limit 60 target 7ms ecn", "codel@linux target 9ms ecn", "60 packets"),
            (" codel noecn", "codel limit 60 ecn", "codel", "60 packets"),
            ("codel", "codel limit 60 target 7000", "codel target 7ms", "60 packets"),
            ("codel", "red limit 400000 min 12500 max 37500", "codel", "400000 B"),
            ("fq(codel ecn) flows 16", "codel limit 60 ecn", "fq(codel ecn) flows 16", "60 packets"),
            ("droptail", "pfifo limit 100", "droptail", "100 packets"),
            ("droptail", "bfifo limit 10kb", "droptail", "10240 B"),
            (
                "red@linux",
                "red limit 400kb min 30kb max 90kb avpkt 1kb bandwidth 10.5mbit adaptive",
                "red@linux min 30720B max 92160B avpkt 1024B bandwidth 10500000bit",
                "409600 B",
            ),
            (
                "pie@linux",
                "pie limit 9 target 20ms alpha 4",
                "pie@linux target 20ms alpha 0.25 created 5ns",
                "9 packets",
            ),
            ("pie@linux", "pie limit 9 alpha 0 beta 0", "pie@linux created 5ns", "9 packets"),
            (
                "fq_pie",
                "fq_pie limit 9 flows 64 beta 8",
                "fq_pie limit 9 flows 64 beta 0.5 hash perfect created 5ns",
                "unlimited",
            ),
            (
                "ared@linux-5.7",
                "red limit 400000 min 12500 max 37500 avpkt 1000 burst 25 bandwidth 10mbit adaptative",
                "ared@linux-5.7 min 12500B max 37500B burst 25",
                "400000 B",
            ),
            (
                "fq_pie",
                "fq_pie limit 9 quantum 135",
                "fq_pie limit 9 quantum 256B hash perfect created 5ns",
                "unlimited",
            ),
            ("sfq", "sfq limit 9 quantum 100", "sfq limit 9 quantum 256B hash perfect", "unlimited"),
            (
                "cake@linux-6.1",
                "cake bandwidth 12345bit diffserv4 rtt 3.0004ms memlimit 32kb pppoe-ptm overhead -4 wash",
                "cake@linux-6.1 bandwidth 12344bit tins diffserv4 rtt 3ms memlimit 32768B layer ptm overhead -4 wash hash modulo",
                "unlimited",
            ),
            (
                "fq@linux-6.1",
                "fq timer_slack 0 limit 9 quantum 300 maxrate 12345bit ce_threshold 3.0004ms nopacing horizon_cap orphan_mask 255 buckets 512",
                "fq@linux-6.1 limit 9 quantum 300B maxrate 12344bit ce_threshold 3ms nopacing horizon_cap orphan_mask 255",
                "unlimited",
            ),
            (
                "dualpi2@linux",
                "dualpi2 limit 60 memlimit 90000 target 7.0009ms step_thresh 5p any_ect overflow drop_enqueue classic_protection 25%",
                "dualpi2@linux limit 60 memlimit 90000B target 7ms step_packets 5 classify any-ect nodrop_on_overload drop_enqueue classic_protection 25 created 5ns",
                "unlimited",
            ),
            (
                "cake_mq queues 3",
                "cake_mq bandwidth 12345bit besteffort flowblind memlimit 100000",
                "cake_mq queues 3 bandwidth 12344bit tins besteffort isolation flowblind memlimit 100000B hash modulo",
                "unlimited",
            ),
            ("cobalt target 7ms", "cake besteffort flowblind unlimited memlimit 32kb", "cobalt target 7ms", "32768 B"),
            (
                "fq_codel@linux",
                "fq_codel limit 10240 flows 1024 quantum 300 target 5ms",
                "fq_codel@linux quantum 300B hash perfect",
                "unlimited",
            ),
        ] {
            let line = TcSpec::parse(line).unwrap();
            let (named, limits) = line.apply(aqm, Some(Instant::from_nanos(5))).unwrap();
            let expected = NamedConfig::parse(spelling).unwrap_or_else(|e| panic!("{spelling}: {e}"));
            assert_eq!(named, expected, "{aqm}: {}", named.spelling());
            assert_eq!(limits.to_string(), limit, "{aqm}");
        }
    }

    #[test]
    fn plain_names_of_what_linux_has_otherwise_are_pointed_to_its_own() {
        for (aqm, line, own) in [
            ("codel", "codel limit 60", Some("codel@linux")),
            (" codel target 6ms", "codel limit 60", Some("codel@linux")),
            ("codel@linux target 6ms", "codel limit 60", None),
            ("pie", "pie limit 60", Some("pie@linux")),
            ("red min 3kB", "red limit 60 adaptative", Some("ared@linux-5.7")),
            ("ared", "red limit 60", Some("red@linux")),
            ("sfq", "sfq limit 60 redflowlimit 9000", Some("sfq_red")),
            ("dualpi2", "dualpi2 limit 60", Some("dualpi2@linux")),
            ("choke", "choke limit 60", None),
            ("pie", "codel limit 60", None),
            ("fq(codel)", "codel limit 60", None),
            ("droptail", "pfifo limit 60", None),
        ] {
            assert_eq!(TcSpec::parse(line).unwrap().linux_equivalent(aqm), own, "{aqm}: {line}");
        }
        // RFC 8033's PIE does not depend on the creation time of a kernel's queue.
        let created = Some(Instant::from_nanos(5));
        let (named, _) = TcSpec::parse("pie limit 60 target 20ms").unwrap().apply("pie", created).unwrap();
        assert_eq!(named.spelling(), "pie target 20ms");
        let refused = TcSpec::parse("pie limit 60 bytemode").unwrap().apply("pie", created).unwrap_err().to_string();
        assert!(refused.ends_with("; the recording is from Linux, so compare pie@linux"), "{refused}");
    }

    #[test]
    fn refusals_name_the_word() {
        assert_eq!(TcSpec::parse(" ").unwrap_err().to_string(), "the qdisc has no kind, e.g. \"codel limit 1000\"");
        assert_eq!(
            TcSpec::parse("codel limit 60 target").unwrap_err().to_string(),
            "target of the qdisc \"codel limit 60 target\" needs a value"
        );
        let apply = |text: &str| TcSpec::parse(text).unwrap().apply("codel", None).unwrap_err().to_string();
        assert_eq!(apply("codel limit 0"), "limit of the qdisc: a limit of \"0packets\" leaves no room for a packet");
        assert!(apply("codel targt 5ms").starts_with("with the recorded parameters \"targt 5ms\": unknown parameter"));
    }
}
