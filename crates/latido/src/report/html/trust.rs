//! "Can these numbers be trusted?": the findings of all cells, grouped, the gravest first.

use super::cards;
use crate::{
    analyze::trust::{Finding, Level},
    report::ReportInput,
};
use std::collections::BTreeSet;

/// Findings of one check and level.
pub struct Group {
    /// `ok`, `unknown`, `note`, `contaminated` or `invalid`.
    pub class: &'static str,
    /// A sign for those who do not see colours.
    pub sign: &'static str,
    /// The finding, of the first cell if they differ.
    pub text: String,
    /// Which configurations it is about; empty for all.
    pub about: String,
    /// Each configuration's own text, where they differ.
    pub each: Vec<(String, String)>,
}

fn said(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Ok => ("ok", "✓"),
        Level::Unknown => ("unknown", "?"),
        Level::Note => ("note", "!"),
        Level::Contaminated => ("contaminated", "!! contaminated:"),
        Level::Invalid => ("invalid", "✗ invalid:"),
    }
}

/// One group per check and level.
pub fn groups(input: &ReportInput) -> Vec<Group> {
    let mut found: Vec<(&Finding, Vec<(String, String)>)> = Vec::new();
    for configuration in input.configurations {
        for cell in cards::of_members(input, &configuration.members) {
            for finding in &cell.findings {
                let entry = (configuration.label.clone(), finding.text.clone());
                match found.iter_mut().find(|(f, _)| (&f.check, f.level) == (&finding.check, finding.level)) {
                    Some((_, entries)) => entries.push(entry),
                    None => found.push((finding, vec![entry])),
                }
            }
        }
    }
    // Stable: within a level the order is that of the table of checks. Notes weigh more than what was not readable.
    found.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.level));
    found.into_iter().map(|(finding, entries)| group(finding, entries, input.configurations.len())).collect()
}

fn group(finding: &Finding, mut entries: Vec<(String, String)>, configurations: usize) -> Group {
    let (class, sign) = said(finding.level);
    let labels: BTreeSet<&String> = entries.iter().map(|(label, _)| label).collect();
    let about = match labels.len() {
        n if n == configurations => String::new(),
        1..=2 => labels.iter().map(|l| l.as_str()).collect::<Vec<_>>().join("; "),
        n => format!("{n} of {configurations} configurations"),
    };
    let differ = entries.iter().any(|(_, text)| *text != finding.text);
    let more_than_shown = about.ends_with("configurations") && finding.level > Level::Unknown;
    entries.dedup();
    let each = if differ || more_than_shown { entries } else { Vec::new() };
    Group { class, sign, text: finding.text.clone(), about, each }
}

/// What could not be read, and the cells that no configuration holds because nothing was measured.
pub fn problems(input: &ReportInput) -> Vec<String> {
    let mut problems = input.problems.clone();
    for part in &input.runs {
        let members = || input.configurations.iter().flat_map(|c| &c.members);
        for cell in &part.judgement.cells {
            if !members().any(|(run, number)| (run, *number) == (&part.meta.id, cell.number)) {
                let reasons = cell.reasons.join("; ");
                problems.push(format!("cell {} of {} was not measured: {reasons}", cell.number, part.meta.id));
            }
        }
    }
    problems
}
