//! Congestion control of a group of flows: of the registry, or a user's.

use super::aqm::scalar;
use super::files::Files;
use super::implementation::{KERNEL, is_kernel_name};
use super::keys::{Datum, Field};
use super::value_error::{AqmError, ValueError};
use super::values::mismatch;
use serde_json::Value;
use sojourn_aqm::error::ConfigError;
use sojourn_aqm::param_list;
use sojourn_aqm::params::{Param, unknown};
use sojourn_tcp::cc::foreign::ControlDefinition;
use sojourn_tcp::cc::{self, AnyCc};
use std::fmt;
use std::sync::Arc;

/// A congestion control with its parameters.
#[derive(Clone)]
pub struct ControlSpec {
    /// Shortest spelling: `cubic`, `ledbat target 5ms`, `/path/my_cc.py:Mine alpha 0.5`.
    pub text: String,
    /// The control of a new connection.
    pub control: AnyCc,
    /// Definition of a user's control; none for one of the registry.
    pub definition: Option<Arc<dyn ControlDefinition>>,
}

impl ControlSpec {
    /// Name without parameters.
    pub fn name(&self) -> &str {
        self.text.split(' ').next().unwrap_or_default()
    }

    /// Reads a text; `files` finds users' controls.
    ///
    /// # Errors
    /// As for the key `cc`.
    pub fn parse(text: &str, files: &dyn Files) -> Result<Self, ValueError> {
        Self::read(&text.into(), Some(files))
    }

    /// Reads a text `NAME [PARAM VALUE]…` or a table `{ name, PARAM = VALUE… }`; `files` finds users' controls.
    pub(super) fn read(value: &Value, files: Option<&dyn Files>) -> Result<Self, ValueError> {
        match value {
            Value::String(text) => {
                let text = text.trim();
                let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                Self::named(name, &ControlArguments::Words(words), files)
            }
            Value::Object(table) => {
                let Some(name) = table.get("name").and_then(Value::as_str) else {
                    return Err(ValueError::Form(r#"name is missing; write e.g. { name = "cubic" }"#.to_string()));
                };
                let params = table.iter().filter(|(key, _)| *key != "name");
                let pairs = params.map(|(key, value)| Ok((key.clone(), scalar(key, value)?)));
                let pairs = pairs.collect::<Result<Vec<_>, AqmError>>().map_err(Box::new)?;
                Self::named(name, &ControlArguments::Pairs(&pairs), files)
            }
            other => Err(mismatch(other, "the name of a congestion control")),
        }
    }

    fn named(name: &str, arguments: &ControlArguments, files: Option<&dyn Files>) -> Result<Self, ValueError> {
        if let Some(registered) = names().find(|known| known.eq_ignore_ascii_case(name)) {
            return Self::registered(registered, arguments);
        }
        if let Some(own) = name.strip_prefix(KERNEL) {
            return Self::of_kernel(own, arguments, files.is_some_and(Files::has_kernel_names));
        }
        match files.and_then(|files| files.control(name, arguments)) {
            Some(found) => found.map(Self::of_user).map_err(ValueError::Form),
            None => Err(ValueError::Unknown(unknown("congestion control", name, names()))),
        }
    }

    fn registered(name: &'static str, arguments: &ControlArguments) -> Result<Self, ValueError> {
        let refused = |error| ValueError::Aqm(Box::new(AqmError::Refused(error)));
        let pairs = arguments.pairs(name, cc::params_of(name)).map_err(refused)?;
        let control = AnyCc::configured(name, &pairs).map_err(refused)?;
        let text = match pairs.is_empty() {
            // An alias stays, and with it the hash of older scenarios.
            true => name.to_string(),
            false => AnyCc::spelling(name, &pairs).map_err(refused)?,
        };
        Ok(Self { text, control, definition: None })
    }

    /// A control of a file that is compiled into a kernel. `control` is the default one, which is never run.
    fn of_kernel(name: &str, arguments: &ControlArguments, is_read: bool) -> Result<Self, ValueError> {
        let refused = |error| Err(ValueError::Aqm(Box::new(error)));
        let text = format!("{KERNEL}{name}");
        if !is_kernel_name(name) {
            return refused(AqmError::KernelName(name.to_string()));
        }
        if !is_read {
            return refused(AqmError::OnlyInKernel(text));
        }
        let pairs = arguments.pairs(&text, &[]).map_err(|error| ValueError::Aqm(Box::new(error.into())))?;
        match pairs.first() {
            None => Self::registered(cc::DEFAULT, arguments).map(|control| Self { text, ..control }),
            Some((param, _)) => Err(ValueError::Form(format!("{text} takes no parameters; leave {param} out"))),
        }
    }

    fn of_user(definition: Arc<dyn ControlDefinition>) -> Self {
        let text = definition.spelling().to_string();
        Self { text, control: AnyCc::foreign(Arc::clone(&definition)), definition: Some(definition) }
    }
}

impl PartialEq for ControlSpec {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for ControlSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ControlSpec").field(&self.text).finish()
    }
}

impl Field for ControlSpec {
    fn some(datum: Datum) -> Self {
        match datum {
            Datum::Control(control) => *control,
            _ => unreachable!("the key is of another kind"),
        }
    }
    fn datum(&self) -> Option<Datum> {
        Some(Datum::Control(Box::new(self.clone())))
    }
}

/// Parameters behind the name of a control.
#[derive(Clone, Copy, Debug)]
pub enum ControlArguments<'a> {
    /// The words of a text.
    Words(&'a str),
    /// The entries of a table, with values as text.
    Pairs(&'a [(String, String)]),
}

impl ControlArguments<'_> {
    /// Names and values, for the control `owner` with `params`.
    ///
    /// # Errors
    /// If a word has no value or is given twice.
    pub fn pairs(&self, owner: &str, params: &'static [Param]) -> Result<Vec<(String, String)>, ConfigError> {
        match self {
            Self::Words(words) => param_list::parse_pairs(owner, params, words),
            Self::Pairs(pairs) => Ok(pairs.to_vec()),
        }
    }
}

/// Registered names and aliases.
pub(super) fn names() -> impl Iterator<Item = &'static str> + Clone {
    let aliases = cc::ALIASES.iter().map(|&(alias, _)| alias);
    cc::NAMES.iter().map(|&(name, _)| name).chain(aliases)
}
