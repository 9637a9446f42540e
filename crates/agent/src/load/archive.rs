//! `archive`: tar and compression of a source tree, again and again.

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
use std::{io::Read, path::Path, process::Stdio};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "archive",
    about: "tar and compression of a source tree, again and again",
    help: "\
Runs `tar -c` of a tree through a compressor again and again; what comes out is counted and thrown away. The tree is
made first (C source, seeded) in the directory for temporary files ($TMPDIR, else /tmp) and removed afterwards.

Options:
  with    the compressor: gzip (default), bzip2, xz or zstd
  level   of compression, 1 to 9; default the compressor's
  size    approximate size of the tree, in MiB, 1 to 1024; default 16
  jobs    how many archives at once, 1 to 256; default 1
  seed    of the tree; default the cell's

The record's `achieved` holds archives, compressed_bytes (what came out) and elapsed_ns. Needs tar and the compressor.
One of the loads of the interrupt-determinism study (2008), which used bzip2.",
    main_option: Some("with"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Archive {
    with: Compressor,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u8>,
    size: u32,
    jobs: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compressor {
    Gzip,
    Bzip2,
    Xz,
    Zstd,
}

impl Compressor {
    fn program(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Zstd => "zstd",
        }
    }
}

impl Default for Archive {
    fn default() -> Self {
        Self { with: Compressor::Gzip, level: None, size: 16, jobs: 1, seed: None }
    }
}

/// Functions per file: about 32 KiB.
const FUNCTIONS: u32 = 80;

fn checked(table: toml::Table) -> Result<Archive> {
    let archive: Archive = registry::options(table)?;
    ensure!((1..=1024).contains(&archive.size), "`size` is 1 to 1024 MiB");
    ensure!((1..=256).contains(&archive.jobs), "`jobs` is 1 to 256");
    ensure!(archive.level.is_none_or(|level| (1..=9).contains(&level)), "`level` is 1 to 9");
    Ok(archive)
}

/// The counts of an archive.
pub(super) const COUNTS: [&str; 2] = ["archives", "compressed_bytes"];

/// Returns the work of archiving all files once, for a load with several parts.
///
/// # Errors
/// An option is unknown or wrong, or there is no room for the tree.
pub(super) fn chore(options: toml::Table) -> Result<Chore> {
    let archive = checked(options)?;
    let scratch = archive.tree()?;
    Ok(Box::new(move |work| archive.one(scratch.path(), work)))
}

impl Load for Archive {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), ..self.clone() };
        let level = self.level.map(|level| format!(" -{level}")).unwrap_or_default();
        let command = format!("tar -c -f - -C DIR . | {}{level} -c", self.with.program());
        // bzip2 older than 1.0.9 prints its version and then waits for data: it gets none.
        Ok(Some(work::running(&["tar", self.with.program()], command, DEF.name, &asked)?))
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Archive {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let scratch = self.tree()?;
        let chores = (0..self.jobs).map(|_| -> Chore {
            let (archive, dir) = (self.clone(), scratch.path().to_path_buf());
            Box::new(move |work| archive.one(&dir, work))
        });
        work::bear(&COUNTS, chores)
    }

    /// Makes the tree to archive.
    fn tree(&self) -> Result<Scratch> {
        let bytes = u64::from(self.size) << 20;
        let files = (bytes / source::length(FUNCTIONS)).max(1) as u32;
        let scratch = Scratch::new(bytes * 2)?;
        source::write(scratch.path(), files, FUNCTIONS, self.seed.unwrap_or(1))?;
        Ok(scratch)
    }

    fn one(&self, dir: &Path, work: &Work) -> Result<()> {
        let mut tar = program("tar")?
            .args(["-c", "-f", "-", "-C"])
            .arg(dir)
            .arg(".")
            .stdout(Stdio::piped())
            .spawn()
            .context("tar")?;
        let output = tar.stdout.take().context("tar has no output")?;
        let name = self.with.program();
        let mut compressor = program(name)?;
        compressor.args(self.level.map(|level| format!("-{level}"))).arg("-c");
        let mut compressor = compressor.stdin(output).stdout(Stdio::piped()).spawn().context(name)?;
        let mut result = compressor.stdout.take().with_context(|| format!("{name} has no output"))?;
        let mut buffer = vec![0; 1 << 16];
        while let read @ 1.. = result.read(&mut buffer).with_context(|| format!("what {name} prints"))? {
            work.add("compressed_bytes", read as u64);
        }
        for (name, program) in [("tar", &mut tar), (name, &mut compressor)] {
            let status = program.wait().context(name)?;
            ensure!(status.success(), "archive: {name} failed: {status}");
        }
        work.add("archives", 1);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::needs::{Need, skip};

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["with = \"rar\"", "level = 0", "level = 10", "size = 0", "size = 1025", "jobs = 0"] {
            assert!(checked(bad.parse().unwrap()).is_err(), "{bad}");
        }
    }

    /// Each installed compressor makes an archive that is smaller than its input.
    #[test]
    fn an_archive_is_made_and_counted() {
        let dir = tempfile::tempdir().unwrap();
        source::write(dir.path(), 4, FUNCTIONS, 1).unwrap();
        for with in ["gzip", "bzip2", "xz", "zstd"] {
            if let Err(why) = work::versions(&["tar", with]) {
                skip("an archive", Need::Program, &format!("{why:#}"));
                continue;
            }
            let archive = checked(format!("with = \"{with}\"\nlevel = 3").parse().unwrap()).unwrap();
            let work = Work::of(&["archives", "compressed_bytes"]);
            archive.one(dir.path(), &work).unwrap();
            let bytes = work.done("compressed_bytes");
            assert!(work.done("archives") == 1 && (1_000..100_000).contains(&bytes), "{with}: {bytes}");
        }
    }
}
