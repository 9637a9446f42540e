//! The runs of a history: those that the user names, or those in a directory.

use super::{Usage, stored::Reader};
use crate::{output::tell, store};
use anyhow::{Result, anyhow};
use latido_judge::observed::{Observed, coarser};
use std::path::{Path, PathBuf};

/// Returns the repeats of each run, in order of time; for a directory only the runs of one plan.
///
/// # Errors
/// A run cannot be read, or there is no run.
pub fn read(runs: &[String], plan: Option<&str>, reader: &mut Reader) -> Result<Vec<Vec<Observed>>> {
    let mut nights = Vec::new();
    match runs {
        [] => return Err(Usage::new("name runs in order of time, or a directory that holds them").into()),
        [dir] if is_directory_of_runs(dir) => {
            for dir in in_directory(Path::new(dir), plan)? {
                // A run that was cut off at its very start is not part of the history.
                match reader.repeats(&store::read(&dir)?) {
                    Ok(repeats) => nights.push(repeats),
                    Err(error) => tell(&format!("note: latido leaves a run out: {error:#}")),
                }
            }
        }
        [dir] if plan.is_some() && !Path::new(dir).exists() => {
            return Err(Usage::new(format!("there is no directory {dir}")).into());
        }
        _ if plan.is_some() => {
            return Err(Usage::new("--plan selects runs of a directory, and you named single runs").into());
        }
        names => {
            for name in names {
                match reader.run(name)? {
                    Some(repeats) => nights.push(repeats),
                    None => tell(&format!("note: `{name}` names a run that you already named; latido takes it once")),
                }
            }
        }
    }
    coarser::level(reader.statistic(), nights.iter_mut().flatten());
    Ok(nights)
}

/// Returns whether this is a directory that is not itself a run: a store, or any other that contains runs.
fn is_directory_of_runs(name: &str) -> bool {
    let dir = Path::new(name);
    dir.is_dir() && !dir.join("run.json").exists() && !dir.join("plan.toml").exists()
}

/// Returns the runs of a directory in the order in which they started, all of one plan.
fn in_directory(dir: &Path, plan: Option<&str>) -> Result<Vec<PathBuf>> {
    let listing = store::list_runs_in(dir)?;
    listing.problems.iter().for_each(|problem| tell(&format!("warning: {problem}")));
    let mut plans: Vec<&str> = listing.runs.iter().map(|(_, meta)| meta.plan.as_str()).collect();
    plans.sort_unstable();
    plans.dedup();
    let plan = match (plan, plans.as_slice()) {
        (Some(plan), all) if all.contains(&plan) => plan,
        (Some(plan), all) => {
            return Err(Usage::new(format!("--plan {plan}: there are runs of {}", all.join(", "))).into());
        }
        (None, [one]) => one,
        (None, []) => return Err(anyhow!("{}: the directory contains no runs", dir.display())),
        (None, all) => {
            let message = format!("there are runs of several plans: name one with --plan: {}", all.join(", "));
            return Err(Usage::new(message).into());
        }
    };
    Ok(listing.runs.iter().filter(|(_, meta)| meta.plan == plan).map(|(dir, _)| dir.clone()).collect())
}
