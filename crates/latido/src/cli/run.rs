//! `latido run`: measure, store, print the table and the verdict.

use super::{Usage, assemble, flags::Args};
use crate::{
    config,
    host::{
        self,
        exports::{self, Wanted},
        options::How,
    },
    output::{tell, write_out},
    store,
};
use anyhow::Result;
use latido_model::plan::{around::Around, print};
use latido_report::formats;
use std::path::Path;

/// Carries out `latido run`.
///
/// # Errors
/// A usage error, a wrong plan, or whatever ends the run.
pub fn run(args: Args) -> Result<u8> {
    let args = with_configuration(args)?;
    let how = How {
        store: args.store.clone(),
        json: args.json,
        quiet: args.quiet,
        output: args.output.clone(),
        untold: false,
        exports: exports(&args)?,
        no_report: args.no_report,
        plan_power: args.plan_power,
        wait: args.wait,
        resume: args.resume.clone(),
        keep_checkpoints: args.keep_checkpoints,
        label: args.label.clone(),
        verbose: args.verbose,
        command: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    if how.output.as_deref().is_some_and(|path| path == Path::new("-")) {
        let remedy = "name a file, or write --no-report";
        return Err(Usage::new(format!(
            "-o -: stdout has the table of the run, so the report cannot go there: {remedy}"
        ))
        .into());
    }
    formats::of_file(how.output.as_deref(), None).map_err(Usage::new)?;
    if how.keep_checkpoints && how.resume.is_none() {
        let text = "--keep-checkpoints needs an interrupted run: name it with --resume RUN";
        return Err(Usage::new(text).into());
    }
    if let Some(run) = &how.resume {
        return host::resume(run, &how);
    }
    let earlier = match args.budget.is_some() || args.print_plan {
        true => store::earlier::around(&store::root(how.store.as_deref())?),
        false => Around::default(),
    };
    let (plan, notes) = assemble::plan(&args, &earlier)?;
    for note in notes {
        tell(&format!("note: {note}"));
    }
    if args.print_plan {
        return write_out(&print::plan_after(&plan, &earlier));
    }
    host::run(&plan, &how)
}

/// Returns the flags. For a probe, the user's configuration fills in what the flags leave open. A plan keeps the conditions that its author
/// chose.
fn with_configuration(args: Args) -> Result<Args> {
    if args.resume.is_some() || !assemble::is_of_probe(&args) {
        return Ok(args);
    }
    let config = config::read()?;
    let limit = if args.deadline.is_some() { args.limit } else { args.limit.or(config.limit) };
    Ok(Args { limit, cpus: args.cpus.or(config.cpus), ..args })
}

/// Returns the files that `--export` requests.
fn exports(args: &Args) -> Result<Vec<Wanted>> {
    let all = args.export.as_deref().map(exports::wanted).transpose();
    Ok(all.map_err(|error| Usage::new(format!("{error:#}")))?.unwrap_or_default())
}
