//! Schedules: values that change at given times, `100 Mbit/s@0s,10 Mbit/s@50s`.

use super::keys::{CustomForm, Datum, Field, rate_of, text, time_of};
use super::value_error::{StepsError, ValueError};
pub use crate::schedule::Steps;
use serde_json::{Value, json};
use sojourn_aqm::{Duration, Rate};
use std::fmt;
use std::io::Read;

/// Type of the values of a schedule.
pub trait StepValue: Sized + fmt::Display + Copy {
    /// Example of a single value, for errors.
    const SINGLE: &'static str;
    /// Example of a schedule, for errors.
    const EXAMPLE: &'static str;
    /// Reads one value; the error says what is wrong and what to write.
    fn parse(text: &str) -> Result<Self, ValueError>;
}

/// Rates in a schedule may be zero.
impl StepValue for Rate {
    const SINGLE: &'static str = "10 Mbit/s";
    const EXAMPLE: &'static str = "100 Mbit/s@0s,10 Mbit/s@50s";
    fn parse(text: &str) -> Result<Self, ValueError> {
        rate_of(text)
    }
}

impl StepValue for Duration {
    const SINGLE: &'static str = "5 ms";
    const EXAMPLE: &'static str = "20 ms@0s,60 ms@50s";
    fn parse(text: &str) -> Result<Self, ValueError> {
        time_of(text, Self::ZERO)
    }
}

impl<T: StepValue> Steps<T> {
    /// Reads a schedule; a single value without a time holds from the start.
    pub fn parse(text: &str) -> Result<Self, StepsError> {
        if !text.contains([',', '@']) {
            return Ok(Self::constant(T::parse(text)?));
        }
        let mut steps: Vec<(Duration, T)> = Vec::new();
        for part in text.split(',') {
            let step = follows(steps.last().map(|last| last.0), read_step(part.trim())?)?;
            steps.push(step);
        }
        Ok(Self::from_ordered(steps))
    }

    /// Reads a trace with one step per line, `20 ms@0 s`; skips empty lines and comments after `#`. Errors begin with
    /// `name`, the file.
    pub fn read_trace(mut source: impl Read, name: &str) -> Result<Self, String> {
        let mut text = String::new();
        let most = MAX_BYTES + 1;
        source.by_ref().take(most).read_to_string(&mut text).map_err(|e| format!("{name}: {e}"))?;
        if text.len() as u64 == most {
            return Err(format!("{name}: is longer than {} MB; write fewer steps", MAX_BYTES / 1_000_000));
        }
        let mut steps: Vec<(Duration, T)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let step = read_step(line).and_then(|step| follows(steps.last().map(|last| last.0), step));
            steps.push(step.map_err(|wrong| format!("{name}: line {number}: {wrong}"))?);
        }
        if steps.is_empty() {
            return Err(format!(
                "{name}: has no step; write e.g. {:?} into a line",
                T::EXAMPLE.split(',').next().unwrap_or_default()
            ));
        }
        Ok(Self::from_ordered(steps))
    }
}

/// Checks that `step` follows the one at `last`.
fn follows<T>(last: Option<Duration>, step: (Duration, T)) -> Result<(Duration, T), StepsError> {
    match last {
        None if step.0 > Duration::ZERO => Err(StepsError::LateStart(step.0)),
        Some(last) if step.0 == last => Err(StepsError::Twice(last)),
        Some(last) if step.0 < last => Err(StepsError::Disordered { at: step.0, last }),
        _ => Ok(step),
    }
}

/// Maximum bytes of a trace.
const MAX_BYTES: u64 = 4_000_000;

impl<T: StepValue> Field for Steps<T> {
    fn some(datum: Datum) -> Self {
        let Datum::Custom(Value::String(text)) = datum else { unreachable!("steps are a text") };
        Self::parse(&text).expect("the key has checked the steps")
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Custom(self.to_string().into()))
    }
}

/// Form of a schedule of rates.
pub(super) static RATES: CustomForm = CustomForm { check: check::<Rate>, schema: || pattern("rate", "rate") };

/// Form of a schedule of delays.
pub(super) static DELAYS: CustomForm = CustomForm { check: check::<Duration>, schema: || pattern("time", "duration") };

fn check<T: StepValue>(value: &Value) -> Result<(), ValueError> {
    let text = text(value, &format!("a text with a unit such as {:?}", T::SINGLE))?;
    Steps::<T>::parse(text).map(|_| ()).map_err(|wrong| Box::new(wrong).into())
}

/// Schema of a single value or a schedule; it cannot check the order of the times.
fn pattern(name: &str, single: &str) -> Value {
    json!({ "title": format!("{name} or schedule"), "anyOf": [
        { "$ref": format!("#/$defs/{single}") },
        { "type": "string", "pattern": "^[^@,]+@[^@,]+(,[^@,]+@[^@,]+)*$" },
    ] })
}

fn read_step<T: StepValue>(part: &str) -> Result<(Duration, T), StepsError> {
    let no_time = || StepsError::NoTime { step: part.to_string(), example: T::EXAMPLE };
    let wrong = |reason| StepsError::Step { step: part.to_string(), reason };
    let (value, at) = part.split_once('@').ok_or_else(no_time)?;
    let value = T::parse(value.trim()).map_err(wrong)?;
    let at = time_of(at.trim(), Duration::ZERO).map_err(wrong)?;
    Ok((at, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_written() {
        for (text, canonical) in [
            ("100mbit@0s,10mbit@50s", "100 Mbit/s@0 s,10 Mbit/s@50 s"),
            (" 1 Mbit/s @ 0 ms , 0 bit/s @ 1.5 s ", "1 Mbit/s@0 s,0 bit/s@1.5 s"),
            ("5 Mbit/s@0s", "5 Mbit/s"),
            ("5 Mbit/s", "5 Mbit/s"),
        ] {
            let steps = Steps::<Rate>::parse(text).unwrap();
            assert_eq!(steps.to_string(), canonical);
            assert_eq!(Steps::parse(canonical).unwrap(), steps);
        }
    }

    #[test]
    fn a_trace_has_a_step_in_a_line() {
        let of = |text: &str| Steps::<Duration>::read_trace(text.as_bytes(), "rtt.trace");
        let steps = of("# one way\n20 ms@0 s\n\n  25.5ms @ 100ms  # a cell\n21 ms@0.3 s").unwrap();
        assert_eq!(steps, Steps::parse("20ms@0s,25.5ms@100ms,21ms@300ms").unwrap());
        for (text, error) in [
            ("", r#"rtt.trace: has no step; write e.g. "20 ms@0s" into a line"#),
            ("20 ms@0s\n\n30 ms", r#"rtt.trace: line 3: step "30 ms" has no time; write e.g. "20 ms@0s,60 ms@50s""#),
            ("20 ms@1s", "rtt.trace: line 1: the first step is at 1 s; begin with one at 0 s"),
            (
                "1ms@0s\n2ms@9s\n3ms@5s",
                "rtt.trace: line 3: the step at 5 s comes after the one at 9 s; put them in order",
            ),
        ] {
            assert_eq!(of(text).unwrap_err(), error);
        }
        assert_eq!(of(&"#".repeat(4_000_001)).unwrap_err(), "rtt.trace: is longer than 4 MB; write fewer steps");
        let binary = Steps::<Duration>::read_trace(&[0xff, 0xfe][..], "x").unwrap_err();
        assert!(binary.starts_with("x: stream did not contain valid UTF-8"), "{binary}");
    }

    #[test]
    fn refusals() {
        for (text, error) in [
            ("1mbit@0s,2mbit", r#"step "2mbit" has no time; write e.g. "100 Mbit/s@0s,10 Mbit/s@50s""#),
            ("1mbit@0s,", r#"step "" has no time; write e.g. "100 Mbit/s@0s,10 Mbit/s@50s""#),
            ("1mbit@1s,2mbit@2s", "the first step is at 1 s; begin with one at 0 s"),
            ("1mbit@0s,2mbit@9s,3mbit@5s", "the step at 5 s comes after the one at 9 s; put them in order"),
            ("1mbit@0s,2mbit@9s,3mbit@9s", "two steps are at 9 s; keep one of them"),
            ("1mbit@0s,-2mbit@9s", r#"step "-2mbit@9s": "-2mbit" is negative; write e.g. "10 Mbit/s""#),
            ("1mbit@0s,2mbit@-9s", r#"step "2mbit@-9s": "-9s" is negative; write e.g. "5 ms""#),
            ("1mbit@0s,2mbit@9", r#"step "2mbit@9": "9" has no unit; write e.g. "5 ms""#),
        ] {
            assert_eq!(Steps::<Rate>::parse(text).unwrap_err().to_string(), error);
        }
    }
}
