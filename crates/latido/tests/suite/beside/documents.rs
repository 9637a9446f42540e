//! Every command line in the fenced blocks of docs: latido reads its words, and plans what `run` would measure. `readme.rs` runs those
//! of the README.

use crate::common::{World, stderr};
use clap::Parser;
use latido::cli::Cli;
use std::{fs, path::PathBuf};

/// Files and words that stand for the reader's own files.
const ONES_OWN: [&str; 4] = ["ramp.toml", "nightly.toml", "mine.toml", "path/to/vmlinuz"];

/// The pages of docs and of its folders.
fn pages() -> impl Iterator<Item = PathBuf> {
    let entries = |dir: PathBuf| fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let docs = entries(top().join("docs"));
    let all = docs.flat_map(move |path| if path.is_dir() { entries(path).collect() } else { vec![path] });
    all.filter(|path| path.extension().is_some_and(|ending| ending == "md"))
}

/// The command lines of latido in the fenced blocks, without prompt and sudo.
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

/// The words with which the command line can be planned here; `None` if it needs a file of the reader.
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
        let text = fs::read_to_string(&page).unwrap();
        let left = text.lines().find(|line| line.starts_with("<<<<<<<") || line.starts_with(">>>>>>>"));
        assert_eq!(left, None, "{} has the mark of a merge", page.display());
        for line in commands(&text) {
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

/// The page about the structure, ARCHITECTURE.md.
fn architecture() -> String {
    fs::read_to_string(top().join("ARCHITECTURE.md")).unwrap()
}

fn top() -> PathBuf {
    concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into()
}

/// The place of a path of that page: at the top, or below `crates`.
fn place(path: &str) -> Option<PathBuf> {
    [top().join(path), top().join("crates").join(path)].into_iter().find(|place| place.exists())
}

/// The words between backticks on a line that are paths.
fn paths(line: &str) -> Vec<&str> {
    let is_path = |word: &&str| word.contains('/') && !word.contains(['<', ' ']);
    line.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn what_the_page_of_the_structure_names_is_there() {
    let text = architecture();
    let (mut named, mut lists) = (0, 0);
    for line in text.lines() {
        for path in paths(line) {
            assert!(place(path).is_some(), "ARCHITECTURE.md: there is no {path}");
            named += 1;
        }
        // A row of lists: `NAME` in `file`.
        let Some((_, list)) = line.rsplit_once("| `").filter(|_| line.contains("` in `")) else { continue };
        let (name, path) = list.split_once("` in `").unwrap();
        let file = fs::read_to_string(place(path.split('`').next().unwrap()).unwrap()).unwrap();
        let declared = ["const", "static"].iter().any(|word| file.contains(&format!("{word} {name}: ")));
        assert!(declared, "ARCHITECTURE.md: {path} has no list {name}");
        lists += 1;
    }
    assert!(named > 50 && lists > 8, "{named} paths, {lists} lists");
}

/// The arrows between the crates agree with the dependencies in the manifests.
#[test]
fn the_layers_of_the_page_are_those_of_the_manifests() {
    let text = architecture();
    let block = text.split("```layers\n").nth(1).unwrap().split("```").next().unwrap();
    let drawn: Vec<(String, Vec<String>)> = block
        .lines()
        .map(|line| {
            let (from, to) = line.split_once("->").unwrap();
            (from.trim().to_owned(), to.split_whitespace().map(str::to_owned).collect())
        })
        .collect();
    let found = |name: &str| -> Vec<String> {
        let manifest = fs::read_to_string(top().join("crates").join(name).join("Cargo.toml")).unwrap();
        let manifest: toml::Table = manifest.parse().unwrap();
        let all = manifest.get("dependencies").and_then(|all| all.as_table()).into_iter().flat_map(|all| all.keys());
        all.filter_map(|key| key.strip_prefix("latido-")).map(str::to_owned).collect()
    };
    for (name, drawn) in &drawn {
        let (mut drawn, mut found) = (drawn.clone(), found(name));
        drawn.sort();
        found.sort();
        assert_eq!(drawn, found, "what {name} uses");
    }
    assert_eq!(drawn.len(), fs::read_dir(top().join("crates")).unwrap().count());
}
