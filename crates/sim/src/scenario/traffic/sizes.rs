//! Sizes that are constant or drawn by the seed, written like the distributions of `[draw]`.

use crate::scenario::ValueError;
use crate::scenario::keys::{CustomForm, mismatch};
use crate::scenario::values::text;
use serde_json::{Value, json};
use sojourn_aqm::{Rng, units};

/// Sizes in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SizeDistribution {
    /// Constant size.
    One(u64),
    /// Uniform between these two, both included.
    Uniform(u64, u64),
    /// Uniform in the logarithm: as often between 1 kB and 10 kB as between 10 kB and 100 kB.
    LogUniform(u64, u64),
}

impl SizeDistribution {
    /// Draws a size; a constant size does not advance `rng`.
    pub(crate) fn draw(self, rng: &mut Rng) -> u64 {
        match self {
            Self::One(size) => size,
            Self::Uniform(least, most) => least + (rng.uniform() * (most - least + 1) as f64) as u64,
            Self::LogUniform(least, most) => {
                let span = libm::log(most as f64) - libm::log(least as f64);
                let size = least as f64 * libm::exp(span * rng.uniform());
                // Rounding errors of exp() may leave the range.
                (size.round() as u64).clamp(least, most)
            }
        }
    }

    /// Reads `"10 kB"` or `{ uniform = ["1 kB", "50 kB"] }`.
    pub(in crate::scenario) fn read(value: &Value) -> Result<Self, ValueError> {
        let Value::Object(table) = value else { return size(value).map(Self::One) };
        let wrong = || mismatch(value, FORMS);
        let (name, ends) = table.iter().next().filter(|_| table.len() == 1).ok_or_else(wrong)?;
        let Some([least, most]) = ends.as_array().map(Vec::as_slice) else { return Err(wrong()) };
        let (least, most) = (size(least)?, size(most)?);
        if least > most {
            return Err(ValueError::Form(format!(
                "from {least} B to {most} B is not a range; write the lower end first"
            )));
        }
        match name.as_str() {
            "uniform" => Ok(Self::Uniform(least, most)),
            "log_uniform" => Ok(Self::LogUniform(least, most)),
            _ => Err(wrong()),
        }
    }

    pub(in crate::scenario) fn write(self) -> Value {
        let ends = |least: u64, most: u64| json!([format!("{least} B"), format!("{most} B")]);
        match self {
            Self::One(size) => format!("{size} B").into(),
            Self::Uniform(least, most) => json!({ "uniform": ends(least, most) }),
            Self::LogUniform(least, most) => json!({ "log_uniform": ends(least, most) }),
        }
    }
}

fn size(value: &Value) -> Result<u64, ValueError> {
    let bytes = units::bytes(text(value, FORMS)?)?;
    if (1..=MAX_SIZE).contains(&bytes) {
        Ok(bytes)
    } else {
        Err(ValueError::Form(format!("{bytes} B is out of range; write a size from 1 B to {MAX_SIZE} B")))
    }
}

const FORMS: &str = r#"a size such as "10 kB", { uniform = ["1 kB", "50 kB"] } or { log_uniform = ["1 kB", "50 kB"] }"#;

/// Maximum size: whole numbers up to it are exact in an `f64`.
const MAX_SIZE: u64 = 1 << 50;

pub(in crate::scenario) static SIZES: CustomForm = CustomForm {
    check: |value| SizeDistribution::read(value).map(|_| ()),
    schema: || {
        let ends = json!({ "type": "array", "items": { "type": "string" }, "minItems": 2, "maxItems": 2 });
        let table = |name: &str| json!({ "type": "object", "properties": { name: ends.clone() }, "required": [name], "additionalProperties": false });
        json!({
            "title": "size or distribution",
            "anyOf": [{ "type": "string" }, table("uniform"), table("log_uniform")],
            "examples": ["10 kB", { "log_uniform": ["1 kB", "50 kB"] }],
        })
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written() {
        for (value, sizes) in [
            (json!("10 kB"), SizeDistribution::One(10_000)),
            (json!({ "uniform": ["1 kB", "1 kB"] }), SizeDistribution::Uniform(1_000, 1_000)),
            (json!({ "log_uniform": ["1 B", "2 MB"] }), SizeDistribution::LogUniform(1, 2_000_000)),
        ] {
            let read = SizeDistribution::read(&value).unwrap();
            assert_eq!((read, SizeDistribution::read(&read.write()).unwrap()), (sizes, sizes));
        }
        for (wrong, part) in [
            (json!({ "uniform": ["2 kB", "1 kB"] }), "write the lower end first"),
            (json!({ "normal": ["1 kB", "2 kB"] }), "log_uniform"),
            (json!({ "uniform": ["1 kB"] }), "log_uniform"),
            (json!(10), "\"10 kB\""),
            (json!("0 B"), "from 1 B"),
        ] {
            let error = SizeDistribution::read(&wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{wrong}: {error}");
        }
    }

    #[test]
    fn draws_fill_their_range() {
        let mut rng = Rng::from_state(1);
        let mut draws = |sizes: SizeDistribution| -> Vec<u64> { (0..10_000).map(|_| sizes.draw(&mut rng)).collect() };
        let dice = draws(SizeDistribution::Uniform(1, 6));
        for side in 1..=6 {
            let share = dice.iter().filter(|&&n| n == side).count();
            assert!((1_500..1_830).contains(&share), "{side}: {share} of 10,000");
        }
        let sizes = draws(SizeDistribution::LogUniform(1_000, 100_000));
        let small = sizes.iter().filter(|&&size| size < 10_000).count();
        assert!((4_800..5_200).contains(&small), "{small} of 10,000 below the middle of the logarithm");
        assert!(sizes.iter().all(|size| (1_000..=100_000).contains(size)));
    }
}
