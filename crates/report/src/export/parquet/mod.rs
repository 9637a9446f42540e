//! Parquet: the series and the buckets of many runs as two tables, for DuckDB, pandas, Spark, ClickHouse.

#[cfg(feature = "parquet")]
pub mod rows;
#[cfg(feature = "parquet")]
pub mod table;

use super::format::{Export, Writer};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "parquet",
    ending: "parquet",
    needs: None,
    about: "series.parquet and buckets.parquet in a directory: DuckDB, pandas, Spark, ClickHouse",
    write: WRITER,
};

/// The table of series.
pub const SERIES: &str = "series.parquet";

/// The table of buckets.
pub const BUCKETS: &str = "buckets.parquet";

#[cfg(feature = "parquet")]
const WRITER: Writer = Writer::Directory(|exported| {
    let rows::Rows { series, buckets, left_out } = rows::of(exported)?;
    let (buckets, series) = (table::bytes(rows::BUCKET, &buckets)?, table::bytes(rows::SERIES, &series)?);
    // The buckets come first: a series whose row exists then has its buckets, even if the second file was never written.
    Ok(vec![
        (BUCKETS, super::Written { bytes: buckets, left_out: Vec::new() }),
        (SERIES, super::Written { bytes: series, left_out }),
    ])
});

#[cfg(not(feature = "parquet"))]
const WRITER: Writer =
    Writer::Absent("this build of latido has no Parquet: build one with `cargo build --release --features full`");
