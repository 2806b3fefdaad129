//! List of the parameters set so far, by name; shared by the parsers of tc's words.

use crate::error::ConfigError;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::iter::Peekable;
use core::str::SplitWhitespace;

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
