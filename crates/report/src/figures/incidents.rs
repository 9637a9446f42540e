//! When samples or periods were late, how late they were, and the main cause of each.

use super::{
    axis::{AxisScale, time_axis, value_axis},
    frame::{Frame, WIDTH},
    svg::{Anchor, Svg},
};
use crate::words;
use latido_judge::late::{self, Spikes, Worst};
use std::collections::BTreeMap;

/// The number of causes with a separate marker; all other causes share one more.
const KINDS: usize = 5;
/// The number of drawn incidents: the longest ones.
const DRAWN: usize = 2_000;
/// The height of a name's row below the picture, in pixels.
const ROW: f64 = 20.0;

/// Draws the picture; returns an empty text for fewer than three incidents.
pub fn svg(found: &Spikes) -> String {
    let shown: Vec<&Worst> = found.spikes.iter().take(DRAWN).collect();
    if shown.len() < 3 {
        return String::new();
    }
    let kinds = kinds(&shown, found.asked.limit_ns);
    let frame = Frame { left: 96.0, right: WIDTH - 16.0, top: 12.0, bottom: 190.0 };
    let mut svg = Svg::new(WIDTH, frame.bottom + 44.0 + ROW * kinds.len() as f64);
    let end = shown.iter().map(|one| one.since_start_ns).max().unwrap_or(1) as f64 / 1e9;
    let x = AxisScale::linear(0.0, end.max(1e-3) * 1.02, frame.left, frame.right);
    let y = AxisScale::log_over(shown.iter().map(|one| one.ns.max(1) as f64), frame.bottom, frame.top);
    frame.x_axis(&mut svg, &time_axis(&x), "");
    frame.ticks_y_axis(&mut svg, &value_axis(&y, 5, "ns"));
    if let Some(limit) = found.asked.limit_ns.map(|ns| ns as f64).filter(|limit| !y.is_over(*limit)) {
        svg.line("limit", (frame.left, y.at(limit)), (frame.right, y.at(limit)));
    }
    for (slot, (cause, all)) in kinds.iter().enumerate() {
        svg.open_series(slot);
        for one in all {
            let tip = format!("{} at {}: {cause}", value(one.ns), value(one.since_start_ns));
            svg.marker(slot, (x.at(one.since_start_ns as f64 / 1e9), y.at(one.ns.max(1) as f64)), &tip);
        }
        let at = frame.bottom + 44.0 + ROW * slot as f64;
        svg.marker(slot, (frame.left + 8.0, at), "");
        svg.close();
        let name = format!("{cause}: {}", words::count(all.len() as u64));
        svg.text("tick", (frame.left + 22.0, at + 4.0), Anchor::Start, &name);
    }
    let told: Vec<String> = kinds.iter().map(|(cause, all)| format!("{cause}: {}", all.len())).collect();
    svg.finish(None, "When each came, how long it took, and its largest cause", &told.join("; ")).inline()
}

/// Groups the incidents by their main cause, the most frequent cause first and rare causes together.
fn kinds<'a>(all: &[&'a Worst], limit_ns: Option<u64>) -> Vec<(String, Vec<&'a Worst>)> {
    let mut by: BTreeMap<String, Vec<&Worst>> = BTreeMap::new();
    for one in all {
        by.entry(late::decisive(one, limit_ns)).or_default().push(one);
    }
    let mut kinds: Vec<_> = by.into_iter().collect();
    kinds.sort_by_key(|(_, all)| std::cmp::Reverse(all.len()));
    let rest = kinds.split_off(kinds.len().min(KINDS));
    if !rest.is_empty() {
        kinds.push(("other causes".into(), rest.into_iter().flat_map(|(_, all)| all).collect()));
    }
    kinds
}

fn value(ns: u64) -> String {
    words::value(ns as f64, "ns")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_judge::late::{Asked, Causes};
    use latido_trace::{
        events::Class,
        explain::{Begins, Cause, Explained, Slice, Window},
    };

    fn found(all: &[(&str, u64)]) -> Spikes {
        let explained = |(name, ns): &(&str, u64)| {
            let window = Window { begin: 0, end: *ns, pid: 1, cpu: 0, begins: Begins::Job };
            late::explained(
                window,
                vec![Slice { begin: 0, end: *ns, cause: Cause::Task((*name).into(), Class::RealTime) }],
            )
        };
        let explained: Vec<Explained> = all.iter().map(explained).collect();
        let worst = |(at, one): (u64, &Explained)| Worst::of(Class::RealTime, "control-1".into(), at * 1_000_000, one);
        Spikes {
            cell: "cell 1, task".into(),
            evidence: "events only",
            asked: Asked { worst: 1, limit_ns: Some(2_000_000), above_limit: None, most: 100 },
            jobs: Vec::new(),
            causes: Causes::of(explained.iter()),
            spikes: (1..).zip(&explained).map(worst).collect(),
            lost_events: 0,
            cut: None,
        }
    }

    /// Each incident is drawn at its time with its cause. Tasks with the same name are one cause, and of many causes the rarest share a
    /// marker.
    #[test]
    fn each_is_drawn_by_its_cause() {
        let picture = svg(&found(&[("rival-7", 5_000_000), ("rival-8", 6_000_000), ("kworker-3", 3_000_000)]));
        assert_eq!(picture.matches("<use href=\"#m0\"").count(), 3, "two and the key: {picture}");
        assert!(picture.contains("rival (real-time): 2") && picture.contains("kworker (real-time): 1"), "{picture}");
        assert!(
            picture.contains("5.00\u{a0}ms at 1.00\u{a0}ms: rival") && picture.contains("class=\"limit\""),
            "{picture}"
        );
        let many: Vec<String> = (0..8).map(|at| format!("task{}x-1", (b'a' + at) as char)).collect();
        let many: Vec<(&str, u64)> = many.iter().map(|name| (name.as_str(), 3_000_000)).collect();
        assert!(svg(&found(&many)).contains("other causes: 3"));
        assert_eq!(svg(&found(&many[..2])), "");
    }
}
