//! Isolation on recorded machines.

use super::DEF;
use crate::{
    fixture::trees::{self, Tree},
    machine::{
        Root,
        isolated::{Entry, door, entries},
    },
    setting::{Tuning, Wanted},
    step::{Step, Undone},
};
use latido_model::cpus::CpuSet;

pub(super) fn isolate(cpus: &str) -> Box<dyn Tuning> {
    (DEF.new)(toml::Table::from_iter([("cpus".into(), cpus.into())])).unwrap()
}

pub(super) fn refusal(tree: &Tree, cpus: &str) -> String {
    let before = tree.contents();
    let told = trees::apply(isolate(cpus).as_ref(), &tree.root).unwrap_err().to_string();
    assert_eq!(tree.contents(), before, "a refusal changes nothing");
    told
}

pub(super) fn words(root: &Root, path: &str) -> Vec<String> {
    root.read(path).unwrap_or_default().split_whitespace().map(String::from).collect()
}

pub(super) const V1: &str = "/sys/fs/cgroup/cpuset";

#[test]
fn two_sets_share_the_cpus_of_cgroup_v1() {
    let tree = trees::cgroup_v1();
    let before = tree.contents();
    let (done, told) = trees::apply(isolate("1").as_ref(), &tree.root).unwrap();
    for (file, text) in [
        ("latido-system/cpuset.cpus", "0"),
        ("latido-system/cpuset.mems", "0"),
        ("latido-system/cpuset.sched_load_balance", "1"),
        ("latido-isolated/cpuset.cpus", "1"),
        ("latido-isolated/cpuset.cpu_exclusive", "1"),
        ("latido-isolated/cpuset.sched_load_balance", "0"),
        ("cpuset.sched_load_balance", "0"),
        ("docker/cpuset.cpus", "0"),
        ("docker/box/cpuset.cpus", "0"),
    ] {
        assert_eq!(tree.root.read(&format!("{V1}/{file}")).as_deref(), Some(text), "{file}");
    }
    // In the recording, bound kernel threads have PF_NO_SETAFFINITY. Only they may be left in the root.
    let left = words(&tree.root, &format!("{V1}/tasks"));
    assert!(left.len() > 10);
    for tid in &left {
        // The programs that recorded the tree have ended meanwhile.
        let Some(thread) = super::tasks::read(&tree.root, tid.parse().unwrap()) else { continue };
        assert!(thread.bound && thread.kernel, "{thread:?} stayed");
    }
    let moved = words(&tree.root, &format!("{V1}/latido-system/tasks"));
    assert!(moved.contains(&"1".to_string()), "init moves too");
    for tid in &moved {
        let thread = super::tasks::read(&tree.root, tid.parse().unwrap()).unwrap();
        assert_eq!(thread.affinity, CpuSet::from_iter([0]), "{thread:?}");
    }
    let told = told.unwrap();
    assert!(told.contains(&format!("{} threads moved", moved.len())), "{told}");
    assert!(told.contains("bound to CPU 1") && told.contains("ksoftirqd/1"), "{told}");
    assert!(!told.contains("migration/0"), "{told}");
    let doors = entries(&tree.root);
    let threads = format!("{V1}/latido-isolated/tasks");
    assert_eq!(doors, [Entry { cpus: CpuSet::from_iter([1]), threads, process: None }]);
    assert!(refusal(&tree, "1").contains("isolated already"));
    trees::undo(&done, &tree.root);
    assert_eq!(tree.contents(), before);
    // As from a journal that is read twice.
    for step in done.iter().rev() {
        assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Back), "{step:?}");
    }
    assert_eq!(tree.contents(), before);
}

#[test]
fn a_partition_takes_the_cpus_of_cgroup_v2() {
    for (tree, cpus, rest) in
        [(trees::cgroup_v2(), "2-3", "0-1"), (trees::arm(), "3", "0-2"), (trees::server(), "4-7", "0-3")]
    {
        let before = tree.contents();
        let tuning = isolate(cpus);
        let (done, told) = trees::apply(tuning.as_ref(), &tree.root).unwrap();
        let dir = "/sys/fs/cgroup";
        for (file, text) in
            [("latido-isolated/cgroup.type", "threaded"), ("latido-isolated/cpuset.cpus.partition", "isolated")]
        {
            assert_eq!(tree.root.read(&format!("{dir}/{file}")).as_deref(), Some(text), "{file}");
        }
        let given = words(&tree.root, &format!("{dir}/cgroup.subtree_control"));
        assert_eq!(given.last().unwrap(), "cpuset");
        assert!(given.contains(&"memory".into()), "controllers in use stay: {given:?}");
        let rest: CpuSet = rest.parse().unwrap();
        for thread in super::tasks::all(&tree.root).iter().filter(|thread| !thread.bound) {
            assert!(thread.affinity.without(&rest).is_empty(), "{thread:?}");
        }
        assert!(told.unwrap().contains(&format!("bound to CPU {}", cpus.parse::<CpuSet>().unwrap())));
        let entry = &entries(&tree.root)[0];
        assert_eq!(entry.cpus, cpus.parse().unwrap());
        assert_eq!(entry.process.as_deref(), Some("/sys/fs/cgroup/cgroup.procs"));
        trees::undo(&done, &tree.root);
        assert_eq!(tree.contents(), before);
    }
}

#[test]
fn older_kernels_get_a_partition_for_each_cpu() {
    let tree = trees::cgroup_v2();
    tree.write("proc/sys/kernel/osrelease", "5.15.0\n");
    let before = tree.contents();
    let (done, _) = trees::apply(isolate("1,3").as_ref(), &tree.root).unwrap();
    for cpu in ["1", "3"] {
        let group = format!("sys/fs/cgroup/latido-isolated-{cpu}");
        assert_eq!(tree.root.read(&format!("{group}/cpuset.cpus")).as_deref(), Some(cpu));
        assert_eq!(tree.root.read(&format!("{group}/cpuset.cpus.partition")).as_deref(), Some("root"));
    }
    let doors = entries(&tree.root);
    assert_eq!(door(&doors, Some(3), true).unwrap().cpus, CpuSet::from_iter([3]));
    assert!(door(&doors, Some(0), false).is_none() && door(&doors, None, true).is_none());
    assert!(door(&doors, None, false).is_some());
    trees::undo(&done, &tree.root);
    assert_eq!(tree.contents(), before);
}

#[test]
fn what_a_thread_chose_is_remembered_before_its_group_changes() {
    for tree in [trees::cgroup_v2(), trees::arm()] {
        let steps = isolate("3").wanted(&tree.root).unwrap().steps;
        let group = steps.iter().position(|step| matches!(step, Step::Set { .. })).unwrap();
        let chosen = steps.iter().position(|step| {
            let one = CpuSet::from_iter([1]);
            matches!(step, Step::Task { comm, affinity: Some((before, _)), .. } if comm == "sleep" && *before == one)
        });
        assert!(chosen.unwrap() < group, "undone after the group is gone");
    }
}

#[test]
fn a_partition_that_the_kernel_calls_invalid_is_an_error_with_its_reason() {
    let tree = trees::cgroup_v2();
    let Wanted { steps, .. } = isolate("3").wanted(&tree.root).unwrap();
    let step = steps.iter().find(|step| matches!(step, Step::Set { .. })).unwrap();
    step.apply(&tree.root).unwrap();
    step.verify(&tree.root).unwrap();
    // Linux 6.12 answers this if a sibling claims the CPU.
    let file = "sys/fs/cgroup/latido-isolated/cpuset.cpus.partition";
    tree.write(file, "isolated invalid (Cpu list in cpuset.cpus not exclusive)\n");
    let told = step.verify(&tree.root).unwrap_err().to_string();
    assert!(told.contains("isolated invalid (Cpu list in cpuset.cpus not exclusive)"), "{told}");
}

#[test]
fn what_forks_while_it_is_moved_is_asked_for_again_and_a_ghost_is_not_asked_for_ever() {
    let tree = trees::cgroup_v1();
    let Wanted { steps, pursuit, .. } = isolate("1").wanted(&tree.root).unwrap();
    steps.iter().for_each(|step| step.apply(&tree.root).unwrap());
    let mut pursuit = pursuit.unwrap();
    let first = pursuit.left(&tree.root).unwrap();
    first.iter().for_each(|step| step.apply(&tree.root).unwrap());
    // A child that init created before init moved.
    let stat = tree.root.read("proc/1/stat").unwrap().replacen('1', "4999", 1);
    tree.write("proc/4999/stat", &stat);
    tree.write("proc/4999/status", &tree.root.read("proc/1/status").unwrap());
    let tasks = format!("{V1}/tasks");
    let list = format!("{}\n4999\n", tree.root.read(&tasks).unwrap());
    tree.write(&tasks, &list);
    for _ in 0..3 {
        let left = pursuit.left(&tree.root).unwrap();
        assert!(matches!(&left[..], [Step::Task { tid: 4999, .. }]), "{left:?}");
    }
    assert!(pursuit.left(&tree.root).unwrap().is_empty(), "it never moves: three times is enough");
}

#[test]
fn impossible_isolation_is_refused_with_its_reason() {
    let tree = trees::cgroup_v1();
    assert!(refusal(&tree, "0-1").contains("all CPUs (0,1)"));
    assert!(refusal(&tree, "1-2").contains("CPU 2 is not online: the online CPUs are 0,1"));
    tree.write(&format!("{V1}/docker/box/cpuset.cpus"), "1\n");
    let told = refusal(&tree, "1");
    assert!(told.contains("docker/box has no CPU but 1") && told.contains("echo 0 >"), "{told}");
    tree.write("sys/devices/system/cpu/online", "0\n");
    assert!(refusal(&tree, "0").contains("the only one"));
    tree.write("proc/mounts", "proc /proc proc rw 0 0\n");
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    assert!(refusal(&tree, "1").contains("mount -t cgroup2"));
}
