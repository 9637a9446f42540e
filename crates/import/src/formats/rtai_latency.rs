//! `rtai-latency`: RTAI's latency test: lines of the smallest and the largest value so far, in ns.

use crate::{
    format::{Asked, Format},
    imported::{Finding, Imported, Interval, Series, Severity},
    rtai::LATENCY,
    text::many,
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "rtai-latency",
    about: "RTAI's latency, in the kernel and in user space: extremes and overruns",
    recognise: |bytes| LATENCY.is_in(bytes),
    read,
};

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let mut last: Option<[i64; 6]> = None;
    let about = LATENCY.walk(bytes, |now| {
        let [min, least, _, max, most, overruns] = now;
        ensure!(least <= min && min <= max && max <= most, "the smallest value is above the largest");
        ensure!(overruns >= 0, "a negative number of overruns");
        let follows =
            last.is_none_or(|[_, before, _, _, top, lost]| least <= before && top <= most && lost <= overruns);
        ensure!(follows, "a second run: keep one run per file");
        last = Some(now);
        Ok(())
    })?;
    let [_, least, _, _, most, overruns] = last.context("no line RTD with figures")?;
    let mut imported = Imported {
        tool: "RTAI latency".into(),
        title: "rtai latency".into(),
        command: asked.args.clone(),
        findings: overrun(overruns, most).into_iter().collect(),
        ..Imported::default()
    };
    imported
        .notes
        .push("a live screen: latido read the last line, without its mean, which covers only the last second".into());
    imported.notes.extend((least < 0 && !about.is_periodic).then(|| NEGATIVE.to_owned()));
    // In periodic mode RTAI subtracts the period from the time between two wake-ups.
    let (quantity, heading) = match about.is_periodic {
        true => ("jitter", "Time between two wake-ups, minus the period"),
        false => ("latency", "Wake-up latency"),
    };
    // RTAI enters a value of 0 for an overrun. The true value is above 0, and nobody knows how far.
    let known = |value: i64, is_exact: bool| Some(Interval { low: value, high: is_exact.then_some(value) });
    let facts = [("overruns", Some(overruns)), ("period_ns", about.period)];
    imported.series.push(Series {
        quantity: quantity.into(),
        heading: heading.into(),
        cpu: asked.cpus.first().copied(),
        unit: "ns",
        min: known(least, overruns == 0 || least != 0),
        max: known(most, overruns == 0),
        facts: facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect(),
        ..Series::default()
    });
    about.describe(&mut imported);
    Ok(imported)
}

/// The note about values below 0.
pub(super) const NEGATIVE: &str = "RTAI sets its timer early by the latency that its calibration found, and the values do not contain that \
     time: a value below 0 is a wake-up before its time";

/// Returns the finding about overruns, if there are any.
fn overrun(overruns: i64, most: i64) -> Option<Finding> {
    let count = u64::try_from(overruns).ok().filter(|count| *count > 0)?;
    Some(Finding {
        severity: Severity::Note,
        name: "overruns".into(),
        text: format!(
            "{}: RTAI enters 0 for the latency of an overrun, so the largest may be above {most} ns",
            many(count, "overrun")
        ),
    })
}
