//! `tree`: find and grep through a generated tree of C source, or through an existing directory.

use crate::{
    loading::{
        Launch, Load, Surroundings, source,
        work::{self, Chore, Work, program},
    },
    scratch::Scratch,
};
use anyhow::{Context, Result, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "tree",
    about: "find and grep through a tree of source files, again and again",
    help: "\
Runs `find DIR -name PATTERN -exec grep -c WORD {} +` again and again: many small files opened, read and searched, many
short processes. The tree is made first (C source, seeded) in the directory for temporary files ($TMPDIR, else /tmp) and
removed afterwards. With `path` it is a directory of yours, which the load only reads, and only on its own file system.

Options:
  files     of the tree, 1 to 20000, of about 4 KiB each; default 1000
  path      a directory of yours to search instead, for example /usr/src
  pattern   which files are searched (as -name of find); default *.c, and * in a directory of yours
  word      what grep looks for; default a word that is in about one of four made files
  seed      of the tree; default the cell's

The record's `achieved` holds passes, files (searched), lines (found) and elapsed_ns. Needs find and grep. One of the
loads of the interrupt-determinism study (2008).",
    main_option: Some("files"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TreeLoad {
    files: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pattern: Option<String>,
    word: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl Default for TreeLoad {
    fn default() -> Self {
        Self { files: 1000, path: None, pattern: None, word: source::NEEDLE.into(), seed: None }
    }
}

/// Functions per file: about 4 KiB.
const FUNCTIONS: u32 = 10;

fn checked(table: toml::Table) -> Result<TreeLoad> {
    let tree: TreeLoad = registry::options(table)?;
    ensure!((1..=20_000).contains(&tree.files), "`files` is 1 to 20000");
    ensure!(!tree.word.is_empty() && !tree.word.contains('\n'), "`word` is a text to look for, in one line");
    ensure!(tree.path.as_deref().is_none_or(Path::is_absolute), "`path` is an absolute path, from /");
    Ok(tree)
}

impl Load for TreeLoad {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), ..self.clone() };
        let place = self.path.as_deref().unwrap_or(Path::new("DIR"));
        let command = format!("find {}", self.arguments(place).join(" "));
        let mut launch = work::running(&["find", "grep"], command, DEF.name, &asked)?;
        if let Some(path) = &self.path {
            ensure!(path.is_dir(), "tree: there is no directory {}", path.display());
            launch.note = None;
        }
        Ok(Some(launch))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

/// The counts of a search.
pub(super) const COUNTS: [&str; 3] = ["passes", "files", "lines"];

/// Returns the work of searching all files once, for a load with several parts.
///
/// # Errors
/// An option is unknown or wrong, or there is no room for the tree.
pub(super) fn chore(options: toml::Table) -> Result<Chore> {
    checked(options)?.chore()
}

impl TreeLoad {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        work::bear(&COUNTS, [self.chore()?])
    }

    /// Returns the work of searching all files once.
    fn chore(&self) -> Result<Chore> {
        let tree = self.clone();
        if let Some(path) = self.path.clone() {
            return Ok(Box::new(move |work| tree.pass(&path, work)));
        }
        let made = Scratch::new(u64::from(self.files) * source::length(FUNCTIONS))?;
        source::write(made.path(), self.files, FUNCTIONS, self.seed.unwrap_or(1))?;
        Ok(Box::new(move |work| tree.pass(made.path(), work)))
    }

    fn pattern(&self) -> &str {
        self.pattern.as_deref().unwrap_or(if self.path.is_some() { "*" } else { "*.c" })
    }

    /// Returns the arguments of find.
    fn arguments(&self, dir: &Path) -> Vec<String> {
        let dir = dir.to_string_lossy();
        let before = [&dir, "-xdev", "-type", "f", "-name", self.pattern(), "-exec", "grep", "-s", "-c", "-H", "-F"];
        before.into_iter().chain(["-e", &self.word, "{}", "+"]).map(String::from).collect()
    }

    fn pass(&self, dir: &Path, work: &Work) -> Result<()> {
        let name = self.pattern();
        let mut find =
            program("find")?.args(self.arguments(dir)).stdout(Stdio::piped()).spawn().context("tree: find")?;
        let mut searched = 0;
        for line in BufReader::new(find.stdout.take().context("tree: find has no output")?).split(b'\n') {
            // grep -c prints `path:number` for each file.
            let line = line.context("tree: reading what find prints")?;
            let digits = line.rsplit(|byte| *byte == b':').next().unwrap_or_default();
            let found = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
            searched += 1;
            work.add("files", 1);
            work.add("lines", found);
        }
        // The status means only that nothing was found, or that latido may not read some file.
        let status = find.wait().context("tree: find")?;
        ensure!(searched > 0, "tree: find {} searched no file named {name} ({status})", dir.display());
        work.add("passes", 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["files = 0", "files = 20001", "word = \"\"", "path = \"src\"", "depth = 3"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    /// A pass searches each file once and counts the matches, in a directory that it only reads.
    #[test]
    fn a_pass_counts_files_and_lines() {
        if let Err(why) = work::versions(&["find", "grep"]) {
            return skip("a search", Need::Program, &format!("{why:#}"));
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a:b.c"), "needle\nneedle\nhay\n").unwrap();
        std::fs::write(dir.path().join("c.c"), "hay\n").unwrap();
        std::fs::write(dir.path().join("d.txt"), "needle\n").unwrap();
        let text = format!("path = {:?}\npattern = \"*.c\"\nword = \"needle\"", dir.path());
        let tree = checked(text.parse().unwrap()).unwrap();
        let work = Work::of(&["passes", "files", "lines"]);
        tree.pass(dir.path(), &work).unwrap();
        assert_eq!((work.done("passes"), work.done("files"), work.done("lines")), (1, 2, 2));
        let nothing = checked("word = \"x\"\npattern = \"*.rs\"".parse().unwrap()).unwrap();
        assert!(nothing.pass(dir.path(), &work).is_err(), "a search of nothing is no load");
    }
}
