//! Every figure and table of a report as a file of its own, with the data behind it.

use super::FORMATS;
use crate::{
    figures::{FIGURES, OVERVIEWS, standalone, svg::Drawing},
    input::ReportInput,
    tables::characterisation::characterisation,
    tree::{Format, Report, Sheet, TableForm},
};
use anyhow::{Context, Result};
use latido_model::clean;
use std::{
    fs,
    path::{Path, PathBuf},
};

/// The directory and what was written into it.
struct Files<'p> {
    dir: &'p Path,
    written: Vec<PathBuf>,
}

/// Writes each figure as an SVG file and its data as CSV into a directory, which is made if need be. Returns the paths.
///
/// # Errors
/// The directory or a file cannot be written.
pub fn write(input: &ReportInput, dir: &Path) -> Result<Vec<PathBuf>> {
    fs::create_dir_all(dir).with_context(|| format!("making the directory {}", dir.display()))?;
    let report = Report::new(input, FORMATS);
    let mut files = Files { dir, written: Vec::new() };
    for format in FORMATS.iter().filter(|format| is_data(format)) {
        files.put(format!("summary.{}", format.ending), (format.report)(&report)?)?;
    }
    for chapter in report.chapters() {
        let stem = file_name(chapter.probe);
        if let Some(table) = characterisation(&chapter, input) {
            files.table(&format!("{stem}-table"), &table.data(), is_data)?;
            files.table(&format!("{stem}-table"), &table.sheet(), |format| !is_data(format))?;
        }
        let names: Vec<&str> = chapter.systems.iter().map(String::as_str).collect();
        for figure in OVERVIEWS.iter().filter(|figure| (figure.fits)(&chapter)) {
            files.figure(
                &format!("{stem}-{}", figure.name),
                &names,
                &(figure.draw)(&chapter),
                &(figure.table)(&chapter),
            )?;
        }
    }
    for section in &report.sections {
        let stem = file_name(&section.stem());
        let names: Vec<&str> = section.series.iter().map(|series| series.name.as_str()).collect();
        for figure in FIGURES.iter().filter(|figure| (figure.fits)(section)) {
            files.figure(
                &format!("{stem}-{}", figure.name),
                &names,
                &(figure.draw)(section),
                &(figure.table)(section),
            )?;
        }
    }
    Ok(files.written)
}

impl Files<'_> {
    fn put(&mut self, name: String, text: String) -> Result<()> {
        let path = self.dir.join(name);
        fs::write(&path, clean::text(&text).as_ref()).with_context(|| format!("writing {}", path.display()))?;
        self.written.push(path);
        Ok(())
    }

    /// A table in each of these formats that can write one.
    fn table(&mut self, stem: &str, sheet: &Sheet, wanted: impl Fn(&Format) -> bool) -> Result<()> {
        for format in FORMATS.iter().filter(|format| wanted(format)) {
            let text = match format.table {
                Some(TableForm::Print(write)) => write(sheet),
                Some(TableForm::Data(write)) => write(sheet)?,
                None => continue,
            };
            self.put(format!("{stem}.{}", format.ending), text)?;
        }
        Ok(())
    }

    /// The forms of a figure and the data behind it.
    fn figure(&mut self, stem: &str, names: &[&str], drawings: &[Drawing], table: &Sheet) -> Result<()> {
        for drawing in drawings {
            self.put(format!("{stem}{}.svg", form(drawing)), standalone(names, drawing))?;
        }
        self.table(stem, table, is_data)
    }
}

/// Whether a format is for programs.
fn is_data(format: &Format) -> bool {
    matches!(format.table, Some(TableForm::Data(_)))
}

/// The end of a file's name that tells the form.
fn form(drawing: &Drawing) -> String {
    drawing.variant.as_ref().map_or(String::new(), |variant| format!("-{}", file_name(variant)))
}

/// Only letters, digits, dots and dashes: a quantity's name comes from a record and must not leave the directory.
fn file_name(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c } else { '-' };
    text.chars().map(safe).collect::<String>().trim_start_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, calls};

    #[test]
    fn every_figure_is_written_with_its_data() {
        let dir = tempfile::tempdir().unwrap();
        let mut configuration = sample::of("x", &[1_000, 2_000], None);
        configuration.quantities[0].quantity = "../../latency".into();
        let life = Some(latido_model::record::LoadLife::default());
        configuration.repeats[0].loads = vec![latido_model::record::LoadRecord { life, ..Default::default() }];
        let configurations = [configuration];
        let sample = sample::SampleRun::of(&configurations);
        let written = write(&sample.input(&configurations), dir.path()).unwrap();
        assert_eq!(
            written.len(),
            1 + 2 * FIGURES.len() + 1,
            "a picture and its data each, a second form of the histogram"
        );
        sound_files(&written, dir.path());
    }

    /// Labels are in the names of files: none is written over another.
    #[test]
    fn tables_and_overviews_are_written_too() {
        let dir = tempfile::tempdir().unwrap();
        let mut configurations = calls::compute(&[2, 4], 50);
        configurations.extend(calls::mutex(&["idle"]));
        let sample = sample::SampleRun::of(&configurations);
        let written = write(&sample.input(&configurations), dir.path()).unwrap();
        let names: Vec<String> = written.iter().map(|p| p.file_name().unwrap().to_str().unwrap().to_owned()).collect();
        let wanted = ["mutex-table.csv", "mutex-table.tex", "mutex-table.md", "mutex-maxima.svg", "mutex-maxima.csv"];
        let ordered = ["compute-instances-elapsed.svg", "compute-moments-cpu.svg", "compute.elapsed-size-2-bands.svg"];
        for name in wanted.iter().chain(&ordered) {
            assert!(names.contains(&(*name).to_owned()), "{name} of {names:?}");
        }
        let different: std::collections::BTreeSet<&String> = names.iter().collect();
        assert_eq!(different.len(), names.len());
        sound_files(&written, dir.path());
    }

    fn sound_files(written: &[PathBuf], dir: &Path) {
        for path in written {
            assert_eq!(path.parent(), Some(dir));
            let text = fs::read_to_string(path).unwrap();
            let svg = path.extension().is_some_and(|e| e == "svg");
            assert!(if svg {
                text.starts_with("<svg xmlns=") && !text.contains("var(")
            } else {
                text.lines().count() >= 2
            });
        }
    }
}
