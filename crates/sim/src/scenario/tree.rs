//! Parses TOML or JSON into a tree of values and applies overrides.

use super::depth;
use super::keys::{join, literal};
use super::{AqmSpec, Error};
use serde_json::Value;
use sojourn_aqm::registry::Catalogue;

/// Parses TOML, or JSON if the text begins with a brace.
pub(super) fn parse(text: &str) -> Result<Value, Error> {
    check_depth(text)?;
    let tree = if is_json(text) {
        serde_json::from_str(text).map_err(|e| json_error(&e))?
    } else {
        let table = text.parse::<toml::Table>().map_err(|e| toml_error(text, &e))?;
        from_toml(toml::Value::Table(table))
    };
    depth::check("", &tree)?;
    Ok(tree)
}

/// Rejects a TOML or JSON text with more than 64 levels of tables or lists, before a recursive parser sees it.
pub fn check_depth(text: &str) -> Result<(), Error> {
    let deep = depth::too_deep(text, is_json(text));
    deep.map_or(Ok(()), |at| Err(Error::new(place_of(text, at), depth::TOO_DEEP)))
}

/// Whether the text is JSON: no TOML document begins with a brace.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Whether a path names a parameter of a queue manager, e.g. `link.aqm.target`.
pub(super) fn is_aqm_parameter(path: &str) -> bool {
    names(path).iter().rev().skip(1).any(|name| name == "aqm")
}

fn names(path: &str) -> Vec<String> {
    path.replace('[', ".").replace(']', "").split('.').map(|name| name.trim().to_string()).collect()
}

/// Sets the value at `path` (`link.rate`, `flows.0.count` or `flows[0].count`); an empty text removes it.
pub(super) fn set(tree: &mut Value, path: &str, text: &str, own: &dyn Catalogue) -> Result<(), Error> {
    let names = names(path);
    if names.iter().any(String::is_empty) || names.len() > DEEPEST {
        return Err(Error::new(path, r#"is not a key; write e.g. "link.rate" or "flows.0.count""#));
    }
    let (last, parents) = names.split_last().expect("a split has at least one part");
    let mut at = tree;
    let mut place = String::new();
    for name in parents {
        at = step_into(at, name, &place)?;
        place = join(&place, name);
        // A path below `aqm` names a parameter, so convert tc's spelling to a table.
        if let (Value::String(spelling), "aqm") = (&*at, name.as_str()) {
            let aqm = AqmSpec::parse_with(spelling, own).map_err(|wrong| Error::new(&place, wrong.to_string()))?;
            *at = Value::Object(aqm.short_table());
        }
    }
    match at {
        Value::Object(table) if text.is_empty() => drop(table.remove(last)),
        Value::Array(list) if text.is_empty() => drop(list.remove(index(list.len(), last, &place)?)),
        _ => {
            let value = literal(text);
            depth::check(path, &value)?;
            *step_into(at, last, &place)? = value;
        }
    }
    Ok(())
}

/// Returns child `name` of `at`, which is at `place`; inserts an empty table for an absent key.
fn step_into<'a>(at: &'a mut Value, name: &str, place: &str) -> Result<&'a mut Value, Error> {
    match at {
        Value::Object(table) => Ok(table.entry(name).or_insert_with(|| Value::Object(Default::default()))),
        Value::Array(list) => {
            let i = index(list.len(), name, place)?;
            Ok(&mut list[i])
        }
        _ => Err(Error::new(join(place, name), format!("{place} is a single value and has no keys"))),
    }
}

fn index(len: usize, name: &str, place: &str) -> Result<usize, Error> {
    match name.parse() {
        Ok(i) if i < len => Ok(i),
        Ok(_) => Err(Error::new(join(place, name), format!("{place} has length {len}; number its entries from 0"))),
        Err(_) => Err(Error::new(join(place, name), format!("{place} is a list; write e.g. {place}.0"))),
    }
}

/// Converts TOML to JSON. Dates, infinities and NaN become texts, which the reader of the key rejects.
fn from_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(n) => n.into(),
        toml::Value::Float(x) => serde_json::Number::from_f64(x).map_or_else(|| x.to_string().into(), Value::Number),
        toml::Value::Boolean(on) => on.into(),
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.into_iter().map(from_toml).collect(),
        toml::Value::Table(table) => Value::Object(table.into_iter().map(|(k, v)| (k, from_toml(v))).collect()),
    }
}

fn toml_error(text: &str, error: &toml::de::Error) -> Error {
    let message = error.message().replace('\n', ", ");
    let place = error.span().map_or_else(String::new, |span| place_of(text, span.start));
    Error::new(place, message)
}

/// Line and column of a byte offset.
fn place_of(text: &str, at: usize) -> String {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |i| i + 1);
    let column = String::from_utf8_lossy(&before[line_start..]).chars().count() + 1;
    format!("line {line}, column {column}")
}

fn json_error(error: &serde_json::Error) -> Error {
    let text = error.to_string();
    let message = text.split(" at line ").next().unwrap_or(&text);
    Error::new(format!("line {}, column {}", error.line(), error.column()), message)
}

/// Maximum names in the path of an override; scenarios need four.
const DEEPEST: usize = 16;
