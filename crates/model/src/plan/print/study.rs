//! The sections of a plan that repeats a study: its source, its printed numbers, its tables and figures.

use super::{axis, line, table};
use crate::{
    plan::{Citation, Distribution, Figure, Kind, Layout, Over, Pick, Published, Statistic, Table},
    units::Ns,
    written::{bare, quote},
};

/// `[source]`
pub fn citation(out: &mut String, source: &Citation) {
    line(out, format_args!("\n[source]"));
    line(out, format_args!("title = {}", quote(&source.title)));
    line(out, format_args!("author = {}", quote(&source.author)));
    line(out, format_args!("year = {}", source.year));
    if let Some(place) = &source.place {
        line(out, format_args!("where = {}", quote(place)));
    }
}

/// `[published]`
pub fn published(out: &mut String, published: &Published) {
    line(out, format_args!("\n[published]"));
    line(out, format_args!("study = {}", quote(&published.study)));
    // An empty list is written as a key, because the table needs both keys.
    let quantities = published.quantities.is_empty() && published.unmeasured.is_empty();
    for (key, empty) in [("system", published.systems.is_empty()), ("quantity", quantities)] {
        if empty {
            line(out, format_args!("{key} = []"));
        }
    }
    for (name, filter) in &published.systems {
        line(out, format_args!("\n[[published.system]]\nname = {}", quote(name)));
        table(out, "where", filter);
    }
    for (name, metric, filter) in &published.quantities {
        line(out, format_args!("\n[[published.quantity]]\nname = {}\nmetric = {}", quote(name), quote(metric)));
        table(out, "where", filter);
        let taken = published.taken(name);
        table(out, "options", &taken.options.into_iter().collect());
        if taken.of == Distribution::Plain {
            line(out, format_args!("of = \"plain\""));
        }
    }
    for name in &published.unmeasured {
        line(out, format_args!("\n[[published.quantity]]\nname = {}", quote(name)));
    }
}

/// `[[table]]`
pub fn declared_table(out: &mut String, one: &Table) {
    line(out, format_args!("\n[[table]]"));
    heading(out, &one.title, one.number.as_deref(), &one.printed);
    picks(out, "rows", &one.rows);
    picks(out, "columns", &one.columns);
    statistics(out, "statistics", &one.statistics);
    if one.layout == Layout::Apart {
        line(out, format_args!("layout = \"apart\""));
    }
    ending(out, one.over, one.note.as_deref());
}

/// `[[figure]]`
pub fn figure(out: &mut String, one: &Figure) {
    line(out, format_args!("\n[[figure]]"));
    heading(out, &one.title, one.number.as_deref(), &one.printed);
    line(out, format_args!("kind = \"{}\"", one.kind.name()));
    match &one.kind {
        Kind::Bands(edges) => axis(out, "edges", edges.iter().map(|edge| format!("\"{}\"", Ns(edge.unsigned_abs())))),
        Kind::Bars(statistic) | Kind::Ramp(statistic) => line(out, format_args!("statistic = \"{statistic}\"")),
        Kind::Histogram | Kind::Instances | Kind::Moments | Kind::Time => {}
    }
    match one.panels.as_slice() {
        [only] if only.name.is_empty() => keys(only).iter().for_each(|key| line(out, format_args!("{key}"))),
        panels => picks(out, "panels", panels),
    }
    if !one.axis.is_empty() {
        picks(out, "axis", &one.axis);
    }
    if one.curves.iter().any(|curve| !curve.name.is_empty()) {
        picks(out, "curves", &one.curves);
    }
    if one.log {
        line(out, format_args!("scale = \"log\""));
    }
    if let Some(upto) = one.upto {
        line(out, format_args!("upto = \"{upto}\""));
    }
    if !one.captions.is_empty() {
        statistics(out, "captions", &one.captions);
    }
    ending(out, one.over, one.note.as_deref());
}

fn heading(out: &mut String, title: &str, number: Option<&str>, printed: &[String]) {
    line(out, format_args!("title = {}", quote(title)));
    if let Some(number) = number {
        line(out, format_args!("number = {}", quote(number)));
    }
    if !printed.is_empty() {
        axis(out, "printed", printed.iter().map(|name| quote(name)));
    }
}

fn ending(out: &mut String, over: Over, note: Option<&str>) {
    match over {
        Over::Median => {}
        Over::Pooled => line(out, format_args!("repeats = \"pooled\"")),
        Over::Each(statistic) => line(out, format_args!("each = \"{statistic}\"")),
    }
    if let Some(note) = note {
        line(out, format_args!("note = {}", quote(note)));
    }
}

fn statistics(out: &mut String, key: &str, all: &[Statistic]) {
    axis(out, key, all.iter().map(|statistic| format!("\"{statistic}\"")));
}

fn picks(out: &mut String, key: &str, all: &[Pick]) {
    let one = |pick: &Pick| match pick.word() {
        Some(word) => quote(word),
        None => format!("{{ {} }}", [vec![format!("name = {}", quote(&pick.name))], keys(pick)].concat().join(", ")),
    };
    axis(out, key, all.iter().map(one));
}

/// Returns the keys of a pick, without its name.
fn keys(pick: &Pick) -> Vec<String> {
    let texts =
        [("system", &pick.system), ("quantity", &pick.quantity), ("metric", &pick.metric), ("load", &pick.load)];
    let mut said: Vec<String> =
        texts.iter().filter_map(|(key, text)| Some(format!("{key} = {}", quote(text.as_deref()?)))).collect();
    if !pick.levels.is_empty() {
        let pairs = pick.levels.iter().map(|(axis, level)| format!("{} = {}", bare(axis), quote(level)));
        said.push(format!("where = {{ {} }}", pairs.collect::<Vec<_>>().join(", ")));
    }
    said
}
