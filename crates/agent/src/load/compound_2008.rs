//! `compound-2008`: disk, search, archive and compiler at once, as in the interrupt-determinism study.

use crate::loading::{Launch, Load, Parts, Surroundings, work};
use anyhow::Result;
use latido_model::{
    cell::Item,
    record::Skip,
    registry::{self, Def},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Load> = Def {
    name: "compound-2008",
    about: "disk reads, find and grep, tar and bzip2, a compiler: all at once",
    help: "\
A preset: several loads at once, each with its own entry in the record, its version and exact command. It is the local
load of the interrupt-determinism study (2008), made of what is installed:
  disk      mode=read, blocks of 1 MiB past the page cache; the study read the raw disk, which needs its right:
            --load disk:device=/dev/sda instead
  tree      find and grep over C files
  archive   tar and bzip2; without bzip2 gzip, which the record says
  compile   clean and build of a source tree (the study: of a kernel), one compiler at a time
The study's other load, small packets as fast as they go, is `udp-flood:max,size=64`.

Options: none.",
    main_option: None,
    new: |table| Ok(Box::new(registry::options::<Compound2008>(table)?)),
};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compound2008 {}

impl Load for Compound2008 {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn parts(&self, _around: &Surroundings) -> Option<Parts> {
        Some(parts(&|program| work::version(program).is_some()))
    }

    fn launch(&self, _around: &Surroundings) -> Result<Option<Launch>> {
        Ok(None)
    }
}

fn parts(installed: &dyn Fn(&str) -> bool) -> Parts {
    let mut parts = Parts::default();
    let mut skip =
        |what: &str, why: &str| parts.skipped.push(Skip { what: format!("compound-2008: {what}"), why: why.into() });
    let mut items = vec![("disk", toml::toml! { mode = "read" })];
    match installed("find") && installed("grep") {
        true => items.push(("tree", toml::Table::new())),
        false => skip("tree", "find or grep is not installed (apt-get install findutils grep): nothing was searched"),
    }
    match (installed("tar"), installed("bzip2"), installed("gzip")) {
        (true, true, _) => items.push(("archive", toml::toml! { with = "bzip2" })),
        (true, false, true) => {
            skip("bzip2", "it is not installed: gzip stands in (apt-get install bzip2)");
            items.push(("archive", toml::toml! { with = "gzip" }));
        }
        _ => skip("archive", "tar or a compressor is not installed (apt-get install tar bzip2): nothing was archived"),
    }
    match ["cc", "gcc", "clang"].into_iter().find(|name| installed(name)) {
        Some(with) => items.push(("compile", toml::toml! { with = with jobs = 1 })),
        None => skip("compile", "no C compiler is installed (apt-get install gcc): nothing was compiled"),
    }
    parts.items = items.into_iter().map(|(name, options)| Item { name: name.into(), options }).collect();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::LOADS;

    /// Whatever is installed, each part is a load that exists and accepts its options, and what is missing is said.
    #[test]
    fn every_part_is_a_load() {
        let all = ["find", "grep", "tar", "bzip2", "gzip", "cc"];
        for (missing, items, skipped) in [
            (&[][..], 4, 0),
            (&["bzip2"], 4, 1),
            (&["grep", "cc"], 2, 2),
            (&["tar"], 3, 1),
            (&["bzip2", "gzip", "find"], 2, 2),
        ] {
            let parts = parts(&|name| all.contains(&name) && !missing.contains(&name));
            assert_eq!((parts.items.len(), parts.skipped.len()), (items, skipped), "{missing:?}");
            for item in &parts.items {
                registry::build("load", LOADS, item).unwrap();
            }
        }
    }
}
