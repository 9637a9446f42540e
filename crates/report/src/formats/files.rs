//! Every figure and table of a report as a separate file, with the data behind it: names and texts.

use super::FORMATS;
use crate::{
    figures::{self, FIGURES, OVERVIEWS, standalone, svg::Drawing},
    input::ReportInput,
    tables::{self, characterisation::characterisation},
    tree::{Format, Report, Sheet, TableForm, declared::Lookup},
};
use anyhow::Result;
use latido_model::clean;

/// The most bytes in a file name that come from a plan or a record: together with the figure's name, its variant and the ending, the name
/// stays within the 255 bytes of file systems.
pub const STEM: usize = 128;
/// The most bytes for the name of a variant.
const FORM: usize = 64;

/// File names and texts; no name occurs twice.
#[derive(Default)]
struct Files(Vec<(String, String)>);

/// A figure of a report with everything that its files need.
#[derive(Debug)]
pub struct Pictured {
    /// Its name without that of its variant: `wakeup.latency-histogram`.
    pub stem: String,
    /// Its short name for people: `histogram`, `figure-4`.
    pub short: String,
    /// How to read it.
    pub caption: String,
    /// The names of its series, for a legend.
    pub names: Vec<String>,
    /// Its variants.
    pub drawings: Vec<Drawing>,
    /// The data behind it.
    pub table: Sheet,
}

/// A part of a report that is written to separate files.
enum Part {
    /// A table: its name, its form for programs, its form for people.
    Table(String, Sheet, Sheet),
    /// A figure.
    Figure(Pictured),
}

/// Returns every figure of a report, in the order of its files.
pub fn pictured(report: &Report) -> Vec<Pictured> {
    let of = |part| if let Part::Figure(figure) = part { Some(figure) } else { None };
    parts(report).into_iter().filter_map(of).collect()
}

fn parts(report: &Report) -> Vec<Part> {
    let mut parts = declared(report);
    for chapter in report.chapters() {
        let stem = file_name(chapter.probe, STEM);
        parts.extend(
            characterisation(&chapter, report.input)
                .map(|table| Part::Table(format!("{stem}-table"), table.data(), table.sheet())),
        );
        for figure in OVERVIEWS.iter().filter(|figure| (figure.fits)(&chapter)) {
            parts.push(Part::Figure(Pictured {
                stem: format!("{stem}-{}", figure.name),
                short: figure.name.to_owned(),
                caption: figure.caption(&chapter),
                names: chapter.systems.clone(),
                drawings: (figure.draw)(&chapter),
                table: (figure.table)(&chapter),
            }));
        }
    }
    for section in &report.sections {
        let stem = file_name(&section.stem(), STEM);
        for figure in FIGURES.iter().filter(|figure| (figure.fits)(section)) {
            parts.push(Part::Figure(Pictured {
                stem: format!("{stem}-{}", figure.name),
                short: figure.name.to_owned(),
                caption: figure.caption(section),
                names: section.series.iter().map(|series| series.name.clone()).collect(),
                drawings: (figure.draw)(section),
                table: (figure.table)(section),
            }));
        }
    }
    parts
}

/// Returns the tables and figures that the plan declares.
fn declared(report: &Report) -> Vec<Part> {
    let Some(lookup) = Lookup::of(report) else { return Vec::new() };
    let tables = tables::declared::all(lookup).into_iter();
    let tables = tables.map(|table| Part::Table(file_name(&table.stem, STEM), table.data(), table.sheet()));
    let figures = figures::declared::all(lookup).into_iter().map(|figure| {
        let stem = file_name(&figure.stem, STEM);
        Part::Figure(Pictured {
            short: stem.clone(),
            stem,
            caption: figure.about,
            // The drawing includes its legend.
            names: Vec::new(),
            drawings: vec![figure.drawing],
            table: figure.table,
        })
    });
    tables.chain(figures).collect()
}

/// Returns each figure as an SVG file with its data as CSV, and the tables: the name and the text of each file.
///
/// # Errors
/// A table cannot be written in its format.
pub fn all(input: &ReportInput) -> Result<Vec<(String, String)>> {
    let report = Report::new(input, FORMATS);
    let mut files = Files::default();
    for format in FORMATS.iter().filter(|format| is_data(format)) {
        files.put("summary", format.ending, (format.report)(&report)?);
    }
    for part in parts(&report) {
        match part {
            Part::Table(stem, data, sheet) => {
                files.table(&stem, &data, is_data)?;
                files.table(&stem, &sheet, |format| !is_data(format))?;
            }
            Part::Figure(one) => {
                let names: Vec<&str> = one.names.iter().map(String::as_str).collect();
                files.figure(&one.stem, &names, &one.drawings, &one.table)?;
            }
        }
    }
    Ok(files.0)
}

/// Returns pictures of a comparison or a history with their data: the name and the text of each file.
///
/// # Errors
/// A table cannot be written in its format.
pub fn of_figures(figures: Vec<(String, Drawing, Sheet)>) -> Result<Vec<(String, String)>> {
    let mut files = Files::default();
    for (stem, drawing, table) in figures {
        files.figure(&file_name(&stem, STEM), &[], &[drawing], &table)?;
    }
    Ok(files.0)
}

impl Files {
    /// Adds a file. Where labels differ only in characters that file names cannot have (`a b`, `a/b`), a number distinguishes the files.
    fn put(&mut self, stem: &str, ending: &str, text: String) {
        let free = |name: &String| self.0.iter().all(|(taken, _)| taken != name);
        let numbered = (2..).map(|number| format!("{stem}-{number}.{ending}"));
        let name = std::iter::once(format!("{stem}.{ending}")).chain(numbered).find(free);
        self.0.extend(name.map(|name| (name, clean::text(&text).into_owned())));
    }

    /// Adds a table in each wanted format that can write one.
    fn table(&mut self, stem: &str, sheet: &Sheet, wanted: impl Fn(&Format) -> bool) -> Result<()> {
        for format in FORMATS.iter().filter(|format| wanted(format)) {
            let text = match format.table {
                Some(TableForm::Print(write)) => write(sheet),
                Some(TableForm::Data(write)) => write(sheet)?,
                None => continue,
            };
            self.put(stem, format.ending, text);
        }
        Ok(())
    }

    /// Adds the variants of a figure and the data behind it.
    fn figure(&mut self, stem: &str, names: &[&str], drawings: &[Drawing], table: &Sheet) -> Result<()> {
        for drawing in drawings {
            self.put(&format!("{stem}{}", form(drawing)), "svg", standalone(names, drawing));
        }
        self.table(stem, table, is_data)
    }
}

/// Returns whether a format is for programs.
fn is_data(format: &Format) -> bool {
    matches!(format.table, Some(TableForm::Data(_)))
}

/// Returns the end of a file's name that identifies the variant.
pub fn form(drawing: &Drawing) -> String {
    drawing.variant.as_ref().map_or(String::new(), |variant| format!("-{}", file_name(variant, FORM)))
}

/// Makes a file name from a text: only letters, digits, dots and dashes, because the name of a quantity comes from a record and must not
/// leave the directory. A name longer than `most` bytes keeps its start and gets a hash of the whole text.
pub fn file_name(text: &str, most: usize) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    let name = text.chars().map(safe).collect::<String>().trim_start_matches('.').to_owned();
    if name.len() <= most {
        return name;
    }
    let tail = format!("-{:016x}", fnv(text));
    let kept: String = name.chars().take(most - tail.len()).collect();
    kept + &tail
}

/// Returns the 64-bit hash FNV-1a (Fowler, Noll, Vo): it gives the same name in each report.
fn fnv(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, calls};

    #[test]
    fn every_figure_is_written_with_its_data() {
        let mut configuration = sample::of("x", &[1_000, 2_000], None);
        configuration.repeats.extend(sample::of("x", &[1_000, 3_000], None).repeats);
        let repeats = &mut configuration.repeats;
        repeats.iter_mut().for_each(|one| one.quantities[0].pooled.quantity = "../../latency".into());
        configuration.quantities[0].quantity = "../../latency".into();
        let life = Some(latido_model::record::LoadLife::default());
        configuration.repeats[0].loads = vec![latido_model::record::LoadRecord { life, ..Default::default() }];
        let configurations = [configuration];
        let sample = sample::SampleRun::of(&configurations);
        let written = all(&sample.input(&configurations)).unwrap();
        // The figures of effects and CPUs need several factors and several CPUs; other tests cover them.
        let figures = FIGURES.iter().filter(|figure| !["effects", "cpus"].contains(&figure.name)).count();
        assert_eq!(written.len(), 1 + 2 * figures + 1, "a picture and its data each, a second form of the histogram");
        sound_files(&written);
    }

    /// File names contain labels, and no file overwrites another.
    #[test]
    fn tables_and_overviews_are_written_too() {
        let mut configurations = calls::compute(&[2, 4], 50);
        configurations.extend(calls::mutex(&["idle"]));
        let sample = sample::SampleRun::of(&configurations);
        let written = all(&sample.input(&configurations)).unwrap();
        let names: Vec<String> = written.iter().map(|(name, _)| name.clone()).collect();
        let wanted = ["mutex-table.csv", "mutex-table.tex", "mutex-table.md", "mutex-maxima.svg", "mutex-maxima.csv"];
        let ordered = ["compute-instances-elapsed.svg", "compute-moments-cpu.svg", "compute.elapsed-size-2-bands.svg"];
        for name in wanted.iter().chain(&ordered) {
            assert!(names.contains(&(*name).to_owned()), "{name} of {names:?}");
        }
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        sound_files(&written);
    }

    /// Labels and levels may have any length: every name fits the file system, and no file overwrites another.
    #[test]
    fn long_labels_have_names_that_fit() {
        let long = |end: &str| "x".repeat(200) + end;
        let labels = [long("a"), long("b"), "a b".into(), "a/b".into()];
        let mut configurations: Vec<_> = labels.iter().map(|label| sample::of(label, &[1_000, 2_000], None)).collect();
        for (configuration, label) in configurations.iter_mut().zip(&labels) {
            configuration.quantities[0].quantity = label.clone();
        }
        let sample = sample::SampleRun::of(&configurations);
        let written = all(&sample.input(&configurations)).unwrap();
        let names: std::collections::BTreeSet<&String> = written.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), written.len());
        assert!(names.iter().all(|name| name.len() <= 255), "{names:?}");
        assert!(names.iter().filter(|name| name.len() > 100).count() >= 4, "{names:?}");
        sound_files(&written);
        assert_eq!(fnv("foobar"), 0x8594_4171_f739_67e8, "as its authors publish it");
    }

    fn sound_files(written: &[(String, String)]) {
        for (name, text) in written {
            assert!(!name.contains('/') && !name.starts_with('.'), "{name}");
            assert!(match name.ends_with(".svg") {
                true => text.starts_with("<svg xmlns=") && !text.contains("var("),
                false => text.lines().count() >= 2,
            });
        }
    }
}
