//! `latido man`: the manual pages, made from the command line's own definition.

use super::{Cli, help};
use crate::{durable, output::write_out};
use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_mangen::{
    Man,
    roff::{Roff, bold, italic, roman},
};
use latido_model::exit::Exit;
use std::{io::Write, path::PathBuf};

/// Print the manual page, or write all pages into a directory.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// The directory of all pages; without it, print the first page
    pub dir: Option<PathBuf>,
}

/// Carries out `latido man`.
///
/// # Errors
/// A page cannot be written.
pub fn run(args: Args) -> Result<u8> {
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    let Some(dir) = args.dir else {
        return write_out(&String::from_utf8_lossy(&page(&root)?));
    };
    let cannot = || format!("cannot write the manual pages to {}", dir.display());
    let mut open = vec![root];
    durable::make_named_dirs(&dir)?;
    while let Some(command) = open.pop() {
        open.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
        let name = Man::new(command.clone()).get_filename();
        durable::replace(&dir.join(name), &page(&command)?).with_context(cannot)?;
    }
    Ok(Exit::Done.code())
}

/// Writes a page with the sections of man-pages(7).
fn page(command: &Command) -> Result<Vec<u8>> {
    let after = command.get_after_long_help().or(command.get_after_help()).map(ToString::to_string).unwrap_or_default();
    let parts = Parts::of(&after);
    let man = Man::new(command.clone());
    let mut out = Vec::new();
    man.render_title(&mut out)?;
    man.render_name_section(&mut out)?;
    man.render_synopsis_section(&mut out)?;
    man.render_description_section(&mut out)?;
    let mut notes = Roff::default();
    for paragraph in &parts.notes {
        notes.control("PP", []).text([roman(paragraph)]);
    }
    notes.to_writer(&mut out)?;
    man.render_options_section(&mut out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut out)?;
    }
    let mut rest = Roff::default();
    if !parts.examples.is_empty() {
        rest.control("SH", ["EXAMPLES"]).control("nf", []);
        parts.examples.iter().for_each(|line| _ = rest.text([roman(line)]));
        rest.control("fi", []);
    }
    for (title, heading) in [("FILES", "Files:"), ("ENVIRONMENT", "Environment:")] {
        rest.control("SH", [title]);
        for (name, text) in help::entries(help::FILES, heading) {
            rest.control("TP", []).text([bold(name)]).text([roman(text)]);
        }
    }
    rest.control("SH", ["EXIT STATUS"]);
    for exit in Exit::ALL {
        rest.control("TP", []).text([bold(exit.code().to_string())]).text([roman(exit.sentence())]);
    }
    rest.control("SH", ["SEE ALSO"]).text([
        italic(see_also(command)),
        roman(", and "),
        bold("latido help"),
        roman(" TOPIC"),
    ]);
    rest.to_writer(&mut out)?;
    out.flush()?;
    Ok(out)
}

fn see_also(command: &Command) -> String {
    let own = command.get_display_name().unwrap_or(command.get_name());
    let root = (own != "latido").then(|| "latido(1)".to_owned());
    let below = command.get_subcommands().filter(|one| !one.is_hide_set());
    let below = below.map(|one| format!("{own}-{}(1)", one.get_name()));
    let others = ["cyclictest(8)", "stress-ng(1)", "trace-cmd(1)", "sched(7)"].map(String::from);
    root.into_iter().chain(below).chain(others).collect::<Vec<_>>().join(", ")
}

/// The text after the options of a command: paragraphs, then examples. The page has its own table of exit statuses.
#[derive(Debug, Default, PartialEq)]
struct Parts {
    notes: Vec<String>,
    examples: Vec<String>,
}

impl Parts {
    fn of(text: &str) -> Self {
        let mut parts = Self::default();
        let mut in_examples = false;
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match line {
                "Examples:" => in_examples = true,
                _ if in_examples && line.starts_with(' ') => parts.examples.push(line.trim_start().to_owned()),
                _ => {
                    let goes_on = !in_examples && !line.starts_with(' ');
                    in_examples = false;
                    match parts.notes.last_mut().filter(|_| goes_on) {
                        Some(last) => {
                            last.push(' ');
                            last.push_str(line);
                        }
                        None => parts.notes.push(line.trim().to_owned()),
                    }
                }
            }
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_the_sections_that_people_look_for() {
        let mut root = Cli::command();
        root.build();
        for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
            let text = String::from_utf8(page(command).unwrap()).unwrap();
            for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "FILES", "ENVIRONMENT"] {
                assert!(text.contains(&format!("\n.SH {section}\n")), "{}: {section}", command.get_name());
            }
            let quoted = [".SH \"EXIT STATUS\"", ".SH \"SEE ALSO\""];
            assert!(quoted.iter().all(|section| text.contains(section)), "{}", command.get_name());
        }
        let run = String::from_utf8(page(root.find_subcommand("run").unwrap()).unwrap()).unwrap();
        assert!(run.contains(".SH EXAMPLES\n.nf\nlatido run"), "{run}");
    }

    #[test]
    fn examples_stay_lines_and_notes_become_paragraphs() {
        let parts = Parts::of("One\ntwo.\n\nExamples:\n  latido a   does a\n\nMore.");
        assert_eq!(parts.notes, ["One two.", "More."]);
        assert_eq!(parts.examples, ["latido a   does a"]);
    }
}
