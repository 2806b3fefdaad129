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
        let (stop, wake) = match text.split_once("wake") {
            None => (text.trim(), None),
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
        Ok(Self { unit, stop, wake })
    }
}

impl fmt::Display for BelowSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} wake {}", show(self.unit, self.stop), show(self.unit, self.wake))
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
    schema: || json!({ "type": "string", "pattern": r"^\s*[0-9.]+\s*[A-Za-z]+\s*(wake\s*[0-9.]+\s*[A-Za-z]+\s*)?$" }),
};

fn read_size(text: &str) -> Result<(Unit, u64), String> {
    if let Ok(packets) = units::packets(text) {
        return Ok((Unit::Packets, packets));
    }
    let wrong = || format!(r#"{text:?} is no size; write e.g. "1514 B" or "256 packets wake 64 packets""#);
    units::bytes(text).map(|bytes| (Unit::Bytes, bytes)).map_err(|_| wrong())
}

fn show(unit: Unit, n: u64) -> String {
    format!("{n} {}", if unit == Unit::Bytes { "B" } else { "packets" })
}

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
        ] {
            let spec = BelowSpec::parse(text).unwrap();
            assert_eq!(spec.to_string(), canonical);
            assert_eq!(BelowSpec::parse(canonical).unwrap(), spec);
        }
        for (text, error) in [
            ("1514", r#""1514" is no size; write e.g. "1514 B" or "256 packets wake 64 packets""#),
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
