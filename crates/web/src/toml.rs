//! TOML values of a scenario: conversion from and to JSON, and times.

use serde_json::Value as Json;
use sojourn_aqm::{Instant, units};
use toml_edit::{Array, InlineTable, Item, Table, Value};

/// Sets a key, and keeps the comment of the previous value; null removes the key.
pub(crate) fn put(table: &mut dyn toml_edit::TableLike, key: &str, new: &Json) {
    if new.is_null() {
        table.remove(key);
        return;
    }
    let mut item = item(new);
    if let (Some(old), Some(new)) = (table.get(key).and_then(Item::as_value), item.as_value_mut()) {
        *new.decor_mut() = old.decor().clone();
    }
    match table.get_mut(key) {
        Some(place) => *place = item,
        None => drop(table.insert(key, item)),
    }
}

/// The time `at` of an entry; [`Instant::NEVER`] if missing or invalid.
pub(crate) fn instant(entry: &Table) -> Instant {
    time(entry, "at").unwrap_or(Instant::NEVER)
}

/// The time `key` of an entry.
pub(crate) fn time(entry: &Table, key: &str) -> Option<Instant> {
    let span = units::duration(entry.get(key)?.as_str()?).ok()?;
    Some(Instant::ZERO + span)
}

/// A time in a scenario's syntax.
pub(crate) fn span(at: Instant) -> String {
    (at - Instant::ZERO).to_string()
}

pub(crate) fn is_tables(value: &Json) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Json::is_object))
}

/// Converts JSON to TOML; lists of objects become arrays of tables, and nulls are skipped.
pub(crate) fn item(value: &Json) -> Item {
    match value {
        Json::Object(keys) => {
            let mut table = Table::new();
            for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
                // An AQM is a single value, even if written as a table with parameters.
                let item = if key == "aqm" { Item::Value(inline(value)) } else { item(value) };
                table.insert(key, item);
            }
            Item::Table(table)
        }
        Json::Array(list) if is_tables(value) => {
            let tables = list.iter().filter_map(|entry| item(entry).into_table().ok());
            Item::ArrayOfTables(tables.collect())
        }
        other => Item::Value(inline(other)),
    }
}

fn inline(value: &Json) -> Value {
    match value {
        Json::Null => Value::from(""),
        Json::Bool(on) => Value::from(*on),
        Json::Number(number) => {
            number.as_i64().map_or_else(|| Value::from(number.as_f64().unwrap_or_default()), Value::from)
        }
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(list) => Value::Array(list.iter().map(inline).collect::<Array>()),
        Json::Object(keys) => {
            let pairs = keys.iter().filter(|(_, value)| !value.is_null());
            Value::InlineTable(pairs.map(|(key, value)| (key, inline(value))).collect::<InlineTable>())
        }
    }
}

/// Converts TOML to JSON, in the form that the scenario reader accepts.
pub(crate) fn json(item: &Item) -> Json {
    fn of_value(value: &Value) -> Json {
        match value {
            Value::String(text) => text.value().as_str().into(),
            Value::Integer(number) => (*number.value()).into(),
            Value::Float(number) => serde_json::json!(number.value()),
            Value::Boolean(on) => (*on.value()).into(),
            Value::Datetime(date) => date.value().to_string().into(),
            Value::Array(list) => list.iter().map(of_value).collect(),
            Value::InlineTable(table) => {
                Json::Object(table.iter().map(|(key, value)| (key.to_string(), of_value(value))).collect())
            }
        }
    }
    match item {
        Item::Value(value) => of_value(value),
        Item::Table(table) => Json::Object(table.iter().map(|(key, item)| (key.to_string(), json(item))).collect()),
        Item::ArrayOfTables(tables) => tables.iter().map(|table| json(&Item::Table(table.clone()))).collect(),
        Item::None => Json::Null,
    }
}
