//! An answer: JSON, and columns of numbers beside it.

use serde_json::{Map, Value, json};
use sojourn_aqm::ObserveFn;
use sojourn_sim::{Column, Table};

/// An answer. The JSON has `{"column": n}` where column `n` is meant.
#[derive(Debug, Default)]
pub struct Reply {
    /// The JSON.
    pub value: Value,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Reply {
    /// An answer without columns.
    pub fn of(value: Value) -> Self {
        Self { value, columns: Vec::new() }
    }

    /// What stands in the JSON for a column. Whole numbers of 64 bits become floating-point numbers, which a page calculates
    /// with: exact up to 2^53, which is 104 days in nanoseconds.
    pub fn column(&mut self, column: Column) -> Value {
        let column = match column {
            Column::U64(values) => Column::F64(values.into_iter().map(|value| value as f64).collect()),
            other => other,
        };
        self.columns.push(column);
        json!({ "column": self.columns.len() - 1 })
    }

    /// The same for all columns of a table that `wanted` names, or for all.
    pub fn table(&mut self, table: Table, wanted: Option<&[&str]>) -> Value {
        let columns = table.columns.into_iter();
        let columns = columns.filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(&name.as_str())));
        Value::Object(columns.map(|(name, column)| (name, self.column(column))).collect())
    }

    /// Where the columns lie, for a caller that shares the memory: type, address and length of each.
    pub(crate) fn places(&self) -> Vec<Value> {
        fn place<T>(kind: &str, values: &[T]) -> Value {
            json!([kind, values.as_ptr() as usize, values.len()])
        }
        let places = self.columns.iter().map(|column| match column {
            Column::U8(values) => place("u8", values),
            Column::U32(values) => place("u32", values),
            Column::U64(values) => place("u64", values),
            Column::F64(values) => place("f64", values),
        });
        places.collect()
    }
}

/// State variables by name, as an object; JSON has no infinities, which become null.
pub(crate) fn state(observe: &ObserveFn<'_>) -> Value {
    let mut state = Map::new();
    observe(&mut |name, value| drop(state.insert(name.to_string(), json!(value))));
    Value::Object(state)
}
