//! Parameters of users' classes: the arguments of `__init__`, which have defaults.

use crate::error::input;
use crate::manager::{explain, raise, text};
use crate::values::{ParamValue, to_dict};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::params::{Param, Value, unknown};
use sojourn_aqm::{Duration, Rate, units};

/// Name and default of each parameter of `__init__`, and the words of a choice.
pub type Declarations<'py> = Vec<(String, Bound<'py, PyAny>, Vec<String>)>;

/// Parameters by name.
pub type ParamValues = Vec<(&'static str, ParamValue)>;

/// Parameters of a class. They live as long as the program, like those of a registered algorithm.
#[derive(Clone, Debug)]
pub struct ClassParams {
    /// Their descriptions.
    pub list: &'static [Param],
    defaults: Vec<Value>,
}

impl ClassParams {
    /// The parameters `declared`: a default's type, or the unit in its text, gives the type.
    pub fn of(declared: Declarations) -> PyResult<Self> {
        let read = |(name, default, choices): (String, Bound<'_, PyAny>, Vec<String>)| {
            parameter(&name, &default, choices).map_err(|text| input(format!("{name}: {text}")))
        };
        let read = declared.into_iter().map(read).collect::<PyResult<Vec<_>>>()?;
        let (list, defaults): (Vec<Param>, Vec<Value>) = read.into_iter().unzip();
        Ok(Self { list: list.leak(), defaults })
    }

    /// Values of all parameters, with those of `given` set.
    pub fn values(&self, given: &[(String, String)]) -> Result<ParamValues, ConfigError> {
        let with_default = |(param, &value): (&Param, &Value)| (param.name, ParamValue(value));
        let mut values: ParamValues = self.list.iter().zip(&self.defaults).map(with_default).collect();
        for (name, text) in given {
            let Some(i) = self.list.iter().position(|param| param.name == name) else {
                return Err(ConfigError::Unknown(unknown("parameter", name, self.list.iter().map(|param| param.name))));
            };
            values[i].1 = ParamValue(self.list[i].parse(text)?);
        }
        Ok(values)
    }

    /// Those of `values` that differ from their defaults.
    pub fn changed(&self, values: &ParamValues) -> impl Iterator<Item = (&'static str, Value)> {
        let all = values.iter().zip(&self.defaults).map(|(&(name, value), default)| (name, value.0, *default));
        all.filter(|(_, value, default)| value != default).map(|(name, value, _)| (name, value))
    }
}

/// Validates parameters with `__init__` of the class `name`, so that errors are reported before a run starts; a
/// ValueError of the class is returned as its message. With another exception pending, the text counts for nothing.
pub fn check_init(name: &str, make: &Py<PyAny>, params: &ParamValues) -> Result<(), String> {
    let judge = |py: Python<'_>| match make.bind(py).call1((to_dict(py, params)?,)) {
        Ok(_) => Ok(Ok(())),
        Err(error) => match text(py, &error).filter(|_| error.is_instance_of::<PyValueError>(py)) {
            Some(text) => Ok(Err(text)),
            None => Err(explain(py, name, error, ("__init__", None))),
        },
    };
    let judged = Python::attach(|py| raise(py, || judge(py)));
    judged.unwrap_or_else(|| Err(format!("{name} cannot be created")))
}

/// Type of a parameter with this default, and the default.
fn parameter(name: &str, default: &Bound<'_, PyAny>, choices: Vec<String>) -> Result<(Param, Value), String> {
    let choices: Vec<&'static str> = choices.iter().map(|word| leak(word)).collect();
    let value = value(default, &choices)?;
    let range = match value {
        Value::Time(_) => (Value::Time(Duration::ZERO), Value::Time(Duration::from_secs(1_000_000_000))),
        Value::Bytes(_) => (Value::Bytes(0), Value::Bytes(u64::MAX)),
        Value::Rate(_) => (Value::Rate(Rate::from_bps(0)), Value::Rate(Rate::from_bps(u64::MAX))),
        Value::Count(_) => (Value::Count(0), Value::Count(u64::MAX)),
        Value::Number(_) => (Value::Number(f64::MIN), Value::Number(f64::MAX)),
        Value::Flag(_) => (Value::Flag(false), Value::Flag(true)),
        Value::Choice(_) => (Value::Choice(""), Value::Choice("")),
        // No default of a class has these types.
        other @ (Value::Bands(_) | Value::Minor(_) | Value::Distribution(_)) => (other, other),
    };
    Ok((Param { name: leak(name), doc: "", range, choices: choices.leak() }, value))
}

fn value(default: &Bound<'_, PyAny>, choices: &[&'static str]) -> Result<Value, String> {
    if let Ok(on) = default.extract::<bool>() {
        return Ok(Value::Flag(on));
    }
    if let Ok(n) = default.extract::<u64>() {
        return Ok(Value::Count(n));
    }
    if let Ok(text) = default.extract::<String>() {
        if let Some(word) = choices.iter().find(|word| **word == text) {
            return Ok(Value::Choice(word));
        }
        let time = units::duration(&text).map(Value::Time);
        let found =
            time.or_else(|_| units::rate(&text).map(Value::Rate)).or_else(|_| units::bytes(&text).map(Value::Bytes));
        return found.map_err(|_| {
            format!(r#"{text:?} is neither a time, a rate, a size nor a word of a Literal; write e.g. "5 ms""#)
        });
    }
    match default.extract::<f64>() {
        Ok(x) if x.is_finite() => Ok(Value::Number(x)),
        _ => Err(format!(r#"the default {default} is not of a parameter's type; write e.g. True, 3, 0.5 or "5 ms""#)),
    }
}

pub fn leak(text: &str) -> &'static str {
    Box::leak(text.into())
}
