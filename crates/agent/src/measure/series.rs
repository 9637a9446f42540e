//! A series during and after the measurement: from the memory that the real-time threads wrote to the series of a record and its files.

use anyhow::{Result, anyhow};
use hdrhistogram::Histogram;
use latido_model::{
    quantity::Quantity,
    record::{self, Band, Point, Series, SeriesFiles, Summary},
    run::codec,
    summary::{Exact, summarise},
};
use latido_rt::{Block, BlockSeries, Distribution, Reader, Sample, Snapshot, buckets};
use std::{collections::BTreeMap, fmt};

/// A whole-numbered fact of a series: its name and its value.
pub type Fact = (&'static str, u64);

/// A series during the measurement: the reading end of one thread's recorder.
pub struct OpenSeries {
    /// The measured quantity.
    pub(super) quantity: Quantity,
    /// The labels that distinguish it from other series of the same quantity.
    labels: BTreeMap<String, String>,
    /// The CPU that its thread is pinned to.
    pub(super) cpu: Option<u32>,
    /// Index of its thread in the cell.
    thread: u32,
    /// The reading end.
    pub(super) reader: Reader,
    /// Computes the probe's facts from the result.
    facts: fn(&Snapshot) -> Vec<Fact>,
}

impl OpenSeries {
    /// Makes a series of a quantity, without labels and without a thread.
    pub(super) fn new(quantity: Quantity, reader: Reader) -> Self {
        Self { quantity, labels: BTreeMap::new(), cpu: None, thread: 0, reader, facts: |_| Vec::new() }
    }

    /// Assigns a thread, and a CPU if the thread is pinned.
    pub(super) fn on(self, thread: u32, cpu: Option<u32>) -> Self {
        Self { thread, cpu, ..self }
    }

    /// Adds a label.
    pub fn label(mut self, key: &str, value: impl ToString) -> Self {
        self.labels.insert(key.into(), value.to_string());
        self
    }

    /// Sets the function that computes the probe's facts from the result.
    pub fn facts(self, facts: fn(&Snapshot) -> Vec<Fact>) -> Self {
        Self { facts, ..self }
    }

    /// Returns the room for what grows during the measurement, and for making a checkpoint, in bytes.
    pub(super) fn needs(&self) -> usize {
        // Room for each block and its four largest samples as text in a file, and for each kept sample.
        BlockSeries::MOST * 512 + self.reader.room() * 160
    }

    /// Returns the probe's facts.
    pub(super) fn stated(&self, snapshot: &Snapshot) -> BTreeMap<String, i64> {
        let whole = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        (self.facts)(snapshot).into_iter().map(|(name, value)| (name.to_string(), whole(value))).collect()
    }

    /// Makes the series number `number` of a record, with its files. All times of a record count from the cell's first slot. This thread's
    /// first slot came `offset_ns` later.
    ///
    /// # Errors
    /// A count is too large for a file format.
    pub(super) fn part(
        &mut self,
        number: usize,
        snapshot: &Snapshot,
        offset_ns: u64,
        facts: BTreeMap<String, i64>,
    ) -> Result<Part> {
        let plain = hdr(&snapshot.plain)?;
        let summary = summary(&snapshot.plain, &plain);
        let (named, files) = self.files(number, snapshot, &plain, offset_ns)?;
        let periodic = self.quantity.periodic;
        let corrected = match snapshot.corrected().filter(|_| periodic) {
            Some(corrected) => Some(self::summary(&corrected, &hdr(&corrected)?)),
            None => None,
        };
        let series = Series {
            quantity: self.quantity.name.to_string(),
            labels: self.labels.clone(),
            cpu: self.cpu,
            thread: self.thread,
            unit: self.quantity.unit.to_string(),
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
            facts,
            quantized: None,
            bounds: None,
            files: named,
        };
        Ok((series, files))
    }

    /// Returns its files with their names: the histogram, the blocks, the largest samples and, if it keeps them, all samples.
    fn files(
        &mut self,
        number: usize,
        snapshot: &Snapshot,
        plain: &Histogram<u64>,
        offset_ns: u64,
    ) -> Result<(SeriesFiles, Vec<File>)> {
        let blocks = self.reader.blocks_with(snapshot);
        let mut files = Vec::new();
        let mut file = |kind: &str, ending: &str, bytes: Vec<u8>| {
            let file_name = format!("{kind}-{number}.{ending}");
            files.push((file_name.clone(), bytes));
            Some(file_name)
        };
        let histogram = file("histogram", "hdr", codec::encode_histogram(plain)?);
        let mut named = SeriesFiles { histogram, ..SeriesFiles::default() };
        if let Some(missed) = snapshot.missed.as_ref().filter(|missed| missed.count > 0) {
            named.missed = file("missed", "hdr", codec::encode_histogram(&hdr(missed)?)?);
        }
        let blocks: Vec<record::Block> = blocks.iter().map(|one| block(one, offset_ns)).collect();
        named.blocks = file("blocks", "csv", codec::encode_blocks(&blocks)?);
        let largest: Vec<record::Sample> = snapshot.largest.iter().map(|one| sample(one, offset_ns)).collect();
        named.largest = file("largest", "csv", codec::encode_largest(&largest)?);
        if let Some(samples) = self.reader.ordered() {
            let point = |one: &Sample| Point { value: one.value, at_ns: one.at_ns + offset_ns };
            let points: Vec<Point> = samples.iter().map(point).collect();
            named.samples = file("samples", "csv.gz", codec::encode_samples(&points)?);
        }
        Ok((named, files))
    }
}

impl fmt::Display for OpenSeries {
    /// Writes the quantity and the values of its labels. A label with the value yes appears by its key, one with the value no does not
    /// appear: `lock normal shared`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.quantity.name)?;
        self.labels.iter().try_for_each(|(key, value)| match value.as_str() {
            "no" => Ok(()),
            "yes" => write!(f, " {key}"),
            value => write!(f, " {value}"),
        })
    }
}

/// A series of a record and its files.
pub type Part = (Series, Vec<File>);

/// A file of a cell: its name and its bytes.
pub type File = (String, Vec<u8>);

/// Copies the counts into the histogram of the crate that writes the files. Both have the same layout, so this goes bucket by bucket.
fn hdr(distribution: &Distribution) -> Result<Histogram<u64>> {
    let mut histogram = codec::histogram()?;
    for (index, &count) in distribution.counts.iter().enumerate() {
        // The loop counts samples below zero in bucket 0, but the files cannot express them.
        let count = if index == 0 { count.saturating_sub(distribution.negative) } else { count };
        if count > 0 {
            let value = buckets::lowest(index);
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
    let class = match sample.class {
        latido_rt::Class::Unknown => record::Class::Unknown,
        latido_rt::Class::Preempted => record::Class::Preempted,
        latido_rt::Class::InPlace => record::Class::InPlace,
        latido_rt::Class::Throttled => record::Class::Throttled,
    };
    record::Sample { value: sample.value, at_ns: sample.at_ns + offset_ns, class }
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
