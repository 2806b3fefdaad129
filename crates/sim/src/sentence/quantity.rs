//! Quantities: of canonical scenarios (`5 ms`, `10 Mbit/s`) and as a sentence has them.

use serde_json::Value;
use sojourn_aqm::units;

/// Base unit of a canonical value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Seconds,
    BitsPerSecond,
    Bytes,
    Packets,
    None,
}

impl Base {
    /// Unit in a sentence, and the factor to it.
    pub fn unit(self) -> (&'static str, f64) {
        match self {
            Self::Seconds => ("ms", 1e3),
            Self::BitsPerSecond => ("Mbit/s", 1e-6),
            Self::Bytes => ("B", 1.0),
            Self::Packets => ("packets", 1.0),
            Self::None => ("", 1.0),
        }
    }
}

const SECONDS: [(&str, f64); 5] = [("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0), ("min", 60.0)];
const BITS: [(&str, f64); 4] = [("bit/s", 1.0), ("kbit/s", 1e3), ("Mbit/s", 1e6), ("Gbit/s", 1e9)];

/// Number in the base unit, and the base unit, of a canonical value; the maximum of a schedule of rates. `None` if it
/// is no number.
pub(super) fn of_value(value: &Value) -> Option<(f64, Base)> {
    match value {
        Value::Number(number) => Some((number.as_f64()?, Base::None)),
        Value::String(text) if text.contains('@') && text.contains("bit/s") => {
            let rates = text.split(',').map(|step| of_text(step.split('@').next().unwrap_or(step).trim()));
            let rates = rates.map(|rate| rate.map(|(bits, _)| bits)).collect::<Option<Vec<_>>>()?;
            rates.into_iter().reduce(f64::max).map(|most| (most, Base::BitsPerSecond))
        }
        Value::String(text) => of_text(text),
        _ => None,
    }
}

fn of_text(text: &str) -> Option<(f64, Base)> {
    let (number, unit) = text.split_once(' ')?;
    let find = |units: &[(&str, f64)]| units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor);
    let (factor, base) = match unit {
        "B" => (1.0, Base::Bytes),
        "packets" => (1.0, Base::Packets),
        _ => find(&SECONDS).map(|f| (f, Base::Seconds)).or_else(|| find(&BITS).map(|f| (f, Base::BitsPerSecond)))?,
    };
    let digits = number.replacen('.', "", 1);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| number.parse::<f64>().ok()).flatten().map(|number| (number * factor, base))
}

/// Seconds of a canonical duration, or of the first step of a schedule of durations.
pub(super) fn seconds(value: &Value) -> Option<f64> {
    let text = value.as_str()?;
    let first = text.split([',', '@']).next().unwrap_or(text).trim();
    of_text(first).filter(|(_, base)| *base == Base::Seconds).map(|(seconds, _)| seconds)
}

/// Unit and number of a quantity in a sentence.
pub(super) fn written(number: &str, unit: &'static str) -> Result<(&'static str, f64), String> {
    let value: f64 = number.parse().map_err(|_| format!("{number:?} is not a number"))?;
    let scaled = |units: &[(&str, f64)], own: &str| {
        let factor = |unit: &str| units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor);
        Some(value * (factor(unit)? / factor(own)?))
    };
    Ok(match unit {
        "%" => ("%", value),
        "packet" | "packets" => ("packets", value),
        _ => {
            if let Some(time) = scaled(&SECONDS, "ms") {
                ("ms", time)
            } else if let Some(rate) = scaled(&BITS, "Mbit/s") {
                ("Mbit/s", rate)
            } else {
                ("B", units::bytes(&format!("{number} {unit}")).map_err(|error| error.0)? as f64)
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn canonical_values() {
        for (value, expected) in [
            (json!("5 ms"), Some((0.005, Base::Seconds))),
            (json!("3.7 Mbit/s"), Some((3.7e6, Base::BitsPerSecond))),
            (json!("59 Mbit/s@0 s,636 kbit/s@16 s"), Some((59e6, Base::BitsPerSecond))),
            (json!("200 B"), Some((200.0, Base::Bytes))),
            (json!("36 packets"), Some((36.0, Base::Packets))),
            (json!(3), Some((3.0, Base::None))),
            (json!(true), None),
            (json!("not-ect"), None),
            (json!("- ms"), None),
        ] {
            assert_eq!(of_value(&value), expected, "{value}");
        }
        assert_eq!(seconds(&json!("10 ms@0 s,20 ms@5 s")), Some(0.01));
        assert_eq!(written("3", "kbit/s"), Ok(("Mbit/s", 0.003)));
        assert_eq!(written("2", "KiB"), Ok(("B", 2048.0)));
    }
}
