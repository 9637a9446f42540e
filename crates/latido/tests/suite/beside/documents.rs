//! Every command line in the fenced blocks of docs: latido reads its words, and plans what `run` would measure. `readme.rs` runs those
//! of the README.

use crate::common::{World, stderr};
use clap::Parser;
use latido::cli::Cli;
use std::{fs, path::PathBuf};

/// Files and words that stand for a reader's own.
const ONES_OWN: [&str; 4] = ["ramp.toml", "nightly.toml", "mine.toml", "path/to/vmlinuz"];

/// The pages of docs and of its folders.
fn pages() -> impl Iterator<Item = PathBuf> {
    let entries = |dir: PathBuf| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let docs = entries(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs").into());
    let all = docs.flat_map(move |path| if path.is_dir() { entries(path).collect() } else { vec![path] });
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md"))
}

/// The command lines of latido in the fenced blocks, without prompt, sudo and remarks.
fn commands(text: &str) -> Vec<String> {
    let blocks = text.split("\n```").skip(1).step_by(2);
    let lines = blocks.flat_map(str::lines).map(|line| line.trim_start_matches("$ ").trim_start_matches("sudo "));
    lines.filter(|line| line.starts_with("latido ")).map(str::to_owned).collect()
}

/// The words of a line as a shell reads them, up to a comment or an operator.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars().chain([' ']) {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (None, '#' | '|' | '>' | '&' | ';') if word.is_none() => break,
            (None, ';') => {
                words.extend(word.take());
                break;
            }
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words
}

/// What of a line can be planned here: nothing of a file that a reader has.
fn planned(words: &[String]) -> Option<Vec<String>> {
    let own = |word: &String| ONES_OWN.iter().any(|own| word.contains(own));
    if words.get(1).map(String::as_str) != Some("run") || words.iter().any(own) || words.contains(&"--resume".into()) {
        return None;
    }
    let end = words.iter().position(|word| word == "--").unwrap_or(words.len());
    let (latido, program) = words.split_at(end);
    let mut planned = latido[1..].to_vec();
    planned.retain(|word| word != "--print-plan");
    planned.push("--print-plan".into());
    planned.extend(program.iter().cloned());
    Some(planned)
}

#[test]
fn every_command_of_the_documents_is_read() {
    let world = World::new();
    let (mut read, mut plans) = (0, 0);
    for page in pages() {
        for line in commands(&fs::read_to_string(&page).unwrap()) {
            let words = words(&line);
            if let Err(error) = Cli::try_parse_from(&words)
                && error.use_stderr()
            {
                panic!("{}: `{line}`: {error}", page.display());
            }
            read += 1;
            let Some(planned) = planned(&words) else { continue };
            let output = world.run(planned.iter().map(String::as_str));
            assert_eq!(output.status.code(), Some(0), "{}: `{line}`: {}", page.display(), stderr(&output));
            plans += 1;
        }
    }
    assert!(read > 80 && plans > 25, "{read} lines, {plans} plans");
}

#[test]
fn words_are_those_of_a_shell() {
    let of = |line: &str| words(line).join("|");
    assert_eq!(of("latido run gap --load 'command:dd if=x of=y' # why"), "latido|run|gap|--load|command:dd if=x of=y");
    assert_eq!(of("latido list runs;  latido show last"), "latido|list|runs");
    assert_eq!(of("latido station sink --json > a.json &"), "latido|station|sink|--json");
    assert_eq!(of("latido import a --cpus 2,3"), "latido|import|a|--cpus|2,3");
}
