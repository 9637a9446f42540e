//! The top of the page in plain words: the question, the answer, how sure the answer is, and what is missing.

use super::{
    stand_ins,
    statements::{Statement, counted},
};
use crate::{
    input::ReportInput,
    tree::{Curve, Report, Section},
    words::{self, round_value},
};
use latido_judge::{finding::Grade, late, span::unbroken, statistics::seen::rarest_seen, unseen::Rarity};

/// The question in a line, the answer, and its limits.
pub struct Top {
    /// The question.
    pub asked: String,
    /// The outcomes of the statements; empty where the cards show everything.
    pub found: String,
    /// The main causes of late samples, for each cell with a trace that explains them.
    pub why: Vec<String>,
    /// How sure the answer is.
    pub sure: String,
    /// What is missing, and what was used instead; empty if nothing is missing.
    pub missing: String,
}

/// From this probability of having seen a cause at least once, latido regards it as seen.
const SEEN: f64 = 0.95;
/// If there are more systems than this, latido counts them instead of naming them.
const NAMED: usize = 3;

impl Top {
    /// Returns the answers of a report with these statements.
    pub fn of(report: &Report, conclusions: &[Statement], expectations: &[Statement]) -> Self {
        let input = report.input;
        Self {
            asked: asked(report, conclusions, expectations),
            found: found(conclusions, expectations),
            why: late::in_short(input.explained.iter().copied()),
            sure: sure(report, conclusions.iter().chain(expectations)),
            missing: missing(input),
        }
    }
}

/// Returns the series that a limit judges, with their sections.
fn limited<'r, 'a>(report: &'r Report<'a>) -> impl Iterator<Item = (&'r Section<'a>, &'r Curve<'a>)> {
    series(report).filter(|(_, one)| one.limit().is_some())
}

fn series<'r, 'a>(report: &'r Report<'a>) -> impl Iterator<Item = (&'r Section<'a>, &'r Curve<'a>)> {
    report.sections.iter().flat_map(|section| section.series.iter().map(move |one| (section, one)))
}

fn asked(report: &Report, conclusions: &[Statement], expectations: &[Statement]) -> String {
    let mut machines: Vec<&str> = report.input.runs.iter().map(|run| run.meta.machine.as_str()).collect();
    machines.sort_unstable();
    machines.dedup();
    let place = match machines[..] {
        [] | [""] => String::new(),
        _ => format!(" on {}", machines.join(" and ")),
    };
    let mut told = Vec::new();
    match conclusions {
        [] => (),
        [one] => told.push(format!("Does this conclusion of the study hold{place}: {}?", one.text)),
        _ => told.push(format!("Do the {} conclusions of the study hold{place}?", conclusions.len())),
    }
    match expectations {
        [] => (),
        [one] => told.push(format!("Does this hold{place}: {}?", one.text)),
        _ => told.push(format!("Do {} expectations hold{place}?", expectations.len())),
    }
    told.extend(limits(report).into_iter().map(
        |(limit, nouns)| match nouns.get(..NAMED).filter(|_| nouns.len() > NAMED) {
            Some(_) => format!("Do the samples of {} kinds stay within {limit}{place}?", nouns.len()),
            None => format!("Does every {} stay within {limit}{place}?", nouns.join(" and every ")),
        },
    ));
    if told.is_empty() {
        let mut titles: Vec<String> = report.chapters().iter().map(|chapter| chapter.title()).collect();
        titles.dedup();
        told.push(match titles.is_empty() {
            true => format!("What was measured{place}? Nothing."),
            false => format!("Which values were measured{place}, without a limit? {}.", titles.join("; ")),
        });
    }
    told.join(" ")
}

/// Returns each limit as text, with the nouns of the samples that it judges.
fn limits<'a>(report: &Report<'a>) -> Vec<(String, Vec<&'a str>)> {
    let mut all: Vec<(String, Vec<&str>)> = Vec::new();
    for section in &report.sections {
        for limit in section.limits() {
            let (limit, noun) = (round_value(limit, section.unit), section.noun());
            match all.iter_mut().find(|(known, _)| *known == limit) {
                Some((_, nouns)) if nouns.contains(&noun) => (),
                Some((_, nouns)) => nouns.push(noun),
                None => all.push((limit, vec![noun])),
            }
        }
    }
    all
}

fn found(conclusions: &[Statement], expectations: &[Statement]) -> String {
    let mut told = Vec::new();
    for (statements, what) in [(conclusions, "conclusions"), (expectations, "expectations")] {
        let counts = counted(statements.iter().map(|one| &one.said));
        match statements {
            [] => (),
            [_] => told.push(format!("It {counts}.")),
            _ => told.push(format!("Of {} {what} {counts}.", statements.len())),
        }
    }
    told.join(" ")
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Returns the number of repeats: `5 repeats`, `2 to 10 repeats`.
fn repeats(input: &ReportInput) -> String {
    let counts = || input.configurations.iter().map(|one| one.repeats.len() as u64);
    match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (1, 1) => "one run".into(),
        (low, high) if low == high => words::many(high, "repeat"),
        (low, high) => format!("{low} to {}", words::many(high, "repeat")),
    }
}

fn sure<'s>(report: &Report, statements: impl Iterator<Item = &'s Statement<'s>>) -> String {
    let input = report.input;
    if input.configurations.is_empty() {
        return "Nothing was measured, so nothing is known.".into();
    }
    let mut told = vec![format!("Each figure rests on {} of its configuration.", repeats(input))];
    if let Some(share) = input.study.as_ref().and_then(|study| study.scaled) {
        let size = words::share_of_size(share);
        told.push(format!("The run had {size} of the published size, so it did not show rare events."));
    }
    let cells = || input.runs.iter().flat_map(|run| &run.judgement.cells).filter(|cell| !cell.findings.is_empty());
    let graded = |least| cells().filter(|cell| cell.findings.iter().any(|one| one.grade >= least)).count();
    let measured = cells().count();
    match (graded(Grade::Invalid), graded(Grade::Contaminated)) {
        (0, 0) => told.push("No trust check found a disturbance that rules out a verdict.".into()),
        (_, 1) if measured == 1 => told.push("The measurement was disturbed, so it decides nothing.".into()),
        (_, 1) => {
            told.push(format!("In 1 of {measured} cells the measurement was disturbed, so that cell decides nothing."))
        }
        (_, some) => {
            told.push(format!("In {some} of {measured} cells the measurement was disturbed, so they decide nothing."))
        }
    }
    if statements.into_iter().any(|one| one.said.word == words::outcome(latido_judge::outcome::Outcome::Undecided).word)
    {
        told.push("What is undecided may hold or not; more repeats would decide it.".into());
    }
    // What holds for the series with the weakest evidence holds for every series.
    let clean = limited(report).filter(|(_, one)| one.pooled.above_limit == Some(0) && one.pooled.summary.count > 0);
    let least = clean.filter_map(|(_, one)| one.configuration.rarity(one.pooled)).min_by_key(Rarity::strength);
    told.extend(least.map(|rarity| {
        let rarity = unbroken(&rarity.spans()).replace("95 %", "95\u{a0}%");
        format!("Where none was above the limit: {rarity}.")
    }));
    // The time of a laboratory guest cannot be compared with days.
    let real = input.configurations.iter().filter(|one| one.machine.emulated.is_none());
    let shortest = real.map(|one| one.repeats.iter().map(|r| r.elapsed_ns).sum::<u64>()).min();
    let rarest = shortest.and_then(|ns| rarest_seen(ns as f64 / 1e9, SEEN)).filter(|seconds| *seconds > 0.0);
    told.extend(rarest.map(|seconds| match seconds {
        1.0.. => {
            format!("What strikes less often than about once in {} may not have been seen.", words::roughly(seconds))
        }
        _ => "Some configurations were measured only for moments, so rare events were not seen.".into(),
    }));
    told.join(" ")
}

fn missing(input: &ReportInput) -> String {
    let mut told = Vec::new();
    let labels: Vec<&str> = input.not_measured.iter().map(|one| one.label.as_str()).collect();
    let cells: usize = input.not_measured.iter().map(|one| one.cells).sum();
    match labels.get(..NAMED).filter(|_| labels.len() > NAMED) {
        _ if labels.is_empty() => (),
        Some(first) => {
            let more = labels.len() - NAMED;
            told.push(format!(
                "Not measured: {} and {more} more ({}).",
                first.join(", "),
                words::many(cells as u64, "cell")
            ));
        }
        None => told.push(format!("Not measured: {} ({}).", labels.join(", "), words::many(cells as u64, "cell"))),
    }
    let interrupted = input.runs.iter().filter(|run| run.meta.finished.is_none()).count();
    if interrupted > 0 {
        told.push("The run was not measured to its end.".into());
    }
    if !input.problems.is_empty() {
        told.push("latido could not read all stored data.".into());
    }
    let kernel = input.study.as_ref().and_then(|_| stand_ins::kernel(input.configurations.iter()));
    told.extend(kernel.map(|text| format!("{}.", capital(&text))));
    told.extend(stand_ins::of_all(input.configurations.iter()).iter().map(|text| format!("{}.", capital(text))));
    told.join(" ")
}
