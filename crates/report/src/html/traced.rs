//! A trace as a page: the timeline of its CPUs, its longest waits, its tables. The page is one self-contained file.

use super::{
    STYLE,
    parts::SheetView,
    spikes::{self, WorstView},
};
use crate::{
    figures::style,
    traced::{Analysis, Drawn, Timeline, Told},
    words,
};
use anyhow::{Context, Result};
use askama::Template;
use serde_json::json;

const TRACE: &str = ".lanes{position:relative}#lanes{width:100%;display:block;background:var(--pan);border-radius:6px;cursor:grab;\
     touch-action:none}\n";
const SCRIPT: &str = include_str!("../../templates/trace.js");

#[derive(Template)]
#[template(path = "trace.html")]
struct Page<'a> {
    source: &'a str,
    events: String,
    length: String,
    clock: &'a str,
    system: &'a str,
    lost: String,
    unread: Vec<String>,
    grain: String,
    lanes: String,
    height: usize,
    worst: Vec<WorstView>,
    tables: Vec<SheetView>,
    css: String,
    script: &'static str,
    data: String,
}

/// Returns the page of an analysed trace.
///
/// # Errors
/// The template cannot be written; no known input causes this.
pub fn render(analysis: &Analysis) -> Result<String> {
    let lanes = analysis.timeline.lanes().len();
    let page = Page {
        source: &analysis.source,
        events: words::many(analysis.events, "event"),
        length: words::value(analysis.length_ns as f64, "ns"),
        clock: analysis.clock.as_deref().unwrap_or_default(),
        system: analysis.system.as_deref().unwrap_or_default(),
        lost: analysis.lost.sentence(),
        unread: analysis.told.iter().flat_map(Told::notes).chain(analysis.unread.iter().cloned()).collect(),
        grain: match analysis.timeline.grain {
            0 => String::new(),
            grain => words::value(grain as f64, "ns"),
        },
        lanes: words::many(lanes as u64, "CPU"),
        height: if lanes == 0 { 0 } else { 22 + 44 * lanes },
        worst: analysis.worst.iter().map(WorstView::of).collect(),
        tables: analysis.sheets(false).iter().map(SheetView::of).collect(),
        css: format!("{}{STYLE}{}{TRACE}", style::page_variables(), spikes::STYLE),
        script: SCRIPT,
        data: data(analysis).to_string().replace('<', "\\u003c"),
    };
    page.render().context("writing the page of a trace")
}

/// Returns the data that the page's script draws.
fn data(analysis: &Analysis) -> serde_json::Value {
    let timeline = &analysis.timeline;
    // Finer steps than a sixteenth of the timeline's grain are not visible.
    let unit = (timeline.grain / 16).max(1);
    let since = |ns: u64| ns.saturating_sub(analysis.first_ns) / unit;
    let waits: Vec<(u64, u64)> =
        analysis.worst.iter().map(|worst| (since(worst.at_ns), since(worst.at_ns + worst.ns))).collect();
    json!({
        "unit": unit,
        "length": analysis.length_ns,
        "names": timeline.names,
        "kinds": timeline.kinds(),
        "lanes": lanes(timeline, since),
        "waits": waits,
    })
}

/// Encodes each CPU's slices as letters: gap, length, owner.
fn lanes(timeline: &Timeline, since: impl Fn(u64) -> u64) -> Vec<(u32, String)> {
    let lane = |(cpu, pieces): (&u32, &Vec<Drawn>)| {
        let (mut text, mut at) = (String::new(), 0);
        for piece in pieces {
            let (begin, end) = (since(piece.begin), since(piece.end));
            for number in [begin.saturating_sub(at), end.saturating_sub(begin), piece.owner as u64] {
                letters(number, &mut text);
            }
            at = end;
        }
        (*cpu, text)
    };
    timeline.lanes().iter().map(lane).collect()
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes a number with five bits per letter, the lowest bits first. The sixth bit means that more letters follow.
fn letters(mut number: u64, text: &mut String) {
    loop {
        let more = if number >= 32 { 32 } else { 0 };
        let letter = LETTERS.get((number % 32 + more) as usize).copied().unwrap_or_default();
        text.push(char::from(letter));
        number /= 32;
        if number == 0 {
            return;
        }
    }
}
