//! tc's numbers and units (`utils.c`, `tc_util.c` of iproute2 6.1), which differ from ours: a `kb` is 1024 bytes, and
//! fractions of a microsecond, byte or byte per second are truncated. Agrees with the netlink messages of tc 6.1 for
//! random parameter sets.

use crate::params::Value;
use alloc::format;
use alloc::string::String;

/// Converts `text`, a parameter of the kind of `range`, to our syntax; `None` if tc would not parse it.
pub(super) fn ours(range: Value, text: &str) -> Option<String> {
    match range {
        Value::Bytes(_) => size(text).map(|bytes| format!("{bytes}B")),
        Value::Time(_) => scaled(text, &TIMES).map(|us| format!("{us}us")),
        Value::Rate(_) => rate(text).map(|bits| format!("{bits}bit")),
        _ => None,
    }
}

/// Bytes (get_size).
pub(super) fn size(text: &str) -> Option<u64> {
    scaled(text, &SIZES)
}

/// Bits per second (get_rate), in whole bytes.
fn rate(text: &str) -> Option<u64> {
    let lower = text.to_ascii_lowercase();
    let (word, bits) = match lower.strip_suffix("bps") {
        Some(word) => (word, 8.0),
        None => (lower.strip_suffix("bit").unwrap_or(&lower), 1.0),
    };
    let end = unit_at(word);
    let scale = RATES.iter().find(|(prefix, _)| *prefix == &word[end..])?.1;
    let number: f64 = word[..end].parse().ok()?;
    Some((number * (scale * bits) / 8.0) as u64 * 8)
}

fn scaled(text: &str, units: &[(&str, f64)]) -> Option<u64> {
    let end = unit_at(text);
    let scale = units.iter().find(|(unit, _)| unit.eq_ignore_ascii_case(&text[end..]))?.1;
    let number: f64 = text[..end].parse().ok()?;
    Some((number * scale) as u64)
}

fn unit_at(text: &str) -> usize {
    text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len())
}

const K: f64 = 1024.0;
const TIMES: [(&str, f64); 10] = [
    ("", 1.0),
    ("us", 1.0),
    ("usec", 1.0),
    ("usecs", 1.0),
    ("ms", 1e3),
    ("msec", 1e3),
    ("msecs", 1e3),
    ("s", 1e6),
    ("sec", 1e6),
    ("secs", 1e6),
];
const SIZES: [(&str, f64); 11] = [
    ("", 1.0),
    ("b", 1.0),
    ("k", K),
    ("kb", K),
    ("m", K * K),
    ("mb", K * K),
    ("g", K * K * K),
    ("gb", K * K * K),
    ("kbit", K / 8.0),
    ("mbit", K * K / 8.0),
    ("gbit", K * K * K / 8.0),
];
const RATES: [(&str, f64); 9] = [
    ("", 1.0),
    ("k", 1e3),
    ("m", 1e6),
    ("g", 1e9),
    ("t", 1e12),
    ("ki", K),
    ("mi", K * K),
    ("gi", K * K * K),
    ("ti", K * K * K * K),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rate::Rate;
    use crate::time::Duration;

    #[test]
    fn numbers_are_tcs() {
        let (bytes, time, bandwidth) = (Value::Bytes(0), Value::Time(Duration::ZERO), Value::Rate(Rate::from_bps(0)));
        for (range, text, expected) in [
            (bytes, "1514", Some("1514B")),
            (bytes, "10kb", Some("10240B")),
            (bytes, "1.5k", Some("1536B")),
            (bytes, "3kbit", Some("384B")),
            (bytes, "2Mb", Some("2097152B")),
            (bytes, "100b", Some("100B")),
            (bytes, "1kib", None),
            (time, "5ms", Some("5000us")),
            (time, "1.001ms", Some("1000us")), // 1000.9999…
            (time, "7", Some("7us")),
            (time, "0.35s", Some("350000us")),
            (time, "5ns", None),
            (bandwidth, "10mbit", Some("10000000bit")),
            (bandwidth, "10.5Mbit", Some("10500000bit")),
            (bandwidth, "1000003bit", Some("1000000bit")),
            (bandwidth, "1mibit", Some("1048576bit")),
            (bandwidth, "3kbps", Some("24000bit")),
            (bandwidth, "64000", Some("64000bit")),
            (bandwidth, "64 000", None),
        ] {
            assert_eq!(ours(range, text).as_deref(), expected, "{text}");
        }
    }
}
