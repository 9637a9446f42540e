//! `stress-ng`: any stressors of Debian's stress-ng with any worker counts.

use crate::loading::{
    Launch, Load, Surroundings,
    account::Manner,
    work::{self, Installed},
};
use anyhow::{Result, bail, ensure};
use latido_model::registry::Def;

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "stress-ng",
    about: "any stressors of stress-ng: stress-ng:sleep=16,cpu=2",
    help:
        "\
Runs stress-ng with the stressors named, for as long as the measurement lasts (see stress-ng(1)).

Options:
  NAME     each key is an option of stress-ng without its dashes: `sleep = 16` becomes `--sleep 16`,
           `vm-bytes = \"64M\"` becomes `--vm-bytes 64M`, `aggressive = true` becomes `--aggressive`
  seed     seed of its random numbers (`--seed`); default the cell's

Exact command and version are in the record. So are the rates that stress-ng tells at its end (`--metrics`), in bogo
operations a second: `cpu_bogo_ops` of the stressor `cpu`. They are of its whole life, warm-up included, and nothing is
known of single seconds; an operation of one stressor is not that of another, nor of another version.
`timeout` and options that write files or change the machine's settings
(`log-file`, `yaml`, `job`, `oom-avoid-bytes`, ...) are stress-ng's own business; `timeout` is refused, latido ends it.",
    main_option: None,
    new: |table| Ok(Box::new(StressNg::new(table)?)),
};

#[derive(Debug)]
struct StressNg {
    options: toml::Table,
}

impl StressNg {
    fn new(options: toml::Table) -> Result<Self> {
        ensure!(!options.is_empty(), "name a stressor, for example cpu = 2 or sleep = 16");
        for (key, value) in &options {
            let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            ensure!(key.chars().all(plain) && !key.starts_with('-'), "`{key}` cannot be an option of stress-ng");
            ensure!(key != "timeout", "`timeout` is not for you: latido ends stress-ng when the measurement is over");
            ensure!(
                matches!(value, toml::Value::String(_) | toml::Value::Integer(_) | toml::Value::Boolean(_)),
                "`{key}` must be a number, a text or true"
            );
        }
        Ok(Self { options })
    }
}

/// The program.
pub const PROGRAM: &str = "stress-ng";

/// The program with its version, or `None` where there is no stress-ng.
///
/// # Errors
/// It is not to be trusted.
pub fn version() -> Result<Option<Installed>> {
    work::version(PROGRAM, "--version")
}

/// The argv for a table of options.
fn argv(options: &toml::Table, seed: u64) -> Vec<String> {
    let mut argv = vec![PROGRAM.to_string(), "--quiet".into()];
    // Its own account, to where latido listens. A file that the user names is the user's.
    if !options.contains_key("yaml") {
        argv.extend(["--metrics", "--yaml", "/dev/stdout"].map(String::from));
    }
    if !options.contains_key("seed") {
        argv.extend(["--seed".to_string(), seed.to_string()]);
    }
    for (key, value) in options {
        match value {
            toml::Value::Boolean(false) => {}
            toml::Value::Boolean(true) => argv.push(format!("--{key}")),
            toml::Value::String(text) => argv.extend([format!("--{key}"), text.clone()]),
            other => argv.extend([format!("--{key}"), other.to_string()]),
        }
    }
    argv
}

/// What is to be started for a table of options.
pub fn launch(options: &toml::Table, seed: u64, there: Installed) -> Launch {
    let manner = if options.contains_key("yaml") { Manner::Lines } else { Manner::StressNg };
    Launch { version: Some(there.version), programs: there.programs, manner, ..Launch::of(argv(options, seed)) }
}

impl Load for StressNg {
    fn options(&self) -> toml::Table {
        self.options.clone()
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let Some(there) = version()? else {
            bail!("stress-ng is not installed: apt-get install stress-ng, or use the built-in load `spin`")
        };
        Ok(Some(launch(&self.options, around.seed, there)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(text: &str) -> Result<Box<dyn Load>> {
        (DEF.new)(text.parse::<toml::Table>().unwrap())
    }

    #[test]
    fn options_become_arguments() {
        let table: toml::Table = "sleep = 16\nvm-bytes = \"64M\"\naggressive = true\n".parse().unwrap();
        let argv = argv(&table, 7);
        assert_eq!(
            argv.join(" "),
            "stress-ng --quiet --metrics --yaml /dev/stdout --seed 7 --aggressive --sleep 16 --vm-bytes 64M"
        );
    }

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["", "timeout = \"5s\"", "\"--cpu\" = 2", "cpu = [1, 2]", "\"a b\" = 1"] {
            assert!(build(bad).is_err(), "{bad}");
        }
    }
}
