//! `rtla-timerlat-hist`: `rtla timerlat hist`: timer interrupt, thread and user thread of each CPU.

use crate::{
    format::{Asked, Format},
    imported::{Imported, Series},
    rtla::{self, histogram, place, titled},
    text::lines,
};
use anyhow::{Result, bail};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "rtla-timerlat-hist", about: "rtla timerlat hist, 6.1 and newer", recognise, read };

const TITLE: &str = "# RTLA timerlat histogram";

fn recognise(bytes: &[u8]) -> bool {
    // A file without its header is recognised too, so that latido can refuse it with the reason.
    let footer = |name: &[u8]| lines(bytes).any(|(_, line)| line.starts_with(name));
    titled(bytes, TITLE)
        || footer(b"over:") && footer(b"count:") && !lines(bytes).take(100).any(|(_, line)| line.starts_with(b"# "))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let all = histogram(bytes, TITLE)?;
    let mut imported = Imported {
        tool: "rtla".into(),
        title: "timerlat".into(),
        command: asked.args.clone(),
        elapsed_ns: all.elapsed_ns,
        notes: all.remarks.clone(),
        ..Imported::default()
    };
    let mut cpus = Vec::new();
    for column in &all.columns {
        let mut series = all.series(column, 1)?;
        series.thread = place(&mut cpus, column.cpu);
        named(&mut series, &column.kind)?;
        imported.series.push(series);
    }
    rtla::rest(&mut imported, &all.rest, all.whole);
    Ok(imported)
}

/// Names what a column measures. All columns count from the timer's expected expiry, and are never pooled.
///
/// # Errors
/// The kind is unknown.
pub fn named(series: &mut Series, kind: &str) -> Result<()> {
    let (quantity, heading, thread) = match kind {
        "IRQ" => ("irq-latency", "Timer interrupt latency", None),
        "Thr" => ("latency", "Wake-up latency", Some("kernel")),
        "Usr" => ("latency", "Wake-up latency", Some("user")),
        other => bail!("a column `{other}`: neither IRQ, Thr nor Usr"),
    };
    (series.quantity, series.heading) = (quantity.into(), heading.into());
    series.labels.extend(thread.map(|kind| ("thread".to_owned(), kind.to_owned())));
    Ok(())
}
