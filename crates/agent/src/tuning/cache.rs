//! `cache`: ways of the last-level cache for some CPUs only.

use crate::{
    machine::Root,
    setting::{Tuning, Wanted},
    step::{Form, Step, refusal},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cpus::CpuSet,
    registry::{self, Def, Objection},
};
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "cache",
    about: "reserve ways of the level-3 cache for the given CPUs (resctrl)",
    help: "\
Whatever runs elsewhere on the chip evicts a real-time task's data from the shared cache. Processors with cache
allocation (Intel RDT, AMD QoS, some ARM) reserve ways: the given CPUs get the topmost ones, all others lose them.

Options:
  cpus   the CPUs that get them, for example 2-3; required
  ways   number of ways of each level-3 cache; required

Kernel document: Documentation/filesystems/resctrl.rst",
    main_option: Some("cpus"),
    new: |table| {
        let read = registry::options::<Cache>(table)?;
        if read.ways == 0 {
            return Err(Objection::Value("`ways` is a whole number from 1".into()).into());
        }
        Ok(Box::new(read))
    },
};

const RESCTRL: &str = "/sys/fs/resctrl";
const GROUP: &str = "/sys/fs/resctrl/latido";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Cache {
    cpus: CpuSet,
    ways: u32,
}

impl Tuning for Cache {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let all = format!("{RESCTRL}/schemata");
        let text = root.try_read(&all).map_err(|error| refusal::of_read(root, &all, absent(root), &error))?;
        let schema = Form::L3.value(&text);
        ensure!(schema != "L3:", "{all} has no line L3: the level-3 cache of this machine cannot be divided");
        let least = root.value::<u32>(&format!("{RESCTRL}/info/L3/min_cbm_bits")).unwrap_or(1);
        ensure!(self.ways >= least, "ways={}: this processor reserves at least {least}", self.ways);
        ensure!(!root.exists(GROUP), "{GROUP} exists already: undo the tuning that made it, or remove it (rmdir)");
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for cache in schema.trim_start_matches("L3:").split(';') {
            let (id, mask) = cache.split_once('=').context("a cache without a mask")?;
            let (top, rest) =
                split(u64::from_str_radix(mask, 16).with_context(|| format!("{all}: {cache}"))?, self.ways)
                    .with_context(|| {
                        format!("ways={} leaves no way of cache {id} (mask {mask}) for other CPUs", self.ways)
                    })?;
            own.push(format!("{id}={top:x}"));
            others.push(format!("{id}={rest:x}"));
        }
        let own = format!("L3:{}", own.join(";"));
        let others = format!("L3:{}", others.join(";"));
        let within = |file: &str, new: String, form| Step::Within { path: format!("{GROUP}/{file}"), new, form };
        let steps = vec![
            Step::Group { path: GROUP.into() },
            within("schemata", own, Form::L3),
            within("cpus_list", self.cpus.to_string(), Form::Cpus),
            Step::Value { path: all, original: schema, new: others, form: Form::L3 },
        ];
        let others = root.list(RESCTRL).into_iter().filter(|name| root.exists(&format!("{RESCTRL}/{name}/schemata")));
        let others: Vec<String> = others.filter(|name| name != "info" && name != "mon_groups").collect();
        for name in &others {
            // Each CPU belongs to one group: the kernel would take the CPU from its group, and not return it.
            let file = format!("{RESCTRL}/{name}/cpus_list");
            let taken: CpuSet = root.value::<CpuSet>(&file).unwrap_or_default();
            let common: Vec<String> =
                self.cpus.iter().filter(|cpu| taken.contains(*cpu)).map(|cpu| cpu.to_string()).collect();
            ensure!(
                common.is_empty(),
                "CPU {} belongs to the group {name}: take it out first ({file})",
                common.join(",")
            );
        }
        let note = (!others.is_empty()).then(|| {
            format!("other groups may share the ways; latido left their masks unchanged: {}", others.join(", "))
        });
        Ok(Wanted { steps, note, ..Wanted::default() })
    }
}

/// Returns the highest ways of a mask, and the rest; `None` if either would be empty.
fn split(mask: u64, ways: u32) -> Option<(u64, u64)> {
    let rest_ways = mask.count_ones().checked_sub(ways).filter(|rest| *rest > 0)?;
    // Masks have no gaps.
    let rest = (1u64 << rest_ways).checked_sub(1)?.checked_shl(mask.trailing_zeros())?;
    Some((mask & !rest, rest))
}

/// Explains why resctrl may be missing.
fn absent(root: &Root) -> &'static str {
    let known = root.read("proc/filesystems").is_some_and(|text| text.split_whitespace().any(|name| name == "resctrl"));
    match known {
        true => "resctrl is not mounted: mount -t resctrl resctrl /sys/fs/resctrl",
        false => {
            "this processor or kernel cannot divide its cache (no resctrl in /proc/filesystems): leave this tuning out"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;
    use crate::fixture::{
        trees::{self, by_hand},
        trial::{Proof, refusal},
    };

    const ALL: &str = "sys/fs/resctrl/schemata";
    /// Written by hand: no emulated processor divides its cache.
    const FILES: &[(&str, &str)] = &[
        (ALL, "    MB:0=100;1=100\n    L3:0=fffff;1=fffff\n"),
        ("sys/fs/resctrl/cpus_list", "0-3\n"),
        ("sys/fs/resctrl/info/L3/min_cbm_bits", "1\n"),
        ("proc/filesystems", "nodev\tsysfs\nnodev\tresctrl\n"),
    ];

    #[test]
    fn it_is_applied_and_undone() {
        let proof = Proof {
            name: "cache",
            options: "cpus = '2-3'\nways = 4",
            machine: &|| by_hand(FILES),
            after: &[
                (ALL, "    MB:0=100;1=100\n    L3:0=ffff;1=ffff\n"),
                ("sys/fs/resctrl/latido/schemata", "L3:0=f0000;1=f0000"),
                ("sys/fs/resctrl/latido/cpus_list", "2,3"),
            ],
            other: (ALL, "    MB:0=100;1=100\n    L3:0=1;1=1\n"),
            without: &[(ALL, "mount -t resctrl")],
        };
        proof.holds();
    }

    /// The kernel would take the CPU from the other group for good.
    #[test]
    fn the_cpus_of_other_groups_are_theirs() {
        let mut files = FILES.to_vec();
        files.extend([("sys/fs/resctrl/db/schemata", "L3:0=ff;1=ff\n"), ("sys/fs/resctrl/db/cpus_list", "3\n")]);
        let error = refusal("cache", "cpus = '2-3'\nways = 4", &by_hand(&files));
        assert!(error.contains("CPU 3 belongs to the group db"), "{error}");
    }

    #[test]
    fn what_cannot_be_divided_is_refused() {
        assert!(refusal("cache", "cpus = '1'\nways = 2", &trees::server()).contains("no resctrl in /proc/filesystems"));
        assert!(refusal("cache", "cpus = '1'\nways = 20", &by_hand(FILES)).contains("leaves no way"));
        assert_eq!(split(0b1111_0000, 1), Some((0b1000_0000, 0b0111_0000)));
        assert_eq!(split(0b11, 2), None);
    }
}
