//! The report: a pure function returns one self-contained HTML file.

mod card_text;
mod cards;
mod chapter;
mod comparison;
mod declared;
mod environment;
mod parts;
mod settings;
mod spikes;
mod stand_ins;
mod statements;
mod top;
pub mod traced;
mod trust;

use crate::{
    figures::{Chart, FIGURES, histogram, printed_effects, range_bar, repeats, style},
    input::{ReportInput, RunPart},
    study::{NotMeasured, StudyPart},
    tables::{self, limit, quantiles, samples, slots, summary, tail},
    tree::{Chapter, Curve, Report, SHOWN, Section},
    words,
};
use anyhow::{Context, Result};
use askama::Template;
use cards::{Card, Cards};
use chapter::ChapterView;
use comparison::Comparison;
use declared::DeclaredView;
use environment::Environment;
use latido_judge::span::unbroken;
use parts::{Lead, Picture, SectionView, SheetView, keys};
use settings::{Beside, SettingView};
use spikes::SpikesView;
use statements::Statement;
use top::Top;
use trust::Trust;

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    title: String,
    css: String,
    symbols: String,
    script: &'static str,
    headlines: Vec<HeadlineView<'a>>,
    runs: Vec<RunView<'a>>,
    problems: Vec<String>,
    /// The hosts of several runs, each once; `plans` are their plans.
    hosts: String,
    plans: String,
    comparison: Option<Comparison>,
    cards: Vec<Card>,
    rest: Vec<Card>,
    shared: Vec<String>,
    lead: Option<Lead>,
    trust: Trust,
    top: Top,
    expectations: Vec<Statement<'a>>,
    conclusions: Vec<Statement<'a>>,
    declared: DeclaredView,
    chapters: Vec<ChapterView>,
    study: Option<&'a StudyPart>,
    sized: Option<&'a str>,
    scaled: String,
    not_measured: &'a [NotMeasured],
    spikes: Vec<SpikesView>,
    /// The largest value of each second of a cell, or why there is none.
    maxima: Vec<Result<SheetView, &'a str>>,
    stages: Option<Picture>,
    unstaged: Vec<&'a str>,
    printed_effects: Vec<Picture>,
    environment: Environment,
    settings: Vec<SettingView>,
    beside: Vec<Beside>,
    data: String,
}

/// The sentence on a run, with its verdict first.
struct HeadlineView<'a> {
    sign: &'static str,
    class: &'static str,
    verdict: &'static str,
    text: String,
    in_the_way: String,
    check: &'a str,
    next: &'a str,
}

struct RunView<'a> {
    id: &'a str,
    machine: &'a str,
    plan: &'a str,
    latido: &'a str,
    when: String,
    command: String,
    plan_toml: &'a str,
    year: &'a str,
}

const STYLE: &str = include_str!("../templates/report.css");
/// The styles for pages with declared tables and figures only.
const DECLARED: &str = concat!(
    r#".declared{width:auto;min-width:min(100%,480px)}"#,
    r#".declared td{line-height:1.35;vertical-align:top}"#,
    r#".declared td.unit,.declared th:nth-child(2){color:var(--mu);text-align:left}"#,
    r#".declared .printed,.declared .ratio{display:block;font-size:11.5px;color:var(--mu)}"#,
    r#".declared .printed{font-style:italic}"#,
    r#".declared thead [colspan]{text-align:center}"#,
    r#".declared thead .first{padding-left:18px}"#,
    r#"#declared>figure{margin-top:22px}"#,
    "\n",
);
const SCRIPT: &str = include_str!("../templates/report.js");

/// The longest name of a row, in characters; the row's tooltip has the full name.
const NAME: usize = 30;

/// The figures that show the same as others in another way.
const FOLDED: [&str; 3] = ["bands", "load-over-time", "scatter"];

/// Returns the whole report as the text of one file.
///
/// # Errors
/// The template or the embedded data cannot be written; no known input causes this.
pub fn render(report: &Report) -> Result<String> {
    let (input, chapters) = (report.input, report.chapters());
    let Cards { shown, rest, shared } = cards::cards(input, &chapters);
    let (expectations, conclusions) = (statements::expectations(report), statements::conclusions(report));
    let declared = DeclaredView::of(report);
    let each = chapters.iter().enumerate();
    let mut views: Vec<ChapterView> = each.map(|(i, chapter)| chapter_view(i, chapter, report)).collect();
    let lead = lead(&chapters, &mut views);
    let page = Page {
        title: title(input),
        css: format!(
            "{}{STYLE}{}{}{}",
            style::page_variables(),
            style::page_rules(),
            style_of(&declared),
            if input.explained.is_empty() { "" } else { spikes::STYLE }
        ),
        symbols: style::symbols(),
        script: SCRIPT,
        headlines: input.runs.iter().map(headline).collect(),
        runs: input.runs.iter().map(run).collect(),
        problems: trust::problems(input),
        hosts: each_once(input.runs.iter().map(|run| run.meta.machine.as_str())),
        plans: each_once(input.runs.iter().map(|run| run.meta.plan.as_str())),
        comparison: Comparison::of(report),
        cards: shown,
        rest,
        shared,
        lead,
        trust: Trust::of(input),
        top: Top::of(report, &conclusions, &expectations),
        expectations,
        conclusions,
        declared,
        chapters: views,
        study: input.study.as_ref(),
        sized: input.study.as_ref().and_then(|study| study.sized.as_deref()),
        scaled: input.study.as_ref().and_then(|study| study.scaled).map(words::share_of_size).unwrap_or_default(),
        not_measured: &input.not_measured,
        spikes: spikes::all(&input.explained),
        maxima: input.maxima.iter().map(|one| tables::maxima::sheet(one).map(|sheet| SheetView::of(&sheet))).collect(),
        stages: Picture::stages(&input.chains),
        unstaged: input.chains.iter().filter_map(|one| one.found.as_ref().err().map(String::as_str)).collect(),
        printed_effects: printed_effects::of(&input.published).iter().map(Picture::printed).collect(),
        environment: Environment::of(input.configurations),
        settings: settings::settings(input.configurations),
        beside: settings::beside(input.configurations),
        // "</script>" or "<!--" in a name would end the element. JSON allows this escape wherever "<" may occur.
        data: report.in_format("json")?.unwrap_or_default().replace('<', "\\u003c"),
    };
    page.render().context("writing the report")
}

/// Returns names in the order in which they first appear, each once: `vm, board`.
fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut found: Vec<&str> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found.join(", ")
}

/// Returns the title: `wakeup`, `wakeup: 2 runs side by side`.
fn title(input: &ReportInput) -> String {
    match input.runs.len() {
        0 | 1 => input.title.clone(),
        n => format!("{}: {n} runs side by side", input.title),
    }
}

/// Moves the figure that opens the page from its place below. It comes from the section with the most severe result: the maxima of the
/// repeats, which come before everything that is pooled, or the histogram if there are no repeats. If there are too many calls for one
/// histogram, it is the figure over all calls.
fn lead(chapters: &[Chapter], views: &mut [ChapterView]) -> Option<Lead> {
    let above = |series: &Curve| series.pooled.above_limit.map_or(0, |above| above.saturating_add(1));
    let news = |section: &Section| section.series.iter().map(above).max().unwrap_or(0);
    let each =
        chapters.iter().flat_map(|chapter| chapter.sections.iter().zip(chapter.first..).map(move |one| (chapter, one)));
    // A folded section can open the page only if a limit judges it.
    let speaks = |(chapter, (section, _)): &(&Chapter, (&Section, usize))| {
        section.has_samples() && (!chapter.is_folded() || news(section) > 0)
    };
    let gravest =
        each.filter(speaks).map(|(_, one)| one).max_by_key(|(section, at)| (news(section), std::cmp::Reverse(*at)));
    let Some((section, index)) = gravest else {
        let view = views.iter_mut().find(|view| !view.overviews.is_empty())?;
        let (picture, legend) = (view.overviews.remove(0), view.legend.clone());
        return Some(Lead { of: "c", index: view.index, title: view.title.clone(), legend, picture });
    };
    let view = views.iter_mut().flat_map(|view| &mut view.sections).find(|view| view.index == index)?;
    let (mut picture, figure) = match view.repeats.take() {
        Some(picture) => (picture, &repeats::FIGURE),
        None => {
            let at = view.figures.iter().position(|picture| picture.name == histogram::FIGURE.name)?;
            (view.figures.remove(at), &histogram::FIGURE)
        }
    };
    let legend = view.legend.clone();
    picture.narrow(figure, section);
    Some(Lead { of: "s", index, title: view.title.clone(), legend, picture })
}

fn style_of(declared: &DeclaredView) -> &'static str {
    if declared.is_empty() { "" } else { DECLARED }
}

/// Returns the colour of a table's row. Colours repeat after the eighth, because readers cannot distinguish more.
fn slot(row: usize) -> usize {
    row % SHOWN
}

fn headline<'a>(part: &RunPart<'a>) -> HeadlineView<'a> {
    let said = part.said();
    let text = unbroken(&part.judgement.headline.spans());
    let advice = part.judgement.advice.as_ref();
    HeadlineView {
        sign: said.sign,
        class: said.tone.class(),
        verdict: said.word,
        text,
        in_the_way: advice.map(|advice| advice.in_the_way.join(", ")).unwrap_or_default(),
        check: advice.map_or("", |advice| &advice.check),
        next: advice.and_then(|advice| advice.next.as_deref()).unwrap_or_default(),
    }
}

fn run<'a>(part: &RunPart<'a>) -> RunView<'a> {
    let meta = part.meta;
    RunView {
        id: &meta.id,
        machine: &meta.machine,
        plan: &meta.plan,
        latido: &meta.latido,
        when: words::between(&meta.started, meta.finished.as_deref()),
        command: part.commands.iter().map(|line| latido_model::written::shell(line)).collect::<Vec<_>>().join("\n"),
        plan_toml: part.plan_toml,
        year: meta.started.get(..4).unwrap_or_default(),
    }
}

fn chapter_view(index: usize, chapter: &Chapter, report: &Report) -> ChapterView {
    let each = chapter.sections.iter().enumerate();
    let sections = each.map(|(i, section)| view(chapter.first + i, section, chapter, report)).collect();
    ChapterView::of(index, chapter, report, sections)
}

fn view(index: usize, section: &Section, chapter: &Chapter, report: &Report) -> SectionView {
    let sheet = summary::sheet(section);
    // In a folded chapter with many sections, one variant of each figure is enough; users request the others one by one.
    let forms = if chapter.is_folded() { 1 } else { usize::MAX };
    let names: Vec<&str> = section.series.iter().map(|series| series.name.as_str()).collect();
    let bars = section.series.iter().enumerate().map(|(row, series)| {
        range_bar::draw(section, series, slot(row)).map(|d| d.inline().replace("class=\"figure\"", "class=\"range\""))
    });
    let fitting = FIGURES.iter().filter(|figure| (figure.fits)(section));
    let (first, figures): (Vec<&Chart>, Vec<&Chart>) = fitting.partition(|figure| figure.name == repeats::FIGURE.name);
    let (more, figures): (Vec<&Chart>, Vec<&Chart>) = figures.into_iter().partition(|one| FOLDED.contains(&one.name));
    let draw = |figure: &Chart| Picture::of(section, figure, forms);
    SectionView {
        index,
        title: section.title(),
        short: section.short_title(),
        told: chapter::told(section),
        key: section.key(),
        about: parts::about(section),
        unit: sheet.units.as_ref().map(words::Units::about).unwrap_or_default(),
        unsupported: summary::unsupported(section),
        names: words::apart(&names, |text| text.chars().count() <= NAME),
        max_at: sheet.head.iter().position(|head| head.name == "max").unwrap_or(0),
        summary: SheetView::of(&sheet),
        copies: parts::copies(&sheet, report.formats),
        range_heading: range_bar::heading(section),
        ranges: bars.map(Option::unwrap_or_default).collect(),
        legend: parts::legend(section),
        hidden: section.series.len().saturating_sub(SHOWN),
        repeats: first.first().map(|figure| draw(figure)),
        is_pooled: !first.is_empty(),
        figures: figures.into_iter().map(draw).collect(),
        more: more.into_iter().map(draw).collect(),
        samples: SheetView::of(&samples::sheet(section)),
        quantiles: quantiles::sheet(section).as_ref().map(SheetView::of),
        tail: tail::sheet(section).as_ref().map(SheetView::of),
        tails: tail::told(section),
        limit: limit::sheet(section).as_ref().map(SheetView::of),
        slots: slots::sheet(section).as_ref().map(SheetView::of),
    }
}

#[cfg(test)]
mod tests;
