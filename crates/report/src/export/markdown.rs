//! A summary in GitHub's Markdown, for the page of a workflow's step (`$GITHUB_STEP_SUMMARY`) or a comment.

use super::{
    case::{Case, groups},
    cells::OneCell,
    format::{Export, Exported, Writer, Written},
    state::State,
    text::sentence,
    units,
};
use crate::{formats::markdown, judged::JudgedRun};
use anyhow::Result;
use latido_model::units::many;

/// The list entry.
pub const EXPORT: Export = Export {
    name: "markdown-summary",
    ending: "md",
    needs: None,
    about: "verdict, table and reasons for GitHub's step summary; `latido report --format markdown` has all tables",
    write: Writer::File(write),
};

/// GitHub refuses a summary of 1 MiB or more; latido cuts what is beyond this size and reports the cut.
const MOST_BYTES: usize = 1_000_000;

/// Escapes a sentence, cut at a length that no real sentence reaches.
fn escape(text: &str) -> String {
    markdown::escape(&sentence(text))
}

fn write(exported: &Exported) -> Result<Written> {
    let groups = groups(exported);
    let cells = exported.cells();
    let mut out = Out::default();
    for run in exported.runs {
        let own = |other: &JudgedRun| std::ptr::eq(other, run);
        head(run, &mut out);
        out.push("| cell | state | quantity | thread | p50 (µs) | p99.9 (µs) | max (µs) | missed |\n");
        out.push("|:--|:--|:--|:--|--:|--:|--:|--:|\n");
        cells.iter().filter(|cell| own(cell.run)).for_each(|cell| rows(cell, &mut out));
        out.push("\n");
        for group in groups.iter().filter(|group| own(group.run)) {
            let whole = group.cell.is_none();
            let told = |case: &&Case| whole || case.state != State::Pass;
            group.cases.iter().filter(told).for_each(|case| reason(&group.name, case, &mut out));
        }
        out.push("\n");
    }
    if out.cut > 0 {
        let (more, are) = (many(out.cut, "more line"), if out.cut == 1 { "is" } else { "are" });
        let more = format!("\n*{more} {are} left out: the page takes no more.*\n");
        let cut = format!("{} {are} cut", many(out.cut, "line"));
        return Ok(Written { bytes: (out.text + &more).into_bytes(), left_out: vec![cut] });
    }
    Ok(Written::all(out.text))
}

/// Text up to the largest allowed size.
#[derive(Default)]
struct Out {
    text: String,
    cut: usize,
}

impl Out {
    fn push(&mut self, line: &str) {
        if self.cut > 0 || self.text.len() + line.len() > MOST_BYTES {
            self.cut += 1;
        } else {
            self.text.push_str(line);
        }
    }
}

fn head(run: &JudgedRun, out: &mut Out) {
    let meta = &run.run.meta;
    out.push(&format!("### latido, {}: {}\n\n", escape(&meta.plan), escape(run.word)));
    out.push(&format!("{}\n\n", escape(&run.judgement.headline.sentence())));
    out.push(&format!(
        "Run {} on {}. Its report has the kernel and the settings.\n\n",
        escape(&meta.id),
        escape(&meta.machine)
    ));
}

fn rows(cell: &OneCell, out: &mut Out) {
    let (name, state) = (escape(&cell.name()), cell.state().words().word);
    let series = cell.series();
    if series.is_empty() {
        out.push(&format!("| {name} | {state} | | | | | | |\n"));
    }
    for one in series {
        let figures = one.figures();
        let unit = units::micro(&one.series.unit);
        let figure = |key: &str| figures.iter().find(|figure| figure.key == key).map(|figure| unit.of(figure.value));
        let own = if unit.name == "us" { String::new() } else { format!(" {}", escape(&unit.name)) };
        let text = |value: Option<f64>| value.map(|value| format!("{value:.3}{own}")).unwrap_or_default();
        let max = match figure("max_at_least") {
            Some(least) => format!("≥ {}", text(Some(least))),
            None => text(figure("max")),
        };
        let missed = one.series.slots.map(|slots| slots.missed.to_string()).unwrap_or_default();
        out.push(&format!(
            "| {name} | {state} | {} | {} | {} | {} | {max} | {missed} |\n",
            escape(&one.series.quantity),
            escape(&one.place),
            text(figure("p50")),
            text(figure("p99_9")),
        ));
    }
}

fn reason(group: &str, case: &Case, out: &mut Out) {
    let why = if case.why.is_empty() { String::new() } else { format!(": {}", escape(&case.why)) };
    let word = case.state.words().word;
    out.push(&format!("- **{word}** {}, {}{why}\n", escape(group), escape(&case.name)));
}
