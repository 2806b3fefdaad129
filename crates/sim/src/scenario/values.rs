//! Readers of values: from JSON, or an error that says what to write.

use super::value_error::ValueError;
use serde_json::Value;
use sojourn_aqm::units;
use sojourn_aqm::{Duration, Limits, Rate};

/// Error "expected …, found …" for a value of the wrong type.
pub(super) fn mismatch(value: &Value, expected: &str) -> ValueError {
    let found = match value {
        Value::Null => "nothing",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a table",
    };
    ValueError::Mismatch { expected: expected.to_string(), found }
}

fn not_positive(text: &str, example: &'static str) -> ValueError {
    ValueError::NotPositive { text: text.to_string(), example }
}

fn out_of_range(value: String, range: String) -> ValueError {
    ValueError::OutOfRange { value, range }
}

pub(super) fn text<'a>(value: &'a Value, expected: &str) -> Result<&'a str, ValueError> {
    value.as_str().ok_or_else(|| mismatch(value, expected))
}

pub(super) fn time(value: &Value, least: Duration) -> Result<Duration, ValueError> {
    time_of(text(value, r#"a text with a unit such as "5 ms""#)?, least)
}

/// Parses a time of at least `least`.
pub(super) fn time_of(text: &str, least: Duration) -> Result<Duration, ValueError> {
    match units::duration(text)? {
        span if span < least => Err(not_positive(text, "5 ms")),
        span if span > LONGEST => Err(out_of_range(format!("{text:?}"), format!("at most {LONGEST}"))),
        span => Ok(span),
    }
}

pub(super) fn rate(value: &Value) -> Result<Rate, ValueError> {
    let text = text(value, r#"a text with a unit such as "10 Mbit/s""#)?;
    match rate_of(text)? {
        rate if rate.as_bps() == 0 => Err(not_positive(text, "10 Mbit/s")),
        rate => Ok(rate),
    }
}

/// Parses a rate, which may be zero.
pub(super) fn rate_of(text: &str) -> Result<Rate, ValueError> {
    match units::rate(text)? {
        rate if rate > FASTEST => Err(out_of_range(format!("{text:?}"), format!("at most {FASTEST}"))),
        rate => Ok(rate),
    }
}

pub(super) fn count(value: &Value, least: u64, most: u64) -> Result<u64, ValueError> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(count) => in_range(count, least, most, ""),
            None if number.is_i64() => Err(out_of_range(number.to_string(), format!("from {least} to {most}"))),
            None => Err(ValueError::NotWhole(number.clone())),
        },
        other => Err(mismatch(other, "a whole number")),
    }
}

pub(super) fn in_range(n: u64, least: u64, most: u64, unit: &str) -> Result<u64, ValueError> {
    if (least..=most).contains(&n) {
        Ok(n)
    } else {
        Err(out_of_range(format!("{n}{unit}"), format!("from {least}{unit} to {most}{unit}")))
    }
}

pub(super) fn names(value: &Value) -> Result<Vec<String>, ValueError> {
    let expected = r#"a list of names such as ["link"]"#;
    let list = value.as_array().ok_or_else(|| mismatch(value, expected))?;
    list.iter().map(|name| text(name, expected).map(str::to_string)).collect()
}

pub(super) fn limits(value: &Value) -> Result<Limits, ValueError> {
    let expected = r#"a text with a unit such as "1000 packets", or a list of such"#;
    let parts = match value {
        Value::Array(parts) => parts.iter().map(|part| text(part, expected)).collect::<Result<Vec<_>, _>>()?,
        other => vec![text(other, expected)?],
    };
    if parts.is_empty() {
        return Err(ValueError::Empty("1000 packets"));
    }
    Ok(Limits::parse(&parts.join("+"))?)
}

/// Maximum time in a file; sums of several stay within the range of a [`Duration`].
pub(super) const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// Maximum rate in a file; a packet's bit-nanoseconds stay within 64 bits.
const FASTEST: Rate = Rate::from_bps(10_000_000_000_000);
