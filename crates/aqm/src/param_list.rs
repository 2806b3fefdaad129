//! Parameters in tc's syntax, and the list of those set so far, by name.

use crate::error::ConfigError;
use crate::params::{Param, Value, WordsParser};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

/// Parses the parameters behind the name `owner`, in tc's syntax: `PARAM VALUE`, `FLAG [on|off]`, `noFLAG`.
pub fn parse_pairs(owner: &str, params: &'static [Param], words: &str) -> Result<Vec<(String, String)>, ConfigError> {
    parse(owner, &Syntax { params, common: &[], special: None }, words)
}

/// The text that [`parse_pairs`] parses to `params`, behind the name `owner`.
pub fn spell(owner: &str, params: impl IntoIterator<Item = (&'static str, Value)>) -> String {
    let words = params.into_iter().map(|(name, value)| spell_param(name, value));
    core::iter::once(String::from(owner)).chain(words).collect()
}

/// The value set for a parameter.
pub(crate) fn value<'a>(given: &'a [(String, String)], name: &str) -> Option<&'a str> {
    given.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Sets a parameter, replacing an earlier value.
pub(crate) fn set(given: &mut Vec<(String, String)>, name: &str, value: String) {
    match given.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => given.push((name.into(), value)),
    }
}

/// Sets a parameter of `aqm` once: of two words the first would be ignored.
pub(crate) fn set_once(given: &mut Vec<(String, String)>, aqm: &str, name: &str, to: &str) -> Result<(), ConfigError> {
    match value(given, name) {
        Some(old) => Err(format!("{aqm} has both {old} and {to} for {name}; leave one of them out").into()),
        None => {
            set(given, name, to.into());
            Ok(())
        }
    }
}

/// Adds a parameter of `aqm`, which must not be set yet.
pub(crate) fn add(given: &mut Vec<(String, String)>, aqm: &str, name: &str, value: String) -> Result<(), ConfigError> {
    if given.iter().any(|(known, _)| known == name) {
        return Err(ConfigError::DuplicateParam { param: name.into(), name: aqm.into() });
    }
    given.push((name.into(), value));
    Ok(())
}

/// The following words that begin with a digit.
pub(crate) fn numbers<'a>(words: &mut Peekable<SplitWhitespace<'a>>) -> Vec<&'a str> {
    let mut numbers = Vec::new();
    while let Some(word) = words.next_if(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        numbers.push(word);
    }
    numbers
}

/// Error for a word of `aqm` without its value.
pub(crate) fn missing_value(aqm: &str, word: &str) -> ConfigError {
    ConfigError::MissingValue { param: word.into(), name: aqm.into() }
}

/// Syntax of the words after a name.
pub(crate) struct Syntax<'a> {
    pub params: &'static [Param],
    /// Flags that every name has.
    pub common: &'a [&'a str],
    /// Parser of words that are not pairs.
    pub special: Option<WordsParser>,
}

impl Syntax<'_> {
    fn has_flag(&self, name: &str) -> bool {
        let is_flag = |param: &Param| param.name == name && matches!(param.range.0, Value::Flag(_));
        self.common.contains(&name) || self.params.iter().any(is_flag)
    }
}

/// Parses `PARAM VALUE`, `FLAG [on|off]` and `noFLAG` in the text after the name `owner`.
pub(crate) fn parse(owner: &str, syntax: &Syntax, words: &str) -> Result<Vec<(String, String)>, ConfigError> {
    let mut words = words.split_whitespace().peekable();
    let mut params: Vec<(String, String)> = Vec::new();
    loop {
        if let Some(read) = syntax.special {
            if read(&mut words, &mut params, syntax.params)? {
                continue;
            }
        }
        // More parameters than there are: one is unknown, and the caller rejects it by name.
        if params.len() > syntax.params.len() + syntax.common.len() {
            return Ok(params);
        }
        let Some(param) = words.next() else { return Ok(params) };
        let (param, value) = if syntax.has_flag(param) {
            (param, words.next_if(|word| SWITCHES.contains(word)).unwrap_or("on"))
        } else if let Some(flag) = param.strip_prefix("no").filter(|flag| syntax.has_flag(flag)) {
            (flag, "off")
        } else {
            (param, words.next().ok_or_else(|| missing_value(owner, param))?)
        };
        add(&mut params, owner, param, value.into())?;
    }
}

/// A parameter in the syntax that [`parse`] reads, with a space in front.
pub(crate) fn spell_param(name: &str, value: Value) -> String {
    match value {
        Value::Flag(true) => format!(" {name}"),
        Value::Flag(false) => format!(" no{name}"),
        other => format!(" {name} {}", other.to_string().replace(' ', "")),
    }
}

/// Optional values of a flag.
pub(crate) const SWITCHES: [&str; 4] = ["on", "off", "true", "false"];
