//! `latido man`: the manual pages, made from the command line's own table.

use super::Cli;
use crate::{durable, output::write_out};
use anyhow::{Context, Result};
use clap::CommandFactory;
use latido_model::exit::Exit;
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
        let mut root = Cli::command().disable_help_subcommand(true);
        root.build();
        let mut open = vec![root];
        durable::make_dirs(&dir)?;
        while let Some(command) = open.pop() {
            open.extend(command.get_subcommands().filter(|command| !command.is_hide_set()).cloned());
            let man = clap_mangen::Man::new(command);
            let mut page = Vec::new();
            man.render(&mut page)?;
            durable::replace(&dir.join(man.get_filename()), &page).with_context(cannot)?;
        }
        return Ok(Exit::Done.code());
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page)?;
    write_out(&String::from_utf8_lossy(&page))
}
