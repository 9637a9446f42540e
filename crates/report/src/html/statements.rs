//! The statements that a report decides, both expectations and a study's conclusions, each with its evidence.

use super::stand_ins;
use crate::{
    figures::strip,
    input::{ReportInput, RunPart},
    study::Conclusion,
    tree::{Report, Section},
    words::{self, Said},
};
use latido_judge::{
    configuration::Configuration,
    judgement::{ExpectJudgement, SeriesJudgement},
    measured::Measured,
    outcome::Outcome,
    span::unbroken,
    verdict_wording,
};

/// A statement.
pub struct Statement<'a> {
    /// The number of a study's conclusion; empty for other statements.
    pub number: &'a str,
    /// The author's wording, else the condition.
    pub text: &'a str,
    /// The deciding condition, if it is not the text.
    pub condition: &'a str,
    /// Its outcome.
    pub said: Said,
    /// The figures behind the outcome.
    pub detail: String,
    /// A picture of the repeats of both sides, if the statement compares sides; else empty.
    pub strip: String,
    /// The sections that show them: number and title.
    pub shown: Vec<(usize, String)>,
    /// The replacements in the configurations that it is about.
    pub stand_ins: Vec<String>,
}

/// The most links: more would not help the reader.
const LINKS: usize = 3;

/// An expectation and the id of the run whose cells it is about.
type Judged<'a> = (&'a str, &'a ExpectJudgement);

/// Returns the expectations of all runs: only conclusions of a study, or only the others.
fn judged<'a>(input: &ReportInput<'a>, of_study: bool) -> Vec<Judged<'a>> {
    let of = |run: &RunPart<'a>| {
        let id = run.meta.id.as_str();
        run.judgement.expectations.iter().filter(|one| one.of_study == of_study).map(move |one| (id, one))
    };
    input.runs.iter().flat_map(of).collect()
}

/// Returns the expectations that are not conclusions of a study; the conclusions have a separate table.
pub fn expectations<'a>(report: &Report<'a>) -> Vec<Statement<'a>> {
    let told = |(run, one): Judged<'a>| Statement {
        number: "",
        text: one.sentence(),
        condition: if one.claim.is_some() { &one.text } else { "" },
        said: words::outcome(one.outcome),
        detail: unbroken(&verdict_wording::decision(one.decision.as_ref())),
        strip: strip(one),
        shown: shown((run, one), report),
        stand_ins: stood_in((run, one), report.input),
    };
    judged(report.input, false).into_iter().map(told).collect()
}

/// Returns the conclusions of the study that the runs repeat.
pub fn conclusions<'a>(report: &Report<'a>) -> Vec<Statement<'a>> {
    let all = judged(report.input, true);
    // With several runs, each conclusion starts with the name of its run.
    let of = |text: &str| all.iter().copied().find(|(_, one)| text.ends_with(one.sentence()));
    let told = |claim: &'a Conclusion| Statement {
        number: claim.number.as_deref().unwrap_or_default(),
        text: &claim.text,
        condition: "",
        said: words::outcome(claim.outcome),
        detail: claim.detail.clone(),
        strip: of(&claim.text).map(|(_, one)| strip(one)).unwrap_or_default(),
        shown: of(&claim.text).map(|one| shown(one, report)).unwrap_or_default(),
        stand_ins: of(&claim.text).map(|one| stood_in(one, report.input)).unwrap_or_default(),
    };
    report.input.study.iter().flat_map(|study| &study.claims).map(told).collect()
}

/// Draws the repeats behind a comparison.
fn strip(judged: &ExpectJudgement) -> String {
    match judged.decision.as_ref().map(|decision| &decision.measured) {
        Some(Measured::Pair(pair)) => strip::of(pair),
        _ => String::new(),
    }
}

/// Returns how many statements have each outcome: `3 hold, 1 does not hold, 2 are undecided`.
pub fn counted<'a>(all: impl Iterator<Item = &'a Said> + Clone) -> String {
    let number = |outcome: Outcome, one: &str, many: &str| {
        let word = words::outcome(outcome).word;
        match all.clone().filter(|said| said.word == word).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            n => Some(format!("{n} {many}")),
        }
    };
    let told = [
        number(Outcome::Holds, "holds", "hold"),
        number(Outcome::DoesNotHold, "does not hold", "do not hold"),
        number(Outcome::Undecided, "is undecided", "are undecided"),
        number(Outcome::NotMeasured, "was not measured", "were not measured"),
    ];
    told.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns whether an expectation used a configuration.
fn is_about((run, expectation): Judged, configuration: &Configuration) -> bool {
    let members = configuration.members();
    expectation.each.iter().any(|each| members.iter().any(|(id, number)| id == run && *number == each.cell))
}

/// Returns the sections with its figures; none if there are too many.
fn shown(judged: Judged, report: &Report) -> Vec<(usize, String)> {
    let alike = |section: &Section| {
        let quantity = |each: &SeriesJudgement| each.quantity == section.quantity && each.labels == *section.labels;
        judged.1.each.iter().any(quantity) && section.series.iter().any(|one| is_about(judged, one.configuration))
    };
    let all = report.sections.iter().enumerate().filter(|(_, section)| alike(section));
    let found: Vec<_> = all.map(|(i, section)| (i, section.title())).collect();
    if found.len() > LINKS { Vec::new() } else { found }
}

/// Returns the replacements in its configurations. The page already mentions virtual machines above.
fn stood_in(judged: Judged, input: &ReportInput) -> Vec<String> {
    let about = input.configurations.iter().filter(|one| is_about(judged, one));
    let loopback = about.flat_map(|one| &one.cell.load.items).any(stand_ins::is_loopback);
    loopback.then(|| stand_ins::LOOPBACK.to_owned()).into_iter().collect()
}
