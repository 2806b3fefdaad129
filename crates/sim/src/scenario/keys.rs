//! Keys of scenario tables. Each is declared once; reader, writer, checks and JSON Schema follow from the declaration.

use super::control::ControlSpec;
use super::value_error::ValueError;
pub(super) use super::values::{LONGEST, mismatch, rate_of, text, time_of};
use super::values::{count, in_range, limits, names, rate, time};
use super::{AqmSpec, Error, Files};
use serde_json::{Map, Value};
use sojourn_aqm::params::unknown;
use sojourn_aqm::{Duration, Ecn, Limits, Rate, units};

/// Declaration of a key.
#[derive(Clone, Copy)]
pub(super) struct Key {
    pub name: &'static str,
    pub kind: Kind,
    pub need: Need,
    /// Meaning: one to three sentences of plain text with backticks, for the JSON Schema and the tables in
    /// docs/scenario. The last sentence of an optional key may be `Default: …`.
    pub doc: &'static str,
}

/// Whether a key may be absent.
#[derive(Clone, Copy)]
pub(super) enum Need {
    /// An error, with this example of a value.
    Required(&'static str),
    /// Equivalent to this value.
    Default(&'static str),
    /// Absence has a meaning of its own; the canonical form leaves the key out, so that a new optional key does not
    /// change the hash of older scenarios.
    Optional,
}

/// Type of a key's value.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Text,
    /// A path, opened through [`Files`](super::Files) only.
    File,
    /// One of several words; the text says what they name, for errors.
    Word(&'static str, fn() -> Vec<&'static str>),
    Flag,
    Time,
    PositiveTime,
    Rate,
    /// Bytes: minimum and maximum.
    Size(u64, u64),
    /// A whole number without unit: minimum and maximum.
    Count(u64, u64),
    Aqm,
    /// A congestion control.
    Control,
    Limits,
    /// A form of its own.
    Custom(&'static CustomForm),
    /// A list of names.
    Names,
    /// A table or a list of tables.
    Section,
}

/// Form of a value that only one type has; the type reads and writes it as JSON.
pub(super) struct CustomForm {
    /// Rejects values that the type cannot read; the error says what to write.
    pub check: fn(&Value) -> Result<(), ValueError>,
    /// JSON Schema.
    pub schema: fn() -> Value,
}

/// A value of a key.
pub(super) enum Datum {
    Text(String),
    Flag(bool),
    Time(Duration),
    Rate(Rate),
    /// Bytes or a count.
    Whole(u64),
    Aqm(Box<AqmSpec>),
    Control(Box<ControlSpec>),
    Limits(Limits),
    /// Checked by its [`CustomForm`].
    Custom(Value),
    Names(Vec<String>),
}

impl Kind {
    /// Reads `value`; the error says what is wrong and what to write.
    /// `files` may define congestion controls.
    fn read(self, value: &Value, files: Option<&dyn Files>) -> Result<Datum, ValueError> {
        match self {
            Self::Text | Self::File => text(value, "a text").map(|text| Datum::Text(text.to_string())),
            Self::Word(what, names) => {
                let word = text(value, &format!("the name of a {what}"))?;
                let known = names().into_iter().find(|name| name.eq_ignore_ascii_case(word));
                match known {
                    Some(name) => Ok(Datum::Text(name.to_string())),
                    None => Err(ValueError::Unknown(unknown(what, word, names().into_iter()))),
                }
            }
            Self::Flag => value.as_bool().map(Datum::Flag).ok_or_else(|| mismatch(value, "true or false")),
            Self::Time => time(value, Duration::ZERO).map(Datum::Time),
            Self::PositiveTime => time(value, Duration::from_nanos(1)).map(Datum::Time),
            Self::Rate => rate(value).map(Datum::Rate),
            Self::Size(least, most) => {
                let size = units::bytes(text(value, r#"a text with a unit such as "1500 B""#)?)?;
                in_range(size, least, most, " B").map(Datum::Whole)
            }
            Self::Count(least, most) => count(value, least, most).map(Datum::Whole),
            Self::Aqm => Ok(Datum::Aqm(Box::new(AqmSpec::read(value).map_err(Box::new)?))),
            Self::Control => ControlSpec::read(value, files).map(|control| Datum::Control(Box::new(control))),
            Self::Limits => limits(value).map(Datum::Limits),
            Self::Custom(own) => (own.check)(value).map(|()| Datum::Custom(value.clone())),
            Self::Names => names(value).map(Datum::Names),
            Self::Section => unreachable!("sections are read by their own tables"),
        }
    }

    /// Inverse of [`Kind::read`].
    pub fn write(self, datum: Datum) -> Value {
        match (self, datum) {
            (Self::Size(..), Datum::Whole(bytes)) => format!("{bytes} B").into(),
            (_, Datum::Whole(count)) => count.into(),
            (_, Datum::Text(text)) => text.into(),
            (_, Datum::Flag(on)) => on.into(),
            (_, Datum::Time(span)) => span.to_string().into(),
            (_, Datum::Rate(rate)) => rate.to_string().into(),
            (_, Datum::Aqm(aqm)) => aqm.table().into(),
            (_, Datum::Control(control)) => control.text.into(),
            (_, Datum::Limits(limits)) => limits.to_string().into(),
            (_, Datum::Custom(value)) => value,
            (_, Datum::Names(names)) => names.into(),
        }
    }
}

/// A table of the file: its place, its values and the declarations of its keys.
pub(super) struct Table<'a> {
    pub place: &'a str,
    pub values: &'a Map<String, Value>,
    pub keys: &'static [Key],
    /// Files that may define values.
    files: Option<&'a dyn Files>,
}

impl<'a> Table<'a> {
    /// The caller must have called [`check_known`] on `values`.
    pub fn new(place: &'a str, values: &'a Map<String, Value>, keys: &'static [Key]) -> Self {
        Self { place, values, keys, files: None }
    }

    /// The same with files that may define congestion controls.
    pub fn with_files(self, files: &'a dyn Files) -> Self {
        Self { files: Some(files), ..self }
    }

    /// Value of key `name`, or its default.
    pub fn field<T: Field>(&self, name: &str) -> Result<T, Error> {
        let key = find(self.keys, name);
        let read =
            |value: &Value| key.kind.read(value, self.files).map_err(|wrong| self.error(name, wrong.to_string()));
        match (self.values.get(name), &key.need) {
            (Some(value), _) => read(value).map(T::some),
            (None, Need::Default(text)) => read(&literal(text)).map(T::some),
            (None, need) => match (T::none(), need) {
                (Some(absent), Need::Optional) => Ok(absent),
                (_, Need::Required(example)) => {
                    Err(self.error(name, format!("missing; write e.g. {name} = {}", literal(example))))
                }
                _ => unreachable!("{name} is optional but its field is not"),
            },
        }
    }

    /// Error at key `name`.
    pub fn error(&self, name: &str, text: impl Into<String>) -> Error {
        Error::new(join(self.place, name), text)
    }

    /// Rejects keys of the kinds `others` that neither `common` nor this table has; `what` names the chosen kind.
    pub fn refuse_foreign(
        &self,
        common: &[Key],
        others: impl Iterator<Item = &'static Key>,
        what: &str,
    ) -> Result<(), Error> {
        let own = |name: &str| common.iter().chain(self.keys).any(|key| key.name == name);
        for key in others {
            if self.values.contains_key(key.name) && !own(key.name) {
                return Err(self.error(key.name, format!("not a key of {what}; leave it out")));
            }
        }
        Ok(())
    }
}

/// Writes key `name` of `keys` into `out`, unless it is optional and absent.
pub(super) fn write<T: Field>(keys: &'static [Key], name: &str, value: &T, out: &mut Map<String, Value>) {
    if let Some(datum) = value.datum() {
        out.insert(name.to_string(), find(keys, name).kind.write(datum));
    }
}

/// Type of a field of a specification; `Option` for optional keys.
pub(super) trait Field: Sized {
    fn some(datum: Datum) -> Self;
    fn none() -> Option<Self> {
        None
    }
    fn datum(&self) -> Option<Datum>;
}

impl<T: Field> Field for Option<T> {
    fn some(datum: Datum) -> Self {
        Some(T::some(datum))
    }
    fn none() -> Option<Self> {
        Some(None)
    }
    fn datum(&self) -> Option<Datum> {
        self.as_ref().and_then(T::datum)
    }
}

/// Implements [`Field`] for types with a [`Datum`] variant.
macro_rules! fields {
    ($( $type:ty: $datum:ident($x:ident) => $from:expr, $self:ident => $to:expr; )*) => {$(
        impl Field for $type {
            fn some(datum: Datum) -> Self {
                match datum {
                    Datum::$datum($x) => $from,
                    _ => unreachable!("a field has the type of its key"),
                }
            }
            fn datum(&$self) -> Option<Datum> {
                Some(Datum::$datum($to))
            }
        }
    )*};
}
pub(super) use fields;

fields! {
    String: Text(x) => x, self => self.clone();
    bool: Flag(x) => x, self => *self;
    Duration: Time(x) => x, self => *self;
    Rate: Rate(x) => x, self => *self;
    u32: Whole(x) => u32::try_from(x).expect("the key's range fits"), self => u64::from(*self);
    u64: Whole(x) => x, self => *self;
    AqmSpec: Aqm(x) => *x, self => Box::new(self.clone());
    Limits: Limits(x) => x, self => *self;
    Vec<String>: Names(x) => x, self => self.clone();
    Ecn: Text(x) => of_word(ECNS, &x), self => word_of(ECNS, self);
}

/// ECN fields that a source may send.
pub(super) const ECNS: &[(&str, Ecn)] = &[("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1)];

pub(super) fn of_word<T: Copy>(words: &[(&str, T)], word: &str) -> T {
    words.iter().find(|(w, _)| *w == word).expect("the key admits known words only").1
}

pub(super) fn word_of<T: PartialEq>(words: &[(&str, T)], value: &T) -> String {
    words.iter().find(|(_, v)| v == value).expect("every value has a word").0.to_string()
}

/// Declares a specification whose fields are keys: the struct, the key table, reader and writer. `with` adds the keys
/// of another specification.
macro_rules! table {
    (
        $(#[$meta:meta])*
        pub struct $name:ident with $inner:ident: $Inner:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $kind:expr, $need:expr; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            /// Keys of the connection.
            pub $inner: $Inner,
        }

        impl $name {
            const OWN: &'static [$crate::scenario::keys::Key] = &[$(
                $crate::scenario::keys::Key {
                    name: stringify!($field), kind: $kind, need: $need, doc: concat!($($doc),+),
                },
            )*];

            pub(in crate::scenario) const KEYS: &'static [$crate::scenario::keys::Key] =
                &$crate::scenario::keys::concat::<{ $name::OWN.len() + $Inner::KEYS.len() }>($name::OWN, $Inner::KEYS);

            pub(in crate::scenario) fn read(
                table: &$crate::scenario::keys::Table,
            ) -> Result<Self, $crate::scenario::Error> {
                Ok(Self { $( $field: table.field(stringify!($field))?, )* $inner: $Inner::read(table)? })
            }

            pub(in crate::scenario) fn write(&self, out: &mut serde_json::Map<String, serde_json::Value>) {
                $( $crate::scenario::keys::write(Self::KEYS, stringify!($field), &self.$field, out); )*
                self.$inner.write(out);
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $type:ty = $kind:expr, $need:expr; )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )*
        }

        impl $name {
            pub(in crate::scenario) const KEYS: &'static [$crate::scenario::keys::Key] = &[$(
                $crate::scenario::keys::Key {
                    name: stringify!($field), kind: $kind, need: $need, doc: concat!($($doc),+),
                },
            )*];

            pub(in crate::scenario) fn read(
                table: &$crate::scenario::keys::Table,
            ) -> Result<Self, $crate::scenario::Error> {
                Ok(Self { $( $field: table.field(stringify!($field))?, )* })
            }

            pub(in crate::scenario) fn write(&self, out: &mut serde_json::Map<String, serde_json::Value>) {
                $( $crate::scenario::keys::write(Self::KEYS, stringify!($field), &self.$field, out); )*
            }
        }
    };
}
pub(super) use table;

/// Concatenates two key tables, `N` keys in total.
pub(super) const fn concat<const N: usize>(first: &[Key], second: &[Key]) -> [Key; N] {
    let mut all = [first[0]; N];
    let mut i = 1;
    while i < N {
        all[i] = if i < first.len() { first[i] } else { second[i - first.len()] };
        i += 1;
    }
    all
}

/// Rejects keys of `values` that are not in `keys`; the error suggests the nearest one.
pub(super) fn check_known<'k>(
    place: &str,
    values: &Map<String, Value>,
    keys: impl Iterator<Item = &'k Key> + Clone,
) -> Result<(), Error> {
    let known = keys.map(|key| key.name);
    match values.keys().find(|&name| !known.clone().any(|k| k == name)) {
        None => Ok(()),
        // The place ends with the name, so the text need not repeat it.
        Some(name) => {
            let text = unknown("key", name, known).replacen(&format!(" {name:?}"), "", 1);
            Err(Error::new(join(place, name), text))
        }
    }
}

/// Returns the table at `place`, or an error if `value` is none.
pub(super) fn as_table<'a>(place: &str, value: &'a Value) -> Result<&'a Map<String, Value>, Error> {
    value.as_object().ok_or_else(|| Error::new(place, mismatch(value, "a table").to_string()))
}

/// Parses a value of `--set` or a default: a JSON literal if it is valid JSON, otherwise a text.
pub(super) fn literal(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

/// Place of key `name` in the table at `place`.
pub(super) fn join(place: &str, name: &str) -> String {
    if place.is_empty() { name.to_string() } else { format!("{place}.{name}") }
}

fn find(keys: &'static [Key], name: &str) -> &'static Key {
    keys.iter().find(|key| key.name == name).expect("a field is read by a declared key")
}
