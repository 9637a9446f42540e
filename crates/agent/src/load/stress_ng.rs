//! `stress-ng`: any stressors of Debian's stress-ng with any worker counts.

use super::{sleepers, tee};
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
    help: "\
Runs stress-ng with the stressors named, for as long as the measurement lasts (see stress-ng(1)).

Options:
  NAME     each key is an option of stress-ng without its dashes: `sleep = 16` becomes `--sleep 16`,
           `vm-bytes = \"64M\"` becomes `--vm-bytes 64M`, `aggressive = true` becomes `--aggressive`
  seed     seed of its random numbers (`--seed`); default the cell's

Exact command and version are in the record. So are the rates that stress-ng reports at its end (`--metrics`), in bogo
operations per second, such as `cpu_bogo_ops` of the stressor `cpu`. They cover its whole run, warm-up included: the
rates of single seconds are not known. Do not compare operations of different stressors or of different versions.
Without stress-ng, `sleep` (with `sleep-max`) alone and `tee` alone are replaced by latido's own `sleepers` and `tee`,
and the record says so. They make the same calls, but are not the same load (docs/loads.md compares them). latido does
not control options that write files or change the machine's settings (`log-file`, `yaml`, `job`, `oom-avoid-bytes`,
...). It refuses `timeout`, because latido itself ends stress-ng.",
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
            let name = key.trim_start_matches('-');
            ensure!(name == key, "write options of stress-ng without dashes: {name}=VALUE");
            ensure!(key.chars().all(plain), "`{key}` cannot be an option of stress-ng");
            ensure!(key != "timeout", "`timeout` is not allowed: latido ends stress-ng when the measurement is over");
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

/// Returns the program with its version, or `None` where stress-ng is not installed.
///
/// # Errors
/// The program cannot be trusted.
pub fn version() -> Result<Option<Installed>> {
    work::version(PROGRAM, "--version")
}

/// Returns the argv for a table of options.
fn argv(options: &toml::Table, seed: u64) -> Vec<String> {
    let mut argv = vec![PROGRAM.to_string(), "--quiet".into()];
    // stress-ng must print its account where latido reads it, unless the user names another file.
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

/// Returns the launch for a table of options.
pub fn launch(options: &toml::Table, seed: u64, there: Installed) -> Launch {
    let manner = if options.contains_key("yaml") { Manner::Lines } else { Manner::StressNg };
    let note = options.contains_key("sleep").then(|| spins(&there.version)).flatten();
    Launch { version: Some(there.version), programs: there.programs, manner, note, ..Launch::of(argv(options, seed)) }
}

/// Returns a note about this version's `--sleep`: from 0.15.04 to 0.15.08 a condition in its source is the wrong way round.
fn spins(version: &str) -> Option<String> {
    let number = version.split([' ', ',']).find(|word| word.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = number.split('.').map_while(|part| part.parse::<u32>().ok());
    let all = (parts.next()?, parts.next()?, parts.next()?);
    ((0, 15, 4)..=(0, 15, 8)).contains(&all).then(|| {
        format!("the threads of `--sleep` of stress-ng {number} never sleep, they spin: use latido's load `sleepers`")
    })
}

impl Load for StressNg {
    fn options(&self) -> toml::Table {
        self.options.clone()
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        match version()? {
            Some(there) => Ok(Some(launch(&self.options, around.seed, there))),
            None => self.stand_in(around),
        }
    }
}

impl StressNg {
    /// Returns latido's own load that makes the same calls, if there is one.
    fn stand_in(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let of = |names: &[(&str, &str)]| -> Option<toml::Table> {
            let named = |key: &String| names.iter().find(|(theirs, _)| theirs == key);
            let mut own = toml::Table::new();
            for (key, value) in self.options.iter().filter(|(key, _)| *key != "seed" || named(key).is_some()) {
                own.insert(named(key)?.1.into(), value.clone());
            }
            own.contains_key("workers").then_some(own)
        };
        let (name, launch) = if let Some(own) = of(&[("sleep", "workers"), ("sleep-max", "threads"), ("seed", "seed")])
        {
            ("sleepers", sleepers::checked(own)?.launch(around)?)
        } else if let Some(own) = of(&[("tee", "workers")]) {
            ("tee", tee::checked(own)?.launch(around)?)
        } else {
            bail!("stress-ng is not installed: apt-get install stress-ng, or use the built-in load `spin`")
        };
        let note = format!("stress-ng is not installed: the built-in `{name}` stands in (apt-get install stress-ng)");
        Ok(launch.map(|launch| Launch { note: Some(note), ..launch }))
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

    /// The ramps of the study `ftrace-latencies` run without stress-ng. Other stressors need it.
    #[test]
    fn sleep_and_tee_have_stand_ins() {
        let around = Surroundings { allowed: [0].into_iter().collect(), counted: [0].into_iter().collect(), seed: 1 };
        let of = |text: &str| StressNg::new(text.parse().unwrap()).unwrap().stand_in(&around);
        for (text, word) in [
            ("sleep = 44\nsleep-max = 16", "sleepers:seed=1,threads=16,workers=44"),
            ("sleep = 4\nseed = 3", "sleepers:seed=3,threads=1024,workers=4"),
            ("tee = 21\nseed = 3", "tee:workers=21"),
        ] {
            let launch = of(text).unwrap().unwrap();
            assert_eq!(launch.argv.last().unwrap(), word);
            assert!(launch.note.unwrap().contains("stands in"));
        }
        for text in ["cpu = 2", "sleep = 4\ncpu = 1", "sleep = 4\ntee = 1", "sleep-max = 3"] {
            assert!(of(text).is_err(), "{text}");
        }
    }

    #[test]
    fn versions_whose_sleep_spins_are_named() {
        for (version, spins) in [
            ("stress-ng, version 0.15.06 (gcc 12.2.0, x86_64 Linux 6.1.0)", true),
            ("stress-ng, version 0.15.04 (gcc)", true),
            ("stress-ng, version 0.15.10", false),
            ("stress-ng, version 0.11.00 (gcc)", false),
            ("stress-ng, version 1.0", false),
            ("", false),
        ] {
            assert_eq!(super::spins(version).is_some(), spins, "{version}");
        }
        let launch = |text: &str| {
            let there = Installed { version: "stress-ng, version 0.15.06".into(), programs: Vec::new() };
            super::launch(&text.parse().unwrap(), 1, there)
        };
        assert!(launch("sleep = 4").note.unwrap().contains("stress-ng 0.15.06 never sleep"));
        assert_eq!(launch("cpu = 4").note, None);
    }

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        for bad in ["", "timeout = \"5s\"", "\"--cpu\" = 2", "cpu = [1, 2]", "\"a b\" = 1"] {
            assert!(build(bad).is_err(), "{bad}");
        }
        let Err(dashes) = build("\"--cpu\" = 2") else { panic!("dashes are no part of a name") };
        assert!(dashes.to_string().contains("without dashes: cpu=VALUE"), "{dashes}");
    }
}
