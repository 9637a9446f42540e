//! What disturbs the machine while a probe runs: one file and one line in [`LOADS`] per load.

mod archive;
mod command;
mod compile;
mod compound_2008;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod copying;
mod cpu_memory_video;
mod disk;
mod interrupts;
mod iperf3;
mod irqs_off;
mod memory;
mod messaging;
pub mod none;
mod rt_interference;
mod sleepers;
mod spin;
mod stress_cpu;
mod stress_ng;
mod tee;
mod tree;
mod udp_flood;
mod udp_sink;
mod video;

use crate::loading::{Load, Parts, Surroundings};
use anyhow::Result;
use latido_model::{
    cell::Item,
    registry::{self, Def},
};

pub use udp_flood::bits;

/// Every load.
pub const LOADS: &[Def<dyn Load>] = &[
    none::DEF,
    stress_cpu::DEF,
    spin::DEF,
    stress_ng::DEF,
    sleepers::DEF,
    tee::DEF,
    rt_interference::DEF,
    video::DEF,
    udp_flood::DEF,
    udp_sink::DEF,
    iperf3::DEF,
    disk::DEF,
    tree::DEF,
    archive::DEF,
    compile::DEF,
    messaging::DEF,
    memory::DEF,
    interrupts::DEF,
    irqs_off::DEF,
    cpu_memory_video::DEF,
    compound_2008::DEF,
    command::DEF,
];

/// Returns the loads to start for the items of a cell. Presets are replaced by their parts.
///
/// # Errors
/// An item is not a load.
pub fn parts(items: &[Item], around: &Surroundings) -> Result<Parts> {
    let mut all = Parts::default();
    for item in items {
        match registry::build("load", LOADS, item)?.parts(around) {
            Some(parts) => {
                all.items.extend(parts.items);
                all.skipped.extend(parts.skipped);
            }
            None => all.items.push(item.clone()),
        }
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_is_a_load() {
        let asked = Item { name: "copying".into(), options: "block = \"4k\"".parse().unwrap() };
        let around = Surroundings { allowed: [0].into_iter().collect(), counted: [0].into_iter().collect(), seed: 1 };
        let launch = registry::build("load", &[copying::DEF], &asked).unwrap().launch(&around).unwrap().unwrap();
        assert_eq!(launch.argv, ["dd", "if=/dev/zero", "of=/dev/null", "bs=4k"]);
    }
}
