//! Figures in one file that contradict each other. latido leaves out those that it does not believe, and uses the rest.

pub use crate::imported::{Doubt, Figure};

use crate::imported::{Bin, Ending, Finding, Imported, Interval, Series, Severity};
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// Leaves out the smallest and the largest value if the first and the last bin do not contain them.
pub fn ends(bins: &[Bin], min: &mut Option<Interval>, max: &mut Option<Interval>, doubts: &mut Vec<Doubt>) {
    let meet = |value: &Interval, bin: &Bin| {
        bin.high.is_none_or(|high| value.low <= high) && value.high.is_none_or(|high| bin.low <= high)
    };
    let shown = |bin: &Bin| bin.high.map_or_else(|| format!("{} on", bin.low), |high| format!("{} to {high}", bin.low));
    if let Some((bin, value)) = bins.first().zip(min.filter(|min| !bins.first().is_some_and(|bin| meet(min, bin)))) {
        doubts.push(Doubt::of(Figure::Smallest, format!("it is {}, but the first row is {}", value.low, shown(bin))));
        *min = None;
    }
    if let Some((bin, value)) = bins.last().zip(max.filter(|max| !bins.last().is_some_and(|bin| meet(max, bin)))) {
        doubts.push(Doubt::of(Figure::Largest, format!("it is {}, but the last row is {}", value.low, shown(bin))));
        *max = None;
    }
}

/// Checks the figures of any format, leaves out those that do not fit, and reports each in one finding.
///
/// # Errors
/// No figure of any thread is credible.
pub fn settle(imported: &mut Imported) -> Result<()> {
    imported.series.iter_mut().for_each(extremes);
    let mut lines: BTreeMap<Figure, (String, usize)> = BTreeMap::new();
    for series in &imported.series {
        for doubt in &series.doubts {
            let line = || format!("{}, {}: {}", doubt.figure.words(), whose(series), doubt.why);
            lines.entry(doubt.figure).and_modify(|(_, more)| *more += 1).or_insert_with(|| (line(), 0));
        }
    }
    imported.findings.extend(lines.into_values().map(|(line, more)| {
        let more = if more == 0 { String::new() } else { format!(" (and {more} more of its kind)") };
        note(format!("{line}{more}"))
    }));
    lost(imported)?;
    imported.findings.extend(beyond(imported));
    Ok(())
}

/// Returns the finding about a figure that is not believed.
pub fn note(text: String) -> Finding {
    Finding { severity: Severity::Note, name: "not believed".into(), text }
}

fn whose(series: &Series) -> String {
    match series.cpu {
        Some(cpu) => format!("{} on CPU {cpu}", series.quantity),
        None => format!("{} of thread {}", series.quantity, series.thread),
    }
}

/// Removes a thread without any figure left: the figures of the other threads do not represent it.
fn lost(imported: &mut Imported) -> Result<()> {
    let empty = |one: &Series| !one.doubts.is_empty() && one.bins.is_empty() && one.min.is_none() && one.max.is_none();
    let gone: Vec<String> = imported.series.iter().filter(|one| empty(one)).map(whose).collect();
    if gone.is_empty() {
        return Ok(());
    }
    if gone.len() == imported.series.len() {
        let why = imported.series.iter().flat_map(|one| &one.doubts).next().map(|doubt| doubt.why.clone());
        bail!("none of its figures is credible: {}", why.unwrap_or_default());
    }
    imported.series.retain(|one| !empty(one));
    imported.findings.push(Finding {
        severity: Severity::Contaminated,
        name: "lost thread".into(),
        text: format!("no figure of {} is credible", gone.join(", ")),
    });
    Ok(())
}

/// Checks that the mean is between the smallest and the largest value.
fn extremes(series: &mut Series) {
    let Some([low, high]) = series.mean else { return };
    // Tools sum in floating point, and round.
    let slack = 1.0 + low.abs().max(high.abs()) * 1e-6;
    let above = series.max.and_then(|max| max.high).filter(|most| low > *most as f64 + slack);
    let below = series.min.map(|min| min.low).filter(|least| high < *least as f64 - slack);
    if let Some(end) = above.or(below) {
        let side = if above.is_some() { "above its largest value" } else { "below its smallest value" };
        let why = format!("it is from {low:.0} to {high:.0} {}, {side}, {end}", series.unit);
        series.mean = None;
        series.doubts.push(Doubt::of(Figure::Mean, why));
    }
}

/// Returns a finding if a sample ended the run and is not among the counted ones.
fn beyond(imported: &Imported) -> Option<Finding> {
    let Ending::Stopped { value, thread } = &imported.ending else { return None };
    let mut of = imported.series.iter().filter(|series| thread.is_none_or(|thread| series.thread == thread));
    let within = of.any(|series| series.max.is_none_or(|max| max.high.is_none_or(|high| value.low <= high)));
    (!within).then(|| Finding {
        severity: Severity::Note,
        name: "the last sample".into(),
        text: format!("a sample of {} ns ended the run, but the largest counted sample is smaller", value.low),
    })
}
