//! Replacements during the measurement: the loopback instead of a network wire, an emulator or a virtual machine instead of hardware.

use latido_judge::configuration::Configuration;
use latido_model::{
    cell::{Item, RUNNING},
    machine::{Emulated, Layer},
};
use std::collections::BTreeSet;

/// The loads that send over the network only if this option, [`WIRE`], names the other end.
const NETWORK: [&str; 2] = ["udp-flood", "iperf3"];
const WIRE: &str = "to";
/// With this option, such a load sends from one network card of the machine to another.
const CARDS: &str = "between";

/// Returns a remark on the kernels of a study that is repeated on available kernels, because the study's kernels were built for it. Returns
/// `None` if the laboratory booted every kernel.
pub fn kernel<'a>(all: impl Iterator<Item = &'a Configuration> + Clone) -> Option<String> {
    let there = |one: &&Configuration| one.machine.emulated.is_none() && !one.machine.kernel.is_empty();
    let (mut running, mut named) = (BTreeSet::new(), BTreeSet::new());
    for one in all.filter(there) {
        match one.cell.kernel.as_str() {
            RUNNING => drop(running.insert(one.machine.kernel.clone())),
            name => drop(named.insert(as_named(name, one))),
        }
    }
    let running: Vec<String> = running.into_iter().collect();
    let first = || format!("the running kernel ({}) stands in for the study's kernels", running.join(", "));
    let told: Vec<String> = (!running.is_empty()).then(first).into_iter().chain(named).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// Returns ``Linux 6.12.48 (preemption full) stands in for the study's `std` ``, also where only the user, and not the kernel, makes that
/// claim.
fn as_named(name: &str, one: &Configuration) -> String {
    let model = one.machine.preemption.as_ref().map(|found| format!(" (preemption {})", found.model));
    format!("Linux {}{} stands in for the study's `{name}`", one.machine.kernel, model.unwrap_or_default())
}

/// The remark on the loopback, wherever it matters.
pub const LOOPBACK: &str = "the loopback stands in for a wire: no network card or driver was used";

/// Returns whether a load stays inside the machine although it represents traffic with the outside.
pub fn is_loopback(load: &Item) -> bool {
    NETWORK.contains(&load.name.as_str()) && ![WIRE, CARDS].iter().any(|option| load.options.contains_key(*option))
}

/// Returns one sentence for each replacement in a configuration.
pub fn of(configuration: &Configuration) -> Vec<String> {
    let loopback = configuration.cell.load.items.iter().any(is_loopback).then(|| LOOPBACK.to_owned());
    let on_a_hub = |load: &Item| NETWORK.contains(&load.name.as_str()) && load.options.contains_key(CARDS);
    let cards = configuration.cell.load.items.iter().any(on_a_hub);
    let cards =
        cards.then(|| "two cards of one machine stand in for a wire and the machine at its other end".to_owned());
    let machine = match &configuration.machine.hypervisor {
        // A guest of the laboratory does not depend on its host's time.
        _ if configuration.machine.emulated.is_some() => configuration.machine.emulated.as_ref().map(Emulated::worth),
        Some(Layer::Present(name)) if name.contains("TCG") => {
            Some(format!("emulation ({name}) stands in for hardware: its times are the emulator's"))
        }
        Some(Layer::Present(name)) => {
            Some(format!("a virtual machine ({name}) stands in for hardware: its host adds latencies"))
        }
        _ => None,
    };
    machine.into_iter().chain(loopback).chain(cards).collect()
}

/// Returns these sentences for several configurations, each once. A sentence that does not apply to all names its configurations or their
/// number.
pub fn of_all<'a>(all: impl Iterator<Item = &'a Configuration> + Clone) -> Vec<String> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (configuration, text) in all.clone().flat_map(|one| of(one).into_iter().map(move |text| (one, text))) {
        match found.iter_mut().find(|(known, _)| *known == text) {
            Some((_, of)) => of.push(&configuration.label),
            None => found.push((text, vec![&configuration.label])),
        }
    }
    let number = all.count();
    let told = |(text, of): (String, Vec<&str>)| match of[..] {
        [one] if number > 1 => format!("{text} (under {one})"),
        _ if of.len() < number => format!("{text} (in {} of {number} configurations)", of.len()),
        _ => text,
    };
    found.into_iter().map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;
    use latido_model::cell::Level;

    /// The remark names the running kernel as a replacement; a kernel that the plan names replaces the study's kernel of that name.
    #[test]
    fn the_running_kernel_stands_in() {
        let mut all = sample::configurations(2);
        for one in &mut all {
            (one.cell.kernel, one.machine.kernel) = (RUNNING.into(), "6.12.48".into());
        }
        let said = "the running kernel (6.12.48) stands in for the study's kernels";
        assert_eq!(kernel(all.iter()).as_deref(), Some(said));
        all.iter_mut().for_each(|one| one.cell.kernel = "stock".into());
        let said = kernel(all.iter()).unwrap();
        assert!(said.starts_with("Linux 6.12.48") && said.ends_with("stands in for the study's `stock`"), "{said}");
        all.iter_mut().for_each(|one| one.machine.emulated = Some(Emulated::default()));
        assert_eq!(kernel(all.iter()), None);
    }

    /// Loads over the loopback and machines under a hypervisor are named; a load with a network target is not.
    #[test]
    fn what_stands_in_is_named_where_it_does() {
        let mut all = sample::configurations(3);
        let load =
            |options: toml::Table| Level { id: "net".into(), items: vec![Item { name: "udp-flood".into(), options }] };
        all[0].cell.load = load(toml::Table::new());
        all[1].cell.load = load(toml::toml! { to = "192.0.2.7" });
        assert_eq!(of_all(all.iter()), [format!("{LOOPBACK} (under {})", all[0].label)]);
        for one in &mut all {
            one.machine.hypervisor = Some(Layer::Present("TCG".into()));
        }
        assert!(of_all(all.iter())[0].starts_with("emulation (TCG)"), "{:?}", of_all(all.iter()));
        all[2].machine.hypervisor = Some(Layer::Absent);
        assert!(of_all(all.iter())[0].ends_with("(in 2 of 3 configurations)"), "{:?}", of_all(all.iter()));
    }

    /// A guest of the laboratory has no host latencies, and two cards on a hub are not a loopback.
    #[test]
    fn a_guest_is_told_by_what_its_times_are_worth() {
        let mut all = sample::configurations(1);
        let options = toml::toml! { between = "eth0,eth1" };
        all[0].cell.load = Level { id: "net".into(), items: vec![Item { name: "udp-flood".into(), options }] };
        all[0].machine.hypervisor = Some(Layer::Present("QEMU".into()));
        all[0].machine.emulated = Some(Emulated { instruction_ns: Some(1), ..Emulated::default() });
        let told = of_all(all.iter());
        assert!(told[0].contains("it ranks kernels, not hardware") && told[1].starts_with("two cards"), "{told:?}");
        assert_eq!(told.len(), 2);
    }
}
