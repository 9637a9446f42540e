//! The interval log of HdrHistogram: one line per series, V2 compressed, tagged with its cell and thread.

use super::{
    format::{Export, Exported, Writer, Written},
    text::{self, Names},
};
use anyhow::{Result, anyhow};
use hdrhistogram::serialization::{
    V2DeflateSerializer,
    interval_log::{IntervalLogWriterBuilder, Tag},
};
use latido_model::plan::expect::NS;
use std::time::{Duration, SystemTime};

/// The list entry.
pub const EXPORT: Export = Export {
    name: "hlog",
    ending: "hlog",
    needs: None,
    about: "HdrHistogram's interval log of all series (values in ns): HdrHistogram's own tools in any language",
    write: Writer::File(write),
};

fn write(exported: &Exported) -> Result<Written> {
    let mut written = Written::default();
    let cells = exported.cells();
    let since_epoch = |text: &str| {
        let at: Option<jiff::Timestamp> = text.parse().ok();
        at.and_then(|at| u64::try_from(at.as_millisecond()).ok()).map(Duration::from_millis)
    };
    let base = cells.iter().filter_map(|cell| since_epoch(cell.started())).min().unwrap_or_default();
    let mut serializer = V2DeflateSerializer::new();
    let mut builder = IntervalLogWriterBuilder::new();
    builder.with_start_time(SystemTime::UNIX_EPOCH + base).with_base_time(SystemTime::UNIX_EPOCH + base);
    // The log then gives a maximum outside of its histogram in ms; the histogram keeps ns.
    builder.with_max_value_divisor(1e6);
    let mut tags = Names::default();
    let mut log = builder.begin_log_with(&mut written.bytes, &mut serializer)?;
    for cell in &cells {
        for one in cell.series() {
            let whose = format!("{} {} {}", cell.name(), one.series.quantity, one.place);
            if one.series.unit != NS {
                written
                    .left_out
                    .push(format!("{whose} is left out: it is in {}, and the log is in ns", one.series.unit));
                continue;
            }
            let remark = |what: String| text::sentence(&format!("latido {whose}: {what}"));
            if one.series.overflow > 0 {
                log.write_comment(&remark(text::beyond(one.series.overflow)))?;
            }
            if let Some(why) = one.censored() {
                log.write_comment(&remark(format!("the maximum is a lower bound: {why}")))?;
            }
            let state = cell.state();
            if !state.is_trusted() {
                log.write_comment(&remark(state.words().word.into()))?;
            }
            let start = since_epoch(cell.started()).unwrap_or(base).saturating_sub(base);
            let length = Duration::from_nanos(cell.record().map_or(0, |record| record.elapsed_ns));
            let run = cell.of_run.as_ref().map(|run| format!("{run}-")).unwrap_or_default();
            let tag = format!("{run}{}-{}-{}", cell.step, one.place, one.series.quantity);
            let tag = tags.unique(text::id(&tag, "."));
            log.write_histogram(&exported.corrected(&one)?, start, length, Tag::new(&tag))
                .map_err(|error| anyhow!("writing {whose}: {error:?}"))?;
        }
    }
    Ok(written)
}
