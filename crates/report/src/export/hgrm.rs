//! The percentile table of HdrHistogram (`.hgrm`) for one cell, in microseconds; hdrhistogram.github.io plots it.

use super::{
    format::{Export, Exported, Writer, Written},
    one, text,
};
use anyhow::Result;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "hgrm",
    ending: "hgrm",
    needs: None,
    about: "HdrHistogram's percentile table (microseconds) of one cell, its threads together: HdrHistogram's plotter",
    write: Writer::File(write),
};

/// Rows per halving of the distance to the end, the default of HdrHistogram's tools.
const TICKS: u32 = 5;

fn write(exported: &Exported) -> Result<Written> {
    let cells = exported.cells();
    let cell = one::cell(exported, &cells, EXPORT.name)?;
    let threads = one::times(cell);
    let histogram = one::sum(exported, threads.iter())?;
    let mut out = format!("{:>12} {:>14} {:>10} {:>14}\n\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)");
    let mut total: u64 = 0;
    for row in histogram.iter_quantiles(TICKS) {
        let value = row.value_iterated_to() as f64 / 1e3;
        let quantile = row.quantile_iterated_to();
        total = total.saturating_add(row.count_since_last_iteration());
        out.push_str(&format!("{value:>12.3} {quantile:>14.12} {total:>10}"));
        // The last row has no distance left to the end.
        if quantile < 1.0 {
            out.push_str(&format!(" {:>14.2}", 1.0 / (1.0 - quantile)));
        }
        out.push('\n');
    }
    let (mean, sd) = (histogram.mean() / 1e3, histogram.stdev() / 1e3);
    let max = threads.iter().filter_map(|one| one.summary.max).max();
    // This is the exact maximum; the last row has its bucket's end.
    let max = max.map_or(histogram.max() as f64, |max| max as f64) / 1e3;
    out.push_str(&format!("#[Mean    = {mean:>12.3}, StdDeviation   = {sd:>12.3}]\n"));
    out.push_str(&format!("#[Max     = {max:>12.3}, Total count    = {:>12}]\n", histogram.len()));
    let buckets = u64::BITS - histogram.max().leading_zeros();
    out.push_str(&format!("#[Buckets = {:>12}, SubBuckets     = {:>12}]\n", buckets.saturating_sub(10).max(1), 2048));
    let name = text::line(&format!("{}, {}", cell.name(), cell.state().words().word));
    out.push_str(&format!("#[latido {name}]\n"));
    let over: u64 = threads.iter().map(|one| one.series.overflow).sum();
    if over > 0 {
        out.push_str(&format!("#[latido {} and in no row]\n", text::beyond(over)));
    }
    for why in threads.iter().filter_map(|one| one.censored()).take(1) {
        out.push_str(&format!("#[latido Max is a lower bound: {}]\n", text::sentence(&why)));
    }
    Ok(Written { bytes: out.into_bytes(), left_out: one::others(cell) })
}
