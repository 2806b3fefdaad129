//! Rows of a table of queue events.

use sojourn_sim::{Column, Table};

/// Access to a table by row.
pub struct TableRows<'a>(pub &'a Table);

impl TableRows<'_> {
    /// Indices of the first queue's rows.
    pub fn of_first_queue(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.column("link").len()).filter(|&row| self.number("link", row) == 0)
    }

    /// The integer in column `name` of a row.
    pub fn number(&self, name: &str, row: usize) -> u64 {
        self.column(name).whole(row).unwrap_or_else(|| unreachable!("{name} has whole numbers"))
    }

    fn column(&self, name: &str) -> &Column {
        let found = self.0.columns.iter().find(|(known, _)| known == name);
        &found.expect("the table has the column").1
    }
}
