//! A response: JSON, and columns of numbers.

use serde_json::{Map, Value, json};
use sojourn_aqm::ObserveFn;
use sojourn_sim::{Column, Table};

/// A response. The JSON refers to column `n` as `{"column": n}`.
#[derive(Debug, Default)]
pub struct Reply {
    /// The JSON.
    pub value: Value,
    /// The columns.
    pub columns: Vec<Column>,
}

impl Reply {
    /// A response without columns.
    pub fn of(value: Value) -> Self {
        Self { value, columns: Vec::new() }
    }

    /// Adds a column and returns its reference for the JSON. 64-bit integers become JavaScript numbers, exact up to
    /// 2^53, which is 104 days in nanoseconds.
    pub fn column(&mut self, column: Column) -> Value {
        let column = match column {
            Column::U64(values) => Column::F64(values.into_iter().map(|value| value as f64).collect()),
            other => other,
        };
        self.columns.push(column);
        json!({ "column": self.columns.len() - 1 })
    }

    /// Adds a table's columns, all or those in `wanted`, and returns their references.
    pub fn table(&mut self, table: Table, wanted: Option<&[&str]>) -> Value {
        let columns = table.columns.into_iter();
        let columns = columns.filter(|(name, _)| wanted.is_none_or(|wanted| wanted.contains(&name.as_str())));
        Value::Object(columns.map(|(name, column)| (name, self.column(column))).collect())
    }

    /// Type, address and length of each column, for a caller that shares the memory.
    pub(crate) fn pointers(&self) -> Vec<Value> {
        fn pointer<T>(kind: &str, values: &[T]) -> Value {
            json!([kind, values.as_ptr() as usize, values.len()])
        }
        let pointers = self.columns.iter().map(|column| match column {
            Column::U8(values) => pointer("u8", values),
            Column::U16(values) => pointer("u16", values),
            Column::U32(values) => pointer("u32", values),
            Column::U64(values) => pointer("u64", values),
            Column::F64(values) => pointer("f64", values),
        });
        pointers.collect()
    }
}

/// State variables by name, as an object; infinities become null, because JSON has none.
pub(crate) fn state(observe: &ObserveFn<'_>) -> Value {
    let mut state = Map::new();
    observe(&mut |name, value| drop(state.insert(name.to_string(), json!(value))));
    Value::Object(state)
}
