//! `latido help exit-status`: the table of [`Exit`] within the text of the topic.

use latido_model::exit::Exit;

/// The topic's text; the table and the order come from [`Exit`].
pub(super) const TEXT: &str = include_str!("exit-status.txt");

/// The most characters of a sentence on one line.
const WIDTH: usize = 80;

/// Fills the statuses into a topic's text, where it has placeholders for them.
pub(super) fn filled(text: &str) -> String {
    text.replace("{statuses}", &table()).replace("{precedence}", &precedence())
}

/// Writes a line or two for each status.
fn table() -> String {
    let line = |exit: Exit| format!("  {:<5}{}\n", exit.code(), wrapped(exit.sentence()).join("\n       "));
    Exit::ALL.map(line).concat()
}

/// Writes the numbers in the order in which they take precedence.
fn precedence() -> String {
    Exit::PRECEDENCE.map(|exit| exit.code().to_string()).join(", ")
}

fn wrapped(sentence: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in sentence.split(' ') {
        match lines.last_mut().filter(|line| line.chars().count() + 1 + word.chars().count() <= WIDTH) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.into()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::CommandFactory;
    use std::{fs, path::Path};

    fn document(name: &str) -> String {
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)).unwrap()
    }

    /// Returns the status of each line of a table of statuses, with the cells after it.
    fn rows(text: &str, heading: &str) -> Vec<(u8, String)> {
        let (_, table) = text.split_once(heading).unwrap_or_else(|| panic!("no table {heading}"));
        let lines = table.lines().skip(2).take_while(|line| line.starts_with("| "));
        let row = |line: &str| {
            let (code, rest) = line.strip_prefix("| ")?.split_once(" | ")?;
            Some((code.parse().ok()?, rest.to_owned()))
        };
        lines.map(|line| row(line).unwrap_or_else(|| panic!("no row of a status: {line}"))).collect()
    }

    #[test]
    fn the_page_of_questions_has_each_sentence() {
        let found = rows(&document("docs/questions.md"), "| exit status |");
        assert_eq!(found.len(), Exit::ALL.len());
        for (exit, (code, row)) in Exit::ALL.into_iter().zip(found) {
            assert!(code == exit.code() && row.starts_with(exit.sentence()), "{code}: {row}");
        }
    }

    #[test]
    fn the_documents_name_all_and_no_other() {
        let all = Exit::ALL.map(Exit::code);
        for (name, heading) in [("docs/ci.md", "| status | what"), ("docs/trust.md", "| exit | when")] {
            let mut codes: Vec<u8> = rows(&document(name), heading).into_iter().map(|(code, _)| code).collect();
            codes.sort_unstable();
            assert_eq!(codes, all, "{name}");
        }
        let order = format!("The first in this order wins: {}.", precedence());
        assert!(document("docs/trust.md").contains(&order), "docs/trust.md has no {order}");
    }

    /// Collects the "Exit status" paragraphs of a command and of all commands below it, each with the command's name.
    fn told(command: &clap::Command, into: &mut Vec<(String, String)>) {
        let notes = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        if let Some((_, paragraph)) = notes.split_once("Exit status: ") {
            into.push((command.get_name().into(), paragraph.split("\n\n").next().unwrap_or_default().into()));
        }
        command.get_subcommands().for_each(|command| told(command, into));
    }

    /// A command that runs no plan gives its statuses their own meaning. An error, wrong usage and Ctrl-C have the same status everywhere.
    #[test]
    fn commands_promise_no_other_status() {
        let mut all = Vec::new();
        told(&Cli::command(), &mut all);
        assert!(all.len() > 8, "{all:?}");
        for (name, paragraph) in &all {
            let clauses = paragraph.split([',', ';', '.', ':']).map(str::trim);
            for clause in clauses.filter(|clause| clause.starts_with(|first: char| first.is_ascii_digit())) {
                let (code, words) = clause.split_once(' ').unwrap_or((clause, ""));
                let exit = code.parse().ok().and_then(Exit::of);
                assert!(exit.is_some(), "latido {name}: {clause}");
                if exit == Some(Exit::Usage) {
                    assert_eq!(words, Exit::Usage.brief(), "latido {name}");
                }
            }
        }
    }

    #[test]
    fn the_manual_page_of_a_run_has_each_in_brief() {
        let line = Exit::ALL.map(|exit| format!("{} {}", exit.code(), exit.brief())).join(", ");
        let command = Cli::command().find_subcommand("run").unwrap().clone();
        let mut page = Vec::new();
        clap_mangen::Man::new(command).render(&mut page).unwrap();
        let page = String::from_utf8(page).unwrap();
        assert!(page.contains(&format!("Exit status: {line}.")), "{page}");
    }
}
