//! The buffer below the queue: what a driver or a card holds, out of the queue manager's reach.

use super::ValueError;
use super::keys::{Datum, Field, Own, text};
use serde_json::{Value, json};
use sojourn_aqm::units;
use std::fmt;

/// How much the buffer takes; the packet in transmission is part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BelowSpec {
    /// What is counted.
    pub unit: Unit,
    /// The queue hands packets down until the buffer holds more than so many bytes, or so many packets; above zero.
    pub stop: u64,
    /// It begins again when the buffer holds at most so much.
    pub wake: u64,
    /// Byte queue limits besides: the limit follows what keeps the driver busy (Linux's dynamic queue limits), up to so many
    /// bytes.
    pub bql: Option<u64>,
}

/// What a buffer counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of IP and 14 of Ethernet's header, as Linux's byte queue limits do.
    Bytes,
    /// Packets.
    Packets,
}

impl BelowSpec {
    fn parse(text: &str) -> Result<Self, String> {
        let Some((ring, bql)) = text.split_once(BQL) else { return Self::parse_ring(text, text) };
        let bql = Some(match bql.trim() {
            "" => MOST_BQL,
            most => most_bytes(most).ok_or_else(|| {
                format!(r#"{text:?}: {most:?} does not bound a byte limit; write e.g. "bql max 3 kB""#)
            })?,
        });
        if ring.trim().is_empty() {
            return Ok(Self { unit: Unit::Packets, stop: ENDLESS, wake: ENDLESS - 1, bql });
        }
        let ring = Self::parse_ring(ring, text)?;
        if ring.unit == Unit::Bytes {
            return Err(format!(
                r#"{text:?} has two limits in bytes; write a ring of packets, "4 packets bql", or one limit"#
            ));
        }
        Ok(Self { bql, ..ring })
    }

    /// A ring or a fixed limit in `ring`, which is `text` or a part of it.
    fn parse_ring(ring: &str, text: &str) -> Result<Self, String> {
        let (stop, wake) = match ring.split_once("wake") {
            None => (ring.trim(), None),
            Some((stop, wake)) => (stop.trim(), Some(wake.trim())),
        };
        let (unit, stop) = read_size(stop)?;
        if stop == 0 {
            return Err(format!("{text:?} holds nothing; write at least 1, or leave the key out"));
        }
        // A ring has room again after one packet, a byte limit when it is no longer exceeded.
        let default = if unit == Unit::Bytes { stop } else { stop - 1 };
        let wake = match wake.map(read_size).transpose()? {
            None => default,
            Some((other, _)) if other != unit => {
                return Err(format!("{text:?} stops and wakes in different units; write both in bytes or in packets"));
            }
            Some((_, wake)) if wake > default => {
                return Err(format!("{text:?} wakes while it is stopped; write at most wake {}", show(unit, default)));
            }
            Some((_, wake)) => wake,
        };
        Ok(Self { unit, stop, wake, bql: None })
    }
}

impl fmt::Display for BelowSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stop < ENDLESS {
            write!(f, "{} wake {}", show(self.unit, self.stop), show(self.unit, self.wake))?;
        }
        let Some(most) = self.bql else { return Ok(()) };
        let space = if self.stop < ENDLESS { " " } else { "" };
        write!(f, "{space}{BQL}")?;
        if most < MOST_BQL { write!(f, " max {}", show(Unit::Bytes, most)) } else { Ok(()) }
    }
}

impl Field for BelowSpec {
    fn some(datum: Datum) -> Self {
        let Datum::Own(Value::String(text)) = datum else { unreachable!("a buffer below is a text") };
        Self::parse(&text).expect("the key has checked the buffer")
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Own(self.to_string().into()))
    }
}

/// The form of a buffer below.
pub(super) static BELOW: Own = Own {
    check: |value| {
        let text = text(value, r#"a text with a unit such as "1514 B""#)?;
        BelowSpec::parse(text).map(|_| ()).map_err(ValueError::Form)
    },
    schema: || json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*[A-Za-z]+\s*(wake\s*[0-9.]+\s*[A-Za-z]+\s*)?(bql\s*(max\s*[0-9.]+\s*[A-Za-z]+\s*)?)?$|^\s*bql\s*(max\s*[0-9.]+\s*[A-Za-z]+\s*)?$" }),
};

fn read_size(text: &str) -> Result<(Unit, u64), String> {
    if let Ok(packets) = units::packets(text) {
        return Ok((Unit::Packets, packets));
    }
    let wrong =
        || format!(r#"{text:?} is no size; write e.g. "1514 B", "256 packets wake 64 packets" or "4 packets bql""#);
    units::bytes(text).map(|bytes| (Unit::Bytes, bytes)).map_err(|_| wrong())
}

/// The bytes of `max 3 kB`; above zero.
fn most_bytes(text: &str) -> Option<u64> {
    let bytes = units::bytes(text.strip_prefix("max")?.trim()).ok()?;
    (bytes > 0 && bytes <= MOST_BQL).then_some(bytes)
}

fn show(unit: Unit, n: u64) -> String {
    format!("{n} {}", if unit == Unit::Bytes { "B" } else { "packets" })
}

/// Linux's byte queue limits.
const BQL: &str = "bql";
/// The kernel's largest limit (`DQL_MAX_LIMIT`).
pub(crate) const MOST_BQL: u64 = u32::MAX as u64 / 2 - u32::MAX as u64 / 16;
/// A ring without end: only the byte limit bounds what the driver takes.
const ENDLESS: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thresholds() {
        for (text, canonical) in [
            ("1514 B", "1514 B wake 1514 B"),
            ("3 kB wake 1500B", "3000 B wake 1500 B"),
            ("256 packets", "256 packets wake 255 packets"),
            ("256p wake 64p", "256 packets wake 64 packets"),
            ("1 packet", "1 packets wake 0 packets"),
            ("bql", "bql"),
            (" bql  max 1514B ", "bql max 1514 B"),
            ("4 packets bql", "4 packets wake 3 packets bql"),
            ("4p wake 1p bql max 3 kB", "4 packets wake 1 packets bql max 3000 B"),
        ] {
            let spec = BelowSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), canonical);
            assert_eq!(BelowSpec::parse(canonical).unwrap(), spec);
        }
        for (text, error) in [
            ("1514", r#""1514" is no size; write e.g. "1514 B", "256 packets wake 64 packets" or "4 packets bql""#),
            ("bql 3 kB", r#""bql 3 kB": "3 kB" does not bound a byte limit; write e.g. "bql max 3 kB""#),
            ("bql max 0 B", r#""bql max 0 B": "max 0 B" does not bound a byte limit; write e.g. "bql max 3 kB""#),
            (
                "3 kB bql",
                r#""3 kB bql" has two limits in bytes; write a ring of packets, "4 packets bql", or one limit"#,
            ),
            ("0 packets bql", r#""0 packets bql" holds nothing; write at least 1, or leave the key out"#),
            ("0 B", r#""0 B" holds nothing; write at least 1, or leave the key out"#),
            (
                "9 packets wake 1 B",
                r#""9 packets wake 1 B" stops and wakes in different units; write both in bytes or in packets"#,
            ),
            (
                "9 packets wake 9 packets",
                r#""9 packets wake 9 packets" wakes while it is stopped; write at most wake 8 packets"#,
            ),
        ] {
            assert_eq!(BelowSpec::parse(text).unwrap_err(), error);
        }
    }
}
