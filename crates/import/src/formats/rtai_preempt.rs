//! `rtai-preempt`: RTAI's preempt test: the latency of a task that preempts a fast and a slow one, and the jitter of these two, in ns.

use super::rtai_latency::NEGATIVE;
use crate::{
    format::{Asked, Format},
    imported::{Imported, Interval, Series},
    rtai::PREEMPT,
};
use anyhow::{Context, Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "rtai-preempt",
    about: "RTAI's preempt: extremes of the latency, and the largest jitter of the fast and the slow task",
    recognise: |bytes| PREEMPT.is_in(bytes),
    read,
};

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let mut last: Option<[i64; 5]> = None;
    let about = PREEMPT.walk(bytes, |now| {
        let [min, _, max, fast, slow] = now;
        ensure!(min <= max, "the smallest value is above the largest");
        ensure!(fast >= 0 && slow >= 0, "a negative jitter");
        // The program never resets any of them.
        let follows = last
            .is_none_or(|[least, _, most, jitter, more]| min <= least && most <= max && jitter <= fast && more <= slow);
        ensure!(follows, "a second run: keep one run per file");
        last = Some(now);
        Ok(())
    })?;
    let [min, _, max, fast, slow] = last.context("no line RTD with figures")?;
    let mut imported = Imported {
        tool: "RTAI preempt".into(),
        title: "rtai preempt".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    imported
        .notes
        .push("a live screen: latido read the last line, without its mean, which covers only that line".into());
    imported.notes.extend((min < 0).then(|| NEGATIVE.to_owned()));
    imported.notes.extend(about.context.map(|context| jitter_of(context).to_owned()));
    let series = |thread: u32, quantity: &str, heading: &str| Series {
        quantity: quantity.into(),
        heading: heading.into(),
        thread,
        cpu: usize::try_from(thread).ok().and_then(|at| asked.cpus.get(at)).copied(),
        unit: "ns",
        ..Series::default()
    };
    let (min, max) = (Some(Interval::exactly(min)), Some(Interval::exactly(max)));
    imported.series.push(Series { min, max, ..series(0, "latency", "Wake-up latency") });
    for (thread, task, largest) in [(1, "fast", fast), (2, "slow", slow)] {
        let max = Some(Interval::exactly(largest));
        let labels = [("task".to_owned(), task.to_owned())].into();
        imported.series.push(Series { labels, max, ..series(thread, "jitter", "Jitter") });
    }
    about.describe(&mut imported);
    Ok(imported)
}

/// Returns what the test takes for a jitter: the tasks of the kernel and those of user space compute it in two ways.
fn jitter_of(context: &str) -> &'static str {
    match context {
        "user" => "a jitter is how far a task started from its planned time",
        _ => {
            "a jitter is how much sooner than one period after its last start a task started; a later start counts nothing"
        }
    }
}
