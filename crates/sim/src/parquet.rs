//! Tables as Parquet files, written row group by row group during a run.
//!
//! A table is flat, and every column has a value in every row. A column of a row group is dictionary-encoded while the
//! dictionary is small, then DELTA_BINARY_PACKED or plain floats, in pages that LZ4 compresses if that makes them
//! smaller. The first column, the times, has minimum and maximum statistics, so readers can skip rows. The same rows in
//! the same order give the same bytes.

use crate::table::{Column, Table};
use ::parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use ::parquet::column::reader::get_typed_column_reader;
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::data_type::{DataType, DoubleType, Int32Type, Int64Type};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use ::parquet::schema::types::Type;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use crate::table::ROWS;

/// A folder with a file `NAME.parquet` per table.
#[derive(Debug)]
pub struct ParquetFolder {
    folder: PathBuf,
    open: Vec<(&'static str, Writer)>,
}

/// A file could not be written. That includes a run with more than 32,767 row groups, which are at least 4.29e9 rows.
#[derive(Debug, thiserror::Error)]
#[error("{}: {cause}", file.display())]
pub struct WriteError {
    /// The file.
    pub file: PathBuf,
    /// The cause.
    pub cause: io::Error,
}

impl ParquetFolder {
    /// Writes into an existing folder.
    pub fn new(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), open: Vec::new() }
    }

    /// Appends rows to the table of that name. A table may gain columns of floats after its others: they are NaN in
    /// earlier rows, and later rows must have them.
    pub fn write(&mut self, table: Table) -> Result<(), WriteError> {
        let index = match self.open.iter().position(|(name, _)| *name == table.name) {
            Some(index) => index,
            None => {
                let file = self.folder.join(format!("{}.parquet", table.name));
                let writer = Writer::create(&file, &table).map_err(failed(&file))?;
                self.open.push((table.name, writer));
                self.open.len() - 1
            }
        };
        let (_, writer) = &mut self.open[index];
        writer.write(&table).map_err(failed(&writer.file))
    }

    /// Closes every file; returns the name of each table and its rows.
    pub fn finish(self) -> Result<Vec<(&'static str, u64)>, WriteError> {
        let finish = |(name, mut writer): (_, Writer)| {
            let metadata = writer.finish().map_err(failed(&writer.file))?;
            Ok((name, metadata.file_metadata().num_rows() as u64))
        };
        self.open.into_iter().map(finish).collect()
    }
}

/// Columns of a file that a [`ParquetFolder`] wrote; None for a file of another writer.
pub fn read(file: &Path) -> Result<Option<Vec<(String, Column)>>, ParquetError> {
    let reader = SerializedFileReader::new(File::open(file)?)?;
    let about = reader.metadata().file_metadata();
    if !about.created_by().is_some_and(|writer| writer.starts_with(WRITER)) {
        return Ok(None);
    }
    let columns = about.schema_descr().columns().iter().enumerate().map(|(index, field)| {
        let column = match (field.physical_type(), field.logical_type_ref()) {
            (Physical::INT32, Some(LogicalType::Integer(of))) if of.bit_width == 8 => {
                Column::U8(values::<Int32Type>(&reader, index)?.into_iter().map(|number| number as u8).collect())
            }
            (Physical::INT32, Some(LogicalType::Integer(of))) if of.bit_width == 16 => {
                Column::U16(values::<Int32Type>(&reader, index)?.into_iter().map(|number| number as u16).collect())
            }
            (Physical::INT32, _) => {
                Column::U32(values::<Int32Type>(&reader, index)?.into_iter().map(|number| number as u32).collect())
            }
            (Physical::INT64, _) => {
                Column::U64(values::<Int64Type>(&reader, index)?.into_iter().map(|number| number as u64).collect())
            }
            _ => Column::F64(values::<DoubleType>(&reader, index)?),
        };
        Ok((field.name().to_string(), column))
    });
    columns.collect::<Result<_>>().map(Some)
}

/// Values of a column in all row groups.
fn values<T: DataType>(reader: &SerializedFileReader<File>, column: usize) -> Result<Vec<T::T>> {
    let mut values = Vec::new();
    for index in 0..reader.num_row_groups() {
        let group = reader.get_row_group(index)?;
        let rows = group.metadata().num_rows() as usize;
        get_typed_column_reader::<T>(group.get_column_reader(column)?).read_records(rows, None, None, &mut values)?;
    }
    Ok(values)
}

fn failed(file: &Path) -> impl FnOnce(ParquetError) -> WriteError {
    move |error| {
        let cause = match error {
            ParquetError::External(cause) => cause.downcast().map_or_else(io::Error::other, |cause| *cause),
            other => io::Error::other(other),
        };
        WriteError { file: file.to_path_buf(), cause }
    }
}

/// A file that is being written.
#[derive(Debug)]
struct Writer {
    file: PathBuf,
    out: SerializedFileWriter<BufferedFile>,
}

/// A file whose buffer is flushed only when it is full or at the end: the library flushes after every column of a row
/// group, which would take as many system calls for a small table as for a large one.
#[derive(Debug)]
struct BufferedFile(BufWriter<File>);

impl Write for BufferedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Writer {
    /// Creates a file for rows of `table`.
    fn create(file: &Path, table: &Table) -> Result<Self> {
        let columns = table.columns.iter().map(|(name, column)| field(name, column).map(Arc::new));
        let schema = Type::group_type_builder("schema").with_fields(columns.collect::<Result<_>>()?).build()?;
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("{WRITER}{}", env!("CARGO_PKG_VERSION")))
            // Version 2 pages are delta-encoded, and compressed only if that makes them smaller.
            .set_writer_version(WriterVersion::PARQUET_2_0)
            .set_compression(Compression::LZ4_RAW)
            .set_dictionary_page_size_limit(DICTIONARY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true);
        // Statistics of all columns would double the CPU time, and readers select rows by time.
        if let Some((first, _)) = table.columns.first() {
            properties = properties.set_column_statistics_enabled(first.as_str().into(), EnabledStatistics::Chunk);
        }
        let buffered = BufferedFile(BufWriter::with_capacity(KEPT, File::create(file)?));
        let out = SerializedFileWriter::new(buffered, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(Self { file: file.to_path_buf(), out })
    }

    /// Closes the file.
    fn finish(&mut self) -> Result<ParquetMetaData> {
        let metadata = self.out.finish()?;
        self.out.inner_mut().0.flush()?;
        Ok(metadata)
    }

    fn write(&mut self, table: &Table) -> Result<()> {
        if table.columns.len() > self.out.schema_descr().num_columns() {
            self.widen(table)?;
        }
        let rows = table.columns.first().map_or(0, |(_, column)| column.len());
        // Groups of equal size, so that a few rows more than `ROWS` are no group of their own.
        let size = rows.div_ceil((rows / ROWS).max(1)).max(1);
        for from in (0..rows).step_by(size) {
            let to = rows.min(from + size);
            let mut group = self.out.next_row_group()?;
            for (_, column) in &table.columns {
                match column {
                    Column::U8(v) => put::<Int32Type>(&mut group, v[from..to].iter().map(|&number| number.into())),
                    Column::U16(v) => put::<Int32Type>(&mut group, v[from..to].iter().map(|&number| number.into())),
                    Column::U32(v) => put::<Int32Type>(&mut group, v[from..to].iter().map(|&number| number as i32)),
                    Column::U64(v) => put::<Int64Type>(&mut group, v[from..to].iter().map(|&number| number as i64)),
                    Column::F64(v) => put::<DoubleType>(&mut group, v[from..to].iter().copied()),
                }?;
            }
            group.close()?;
        }
        Ok(())
    }

    /// Starts the file again with the columns of `table`: copies the row groups so far and fills their new columns with
    /// NaN.
    fn widen(&mut self, table: &Table) -> Result<()> {
        let metadata = self.finish()?;
        let narrow = File::open(&self.file)?;
        // It stays readable while it is open.
        fs::remove_file(&self.file)?;
        *self = Self::create(&self.file, table)?;
        for group in metadata.row_groups() {
            let rows = group.num_rows() as usize;
            let mut wide = self.out.next_row_group()?;
            for chunk in group.columns() {
                wide.append_column(&narrow, closed(chunk, rows))?;
            }
            for _ in group.num_columns()..table.columns.len() {
                put::<DoubleType>(&mut wide, std::iter::repeat_n(f64::NAN, rows))?;
            }
            wide.close()?;
        }
        Ok(())
    }
}

/// The schema of a column.
fn field(name: &str, column: &Column) -> Result<Type> {
    let (physical, bit_width) = match column {
        Column::U8(_) => (Physical::INT32, Some(8)),
        Column::U16(_) => (Physical::INT32, Some(16)),
        Column::U32(_) => (Physical::INT32, Some(32)),
        Column::U64(_) => (Physical::INT64, Some(64)),
        Column::F64(_) => (Physical::DOUBLE, None),
    };
    let unsigned = bit_width.map(|bit_width| LogicalType::integer(bit_width, false));
    Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_logical_type(unsigned)
        .build()
}

/// Writes the next column of a row group.
fn put<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, BufferedFile>,
    values: impl Iterator<Item = T::T>,
) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(|| ParquetError::General("unexpected column".into()))?;
    column.typed::<T>().write_batch(&values.collect::<Vec<_>>(), None, None)?;
    column.close()
}

/// The result of closing a column chunk, from its metadata.
fn closed(chunk: &ColumnChunkMetaData, rows: usize) -> ColumnCloseResult {
    ColumnCloseResult {
        bytes_written: chunk.compressed_size() as u64,
        rows_written: rows as u64,
        metadata: chunk.clone(),
        bloom_filter: None,
        column_index: None,
        offset_index: None,
    }
}

/// Start of a file's `created_by`, which the version follows.
const WRITER: &str = "sojourn ";
/// Maximum bytes of a dictionary: 256 values of eight bytes, so that indices fit into a byte. The library's default of
/// 1 MiB doubles file sizes.
const DICTIONARY: usize = 256 * 8;
/// Bytes of a file's write buffer.
const KEPT: usize = 1 << 15;

#[cfg(test)]
mod tests {
    use super::*;
    use ::parquet::record::RowAccessor;
    use tempfile::{TempDir, tempdir};

    fn table(columns: Vec<(&str, Column)>) -> Table {
        Table { name: "t", columns: columns.into_iter().map(|(name, column)| (name.to_string(), column)).collect() }
    }

    /// A folder with the file of these tables.
    fn written(tables: Vec<Table>) -> TempDir {
        let folder = tempdir().unwrap();
        let mut files = ParquetFolder::new(folder.path());
        let rows = tables.iter().map(|table| table.columns[0].1.len() as u64).sum();
        tables.into_iter().for_each(|table| files.write(table).unwrap());
        assert_eq!(files.finish().unwrap(), [("t", rows)]);
        folder
    }

    fn reader(folder: &TempDir) -> SerializedFileReader<File> {
        SerializedFileReader::new(File::open(folder.path().join("t.parquet")).unwrap()).unwrap()
    }

    /// Pseudo-random numbers without repetition, the same in each call.
    fn draws(count: usize) -> Vec<u64> {
        let next = |word: &u64| Some(word.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
        std::iter::successors(Some(1), next).take(count).collect()
    }

    #[test]
    fn every_type_of_column_comes_back() {
        let columns = vec![
            ("a", Column::U8(vec![0, 255])),
            ("b", Column::U32(vec![0, u32::MAX])),
            ("c", Column::U64(vec![u64::MAX, 0])),
            ("d", Column::F64(vec![-0.5, f64::INFINITY])),
            ("e", Column::U16(vec![0, u16::MAX])),
        ];
        let folder = written(vec![table(columns)]);
        let rows: Vec<_> = reader(&folder).get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let row = |i: usize| {
            let row = &rows[i];
            (row.get_ubyte(0).unwrap(), row.get_uint(1).unwrap(), row.get_ulong(2).unwrap(), row.get_double(3).unwrap())
        };
        assert_eq!((row(0), row(1)), ((0, 0, u64::MAX, -0.5), (255, u32::MAX, 0, f64::INFINITY)));
        assert_eq!(rows.len(), 2);
    }

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let rows = 2 * ROWS + 5; // two row groups
        let columns = vec![
            ("a", Column::U8((0..rows).map(|row| row as u8).collect())),
            ("b", Column::U32((0..rows).map(|row| u32::MAX - row as u32 / 7).collect())),
            ("c", Column::U64(draws(rows))),
            ("d", Column::F64(draws(rows).into_iter().map(|draw| -1.0 / draw as f64).collect())),
            ("e", Column::U16((0..rows).map(|row| row as u16).collect())),
        ];
        let given = table(columns);
        let folder = written(vec![given.clone()]);
        assert_eq!(read(&folder.path().join("t.parquet")).unwrap(), Some(given.columns));
    }

    #[test]
    fn a_file_of_another_writer_is_not_read() {
        let folder = written(vec![table(vec![("a", Column::U8(vec![1, 2, 3]))])]);
        let file = folder.path().join("t.parquet");
        let mut bytes = fs::read(&file).unwrap();
        let at = bytes.windows(WRITER.len()).rposition(|part| part == WRITER.as_bytes()).unwrap();
        bytes[at] = b'S';
        fs::write(&file, bytes).unwrap();
        assert_eq!(read(&file).unwrap(), None);
    }

    #[test]
    fn many_rows_are_several_row_groups_of_one_size() {
        for (count, expected) in
            [(0, &[][..]), (5, &[5]), (ROWS + 9, &[ROWS + 9]), (2 * ROWS + 5, &[ROWS + 3, ROWS + 2])]
        {
            let folder = written(vec![table(vec![("a", Column::U64((0..count as u64).collect()))])]);
            let file = reader(&folder);
            let groups = file.metadata().row_groups().iter();
            assert_eq!(groups.map(|group| group.num_rows() as usize).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn the_same_rows_are_the_same_bytes() {
        let bytes = || {
            let few = draws(ROWS).into_iter().map(|draw| (draw >> 57) as u8);
            let columns = vec![("a", Column::U8(few.collect())), ("b", Column::U64(draws(ROWS)))];
            let late = vec![("a", Column::U8(vec![7])), ("b", Column::U64(vec![9])), ("c", Column::F64(vec![0.1]))];
            fs::read(written(vec![table(columns), table(late)]).path().join("t.parquet")).unwrap()
        };
        assert_eq!(bytes(), bytes());
    }

    #[test]
    fn a_column_that_comes_late_is_nan_before_and_the_others_are_as_they_were() {
        let first = |i: u64| table(vec![("a", Column::U64(vec![i, i + 1]))]);
        let late = table(vec![("a", Column::U64(vec![7])), ("b", Column::F64(vec![0.5]))]);
        let later = table(vec![
            ("a", Column::U64(vec![8])),
            ("b", Column::F64(vec![1.5])),
            ("c", Column::F64(vec![2.5])),
            ("d", Column::F64(vec![3.5])),
        ]);
        let folder = written(vec![first(1), first(3), late, later]);
        let rows: Vec<_> = reader(&folder).get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let whole: Vec<_> = rows.iter().map(|row| row.get_ulong(0).unwrap()).collect();
        assert_eq!(whole, [1, 2, 3, 4, 7, 8]);
        let floats = |column: usize| rows.iter().map(move |row| row.get_double(column).unwrap());
        for (column, expected) in [(1, &[0.5, 1.5][..]), (2, &[2.5]), (3, &[3.5])] {
            assert!(floats(column).take(6 - expected.len()).all(f64::is_nan), "column {column}");
            assert_eq!(floats(column).skip(6 - expected.len()).collect::<Vec<_>>(), expected, "column {column}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_disk_that_is_full_is_an_error_with_the_name_of_the_file() {
        let Ok(_) = fs::metadata("/dev/full") else { return };
        let folder = tempdir().unwrap();
        std::os::unix::fs::symlink("/dev/full", folder.path().join("t.parquet")).unwrap();
        let mut files = ParquetFolder::new(folder.path());
        // More bytes than the write buffer holds.
        let error = files.write(table(vec![("a", Column::U64(draws(ROWS)))])).unwrap_err();
        assert!(error.to_string().contains("t.parquet: No space left"), "{error}");
        assert_eq!(error.cause.kind(), io::ErrorKind::StorageFull);
    }
}
