//! The processors: which and how many there are, how they share caches and cores, and which are kept free.

use super::{Reach, Root, preemption::parameter};
use latido_model::{
    cpus::CpuSet,
    machine::{Cpu, Isolation, none_or_list},
};
use latido_sys::sched;
use std::collections::BTreeMap;

/// Reads /proc/cpuinfo (only its beginning) and /sys/devices/system.
pub fn cpu(root: &Root, cpuinfo: Option<&str>) -> Cpu {
    let list = |path: &str| root.value::<CpuSet>(path);
    let microcode = root.read("sys/devices/system/cpu/cpu0/microcode/version");
    Cpu {
        model: model(root, cpuinfo),
        online: list("sys/devices/system/cpu/online"),
        usable: root.asked(|kernel| kernel.own_process()).map(|_| Reach::ask().usable),
        possible: list("sys/devices/system/cpu/possible"),
        smt: smt(root),
        microcode: microcode.or_else(|| Some(field(cpuinfo?, "microcode")?.to_owned())),
        l2_kib: cache_kib(root, "2"),
        l3_kib: cache_kib(root, "3"),
        numa_nodes: list("sys/devices/system/node/online").map(|nodes| nodes.len()),
        vulnerabilities: vulnerabilities(root),
    }
}

/// Returns the value of the first `key : value` line of /proc/cpuinfo with this key.
pub fn field<'a>(cpuinfo: &'a str, key: &str) -> Option<&'a str> {
    let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(k, _)| k.trim() == key).map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
}

fn model(root: &Root, cpuinfo: Option<&str>) -> Option<String> {
    // Where the device tree names the cores (`arm,cortex-a53`), cpuinfo has only numbers.
    let mut cores: Vec<String> = Vec::new();
    for node in root.list("proc/device-tree/cpus").iter().filter(|name| name.starts_with("cpu@")) {
        let compatible = root.read(&format!("proc/device-tree/cpus/{node}/compatible"));
        if let Some(first) = compatible.as_deref().and_then(|text| text.split('\0').next()) {
            cores.push(first.to_owned());
        }
    }
    cores.dedup();
    if !cores.is_empty() {
        return Some(cores.join(" + "));
    }
    let cpuinfo = cpuinfo?;
    let named = ["model name", "uarch", "cpu model", "cpu", "Processor"].iter().find_map(|key| field(cpuinfo, key));
    match (named, field(cpuinfo, "CPU implementer"), field(cpuinfo, "CPU part")) {
        (Some(name), _, _) => Some(name.to_owned()),
        (None, Some(implementer), Some(part)) => Some(format!("implementer {implementer}, part {part}")),
        _ => None,
    }
}

fn smt(root: &Root) -> Option<bool> {
    root.flag("sys/devices/system/cpu/smt/active").or_else(|| {
        let siblings: CpuSet = root.value("sys/devices/system/cpu/cpu0/topology/thread_siblings_list")?;
        Some(siblings.len() > 1)
    })
}

/// Reads the vulnerabilities, one file each (ABI/testing/sysfs-devices-system-cpu).
fn vulnerabilities(root: &Root) -> Option<BTreeMap<String, String>> {
    let directory = "sys/devices/system/cpu/vulnerabilities";
    let names = root.list(directory).into_iter();
    let all = names.filter_map(|name| Some((name.clone(), root.read(&format!("{directory}/{name}"))?)));
    Some(all.collect::<BTreeMap<_, _>>()).filter(|all| !all.is_empty())
}

fn cache_kib(root: &Root, level: &str) -> Option<u64> {
    let caches = "sys/devices/system/cpu/cpu0/cache";
    let index = root.list(caches).into_iter().find(|index| {
        index.starts_with("index") && root.read(&format!("{caches}/{index}/level")).as_deref() == Some(level)
    })?;
    let size = root.read(&format!("{caches}/{index}/size"))?;
    match size.strip_suffix('M') {
        Some(mib) => mib.parse::<u64>().ok()?.checked_mul(1024),
        None => size.trim_end_matches('K').parse().ok(),
    }
}

/// Reads sysfs and the command line.
pub fn isolation(root: &Root, command_line: Option<&str>) -> Isolation {
    let list = |path: &str| none_or_list::parse(&root.read(path)?);
    let written = |name: &str| command_line.map(|line| parameter(line, name).unwrap_or_default().to_owned());
    Isolation {
        isolated: list("sys/devices/system/cpu/isolated"),
        partitions: list("sys/fs/cgroup/cpuset.cpus.isolated"),
        // The file is missing from kernels built without the feature; they refuse the parameter too.
        nohz_full: list("sys/devices/system/cpu/nohz_full")
            .or_else(|| written("nohz_full").map(|text| none_or_list::parse(&text).unwrap_or_default())),
        rcu_nocbs: written("rcu_nocbs"),
        irqaffinity: written("irqaffinity"),
    }
}

/// Returns the CPUs that this thread may run on now: the mask that it inherited, and that loads inherit from it. [`super::Reach`] has the
/// CPUs on which the kernel would put it on request.
pub fn own_cpus() -> CpuSet {
    if let Ok(cpus) = sched::affinity(0) {
        return cpus.into_iter().collect();
    }
    // The call's set of fixed size is too small for machines with more than 8192 CPUs.
    let status = Root::default().read("proc/thread-self/status").unwrap_or_default();
    let list = field(&status, "Cpus_allowed_list").and_then(|list| list.parse().ok());
    list.unwrap_or_else(|| CpuSet::from_iter([0]))
}

/// Returns the CPUs that are online.
pub fn online_cpus() -> CpuSet {
    Root::default().value("sys/devices/system/cpu/online").unwrap_or_else(own_cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cpu_isolated_and_not_readable_survive_storing() {
        let some = |text: &str| none_or_list::parse(text);
        let before = Isolation { isolated: some(""), partitions: None, nohz_full: some("2-3"), ..Isolation::default() };
        let json = serde_json::to_string(&before).unwrap();
        assert_eq!(serde_json::from_str::<Isolation>(&json).unwrap(), before);
        assert_eq!(some("(null)"), Some(CpuSet::default()));
    }

    #[test]
    fn reads_the_first_processor_of_cpuinfo() {
        let x86 = "processor\t: 0\nmodel name\t: AMD EPYC\nmicrocode\t: 0x1\n\nprocessor\t: 1\nmodel name\t: other\n";
        assert_eq!(field(x86, "model name"), Some("AMD EPYC"));
        let arm = "processor\t: 0\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n";
        let dir = tempfile::tempdir().unwrap();
        let cpu = cpu(&Root::new(dir.path()), Some(arm));
        assert_eq!(cpu.model.as_deref(), Some("implementer 0x41, part 0xd0c"));
    }

    #[test]
    fn weaknesses_and_their_remedies_are_read() {
        let tree = crate::fixture::machine::desktop();
        assert_eq!(cpu(&tree.root, None).vulnerabilities, None);
        tree.write("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
        tree.write("sys/devices/system/cpu/vulnerabilities/l1tf", "Not affected\n");
        let found = cpu(&tree.root, None).vulnerabilities.unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found["meltdown"], "Mitigation: PTI");
        let rows: BTreeMap<_, _> = crate::machine::read(&tree.root).rows().into_iter().collect();
        assert_eq!(rows["vulnerabilities"], "meltdown: Mitigation: PTI; not affected by 1 more");
    }

    #[test]
    fn the_own_cpus_of_this_machine_are_online() {
        let own = own_cpus();
        assert!(!own.is_empty());
        assert!(own.without(&online_cpus()).is_empty());
    }
}
