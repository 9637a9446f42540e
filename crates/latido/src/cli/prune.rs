//! `latido prune`: remove the runs of a store that are older than a time.

use crate::{
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use jiff::Timestamp;
use latido_model::{exit::Exit, run::Meta, units::Ns};
use std::path::PathBuf;

const NOTES: &str = "\
However old they are, latido keeps every baseline, every run that still measures and, without --labelled, every run that has a
label (`latido run --label`).

Examples:
  latido prune --keep 90d --dry-run    show which runs latido would remove
  latido prune --keep 90d              remove the runs that started more than 90 days ago

Exit status: 0 done, 1 error, 64 usage.";

/// Remove stored runs that are older than a time.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES)]
pub struct Args {
    /// Keep runs that started within this time, for example 90d
    #[arg(long, value_name = "TIME", value_parser = days)]
    pub keep: Ns,
    /// Remove old runs that have a label, too
    #[arg(long)]
    pub labelled: bool,
    /// Remove nothing, and print what would be removed
    #[arg(long)]
    pub dry_run: bool,
    /// Where runs are kept
    #[arg(long, value_name = "DIR")]
    pub store: Option<PathBuf>,
}

/// Carries out `latido prune`.
///
/// # Errors
/// The store cannot be read, or a run cannot be removed.
pub fn run(args: Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    let kept: Vec<String> = store::baselines::all(&root)?.into_iter().map(|(_, id)| id).collect();
    let listing = store::list_runs(&root)?;
    for problem in &listing.problems {
        tell(&format!("warning: {problem}; latido keeps it"));
    }
    let now = Timestamp::now();
    let old: Vec<_> = listing.runs.iter().filter(|(_, meta)| is_old(meta, now, args.keep)).collect();
    let (old, spared): (Vec<_>, Vec<_>) =
        old.into_iter().partition(|(_, meta)| !kept.contains(&meta.id) && (args.labelled || meta.label.is_none()));
    let mut gone = 0;
    for (dir, meta) in &old {
        if !args.dry_run
            && let Err(error) = store::remove(dir)
        {
            tell(&format!("note: latido keeps {}: {error:#}", meta.id));
            continue;
        }
        gone += 1;
        write_out(&format!("{}\n", meta.id))?;
    }
    let spared = match spared.len() {
        0 => String::new(),
        1 => "; latido keeps 1 older run for its label or as a baseline".into(),
        some => format!("; latido keeps {some} older runs for their label or as a baseline"),
    };
    tell(&format!("{}{spared}", removed(gone, listing.runs.len(), args.dry_run)));
    Ok(if gone == old.len() { Exit::Done } else { Exit::Error }.code())
}

/// Says how many runs of the store are removed: `1 of 3 runs removed`.
fn removed(gone: usize, all: usize, dry_run: bool) -> String {
    match (gone, all, dry_run) {
        (0, 1, _) => "the only run stays".into(),
        (_, 1, true) => "the only run would be removed".into(),
        (_, 1, false) => "the only run is removed".into(),
        (_, _, true) => format!("{gone} of {all} runs would be removed"),
        (_, _, false) => format!("{gone} of {all} runs removed"),
    }
}

/// Reads the value of `--keep`. A user who forgets the unit means days. The value may be more days than any other time in latido.
fn days(text: &str) -> Result<Ns, String> {
    const DAY_NS: u64 = 86_400_000_000_000;
    match (text.parse::<u32>(), text.strip_suffix('d').map(str::parse::<u64>)) {
        (Ok(_), _) => Err(format!("`{text}` has no unit: write {text}d for days")),
        (_, Some(Ok(days))) => {
            let ns = days.checked_mul(DAY_NS).ok_or_else(|| format!("`{text}` is longer than 500 years"))?;
            Ok(Ns(ns))
        }
        _ => text.parse::<Ns>().map_err(|error| error.to_string()),
    }
}

/// Returns whether a run started longer ago than `keep`.
fn is_old(meta: &Meta, now: Timestamp, keep: Ns) -> bool {
    let Ok(started) = meta.started.parse::<Timestamp>() else { return false };
    let age_ns = now.duration_since(started).as_nanos();
    age_ns > i128::from(keep.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_went_back_keep_a_run() {
        let now: Timestamp = "2026-11-28T00:00:00Z".parse().unwrap();
        let old = |started: &str| {
            let meta = Meta { started: started.into(), ..Meta::default() };
            is_old(&meta, now, "90d".parse().unwrap())
        };
        assert!(old("2026-08-01T00:00:00Z"));
        assert!(!old("2026-11-01T00:00:00Z"));
        assert!(!old("2027-11-01T00:00:00Z"), "begun in the future");
        assert!(!old("yesterday"), "who cannot tell removes nothing");
        assert!(days("90").unwrap_err().contains("write 90d"));
        assert_eq!(days("365d").map(|keep| keep.0), Ok(365 * 86_400_000_000_000));
        assert!(days("999999999d").is_err() && days("1.5d").is_ok());
    }

    #[test]
    fn the_only_run_is_no_part_of_several() {
        assert_eq!(removed(0, 1, false), "the only run stays");
        assert_eq!(removed(1, 1, true), "the only run would be removed");
        assert_eq!(removed(1, 1, false), "the only run is removed");
        assert_eq!(removed(1, 3, false), "1 of 3 runs removed");
    }
}
