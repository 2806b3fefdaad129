//! Buffer below the queue: packets that a driver or a card holds, which the queue manager can no longer drop.

use super::ValueError;
use super::keys::{CustomForm, Datum, Field, text};
use serde_json::{Value, json};
use sojourn_aqm::units;
use std::fmt;

/// Capacity of the buffer, which includes the packet in transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TxRingSpec {
    /// Unit of `stop` and `wake`.
    pub unit: RingUnit,
    /// The buffer takes packets until it holds more than this many bytes, or this many packets; above zero.
    pub stop: u64,
    /// It takes packets again when it holds at most this much.
    pub wake: u64,
    /// Byte queue limits in addition (Linux's dynamic queue limits): an adaptive limit that keeps the driver busy, with
    /// this maximum in bytes.
    pub bql: Option<u64>,
}

/// Unit of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingUnit {
    /// Bytes of IP plus 14 B of Ethernet header, as in Linux's byte queue limits.
    Bytes,
    /// Packets.
    Packets,
}

impl TxRingSpec {
    fn parse(text: &str) -> Result<Self, String> {
        let Some((ring, bql)) = text.split_once(BQL) else { return Self::parse_ring(text, text) };
        let bql = Some(match bql.trim() {
            "" => MAX_BQL,
            most => most_bytes(most).ok_or_else(|| {
                format!(r#"{text:?}: {most:?} does not bound a byte limit; write e.g. "bql max 3 kB""#)
            })?,
        });
        if ring.trim().is_empty() {
            return Ok(Self { unit: RingUnit::Packets, stop: ENDLESS, wake: ENDLESS - 1, bql });
        }
        let ring = Self::parse_ring(ring, text)?;
        if ring.unit == RingUnit::Bytes {
            return Err(format!(
                r#"{text:?} has two limits in bytes; write a ring of packets, "4 packets bql", or one limit"#
            ));
        }
        Ok(Self { bql, ..ring })
    }

    /// Parses a ring or a fixed limit in `ring`, which is `text` or a part of it.
    fn parse_ring(ring: &str, text: &str) -> Result<Self, String> {
        let (stop, wake) = match ring.split_once("wake") {
            None => (ring.trim(), None),
            Some((stop, wake)) => (stop.trim(), Some(wake.trim())),
        };
        let (unit, stop) = read_size(stop)?;
        if stop == 0 {
            return Err(format!("{text:?} leaves no room for a packet; write at least 1, or leave the key out"));
        }
        // A ring has room again after one packet; a byte limit, when it is no longer exceeded.
        let default = if unit == RingUnit::Bytes { stop } else { stop - 1 };
        let wake = match wake.map(read_size).transpose()? {
            None => default,
            Some((other, _)) if other != unit => {
                return Err(format!("{text:?} stops and wakes in different units; write both in bytes or in packets"));
            }
            Some((_, wake)) if wake > default => {
                return Err(format!("{text:?} wakes above its stop limit; write at most wake {}", show(unit, default)));
            }
            Some((_, wake)) => wake,
        };
        Ok(Self { unit, stop, wake, bql: None })
    }
}

impl fmt::Display for TxRingSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.stop < ENDLESS {
            write!(f, "{} wake {}", show(self.unit, self.stop), show(self.unit, self.wake))?;
        }
        let Some(most) = self.bql else { return Ok(()) };
        let space = if self.stop < ENDLESS { " " } else { "" };
        write!(f, "{space}{BQL}")?;
        if most < MAX_BQL { write!(f, " max {}", show(RingUnit::Bytes, most)) } else { Ok(()) }
    }
}

impl Field for TxRingSpec {
    fn some(datum: Datum) -> Self {
        let Datum::Custom(Value::String(text)) = datum else { unreachable!("a buffer below is a text") };
        Self::parse(&text).expect("the key has checked the buffer")
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(self.to_string().into()))
    }
}

/// Form of a buffer below the queue.
pub(super) static BELOW: CustomForm = CustomForm {
    check: |value| {
        let text = text(value, r#"a text with a unit such as "1514 B""#)?;
        TxRingSpec::parse(text).map(|_| ()).map_err(ValueError::Form)
    },
    schema: || json!({ "title": "size, packets or `bql`", "type": "string", "pattern": r"^\s*[0-9.]+\s*[A-Za-z]+\s*(wake\s*[0-9.]+\s*[A-Za-z]+\s*)?(bql\s*(max\s*[0-9.]+\s*[A-Za-z]+\s*)?)?$|^\s*bql\s*(max\s*[0-9.]+\s*[A-Za-z]+\s*)?$" }),
};

fn read_size(text: &str) -> Result<(RingUnit, u64), String> {
    if let Ok(packets) = units::packets(text) {
        return Ok((RingUnit::Packets, packets));
    }
    let wrong =
        || format!(r#"{text:?} is not a size; write e.g. "1514 B", "256 packets wake 64 packets" or "4 packets bql""#);
    units::bytes(text).map(|bytes| (RingUnit::Bytes, bytes)).map_err(|_| wrong())
}

/// Parses `max 3 kB`; above zero.
fn most_bytes(text: &str) -> Option<u64> {
    let bytes = units::bytes(text.strip_prefix("max")?.trim()).ok()?;
    (bytes > 0 && bytes <= MAX_BQL).then_some(bytes)
}

fn show(unit: RingUnit, n: u64) -> String {
    format!("{n} {}", if unit == RingUnit::Bytes { "B" } else { "packets" })
}

/// Word for Linux's byte queue limits.
const BQL: &str = "bql";
/// The kernel's maximum limit (`DQL_MAX_LIMIT`).
pub(crate) const MAX_BQL: u64 = u32::MAX as u64 / 2 - u32::MAX as u64 / 16;
/// Unlimited ring: only the byte limit applies.
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
            let spec = TxRingSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), canonical);
            assert_eq!(TxRingSpec::parse(canonical).unwrap(), spec);
        }
        for (text, error) in [
            ("1514", r#""1514" is not a size; write e.g. "1514 B", "256 packets wake 64 packets" or "4 packets bql""#),
            ("bql 3 kB", r#""bql 3 kB": "3 kB" does not bound a byte limit; write e.g. "bql max 3 kB""#),
            ("bql max 0 B", r#""bql max 0 B": "max 0 B" does not bound a byte limit; write e.g. "bql max 3 kB""#),
            (
                "3 kB bql",
                r#""3 kB bql" has two limits in bytes; write a ring of packets, "4 packets bql", or one limit"#,
            ),
            ("0 packets bql", r#""0 packets bql" leaves no room for a packet; write at least 1, or leave the key out"#),
            ("0 B", r#""0 B" leaves no room for a packet; write at least 1, or leave the key out"#),
            (
                "9 packets wake 1 B",
                r#""9 packets wake 1 B" stops and wakes in different units; write both in bytes or in packets"#,
            ),
            (
                "9 packets wake 9 packets",
                r#""9 packets wake 9 packets" wakes above its stop limit; write at most wake 8 packets"#,
            ),
        ] {
            assert_eq!(TxRingSpec::parse(text).unwrap_err(), error);
        }
    }
}
