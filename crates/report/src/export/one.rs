//! The single distribution that some formats have room for: the threads of one quantity of one cell, with their samples.

use super::{
    cells::{OneCell, OneSeries},
    format::Exported,
};
use anyhow::{Context, Result, anyhow, bail, ensure};
use hdrhistogram::Histogram;
use latido_model::{
    plan::expect::NS,
    record::{Bin, quantized::counted},
    run::{SeriesData, codec},
};

impl Exported<'_> {
    /// Reads the stored data of a series, which is not in the record itself.
    ///
    /// # Errors
    /// The data is missing or broken.
    pub fn data(&self, one: &OneSeries) -> Result<SeriesData> {
        let whose = || format!("cell {}, {} {}", one.cell.stored.number, one.series.quantity, one.place);
        self.source.series(one.cell.stored, one.series).with_context(whose)
    }

    /// Returns the distribution that latido judges, in the stored unit: the samples and the delays of missed slots.
    ///
    /// # Errors
    /// The data is missing or broken.
    pub fn corrected(&self, one: &OneSeries) -> Result<Histogram<u64>> {
        let SeriesData { mut histogram, missed, bins, .. } = self.data(one)?;
        if one.series.bounds.is_some() {
            let whole = counted(&bins) == one.series.count;
            ensure!(whole, "{}: the imported file has no distribution", one.place);
        }
        if let Some(missed) = missed {
            histogram.add(missed).map_err(|error| anyhow!("adding the missed slots: {error}"))?;
        }
        Ok(histogram)
    }
}

/// The name of the quantity that is a thread's lateness.
const LATENCY: &str = "latency";

/// Returns the cell for a format of one distribution: the cell that the user names, else the only one that has times.
///
/// # Errors
/// Several cells have times (the message names them), or no cell has.
pub fn cell<'a>(exported: &Exported, cells: &'a [OneCell<'a>], format: &str) -> Result<&'a OneCell<'a>> {
    let has_times = |cell: &&OneCell| !times(cell).is_empty();
    let wanted = |cell: &&OneCell| exported.options.cell.is_none_or(|number| cell.stored.number == number);
    let mut found = cells.iter().filter(wanted).filter(has_times);
    match (found.next(), found.next(), exported.options.cell) {
        (Some(one), None, _) => Ok(one),
        (None, ..) => match exported.options.cell {
            Some(number) => bail!("{format}: there is no cell {number} with times in it"),
            None => bail!("{format}: no cell has times in it"),
        },
        (Some(_), Some(_), Some(_)) => bail!("{format} holds one distribution: name one run"),
        (Some(_), Some(_), None) => {
            let names: Vec<String> = cells
                .iter()
                .filter(has_times)
                .take(20)
                .map(|one| format!("{:03} {}", one.stored.number, one.name()))
                .collect();
            bail!("{format} holds one distribution: name a cell with --cell NUMBER, of {}", names.join("; "))
        }
    }
}

/// Returns the threads of one quantity that the cell's limit judges, in ns: `latency` where it exists, else the first such quantity. (A
/// cell can also have a latency of the interrupt itself, and cyclictest prints no such value.)
pub fn times<'a>(cell: &'a OneCell<'a>) -> Vec<OneSeries<'a>> {
    let measurand = &cell.stored.measurand;
    let mut all = cell.series();
    all.retain(|one| one.series.unit == NS && measurand.judges(&one.series.quantity));
    let first = all.iter().find(|one| one.series.quantity == LATENCY).or(all.first());
    let first = first.map(|one| (one.series.quantity.clone(), one.series.labels.clone()));
    all.retain(|one| {
        first
            .as_ref()
            .is_some_and(|(quantity, labels)| (quantity, labels) == (&one.series.quantity, &one.series.labels))
    });
    all
}

/// Returns one sentence for each series of a cell that is not among [`times`].
pub fn others(cell: &OneCell) -> Vec<String> {
    let taken: Vec<String> = times(cell).iter().map(|one| format!("{} {}", one.series.quantity, one.place)).collect();
    let all = cell.series();
    let names = all.iter().map(|one| format!("{} {}", one.series.quantity, one.place));
    names.filter(|name| !taken.contains(name)).map(|name| format!("{}: {name} is left out", cell.listed())).collect()
}

/// Samples in bins of 1 us, as cyclictest counts them: bin k holds k <= x < k + 1 us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// The number of bins that the user requested, or fewer where the imported files have fewer.
    pub bins: Vec<u64>,
    /// Samples above the last bin.
    pub over: u64,
}

/// Counts the samples of threads in bins, with the same number of bins for each thread. Delays of missed slots do not count, because no
/// tool with such bins counts them. A bucket that spans two microseconds goes to the upper bin. Where an imported file only states that
/// samples were beyond its bins, the bins end there.
///
/// # Errors
/// The data is missing or broken.
pub fn bins(exported: &Exported, threads: &[OneSeries]) -> Result<Vec<Bins>> {
    let counts = threads.iter().map(|one| counts(exported, one)).collect::<Result<Vec<_>>>()?;
    let ends = counts.iter().filter_map(|counts| counts.end);
    let end = ends.fold(exported.options.bins, usize::min);
    let of = |(counts, one): (&Counts, &OneSeries)| {
        let mut found = Bins { bins: vec![0; end], over: one.series.overflow };
        for (bin, count) in &counts.bins {
            let place = found.bins.get_mut(*bin).unwrap_or(&mut found.over);
            *place = place.saturating_add(*count);
        }
        found
    };
    Ok(counts.iter().zip(threads).map(of).collect())
}

/// The samples of one thread per microsecond. `end` is the first microsecond from which an imported file gives no exact counts.
struct Counts {
    bins: Vec<(usize, u64)>,
    end: Option<usize>,
}

fn counts(exported: &Exported, one: &OneSeries) -> Result<Counts> {
    let data = exported.data(one)?;
    let micro = |value: i64| usize::try_from(value / 1000).unwrap_or(usize::MAX);
    if one.series.bounds.is_none() {
        let buckets = data.histogram.iter_recorded();
        let bin = |value: u64| usize::try_from(value / 1000).unwrap_or(usize::MAX);
        let bins = buckets.map(|bucket| (bin(bucket.value_iterated_to()), bucket.count_at_value()));
        return Ok(Counts { bins: bins.collect(), end: None });
    }
    ensure!(counted(&data.bins) == one.series.count, "{}: the imported file has no distribution", one.place);
    let width = one.series.quantized.as_ref().and_then(|quantized| quantized.width).unwrap_or(1);
    let open = |bin: &&Bin| bin.high.is_none_or(|high| high.abs_diff(bin.low) >= width.max(1000));
    let end = data.bins.iter().find(open).map(|bin| micro(bin.low));
    let place = |bin: &Bin| (bin.high.map_or(usize::MAX, micro), bin.count);
    Ok(Counts { bins: data.bins.iter().map(place).collect(), end })
}

/// Returns the sum of the corrected histograms of all these series.
///
/// # Errors
/// The data of a series is missing or broken.
pub fn sum<'a>(exported: &Exported, all: impl Iterator<Item = &'a OneSeries<'a>>) -> Result<Histogram<u64>> {
    let mut sum = codec::histogram()?;
    for one in all {
        sum.add(exported.corrected(one)?).map_err(|error| anyhow!("adding the threads: {error}"))?;
    }
    Ok(sum)
}
