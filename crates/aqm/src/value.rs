//! Values of parameters and the Rust types that they convert to.

use crate::class::{Minor, Priomap};
use crate::netem::distribution::Distribution;
use crate::rate::Rate;
use crate::time::Duration;
use core::fmt;

/// A value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A span of time.
    Time(Duration),
    /// A size in bytes.
    Bytes(u64),
    /// A data rate.
    Rate(Rate),
    /// A plain count.
    Count(u64),
    /// A ratio or a gain, without a unit or in Hz.
    Number(f64),
    /// On or off.
    Flag(bool),
    /// One of a few words.
    Choice(&'static str),
    /// The band of each of the 16 priorities.
    Bands(Priomap),
    /// The number of a class, in hexadecimal.
    Minor(Minor),
    /// A distribution of times about the mean: a word, or the name of a file with a table.
    Distribution(Distribution),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(span) => write!(f, "{span}"),
            Self::Bytes(n) => write!(f, "{n} B"),
            Self::Rate(rate) => write!(f, "{rate}"),
            Self::Count(n) => write!(f, "{n}"),
            Self::Number(x) => write!(f, "{x}"),
            Self::Flag(on) => write!(f, "{on}"),
            Self::Choice(word) => f.write_str(word),
            Self::Bands(map) => write!(f, "{map}"),
            Self::Minor(minor) => write!(f, "{minor}"),
            Self::Distribution(by) => write!(f, "{by}"),
        }
    }
}

/// A type that a parameter can have.
pub trait Parameter: Copy {
    /// Converts to a value.
    fn to_value(self) -> Value;
    /// Converts from a value that [`Param::parse`](crate::params::Param::parse) returned for this parameter.
    fn from_value(value: Value) -> Self;
}

macro_rules! parameter {
    ($($type:ty => $variant:ident),* $(,)?) => {$(
        impl Parameter for $type {
            fn to_value(self) -> Value {
                Value::$variant(self)
            }
            fn from_value(value: Value) -> Self {
                match value {
                    Value::$variant(x) => x,
                    other => unreachable!("a parameter keeps its kind, got {other:?}"),
                }
            }
        }
    )*};
}

parameter!(
    Duration => Time,
    Rate => Rate,
    f64 => Number,
    bool => Flag,
    u64 => Count,
    Priomap => Bands,
    Minor => Minor,
    Distribution => Distribution,
);

/// A count whose range fits into 32 bits, as kernels have it.
impl Parameter for u32 {
    fn to_value(self) -> Value {
        Value::Count(self.into())
    }
    fn from_value(value: Value) -> Self {
        u32::try_from(u64::from_value(value)).expect("the parameter's range fits into 32 bits")
    }
}

/// A size in bytes, as a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Parameter for Bytes {
    fn to_value(self) -> Value {
        Value::Bytes(self.0)
    }
    fn from_value(value: Value) -> Self {
        match value {
            Value::Bytes(n) => Self(n),
            other => unreachable!("a parameter keeps its kind, got {other:?}"),
        }
    }
}
