//! `rtla-osnoise-hist`: `rtla osnoise hist`: noises above a threshold, counted in the kernel's buckets.

use crate::{
    args::Args,
    doubt::Figure,
    format::{Asked, Format},
    imported::{Imported, Interval, Series},
    rtla::{self, histogram, place, titled},
};
use anyhow::{Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "rtla-osnoise-hist", about: "rtla osnoise hist, 6.1 and newer", recognise, read };

const TITLE: &str = "# RTLA osnoise histogram";
/// The kernel's default threshold for a noise, in us.
const THRESHOLD: i64 = 5;

fn recognise(bytes: &[u8]) -> bool {
    titled(bytes, TITLE)
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let all = histogram(bytes, TITLE)?;
    let args = asked.args.as_deref().map(|line| Args::new(line, "aspbdrHcPTStE"));
    let said = args.and_then(|args| args.number('T', "threshold")).filter(|threshold| *threshold > 0);
    let mut imported = Imported {
        tool: "rtla".into(),
        title: "osnoise".into(),
        command: asked.args.clone(),
        elapsed_ns: all.elapsed_ns,
        notes: all.remarks.clone(),
        ..Imported::default()
    };
    let mut cpus = Vec::new();
    for column in &all.columns {
        ensure!(column.kind == "CPU", "a column `{}`, not CPU", column.kind);
        // Its extremes are the lower edges of buckets.
        let mut series = all.series(column, all.width.max(1))?;
        if all.width == 0 {
            // A single row at 0 does not show how wide it is.
            (series.min, series.max, series.mean) = (None, None, None);
            series.bins.iter_mut().for_each(|bin| bin.high = None);
        }
        // rtla 6.1.1 and older divide the sum of the rows' values by the number of samples, as if each row had one sample.
        for doubt in series.doubts.iter_mut().filter(|doubt| doubt.figure == Figure::Mean) {
            doubt.why.push_str(" (a known fault of rtla 6.1.1 and older)");
        }
        series.thread = place(&mut cpus, column.cpu);
        (series.quantity, series.heading) = ("gap".into(), "Noise".into());
        series.above = said.unwrap_or(THRESHOLD).checked_mul(1000);
        imported.series.push(series);
    }
    if said.is_none() {
        imported.notes.push(
            "the file does not state the threshold: it is 5 us, the kernel's default, unless -T set another".into(),
        );
    }
    let above = said.unwrap_or(THRESHOLD).checked_mul(1000);
    if all.columns.is_empty() && all.whole {
        // This is no error: there are no noises above the threshold, on CPUs that the file does not name. The number of noises below it is
        // unknown. Only the threshold bounds them, so it must be known.
        imported.notes.push("no noise above the threshold was seen".into());
        let known = above.filter(|_| asked.args.is_some());
        if known.is_none() {
            imported.notes.push("latido can judge no limit without the threshold: give it with --args".into());
        }
        imported.series.push(Series {
            quantity: "gap".into(),
            heading: "Noise".into(),
            unit: "ns",
            count: if known.is_some() { None } else { Some(0) },
            max: known.map(|above| Interval::between(0, above)),
            above,
            ..Series::default()
        });
    }
    rtla::rest(&mut imported, &all.rest, all.whole);
    Ok(imported)
}
