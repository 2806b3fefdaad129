//! Quantities in text: `5 ms`, `10 Mbit/s`, `250 kB`, `1000 packets`, and tc's spellings.
//!
//! A number without a unit is rejected, because a wrong unit cannot be detected.

use crate::quote::{cut, quoted};
use crate::rate::Rate;
use crate::time::Duration;
use alloc::format;
use alloc::string::String;
use core::fmt;

/// A rejected quantity: the fault and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError(pub String);

impl core::error::Error for UnitError {}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A span of time: `5 ms`, `1.5s`, `100us`. Not negative.
pub fn duration(text: &str) -> Result<Duration, UnitError> {
    let nanos = quantity(text, DURATION_UNITS, "a duration", "5 ms")?;
    i64::try_from(nanos).map(Duration::from_nanos).map_err(|_| too_large(text, "a duration"))
}

/// A rate: `10 Mbit/s`, `10mbit`, `1.5 Gbps`. Spellings that may mean bytes per second are rejected: `MB/s`, and
/// `mbps`, which is bytes for tc and bits elsewhere.
pub fn rate(text: &str) -> Result<Rate, UnitError> {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || ".+-".contains(c)).trim();
    let ambiguous = unit.ends_with("bps") && !unit.starts_with(['M', 'G']);
    if ambiguous || unit.contains('B') && !unit.contains("BIT") {
        return Err(UnitError(format!("{} may mean bytes per second; write bits, e.g. \"10 Mbit/s\"", quoted(unit))));
    }
    let bps = quantity(text, RATE_UNITS, "a rate", "10 Mbit/s")?;
    u64::try_from(bps).map(Rate::from_bps).map_err(|_| too_large(text, "a rate"))
}

/// A size in bytes: `1500 B`, `250 kB` (10³), `64 KiB` (2¹⁰).
pub fn bytes(text: &str) -> Result<u64, UnitError> {
    let bytes = quantity(text, BYTE_UNITS, "a size", "250 kB")?;
    u64::try_from(bytes).map_err(|_| too_large(text, "a size"))
}

/// A number of packets: `1000 packets`, `1000p`.
pub fn packets(text: &str) -> Result<u64, UnitError> {
    let packets = quantity(text, PACKET_UNITS, "a number of packets", "1000 packets")?;
    u64::try_from(packets).map_err(|_| too_large(text, "a number of packets"))
}

/// The names of a unit and its size in the base unit.
type Unit = (&'static [&'static str], u64);

const DURATION_UNITS: &[Unit] = &[
    (&["ns", "nsec", "nsecs"], 1),
    (&["us", "µs", "usec", "usecs"], 1_000),
    (&["ms", "msec", "msecs"], 1_000_000),
    (&["s", "sec", "secs"], 1_000_000_000),
    (&["min"], 60_000_000_000),
];

const RATE_UNITS: &[Unit] = &[
    (&["bit/s", "bit", "b/s"], 1),
    (&["kbit/s", "kbit", "kb/s"], 1_000),
    (&["mbit/s", "mbit", "mb/s", "mbps"], 1_000_000),
    (&["gbit/s", "gbit", "gb/s", "gbps"], 1_000_000_000),
];

const BYTE_UNITS: &[Unit] = &[
    (&["b", "byte", "bytes"], 1),
    (&["kb"], 1_000),
    (&["mb"], 1_000_000),
    (&["gb"], 1_000_000_000),
    (&["kib", "k"], 1 << 10),
    (&["mib", "m"], 1 << 20),
    (&["gib", "g"], 1 << 30),
];

const PACKET_UNITS: &[Unit] = &[(&["packets", "packet", "pkts", "pkt", "p"], 1)];

/// Parses `text` to the base unit of `units`, rounded to the nearest; `what` and `example` go into the error.
fn quantity(text: &str, units: &[Unit], what: &str, example: &str) -> Result<u128, UnitError> {
    let text = text.trim();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-' && c != '+').unwrap_or(text.len());
    let (number, unit) = (text[..split].trim(), text[split..].trim());
    if number.is_empty() {
        return Err(UnitError(format!("{} is not {what}; write e.g. {example:?}", quoted(text))));
    }
    if number.starts_with('-') {
        return Err(UnitError(format!("{} is negative; write e.g. {example:?}", quoted(text))));
    }
    if unit.is_empty() {
        return Err(UnitError(format!("{} has no unit; write e.g. {example:?}", quoted(text))));
    }
    let lower = unit.to_lowercase();
    let size = units.iter().find(|(names, _)| names.contains(&lower.as_str())).map(|&(_, size)| size);
    let size = size.ok_or_else(|| {
        UnitError(format!(
            "{} is not a unit of {what} (expected one of {}); write e.g. {example:?}",
            quoted(unit),
            unit_names(units)
        ))
    })?;
    scaled(number, size).ok_or_else(|| UnitError(format!("{} is not a number; write e.g. {example:?}", quoted(number))))
}

/// `number × size`, rounded half up, in exact decimal arithmetic without floats. 18 digits of the fraction count.
fn scaled(number: &str, size: u64) -> Option<u128> {
    let number = number.strip_prefix('+').unwrap_or(number);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_digits = |s: &str| s.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || whole.len() > 18 || !is_digits(fraction) {
        return None;
    }
    let fraction = &fraction[..fraction.len().min(18)];
    let digits = |s: &str| if s.is_empty() { Some(0u128) } else { s.parse::<u64>().ok().map(u128::from) };
    let (power, size) = (10u128.pow(fraction.len() as u32), size as u128);
    Some(digits(whole)? * size + (digits(fraction)? * size + power / 2) / power)
}

fn unit_names(units: &[Unit]) -> String {
    units.iter().map(|(names, _)| names[0]).collect::<alloc::vec::Vec<_>>().join(", ")
}

fn too_large(text: &str, what: &str) -> UnitError {
    UnitError(format!("{} is too large for {what}", cut(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings() {
        for (text, nanos) in [
            ("5 ms", 5_000_000),
            ("5ms", 5_000_000),
            ("1.5s", 1_500_000_000),
            ("0.1 us", 100),
            ("1 min", 60_000_000_000),
        ] {
            assert_eq!(duration(text).unwrap().as_nanos(), nanos, "{text}");
        }
        for (text, bps) in [
            ("10 Mbit/s", 10_000_000),
            ("10mbit", 10_000_000),
            ("1.5 Gbps", 1_500_000_000),
            ("64kbit", 64_000),
            ("9.600000000000001 Mbit/s", 9_600_000), // as programs print 0.96 × 10
            ("0.30000000000000004 kbit/s", 300),
            ("1.00000000000000000000000000001 kbit/s", 1000),
        ] {
            assert_eq!(rate(text).unwrap().as_bps(), bps, "{text}");
        }
        for (text, size) in [("250 kB", 250_000), ("1500B", 1500), ("64 KiB", 65_536), ("1 MB", 1_000_000)] {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        assert_eq!(packets("1000 packets").unwrap(), 1000);
        assert_eq!(packets("1000p").unwrap(), 1000);
    }

    #[test]
    fn refusals_name_the_remedy() {
        for (error, expected) in [
            (rate("10").unwrap_err(), r#""10" has no unit; write e.g. "10 Mbit/s""#),
            (duration("-5 ms").unwrap_err(), r#""-5 ms" is negative; write e.g. "5 ms""#),
            (
                duration("5 parsecs").unwrap_err(),
                r#""parsecs" is not a unit of a duration (expected one of ns, us, ms, s, min); write e.g. "5 ms""#,
            ),
            (rate("10 MB/s").unwrap_err(), r#""MB/s" may mean bytes per second; write bits, e.g. "10 Mbit/s""#),
            (rate("100kbps").unwrap_err(), r#""kbps" may mean bytes per second; write bits, e.g. "10 Mbit/s""#),
            (bytes("much").unwrap_err(), r#""much" is not a size; write e.g. "250 kB""#),
            (duration("1.2.3 s").unwrap_err(), r#""1.2.3" is not a number; write e.g. "5 ms""#),
            (duration("1.+3 s").unwrap_err(), r#""1.+3" is not a number; write e.g. "5 ms""#),
        ] {
            assert_eq!(error.0, expected);
        }
    }

    #[test]
    fn huge_numbers_do_not_overflow() {
        assert!(duration("99999999999999999999 s").is_err());
        assert!(duration("999999999999999999 min").is_err());
        assert!(rate("999999999999999999 Gbit/s").is_err());
        assert!(duration("999999999999999999.999999999999999999 min").is_err());
    }
}
