//! What a run decides, sentence by sentence: a study's conclusions, then the plan's other expectations.

use super::{Paint, Style, hang, paint};
use crate::words;
use latido_judge::{
    judgement::{ExpectJudgement, Judgement},
    measured::Measured,
    outcome::Outcome,
    span, verdict_wording,
};

/// From this number of a study's sentences without figures on, sentences with the same reason share a line. The page shows each.
const MANY: usize = 6;

/// Returns the sentences, each with its outcome and its figure.
pub(super) fn lines(judgement: &Judgement, style: Style) -> Vec<String> {
    let all = &judgement.expectations;
    let width = all.iter().map(|one| one.outcome.to_string().len()).max().unwrap_or(0);
    let (of_study, ours): (Vec<_>, Vec<_>) = all.iter().partition(|one| one.of_study);
    let mut lines = Vec::new();
    if !of_study.is_empty() {
        lines.push(paint("conclusions of the study", Paint::Dim, style));
        let (without, with): (Vec<_>, Vec<_>) =
            of_study.iter().copied().partition(|one| one.outcome == Outcome::NotMeasured);
        let numbered = without.iter().all(|one| one.conclusion.is_some());
        match without.len() {
            count if count < MANY || !numbered => lines.extend(of_study.iter().flat_map(|one| each(one, width, style))),
            _ => {
                lines.extend(with.iter().flat_map(|one| each(one, width, style)));
                lines.extend(together(&without, width, style));
            }
        }
        for one in &judgement.unjudged {
            let text = format!("{}: {}: {}", one.conclusion, one.claim, one.why);
            lines.extend(hang(&label("not judged", width), Paint::Dim, &text, style));
        }
    }
    if !ours.is_empty() {
        let title = if of_study.is_empty() { "expected" } else { "expected by this plan, not by the study" };
        lines.push(paint(title, Paint::Dim, style));
        lines.extend(ours.iter().flat_map(|one| each(one, width, style)));
    }
    lines
}

fn label(outcome: &str, width: usize) -> String {
    format!("  {outcome:<width$} ")
}

fn each(one: &ExpectJudgement, width: usize, style: Style) -> Vec<String> {
    let detail = span::plain(&verdict_wording::decision(one.decision.as_ref()));
    let text = format!("{}: {detail}", one.numbered());
    hang(&label(&one.outcome.to_string(), width), words::outcome(one.outcome).tone.into(), &text, style)
}

/// Returns the sentences without figures, grouped by reason, with their numbers.
fn together(all: &[&ExpectJudgement], width: usize, style: Style) -> Vec<String> {
    let mut reasons: Vec<(String, usize, Vec<&str>)> = Vec::new();
    for one in all {
        let why = match one.decision.as_ref().map(|decision| &decision.measured) {
            Some(Measured::Nothing(Some(why))) => why.clone(),
            Some(Measured::Scaled(share)) => {
                format!("{} of the size says nothing about a maximum or a count", words::share_of_size(*share))
            }
            _ => span::plain(&verdict_wording::decision(one.decision.as_ref())),
        };
        let number = one.conclusion.as_deref();
        match reasons.iter_mut().find(|(known, ..)| *known == why) {
            Some((_, count, numbers)) => {
                *count += 1;
                numbers.extend(number.filter(|number| !numbers.contains(number)));
            }
            None => reasons.push((why, 1, number.into_iter().collect())),
        }
    }
    let told = |(why, count, numbers): &(String, usize, Vec<&str>)| {
        let of = if numbers.is_empty() { String::new() } else { format!(" of {}", numbers.join(", ")) };
        let text = format!("{}{of}: {why}", words::many(*count as u64, "sentence"));
        hang(&label(&Outcome::NotMeasured.to_string(), width), Paint::Dim, &text, style)
    };
    reasons.iter().flat_map(told).collect()
}
