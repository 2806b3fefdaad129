//! Parameters by name, shared by scenario files, the command line and the documentation.

use crate::class::{Minor, Priomap};
pub use crate::error::ConfigError;
use crate::netem::distribution::Distribution;
use crate::netem::table::Table;
use crate::quote::quoted;
use crate::units;
pub use crate::value::{Bytes, Parameter, Value};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Reads the table in a named file, or returns why that is impossible; `None` if files are not read.
pub type TableReader<'a> = dyn Fn(&str) -> Option<Result<&'static Table, ConfigError>> + 'a;

/// A reader without files.
pub const NO_FILES: &TableReader = &|_| None;

/// Description of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Name, as in the source and in tc.
    pub name: &'static str,
    /// Meaning, in one sentence.
    pub doc: &'static str,
    /// Minimum and maximum; unused for [`Value::Choice`], [`Value::Bands`] and [`Value::Distribution`].
    pub range: (Value, Value),
    /// The words of a choice, or of the distributions that need no file.
    pub choices: &'static [&'static str],
}

impl Param {
    /// Parses a value of this parameter and checks its range.
    pub fn parse(&self, text: &str) -> Result<Value, ConfigError> {
        self.parse_with(text, NO_FILES)
    }

    /// [`Param::parse`] with the tables of `files`.
    pub fn parse_with(&self, text: &str, files: &TableReader) -> Result<Value, ConfigError> {
        let value = self.read(text.trim(), files)?;
        if self.contains(value) {
            Ok(value)
        } else {
            let (min, max) = self.range;
            Err(ConfigError::OutOfRange { name: self.name, value, min, max })
        }
    }

    fn read(&self, text: &str, files: &TableReader) -> Result<Value, ConfigError> {
        let name = self.name;
        let unit = |reason| ConfigError::Unit { name, reason };
        match self.range.0 {
            Value::Time(_) => units::duration(text).map(Value::Time).map_err(unit),
            Value::Bytes(_) => units::bytes(text).map(Value::Bytes).map_err(unit),
            Value::Rate(_) => units::rate(text).map(Value::Rate).map_err(unit),
            Value::Count(_) => {
                text.parse().map(Value::Count).map_err(|_| ConfigError::NotInteger { name, text: text.into() })
            }
            Value::Number(_) => {
                text.parse().map(Value::Number).map_err(|_| ConfigError::NotNumber { name, text: text.into() })
            }
            Value::Flag(_) => match text {
                "true" | "on" | "yes" | "1" => Ok(Value::Flag(true)),
                "false" | "off" | "no" | "0" => Ok(Value::Flag(false)),
                _ => Err(ConfigError::NotBool { name: name.into(), text: text.into() }),
            },
            Value::Bands(_) => {
                let map = Priomap::parse(text).map(Value::Bands);
                map.ok_or_else(|| ConfigError::NotPriomap { name, text: text.into() })
            }
            Value::Minor(_) => {
                let minor = Minor::parse(text).map(Value::Minor);
                minor.ok_or_else(|| ConfigError::NotClassId { name, text: text.into() })
            }
            Value::Distribution(_) => distribution(name, text, files).map(Value::Distribution),
            Value::Choice(_) => {
                let word = self.choices.iter().find(|&&c| c == text);
                word.map(|w| Value::Choice(w)).ok_or_else(|| ConfigError::UnknownChoice {
                    name,
                    text: text.into(),
                    choices: self.choices,
                })
            }
        }
    }

    fn contains(&self, value: Value) -> bool {
        match (self.range.0, value, self.range.1) {
            (Value::Time(least), Value::Time(x), Value::Time(most)) => least <= x && x <= most,
            (Value::Bytes(least), Value::Bytes(x), Value::Bytes(most)) => least <= x && x <= most,
            (Value::Rate(least), Value::Rate(x), Value::Rate(most)) => least <= x && x <= most,
            (Value::Count(least), Value::Count(x), Value::Count(most)) => least <= x && x <= most,
            (Value::Number(least), Value::Number(x), Value::Number(most)) => least <= x && x <= most,
            (Value::Minor(least), Value::Minor(x), Value::Minor(most)) => least <= x && x <= most,
            _ => true,
        }
    }
}

/// The distribution `text`: a built-in word, otherwise the table in the file of that name, read by `files`. `name` is
/// the parameter.
fn distribution(name: &'static str, text: &str, files: &TableReader) -> Result<Distribution, ConfigError> {
    if let Some(i) = Distribution::WORDS.iter().position(|&word| word == text) {
        return Ok(Distribution::BUILT_IN[i]);
    }
    match files(text) {
        Some(read) if !text.is_empty() => read.map(Distribution::Table).map_err(|wrong| {
            format!("{name}: {} is not one of {}, and {wrong}", quoted(text), Distribution::WORDS.join(", ")).into()
        }),
        _ => Err(ConfigError::UnknownChoice { name, text: text.into(), choices: Distribution::WORDS }),
    }
}

/// Parses the next words into parameters if the algorithm defines them; the second argument collects the parameters,
/// the third lists those of the algorithm. Returns whether words were consumed.
pub type WordsParser =
    fn(&mut Peekable<SplitWhitespace<'_>>, &mut Vec<(String, String)>, &[Param]) -> Result<bool, ConfigError>;

/// Declares an enum parameter; its variants are words in files.
///
/// ```text
/// choice! {
///     /// Count after re-entry.
///     pub enum Reentry {
///         /// At one.
///         One = "one",
///     }
/// }
/// ```
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $( $(#[$about:meta])* $variant:ident = $word:literal, )+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$about])* $variant, )+ }

        impl $name {
            /// The words, in the order of the variants.
            pub const WORDS: &'static [&'static str] = &[ $( $word, )+ ];
        }

        impl $crate::params::Parameter for $name {
            fn to_value(self) -> $crate::params::Value {
                $crate::params::Value::Choice(match self { $( Self::$variant => $word, )+ })
            }
            fn from_value(value: $crate::params::Value) -> Self {
                match value {
                    $( $crate::params::Value::Choice($word) => Self::$variant, )+
                    other => unreachable!("a parameter keeps its words, got {other:?}"),
                }
            }
        }
    };
}

/// An algorithm's configuration: parameters by name, profiles by name.
pub trait Config: Clone + Default + Send + Sync + fmt::Debug {
    /// The parameters, in the order of the docs page.
    const PARAMS: &'static [Param];
    /// The named variants: name and description. The first belongs to the plain name.
    const PROFILES: &'static [(&'static str, &'static str)];

    /// The configuration of a profile in [`Config::PROFILES`].
    fn profile(name: &str) -> Option<Self>;
    /// The value of a parameter in [`Config::PARAMS`].
    fn value(&self, name: &str) -> Option<Value>;
    /// Sets a parameter to a value from [`Param::parse`].
    fn set_value(&mut self, name: &str, value: Value);
    /// Rejects combinations that no range can exclude.
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    /// Sets a parameter from text; errors name the parameter, the value and the range.
    fn set(&mut self, name: &str, text: &str) -> Result<(), ConfigError> {
        self.set_with(name, text, NO_FILES)
    }

    /// [`Config::set`] with the tables of `files`.
    fn set_with(&mut self, name: &str, text: &str, files: &TableReader) -> Result<(), ConfigError> {
        self.set_value(name, param(Self::PARAMS, name)?.parse_with(text, files)?);
        Ok(())
    }
}

fn param(params: &'static [Param], name: &str) -> Result<&'static Param, ConfigError> {
    let found = params.iter().find(|param| param.name == name);
    found.ok_or_else(|| ConfigError::Unknown(unknown("parameter", name, params.iter().map(|param| param.name))))
}

/// Declares a configuration: the struct, its defaults, its parameter table, and access by name.
///
/// ```text
/// config! {
///     /// The algorithm's configuration.
///     pub struct Config {
///         /// Meaning of the parameter.
///         target: Duration = Duration::from_millis(5), in Duration::from_micros(1) ..= Duration::from_secs(10);
///     }
///     profiles { "rfc8289", "RFC 8289 (2018)" => |c| {}; }
///     validate |c| { … }
/// }
/// ```
///
/// An algorithm with one version leaves out `profiles` and `validate` if the ranges exclude every invalid value.
#[macro_export]
macro_rules! config {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( #[doc = $doc:literal] $(#[doc = $more:literal])* $field:ident : $type:ty = $default:expr, in $least:expr => $most:expr $(, choices $choices:expr)? ; )*
        }
        profiles { $( $profile:literal, $summary:literal => $adjust:expr; )+ }
        validate $validate:expr
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( #[doc = $doc] $(#[doc = $more])* pub $field: $type, )*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $crate::params::Config for $name {
            const PARAMS: &'static [$crate::params::Param] = &[
                $( $crate::params::Param {
                    name: stringify!($field),
                    doc: concat!($doc, $("\n", $more,)*),
                    range: ($least, $most),
                    choices: $crate::config!(@choices $($choices)?),
                }, )*
            ];
            const PROFILES: &'static [(&'static str, &'static str)] = &[ $( ($profile, $summary), )+ ];

            fn profile(name: &str) -> Option<Self> {
                let mut config = Self::default();
                match name {
                    $( $profile => { let adjust: fn(&mut Self) = $adjust; adjust(&mut config); } )+
                    _ => return None,
                }
                Some(config)
            }

            fn value(&self, name: &str) -> Option<$crate::params::Value> {
                match name {
                    $( stringify!($field) => Some($crate::params::Parameter::to_value(self.$field)), )*
                    _ => None,
                }
            }

            fn set_value(&mut self, name: &str, value: $crate::params::Value) {
                let _ = value; // `value` is unused without parameters
                match name {
                    $( stringify!($field) => self.$field = $crate::params::Parameter::from_value(value), )*
                    _ => unreachable!("{name} is a parameter"),
                }
            }

            fn validate(&self) -> Result<(), $crate::params::ConfigError> {
                let validate: fn(&Self) -> Result<(), $crate::params::ConfigError> = $validate;
                validate(self)
            }
        }
    };
    ($(#[$meta:meta])* pub struct $name:ident { $($fields:tt)* }) => {
        $crate::config! {
            $(#[$meta])*
            pub struct $name { $($fields)* }
            profiles { "plain", "the only version" => |_| {}; }
            validate |_| Ok(())
        }
    };
    (@choices) => { &[] };
    (@choices $choices:expr) => { $choices };
}

/// Rejects a parameter that a version of `algorithm` lacks, unless it has the value of the version's profile.
pub(crate) fn refuse_unsupported<C: Config>(
    config: &C,
    algorithm: &str,
    version: &str,
    has: impl Fn(&str) -> bool,
) -> Result<(), ConfigError> {
    let baseline = C::profile(version).expect("each version has its profile");
    let foreign = |name: &&str| !has(name) && config.value(name) != baseline.value(name);
    let Some(name) = C::PARAMS.iter().map(|param| param.name).find(foreign) else { return Ok(()) };
    let left = baseline.value(name).expect("a parameter of the table");
    Err(ConfigError::UnsupportedByVersion { name, version: version.into(), algorithm: algorithm.into(), left })
}

/// Error text for an unknown name: suggests the nearest known name, preferring an anagram among equals.
pub fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> String {
    unknown_among(what, name, &known.collect::<Vec<_>>())
}

fn unknown_among(what: &str, name: &str, known: &[&str]) -> String {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let typed = plain(name);
    // A longer name is not a typing error, and the distance takes long to compute.
    let distance_to = |k: &str| if name.len() <= LONGEST { distance(&typed, &plain(k)) } else { usize::MAX };
    let nearest = known.iter().map(|&k| (distance_to(k), letters(&typed) != letters(&plain(k)), k)).min();
    // Variants of one kind may share a name, such as the rates of a link.
    let list = || {
        let mut seen = BTreeSet::new();
        listed(known.iter().copied().filter(|&k| seen.insert(k)))
    };
    match nearest {
        None => format!("unknown {what} {}; none is defined", quoted(name)),
        Some((d, _, k)) if d <= 1 + name.len() / 3 => format!("unknown {what} {}; did you mean {k:?}?", quoted(name)),
        Some(_) => format!("unknown {what} {}; expected one of {}", quoted(name), list()),
    }
}

/// The names, separated by commas; of many the first and how many there are.
pub fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        count if count > MAX_LISTED => format!("{}, … ({count} in all)", names[..MAX_LISTED].join(", ")),
        _ => names.join(", "),
    }
}

/// Maximum number of names in a message.
const MAX_LISTED: usize = 100;

/// Maximum length of a name that may be a typing error.
const LONGEST: usize = 64;

/// Levenshtein distance, for names of a few letters.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// The letters of a name, sorted.
fn letters(name: &str) -> Vec<char> {
    let mut letters: Vec<char> = name.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_names() {
        let known = ["codel", "pie", "droptail"];
        assert_eq!(unknown("AQM", "coddle", known.into_iter()), r#"unknown AQM "coddle"; did you mean "codel"?"#);
        assert_eq!(
            unknown("AQM", "zzz", known.into_iter()),
            r#"unknown AQM "zzz"; expected one of codel, pie, droptail"#
        );
        assert_eq!(
            unknown("AQM", "FQ-CoDel", ["fq", "fq_codel"].into_iter()),
            r#"unknown AQM "FQ-CoDel"; did you mean "fq_codel"?"#
        );
        assert_eq!(unknown("kind", "tpc", ["rpm", "tcp"].into_iter()), r#"unknown kind "tpc"; did you mean "tcp"?"#);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
