//! Conversion of values from and to Python.

use crate::error::input;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sojourn_aqm::Limits;
use sojourn_aqm::params::Value;

/// Limit of a queue, or `unlimited`.
pub fn limits_of(text: &str) -> PyResult<Limits> {
    match text {
        "unlimited" => Ok(Limits::default()),
        text => Limits::parse(text).map_err(|e| input(format!("limit: {}", e.0))),
    }
}

/// A parameter's value, converted for an instance.
#[derive(Clone, Copy, Debug)]
pub struct ParamValue(pub Value);

impl<'py> IntoPyObject<'py> for ParamValue {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self.0 {
            Value::Time(span) => span.as_nanos().into_pyobject(py)?.into_any(),
            Value::Bytes(n) | Value::Count(n) => n.into_pyobject(py)?.into_any(),
            Value::Rate(rate) => rate.as_bps().into_pyobject(py)?.into_any(),
            Value::Number(x) => x.into_pyobject(py)?.into_any(),
            Value::Flag(on) => on.into_pyobject(py)?.to_owned().into_any(),
            Value::Choice(word) => word.into_pyobject(py)?.into_any(),
            other @ (Value::Bands(_) | Value::Minor(_) | Value::Distribution(_)) => {
                other.to_string().into_pyobject(py)?.into_any()
            }
        })
    }
}

/// Parameters as keyword arguments.
pub fn to_dict<'py>(py: Python<'py>, params: &[(&'static str, ParamValue)]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    params.iter().try_for_each(|(name, value)| dict.set_item(name, *value))?;
    Ok(dict)
}
