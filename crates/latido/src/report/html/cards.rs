//! The verdict cards: one per configuration and judged quantity, with the sentence that decides.

use crate::{
    analyze::verdict::{CellJudgement, Verdict},
    report::{
        ReportInput,
        figures::axis::value_label,
        section::{Section, Series},
        sentence,
    },
};

/// What one card says.
pub struct Card {
    /// `Wake-up latency, limit 100 µs`.
    pub question: String,
    /// The configuration.
    pub name: String,
    /// A sign for those who do not see colours.
    pub sign: &'static str,
    /// `good`, `bad`, `warn` or `plain`.
    pub class: &'static str,
    /// `Holds`.
    pub word: &'static str,
    /// The sentence that decides.
    pub why: String,
    /// What else must be known, most important first.
    pub reasons: Vec<String>,
}

/// Sign, colour class and word of a verdict.
pub fn said(verdict: Verdict) -> (&'static str, &'static str, &'static str) {
    match verdict {
        Verdict::Pass => ("✓", "good", "Holds"),
        Verdict::Fail => ("✗", "bad", "Fails"),
        Verdict::Inconclusive => ("?", "warn", "Undecided"),
        Verdict::Contaminated => ("!", "warn", "Contaminated"),
        Verdict::Infra => ("!", "warn", "Not measured"),
    }
}

/// The judgements of the cells that a configuration pools.
pub fn of_members<'a>(input: &ReportInput<'a>, members: &[(String, usize)]) -> Vec<&'a CellJudgement> {
    let find = |(run, number): &(String, usize)| {
        let part = input.runs.iter().find(|part| part.meta.id == *run)?;
        part.judgement.cells.iter().find(|cell| cell.number == *number)
    };
    members.iter().filter_map(find).collect()
}

/// The verdict that weighs most, as exit statuses do: nothing can be concluded from a repeat that failed to measure.
fn heaviest(cells: &[&CellJudgement]) -> Option<Verdict> {
    let weight = |verdict: &Verdict| match verdict {
        Verdict::Pass => 0,
        Verdict::Fail => 1,
        Verdict::Contaminated => 2,
        Verdict::Inconclusive => 3,
        Verdict::Infra => 4,
    };
    cells.iter().map(|cell| cell.verdict).max_by_key(weight)
}

/// The cards: those with a limit where any has one, else all.
pub fn cards(input: &ReportInput, sections: &[Section]) -> Vec<Card> {
    let any_limit = sections.iter().flat_map(|s| &s.series).any(|s| s.limit().is_some());
    let mut cards = Vec::new();
    for section in sections {
        for series in &section.series {
            let cells = of_members(input, &series.configuration.members);
            let verdict = heaviest(&cells);
            let trusted = matches!(verdict, Some(Verdict::Pass | Verdict::Fail) | None);
            if !any_limit || series.limit().is_some() || !trusted {
                cards.push(card(section, series, verdict, &cells));
            }
        }
    }
    cards
}

fn card(section: &Section, series: &Series, verdict: Option<Verdict>, cells: &[&CellJudgement]) -> Card {
    let (sign, class, word) = match (verdict, series.pooled.above_limit) {
        (Some(verdict @ (Verdict::Contaminated | Verdict::Inconclusive | Verdict::Infra)), _) => said(verdict),
        _ if series.pooled.summary.count == 0 => ("?", "warn", "Not measured"),
        // The cell's verdict may come from another quantity: this card speaks of its own.
        (_, Some(0)) => said(Verdict::Pass),
        (_, Some(_)) => said(Verdict::Fail),
        (_, None) => ("·", "plain", "Measured"),
    };
    let limit = series.limit().map_or(String::new(), |l| format!(", limit {}", value_label(l, section.unit)));
    let mut reasons: Vec<String> = Vec::new();
    for reason in
        cells.iter().filter(|cell| !matches!(cell.verdict, Verdict::Pass | Verdict::Fail)).flat_map(|c| &c.reasons)
    {
        if !reasons.contains(reason) {
            reasons.push(reason.clone());
        }
    }
    Card {
        question: format!("{}{limit}", section.title()),
        name: series.name.clone(),
        sign,
        class,
        word,
        why: sentence::deciding(section, series),
        reasons,
    }
}
