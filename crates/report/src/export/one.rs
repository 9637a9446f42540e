//! The one distribution of formats that hold no more: the threads of one quantity of one cell, with their samples.

use super::{
    cells::{OneCell, OneSeries},
    format::Exported,
};
use anyhow::{Context, Result, anyhow, bail};
use hdrhistogram::Histogram;
use latido_model::{
    plan::expect::NS,
    run::{SeriesData, codec},
};

impl Exported<'_> {
    /// What lies beside the record of a series.
    ///
    /// # Errors
    /// It is missing or broken.
    pub fn data(&self, one: &OneSeries) -> Result<SeriesData> {
        let whose = || format!("cell {}, {} {}", one.cell.stored.number, one.series.quantity, one.place);
        self.source.series(one.cell.stored, one.series).with_context(whose)
    }

    /// The distribution that is judged, in the stored unit: the samples and the delays of missed slots.
    ///
    /// # Errors
    /// The data is missing or broken.
    pub fn corrected(&self, one: &OneSeries) -> Result<Histogram<u64>> {
        let SeriesData { mut histogram, missed, .. } = self.data(one)?;
        if let Some(missed) = missed {
            histogram.add(missed).map_err(|error| anyhow!("adding the missed slots: {error}"))?;
        }
        Ok(histogram)
    }
}

/// The cell that a format of one distribution is about: the one asked for, else the only one that has times.
///
/// # Errors
/// There are several, with their names; or none.
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
            let names: Vec<String> = cells.iter().filter(has_times).take(20).map(OneCell::name).collect();
            bail!("{format} holds one distribution: name a cell with --cell NUMBER, of {}", names.join("; "))
        }
    }
}

/// The threads of the first quantity of a cell that limits look at; it is in ns.
pub fn times<'a>(cell: &'a OneCell<'a>) -> Vec<OneSeries<'a>> {
    let measurand = &cell.stored.measurand;
    let mut all = cell.series();
    all.retain(|one| one.series.unit == NS && measurand.judges(&one.series.quantity));
    let first = all.first().map(|one| (one.series.quantity.clone(), one.series.labels.clone()));
    all.retain(|one| {
        first
            .as_ref()
            .is_some_and(|(quantity, labels)| (quantity, labels) == (&one.series.quantity, &one.series.labels))
    });
    all
}

/// What of a cell is not among [`times`], one sentence for each.
pub fn others(cell: &OneCell) -> Vec<String> {
    let taken: Vec<String> = times(cell).iter().map(|one| format!("{} {}", one.series.quantity, one.place)).collect();
    let all = cell.series();
    let names = all.iter().map(|one| format!("{} {}", one.series.quantity, one.place));
    names.filter(|name| !taken.contains(name)).map(|name| format!("{}: {name} is not in it", cell.name())).collect()
}

/// Samples in bins of 1 us, as cyclictest counts them: bin k holds k <= x < k + 1 us.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bins {
    /// The bins that were asked for.
    pub bins: Vec<u64>,
    /// Samples beyond the last.
    pub over: u64,
}

/// The samples of a series in so many bins, without the delays of missed slots: no tool that has such bins counts them. A
/// stored bucket that straddles a microsecond goes to the upper bin.
///
/// # Errors
/// The data is missing or broken.
pub fn bins(exported: &Exported, one: &OneSeries) -> Result<Bins> {
    let mut found = Bins { bins: vec![0; exported.options.bins], over: one.series.overflow };
    for bucket in exported.data(one)?.histogram.iter_recorded() {
        let bin = usize::try_from(bucket.value_iterated_to() / 1000).unwrap_or(usize::MAX);
        let count = found.bins.get_mut(bin).unwrap_or(&mut found.over);
        *count = count.saturating_add(bucket.count_at_value());
    }
    Ok(found)
}

/// An empty histogram to which others are added.
///
/// # Errors
/// None in practice.
pub fn sum<'a>(exported: &Exported, all: impl Iterator<Item = &'a OneSeries<'a>>) -> Result<Histogram<u64>> {
    let mut sum = codec::histogram()?;
    for one in all {
        sum.add(exported.corrected(one)?).map_err(|error| anyhow!("adding the threads: {error}"))?;
    }
    Ok(sum)
}
