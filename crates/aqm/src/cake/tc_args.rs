//! CAKE in tc's notation: `cake bandwidth 50mbit diffserv4 dual-srchost nat docsis ack-filter`. Keywords become
//! parameters.

use super::config::{DiffservMode, Isolation};
use super::overhead::keywords;
use crate::error::ConfigError;
use crate::link_layer::{CONSERVATIVE, CellFraming, LinkPreset};
use crate::param_list::{self, set, value};
use crate::params::{Param, Parameter, Value, unknown};
use crate::queue_layout::EXCLUDE_CE;
use crate::quote::quoted;
use crate::units;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Parses the next words if they are tc's. Returns whether they were.
pub(crate) fn read(
    words: &mut Peekable<SplitWhitespace<'_>>,
    given: &mut Vec<(String, String)>,
    params: &[Param],
) -> Result<bool, ConfigError> {
    let Some(&word) = words.peek() else { return Ok(false) };
    let known = params.iter().any(|param| param.name == word || word.strip_prefix("no") == Some(param.name));
    match word {
        // With a value they replace the sum of the keywords.
        "overhead" | "mpu" | "memlimit" => {
            words.next();
            let value = words.next().ok_or_else(|| param_list::missing_value(NAME, word))?;
            set(given, word, checked(word, value)?);
            return Ok(true);
        }
        EXCLUDE_CE => return Ok(false),
        _ if known => return Ok(false),
        _ => {}
    }
    keyword(word, given)?;
    words.next();
    Ok(true)
}

/// Parses a keyword without a value.
fn keyword(word: &str, given: &mut Vec<(String, String)>) -> Result<(), ConfigError> {
    if let Some(link) = keywords().find(|link| link.word == word) {
        let overhead = value(given, "overhead").and_then(|text| text.parse::<i32>().ok()).unwrap_or(0) + link.adds;
        if link.adds != 0 {
            set(given, "overhead", overhead.to_string());
        }
        if let Some(mpu) = link.mpu {
            set(given, "mpu", mpu.to_string());
        }
        link.layer.into_iter().for_each(|layer| set(given, "layer", text_of(layer)));
        return Ok(());
    }
    if let Some(&(_, rtt)) = RTTS.iter().find(|(name, _)| *name == word) {
        return once(given, "rtt", rtt);
    }
    if DiffservMode::WORDS.contains(&word) {
        return once(given, "tins", word);
    }
    if Isolation::WORDS.contains(&word) {
        return once(given, "isolation", word);
    }
    match word {
        "unlimited" => once(given, "bandwidth", "0bit"),
        "diffserv" => once(given, "tins", "diffserv4"),
        "autorate-ingress" => once(given, "autorate_ingress", "on"),
        "egress" => once(given, "ingress", "off"),
        "ack-filter" => once(given, "ack_filter", "filter"),
        "ack-filter-aggressive" => once(given, "ack_filter", "aggressive"),
        "no-ack-filter" => once(given, "ack_filter", "off"),
        "conservative" | "raw" => {
            let LinkPreset { layer, overhead, .. } = CONSERVATIVE;
            let (layer, overhead) = if word == "raw" { (CellFraming::Plain, 0) } else { (layer, overhead) };
            set(given, "layer", text_of(layer));
            set(given, "overhead", overhead.to_string());
            Ok(())
        }
        "split-gso" => once(given, "split_gso", "on"),
        "no-split-gso" => once(given, "split_gso", "off"),
        // A packet carries the hosts at its ends, which is what nat looks up.
        "nat" | "nonat" => Ok(()),
        "fwmark" => {
            Err("fwmark: packets have no firewall mark here; sort them into tins by DSCP, e.g. diffserv4".into())
        }
        "rate" => Err("rate: cake calls it bandwidth; write e.g. bandwidth 50mbit".into()),
        _ if units::rate(word).is_ok() => {
            Err(format!("cake: {} has no parameter name; write bandwidth {word}", quoted(word)).into())
        }
        _ => Err(ConfigError::Unknown(unknown("cake keyword", word, known()))),
    }
}

/// All keywords, for the hint about a misspelt one.
fn known() -> impl Iterator<Item = &'static str> + Clone {
    let values = ["bandwidth", "rtt", "memlimit", "overhead", "mpu", "tins", "isolation", "hash", "link_header"];
    let plain = [
        "unlimited",
        "autorate-ingress",
        "diffserv",
        "ingress",
        "egress",
        "wash",
        "nowash",
        "nat",
        "nonat",
        "ack-filter",
        "ack-filter-aggressive",
        "no-ack-filter",
        "split-gso",
        "no-split-gso",
        "conservative",
        "raw",
    ];
    let links = keywords().map(|link| link.word);
    let rtts = RTTS.iter().map(|&(word, _)| word);
    let (tins, isolation) = (DiffservMode::WORDS.iter().copied(), Isolation::WORDS.iter().copied());
    values.into_iter().chain(plain).chain(tins).chain(isolation).chain(links).chain(rtts)
}

/// Refuses values that a user of tc did not mean.
fn checked(word: &str, value: &str) -> Result<String, ConfigError> {
    // With a unit it is the default, as the registry spells it.
    let zero = value.parse() == Ok(0.0);
    match word {
        "memlimit" if zero => {
            Err("memlimit: 0 leaves no room for a packet; leave it out for the limit from rate and rtt, or write e.g. \
             memlimit 4MB"
                .into())
        }
        "memlimit" => Ok(value.into()),
        _ => Ok(value.trim_end_matches('b').into()),
    }
}

fn once(given: &mut Vec<(String, String)>, name: &str, to: &str) -> Result<(), ConfigError> {
    param_list::set_once(given, NAME, name, to)
}

fn text_of(layer: CellFraming) -> String {
    match layer.to_value() {
        Value::Choice(word) => word.into(),
        other => unreachable!("a layer is a word, not {other:?}"),
    }
}

const NAME: &str = "cake";
/// tc's keywords for round-trip times.
const RTTS: &[(&str, &str)] = &[
    ("datacentre", "100us"),
    ("lan", "1ms"),
    ("metro", "10ms"),
    ("regional", "30ms"),
    ("internet", "100ms"),
    ("oceanic", "300ms"),
    ("satellite", "1s"),
    ("interplanetary", "1000s"),
];

#[cfg(test)]
mod tests {
    use crate::registry::{NamedConfig, parse};
    use alloc::string::ToString;

    #[test]
    fn tcs_words_are_parameters() {
        for (text, spelling) in [
            ("cake", "cake"),
            ("cake unlimited besteffort", "cake tins besteffort"),
            (
                "cake bandwidth 50mbit diffserv4 dual-srchost nat",
                "cake bandwidth 50Mbit/s tins diffserv4 isolation dual-srchost",
            ),
            ("cake docsis ack-filter", "cake ack_filter filter overhead 18 mpu 64"),
            ("cake pppoe-vcmux ether-vlan ether-vlan", "cake overhead 40 layer atm"),
            ("cake docsis overhead 10", "cake overhead 10 mpu 64"),
            ("cake overhead -4 ethernet", "cake overhead 34 mpu 84"),
            ("cake docsis conservative", "cake overhead 48 mpu 64 layer atm"),
            ("cake atm overhead 10 raw", "cake"),
            ("cake satellite ingress wash", "cake rtt 1s wash ingress"),
            ("cake rtt 33ms egress nowash no-ack-filter split-gso", "cake rtt 33ms"),
            ("cake no-split-gso", "cake nosplit_gso"),
            ("cake memlimit 32mb autorate-ingress", "cake autorate_ingress memlimit 32000000B"),
            ("cake@linux-6.1 flowblind", "cake@linux-6.1 isolation flowblind"),
        ] {
            let named = NamedConfig::parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(named.spelling(), spelling, "{text}");
            assert_eq!(NamedConfig::parse(spelling).expect("a spelling is read").spelling(), spelling);
        }
    }

    #[test]
    fn what_tc_would_refuse_gets_a_line() {
        for (text, error) in [
            ("cake diffserv9", r#"unknown cake keyword "diffserv9"; did you mean "diffserv"?"#),
            ("cake overhead 999", "overhead = 999 is out of range; from -64 to 256"),
            ("cake overhead 1.5", "overhead (1.5) is not a whole number of bytes; write e.g. overhead 18"),
            ("cake overhead", "overhead of cake needs a value"),
            ("cake 50mbit nat", r#"cake: "50mbit" has no parameter name; write bandwidth 50mbit"#),
            ("cake rate 50mbit", "rate: cake calls it bandwidth; write e.g. bandwidth 50mbit"),
            ("cake mpu 300", "mpu = 300 is out of range; from 0 to 256"),
            (
                "cake memlimit 0",
                "memlimit: 0 leaves no room for a packet; leave it out for the limit from rate and rtt, or write e.g. memlimit 4MB",
            ),
            ("cake besteffort diffserv4", "cake has both besteffort and diffserv4 for tins; leave one of them out"),
            ("cake lan rtt 5ms", "rtt of cake is given twice; leave one of them out"),
            (
                "cake bandwidth 500bit",
                "bandwidth (500 bit/s) is below 512 bit/s (64 B/s), the minimum that Linux shapes to; write e.g. bandwidth 1mbit",
            ),
            (
                "cake fwmark 0xff",
                "fwmark: packets have no firewall mark here; sort them into tins by DSCP, e.g. diffserv4",
            ),
            (
                "cake exclude_ce",
                "exclude_ce: cake measures every packet, as Linux does; leave it out, or use fq(cobalt) exclude_ce",
            ),
            ("fq(cake)", r#"cake queues flows itself; write e.g. "fq(codel)""#),
        ] {
            assert_eq!(parse(text).expect_err(text).to_string(), error, "{text}");
        }
    }
}
