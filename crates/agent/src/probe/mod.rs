//! Measuring procedures: one file each and one line in [`PROBES`].

mod command;
mod compute;
mod ending;
mod entries;
mod gap;
mod hwlat;
mod interrupt;
mod irqsoff;
mod looking_on;
mod maxima;
mod mutex;
mod null;
mod osnoise;
mod overheard;
mod pendulum;
mod priority;
mod scheduling;
mod sleep;
mod switch;
mod syscall;
mod task;
mod timerlat;
mod wakeup;
mod wakeup_tracer;
// The worked example of CONTRIBUTING.md: the tests compile it.
#[cfg(test)]
mod yielding;

pub use switch::partner::run as partner;

use crate::measure::Probe;
use latido_model::{
    cell::Item,
    registry::{Def, build},
};

/// Every probe.
pub const PROBES: &[Def<dyn Probe>] = &[
    wakeup::DEF,
    gap::DEF,
    mutex::DEF,
    priority::DEF,
    sleep::DEF,
    switch::DEF,
    compute::DEF,
    pendulum::DEF,
    task::DEF,
    command::DEF,
    scheduling::DEF,
    syscall::DEF,
    interrupt::DEF,
    irqsoff::DEF,
    wakeup_tracer::DEF,
    timerlat::DEF,
    osnoise::DEF,
    hwlat::DEF,
    null::DEF,
];

/// Tells whether a probe requests the policy of its cell. All probes do, except those that make up their samples or only watch passively.
pub fn asks(probe: &Item) -> bool {
    build("probe", PROBES, probe).map_or(true, |probe| !probe.measurand().made_up && !probe.looks_on())
}

/// Tells whether a probe only watches passively.
pub fn looks_on(probe: &Item) -> bool {
    build("probe", PROBES, probe).is_ok_and(|probe| probe.looks_on())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_is_a_probe() {
        let asked = Item { name: "yielding".into(), options: "calls = 3".parse().unwrap() };
        let measurand = build("probe", &[yielding::DEF], &asked).unwrap().measurand();
        assert_eq!(measurand.quantities[0].name, "cost");
    }

    #[test]
    fn what_is_made_up_asks_for_no_policy() {
        let asking = |def: &&Def<dyn Probe>| asks(&Item { name: def.name.into(), options: toml::Table::new() });
        let silent: Vec<&str> = PROBES.iter().filter(|def| !asking(def)).map(|def| def.name).collect();
        // The probe `task` cannot be built without something to watch.
        assert_eq!(
            silent,
            ["scheduling", "syscall", "interrupt", "irqsoff", "wakeup-tracer", "timerlat", "osnoise", "hwlat", "null"]
        );
    }
}
