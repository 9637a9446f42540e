//! `jitterdebugger-screen`: its lines `T:` while it runs (`-v`).

use crate::{
    cyclictest,
    floors::Floors,
    format::{Asked, Format, Unit},
    imported::{Ending, Imported},
    status::{self, Smallest},
    text::{TORN, lines, torn},
};
use anyhow::{Result, ensure};

/// The list entry.
pub const FORMAT: Format =
    Format { name: "jitterdebugger-screen", about: "jitterdebugger -v: the lines `T:` of a terminal", recognise, read };

fn recognise(bytes: &[u8]) -> bool {
    let has = |name: &[u8], line: &[u8]| line.windows(name.len()).any(|part| part == name);
    lines(bytes).any(|(_, line)| status::is(line) && has(b" A:", line) && !has(b" P:", line))
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    // It says its unit in results.json alone: that of `-N` is nanoseconds.
    let unit = Floors::of(asked.unit.unwrap_or(Unit::Us));
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
    imported.findings.extend(cyclictest::unit_taken("jitterdebugger", asked));
    imported.notes.push("a live screen: the last line of each thread was taken, which is no end".into());
    if let Some(at) = torn(bytes) {
        imported.ending = Ending::Interrupted(format!("line {at} {TORN}"));
    }
    Ok(imported)
}
