//! The parts of a section: tables, their copies for other documents, figures with their variants, the legend.

use super::slot;
use crate::{
    figures::{self, Chart, Overview, printed_effects::PrintedEffects, stages, svg::Drawing},
    tree::{Chapter, Curve, Datum, Format, Section, Sheet, TableForm},
    words,
};
use askama::Template;
use latido_judge::{chains::Chains, configuration::Configuration};

/// A section for the template.
pub struct SectionView {
    pub index: usize,
    pub title: String,
    /// Its short title and its summary, below the heading of its chapter.
    pub short: String,
    pub told: String,
    pub key: String,
    pub about: String,
    pub unit: String,
    /// Quantiles for which no series has enough samples.
    pub unsupported: String,
    /// The row names, shortened to fit; the table has them in full.
    pub names: Vec<String>,
    pub summary: SheetView,
    /// The column with the maxima; narrow screens show it first.
    pub max_at: usize,
    pub copies: Vec<Copy>,
    pub range_heading: String,
    pub ranges: Vec<String>,
    pub legend: Vec<LegendEntry>,
    pub hidden: usize,
    /// The spread between repeats, before everything that is pooled; absent if it opens the page.
    pub repeats: Option<Picture>,
    /// Whether the rest pools repeats.
    pub is_pooled: bool,
    /// The most important figures, without the one that opens the page.
    pub figures: Vec<Picture>,
    /// The other figures, folded.
    pub more: Vec<Picture>,
    pub samples: SheetView,
    pub quantiles: Option<SheetView>,
    pub tail: Option<SheetView>,
    /// The conclusion on the tails.
    pub tails: String,
    pub limit: Option<SheetView>,
    pub slots: Option<SheetView>,
}

/// A table for the template.
pub struct SheetView {
    pub caption: String,
    pub head: Vec<String>,
    /// The row's name and its cells.
    pub rows: Vec<(String, Vec<DatumView>)>,
    pub notes: Vec<String>,
}

/// A cell of a table.
pub struct DatumView {
    pub text: String,
    /// `""`, `text`, `over` (its limit) or `missing`.
    pub class: &'static str,
}

impl SheetView {
    /// Returns the table of a sheet.
    pub fn of(sheet: &Sheet) -> Self {
        let cell = |(datum, text): (&Datum, String)| {
            let class = if datum.is_missing() {
                "missing"
            } else if datum.is_text() {
                "text"
            } else if matches!(datum, Datum::Over(_)) {
                "over"
            } else {
                ""
            };
            DatumView { text, class }
        };
        let row = |row: &Vec<Datum>| {
            let mut texts = sheet.texts(row).into_iter();
            let name = texts.next().unwrap_or_default();
            (name, row.iter().skip(1).zip(texts).map(cell).collect())
        };
        let rows = sheet.rows.iter().map(row).collect();
        Self { caption: sheet.caption(), head: sheet.headings(), rows, notes: sheet.notes.clone() }
    }
}

/// A table as text in another format.
pub struct Copy {
    /// The format's name, for the HTML element.
    pub name: &'static str,
    /// `LaTeX`.
    pub title: &'static str,
    pub text: String,
}

/// Returns a table in every format that people paste into papers and issues.
pub fn copies(sheet: &Sheet, formats: &[Format]) -> Vec<Copy> {
    let copy = |format: &Format| match format.table {
        Some(TableForm::Print(write)) => Some(Copy { name: format.name, title: format.title, text: write(sheet) }),
        _ => None,
    };
    formats.iter().filter_map(copy).collect()
}

/// A figure with its variants and the table behind it.
pub struct Picture {
    pub name: &'static str,
    pub title: &'static str,
    pub about: String,
    /// The name of each variant (empty if there is only one), its drawing, and its drawing for narrow screens (empty if there is none).
    pub forms: Vec<(String, String, String)>,
    pub table: SheetView,
}

/// The figure that opens the page, with its section or chapter.
pub struct Lead {
    /// `s` for a section, `c` for a chapter.
    pub of: &'static str,
    pub index: usize,
    pub title: String,
    pub legend: Vec<LegendEntry>,
    pub picture: Picture,
}

impl Picture {
    /// Draws a figure of a section with at most `forms` variants.
    pub fn of(section: &Section, figure: &Chart, forms: usize) -> Self {
        let (about, table) = (figure.caption(section), (figure.table)(section));
        let drawings = (figure.draw)(section);
        let shown = drawings.get(..forms).unwrap_or(&drawings);
        let mut picture = Self::new(figure.name, figure.title, about, shown, &table);
        // Folded figures have no second drawing for narrow screens.
        if forms > 1 {
            picture.narrow(figure, section);
        }
        picture
    }

    /// Draws its variants for narrow screens as well.
    pub fn narrow(&mut self, figure: &Chart, section: &Section) {
        for (form, drawing) in self.forms.iter_mut().zip(figures::narrow(figure, section)) {
            form.2 = drawing.inline();
        }
    }

    /// Draws a figure of a chapter.
    pub fn over(chapter: &Chapter, figure: &Overview) -> Self {
        let (about, table) = (figure.caption(chapter), (figure.table)(chapter));
        Self::new(figure.name, figure.title, about, &(figure.draw)(chapter), &table)
    }

    /// Returns the effects in the printed numbers of a study.
    pub fn printed(effects: &PrintedEffects) -> Self {
        let about = effects.about.clone();
        Self::new("effects", "Effects of the factors", about, std::slice::from_ref(&effects.drawing), &effects.table)
    }

    /// Returns the stages of events, of all configurations that have events.
    pub fn stages(all: &[&Chains]) -> Option<Self> {
        let drawing = stages::draw(all)?;
        Some(Self::new("stages", stages::TITLE, stages::ABOUT.into(), &[drawing], &stages::table(all)))
    }

    fn new(name: &'static str, title: &'static str, about: String, drawings: &[Drawing], table: &Sheet) -> Self {
        let form = |d: &Drawing| (d.variant.clone().unwrap_or_default(), d.inline(), String::new());
        let forms = drawings.iter().map(form).collect();
        Self { name, title, about, forms, table: SheetView::of(table) }
    }
}

// Parts that a page writes in several places. Each of them is compiled once; a macro of the template would be compiled once per place.

/// A table.
#[derive(Template)]
#[template(path = "parts.html", block = "plain")]
pub struct Plain<'a> {
    t: &'a SheetView,
    class: &'a str,
}

/// A table below its title, folded, with its notes.
#[derive(Template)]
#[template(path = "parts.html", block = "noted")]
pub struct Noted<'a> {
    t: &'a SheetView,
    title: &'a str,
}

/// The table behind a figure, folded.
#[derive(Template)]
#[template(path = "parts.html", block = "table")]
pub struct Folded<'a> {
    t: &'a SheetView,
}

/// The legend of figures.
#[derive(Template)]
#[template(path = "parts.html", block = "legend")]
pub struct Keys<'a> {
    entries: &'a [LegendEntry],
}

/// A figure with its variants.
#[derive(Template)]
#[template(path = "parts.html", block = "figure")]
pub struct Figure<'a> {
    f: &'a Picture,
    of: &'a str,
    index: usize,
    whose: &'a str,
}

/// Everything that a page shows about one quantity.
#[derive(Template)]
#[template(path = "parts.html", block = "quantity")]
pub struct Quantity<'a> {
    s: &'a SectionView,
}

impl SheetView {
    /// Returns the table with this CSS class.
    pub fn plain<'a>(&'a self, class: &'a str) -> Plain<'a> {
        Plain { t: self, class }
    }

    /// Returns the table, folded below a title.
    pub fn noted<'a>(&'a self, title: &'a str) -> Noted<'a> {
        Noted { t: self, title }
    }

    /// Returns the table, folded below the word `Table`.
    pub fn folded(&self) -> Folded<'_> {
        Folded { t: self }
    }
}

impl Picture {
    /// Returns the figure. Its HTML element is named after its section or chapter (a letter and a number) and the figure's name.
    pub fn figure<'a>(&'a self, of: &'a str, index: usize, whose: &'a str) -> Figure<'a> {
        Figure { f: self, of, index, whose }
    }
}

impl SectionView {
    /// Returns its figures and tables.
    pub fn quantity(&self) -> Quantity<'_> {
        Quantity { s: self }
    }
}

/// Returns the legend of these series.
pub fn keys(entries: &[LegendEntry]) -> Keys<'_> {
    Keys { entries }
}

/// An entry of the legend, which also switches its series.
#[derive(Clone)]
pub struct LegendEntry {
    pub slot: usize,
    pub name: String,
}

/// Returns the legend of the series that figures show.
pub fn legend(section: &Section) -> Vec<LegendEntry> {
    let entry = |(slot, series): (usize, &Curve)| LegendEntry { slot, name: series.name.clone() };
    section.shown().iter().enumerate().map(entry).collect()
}

/// Returns how long each cell was measured, whatever the plan was: `187 ms each`, `9.21 s to 10.4 s each`.
fn measured(section: &Section) -> Option<String> {
    let cells = || section.series.iter().flat_map(|series| &series.configuration.repeats);
    let spans = || cells().map(|repeat| repeat.elapsed_ns).filter(|ns| *ns > 0);
    let (least, most) = (words::lasted(spans().min()?), words::lasted(spans().max()?));
    Some(if least == most { format!("{most} each") } else { format!("{least} to {most} each") })
}

/// Returns the conditions on which all configurations agree, and the measured time.
pub fn about(section: &Section) -> String {
    let agreed = |what: &dyn Fn(&Configuration) -> Option<String>| {
        let mut values = section.series.iter().map(|s| what(s.configuration));
        let first = values.next()??;
        values.all(|v| v.as_ref() == Some(&first)).then_some(first)
    };
    [
        agreed(&|c| Some(format!("period {}", c.measurand.period?))),
        agreed(&|c| Some(c.cell.scheduling.to_string())),
        agreed(&|c| Some(format!("CPUs {}", c.cell.conditions.cpus.as_ref()?))),
        measured(section),
    ]
    .into_iter()
    .flatten()
    .collect::<Vec<_>>()
    .join(" · ")
}

#[cfg(test)]
mod tests {
    use crate::{sample, tree::sections};
    use latido_model::units::Ns;

    /// If a probe of a plan of 600 ms ends early because it has its samples, the report shows the measured time.
    #[test]
    fn what_was_measured_is_said_and_not_what_was_planned() {
        let mut all = vec![sample::of("idle", &[1_000], None), sample::of("busy", &[1_000], None)];
        let mut about = |elapsed: [u64; 2]| {
            for (one, elapsed) in all.iter_mut().zip(elapsed) {
                one.cell.conditions.duration = Ns::from_millis(600);
                one.repeats[0].elapsed_ns = elapsed;
            }
            super::about(&sections(&all)[0]).replace('\u{a0}', " ")
        };
        assert!(about([187_000_000; 2]).ends_with(" · 187 ms each"));
        assert!(about([187_000_000, 1_920_000_000]).ends_with(" · 187 ms to 1.92 s each"));
        assert!(about([13_000_200_000, 13_000_900_000]).ends_with(" · 13 s each"));
        assert!(!about([0; 2]).contains("each"), "nothing was measured");
    }
}
