//! "Can these numbers be trusted?": the findings of all cells, grouped, the most severe first.

use super::cards;
use crate::{input::ReportInput, words};
use latido_judge::{
    finding::{Finding, Grade},
    reason::Reason,
    span::{joined, unbroken},
};
use latido_model::verdict::Verdict;
use std::collections::BTreeSet;

/// The findings of one check and severity.
pub struct FindingGroup {
    /// `ok`, `unknown`, `note`, `contaminated` or `invalid`.
    pub class: &'static str,
    /// A sign for readers who cannot see colours.
    pub sign: &'static str,
    /// The check's name.
    pub check: String,
    /// The text of the finding; the first cell's if they differ.
    pub text: String,
    /// The configurations that it is about; empty for all.
    pub about: String,
    /// The text of each configuration, if they differ.
    pub each: Vec<(String, String)>,
}

/// Returns the CSS class of a finding's line.
fn class(grade: Grade) -> &'static str {
    match grade {
        Grade::Ok => "ok",
        Grade::Unknown => "unknown",
        Grade::Note => "note",
        Grade::Contaminated => "contaminated",
        Grade::Invalid => "invalid",
    }
}

/// The groups of findings: a page shows those that spoil a measurement, and folds the others behind one line.
pub struct Trust {
    /// Contaminated and invalid.
    pub grave: Vec<FindingGroup>,
    /// Notes, unreadable checks, and checks in order.
    pub folded: Vec<FindingGroup>,
    /// `6 notes, 4 not measured, 19 in order`.
    pub told: String,
}

impl Trust {
    /// Returns the groups for a report.
    pub fn of(input: &ReportInput) -> Self {
        let grave = |group: &FindingGroup| ["contaminated", "invalid"].contains(&group.class);
        let (grave, folded): (Vec<_>, Vec<_>) = groups(input).into_iter().partition(grave);
        let count = |class: &str| folded.iter().filter(|group| group.class == class).count();
        let told = [
            (count("note"), if count("note") == 1 { "note" } else { "notes" }),
            (count("unknown"), "not measured"),
            (count("ok"), "in order"),
        ];
        let told = told.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        Self { told: told.collect::<Vec<_>>().join(", "), grave, folded }
    }
}

/// Returns one group per check and severity.
fn groups(input: &ReportInput) -> Vec<FindingGroup> {
    let mut found: Vec<(&Finding, Vec<(String, String)>)> = Vec::new();
    for configuration in input.configurations {
        for cell in cards::of_members(input, &configuration.members()) {
            for finding in &cell.findings {
                let entry = (configuration.label.clone(), unbroken(&finding.state));
                match found.iter_mut().find(|(f, _)| (&f.check, f.grade) == (&finding.check, finding.grade)) {
                    Some((_, entries)) => entries.push(entry),
                    None => found.push((finding, vec![entry])),
                }
            }
        }
    }
    // The sort is stable: within a severity the order is that of the table of checks. Notes are more severe than unreadable checks.
    found.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.grade));
    found.into_iter().map(|(finding, entries)| group(finding, entries, input.configurations.len())).collect()
}

fn group(finding: &Finding, mut entries: Vec<(String, String)>, configurations: usize) -> FindingGroup {
    let (class, sign) = (class(finding.grade), words::finding(finding.grade).sign);
    let labels: BTreeSet<&String> = entries.iter().map(|(label, _)| label).collect();
    let mut texts: Vec<&String> = entries.iter().map(|(_, text)| text).collect();
    texts.sort_unstable();
    texts.dedup();
    let differ = texts.len() > 1;
    let alternatives = differ && texts.iter().map(|text| text.chars().count()).sum::<usize>() < 50;
    let about = match (labels.len(), entries.first()) {
        (n, Some((first, _))) if differ && !alternatives && n > 1 => format!("{first}; similar in {} more", n - 1),
        (n, _) if n == configurations => String::new(),
        (1 | 2, _) => labels.iter().map(|l| l.as_str()).collect::<Vec<_>>().join("; "),
        (n, _) => format!("{n} of {configurations} configurations"),
    };
    let text = match alternatives {
        true => texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(" or "),
        false => unbroken(&finding.state),
    };
    let more_than_shown = about.ends_with("configurations") && finding.grade > Grade::Unknown;
    entries.dedup();
    let each = if differ || more_than_shown { entries } else { Vec::new() };
    FindingGroup { class, sign, check: name(&finding.check), text, about, each }
}

/// Returns the check's name as in running text.
fn name(check: &str) -> String {
    if check == "smi" { "SMI".into() } else { check.to_owned() }
}

/// Returns what could not be read, and the cells that are in no configuration because nothing was measured.
pub fn problems(input: &ReportInput) -> Vec<String> {
    let mut problems = input.problems.clone();
    for part in &input.runs {
        let members = || input.configurations.iter().flat_map(|c| c.members());
        // Skipped cells are reported by their reason, not one by one.
        for cell in part.judgement.cells.iter().filter(|cell| cell.verdict != Verdict::Skipped) {
            if !members().any(|(run, number)| (&run, number) == (&part.meta.id, cell.number)) {
                let reasons = unbroken(&joined(cell.reasons.iter().map(Reason::spans), "; "));
                problems.push(format!("cell {} of {} was not measured: {reasons}", cell.number, part.meta.id));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(texts: &[&str]) -> (String, String, usize) {
        let entries: Vec<_> = (1..).zip(texts).map(|(i, text)| (format!("c{i}"), text.to_string())).collect();
        let finding = Finding { check: "smi".into(), grade: Grade::Note, state: vec![texts[0].into()] };
        let group = group(&finding, entries, texts.len());
        (format!("{}: {}", group.check, group.text), group.about, group.each.len())
    }

    #[test]
    fn a_finding_stands_with_its_check_and_says_where_others_differ() {
        assert_eq!(said(&["not measured", "not measured"]), ("SMI: not measured".into(), String::new(), 0));
        assert_eq!(said(&["none", "alive", "none"]), ("SMI: alive or none".into(), String::new(), 3));
        let long = ["117\u{a0}µs in all for the task of the kernel", "2.03 ms in all for the task of the kernel"];
        let (text, about, each) = said(&long);
        assert_eq!(text, "SMI: 117\u{a0}µs in all for the task of the kernel");
        assert_eq!((about.as_str(), each), ("c1; similar in 1 more", 2));
    }
}
