//! `latido lab`: the virtual laboratory's kernels, and whether two equal runs give equal bytes.

use super::{Usage, assemble, flags, gauge, lab_bisect};
use crate::{
    host::{self, options::How},
    lab::{
        board,
        board::MULTI_CPU,
        build, fetch,
        kernel::{Kernel, Origin, Source},
        kernels::{self, named},
        own,
    },
    output::{tell, write_out},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cell::{LAB, RUNNING},
    exit::Exit,
    plan::{Plan, around::Around},
    units::many,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

/// The virtual laboratory: its kernels, and whether two equal runs give equal results.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum What {
    /// The kernels that it can boot, and your own
    Kernels,
    /// Fetch kernels into the cache, or newer versions of them; nothing is installed
    Fetch {
        /// Their names; all if you name no kernel
        kernels: Vec<String>,
    },
    /// Build kernels from Debian's source in the cache, once each; nothing is installed
    Build {
        /// The kernels' names; `latido lab kernels` lists them
        #[arg(required = true)]
        kernels: Vec<String>,
    },
    /// Run a plan or a probe twice in kernels of the laboratory and compare every byte of what the guests measured
    Verify(Box<flags::Args>),
    Bisect(Box<lab_bisect::Args>),
}

/// Carries out `latido lab`.
///
/// # Errors
/// A usage error, a kernel that is not available, or whatever ends a run.
pub fn run(args: Args) -> Result<u8> {
    match args.what {
        What::Kernels => listed(),
        What::Fetch { kernels } => fetched(&kernels),
        What::Build { kernels } => built(&kernels),
        What::Verify(args) => verify(*args),
        What::Bisect(args) => lab_bisect::run(*args),
    }
}

fn listed() -> Result<u8> {
    write_out(&list(&kernels::all()?, own::directory().as_deref())?)
}

/// Returns the list of these kernels and of the boards. The user's own kernels come from this directory.
fn list(all: &[Kernel], directory: Option<&Path>) -> Result<String> {
    let (own, shipped): (Vec<_>, Vec<_>) = all.iter().partition(|one| matches!(one.origin, Origin::Own { .. }));
    let mut text = String::new();
    for kernel in shipped {
        writeln!(text, "{}", line(kernel))?;
    }
    text.push_str(
        "\nlatido builds the kernels `built-...` for 64-bit ARM too; add -arm64 to the name: built-rt-arm64\n",
    );
    text.push_str("\nBoards; add one to a kernel's name with a `+` (6.12-rt+net):\n");
    for board in board::shipped()? {
        writeln!(text, "{:<22} {}", board.name, board.about)?;
    }
    if let Some(directory) = directory {
        let there = if own.is_empty() { "; there is none" } else { ":" };
        writeln!(text, "\nYour own kernels; the file NAME.toml in {} is the kernel NAME{there}", directory.display())?;
    }
    for kernel in own {
        writeln!(text, "{} ({})", line(kernel), kernel.origin.shown())?;
    }
    text.push_str("\nIn brackets: names of the studies' systems that a kernel stands in for. In a plan: target = [\"lab\"], kernel = [...]\n");
    Ok(text)
}

/// Returns the line of a kernel in a list.
fn line(kernel: &Kernel) -> String {
    let also =
        if kernel.stands_for.is_empty() { String::new() } else { format!(" [{}]", kernel.stands_for.join(", ")) };
    format!("{:<22} {}{also}", kernel.name, kernel.about)
}

fn fetched(names: &[String]) -> Result<u8> {
    let all: Vec<Kernel> = match names {
        [] => kernels::all()?.into_iter().filter(|one| one.debian.is_some()).collect(),
        names => names.iter().map(|name| named(name)).collect::<Result<_>>()?,
    };
    let mut text = String::new();
    let mut known = BTreeMap::new();
    for kernel in all {
        // Several kernels share one package and differ in their boot parameters.
        let source = kernel.debian.clone().unwrap_or_else(|| kernel.name.clone());
        let there = match known.get(&source) {
            Some(there) => there,
            None => known.entry(source).or_insert(fetch::kernel(&kernel, true, tell)?),
        };
        writeln!(text, "{:<22} {} {} sha256 {}", kernel.name, there.package, there.version, there.sha256)?;
    }
    write_out(&text)
}

fn built(names: &[String]) -> Result<u8> {
    let mut text = String::new();
    for name in names {
        let kernel = named(name)?;
        let Source::Build(recipe) = kernel.source()? else {
            return Err(Usage::new(format!(
                "latido does not build the kernel `{name}` but fetches it: latido lab fetch {name}"
            ))
            .into());
        };
        let mut line = gauge::Gauge::new();
        let there = build::build(&kernel, recipe, |said| match said {
            build::Said::Step(step) => line.step(step),
            build::Said::Files(files) => line.now(|passed| format!("{}, {passed} s", many(files, "file"))),
        })?;
        line.clear();
        writeln!(text, "{:<22} {} {} sha256 {}", kernel.name, there.package, there.version, there.sha256)?;
    }
    write_out(&text)
}

/// Runs one plan twice and reports which files of the guests differ.
fn verify(args: flags::Args) -> Result<u8> {
    let args = flags::Args { on: args.on.or(Some(LAB.into())), seed: args.seed.or(Some(1)), ..args };
    let (plan, notes) = assemble::plan(&args, &Around::default())?;
    notes.iter().for_each(|note| tell(&format!("note: {note}")));
    if let Some(other) = plan.groups.iter().flat_map(|group| &group.target).find(|target| *target != LAB) {
        return Err(Usage::new(format!(
            "only the laboratory gives the same bytes in two runs, not the target `{other}`"
        ))
        .into());
    }
    if let Some(several) = plan.groups.iter().flat_map(|group| &group.kernel).find(|name| name.contains(MULTI_CPU)) {
        return Err(Usage::new(format!("{several} uses the host's time, which differs in each run")).into());
    }
    if plan.groups.iter().flat_map(|group| &group.kernel).all(|kernel| kernel == RUNNING) {
        let names: Vec<String> = kernels::all()?.into_iter().map(|kernel| kernel.name).collect();
        return Err(Usage::new(format!(
            "no kernel is named: name a probe and the kernel to boot, `latido lab verify wakeup -d 300ms --kernel 6.12-rt`, or a \
             plan that has its kernels, `latido lab verify three-kernels`; the kernels are {}",
            names.join(", ")
        ))
        .into());
    }
    let scratch = latido_agent::scratch::Scratch::new(0).context("cannot make a temporary directory for two runs")?;
    let first = measured(&plan, &scratch.path().join("1"))?;
    let second = measured(&plan, &scratch.path().join("2"))?;
    ensure!(!first.is_empty(), "the guests measured nothing");
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    let differing: Vec<&String> = names.into_iter().filter(|name| first.get(*name) != second.get(*name)).collect();
    if differing.is_empty() {
        let bytes: usize = first.values().map(Vec::len).sum();
        let (files, bytes) = (many(first.len(), "file"), many(bytes, "byte"));
        write_out(&format!("identical: {files}, {bytes}, twice\n"))?;
        return Ok(Exit::Done.code());
    }
    let mut text = String::new();
    for name in differing {
        writeln!(text, "differs: {name}")?;
    }
    write_out(&text)?;
    Ok(Exit::Failed.code())
}

/// Runs a plan into its own store and returns the guests' files by their names.
fn measured(plan: &Plan, store: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    fs::create_dir(store)?;
    let how = How { store: Some(store.into()), quiet: true, untold: true, no_report: true, ..How::default() };
    host::run(plan, &how)?;
    let mut all = BTreeMap::new();
    let mut dirs: Vec<PathBuf> = vec![store.into()];
    while let Some(dir) = dirs.pop() {
        for path in fs::read_dir(&dir)?.flatten().map(|entry| entry.path()) {
            // The parts of a path before `cells` contain the run's name, and host.json the host's times: both differ in each run.
            let cell = path.iter().skip_while(|part| *part != "cells").collect::<PathBuf>();
            if path.is_dir() {
                dirs.push(path);
            } else if cell.iter().count() > 2 && !path.ends_with("host.json") {
                all.insert(cell.display().to_string(), fs::read(&path)?);
            }
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list shows each of the user's kernels with its file, and says where such files belong if there is none.
    #[test]
    fn own_kernels_are_listed_with_their_files() {
        let dir = tempfile::tempdir().unwrap();
        let told =
            |all: &[Kernel]| list(all, Some(dir.path())).unwrap().replace(&dir.path().display().to_string(), "DIR");
        let none = told(&kernels::all_with(Some(dir.path())).unwrap());
        assert!(none.contains("in DIR is the kernel NAME; there is none\n"), "{none}");
        assert!(
            none.starts_with("6.12-none              Debian's 6.12 without forced preemption [no-preempt]\n"),
            "{none}"
        );
        let text = "about = \"6.6 with EVL\"\narch = \"x86_64\"\nimage = \"i\"\ncore = \"evl\"\n";
        fs::write(dir.path().join("my-evl.toml"), text).unwrap();
        let one = told(&kernels::all_with(Some(dir.path())).unwrap());
        let line = "is the kernel NAME:\nmy-evl                 6.6 with EVL (DIR/my-evl.toml)\n";
        assert!(one.contains(line), "{one}");
    }
}
