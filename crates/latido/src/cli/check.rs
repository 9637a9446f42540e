//! `latido check`: is this machine fit to measure, and what to change.

use super::{Usage, ask, known};
use crate::{host::outcome, output::write_out};
use anyhow::Result;
use latido_model::{
    cell::LOCAL,
    check::Fitness,
    cpus::CpuSet,
    protocol::{Inspect, Inspected},
    units::Ns,
};
use latido_report::check as page;
use std::path::PathBuf;

/// Is this machine fit to measure; what to change.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "\
latido grades whether the machine is fit to compare its configurations, for soft deadlines and for hard deadlines; each line
names the points that rule it out. No check can show that your program never misses a deadline: that takes a long run under
your own load.

Exit status: 0 fit to measure, 2 unfit, 3 cannot tell, 64 usage.")]
pub struct Args {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// The period of your loop, for example 1ms
    #[arg(long, value_name = "TIME", value_parser = known::span, conflicts_with = "pid")]
    pub period: Option<Ns>,
    /// The deadline of each period, for example 100us [default: the period]
    #[arg(long, value_name = "TIME", value_parser = known::span, conflicts_with = "pid")]
    pub deadline: Option<Ns>,
    /// The CPUs to measure, for example 2-3 [default: the isolated ones]
    #[arg(short, long, value_name = "LIST", conflicts_with = "pid")]
    pub cpus: Option<CpuSet>,
    /// Check a running program instead: its process ID or its name
    #[arg(long, value_name = "PID")]
    pub pid: Option<String>,
    #[arg(long, value_name = "TARGET", help = known::targets(), value_parser = known::target)]
    pub on: Option<String>,
    /// Read the machine's files below this directory, for example a copy of another machine's
    #[arg(long, value_name = "DIR")]
    pub sysroot: Option<PathBuf>,
}

/// Carries out `latido check`.
///
/// # Errors
/// The machine cannot be read at all.
pub fn run(args: Args) -> Result<u8> {
    if let Some(dir) = args.sysroot.as_deref().filter(|dir| !dir.is_dir()) {
        return Err(Usage::new(format!("--sysroot {}: there is no such directory", dir.display())).into());
    }
    let sysroot = args.sysroot.as_ref().map(std::path::absolute).transpose()?;
    let what = Inspect { cpus: args.cpus.clone(), process: args.pid.clone(), sysroot };
    let Inspected { machine, process, mut points } = ask::inspect(args.on.as_deref().unwrap_or(LOCAL), what)?;
    let timing = page::timing::Timing::of(args.period, args.deadline).map_err(Usage::new)?;
    if let Some(timing) = timing.filter(|_| process.is_none()) {
        points.insert(0, timing.point(&machine, &points));
    }
    let style = outcome::style();
    let text = match (&process, args.json) {
        (Some(process), true) => page::json(page::Examined::Process(process), &points),
        (Some(process), false) => page::process::table(process, &points, style),
        (None, true) => page::json(page::Examined::Machine(&machine), &points),
        (None, false) => page::table(&machine, &points, timing, style),
    };
    let exit = Fitness::of(&points).exit_code();
    write_out(&text)?;
    Ok(exit)
}
