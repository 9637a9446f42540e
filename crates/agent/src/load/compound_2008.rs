//! `compound-2008`: disk, search, archive and compiler, as in the interrupt-determinism study.

use super::{archive, compile, disk, tree};
use crate::loading::{
    Launch, Load, Parts, Surroundings,
    work::{self, Chore, Work, again_and_again},
};
use crate::program;
use anyhow::{Result, ensure};
use latido_model::{
    cell::Item,
    record::Skip,
    registry::{self, Def},
    units::Ns,
};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "compound-2008",
    about: "disk reads, find and grep, tar and bzip2, a compiler: one after the other, or all at once",
    help: "\
The local load of the interrupt-determinism study (2008): one loop whose parts run one after the other, for ever. It is
made of what is installed:
  disk      1000 blocks of 1 MiB read past the page cache: of the device that you name, else of a file of 64 MiB, again
            and again (the study: of the raw disk)
  tree      find and grep over C files
  archive   tar and bzip2; without bzip2 gzip, and the record says so
  compile   clean and build of a source tree (the study: of a kernel), one compiler
The study's other load, small packets as fast as possible, is `udp-flood:max,size=64`.

Options:
  order    sequential (default): one part after the other, as in the study; together: all parts at once, each a load with
           its own entry in the record
  device   a block device (or a file) to read instead, for example /dev/sda; needs the right to read it
  seed     of the trees; default the cell's

With order=sequential the record's `achieved` holds rounds (of the whole loop), read_bytes, passes, files, lines,
archives, compressed_bytes, units, builds and elapsed_ns.",
    main_option: Some("order"),
    new: |table| Ok(Box::new(checked(table)?)),
};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Compound2008 {
    order: Order,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Order {
    #[default]
    Sequential,
    Together,
}

/// One of the four parts, and how often it runs per round.
struct Part {
    name: &'static str,
    options: toml::Table,
    times: u32,
    chore: fn(toml::Table) -> Result<Chore>,
}

fn checked(table: toml::Table) -> Result<Compound2008> {
    let compound: Compound2008 = registry::options(table)?;
    ensure!(compound.device.as_ref().is_none_or(|path| path.is_absolute()), "`device` is an absolute path, from /");
    Ok(compound)
}

fn installed(name: &str) -> bool {
    !program::is_missing(name)
}

impl Load for Compound2008 {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn parts(&self, _around: &Surroundings) -> Option<Parts> {
        let (made, skipped) = self.made_of(&installed);
        let items = match self.order {
            Order::Together => {
                made.into_iter().map(|part| Item { name: part.name.into(), options: part.options }).collect()
            }
            Order::Sequential => vec![Item { name: DEF.name.into(), options: self.options() }],
        };
        Some(Parts { items, skipped })
    }

    fn launch(&self, around: &Surroundings) -> Result<Option<Launch>> {
        let asked = Self { seed: Some(self.seed.unwrap_or(around.seed)), ..self.clone() };
        let (mut commands, mut programs) = (Vec::new(), Vec::new());
        for part in self.made_of(&installed).0 {
            let launch =
                registry::build("load", super::LOADS, &Item { name: part.name.into(), options: part.options })?
                    .launch(around)?;
            if let Some(launch) = launch {
                commands.extend(launch.commands);
                programs.extend(launch.programs);
            }
        }
        Ok(Some(Launch { commands, programs, note: work::memory_note(DEF.name), ..work::own(DEF.name, &asked)? }))
    }

    fn settle(&self) -> Ns {
        Ns::from_secs(1)
    }

    fn bear(&self) -> Option<Result<()>> {
        Some(self.work())
    }
}

impl Compound2008 {
    /// Runs the load in this process until another process ends it.
    fn work(&self) -> Result<()> {
        let counts = [&["rounds"][..], &disk::COUNTS, &tree::COUNTS, &archive::COUNTS, &compile::COUNTS].concat();
        let work = Work::of(&counts);
        let compound = self.clone();
        let thread = work.thread(move |work| again_and_again(compound.round(&installed)?, work))?;
        work.go_on(vec![thread])
    }

    /// Returns the work of one round: the parts run one after the other.
    fn round(&self, installed: &dyn Fn(&str) -> bool) -> Result<Chore> {
        let mut chores = Vec::new();
        for Part { mut options, times, chore, .. } in self.made_of(installed).0 {
            options
                .extend(self.seed.and_then(|seed| i64::try_from(seed).ok()).map(|seed| ("seed".into(), seed.into())));
            chores.push((chore(options)?, times));
        }
        Ok(Box::new(move |work| {
            for (chore, times) in &mut chores {
                for _ in 0..*times {
                    if work.is_over() {
                        return Ok(());
                    }
                    chore(work)?;
                }
            }
            work.add("rounds", 1);
            Ok(())
        }))
    }

    /// Lists the available ones of the four parts, and the missing ones.
    fn made_of(&self, installed: &dyn Fn(&str) -> bool) -> (Vec<Part>, Vec<Skip>) {
        let mut skipped = Vec::new();
        let mut skip =
            |what: &str, why: &str| skipped.push(Skip { what: format!("compound-2008: {what}"), why: why.into() });
        let mut made = Vec::new();
        let device = self.device.as_ref().map(|path| path.to_string_lossy().into_owned());
        let (options, times) = match device {
            Some(device) => (toml::toml! { mode = "read" size = 1000 device = device }, 1),
            // The part runs sixteen times over 64 blocks.
            None => (toml::toml! { mode = "read" }, 16),
        };
        made.push(Part { name: "disk", options, times, chore: disk::chore });
        let mut once = |name, options, chore| made.push(Part { name, options, times: 1, chore });
        match installed("find") && installed("grep") {
            true => once("tree", toml::Table::new(), tree::chore),
            false => {
                skip("tree", "find or grep is not installed (apt-get install findutils grep): nothing was searched")
            }
        }
        match (installed("tar"), installed("bzip2"), installed("gzip")) {
            (true, true, _) => once("archive", toml::toml! { with = "bzip2" }, archive::chore),
            (true, false, true) => {
                skip("bzip2", "it is not installed: gzip stands in (apt-get install bzip2)");
                once("archive", toml::toml! { with = "gzip" }, archive::chore);
            }
            _ => {
                skip(
                    "archive",
                    "tar or a compressor is not installed (apt-get install tar bzip2): nothing was archived",
                );
            }
        }
        match ["cc", "gcc", "clang"].into_iter().find(|name| installed(name)) {
            Some(with) => once("compile", toml::toml! { with = with jobs = 1 }, compile::chore),
            None => skip("compile", "no C compiler is installed (apt-get install gcc): nothing was compiled"),
        }
        (made, skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LOADS;
    use latido_model::needs::{Need, skip};
    use std::{thread, time::Duration};

    /// Whatever is installed, each part is a load that exists and accepts its options, and latido reports what is missing.
    #[test]
    fn every_part_is_a_load() {
        let all = ["find", "grep", "tar", "bzip2", "gzip", "cc"];
        for (missing, parts, lacking) in [
            (&[][..], 4, 0),
            (&["bzip2"], 4, 1),
            (&["grep", "cc"], 2, 2),
            (&["tar"], 3, 1),
            (&["bzip2", "gzip", "find"], 2, 2),
        ] {
            let (made, skipped) = checked("order = \"together\"\ndevice = \"/dev/sda\"".parse().unwrap())
                .unwrap()
                .made_of(&|name| all.contains(&name) && !missing.contains(&name));
            assert_eq!((made.len(), skipped.len()), (parts, lacking), "{missing:?}");
            for Part { name, options, .. } in made {
                registry::build("load", LOADS, &Item { name: name.into(), options }).unwrap();
            }
        }
        assert!(
            checked("device = \"sda\"".parse().unwrap()).is_err()
                && checked("order = \"both\"".parse().unwrap()).is_err()
        );
    }

    /// The parts run one after the other: when the archive is finished, the compiler has not started.
    #[test]
    fn a_round_is_one_part_after_the_other() {
        for name in ["find", "grep", "tar", "gzip", "cc"] {
            if !installed(name) {
                return skip("a round of compound-2008", Need::Program, &format!("{name} is not installed"));
            }
        }
        // bzip2 is left out because it takes longest.
        let there = |name: &str| name != "bzip2" && installed(name);
        let compound = checked(toml::Table::new()).unwrap();
        let names: Vec<&str> = compound.made_of(&there).0.iter().map(|part| part.name).collect();
        assert_eq!(names, ["disk", "tree", "archive", "compile"]);
        let counts = [&["rounds"][..], &disk::COUNTS, &tree::COUNTS, &archive::COUNTS, &compile::COUNTS].concat();
        let work = Work::of(&counts);
        let mut round = compound.round(&there).unwrap();
        let early = thread::scope(|scope| {
            let looker = scope.spawn(|| {
                let mut early = false;
                while !work.is_over() {
                    early |= work.done("units") > 0 && work.done("archives") == 0;
                    thread::sleep(Duration::from_millis(1));
                }
                early
            });
            let result = round(&work);
            work.end();
            result.map(|()| looker.join().unwrap()).unwrap()
        });
        assert!(!early, "the compiler started before the archive was finished");
        let done = ["rounds", "passes", "archives", "builds"].map(|name| work.done(name));
        assert_eq!((done, work.done("read_bytes")), ([1; 4], 16 * (64 << 20)));
    }

    /// In sequence the parts are one load that latido runs. Together they are separate loads.
    #[test]
    fn the_order_decides_whether_it_is_one_load() {
        let around = Surroundings { allowed: "0".parse().unwrap(), counted: "0".parse().unwrap(), seed: 7 };
        let names = |order: &str| -> Vec<String> {
            let load = checked(format!("order = \"{order}\"").parse().unwrap()).unwrap();
            load.parts(&around).unwrap().items.into_iter().map(|item| item.name).collect()
        };
        assert_eq!(names("sequential"), ["compound-2008"]);
        assert_eq!(names("together").first().map(String::as_str), Some("disk"));
        let launch = checked(toml::Table::new()).unwrap().launch(&around).unwrap().unwrap();
        assert_eq!(launch.argv.last().unwrap(), "compound-2008:order=sequential,seed=7");
    }
}
