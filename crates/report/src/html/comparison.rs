//! Several runs side by side: a column per run, with the verdict at the top and the figures of each quantity below.

use super::card_text::Number;
use crate::{
    input::{ReportInput, RunPart},
    tree::{Curve, Report, Section},
    words::{self, Said, round_value},
};
use latido_judge::{configuration::Configuration, repeat::Pooled};
use std::collections::BTreeSet;

/// The comparison that opens a report of several runs.
pub struct Comparison {
    /// The runs, oldest first.
    pub runs: Vec<Column>,
    /// Whether a last column divides the second run by the first.
    pub has_ratio: bool,
    /// The quantities, each with its lines.
    pub groups: Vec<Group>,
    /// The number of groups that only the tables below show.
    pub more: usize,
    /// The command that judges the difference; empty if no command compares this number of runs.
    pub judged_by: String,
}

/// The head of a run's column.
pub struct Column {
    /// `A`.
    pub letter: String,
    /// Its verdict.
    pub said: Said,
    /// The configurations that only this run has.
    pub own: String,
    /// The time of the measurement, and the machine if the runs are from several machines.
    pub when: String,
    /// Its id.
    pub id: String,
}

/// One quantity, or one of its configurations.
pub struct Group {
    /// `Wake-up latency, idle`.
    pub title: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One figure of all runs.
pub struct Line {
    /// `worst`.
    pub label: String,
    /// The figure of each run, if the run has it.
    pub cells: Vec<Option<Number>>,
    /// `1.20`; empty where a ratio makes no sense.
    pub ratio: String,
}

/// The most groups; the tables below show the others.
const MOST: usize = 8;

/// A figure of a run, and the number behind it; the number of samples has none, because nobody divides it.
type Figure = (Number, Option<f64>);

impl Comparison {
    /// Returns the comparison for a report of several runs; nothing for a report of one.
    pub fn of(report: &Report) -> Option<Self> {
        let input = report.input;
        if input.runs.len() < 2 {
            return None;
        }
        let mut groups: Vec<Group> = report.sections.iter().flat_map(|section| groups(section, input)).collect();
        let more = groups.len().saturating_sub(MOST);
        groups.truncate(MOST);
        Some(Self {
            runs: input.runs.iter().enumerate().map(|(at, run)| column(at, run, input)).collect(),
            has_ratio: input.runs.len() == 2,
            groups,
            more,
            judged_by: judged_by(input),
        })
    }
}

/// Returns the command `latido compare A B`. If the loads differ, the runs are not comparable in that respect, and the command must name
/// it.
fn judged_by(input: &ReportInput) -> String {
    let [one, two] = &input.runs[..] else { return String::new() };
    let loads = |run: &RunPart| {
        let own = input.configurations.iter().filter(|configuration| is_of(configuration, run));
        own.map(|configuration| configuration.cell.load.id.clone()).collect::<BTreeSet<String>>()
    };
    let despite = if loads(one) == loads(two) { "" } else { " --despite load" };
    format!("latido compare {} {}{despite}", one.meta.id, two.meta.id)
}

/// Returns `A` to `Z`, then `27` and so on.
fn letter(at: usize) -> String {
    u8::try_from(at).ok().filter(|at| *at < 26).map_or_else(|| (at + 1).to_string(), |at| char::from(b'A' + at).into())
}

fn is_of(configuration: &Configuration, run: &RunPart) -> bool {
    configuration.repeats.iter().any(|repeat| repeat.run == run.meta.id)
}

fn column(at: usize, run: &RunPart, input: &ReportInput) -> Column {
    let alone = |one: &&Configuration| is_of(one, run) && one.repeats.iter().all(|repeat| repeat.run == run.meta.id);
    let own: Vec<&str> = input.configurations.iter().filter(alone).map(|one| one.label.as_str()).collect();
    let when = words::between(&run.meta.started, run.meta.finished.as_deref());
    Column {
        letter: letter(at),
        said: run.said(),
        own: if own.len() > 3 { words::many(own.len() as u64, "configuration") } else { own.join("; ") },
        when: match input.runs.iter().all(|other| other.meta.machine == run.meta.machine) {
            true => when,
            false => format!("{}, {when}", run.meta.machine),
        },
        id: match &run.meta.label {
            Some(label) => format!("{label} ({})", run.meta.id),
            None => run.meta.id.clone(),
        },
    }
}

/// Returns what one run measured of a series.
fn of_run(series: &Curve, run: &RunPart) -> Option<Pooled> {
    let repeats = series.configuration.repeats.iter().filter(|repeat| repeat.run == run.meta.id);
    let alike = |one: &&latido_judge::repeat::RepeatQuantity| one.pooled.key() == series.pooled.key();
    let all: Vec<_> = repeats.flat_map(|repeat| &repeat.quantities).filter(alike).collect();
    let limit = series.configuration.cell.conditions.limit.filter(|_| series.limit().is_some());
    Pooled::over(&all, limit)
}

/// Returns the groups of a section: a single one if each run has at most one configuration, else one per configuration.
fn groups(section: &Section, input: &ReportInput) -> Vec<Group> {
    let own = |run: &RunPart| section.series.iter().filter(|series| is_of(series.configuration, run)).count();
    let pooled = |series: &[&Curve]| {
        let figures = |run: &RunPart| series.iter().find_map(|one| Some(figures(section, one, &of_run(one, run)?)));
        input.runs.iter().map(|run| figures(run).unwrap_or_default()).collect::<Vec<_>>()
    };
    if input.runs.iter().all(|run| own(run) < 2) {
        let all: Vec<&Curve> = section.series.iter().collect();
        return vec![Group { title: section.title(), lines: lines(&pooled(&all)) }];
    }
    let group = |series: &Curve| Group {
        title: format!("{}, {}", section.title(), series.name),
        lines: lines(&pooled(&[series])),
    };
    section.series.iter().map(group).collect()
}

/// Returns the figures of one run: those of a card, and the number of samples.
fn figures(section: &Section, series: &Curve, pooled: &Pooled) -> Vec<Figure> {
    let limit = series.limit();
    let over = |v: f64| limit.is_some_and(|limit| v > limit);
    let time =
        |label: &str, v: f64| (Number { label: label.into(), value: section.value(v), is_over: over(v) }, Some(v));
    let count = |label: String, n: u64| (Number { label, value: words::count(n), is_over: n > 0 }, Some(n as f64));
    let rare = pooled.summary.quantiles.get("0.999").copied().flatten();
    let mut all: Vec<Figure> = Vec::new();
    all.extend(pooled.summary.max.map(|v| time("worst", v as f64)));
    all.extend(rare.map(|v| time("p99.9", v as f64)));
    if let (Some(limit), Some(above)) = (limit, pooled.above_limit) {
        all.push(count(format!("above {}", round_value(limit, section.unit)), above));
    }
    all.extend(pooled.slots.map(|slots| count("missed".into(), slots.missed)));
    let (samples, _) = count(words::plural(section.noun()), pooled.summary.count);
    all.push((Number { is_over: false, ..samples }, None));
    all
}

/// Returns the figures of all runs, line by line.
fn lines(runs: &[Vec<Figure>]) -> Vec<Line> {
    let mut ranked: Vec<(usize, &String)> = Vec::new();
    // `worst` and `p99.9` come first and the number of samples last. The other figures stay in the order in which they first appear.
    let rank = |label: &str, value: Option<f64>| match ["worst", "p99.9"].iter().position(|known| *known == label) {
        Some(rank) => rank,
        None if value.is_none() => 3,
        None => 2,
    };
    for (number, value) in runs.iter().flatten() {
        if !ranked.iter().any(|(_, known)| **known == number.label) {
            ranked.push((rank(&number.label, *value), &number.label));
        }
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    let line = |label: &String| {
        let found: Vec<Option<&Figure>> =
            runs.iter().map(|all| all.iter().find(|(number, _)| number.label == *label)).collect();
        let ratio = match found[..] {
            [Some((_, Some(a))), Some((_, Some(b)))] if *a > 0.0 => words::plain(b / a),
            _ => String::new(),
        };
        let again = |one: &Number| Number { label: one.label.clone(), value: one.value.clone(), is_over: one.is_over };
        let cells = found.iter().map(|one| one.map(|(number, _)| again(number))).collect();
        Line { label: label.clone(), cells, ratio }
    };
    ranked.into_iter().map(|(_, label)| line(label)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{formats, sample};

    /// Two runs of the same configuration: each has its column, and the last column divides the second by the first.
    #[test]
    fn two_runs_stand_side_by_side() {
        let mut all = vec![sample::of("idle", &[20_000; 2_000], Some(100_000))];
        let mut second = sample::of("idle", &[60_000; 2_000], Some(100_000)).repeats;
        second[0].run = "20261122T200000Z-sample-b".into();
        all[0].repeats.extend(second);
        all[0].pool();
        let (one, two) = (sample::SampleRun::of(&all), sample::SampleRun::named(&all, "20261122T200000Z-sample-b"));
        let mut input = one.input(&all);
        input.runs.extend(two.input(&all).runs);
        let report = Report::new(&input, formats::FORMATS);
        let found = Comparison::of(&report).unwrap();
        let lines = &found.groups[0].lines;
        let told = |at: usize| lines[0].cells[at].as_ref().unwrap().value.replace('\u{a0}', " ");
        assert_eq!((lines[0].label.as_str(), told(0).as_str(), told(1).as_str()), ("worst", "20.0 µs", "60.0 µs"));
        assert_eq!((lines[0].ratio.as_str(), found.runs[1].letter.as_str()), ("3.00", "B"));
        assert!(found.judged_by.ends_with("20261122T200000Z-sample-b"), "{}", found.judged_by);
        let html = formats::render("html", &input).unwrap();
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("no {text}"));
        assert!(at("id=\"comparison\"") < at("class=\"cards") && html.contains("2 runs side by side</h1>"));
        assert_eq!(html.matches("class=\"headline").count(), 0, "no verdict is said twice");
    }

    #[test]
    fn one_run_is_not_compared() {
        let all = sample::configurations(2);
        let judged = sample::SampleRun::of(&all);
        let input = judged.input(&all);
        assert!(Comparison::of(&Report::new(&input, formats::FORMATS)).is_none());
        assert_eq!((letter(0), letter(25), letter(26)), ("A".into(), "Z".into(), "27".into()));
    }
}
