//! Values of a scenario's keys: each is read from JSON, or refused with what to write instead.

use serde_json::Value;
use sojourn_aqm::{Duration, Limits, Rate, units};

/// "expected …, found …".
pub(super) fn mismatch(value: &Value, expected: &str) -> String {
    let found = match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    };
    format!("expected {expected}, found {found}")
}

pub(super) fn text<'a>(value: &'a Value, expected: &str) -> Result<&'a str, String> {
    value.as_str().ok_or_else(|| mismatch(value, expected))
}

pub(super) fn time(value: &Value, least: Duration) -> Result<Duration, String> {
    time_of(text(value, r#"a text with a unit such as "5 ms""#)?, least)
}

/// The span that `text` names; at least `least`.
pub(super) fn time_of(text: &str, least: Duration) -> Result<Duration, String> {
    match units::duration(text).map_err(|e| e.0)? {
        span if span < least => Err(format!(r#"{text:?} is not above zero; write e.g. "5 ms""#)),
        span if span > LONGEST => Err(format!("{text:?} is out of range; at most {LONGEST}")),
        span => Ok(span),
    }
}

pub(super) fn rate(value: &Value) -> Result<Rate, String> {
    let text = text(value, r#"a text with a unit such as "10 Mbit/s""#)?;
    match rate_of(text)? {
        rate if rate.as_bps() == 0 => Err(format!(r#"{text:?} is not above zero; write e.g. "10 Mbit/s""#)),
        rate => Ok(rate),
    }
}

/// The rate that `text` names, which may be zero.
pub(super) fn rate_of(text: &str) -> Result<Rate, String> {
    match units::rate(text).map_err(|e| e.0)? {
        rate if rate > FASTEST => Err(format!("{text:?} is out of range; at most {FASTEST}")),
        rate => Ok(rate),
    }
}

pub(super) fn count(value: &Value, least: u64, most: u64) -> Result<u64, String> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(count) => in_range(count, least, most, ""),
            None if number.is_i64() => Err(format!("{number} is out of range; from {least} to {most}")),
            None => Err(format!("{number} is not a whole number")),
        },
        other => Err(mismatch(other, "a whole number")),
    }
}

pub(super) fn in_range(n: u64, least: u64, most: u64, unit: &str) -> Result<u64, String> {
    if (least..=most).contains(&n) {
        Ok(n)
    } else {
        Err(format!("{n}{unit} is out of range; from {least}{unit} to {most}{unit}"))
    }
}

pub(super) fn names(value: &Value) -> Result<Vec<String>, String> {
    let expected = r#"a list of names such as ["link"]"#;
    let list = value.as_array().ok_or_else(|| mismatch(value, expected))?;
    list.iter().map(|name| text(name, expected).map(str::to_string)).collect()
}

pub(super) fn limits(value: &Value) -> Result<Limits, String> {
    let expected = r#"a text with a unit such as "1000 packets", or a list of such"#;
    let parts = match value {
        Value::Array(parts) => parts.iter().map(|part| text(part, expected)).collect::<Result<Vec<_>, _>>()?,
        other => vec![text(other, expected)?],
    };
    if parts.is_empty() {
        return Err(r#"the list is empty; write e.g. "1000 packets""#.to_string());
    }
    Limits::parse(&parts.join("+")).map_err(|e| e.0)
}

/// Longest span in a file; sums of several stay within the range of a [`Duration`].
pub(super) const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Highest rate in a file; a packet's bit-nanoseconds stay within 64 bits.
const FASTEST: Rate = Rate::from_bps(10_000_000_000_000);
