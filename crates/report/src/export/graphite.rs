//! Lines of Graphite's plaintext protocol: the path of a figure, its value, and the second in which its run started.

use super::{
    format::{Export, Exported, Writer, Written},
    text::{self, Names},
    trend::points,
};
use anyhow::{Context, Result};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "graphite",
    ending: "txt",
    needs: None,
    about: "lines of Graphite's plaintext protocol, one per figure (stored units)",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let (points, left_out) = points(exported);
    let mut lines = String::new();
    for (run, judged) in exported.runs.iter().enumerate() {
        let meta = &judged.run.meta;
        let at: jiff::Timestamp =
            meta.started.parse().with_context(|| format!("run {}: latido cannot read its start time", meta.id))?;
        // Two names may give the same path.
        let mut paths = Names::default();
        for point in points.iter().filter(|point| point.run == run) {
            let parts = ["latido", &point.title, &point.place, &point.quantity, &point.key, &point.unit];
            let parts = parts.into_iter().filter(|part| !part.is_empty()).map(|part| text::id(part, ""));
            let path = paths.unique(parts.collect::<Vec<_>>().join("."));
            lines += &format!("{path} {} {}\n", point.value, at.as_second());
        }
    }
    Ok(Written { bytes: lines.into_bytes(), left_out })
}
