//! The verdict cards: one per configuration and judged quantity, with the deciding sentence.

use super::card_text::{self, Number};
use crate::{
    input::ReportInput,
    tree::{Chapter, Curve, Section, emulated},
    words::{self, Said, Tone, round_value},
};
use latido_judge::{
    configuration::Configuration,
    finding::{Finding, Grade},
    judgement::{CellJudgement, SeriesJudgement},
    span::unbroken,
};
use latido_model::verdict::Verdict;

/// The content of one card.
#[derive(Debug)]
pub struct Card {
    /// `Wake-up latency, limit 100 µs`.
    pub question: String,
    /// The configuration.
    pub name: String,
    /// Its verdict: `PASS`.
    pub said: Said,
    /// Its figures, the largest sample first.
    pub numbers: Vec<Number>,
    /// Their basis: `2 600 wake-ups`.
    pub basis: String,
    /// The deciding sentence.
    pub why: String,
    /// The outcome and the text of each of its expectations, the most severe first.
    pub expected: Vec<(Said, String)>,
    /// Further reservations, the most important first.
    pub reasons: Vec<String>,
}

/// The cards and, if there are too many to see at a glance, the table of the others.
#[derive(Debug)]
pub struct Cards {
    /// The most severe ones, or all in the order of tables.
    pub shown: Vec<Card>,
    /// The others, the most severe first.
    pub rest: Vec<Card>,
    /// The remarks that apply to several of the shown cards, each with the number of cards.
    pub shared: Vec<String>,
}

/// A card before it is sorted.
struct Weighed<'a> {
    card: Card,
    /// Its weight: the most severe card has the largest.
    weight: u8,
    configuration: Option<&'a Configuration>,
    /// Whether a limit or an expectation judges its series.
    judged: bool,
    /// Whether it is shown together with judged cards: it is judged itself, in doubt, or empty.
    matters: bool,
}

/// The most cards that readers still look at.
const MOST: usize = 12;

/// Returns the judgements of the cells that a configuration pools.
pub fn of_members<'a>(input: &ReportInput<'a>, members: &[(String, usize)]) -> Vec<&'a CellJudgement> {
    let find = |(run, number): &(String, usize)| {
        let part = input.runs.iter().find(|part| part.meta.id == *run)?;
        part.judgement.cells.iter().find(|cell| cell.number == *number)
    };
    members.iter().filter_map(find).collect()
}

/// Returns the verdict with the most weight, in the order of exit statuses: a repeat that failed to measure allows no conclusion.
fn heaviest(cells: &[&CellJudgement]) -> Option<Verdict> {
    let weight = |verdict: &Verdict| match verdict {
        Verdict::Pass => 0,
        Verdict::Fail => 1,
        Verdict::Contaminated => 2,
        Verdict::Inconclusive => 3,
        Verdict::Infra | Verdict::Skipped => 4,
    };
    cells.iter().map(|cell| cell.verdict).max_by_key(weight)
}

/// Returns one card for each series that a limit or an expectation judges, or for every series if nothing is judged.
pub fn cards(input: &ReportInput, chapters: &[Chapter]) -> Cards {
    let mut all: Vec<Weighed> = Vec::new();
    for chapter in chapters {
        let before = all.len();
        let each = chapter.sections.iter().flat_map(|section| section.series.iter().map(move |one| (section, one)));
        all.extend(each.map(|(section, series)| card(input, section, series)));
        // For a chapter of many unjudged calls, a card per call would repeat the same text dozens of times.
        if chapter.is_many() {
            let each = all.split_off(before);
            all.extend(together(input, chapter, each));
        }
    }
    if all.iter().any(|one| one.matters) {
        all.retain(|one| one.matters);
    }
    if all.len() > MOST {
        // The sort is stable: cards of the same weight stay in the order of tables.
        all.sort_by_key(|one| std::cmp::Reverse(one.weight));
    }
    let mut shown: Vec<Card> = all.into_iter().map(|one| one.card).collect();
    let rest = shown.split_off(shown.len().min(MOST));
    let shared = shared(&mut shown);
    Cards { shown, rest, shared }
}

/// Moves the sentences that several cards share from the cards into one list, and adds a remark if cards are unjudged.
fn shared(cards: &mut [Card]) -> Vec<String> {
    let all: Vec<String> = cards.iter().flat_map(|card| card.reasons.clone()).collect();
    let often = |text: &String| all.iter().filter(|other| *other == text).count();
    let mut told: Vec<String> = Vec::new();
    for text in all.iter().filter(|text| often(text) > 1) {
        let line = format!("{text} ({} of {} configurations)", often(text), cards.len());
        if !told.contains(&line) {
            told.push(line);
        }
    }
    for card in cards.iter_mut() {
        card.reasons.retain(|text| often(text) == 1);
    }
    if cards.iter().any(|card| card.said == Said::UNJUDGED) {
        told.push("Where no limit is set, nothing passes or fails.".into());
    }
    told
}

/// Returns the cards of a chapter with many calls: one for each series that a limit or an expectation judges, one for each configuration in
/// doubt, or a single card if there are neither.
fn together<'a>(input: &ReportInput, chapter: &'a Chapter, each: Vec<Weighed<'a>>) -> Vec<Weighed<'a>> {
    let mut kept: Vec<Weighed> = each.into_iter().filter(|one| one.judged).collect();
    // If a configuration has judged cards, these show the doubt about it.
    let mut doubted: Vec<&Configuration> = kept.iter().filter_map(|one| one.configuration).collect();
    for series in chapter.sections.iter().flat_map(|section| &section.series) {
        let known = doubted.iter().any(|one| std::ptr::eq(*one, series.configuration));
        let doubt = doubt(&of_members(input, &series.configuration.members()));
        let (Some(doubt), false) = (doubt, known) else { continue };
        doubted.push(series.configuration);
        let Some(mut card) = measured(chapter, Some(series.configuration)) else { continue };
        card.said = words::verdict(doubt);
        card.reasons = reasons(&of_members(input, &series.configuration.members()));
        kept.push(Weighed { card, weight: 2, configuration: Some(series.configuration), judged: false, matters: true });
    }
    if kept.is_empty() {
        let card = measured(chapter, None);
        kept.extend(card.map(|card| Weighed { card, weight: 1, configuration: None, judged: false, matters: false }));
    }
    kept
}

/// Returns the card of a chapter, or of one of its configurations, that shows only the largest sample.
fn measured(chapter: &Chapter, only: Option<&Configuration>) -> Option<Card> {
    let all = chapter.sections.iter().flat_map(|section| section.series.iter().map(move |one| (section, one)));
    let all = all.filter(|(_, series)| only.is_none_or(|only| std::ptr::eq(only, series.configuration)));
    let timed = all.filter(|(section, _)| section.unit == "ns").filter_map(|(a, b)| Some((b.max()?, a, b)));
    let (max, section, series) = timed.max_by(|a, b| a.0.total_cmp(&b.0))?;
    let why = format!("Largest: {} in {} ({}).", section.value(max), section.short_title(), series.name);
    let rows = words::many(chapter.rows.len() as u64, "row");
    let systems = words::many(chapter.systems.len() as u64, "system");
    Some(Card {
        question: chapter.title(),
        name: only.map_or_else(|| format!("{rows} on {systems}"), |only| only.label.clone()),
        said: Said::UNJUDGED,
        numbers: vec![Number { label: "worst".into(), value: section.value(max), is_over: false }],
        basis: format!("{} ({})", section.short_title(), series.name),
        why,
        expected: Vec::new(),
        reasons: Vec::new(),
    })
}

/// Returns the verdict that makes the measurement itself doubtful, if any.
fn doubt(cells: &[&CellJudgement]) -> Option<Verdict> {
    heaviest(cells).filter(|verdict| !matches!(verdict, Verdict::Pass | Verdict::Fail))
}

/// Returns the reasons why the measurement of these cells is doubtful, each once.
fn reasons(cells: &[&CellJudgement]) -> Vec<String> {
    let mut reasons: Vec<String> = Vec::new();
    for cell in cells.iter().filter(|cell| !matches!(cell.verdict, Verdict::Pass | Verdict::Fail)) {
        let weighty = cell.findings.iter().filter(|finding| finding.grade >= Grade::Contaminated);
        let told = |finding: &Finding| match finding.grade {
            Grade::Contaminated => format!("disturbed by {}", unbroken(&finding.spans())),
            _ => unbroken(&finding.spans()),
        };
        let mut own: Vec<String> = weighty.map(told).collect();
        if own.is_empty() {
            own = cell.reasons.iter().map(|reason| unbroken(&reason.spans())).collect();
        }
        for reason in own {
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        }
    }
    reasons
}

/// Returns the card of a series.
fn card<'a>(input: &ReportInput, section: &Section, series: &Curve<'a>) -> Weighed<'a> {
    let cells = of_members(input, &series.configuration.members());
    let doubt = doubt(&cells);
    let expected = expected(input, section, series);
    // The cell's verdict may come from another quantity, and this card is about its quantity only.
    let by_limit = series.pooled.above_limit.map(|n| if n == 0 { Verdict::Pass } else { Verdict::Fail });
    let judged =
        by_limit.into_iter().chain(expected.iter().map(|e| e.0)).max_by_key(|verdict| verdict.weight_for_item());
    let empty = series.pooled.summary.count == 0;
    let said = match (doubt, judged) {
        (Some(doubt), _) => words::verdict(doubt),
        _ if empty => Said::EMPTY,
        (None, Some(verdict)) => words::verdict(verdict),
        (None, None) => Said::UNJUDGED,
    };
    let why = card_text::deciding(section, series);
    let limit = series.limit().map_or(String::new(), |l| format!(", limit {}", round_value(l, section.unit)));
    let card = Card {
        question: format!("{}{limit}", section.title()),
        name: series.full_name.clone(),
        said,
        numbers: card_text::numbers(section, series),
        basis: words::many(series.pooled.summary.count, section.noun()),
        why,
        expected: expected.into_iter().map(|(verdict, text)| (words::verdict(verdict), text)).collect(),
        reasons: reasons(&cells).into_iter().chain(emulated([series].into_iter())).collect(),
    };
    let weight = match said.tone {
        Tone::Bad => 3,
        Tone::Warn => 2,
        Tone::Plain => 1,
        _ => 0,
    };
    let judged = judged.is_some();
    let matters = judged || doubt.is_some() || empty;
    Weighed { card, weight, configuration: Some(series.configuration), judged, matters }
}

/// Returns the outcomes of the expectations for one series, a line each, the most severe first.
fn expected(input: &ReportInput, section: &Section, series: &Curve) -> Vec<(Verdict, String)> {
    let mut lines = Vec::new();
    for part in &input.runs {
        let here = |cell: usize| {
            series.configuration.members().iter().any(|(run, number)| (run, *number) == (&part.meta.id, cell))
        };
        for expectation in &part.judgement.expectations {
            let own = |one: &&SeriesJudgement| {
                one.quantity == section.quantity && one.labels == series.pooled.labels && here(one.cell)
            };
            // The first is the most severe.
            let mut outcomes = expectation.each.iter().filter(own);
            let Some(worst) = outcomes.next() else { continue };
            let alike = outcomes.filter(|other| other.verdict == worst.verdict).count();
            let more = if alike > 0 { format!(" (and {alike} more)") } else { String::new() };
            // The card already shows quantity and configuration.
            let text = &expectation.condition;
            lines.push((worst.verdict, format!("{text}: {}{more}", unbroken(&worst.measured.spans()))));
        }
    }
    lines.sort_by_key(|(verdict, _)| std::cmp::Reverse(verdict.weight_for_item()));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        sample::{self, SampleRun, calls},
        tree::{chapters, sections},
    };

    fn of(configurations: &[latido_judge::configuration::Configuration], change: impl Fn(&mut ReportInput)) -> Cards {
        let judged = SampleRun::of(configurations);
        let mut input = judged.input(configurations);
        change(&mut input);
        cards(&input, &chapters(&sections(configurations)))
    }

    #[test]
    fn a_failed_expectation_fails_the_card_although_the_limit_holds() {
        let all = [sample::of("x", &[5_000, 60_000], Some(100_000))];
        let cards = of(&all, |_| ()).shown;
        assert_eq!((cards[0].said.word, cards[0].said.tone), ("FAIL", Tone::Bad));
        let (said, text) = &cards[0].expected[0];
        assert_eq!((said.sign, text.as_str()), ("✗", "max < 50us: CPU 2: 60.0\u{a0}µs"));
        assert_eq!(cards[0].expected[1].0.sign, "✓");
    }

    #[test]
    fn what_nothing_judges_has_no_limit() {
        let all = [sample::gaps("idle", 1)];
        let cards = of(&all, |_| ());
        assert_eq!(cards.shown[0].said.word, "NO LIMIT SET");
        assert_eq!(cards.shared, ["Where no limit is set, nothing passes or fails."]);
        let free = [sample::of("x", &[5_000], None)];
        let cards = of(&free, |_| ());
        assert_eq!((cards.shown[0].said.word, cards.shared.len()), ("PASS", 0));
    }

    /// A card has large figures. Sentences that several cards share appear once on the page.
    #[test]
    fn cards_have_figures_and_share_their_sentences() {
        let all = [sample::gaps("idle", 1), sample::gaps("busy", 2)];
        assert_eq!(of(&all, |_| ()).shared.len(), 1);
        let all = [sample::of("x", &[5_000, 160_000], Some(100_000))];
        let card = &of(&all, |_| ()).shown[0];
        let told: Vec<_> =
            card.numbers.iter().map(|one| (one.label.as_str(), one.value.as_str(), one.is_over)).collect();
        let above = ("above 100\u{a0}µs", "1", true);
        assert_eq!(told, [("worst", "160\u{a0}µs", true), ("p99.9", "too few", false), above, ("missed", "0", false)]);
        assert_eq!(card.basis, "2 wake-ups");
        let mut twice = all.into_iter().chain([sample::of("y", &[5_000], None)]).collect::<Vec<_>>();
        twice.iter_mut().for_each(|one| one.machine.emulated = Some(latido_model::sample::emulated()));
        let cards = of(&twice, |_| ());
        assert!(cards.shown.iter().all(|card| card.reasons.is_empty()), "{cards:?}");
        assert!(cards.shared[0].ends_with("(2 of 2 configurations)"), "{:?}", cards.shared);
    }

    #[test]
    fn of_many_the_gravest_are_cards() {
        let mut all: Vec<_> = (0..40).map(|i| sample::of(&format!("c{i}"), &[5_000], Some(100_000))).collect();
        all[30] = sample::of("bad", &[500_000], Some(100_000));
        let cards = of(&all, |_| ());
        assert_eq!((cards.shown.len(), cards.rest.len()), (MOST, 40 - MOST));
        assert!(cards.shown.iter().any(|c| c.name.contains("bad")), "{:?}", cards.shown);
    }

    /// The page states the doubt about a configuration once, not for each of its calls.
    #[test]
    fn a_doubted_configuration_of_many_calls_is_one_card() {
        let shown = of(&calls::compute(&[2, 4], 20), |_| ()).shown;
        let [card] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!((card.name.as_str(), card.said.word, card.said.tone), ("rr 95", "CONTAMINATED", Tone::Warn));
        assert_eq!(card.reasons.len(), 1);
    }

    /// A series with a limit has its card, which shows the doubt. No other card claims that there is no limit.
    #[test]
    fn a_doubted_configuration_with_a_limit_has_no_card_without_one() {
        let mut all = calls::compute(&[2, 4], 20);
        let doubted = all.iter_mut().filter(|one| one.label.starts_with("rr 95"));
        doubted.flat_map(|one| &mut one.quantities).for_each(|pooled| pooled.above_limit = Some(1));
        let shown = of(&all, |_| ()).shown;
        assert!(shown.len() > 1 && shown.iter().all(|card| card.said.word == "CONTAMINATED"), "{shown:?}");
    }

    /// Sixteen unjudged calls have one card, not sixteen.
    #[test]
    fn many_unjudged_calls_share_a_card() {
        let shown = of(&calls::mutex(&["idle", "busy"]), |_| ()).shown;
        let [card] = &shown[..] else { panic!("{shown:?}") };
        assert_eq!(
            (card.question.as_str(), card.name.as_str(), card.said.word),
            ("Mutex calls", "13 rows on 2 systems", "NO LIMIT SET")
        );
        assert!(card.why.starts_with("Largest: "), "{}", card.why);
        let mut both = calls::mutex(&["idle"]);
        both.push(sample::of("x", &[5_000], Some(100_000)));
        assert_eq!(of(&both, |_| ()).shown.len(), 1, "beside a judged one they have none");
    }
}
