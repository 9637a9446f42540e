//! `latido check`: is this machine fit to measure, and what to change.

use super::{Usage, write_out};
use crate::{check, cpus::CpuSet, host::outcome, machine::Root};
use anyhow::Result;
use std::path::PathBuf;

/// Is this machine fit to measure; what to change.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Exit status: 0 fit to measure, 2 unfit, 3 cannot tell, 64 usage.")]
pub struct Args {
    /// Print one JSON document and nothing else
    #[arg(long)]
    pub json: bool,
    /// The CPUs to be measured, for example 2-3 [default: the isolated ones]
    #[arg(short, long, value_name = "LIST", conflicts_with = "pid")]
    pub cpus: Option<CpuSet>,
    /// Look at a program at work instead: its process number, or its name
    #[arg(long, value_name = "PID")]
    pub pid: Option<String>,
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
    let root = args.sysroot.map_or_else(Root::default, Root::new);
    let (text, exit) = match &args.pid {
        Some(word) => check::run_process(&root, word, args.json, outcome::style())?,
        None => check::run(&root, args.cpus.as_ref(), args.json, outcome::style()),
    };
    write_out(&text)?;
    Ok(exit)
}
