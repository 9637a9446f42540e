//! `latido baseline`: names for stored runs that later runs are compared with.

use super::completions;
use crate::{output::write_out, store};
use anyhow::Result;
use clap::Subcommand;
use clap_complete::ArgValueCompleter;
use latido_model::exit::Exit;
use std::path::PathBuf;

const NOTES: &str = "\
A baseline is a name for a stored run. `latido history RUN... --against NAME` compares the newest run with it.

Examples:
  latido baseline set good 20261121T2000      the run whose name begins with this
  latido history last --against good          the newest run against it, by their repeats

Exit status: 0 done, 1 error, 64 usage.";

/// Name stored runs that later ones are compared with.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = NOTES, subcommand_required = true, arg_required_else_help = true)]
pub struct Args {
    #[command(subcommand)]
    what: What,
    /// Where runs are kept
    #[arg(long, value_name = "DIR", global = true)]
    store: Option<PathBuf>,
}

#[derive(Subcommand, Clone, Debug)]
enum What {
    /// Give a stored run this name; an older baseline of the name is replaced
    Set {
        /// Letters, digits, `-`, `_` and `.`
        #[arg(value_name = "NAME")]
        name: String,
        /// A stored run, or the beginning of its name
        #[arg(value_name = "RUN", add = ArgValueCompleter::new(completions::runs), default_value = "last")]
        run: String,
    },
    /// List the baselines
    List,
    /// Forget a baseline; its run stays
    Remove {
        /// The baseline
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Carries out `latido baseline`.
///
/// # Errors
/// There is no such run or baseline, or the store cannot be written.
pub fn run(args: Args) -> Result<u8> {
    let root = store::root(args.store.as_deref())?;
    match args.what {
        What::Set { name, run } => {
            let id = store::baselines::set(&root, &name, &run)?;
            write_out(&format!("{name}: {id}\n"))?;
        }
        What::List => {
            let line = |(name, id): (String, String)| format!("{name}  {id}\n");
            write_out(&store::baselines::all(&root)?.into_iter().map(line).collect::<String>())?;
        }
        What::Remove { name } => store::baselines::remove(&root, &name)?,
    }
    Ok(Exit::Done.code())
}
