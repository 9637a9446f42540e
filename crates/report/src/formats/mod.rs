//! The formats of a report: one file each and one line in [`FORMATS`].

mod csv;
mod data;
pub mod files;
pub mod json;
pub(crate) mod latex;
pub(crate) mod markdown;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod org;

use crate::{
    html,
    input::ReportInput,
    tables::{self, NamedTable},
    terminal::{self, Style},
    tree::{Datum, Format, Report, Sheet, TableForm},
    unique::Names,
};
use anyhow::{Result, bail};
use latido_model::clean;
use std::path::Path;

/// Every format of a report.
pub const FORMATS: &[Format] = &[HTML, TEXT, latex::FORMAT, markdown::FORMAT, csv::FORMAT, data::FORMAT];

/// The page: the only format with figures.
const HTML: Format = Format {
    name: "html",
    title: "HTML",
    ending: "html",
    about: "the whole report with its figures, as one self-contained page",
    report: html::render,
    table: None,
};

/// The output of a terminal, without colours.
const TEXT: Format = Format {
    name: "text",
    title: "text",
    ending: "txt",
    about: "tables, expectations and verdict as in a terminal of 100 columns",
    report: |report| Ok(terminal::report(report, Style { width: 100, color: false })),
    table: None,
};

/// The error for `--float` with another format.
pub const ONLY_LATEX_FLOATS: &str = "--float applies only to LaTeX tables: write --format latex, or remove --float";

/// Usual file endings of pages.
const PAGES: [&str; 3] = ["html", "htm", "xhtml"];

/// Returns the format of a report: the requested one, else the one that the file's ending implies, else the page.
///
/// # Errors
/// No format was requested and no format of a report has this ending, or the name is a number. The message says what to write instead.
pub fn of_file<'a>(file: Option<&Path>, asked: Option<&'a str>) -> Result<&'a str, String> {
    let ending = file.and_then(Path::extension).map(|ending| ending.to_string_lossy().to_lowercase());
    let by_ending = |ending: &str| {
        let page = PAGES.contains(&ending).then_some(&HTML);
        page.or_else(|| FORMATS.iter().find(|format| format.ending == ending))
    };
    if let Some(number) = file.and_then(Path::to_str).filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())) {
        return Err(format!(
            "-o {number}: give a file name, such as report.html, or ./{number} for a file of that name. \
             `latido help cyclictest` has the counterpart of cyclictest's -o"
        ));
    }
    let (Some(ending), Some(file)) = (ending, file) else { return Ok(asked.unwrap_or(HTML.name)) };
    match (by_ending(&ending), asked) {
        (_, Some(asked)) => Ok(asked),
        (Some(format), None) => Ok(format.name),
        (None, None) => {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.ending).collect();
            let figures = ["svg", "pdf", "png", "eps", "ps"].contains(&ending.as_str());
            let more = if figures {
                "; `latido figure NAME RUN -o FILE` writes one figure, `latido report RUN --figures DIR` each as SVG"
            } else {
                ""
            };
            Err(format!(
                "-o {}: no format of a report ends in `{ending}`: there are {}; `latido report RUN --format NAME` writes one into any file{more}",
                file.display(),
                known.join(", ")
            ))
        }
    }
}

/// The number of bytes at the start of a page that must include its title.
pub const TITLE_WITHIN: u64 = 1024;

/// Returns whether a file that starts with these bytes is a page of latido.
pub fn is_page(beginning: &[u8]) -> bool {
    let title = "<title>latido · ".as_bytes();
    beginning.starts_with(b"<!doctype html>") && beginning.windows(title.len()).any(|window| window == title)
}

/// Writes the tables of a report that the user names: one table by its name, or the tables of all sections by their kind. With `float`,
/// LaTeX tables have a caption and a label.
///
/// # Errors
/// The format has no single tables or no floating ones, no table has one of the names (the message lists the tables), or writing fails.
pub fn single_tables(format: &str, input: &ReportInput, wanted: &[String], float: bool) -> Result<String> {
    let writes = |format: &&Format| format.table.is_some();
    let Some(format) = FORMATS.iter().filter(writes).find(|one| one.name == format) else {
        let able: Vec<&str> = FORMATS.iter().filter(writes).map(|format| format.name).collect();
        bail!("--table: the format `{format}` has no single tables: write --format with one of {}", able.join(", "));
    };
    let report = Report::new(input, FORMATS);
    let all = named(&report);
    let mut texts: Vec<String> = Vec::new();
    for name in wanted {
        let mut found: Vec<&(String, NamedTable)> = all.iter().filter(|(own, _)| own == name).collect();
        if found.is_empty() {
            found = all.iter().filter(|(_, table)| table.kind == *name).collect();
        }
        if found.is_empty() {
            let known: Vec<&str> = all.iter().map(|(own, _)| own.as_str()).collect();
            bail!("--table {name}: this run has no table of that name: it has {}", known.join(", "));
        }
        for (name, table) in found {
            texts.push(single(format, &table.sheet, name, float)?);
        }
    }
    Ok(clean::text(&texts.join("\n")).into_owned())
}

/// Returns all tables of a report with their names, in LaTeX, each with a caption and a label.
///
/// # Errors
/// A table cannot be written.
pub fn floats(input: &ReportInput) -> Result<Vec<(String, String)>> {
    let text = |(name, table): (String, NamedTable)| {
        let text = single(&latex::FORMAT, &table.sheet, &name, true)?;
        Ok((name, clean::text(&text).into_owned()))
    };
    named(&Report::new(input, FORMATS)).into_iter().map(text).collect()
}

/// Returns the tables of a report with the names by which users request them, such as `wakeup.latency-quantiles`; each name is unique.
fn named(report: &Report) -> Vec<(String, NamedTable)> {
    let mut names = Names::default();
    let named = |table: NamedTable| {
        let parts = [table.stem.as_str(), &table.kind].into_iter().filter(|part| !part.is_empty());
        let first = files::file_name(&parts.collect::<Vec<_>>().join("-"), files::STEM);
        (names.unique(first), table)
    };
    tables::all(report).into_iter().map(named).collect()
}

/// Writes one table in the format of this name.
///
/// # Errors
/// The format has no single tables or no floating ones, or writing fails.
pub fn of_sheet(format: &str, sheet: &Sheet, name: &str, float: bool) -> Result<String> {
    match FORMATS.iter().find(|one| one.name == format) {
        Some(format) => Ok(clean::text(&single(format, sheet, name, float)?).into_owned()),
        None => bail!("no format `{format}`"),
    }
}

fn single(format: &Format, sheet: &Sheet, name: &str, float: bool) -> Result<String> {
    match format.table {
        Some(TableForm::Print(_)) if float && format.name == latex::FORMAT.name => Ok(latex::float(sheet, name)),
        _ if float => bail!(ONLY_LATEX_FLOATS),
        Some(TableForm::Print(write)) => Ok(write(sheet)),
        Some(TableForm::Data(write)) => write(&with_units(sheet)),
        None => bail!("the format `{}` has no single tables", format.name),
    }
}

/// Adds the stored unit to the head of each column of values, because nothing else in a data file states it.
fn with_units(sheet: &Sheet) -> Sheet {
    let mut sheet = sheet.clone();
    for (at, head) in sheet.head.iter_mut().enumerate() {
        let unit = sheet.units.as_ref().and_then(|units| units.of(at));
        let values = |row: &Vec<Datum>| matches!(row.get(at), Some(Datum::Value(_) | Datum::Between(..)));
        if let Some(unit) = unit.filter(|_| sheet.rows.iter().any(values)) {
            head.name = format!("{} ({})", head.name, unit.base());
        }
    }
    sheet
}

/// Writes a report in the format of this name.
///
/// # Errors
/// No format has this name, or writing fails.
pub fn render(format: &str, input: &ReportInput) -> Result<String> {
    match Report::new(input, FORMATS).in_format(format)? {
        Some(text) => Ok(text),
        None => {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            bail!("no format `{format}`: there are {}", known.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, SampleRun, calls};

    #[test]
    fn the_worked_example_is_a_format() {
        let all = sample::configurations(2);
        let text =
            Report::new(&SampleRun::of(&all).input(&all), &[org::FORMAT]).in_format("org-mode").unwrap().unwrap();
        assert!(text.starts_with("#+CAPTION: ") && text.contains("\n|-\n| "), "{text}");
    }

    /// Whatever was measured, every format has some output. Every name and ending is unique.
    #[test]
    fn every_format_renders_every_report() {
        for all in [sample::configurations(2), calls::mutex(&["idle", "busy"]), vec![sample::empty("idle")], Vec::new()]
        {
            let judged = SampleRun::of(&all);
            for format in FORMATS {
                let text = render(format.name, &judged.input(&all)).unwrap();
                let begins = text.as_bytes().get(..TITLE_WITHIN as usize).unwrap_or(text.as_bytes());
                assert_eq!(is_page(begins), format.name == "html", "{}", format.name);
                assert!(all.is_empty() || !text.trim().is_empty(), "{}", format.name);
                assert!(text.ends_with('\n') || format.name == "json" || all.is_empty(), "{}", format.name);
                assert!(!format.about.is_empty() && !text.contains("NaN"));
            }
        }
        let mut names: Vec<&str> = FORMATS.iter().flat_map(|format| [format.name, format.ending]).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), 2 * FORMATS.len() - 3, "html, csv and json end as they are named");
        let all = sample::configurations(1);
        let error = render("pdf", &SampleRun::of(&all).input(&all)).unwrap_err().to_string();
        assert!(error.contains("html, text, latex, markdown, csv, json"), "{error}");
    }

    /// The ending of a file decides its format, or latido refuses the file: unless the user requests it, latido writes no page into a file
    /// with another ending.
    #[test]
    fn the_ending_of_a_file_decides_its_format() {
        let of = |file: &str, asked: Option<&'static str>| of_file(Some(Path::new(file)), asked);
        for (file, format) in [
            ("table.tex", "latex"),
            ("a/b.MD", "markdown"),
            ("report.html", "html"),
            ("report.htm", "html"),
            ("night.csv", "csv"),
            ("night.txt", "text"),
            ("report", "html"),
            ("./10", "html"),
            ("-", "html"),
        ] {
            assert_eq!(of(file, None), Ok(format), "{file}");
        }
        assert_eq!(of_file(None, None), Ok("html"));
        assert_eq!(of_file(None, Some("latex")), Ok("latex"));
        assert_eq!(of("table.tex", Some("latex")), Ok("latex"));
        assert_eq!(of("table.inc", Some("latex")), Ok("latex"), "what was asked for is written into any file");
        assert_eq!(of("table.html", Some("csv")), Ok("csv"));
        for (file, why) in [
            ("fig.svg", "no format of a report ends in `svg`"),
            ("fig.pdf", "`latido figure NAME RUN -o FILE` writes one figure"),
            ("page.doc", "there are html, txt, tex, md, csv, json"),
            ("10", "./10 for a file of that name"),
        ] {
            let error = of(file, None).unwrap_err();
            assert!(error.starts_with(&format!("-o {file}: ")) && error.contains(why), "{file}: {error}");
        }
    }

    /// A requested table has its unit, its caption and its label; other tables are left out.
    #[test]
    fn tables_are_had_one_by_one() {
        let all = sample::configurations(2);
        let judged = SampleRun::of(&all);
        let input = judged.input(&all);
        let table = |format: &str, name: &str, float| single_tables(format, &input, &[name.to_owned()], float);
        let float = table("latex", "wakeup.latency-quantiles", true).unwrap();
        for words in [
            "\\begin{table}",
            "\\caption{Wake-up latency, quantiles",
            "\\label{tab:wakeup.latency-quantiles}",
            "(\\textmu{}s)",
            "n too small: the number of samples",
        ] {
            assert!(float.contains(words), "{words}: {float}");
        }
        assert!(!float.contains("once a day"), "{float}");
        assert!(!table("latex", "summary", false).unwrap().contains("\\begin{table}"));
        assert!(table("csv", "summary", false).unwrap().starts_with("configuration,"));
        let head = table("csv", "summary", false).unwrap().lines().next().unwrap_or_default().to_owned();
        assert!(head.contains(",min (ns),") && head.contains(",max (ns)"), "{head}");
        let wrong = table("latex", "sumary", false).unwrap_err().to_string();
        assert!(wrong.contains("it has wakeup.latency-summary, wakeup.latency-quantiles"), "{wrong}");
        assert!(table("html", "summary", false).unwrap_err().to_string().contains("latex, markdown, csv"));
        assert!(table("csv", "summary", true).unwrap_err().to_string().contains("--format latex"));
    }
}
