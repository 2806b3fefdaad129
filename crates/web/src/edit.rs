//! Edits of a scenario's text that keep comments and layout, so that a scenario edited on a page remains a readable
//! file.

use crate::files::InMemoryFiles;
use crate::flows_edit;
use crate::request::{RequestError, nanos, parse, text};
use crate::toml::{instant, is_tables, item, json, put, span};
use serde_json::Value as Json;
use sojourn_aqm::Instant;
use sojourn_sim::scenario::{AqmSpec, check_depth};
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table};

/// Applies `edits` in order, and checks that the result is a valid scenario.
pub fn edited(scenario: &str, edits: &[Json], files: &InMemoryFiles) -> Result<String, RequestError> {
    let mut document = document(scenario)?;
    for edit in edits {
        match (&edit["at_ns"], &edit["group"]) {
            (Json::Null, _) => set(document.as_table_mut(), text(edit, "set")?, &edit["value"])?,
            (_, Json::Null) => change(&mut document, edit)?,
            _ => flows_edit::count(&mut document, edit)?,
        }
    }
    let text = document.to_string();
    parse(&text, &[], files)?;
    Ok(text)
}

/// Parses TOML, or converts JSON to TOML.
fn document(scenario: &str) -> Result<DocumentMut, RequestError> {
    check_depth(scenario).map_err(|wrong| RequestError(wrong.to_string()))?;
    if !scenario.trim_start().starts_with('{') {
        return scenario.parse().map_err(|wrong: toml_edit::TomlError| RequestError(wrong.to_string()));
    }
    let json: Json = serde_json::from_str(scenario).map_err(|wrong| RequestError(wrong.to_string()))?;
    let keys = json.as_object().ok_or_else(|| RequestError("a scenario must be a table".into()))?;
    let mut document = DocumentMut::new();
    // Values come before tables, in conventional order.
    let rank = |key: &str| ORDER.iter().position(|known| *known == key).unwrap_or(ORDER.len());
    let mut keys: Vec<_> = keys.iter().filter(|(_, value)| !value.is_null()).collect();
    keys.sort_by_key(|(key, value)| (value.is_object() || is_tables(value), rank(key)));
    for (key, value) in keys {
        document.insert(key, item(value));
    }
    Ok(document)
}

/// Sets the value at a dotted path; null removes the key.
fn set(root: &mut Table, path: &str, value: &Json) -> Result<(), RequestError> {
    let wrong = |text: &str| RequestError(format!("{path}: {text}"));
    let names: Vec<&str> = path.split('.').collect();
    if names.len() > MAX_DEPTH {
        return Err(wrong("is not a key of a scenario; write e.g. link.rate"));
    }
    if let Some((aqm, parameter)) = parameter_of_aqm(&names) {
        let present = at(root, aqm).map_or(Json::Null, json);
        return set(root, &aqm.join("."), &spelled(&present, parameter, value, path)?);
    }
    let (last, parents) = names.split_last().expect("a split has at least one part");
    let mut table: &mut dyn toml_edit::TableLike = root;
    let mut rest = parents;
    while let Some((name, after)) = rest.split_first() {
        let item = table.entry(name).or_insert_with(|| Item::Table(Table::new()));
        rest = after;
        table = match item {
            Item::ArrayOfTables(tables) => {
                let (index, after) = after.split_first().ok_or_else(|| wrong("is a list; write e.g. flows.0.count"))?;
                rest = after;
                let index: usize = index.parse().map_err(|_| wrong("is a list; write e.g. flows.0.count"))?;
                tables.get_mut(index).ok_or_else(|| wrong("the list is too short"))?
            }
            other => other.as_table_like_mut().ok_or_else(|| wrong("a part of it is a single value"))?,
        };
    }
    put(table, last, value);
    Ok(())
}

/// Adds an edit with a time to the scenario's `[[changes]]`.
fn change(document: &mut DocumentMut, edit: &Json) -> Result<(), RequestError> {
    let (at, path) = (nanos(edit, "at_ns")?, text(edit, "set")?);
    let names: Vec<&str> = path.split('.').collect();
    let mut value = edit["value"].clone();
    let mut path = path.to_string();
    if let Some((aqm, parameter)) = parameter_of_aqm(&names) {
        value = spelled(&in_force(document, aqm, at), parameter, &value, &path)?;
        path = aqm.join(".");
    }
    let list = document.entry("changes").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let tables = list.as_array_of_tables_mut();
    let tables = tables.ok_or_else(|| RequestError("changes: write them as [[changes]]".into()))?;
    let place = tables.iter().position(|entry| instant(entry) >= at).unwrap_or(tables.len());
    if tables.get(place).is_none_or(|entry| instant(entry) != at) {
        let mut entry = Table::new();
        entry.insert("at", toml_edit::value(span(at)));
        insert(tables, place, entry);
    }
    let entry = tables.get_mut(place).expect("it is there");
    let (last, parents) = names_of(&path);
    let mut table: &mut dyn toml_edit::TableLike = entry;
    for name in &parents {
        let inner = table.entry(name).or_insert_with(|| {
            let mut inner = Table::new();
            inner.set_dotted(true);
            Item::Table(inner)
        });
        table = inner.as_table_like_mut().ok_or_else(|| RequestError(format!("{path}: {name} is a single value")))?;
    }
    put(table, last, &value);
    Ok(())
}

/// The AQM at a time: the initial one, or that of the last change up to then.
fn in_force(document: &DocumentMut, aqm: &[&str], now: Instant) -> Json {
    let changes = document.get("changes").and_then(Item::as_array_of_tables);
    let changed = changes.into_iter().flat_map(ArrayOfTables::iter).filter(|entry| instant(entry) <= now);
    let last = changed.filter_map(|entry| at(entry, aqm)).last();
    last.or_else(|| at(document.as_table(), aqm)).map_or(Json::Null, json)
}

/// The AQM as text with one parameter changed; null restores the profile's value.
fn spelled(present: &Json, parameter: &str, value: &Json, path: &str) -> Result<Json, RequestError> {
    let wrong = |text: String| RequestError(format!("{path}: {text}"));
    if present.is_null() {
        return Err(wrong("there is no queue manager; set one first".into()));
    }
    let read = |value: &Json| AqmSpec::read(value).map_err(|reason| wrong(reason.to_string()));
    let mut table = read(present)?.short_table();
    match value {
        Json::Null => drop(table.remove(parameter)),
        value => drop(table.insert(parameter.to_string(), value.clone())),
    }
    Ok(read(&Json::Object(table))?.text.into())
}

/// Splits the path of an AQM's parameter into the AQM's path and the parameter's name.
fn parameter_of_aqm<'a>(names: &'a [&'a str]) -> Option<(&'a [&'a str], &'a str)> {
    match names {
        [.., "aqm", parameter] => Some((&names[..names.len() - 1], parameter)),
        _ => None,
    }
}

fn names_of(path: &str) -> (&str, Vec<&str>) {
    let mut names: Vec<&str> = path.split('.').collect();
    let last = names.pop().expect("a split has at least one part");
    (last, names)
}

/// The item at a path.
fn at<'a>(root: &'a Table, names: &[&str]) -> Option<&'a Item> {
    let (first, rest) = names.split_first()?;
    let mut item = root.get(first)?;
    for name in rest {
        item = match item {
            Item::ArrayOfTables(tables) => return at(tables.get(name.parse().ok()?)?, &rest[1..]),
            other => other.as_table_like()?.get(name)?,
        };
    }
    Some(item)
}

/// Inserts a table into a list.
pub(crate) fn insert(tables: &mut ArrayOfTables, place: usize, entry: Table) {
    let mut all: Vec<Table> = std::mem::take(tables).into_iter().collect();
    all.insert(place, entry);
    // toml_edit orders tables by their positions in the text, so they must be reassigned.
    let positions: Vec<_> = all.iter().filter_map(Table::position).collect();
    for (table, position) in all.iter_mut().zip(spread(&positions)) {
        table.set_position(position);
    }
    *tables = all.into_iter().collect();
}

/// Positions for one more table: the last position repeats, because tables with equal positions keep their order.
fn spread(positions: &[isize]) -> impl Iterator<Item = Option<isize>> + '_ {
    positions.iter().copied().map(Some).chain(std::iter::repeat(positions.last().copied()))
}

/// Maximum number of names in an edit's path; scenarios need five.
const MAX_DEPTH: usize = 16;

/// Keys of a scenario in conventional order.
const ORDER: &[&str] =
    &["name", "duration", "warmup", "seed", "nodes", "wlan", "link", "reverse", "links", "flows", "changes", "probes"];
