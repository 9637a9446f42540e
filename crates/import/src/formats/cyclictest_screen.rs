//! `cyclictest-screen`: the lines `T:` of a run without a histogram, from its end or live with cursor movements.

use crate::{
    cyclictest,
    format::{Asked, Format},
    formats::cyclictest_v,
    imported::{Ending, Imported},
    status::{self, Smallest},
    table,
    text::{contains, lines, plain},
};
use anyhow::{Result, ensure};

/// The list entry.
pub const FORMAT: Format = Format {
    name: "cyclictest-screen",
    about: "cyclictest without -h: the lines `T:` of a terminal, live or at the end (-q)",
    recognise,
    read,
};

fn recognise(bytes: &[u8]) -> bool {
    let own = |line: &[u8]| status::is(line) && contains(line, b" P:") && contains(line, b" I:");
    let mut lines_of = lines(bytes);
    lines_of.any(|(_, line)| own(line))
        && !table::has(bytes)
        && !lines(bytes).take(1000).any(|(_, line)| cyclictest_v::line(&plain(line)).is_some())
}

fn read(bytes: &[u8], asked: &Asked) -> Result<Imported> {
    let unit = cyclictest::unit(asked, bytes);
    let all = status::read(bytes, Smallest::OfAll)?;
    ensure!(!all.is_empty(), "no line `T:`");
    let mut imported = cyclictest::described("cyclictest", asked);
    for status in &all {
        imported.series.push(cyclictest::series(status.series(unit)?, status.thread, asked));
    }
    cyclictest::policy_of(&mut imported, &all);
    imported.findings.extend(cyclictest::unit_taken(asked, bytes));
    imported.findings.extend(cyclictest::smis(&imported.series));
    imported.findings.extend(status::starved(&all));
    imported.notes.extend(status::live(bytes, &all));
    imported.ending = Ending::Complete;
    Ok(imported)
}
