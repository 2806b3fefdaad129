//! Exceptions, and the errors that become them.

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sojourn_sim::parquet::WriteError;
use std::fmt::Display;

create_exception!(sojourn._core, InputError, PyValueError, "Wrong input; the message names the place and the remedy.");

create_exception!(
    sojourn._core,
    AqmError,
    PyRuntimeError,
    "A user's queue manager or congestion control failed. In Python, it raised: the message names class, method, time and line, and the \
     cause is the exception. In a shared library, it broke a rule: the message names library, function, rule and time."
);

/// Result of code that may have called Python: a pending exception takes precedence over `result`.
pub fn check<T>(py: Python<'_>, result: Result<T, impl Display>) -> PyResult<T> {
    match PyErr::take(py) {
        Some(raised) => Err(raised),
        None => result.map_err(input),
    }
}

/// An `InputError` with a message.
pub fn input(error: impl Display) -> PyErr {
    InputError::new_err(error.to_string())
}

/// The `OSError` of a failed write of a table, with errno and file name as from a system call.
pub fn unwritten(py: Python<'_>, error: WriteError) -> PyErr {
    let WriteError { file, cause } = error;
    let Some(number) = cause.raw_os_error() else { return cause.into() };
    match py.import("os").and_then(|os| os.call_method1("strerror", (number,))) {
        Ok(text) => PyOSError::new_err((number, text.unbind(), file)),
        Err(error) => error,
    }
}

/// A non-negative integer; [`UnsignedInt::get`] rejects other numbers with the argument's name.
pub struct UnsignedInt(Result<u64, String>);

impl UnsignedInt {
    /// `n`, as a default.
    pub const fn of(n: u64) -> Self {
        Self(Ok(n))
    }

    /// Converts the number to `T`; `name` is the argument's name.
    pub fn get<T: TryFrom<u64>>(self, name: &str) -> PyResult<T> {
        let most = u128::MAX >> (128 - 8 * size_of::<T>());
        let refuse = |number: String| input(format!("{name}: {number} is out of range; from 0 to {most}"));
        let number = self.0.map_err(refuse)?;
        T::try_from(number).map_err(|_| refuse(number.to_string()))
    }
}

impl<'py> FromPyObject<'_, 'py> for UnsignedInt {
    type Error = PyErr;

    fn extract(value: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match value.extract() {
            Ok(number) => Ok(Self(Ok(number))),
            Err(error) if PyErr::is_instance_of::<PyTypeError>(&error, value.py()) => Err(error),
            Err(_) => Ok(Self(Err(value.str()?.to_string_lossy().into_owned()))),
        }
    }
}
