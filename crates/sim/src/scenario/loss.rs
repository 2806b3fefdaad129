//! Loss on the medium: independent, or in bursts (Gilbert–Elliott).

use super::keys::{CustomForm, Datum, Field, mismatch, time_of};
use super::value_error::{LossError, ValueError};
use serde_json::{Map, Value, json};
use sojourn_aqm::Duration;
use sojourn_aqm::params::unknown;

/// Loss of packets between the link's server and its far end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LossSpec {
    /// Independent loss with this probability, 0 to 1.
    Random(f64),
    /// Chain of a good and a bad state.
    Gilbert(Gilbert),
}

/// Gilbert–Elliott: a chain of two states. The mean loss is (r · good + p · bad) / (p + r); the mean stay in the bad
/// state is 1 / r steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gilbert {
    /// Transition probability from good to bad, 0 to 1; `p + r` is above 0.
    pub p: f64,
    /// Transition probability from bad to good, 0 to 1.
    pub r: f64,
    /// Loss probability in the bad state, 1 − h, 0 to 1.
    pub bad: f64,
    /// Loss probability in the good state, 1 − k, 0 to 1.
    pub good: f64,
    /// Time between steps of the chain; `None`: one step per packet.
    pub step: Option<Duration>,
}

impl LossSpec {
    /// Reads a probability or a table `{ p, r, bad, good, step }`.
    pub fn read(value: &Value) -> Result<Self, LossError> {
        match value {
            Value::Number(number) if number.as_u64() == Some(1) => Err(LossError::One),
            Value::Number(_) => probability(value).map(Self::Random),
            Value::String(text) if text.trim() == "1" => Err(LossError::One),
            Value::String(text) => Self::share(text).map(Self::Random),
            Value::Object(table) => Gilbert::read(table).map(Self::Gilbert),
            other => {
                Err(mismatch(other, "a probability such as 0.01, or a table such as { p = 0.002, r = 0.2 }").into())
            }
        }
    }

    /// Reads a probability as a text: `1%`, `0.01`.
    pub fn share(text: &str) -> Result<f64, LossError> {
        let (digits, unit) = text.trim().strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        let number: f64 = digits.trim().parse().map_err(|_| LossError::NoProbability(text.to_string()))?;
        probability(&json!(number / unit))
    }

    /// Inverse of [`LossSpec::read`].
    pub fn canonical(&self) -> Value {
        match self {
            Self::Random(probability) => json!(probability),
            Self::Gilbert(gilbert) => gilbert.write(),
        }
    }
}

impl Gilbert {
    fn read(table: &Map<String, Value>) -> Result<Self, LossError> {
        if let Some(name) = table.keys().find(|name| !KEYS.contains(&name.as_str())) {
            return Err(ValueError::Unknown(unknown("key", name, KEYS.iter().copied())).into());
        }
        let at = |key| move |reason: LossError| LossError::Key { key, reason: Box::new(reason) };
        let read = |name: &'static str, absent: Option<f64>| match (table.get(name), absent) {
            (Some(value), _) => probability(value).map_err(at(name)),
            (None, Some(absent)) => Ok(absent),
            (None, None) => Err(LossError::Missing(name)),
        };
        let step = match table.get("step") {
            None => None,
            Some(Value::String(text)) => {
                Some(time_of(text, Duration::from_nanos(1)).map_err(|wrong| at("step")(wrong.into()))?)
            }
            Some(other) => return Err(mismatch(other, r#"step as a text such as "1 ms""#).into()),
        };
        let spec = Self {
            p: read("p", None)?,
            r: read("r", None)?,
            bad: read("bad", Some(1.0))?,
            good: read("good", Some(0.0))?,
            step,
        };
        if spec.p + spec.r == 0.0 {
            return Err(LossError::Still);
        }
        Ok(spec)
    }

    fn write(&self) -> Value {
        let mut out = json!({ "p": self.p, "r": self.r, "bad": self.bad, "good": self.good });
        if let Some(step) = self.step {
            out["step"] = step.to_string().into();
        }
        out
    }
}

impl Field for LossSpec {
    fn some(datum: Datum) -> Self {
        let Datum::Custom(value) = datum else { unreachable!("a loss has a form of its own") };
        Self::read(&value).expect("the key has checked the loss")
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(self.canonical()))
    }
}

/// Form of a loss.
pub(super) static LOSS: CustomForm =
    CustomForm { check: |value| LossSpec::read(value).map(|_| ()).map_err(|wrong| Box::new(wrong).into()), schema };

fn schema() -> Value {
    let probability = json!({ "type": "number", "minimum": 0, "maximum": 1 });
    let share = json!({ "type": "string", "pattern": "^ *[0-9.]+ *%? *$", "examples": ["1%"] });
    json!({ "title": "probability or table", "anyOf": [probability, share, {
        "type": "object",
        "properties": {
            "p": probability, "r": probability, "bad": probability, "good": probability,
            "step": { "$ref": "#/$defs/duration" },
        },
        "required": ["p", "r"],
        "additionalProperties": false,
    }] })
}

fn probability(value: &Value) -> Result<f64, LossError> {
    let number = value.as_f64().ok_or_else(|| mismatch(value, "a probability such as 0.01"))?;
    if (0.0..=1.0).contains(&number) { Ok(number) } else { Err(LossError::OutOfRange(number)) }
}

const KEYS: &[&str] = &["p", "r", "bad", "good", "step"];
