//! From the memory that the real-time threads wrote to the series of a record and the files beside it.

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use latido_model::{
    record::{self, Band, Point, Series, SeriesFiles, Summary},
    run::codec,
    summary::{Exact, summarise},
};
use latido_rt::{Block, Distribution, Sample, Snapshot, histogram};
use std::collections::BTreeMap;

/// What a series is called.
#[derive(Clone, Debug, Default)]
pub struct Name {
    /// `latency`, `gap`.
    pub quantity: String,
    /// What tells it from others of the same quantity.
    pub labels: BTreeMap<String, String>,
    /// The CPU the thread is pinned to.
    pub cpu: Option<u32>,
    /// Index of the thread in the cell.
    pub thread: u32,
    /// The unit where it is not ns: `ps`, `urad`.
    pub unit: Option<&'static str>,
}

impl std::fmt::Display for Name {
    /// The quantity with the values of its labels, those that are yes or no by their key: `lock normal shared`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.quantity)?;
        self.labels.iter().try_for_each(|(key, value)| match value.as_str() {
            "no" => Ok(()),
            "yes" => write!(f, " {key}"),
            value => write!(f, " {value}"),
        })
    }
}

/// What the memory of one thread does not know.
#[derive(Debug, Default)]
pub struct Placed {
    /// The thread's first slot after the cell's, in ns: all times of a record count from the cell's first slot.
    pub offset_ns: u64,
    /// The probe's own facts.
    pub facts: BTreeMap<String, i64>,
    /// The samples in order, where they are kept.
    pub samples: Option<Vec<Sample>>,
}

/// A file of a cell: its name and its bytes.
pub type File = (String, Vec<u8>);

/// Makes the series number `number` of a record, with its files. `periodic` says that slots were counted.
///
/// # Errors
/// A count that no file format can hold.
pub fn series(
    number: usize,
    name: &Name,
    snapshot: &Snapshot,
    blocks: &[Block],
    periodic: bool,
    placed: Placed,
) -> Result<(Series, Vec<File>)> {
    let plain = hdr(&snapshot.plain)?;
    let summary = summary(&snapshot.plain, &plain);
    let mut files = Vec::new();
    let mut file = |kind: &str, ending: &str, bytes: Vec<u8>| {
        let file_name = format!("{kind}-{number}.{ending}");
        files.push((file_name.clone(), bytes));
        Some(file_name)
    };
    let mut named =
        SeriesFiles { histogram: file("histogram", "hdr", codec::encode_histogram(&plain)?), ..SeriesFiles::default() };
    if let Some(missed) = snapshot.missed.as_ref().filter(|missed| missed.count > 0) {
        named.missed = file("missed", "hdr", codec::encode_histogram(&hdr(missed)?)?);
    }
    let blocks: Vec<record::Block> = blocks.iter().map(|one| block(one, placed.offset_ns)).collect();
    named.blocks = file("blocks", "csv", codec::encode_blocks(&blocks)?);
    let largest: Vec<record::Sample> = snapshot.largest.iter().map(|one| sample(one, placed.offset_ns)).collect();
    named.largest = file("largest", "csv", codec::encode_largest(&largest)?);
    if let Some(samples) = placed.samples {
        let point = |one: &Sample| Point { value: one.value, at_ns: one.at_ns + placed.offset_ns };
        let points: Vec<Point> = samples.iter().map(point).collect();
        named.samples = file("samples", "csv.gz", codec::encode_samples(&points)?);
    }
    let corrected = match snapshot.corrected().filter(|_| periodic) {
        Some(corrected) => {
            let histogram = hdr(&corrected)?;
            Some(self::summary(&corrected, &histogram))
        }
        None => None,
    };
    let series = Series {
        quantity: name.quantity.clone(),
        labels: name.labels.clone(),
        cpu: name.cpu,
        thread: name.thread,
        unit: name.unit.unwrap_or("ns").into(),
        count: summary.count,
        min: summary.min,
        max: summary.max,
        mean: summary.mean,
        sd: summary.sd,
        quantiles: summary.quantiles,
        bands: summary.bands,
        overflow: snapshot.plain.overflow,
        negative: snapshot.plain.negative,
        slots: periodic.then_some(record::Slots {
            met: snapshot.slots.met,
            late: snapshot.slots.late,
            missed: snapshot.slots.missed,
        }),
        corrected,
        facts: placed.facts,
        files: named,
    };
    Ok((series, files))
}

/// The counts in the crate that writes the files: bucket by bucket, since both have the same layout.
fn hdr(distribution: &Distribution) -> Result<Histogram<u64>> {
    let mut histogram = codec::histogram()?;
    for (index, &count) in distribution.counts.iter().enumerate() {
        // The loop counts samples below zero in bucket 0; the files hold only what they can say.
        let count = if index == 0 { count.saturating_sub(distribution.negative) } else { count };
        if count > 0 {
            let value = histogram::lowest(index);
            histogram.record_n(value, count).map_err(|error| anyhow!("histogram: {error}"))?;
        }
    }
    Ok(histogram)
}

fn summary(distribution: &Distribution, histogram: &Histogram<u64>) -> Summary {
    let exact = Exact {
        count: distribution.count,
        min: distribution.min,
        max: distribution.max,
        sum: distribution.sum,
        sum_squares: distribution.sum_squares,
        overflow: distribution.overflow,
    };
    let edges = distribution.edges.iter().map(|edge| i64::try_from(*edge).ok()).chain([None]);
    let bands = edges.zip(&distribution.bands).map(|(upto, &count)| Band { upto, count }).collect();
    summarise(&exact, histogram, bands)
}

fn sample(sample: &Sample, offset_ns: u64) -> record::Sample {
    record::Sample { value: sample.value, at_ns: sample.at_ns + offset_ns, class: sample.class.name().into() }
}

fn block(block: &Block, offset_ns: u64) -> record::Block {
    record::Block {
        start_ns: block.start_ns + offset_ns,
        length_ns: block.length_ns,
        count: block.count,
        sum: block.sum,
        sum_squares: block.sum_squares,
        largest: block.largest().iter().map(|one| sample(one, offset_ns)).collect(),
    }
}
