//! The histogram that cyclictest of rt-tests 2.4 prints with `-q -h N`; plotting scripts and rteval read it.

use super::{
    cells::OneSeries,
    format::{Export, Exported, Writer, Written},
    one, text,
};
use anyhow::{Result, ensure};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "cyclictest",
    ending: "hist",
    needs: None,
    about: "cyclictest's histogram text (-h, microseconds) of one cell: OSADL's plots, rteval",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let cells = exported.cells();
    let cell = one::cell(exported, &cells, EXPORT.name)?;
    let threads = one::times(cell);
    let columns = one::bins(exported, &threads)?;
    for thread in &threads {
        let known = thread.series.min.is_some() && thread.series.max.is_some() && thread.printed_mean().is_some();
        ensure!(
            known,
            "{}: cyclictest's text needs the minimum, maximum and mean, and the imported file lacks one of them",
            thread.place
        );
    }
    let mut out = remarks(&threads);
    out.push_str("# Histogram\n");
    for bin in 0..columns.first().map_or(0, |column| column.bins.len()) {
        let counts = columns.iter().map(|column| format!("{:06}", column.bins.get(bin).copied().unwrap_or(0)));
        out.push_str(&format!("{bin:06} {}\n", counts.collect::<Vec<_>>().join("\t")));
    }
    let line = |name: &str, values: Vec<String>| format!("# {name}: {}\n", values.join(" "));
    let five = |value: i64| format!("{value:05}");
    let of = |figure: fn(&OneSeries) -> Option<i64>| {
        // Only threads with samples are here, so each has a minimum.
        threads.iter().map(|thread| five(figure(thread).unwrap_or(0) / 1000)).collect()
    };
    out.push_str(&line(
        "Total",
        columns.iter().map(|column| format!("{:09}", column.bins.iter().sum::<u64>())).collect(),
    ));
    out.push_str(&line("Min Latencies", of(|thread| thread.series.min)));
    out.push_str(&line("Avg Latencies", of(|thread| thread.printed_mean().map(|mean| mean as i64))));
    out.push_str(&line("Max Latencies", of(|thread| thread.series.max)));
    out.push_str(&line("Histogram Overflows", columns.iter().map(|column| format!("{:05}", column.over)).collect()));
    // latido does not store which cycles they were.
    out.push_str("# Histogram Overflow at cycle number:\n");
    for thread in 0..columns.len() {
        out.push_str(&format!("# Thread {thread}: \n"));
    }
    Ok(Written { bytes: out.into_bytes(), left_out: one::others(cell) })
}

/// Writes what the format has no place for, in lines that readers skip: the cell, its result, missed slots, CPUs.
fn remarks(threads: &[OneSeries]) -> String {
    let Some(first) = threads.first() else { return String::new() };
    let (cell, meta) = (first.cell, &first.cell.run.run.meta);
    let missed: Vec<String> =
        threads.iter().filter_map(|thread| Some(thread.series.slots?.missed.to_string())).collect();
    let slots =
        if missed.is_empty() { String::new() } else { format!(", missed slots left out: {}", missed.join(" ")) };
    let places: Vec<&str> = threads.iter().map(|thread| thread.place.as_str()).collect();
    let mut out = format!(
        "# latido {} run {} cell {}, {}{slots}\n# latido columns: {} of {}\n",
        text::line(&meta.latido),
        text::line(&meta.id),
        text::line(&format!("{:03} {}", cell.stored.number, cell.title)),
        cell.state().words().word,
        text::line(&first.series.quantity),
        text::line(&places.join(", ")),
    );
    for (thread, why) in (0..).zip(threads).filter_map(|(i, thread): (usize, _)| Some((i, thread.censored()?))) {
        out.push_str(&format!("# latido thread {thread}: Max is a lower bound: {}\n", text::sentence(&why)));
    }
    out
}
