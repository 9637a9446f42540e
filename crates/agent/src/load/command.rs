//! `command`: the user's own program as a load.

use crate::loading::{Launch, Load, Surroundings};
use anyhow::{Result, ensure};
use latido_model::registry::{self, Def};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "command",
    about: "a program of your own, as an argv without a shell",
    help: "\
Runs a program of your own for as long as the measurement lasts. It must not end by itself: a load that ends before
the last sample marks the cell as contaminated. It and all its descendants are ended afterwards.

Options:
  argv   list of strings, required: the program and its arguments; no shell reads them

It may report its work on its standard output, as lines of counts since its start, at least one line per second:
  latido-load requests=1200 errors=0 elapsed_ns=3000000000
Each count is a whole number. Its name consists of letters, digits and `_`. The program may leave out `elapsed_ns`, its
own clock: latido then uses the time at which the line arrives. latido ignores everything else that the program prints.
Work that it does not report is not measured.

On the command line everything after the colon is the argv, split at spaces:
  --load 'command:dd if=/dev/zero of=/dev/null'
In a plan:
  { name = \"command\", argv = [\"dd\", \"if=/dev/zero\", \"of=/dev/null\"] }",
    main_option: Some("argv"),
    new: |table| {
        let load = registry::options::<Program>(table)?;
        ensure!(load.argv.first().is_some_and(|p| !p.is_empty()), "`argv` names no program");
        Ok(Box::new(load))
    },
};

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Program {
    #[serde(default)]
    argv: Vec<String>,
}

impl Load for Program {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        Ok(Some(Launch::of(self.argv.clone())))
    }
}
