//! The formats of a report: one file each and one line in [`FORMATS`].

mod csv;
mod data;
pub mod files;
pub mod json;
mod latex;
mod markdown;

use crate::{
    html,
    input::ReportInput,
    terminal::{self, Style},
    tree::{Format, Report},
};
use anyhow::{Result, bail};

/// Every format that a report may be asked for.
pub const FORMATS: &[Format] = &[HTML, TEXT, latex::FORMAT, markdown::FORMAT, csv::FORMAT, data::FORMAT];

/// The page: the only format with figures.
const HTML: Format = Format {
    name: "html",
    title: "HTML",
    ending: "html",
    about: "the whole report with its figures as one page that needs nothing else",
    report: html::render,
    table: None,
};

/// What a terminal shows, without colours.
const TEXT: Format = Format {
    name: "text",
    title: "text",
    ending: "txt",
    about: "tables, expectations and verdict as in a terminal of 100 columns",
    report: |report| Ok(terminal::report(report, Style { width: 100, color: false })),
    table: None,
};

/// How far into a page its title may be: bytes.
pub const TITLE_WITHIN: u64 = 1024;

/// Whether a file that begins so is a page of ours.
pub fn is_page(beginning: &[u8]) -> bool {
    let title = "<title>latido · ".as_bytes();
    beginning.starts_with(b"<!doctype html>") && beginning.windows(title.len()).any(|window| window == title)
}

/// A report in the format of this name.
///
/// # Errors
/// There is none of this name, or it cannot be written.
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

    /// Whatever was measured, every format says something of it, and every name and ending is one's own.
    #[test]
    fn every_format_renders_every_report() {
        for all in [sample::configurations(2), calls::mutex(&["idle", "busy"]), vec![sample::empty("idle")], Vec::new()]
        {
            let judged = SampleRun::of(&all);
            for format in FORMATS {
                let text = render(format.name, &judged.input(&all)).unwrap();
                let begins = text.as_bytes().get(..TITLE_WITHIN as usize).unwrap_or(text.as_bytes());
                assert_eq!(is_page(begins), format.name == "html", "{}", format.name);
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
}
