//! A scenario's text as TOML: values of JSON in it and back, and the times of its entries.

use serde_json::Value as Json;
use sojourn_aqm::{Instant, units};
use toml_edit::{Array, InlineTable, Item, Table, Value};

/// Puts a value where another one may be, whose comment stays.
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

/// When an entry is, as far as it says.
pub(crate) fn instant(entry: &Table) -> Instant {
    time(entry, "at").unwrap_or(Instant::NEVER)
}

/// A time of an entry.
pub(crate) fn time(entry: &Table, key: &str) -> Option<Instant> {
    let span = units::duration(entry.get(key)?.as_str()?).ok()?;
    Some(Instant::ZERO + span)
}

/// An instant as a scenario has it.
pub(crate) fn span(at: Instant) -> String {
    (at - Instant::ZERO).to_string()
}

pub(crate) fn is_tables(value: &Json) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(Json::is_object))
}

/// A value of JSON in TOML; lists of tables are written as such. What is null is left out.
pub(crate) fn item(value: &Json) -> Item {
    match value {
        Json::Object(keys) => {
            let mut table = Table::new();
            for (key, value) in keys.iter().filter(|(_, value)| !value.is_null()) {
                // A queue manager is a value, which has a table's form where it has parameters.
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

/// A value of TOML in JSON, as scenarios are read.
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
