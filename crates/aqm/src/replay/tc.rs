//! A queue discipline in tc's words, as a recorded vector names it, and ours with the same parameters.

use crate::limits::Limits;
use crate::params::Value;
use crate::registry::{Algorithm, Named, REGISTERED};
use crate::time::Instant;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// tc's words after `qdisc add … `: `codel limit 1000 target 5ms`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The kind of discipline.
    pub kind: &'a str,
    /// Parameters with their values; flags without.
    params: Vec<(&'a str, Option<&'a str>)>,
}

impl<'a> Line<'a> {
    /// Reads tc's words.
    pub fn parse(text: &'a str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let kind = words.next().ok_or_else(|| "the qdisc has no kind, e.g. \"codel limit 1000\"".to_string())?;
        let mut params = Vec::new();
        while let Some(name) = words.next() {
            let is_flag = FLAGS.contains(&name) || name.strip_prefix("no").is_some_and(|flag| FLAGS.contains(&flag));
            let value = match is_flag {
                true => None,
                false => Some(words.next().ok_or_else(|| format!("{name} of the qdisc {text:?} lacks its value"))?),
            };
            params.push((name, value));
        }
        Ok(Self { kind, params })
    }

    /// Whether the kernel tells the sender of early drops as drops (NET_XMIT_DROP), as PIE does, or only of congestion
    /// (NET_XMIT_CN).
    pub fn early_is_told(&self) -> bool {
        self.kind == "pie"
    }

    /// `aqm` with this line's parameters where it gives none itself, and the limits of its queue. A discipline of
    /// another kind takes over the limit only. `created` is the kernel's clock when its queue was made.
    ///
    /// The hash of a flow queue in the kernel is seeded from its run, so ours is free of collisions here.
    pub fn apply(&self, aqm: &str, created: Option<Instant>) -> Result<(Named, Limits), String> {
        let algorithm = Named::parse(aqm)?.algorithm();
        let has = |name: &str| algorithm.params.iter().any(|param| param.name == name);
        let is_this = self.names().contains(&algorithm.name);
        let mut words = String::new();
        if let Some(created) = created.filter(|_| is_this && has("created")) {
            words += &format!(" created {}ns", created.as_nanos());
        }
        if is_this && has("hash") {
            words += " hash perfect";
        }
        for &(name, value) in self.params.iter().filter(|_| is_this) {
            if name == "adaptative" || name == "limit" && !has("limit") {
                continue;
            }
            words += &format!(" {name}");
            if let Some(value) = value {
                words += &format!(" {}", self.with_unit(algorithm, name, value)?);
            }
        }
        let named = Named::parse_over(aqm, &words, REGISTERED)
            .map_err(|e| format!("with the recorded parameters \"{}\": {e}", words.trim()))?;
        let limits = if is_this && has("limit") { Limits::default() } else { self.limits()? };
        Ok((named, limits))
    }

    /// The names of ours that are this kind.
    fn names(&self) -> &[&str] {
        match self.kind {
            "red" => &["red", "ared"],
            "pie" => &["pie", "fq_pie"],
            "sfq" => &["sfq", "sfq_red"],
            _ => core::slice::from_ref(&self.kind),
        }
    }

    fn limits(&self) -> Result<Limits, String> {
        let Some(&(_, Some(limit))) = self.params.iter().find(|(name, _)| *name == "limit") else {
            return Ok(Limits::default());
        };
        let unit = match (is_bare(limit), self.kind) {
            (true, "red" | "bfifo") => "B",
            (true, _) => "packets",
            (false, _) => "",
        };
        Limits::parse(&format!("{limit}{unit}")).map_err(|e| format!("limit of the qdisc: {}", e.0))
    }

    /// A value with the unit that tc leaves out.
    fn with_unit(&self, algorithm: &Algorithm, name: &str, value: &str) -> Result<String, String> {
        let range = algorithm.params.iter().find(|param| param.name == name).map(|param| param.range.0);
        Ok(match range {
            Some(Value::Bytes(_)) if is_bare(value) => format!("{value}B"),
            Some(Value::Time(_)) if is_bare(value) => format!("{value}us"),
            // tc counts the gains in sixteenths per second.
            _ if ["pie", "fq_pie"].contains(&self.kind) && ["alpha", "beta"].contains(&name) => {
                let sixteenths: f64 = value.parse().map_err(|_| format!("{name}: {value:?} is not a number"))?;
                format!("{}", sixteenths / 16.0)
            }
            _ => value.to_string(),
        })
    }
}

fn is_bare(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_digit())
}

/// What stands without a value.
const FLAGS: [&str; 8] =
    ["ecn", "adaptative", "adaptive", "harddrop", "nodrop", "headdrop", "bytemode", "dq_rate_estimator"];

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
            (
                "pie@linux",
                "pie limit 9 target 20ms alpha 4",
                "pie@linux target 20ms alpha 0.25 created 5ns",
                "9 packets",
            ),
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
                "fq_codel@linux",
                "fq_codel limit 10240 flows 1024 quantum 300 target 5ms",
                "fq_codel@linux quantum 300B hash perfect",
                "unlimited",
            ),
        ] {
            let line = Line::parse(line).unwrap();
            let (named, limits) = line.apply(aqm, Some(Instant::from_nanos(5))).unwrap();
            let expected = Named::parse(spelling).unwrap_or_else(|e| panic!("{spelling}: {e}"));
            assert_eq!(named, expected, "{aqm}: {}", named.spelling());
            assert_eq!(limits.to_string(), limit, "{aqm}");
        }
    }

    #[test]
    fn refusals_name_the_word() {
        assert_eq!(Line::parse(" ").unwrap_err(), "the qdisc has no kind, e.g. \"codel limit 1000\"");
        assert_eq!(
            Line::parse("codel limit 60 target").unwrap_err(),
            "target of the qdisc \"codel limit 60 target\" lacks its value"
        );
        let apply = |text: &str| Line::parse(text).unwrap().apply("codel", None).unwrap_err();
        assert_eq!(apply("codel limit 0"), "limit of the qdisc: a limit of \"0packets\" holds nothing");
        assert!(apply("codel targt 5ms").starts_with("with the recorded parameters \"targt 5ms\": unknown parameter"));
    }
}
