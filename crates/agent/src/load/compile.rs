//! `compile`: a real compiler builds a generated source tree: clean, build, again and again.

use crate::{
    loading::{
        Launch, Load, Surroundings, source,
        work::{self, Chore, Work, program},
    },
    scratch::Scratch,
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};
use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "compile",
    about: "a C compiler building a source tree, again and again",
    help: "\
Compiles every file of a source tree, several at once, links the program, removes what was built, and starts again: work
for the processor, with short processes and many files. The tree is made first (C source without system headers, seeded)
in the directory for temporary files ($TMPDIR, else /tmp), where the compiler's own files go too, and removed
afterwards. The program is never run.

Options:
  with    the compiler: cc (default), gcc or clang
  level   of optimisation, 0 to 3; default 2
  units   C files of the tree, 1 to 2000; default 32
  jobs    how many compilers at once, 1 to 1024; default one per CPU
  seed    of the tree; default the cell's

The record's `achieved` holds units (files compiled), builds and elapsed_ns. Needs the compiler (apt-get install gcc).
One of the loads of the interrupt-determinism study (2008), which built a kernel.",
    main_option: Some("with"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Compile {
    with: Compiler,
    level: u8,
    units: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    jobs: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compiler {
    Cc,
    Gcc,
    Clang,
}

impl Compiler {
    fn program(self) -> &'static str {
        match self {
            Self::Cc => "cc",
            Self::Gcc => "gcc",
            Self::Clang => "clang",
        }
    }
}

impl Default for Compile {
    fn default() -> Self {
        Self { with: Compiler::Cc, level: 2, units: 32, jobs: None, seed: None }
    }
}

/// Functions per file: a PC's compiler takes some tenths of a second for it.
const FUNCTIONS: u32 = 40;

fn checked(table: toml::Table) -> Result<Compile> {
    let compile: Compile = registry::options(table)?;
    ensure!((1..=2000).contains(&compile.units), "`units` is 1 to 2000");
    ensure!((1..=1024).contains(&compile.jobs.unwrap_or(1)), "`jobs` is 1 to 1024");
    ensure!(compile.level <= 3, "`level` is 0 to 3");
    Ok(compile)
}

/// The counts of a build.
pub(super) const COUNTS: [&str; 2] = ["units", "builds"];

/// Returns the work of building all files once, for a load with several parts.
///
/// # Errors
/// An option is unknown or wrong, or there is no room for the tree.
pub(super) fn chore(options: toml::Table) -> Result<Chore> {
    checked(options)?.chore()
}

impl Load for Compile {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let jobs = self.jobs.unwrap_or_else(|| u32::try_from(around.counted.len()).unwrap_or(1).clamp(1, 1024));
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), jobs: Some(jobs), ..self.clone() };
        let command = format!("{} -O{} -I . -c UNIT.c -o UNIT.o", self.with.program(), self.level);
        Ok(Some(work::running(&[self.with.program()], command, DEF.name, &asked)?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Compile {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        work::bear(&COUNTS, [self.clone().chore()?])
    }

    /// Returns the work of building all files once.
    fn chore(self) -> Result<Chore> {
        // Room for source, objects and program, and for the assembler text of the running compilers.
        let scratch = Scratch::new(u64::from(self.units) * source::length(FUNCTIONS) * 8)?;
        source::write(scratch.path(), self.units, FUNCTIONS, self.seed.unwrap_or(1))?;
        Ok(Box::new(move |work| self.build(scratch.path(), work)))
    }

    /// Compiles all files, links them, and removes what was built.
    fn build(&self, dir: &Path, work: &Work) -> Result<()> {
        let next = AtomicU32::new(0);
        let job = || -> Result<()> {
            loop {
                let number = next.fetch_add(1, Relaxed);
                if number >= self.units || work.is_over() {
                    return Ok(());
                }
                let name = source::unit(number);
                self.compiler(dir, &["-c", &format!("{name}.c"), "-o", &format!("{name}.o")], work)?;
                work.add("units", 1);
            }
        };
        thread::scope(|scope| {
            let jobs: Vec<_> = (0..self.jobs.unwrap_or(1)).map(|_| scope.spawn(job)).collect();
            jobs.into_iter()
                .try_for_each(|job| job.join().unwrap_or_else(|_| bail!("compile: a job ended unexpectedly")))
        })?;
        if work.is_over() {
            return Ok(());
        }
        let objects: Vec<String> = (0..self.units).map(|number| format!("{}.o", source::unit(number))).collect();
        let mut link = vec!["main.c", "-o", "whole"];
        link.extend(objects.iter().map(String::as_str));
        self.compiler(dir, &link, work)?;
        for object in objects.iter().map(String::as_str).chain(["whole"]) {
            fs::remove_file(dir.join(object)).with_context(|| format!("compile: removing {object}"))?;
        }
        work.add("builds", 1);
        Ok(())
    }

    fn compiler(&self, dir: &Path, arguments: &[&str], work: &Work) -> Result<()> {
        let name = self.with.program();
        let output = program(name)?
            .current_dir(dir)
            .env("TMPDIR", dir)
            .arg(format!("-O{}", self.level))
            .args(["-I", "."])
            .args(arguments)
            .stderr(std::process::Stdio::piped())
            .output()
            .with_context(|| format!("compile: {name}"))?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success() || work.is_over(),
            "compile: {name} {} failed: {}: {}",
            arguments.join(" "),
            output.status,
            said.chars().take(500).collect::<String>()
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["with = \"rustc\"", "level = 4", "units = 0", "units = 2001", "jobs = 0"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    /// Installed compilers build the tree, and a build leaves only the source behind.
    #[test]
    fn a_build_ends_as_it_began() {
        for with in ["cc", "gcc", "clang"] {
            if let Err(why) = work::versions(&[with]) {
                skip("a build", Need::Program, &format!("{why:#}"));
                continue;
            }
            let compile =
                checked(format!("with = \"{with}\"\nunits = 3\njobs = 2\nlevel = 0").parse().unwrap()).unwrap();
            let dir = tempfile::tempdir().unwrap();
            source::write(dir.path(), compile.units, 4, 1).unwrap();
            let names = |at: &Path| fs::read_dir(at).unwrap().count();
            let before = (names(dir.path()), names(&dir.path().join("part0")));
            let work = Work::of(&["units", "builds"]);
            compile.build(dir.path(), &work).unwrap();
            assert_eq!((work.done("units"), work.done("builds")), (3, 1), "{with}");
            assert_eq!((names(dir.path()), names(&dir.path().join("part0"))), before, "{with}");
        }
    }

    #[test]
    fn a_compiler_that_fails_says_why() {
        if let Err(why) = work::versions(&["cc"]) {
            return skip("a build that fails", Need::Program, &format!("{why:#}"));
        }
        let dir = tempfile::tempdir().unwrap();
        source::write(dir.path(), 1, 1, 1).unwrap();
        fs::write(dir.path().join("part0/unit0.c"), "#error broken\n").unwrap();
        let error = checked(toml::Table::new()).unwrap().build(dir.path(), &Work::of(&[])).unwrap_err().to_string();
        assert!(error.contains("unit0.c") && error.contains("broken"), "{error}");
    }
}
