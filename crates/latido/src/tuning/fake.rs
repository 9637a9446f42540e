//! What a kernel does by itself and a fake machine's plain files do not: print what was written in the usual form.

use super::step::Form;
use crate::machine::Root;
use std::{
    fs,
    io::{self, Read},
};

/// What the file says after a value was written to it, judged by what it says now.
pub fn printed(root: &Root, path: &str, value: &str, form: Form) -> String {
    let mut old = String::new();
    // Some files have no end (/dev/full, which tests write to).
    let read = root.open(path).and_then(|file| file.take(4096).read_to_string(&mut old));
    if read.is_err() || old.trim_matches('\0').is_empty() {
        return value.into();
    }
    let (body, end) = match old.strip_suffix('\n') {
        Some(body) => (body, "\n"),
        None => (old.as_str(), ""),
    };
    let new = match form {
        Form::Choice => choice(body, value),
        Form::Mask => mask(body, value),
        Form::L3 => body.lines().map(|line| l3(line, value)).collect::<Vec<_>>().join("\n"),
        Form::Plain | Form::Cpus => value.into(),
    };
    new + end
}

/// Removes a control group: the kernel does so with the files in it, which are no files of a disk.
///
/// # Errors
/// As rmdir(2).
pub fn remove_group(root: &Root, path: &str) -> io::Result<()> {
    if !root.is_live() {
        for name in root.list(path) {
            fs::remove_file(root.path(&format!("{path}/{name}")))?;
        }
    }
    fs::remove_dir(root.path(path))
}

/// `always [madvise] never` with another word marked.
fn choice(old: &str, value: &str) -> String {
    let brackets = if old.contains('(') { ('(', ')') } else { ('[', ']') };
    let mark = |word: &str| {
        let plain = word.trim_matches(['[', ']', '(', ')']);
        if plain == value { format!("{}{plain}{}", brackets.0, brackets.1) } else { plain.into() }
    };
    old.split(' ').map(mark).collect::<Vec<_>>().join(" ")
}

/// A mask in as many digits, with commas at the same places.
fn mask(old: &str, value: &str) -> String {
    let digits = value.replace(',', "");
    let mut rest = digits.chars().rev();
    let turned: String = old.chars().rev().map(|c| if c == ',' { ',' } else { rest.next().unwrap_or('0') }).collect();
    turned.chars().rev().collect()
}

/// The line of level 3 with other masks; other lines as they are.
fn l3(line: &str, value: &str) -> String {
    let indent = line.len() - line.trim_start().len();
    match line.trim().strip_prefix("L3:") {
        Some(_) => format!("{}{value}", " ".repeat(indent)),
        None => line.into(),
    }
}
