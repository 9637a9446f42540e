//! `jitterdebugger-screen`: its lines `T:` while it runs (`-v`).

use crate::{
    args::Args,
    cyclictest,
    floors::Floors,
    format::{Asked, Format, Unit},
    imported::{Ending, Finding, Imported, Severity},
    status::{self, Smallest},
    text::{TORN, contains, lines, torn},
};
use anyhow::{Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "jitterdebugger-screen", about: "jitterdebugger -v: the lines `T:` of a terminal", recognise, read };

/// Its short options that take a value.
const VALUED: &str = "ocapnlDbi";

fn recognise(bytes: &[u8]) -> bool {
    lines(bytes).any(|(_, line)| status::is(line) && contains(line, b" A:") && !contains(line, b" P:"))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let nanoseconds = asked.args.as_deref().is_some_and(|line| Args::new(line, VALUED).has('N', "nsec"));
    let unit = Floors::of(asked.unit.unwrap_or(if nanoseconds { Unit::Ns } else { Unit::Us }));
    let all = status::read(bytes, Smallest::OfAll)?;
    ensure!(!all.is_empty(), "no line `T:`");
    let mut imported = Imported {
        tool: "jitterdebugger".into(),
        title: "jitterdebugger".into(),
        command: asked.args.clone(),
        ..Imported::default()
    };
    for status in &all {
        imported.series.push(cyclictest::series(status.series(unit)?, status.thread, asked));
    }
    imported.findings.extend((asked.unit.is_none() && asked.args.is_none()).then(|| Finding {
        severity: Severity::Note,
        name: "unit".into(),
        text: "latido assumes us: the ns of `jitterdebugger -N` look the same; --unit ns overrides this".into(),
    }));
    imported.notes.extend(status::live(bytes, &all));
    if let Some(at) = torn(bytes) {
        imported.ending = Ending::Interrupted(format!("line {at} {TORN}"));
    }
    Ok(imported)
}
