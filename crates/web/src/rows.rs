//! Rows of a table of what happened at the queues.

use sojourn_sim::{Column, Table};

/// A table, row by row.
pub struct TableRows<'a>(pub &'a Table);

impl TableRows<'_> {
    /// The rows that are of the first queue.
    pub fn of_first_queue(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.column("link").len()).filter(|&row| self.number("link", row) == 0)
    }

    /// A whole number.
    pub fn number(&self, name: &str, row: usize) -> u64 {
        match self.column(name) {
            Column::U8(values) => values[row].into(),
            Column::U32(values) => values[row].into(),
            Column::U64(values) => values[row],
            Column::F64(_) => unreachable!("{name} has whole numbers"),
        }
    }

    fn column(&self, name: &str) -> &Column {
        let found = self.0.columns.iter().find(|(known, _)| known == name);
        &found.expect("the table has the column").1
    }
}
