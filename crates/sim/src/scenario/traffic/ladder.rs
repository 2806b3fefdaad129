//! Ladder of encoding rates.

use crate::scenario::ValueError;
use crate::scenario::keys::{CustomForm, mismatch};
use crate::scenario::values::rate;
use serde_json::{Value, json};
use sojourn_aqm::Rate;

/// Rates in ascending order, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder(Vec<Rate>);

impl Ladder {
    /// Rates in ascending order.
    pub fn rates(&self) -> &[Rate] {
        &self.0
    }

    /// Reads `["1 Mbit/s", "4 Mbit/s"]`.
    pub(in crate::scenario) fn read(value: &Value) -> Result<Self, ValueError> {
        let Value::Array(rates) = value else { return Err(mismatch(value, FORM)) };
        let rates: Vec<Rate> = rates.iter().map(rate).collect::<Result<_, _>>()?;
        if rates.is_empty() {
            return Err(mismatch(value, FORM));
        }
        match rates.windows(2).find(|pair| pair[0] >= pair[1]) {
            Some(pair) => {
                Err(ValueError::Form(format!("{} is not above {}; write them in ascending order", pair[1], pair[0])))
            }
            None => Ok(Self(rates)),
        }
    }

    pub(in crate::scenario) fn write(&self) -> Value {
        self.0.iter().map(Rate::to_string).collect()
    }
}

const FORM: &str = r#"a list of rates such as ["1 Mbit/s", "4 Mbit/s"]"#;

pub(in crate::scenario) static LADDER: CustomForm = CustomForm {
    check: |value| Ladder::read(value).map(|_| ()),
    schema: || json!({ "title": "list of rates", "type": "array", "items": { "$ref": "#/$defs/rate" }, "minItems": 1, "examples": [["1 Mbit/s", "4 Mbit/s"]] }),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_they_are_written_and_rise() {
        let value = json!(["500 kbit/s", "1.5 Mbit/s"]);
        let ladder = Ladder::read(&value).unwrap();
        assert_eq!(ladder.rates(), [500_000, 1_500_000].map(Rate::from_bps));
        assert_eq!(Ladder::read(&ladder.write()).unwrap(), ladder);
        for (wrong, part) in [
            (json!(["4 Mbit/s", "4 Mbit/s"]), "4 Mbit/s is not above 4 Mbit/s; write them in ascending order"),
            (json!([]), "[\"1 Mbit/s\", \"4 Mbit/s\"]"),
            (json!("4 Mbit/s"), "a list of rates"),
            (json!([4]), "unit"),
        ] {
            let error = Ladder::read(&wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{wrong}: {error}");
        }
    }
}
