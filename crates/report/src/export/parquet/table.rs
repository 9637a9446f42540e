//! Writes a table of Parquet from rows, column by column (the format: parquet.apache.org, file format and encodings).

use anyhow::{Context, Result};
use parquet::{
    basic::{Compression, Encoding, LogicalType, Repetition, TimeUnit, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type},
    file::{
        properties::{WriterProperties, WriterPropertiesBuilder},
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::{ColumnPath, Type},
};
use std::{io::Write, sync::Arc};

/// The number of rows in a row group: DuckDB reads this many rows as one piece of work.
pub const GROUP: usize = 122_880;

/// A column: its name, and a function that returns a row's value.
pub struct Column<R> {
    /// Its name.
    pub name: &'static str,
    /// The function that returns its value.
    pub value: Value<R>,
}

/// The kinds of columns. An absent value is null, never 0.
pub enum Value<R> {
    /// UTF-8.
    Text(fn(&R) -> &str),
    /// UTF-8 that may be absent.
    MaybeText(fn(&R) -> Option<&str>),
    /// A whole number of 64 bits.
    Whole(fn(&R) -> i64),
    /// A whole number of 64 bits that may be absent.
    MaybeWhole(fn(&R) -> Option<i64>),
    /// A number of double precision that may be absent.
    MaybeReal(fn(&R) -> Option<f64>),
    /// Microseconds since 1970 in UTC.
    Time(fn(&R) -> i64),
}

/// A file that is written group by group.
pub struct Writer<R: 'static, W: Write + Send> {
    columns: &'static [Column<R>],
    file: SerializedFileWriter<W>,
}

impl<R, W: Write + Send> Writer<R, W> {
    /// Starts a file with these columns.
    ///
    /// # Errors
    /// Writing fails.
    pub fn new(columns: &'static [Column<R>], out: W) -> Result<Self> {
        let fields = columns.iter().map(|column| column.field().map(Arc::new)).collect::<Result<_>>()?;
        let schema = Type::group_type_builder("latido").with_fields(fields).build()?;
        let usual = WriterProperties::builder().set_compression(Compression::SNAPPY);
        let properties = columns.iter().fold(usual, |properties, column| column.encoded(properties)).build();
        Ok(Self { columns, file: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))? })
    }

    /// Writes rows as a row group.
    ///
    /// # Errors
    /// Writing fails.
    pub fn write(&mut self, rows: &[R]) -> Result<()> {
        let mut group = self.file.next_row_group()?;
        for column in self.columns {
            column.write(rows, &mut group).with_context(|| format!("the column {}", column.name))?;
        }
        group.close()?;
        Ok(())
    }

    /// Ends the file.
    ///
    /// # Errors
    /// Writing fails.
    pub fn end(self) -> Result<W> {
        Ok(self.file.into_inner()?)
    }
}

/// Returns the bytes of a complete file.
///
/// # Errors
/// None in practice: the file is in memory.
pub fn bytes<R>(columns: &'static [Column<R>], rows: &[R]) -> Result<Vec<u8>> {
    let mut file = Writer::new(columns, Vec::new())?;
    rows.chunks(GROUP).try_for_each(|rows| file.write(rows))?;
    file.end()
}

impl<R> Column<R> {
    fn field(&self) -> Result<Type> {
        let (required, optional) = (Repetition::REQUIRED, Repetition::OPTIONAL);
        let whole = Some(LogicalType::integer(64, true));
        let (physical, logical, repetition) = match self.value {
            Value::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), required),
            Value::MaybeText(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String), optional),
            Value::Whole(_) => (Physical::INT64, whole, required),
            Value::MaybeWhole(_) => (Physical::INT64, whole, optional),
            Value::MaybeReal(_) => (Physical::DOUBLE, None, optional),
            Value::Time(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MICROS)), required),
        };
        let field = Type::primitive_type_builder(self.name, physical);
        Ok(field.with_logical_type(logical).with_repetition(repetition).build()?)
    }

    /// Sets each column's encoding. Names repeat, so a dictionary numbers them. A whole number is close to the one before it: differences
    /// take few bits, and a dictionary would be as long as the column.
    fn encoded(&self, properties: WriterPropertiesBuilder) -> WriterPropertiesBuilder {
        let path = ColumnPath::from(self.name);
        match self.value {
            Value::Text(_) | Value::MaybeText(_) => properties,
            Value::MaybeReal(_) => properties.set_column_dictionary_enabled(path, false),
            Value::Whole(_) | Value::MaybeWhole(_) | Value::Time(_) => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
        }
    }

    fn write<W: Write + Send>(&self, rows: &[R], group: &mut SerializedRowGroupWriter<'_, W>) -> Result<()> {
        match &self.value {
            Value::Text(of) => put::<ByteArrayType, _>(&texts(rows.iter().map(|row| Some(of(row)))), None, group),
            Value::MaybeText(of) => {
                let levels = levels(rows, |row| of(row).is_some());
                put::<ByteArrayType, _>(&texts(rows.iter().map(of)), Some(&levels), group)
            }
            Value::Whole(of) | Value::Time(of) => {
                put::<Int64Type, _>(&rows.iter().map(of).collect::<Vec<_>>(), None, group)
            }
            Value::MaybeWhole(of) => {
                let levels = levels(rows, |row| of(row).is_some());
                put::<Int64Type, _>(&rows.iter().filter_map(of).collect::<Vec<_>>(), Some(&levels), group)
            }
            Value::MaybeReal(of) => {
                let levels = levels(rows, |row| of(row).is_some());
                put::<DoubleType, _>(&rows.iter().filter_map(of).collect::<Vec<_>>(), Some(&levels), group)
            }
        }
    }
}

/// Returns the definition levels: 1 where there is a value, 0 where it is null.
fn levels<R>(rows: &[R], there: impl Fn(&R) -> bool) -> Vec<i16> {
    rows.iter().map(|row| i16::from(there(row))).collect()
}

/// Returns the texts that are present; a text that equals the one before shares its bytes.
fn texts<'a>(all: impl Iterator<Item = Option<&'a str>>) -> Vec<ByteArray> {
    let mut found: Vec<ByteArray> = Vec::new();
    for text in all.flatten() {
        let same = found.last().filter(|last| last.data() == text.as_bytes()).cloned();
        found.push(same.unwrap_or_else(|| ByteArray::from(text)));
    }
    found
}

fn put<D: DataType, W: Write + Send>(
    values: &[D::T],
    levels: Option<&[i16]>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<()> {
    let mut column = group.next_column()?.context("the file has no such column")?;
    column.typed::<D>().write_batch(values, levels, None)?;
    column.close()?;
    Ok(())
}
