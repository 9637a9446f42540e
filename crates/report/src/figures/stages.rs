//! The chain of an event as a bar of stages: the median event next to the worst one, each on a separate scale.

use super::{
    axis::{AxisScale, value_axis},
    frame::{Frame, WIDTH},
    svg::{Anchor, Drawing, NAME_SIZE, Svg, apart, text_width},
};
use crate::{
    tree::{Datum, Head, Sheet},
    words::Unit,
};
use latido_judge::chains::{Chain, Chains, STAGES, Shown};

/// The figure's title.
pub const TITLE: &str = "From the event to the task: the median and the worst event";

/// How to read it.
pub const ABOUT: &str = "Left: the event with the median response; right: the event with the longest response, over all repeats. A bar \
    begins at the event's instant (t1) and ends when its task reads the clock (t3); its pieces end at the hard interrupt, at \
    the first switch to the interrupt's thread, at the handler's entry (t2) and at the task. A stage without a time stamp is \
    part of the next.";

/// The number of rows that are drawn; the table contains all of them.
const ROWS: usize = 24;
/// The height of a row; [`BAR`] is that of a bar and [`HEAD`] that of the part above the rows. All in pixels.
const ROW: f64 = 30.0;
const BAR: f64 = 16.0;
const HEAD: f64 = 46.0;
const NAMES: f64 = 250.0;

/// Returns the configurations that have events, with their events.
fn rows(all: &[&Chains]) -> Vec<(String, Shown)> {
    all.iter().filter_map(|one| Some((one.name.clone(), *one.found.as_ref().ok()?))).collect()
}

/// Draws the picture; returns nothing if there is no event.
pub fn draw(all: &[&Chains]) -> Option<Drawing> {
    let mut rows = rows(all);
    rows.truncate(ROWS);
    let (first, bottom) = (rows.first()?, HEAD + ROW * rows.len() as f64);
    let mut svg = Svg::new(WIDTH, bottom + 46.0);
    let mut x = NAMES;
    for (slot, stage) in STAGES.iter().enumerate() {
        svg.open_series(slot);
        svg.rect("body", (x, 2.0), (14.0, 12.0), "");
        svg.text("name", (x + 20.0, 12.0), Anchor::Start, &format!("to the {stage}"));
        svg.close();
        x += text_width(&format!("to the {stage}"), NAME_SIZE) + 50.0;
    }
    let names: Vec<&str> = rows.iter().map(|(name, _)| name.as_str()).collect();
    let width = (WIDTH - NAMES - 40.0) / 2.0;
    type Of = fn(&Shown) -> Chain;
    let panels: [(&str, Of); 2] = [("median event", |shown| shown.median), ("worst event", |shown| shown.worst)];
    for (panel, (name, of)) in panels.into_iter().enumerate() {
        let left = NAMES + panel as f64 * (width + 30.0);
        let frame = Frame { left, right: left + width, top: HEAD - 6.0, bottom };
        let longest = rows.iter().map(|(_, shown)| of(shown).response()).max().unwrap_or(0).max(1) as f64;
        let scale = AxisScale::linear(0.0, longest * 1.02, frame.left, frame.right);
        frame.x_axis(&mut svg, &value_axis(&scale, 6, "ns"), "time since the event");
        svg.text("head", (frame.left, HEAD - 14.0), Anchor::Start, name);
        for (row, (_, shown)) in rows.iter().enumerate() {
            let (y, mut from) = (HEAD + ROW * row as f64 + (ROW - BAR) / 2.0, 0);
            for (slot, took) in of(shown).took().into_iter().enumerate() {
                let Some(took) = took.filter(|took| *took > 0) else { continue };
                let (begin, end) = (scale.at(from as f64), scale.at((from + took) as f64));
                let stage = STAGES.get(slot).copied().unwrap_or_default();
                svg.open_series(slot);
                svg.rect("body", (begin, y), ((end - begin).max(0.5), BAR), &format!("to the {stage}: {}", time(took)));
                svg.close();
                from += took;
            }
        }
    }
    for (row, name) in apart(&names, NAME_SIZE, NAMES - 16.0).iter().enumerate() {
        svg.text("name", (NAMES - 8.0, HEAD + ROW * row as f64 + ROW / 2.0 + 4.0), Anchor::End, name);
    }
    let said = format!("{}: median {}, worst {}", first.0, line(&first.1.median), line(&first.1.worst));
    Some(svg.finish(None, TITLE, &said))
}

fn time(ns: i64) -> String {
    let unit = Unit::at(ns as f64, "ns");
    format!("{} {}", crate::words::number(ns as f64 / unit.per), unit.name)
}

/// Returns the stages of an event as text: `hard interrupt 1.8 µs + handler 0.4 µs + task 5.9 µs = 8.1 µs`.
fn line(chain: &Chain) -> String {
    let took = chain.took();
    let pieces = STAGES.iter().zip(took).filter_map(|(stage, took)| Some(format!("{stage} {}", time(took?))));
    format!("{} = {}", pieces.collect::<Vec<_>>().join(" + "), time(chain.response()))
}

/// Draws the bars in letters, for a terminal: `|eeeeiiiihhhhhhtt|`, with one letter per stage of the response.
pub fn lines(all: &[&Chains], width: usize) -> Vec<String> {
    let columns = width.clamp(40, 100) - 12;
    let bar = |chain: &Chain| {
        let whole = chain.response().max(1) as f64;
        let mut from = 0;
        let pieces = chain.took().into_iter().zip(["e", "i", "h", "t"]).filter_map(|(took, letter)| {
            let end = from + took?;
            let cells = |ns: i64| (ns as f64 / whole * columns as f64).round() as usize;
            let piece = letter.repeat(cells(end).saturating_sub(cells(from)));
            from = end;
            Some(piece)
        });
        pieces.collect::<String>()
    };
    let mut lines = vec!["to the hard interrupt (e), interrupt thread (i), handler (h), task (t)".to_owned()];
    for (name, shown) in rows(all) {
        lines.push(format!("{name}, {}", crate::words::many(shown.events as u64, "event")));
        for (which, chain) in [("median", &shown.median), ("worst", &shown.worst)] {
            lines.push(format!("  {which:<7} |{}|", bar(chain)));
            lines.push(format!("          {}", line(chain)));
        }
    }
    lines
}

/// Returns both events of each configuration, stage by stage.
pub fn table(all: &[&Chains]) -> Sheet {
    let mut table = Vec::new();
    for (name, shown) in rows(all) {
        for (which, chain) in [("median", &shown.median), ("worst", &shown.worst)] {
            let mut row = vec![Datum::Text(name.clone()), Datum::Text(which.into())];
            row.extend(chain.took().map(|took| Datum::value(took.map(|took| took as f64))));
            row.push(Datum::Value(chain.response() as f64));
            row.push(Datum::Text(format!("{} of cell {}", chain.event, chain.cell)));
            table.push(row);
        }
    }
    let stages = STAGES.iter().map(|stage| format!("to the {stage}"));
    let head = ["configuration".to_owned(), "event".to_owned()].into_iter().chain(stages);
    let head = head.chain(["response".to_owned(), "number".to_owned()]).map(|name| Head::from(name.as_str())).collect();
    let typical: Vec<f64> = rows(all).iter().map(|(_, shown)| shown.median.response() as f64).collect();
    Sheet::new(TITLE.into(), head, table, "ns", &typical)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chains(name: &str, worst: [Option<i64>; 4]) -> Chains {
        let median = Chain { cell: 1, event: 2, at_ns: 0, reached: [Some(1_800), None, Some(2_200), Some(8_100)] };
        let worst = Chain { reached: worst, event: 7, ..median };
        Chains { name: name.into(), found: Ok(Shown { events: 300, median, worst }) }
    }

    fn both() -> [Chains; 2] {
        [
            chains("standard, no load", [Some(1_900), None, Some(2_500), Some(8_300)]),
            chains("<b>threaded", [Some(10_700), Some(24_000), Some(101_200), Some(106_000)]),
        ]
    }

    /// Each stage with a timestamp has its piece, and the name of a configuration stays plain text.
    #[test]
    fn each_stage_is_a_piece() {
        let all = both();
        let svg = draw(&all.iter().collect::<Vec<_>>()).unwrap().inline();
        // The legend has four pieces. Both medians and the first worst event have three stages each, the other worst event has four.
        assert_eq!(svg.matches("class=\"body\"").count(), 4 + 3 + 3 + 3 + 4);
        assert!(!svg.contains("<b>") && !svg.contains("NaN"), "{svg}");
        let failed = Chains { name: "x".into(), found: Err("why".into()) };
        assert!(draw(&[&failed]).is_none());
    }

    #[test]
    fn a_terminal_has_the_same_bars_in_letters() {
        let all = both();
        insta::assert_snapshot!(lines(&all.iter().collect::<Vec<_>>(), 80).join("\n"), @r"
        to the hard interrupt (e), interrupt thread (i), handler (h), task (t)
        standard, no load, 300 events
          median  |eeeeeeeeeeeeeeehhhtttttttttttttttttttttttttttttttttttttttttttttttttt|
                  hard interrupt 1.80 µs + handler 400 ns + task 5.90 µs = 8.10 µs
          worst   |eeeeeeeeeeeeeeeehhhhtttttttttttttttttttttttttttttttttttttttttttttttt|
                  hard interrupt 1.90 µs + handler 600 ns + task 5.80 µs = 8.30 µs
        <b>threaded, 300 events
          median  |eeeeeeeeeeeeeeehhhtttttttttttttttttttttttttttttttttttttttttttttttttt|
                  hard interrupt 1.80 µs + handler 400 ns + task 5.90 µs = 8.10 µs
          worst   |eeeeeeeiiiiiiiihhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhttt|
                  hard interrupt 10.7 µs + interrupt thread 13.3 µs + handler 77.2 µs + task 4.80 µs = 106 µs
        ");
    }

    #[test]
    fn the_table_has_every_stage() {
        let all = both();
        let sheet = table(&all.iter().collect::<Vec<_>>());
        assert_eq!((sheet.rows.len(), sheet.head.len()), (4, 8));
        assert!(sheet.rows.iter().all(|row| row.len() == sheet.head.len()));
    }
}
