//! `latido man`: the manual pages, made from the command line's own table.

use super::Cli;
use crate::output::write_out;
use anyhow::{Context, Result};
use clap::CommandFactory;
use std::path::PathBuf;

/// Print the manual page, or write all pages into a directory.
#[derive(clap::Args, Clone, Debug)]
pub struct Args {
    /// Where all pages go; absent, the first page is printed
    pub dir: Option<PathBuf>,
}

/// Carries out `latido man`.
///
/// # Errors
/// A page cannot be written.
pub fn run(args: Args) -> Result<u8> {
    if let Some(dir) = args.dir {
        let cannot = || format!("cannot write the manual pages to {}", dir.display());
        std::fs::create_dir_all(&dir).with_context(cannot)?;
        clap_mangen::generate_to(Cli::command(), &dir).with_context(cannot)?;
        return Ok(0);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    write_out(&String::from_utf8_lossy(&page))
}
