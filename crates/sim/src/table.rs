//! Columns of numbers: what a run hands over beyond its summary.

/// A table in columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Name: `packets`, `queue`, ….
    pub name: &'static str,
    /// Columns by name.
    pub columns: Vec<(String, Column)>,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Column {
    U8(Vec<u8>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F64(Vec<f64>),
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(v) => v.len(),
            Self::U32(v) => v.len(),
            Self::U64(v) => v.len(),
            Self::F64(v) => v.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Declares a recorder of rows: a struct of vectors with `push` and the conversion into a [`Table`].
macro_rules! recorder {
    ($(#[$meta:meta])* $name:ident($table:literal) { $( $column:ident : $type:ty => $variant:ident ),* $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, Default)]
        pub(crate) struct $name { $( pub $column: Vec<$type>, )* }

        impl $name {
            #[allow(clippy::too_many_arguments)]
            pub fn push(&mut self, $( $column: $type ),*) {
                $( self.$column.push($column); )*
            }

            pub fn into_table(self) -> $crate::table::Table {
                let columns = vec![ $( (stringify!($column).to_string(), $crate::table::Column::$variant(self.$column)), )* ];
                $crate::table::Table { name: $table, columns }
            }
        }
    };
}
pub(crate) use recorder;
