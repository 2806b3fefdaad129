//! Columns of numbers: the recorded tables of a run.

/// Number of rows of a table that are written together during a run: memory holds about as many per table, and a row
/// group of a Parquet file has at least as many, except the last one.
///
/// A file has at most 32,767 row groups, because their number is an `i16` (`RowGroup.ordinal` in parquet.thrift): at
/// least 4.29e9 rows.
pub const ROWS: usize = 1 << 17;

/// A table of columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name: `packets`, `queue`, ….
    pub name: &'static str,
    /// Columns by name.
    pub columns: Vec<(String, Column)>,
}

impl Table {
    /// Merges tables with the same columns, sorted by the first column, the times; rows of equal time stay in the order
    /// of the tables. None if there are no tables.
    pub(crate) fn in_order(mut tables: impl Iterator<Item = Self>) -> Option<Self> {
        let mut table = tables.next()?;
        let mut is_one = true;
        for other in tables {
            is_one = false;
            table.columns.iter_mut().zip(&other.columns).for_each(|((_, column), (_, more))| column.append(more));
        }
        if let (false, Some((_, Column::U64(times)))) = (is_one, table.columns.first()) {
            let mut order: Vec<usize> = (0..times.len()).collect();
            order.sort_by_key(|&row| times[row]);
            table.columns.iter_mut().for_each(|(_, column)| *column = column.rows(&order));
        }
        Some(table)
    }
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Column {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Column {
    /// Appends a column of the same type.
    fn append(&mut self, other: &Self) {
        match (self, other) {
            (Self::U8(all), Self::U8(more)) => all.extend(more),
            (Self::U16(all), Self::U16(more)) => all.extend(more),
            (Self::U32(all), Self::U32(more)) => all.extend(more),
            (Self::U64(all), Self::U64(more)) => all.extend(more),
            (Self::F64(all), Self::F64(more)) => all.extend(more),
            _ => unreachable!("a column has one type in all tables of its kind"),
        }
    }

    /// The values of a range of rows.
    pub fn part(&self, rows: std::ops::Range<usize>) -> Self {
        match self {
            Self::U8(v) => Self::U8(v[rows].to_vec()),
            Self::U16(v) => Self::U16(v[rows].to_vec()),
            Self::U32(v) => Self::U32(v[rows].to_vec()),
            Self::U64(v) => Self::U64(v[rows].to_vec()),
            Self::F64(v) => Self::F64(v[rows].to_vec()),
        }
    }

    /// The values of these rows.
    fn rows(&self, rows: &[usize]) -> Self {
        match self {
            Self::U8(v) => Self::U8(rows.iter().map(|&row| v[row]).collect()),
            Self::U16(v) => Self::U16(rows.iter().map(|&row| v[row]).collect()),
            Self::U32(v) => Self::U32(rows.iter().map(|&row| v[row]).collect()),
            Self::U64(v) => Self::U64(rows.iter().map(|&row| v[row]).collect()),
            Self::F64(v) => Self::F64(rows.iter().map(|&row| v[row]).collect()),
        }
    }

    /// The whole number in a row; `None` in a column of floating-point numbers.
    pub fn whole(&self, row: usize) -> Option<u64> {
        Some(match self {
            Self::U8(v) => v[row].into(),
            Self::U16(v) => v[row].into(),
            Self::U32(v) => v[row].into(),
            Self::U64(v) => v[row],
            Self::F64(_) => return None,
        })
    }

    /// The whole numbers of all rows; `None` for a column of floating-point numbers.
    pub fn wholes(&self) -> Option<Vec<u64>> {
        (0..self.len()).map(|row| self.whole(row)).collect()
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U16(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Declares a recorder: a struct of vectors with `push` and a conversion into a [`Table`].
macro_rules! recorder {
    ($(#[$meta:meta])* $name:ident($table:literal) { $( $column:ident : $type:ty => $variant:ident ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name { $( pub $column: Vec<$type>, )* }

        impl $name {
            /// Bytes per row.
            #[allow(dead_code)] // the memory estimate does not use all tables
            pub const ROW_BYTES: u64 = (0 $( + size_of::<$type>() )*) as u64;

            #[allow(clippy::too_many_arguments)]
            pub fn push(&mut self, $( $column: $type ),*) {
                $( self.$column.push($column); )*
            }

            /// Takes the rows if there are at least `min_rows`.
            #[allow(dead_code)] // small tables are written only at the end
            pub fn take(&mut self, min_rows: usize) -> Option<$crate::table::Table> {
                let rows = [$( self.$column.len() ),*][0];
                (rows >= min_rows).then(|| std::mem::take(self).into_table())
            }

            pub fn into_table(self) -> $crate::table::Table {
                let columns = vec![ $( (stringify!($column).to_string(), $crate::table::Column::$variant(self.$column)), )* ];
                $crate::table::Table { name: $table, columns }
            }
        }
    };
}
pub(crate) use recorder;
