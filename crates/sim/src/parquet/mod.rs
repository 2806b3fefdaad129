//! Tables as Parquet files, row group by row group while a run goes on.
//!
//! Source: the Apache Parquet format (`README.md`, `Encodings.md`, `Compression.md` and `parquet.thrift` of
//! `parquet-format` 2.x). A table is flat and every column is required, so no levels are stored. A column of a row group is
//! one chunk: a dictionary and numbers into it where values repeat, else differences packed into bits, else the plain
//! numbers of a column of floats; LZ4 around it where that makes it smaller.

mod encode;
mod thrift;

use crate::table::{Column, Table};
use encode::{Chunk, encode};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem;
use std::path::{Path, PathBuf};
use thrift::{Compact, Kind};

/// Rows of a row group at least, but of the last one: about as many of a table wait in memory.
pub const ROWS: usize = 1 << 17;

/// A folder in which every table becomes a file, `NAME.parquet`.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    open: Vec<(&'static str, PathBuf, Writer<BufWriter<File>>)>,
}

/// A file that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", file.display())]
pub struct WriteError {
    /// Which file.
    pub file: PathBuf,
    /// Why not.
    pub cause: io::Error,
}

impl Files {
    /// Files in a folder that is there.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), open: Vec::new() }
    }

    /// Appends rows to the table of that name. A column that earlier rows have not is NaN there; it has to be of floats.
    pub fn write(&mut self, table: Table) -> Result<(), WriteError> {
        let place = match self.open.iter().position(|(name, ..)| *name == table.name) {
            Some(place) => place,
            None => self.create(table.name)?,
        };
        let (_, file, writer) = &mut self.open[place];
        writer.write(&table).map_err(|cause| WriteError { file: file.clone(), cause })
    }

    /// Ends every file; gives the name of each table and its rows.
    pub fn finish(self) -> Result<Vec<(&'static str, u64)>, WriteError> {
        let finish = |(name, file, mut writer): (_, PathBuf, Writer<BufWriter<File>>)| {
            writer.finish().map(|rows| (name, rows)).map_err(|cause| WriteError { file, cause })
        };
        self.open.into_iter().map(finish).collect()
    }

    fn create(&mut self, name: &'static str) -> Result<usize, WriteError> {
        let file = self.folder.join(format!("{name}.parquet"));
        let begin = || Writer::new(BufWriter::with_capacity(BUFFER, File::create(&file)?));
        match begin() {
            Ok(writer) => self.open.push((name, file, writer)),
            Err(cause) => return Err(WriteError { file, cause }),
        }
        Ok(self.open.len() - 1)
    }
}

/// A file in the making.
#[derive(Debug)]
struct Writer<W: Write> {
    out: W,
    /// Bytes written so far.
    at: u64,
    columns: Vec<(String, Type)>,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    rows: usize,
    /// In the order of the columns; a column that came later is missing at the end.
    chunks: Vec<Chunk>,
}

/// What the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    /// An unsigned whole number of so many bits.
    Whole(u8),
    Float,
}

impl<W: Write> Writer<W> {
    fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, at: 0, columns: Vec::new(), groups: Vec::new() };
        writer.put(MAGIC)?;
        Ok(writer)
    }

    fn write(&mut self, table: &Table) -> io::Result<()> {
        for (name, column) in table.columns.iter().skip(self.columns.len()) {
            self.columns.push((name.clone(), type_of(column)));
        }
        debug_assert!(table.columns.iter().zip(&self.columns).all(|((a, _), (b, _))| a == b), "{}", table.name);
        let rows = table.columns.first().map_or(0, |(_, column)| column.len());
        // As equal as can be: what comes a little later than at `ROWS` is no group of its own.
        let size = rows.div_ceil((rows / ROWS).max(1)).max(1);
        for from in (0..rows).step_by(size) {
            let to = rows.min(from + size);
            let mut chunks = Vec::with_capacity(table.columns.len());
            for (_, column) in &table.columns {
                chunks.push(self.put_chunk(&bits(column, from, to), type_of(column))?);
            }
            self.groups.push(Group { rows: to - from, chunks });
        }
        Ok(())
    }

    /// Writes what readers look for at the end, and gives the number of rows.
    fn finish(&mut self) -> io::Result<u64> {
        let mut groups = mem::take(&mut self.groups);
        for group in &mut groups {
            for place in group.chunks.len()..self.columns.len() {
                let kind = self.columns[place].1;
                assert!(kind == Type::Float, "column {} was not there from the first row on", self.columns[place].0);
                group.chunks.push(self.put_chunk(&vec![f64::NAN.to_bits(); group.rows], kind)?);
            }
        }
        let footer = footer(&self.columns, &groups);
        self.put(&footer)?;
        self.put(&(footer.len() as u32).to_le_bytes())?;
        self.put(MAGIC)?;
        self.out.flush()?;
        Ok(groups.iter().map(|group| group.rows as u64).sum())
    }

    fn put_chunk(&mut self, values: &[u64], kind: Type) -> io::Result<Chunk> {
        let (bytes, mut chunk) = encode(values, kind);
        chunk.begin = self.at;
        self.put(&bytes)?;
        Ok(chunk)
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

fn type_of(column: &Column) -> Type {
    match column {
        Column::U8(_) => Type::Whole(8),
        Column::U32(_) => Type::Whole(32),
        Column::U64(_) => Type::Whole(64),
        Column::F64(_) => Type::Float,
    }
}

/// Rows of a column as words.
fn bits(column: &Column, from: usize, to: usize) -> Vec<u64> {
    match column {
        Column::U8(v) => v[from..to].iter().map(|&number| number.into()).collect(),
        Column::U32(v) => v[from..to].iter().map(|&number| number.into()).collect(),
        Column::U64(v) => v[from..to].to_vec(),
        Column::F64(v) => v[from..to].iter().map(|number| number.to_bits()).collect(),
    }
}

impl Type {
    /// Bytes of a plain value: whole numbers of up to 32 bits are an INT32.
    fn bytes(self) -> usize {
        if matches!(self, Self::Whole(8 | 32)) { 4 } else { 8 }
    }

    /// `Type` of parquet.thrift: INT32, INT64 or DOUBLE.
    fn physical(self) -> i32 {
        match self {
            Self::Float => 5,
            Self::Whole(_) if self.bytes() == 4 => 1,
            Self::Whole(_) => 2,
        }
    }
}

/// `FileMetaData` of parquet.thrift.
fn footer(columns: &[(String, Type)], groups: &[Group]) -> Vec<u8> {
    let mut out = Compact::default();
    out.i32(1, FORMAT_VERSION);
    out.list(2, Kind::Struct, columns.len() + 1);
    out.item(|root| {
        root.text(4, "schema");
        root.i32(5, columns.len() as i32);
    });
    for (name, kind) in columns {
        out.item(|column| schema(column, name, *kind));
    }
    out.i64(3, groups.iter().map(|group| group.rows as i64).sum());
    out.list(4, Kind::Struct, groups.len());
    for group in groups {
        out.item(|out| row_group(out, columns, group));
    }
    out.text(6, concat!("sojourn ", env!("CARGO_PKG_VERSION")));
    out.end()
}

/// `SchemaElement`.
fn schema(out: &mut Compact, name: &str, kind: Type) {
    out.i32(1, kind.physical());
    out.i32(3, REQUIRED);
    out.text(4, name);
    if let Type::Whole(width) = kind {
        // UINT_8 is 11, UINT_16, UINT_32 and UINT_64 follow.
        out.i32(6, 8 + width.ilog2() as i32);
        out.nested(10, |logical| {
            logical.nested(10, |integer| {
                integer.byte(1, width);
                integer.bool(2, false);
            });
        });
    }
}

/// `RowGroup`.
fn row_group(out: &mut Compact, columns: &[(String, Type)], group: &Group) {
    out.list(1, Kind::Struct, columns.len());
    for ((name, kind), chunk) in columns.iter().zip(&group.chunks) {
        out.item(|out| {
            out.i64(2, 0);
            out.nested(3, |out| column_chunk(out, name, *kind, chunk, group.rows));
        });
    }
    out.i64(2, group.chunks.iter().map(|chunk| chunk.raw as i64).sum());
    out.i64(3, group.rows as i64);
}

/// `ColumnMetaData`.
fn column_chunk(out: &mut Compact, name: &str, kind: Type, chunk: &Chunk, rows: usize) {
    out.i32(1, kind.physical());
    let encodings = chunk.encodings();
    out.list(2, Kind::I32, encodings.len());
    encodings.iter().for_each(|&encoding| out.number(encoding));
    out.list(3, Kind::Text, 1);
    out.string(name);
    out.i32(4, chunk.codec());
    out.i64(5, rows as i64);
    out.i64(6, chunk.raw as i64);
    out.i64(7, chunk.stored as i64);
    out.i64(9, (chunk.begin + chunk.data) as i64);
    if chunk.data > 0 {
        out.i64(11, chunk.begin as i64);
    }
}

const MAGIC: &[u8] = b"PAR1";
const FORMAT_VERSION: i32 = 1;
/// `FieldRepetitionType`: the column has a value in every row.
const REQUIRED: i32 = 0;
/// Bytes of a file that wait to be written: small tables take one call of the system.
const BUFFER: usize = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(columns: Vec<(&str, Column)>) -> Table {
        Table { name: "t", columns: columns.into_iter().map(|(name, column)| (name.to_string(), column)).collect() }
    }

    #[test]
    fn a_file_begins_and_ends_as_the_format_says() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.write(&table(vec![("a", Column::U8(vec![3, 1, 2]))])).unwrap();
        writer.write(&table(vec![("a", Column::U8(vec![7]))])).unwrap();
        assert_eq!(writer.finish().unwrap(), 4);
        let bytes = writer.out;
        let (body, end) = bytes.split_at(bytes.len() - 8);
        let footer = u32::from_le_bytes(end[..4].try_into().unwrap()) as usize;
        assert_eq!((&bytes[..4], &end[4..]), (MAGIC, MAGIC));
        assert_eq!(&body[body.len() - footer..][..2], [0x15, 0x02], "version 1 as the first field");
        assert_eq!(writer.at as usize, bytes.len());
    }

    #[test]
    fn many_rows_are_several_row_groups_of_one_size() {
        let mut writer = Writer::new(Vec::new()).unwrap();
        writer.write(&table(vec![("a", Column::U64((0..2 * ROWS as u64 + 5).collect()))])).unwrap();
        let rows: Vec<usize> = writer.groups.iter().map(|group| group.rows).collect();
        assert_eq!(rows, [ROWS + 3, ROWS + 2]);
    }

    #[test]
    fn a_disk_that_is_full_is_an_error_with_the_name_of_the_file() {
        let Ok(_) = std::fs::metadata("/dev/full") else { return };
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("t.parquet")).unwrap();
        let mut files = Files::new(folder.path());
        // Numbers that do not repeat: more bytes than are kept back.
        let mut word = 1u64;
        let draws = (0..ROWS).map(|_| {
            word = word.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            word
        });
        let error = files.write(table(vec![("a", Column::U64(draws.collect()))])).unwrap_err();
        assert!(error.to_string().contains("t.parquet: No space left"), "{error}");
    }
}
