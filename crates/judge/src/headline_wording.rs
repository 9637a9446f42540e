//! Turns what decides a run into its headline: the sentence behind the verdict.

use super::{
    deadline_wording::deadlines,
    headline::{Counted, DecidingCell, Expected, Ground, Headline, Trusted, Wording},
    reason::Reason,
    verdict_wording::decision,
};
use crate::{
    span::{Span, joined, plain, spans},
    words::plural,
};
use serde::Serializer;

impl Headline {
    /// The verdict's sentence, without the verdict and without its full stop.
    pub fn spans(&self) -> Vec<Span> {
        let imported = self.imported.then(|| spans!["imported, nothing checked"]);
        let rest = self.rest.as_ref().map(ground);
        // latido doubts a guest of several CPUs for being emulated. The sentence does not repeat it.
        let is_told = rest.as_ref().is_some_and(|rest| plain(rest).contains("emulated"));
        let emulated = self.emulated.as_deref().filter(|_| !is_told).map(|worth| spans![worth]);
        let conclusions = self.conclusions.as_ref().map(|of| counted(of, "conclusion", "the study"));
        let ours = self.ours.as_ref().map(|of| counted(of, "expectation", "the plan"));
        let parts = [imported, emulated, conclusions, ours, rest];
        joined(parts.into_iter().flatten(), "; ")
    }

    /// The same as plain text.
    pub fn sentence(&self) -> String {
        plain(&self.spans())
    }
}

/// `of 9 conclusions of the study, 1 holds, 8 do not hold`, or `the only conclusion of the study holds`.
fn counted(of: &Counted, noun: &str, whole: &str) -> Vec<Span> {
    if of.all == 1 {
        let outcomes = [
            (of.hold, "holds"),
            (of.do_not_hold, "does not hold"),
            (of.undecided, "is undecided"),
            (of.not_measured, "is not measured"),
            (of.not_judged, "is not judged"),
        ];
        let outcome =
            outcomes.into_iter().find(|(n, _)| *n > 0).map_or_else(String::new, |(_, told)| format!(" {told}"));
        return spans![format!("the only {noun} of {whole}{outcome}")];
    }
    let number = |n, one: &str, many: &str| (n > 0).then(|| format!("{n} {}", if n == 1 { one } else { many }));
    let told = [
        number(of.hold, "holds", "hold"),
        number(of.do_not_hold, "does not hold", "do not hold"),
        number(of.undecided, "undecided", "undecided"),
        number(of.not_measured, "not measured", "not measured"),
        number(of.not_judged, "not judged", "not judged"),
    ];
    let told: Vec<String> = told.into_iter().flatten().collect();
    spans![format!("of {} {} of {whole}, {}", of.all, plural(noun), told.join(", "))]
}

fn ground(what: &Ground) -> Vec<Span> {
    match what {
        Ground::CutShort { measured, tried, so_far, failed } => {
            let far = match (measured, tried) {
                (0, 1) => spans!["the only cell was not measured to the end"],
                _ => spans![format!("{measured} of {tried} cells measured to the end")],
            };
            let so_far = so_far.as_ref().map(|cause| [spans!["; so far "], self::cause(cause)].concat());
            let failed = failed.as_ref().map(|one| [spans!["; failed: "], expected(one)].concat());
            [far, so_far.unwrap_or_default(), failed.unwrap_or_default()].concat()
        }
        Ground::Cell { cause, alike, failed, failing } => {
            [self::cause(cause), of_all(*alike), outright(failed), also_failing(*failing)].concat()
        }
        Ground::Expectation { expected, alike, failed } => {
            [self::expected(expected), of_all(*alike), outright(failed)].concat()
        }
        Ground::Unjudged(seen) => trusted(seen),
        Ground::NoPlan(problem) => spans!["the plan: ", problem.as_str()],
        Ground::NoCells => spans!["nothing: the run has no cells"],
    }
}

/// Words what the machine can be trusted with, else the worst figure seen.
fn trusted(seen: &Trusted) -> Vec<Span> {
    let still = |(ns, cell): &(i64, String)| {
        spans!["longest interruption of a busy CPU: ", Span::Time(*ns), " (", Span::Where(cell.clone()), ")"]
    };
    match (&seen.periodic[..], &seen.worst) {
        ([], Some(worst)) => cause(worst),
        ([], None) => spans!["no figure that a limit could judge"],
        (all, _) => joined(deadlines(all).chain(seen.stopped.as_ref().map(still)), "; "),
    }
}

fn of_all(alike: Option<(usize, usize)>) -> Vec<Span> {
    alike.map(|(some, all)| spans![format!(" ({some} of {all} cells)")]).unwrap_or_default()
}

/// `; 4 cells failed for certain`, where the verdict rests on another cell.
fn also_failing(cells: usize) -> Vec<Span> {
    match cells {
        0 => Vec::new(),
        1 => spans!["; 1 cell failed for certain"],
        many => spans![format!("; {many} cells failed for certain")],
    }
}

fn outright(failed: &Option<Expected>) -> Vec<Span> {
    failed.as_ref().map(|one| [spans!["; failed outright: "], expected(one)].concat()).unwrap_or_default()
}

/// Words a cell and its first reason; where that is a doubt, also the doubted figure.
fn cause(of: &DecidingCell) -> Vec<Span> {
    let reason = |reason: &Option<Reason>| reason.as_ref().map(Reason::spans);
    let doubted = reason(&of.doubted).map(|spans| [spans!["; "], spans].concat());
    let first = reason(&of.reason).unwrap_or_default();
    [spans![Span::Where(of.cell.clone()), ": "], first, doubted.unwrap_or_default()].concat()
}

fn expected(of: &Expected) -> Vec<Span> {
    let what = of.what.as_str();
    let head = match &of.wording {
        Wording::Conclusion(outcome) => spans![outcome.to_string(), ": ", what, ": "],
        Wording::Claim => spans![what, ": "],
        Wording::Holds => spans![what, " holds: "],
        Wording::Expected => spans!["expected ", what, ": "],
    };
    [head, decision(of.decision.as_ref())].concat()
}

pub(super) fn headline_as_text<S: Serializer>(headline: &Headline, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&headline.sentence())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// latido says one conclusion or one cell as one, not as one of several.
    #[test]
    fn the_only_one_is_no_part_of_several() {
        let none = Counted { all: 1, hold: 0, do_not_hold: 0, undecided: 0, not_measured: 0, not_judged: 0 };
        let told = |of: Counted| plain(&counted(&of, "conclusion", "the study"));
        assert_eq!(told(Counted { hold: 1, ..none }), "the only conclusion of the study holds");
        assert_eq!(told(Counted { not_measured: 1, ..none }), "the only conclusion of the study is not measured");
        let two = Counted { all: 2, hold: 1, undecided: 1, ..none };
        assert_eq!(told(two), "of 2 conclusions of the study, 1 holds, 1 undecided");
        let cut = |measured, tried| plain(&ground(&Ground::CutShort { measured, tried, so_far: None, failed: None }));
        assert_eq!(cut(0, 1), "the only cell was not measured to the end");
        assert_eq!(cut(1, 4), "1 of 4 cells measured to the end");
    }
}
