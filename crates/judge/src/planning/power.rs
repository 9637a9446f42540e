//! `--plan-power`: how much the repeats of a pilot vary, and how many repeats a difference therefore needs.

use super::budget::POWER;
use crate::{
    expect::planned::{Pilot, pilots},
    judgement::CellJudgement,
};
use latido_model::{
    run::{Run, SeriesSource},
    units::{Ns, about},
};
use latido_statistics::two::{power, verdict::LEVEL};

/// Reports a pilot: a line for each comparison of its plan, and what all of them need. `difference` is the smallest ratio of interest for
/// comparisons that state no margin.
pub fn sentences(run: &Run, cells: &[CellJudgement], source: &dyn SeriesSource, difference: f64) -> String {
    let pilots = pilots(run, cells, source);
    let family = pilots.len() as u64;
    if family == 0 {
        return "power: the pilot measured nothing that its plan compares\n".to_owned();
    }
    let share = LEVEL / family as f64;
    let mut lines = vec![
        format!(
            "power: repeats per side that find the smallest ratio of interest in {:.0} % of cases; Holm leaves {:.2} % to the \
             first of {family}",
            POWER * 100.0,
            share * 100.0
        ),
        format!("  {:>6} {:>7} {:>10} {:>8}  comparison", "ratio", "spread", "80 % limit", "repeats"),
    ];
    let mut most = Some(0);
    for pilot in &pilots {
        let ratio = pilot.margin.map_or(difference, |margin| 1.0 + margin);
        let (figures, repeats) = line(pilot, ratio, family);
        most = most.zip(repeats).map(|(most, repeats)| most.max(repeats));
        lines.push(format!("  {figures}  {}", pilot.what));
    }
    lines.push(match most {
        Some(most) => format!("all of them: --repeat {most}, {} as the pilot went", about(long(run, most))),
        None => "not all of them can be planned; the largest number above is for the others".to_owned(),
    });
    lines.push(String::new());
    lines.join("\n")
}

/// Returns the figures of a comparison, and the repeats that it needs.
fn line(pilot: &Pilot, ratio: f64, family: u64) -> (String, Option<u64>) {
    let arms: Vec<&[f64]> = pilot.arms.iter().map(Vec::as_slice).collect();
    match power::plan(&arms, ratio, family, POWER) {
        Ok(plan) => {
            let repeats = plan.repeats.map_or("above 1000".to_owned(), |n| n.to_string());
            let text = format!("{ratio:>6.2} {:>7.3} {:>10.3} {repeats:>8}", plan.spread, plan.spread_upper);
            (text, plan.repeats)
        }
        Err(why) => (format!("{ratio:>6.2} cannot be planned: {why}:"), None),
    }
}

/// Estimates how long this many repeats take, from those that were measured.
fn long(run: &Run, repeats: u64) -> Ns {
    let measured = run.cells.iter().filter_map(|cell| cell.record());
    let all: u64 = measured.map(|one| one.elapsed_ns.saturating_add(one.cell.conditions.warmup.0)).sum();
    let done = run.cells.iter().map(|cell| u64::from(cell.cell.repeat)).max().unwrap_or(1);
    Ns((all / done.max(1)).saturating_mul(repeats))
}
