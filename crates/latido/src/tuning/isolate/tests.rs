//! Isolation on recorded machines.

use super::{DEF, Entry, door, entries};
use crate::{
    cpus::CpuSet,
    machine::Root,
    tuning::{
        Tuning, Wanted,
        step::{Step, Undone},
        trees::{self, Tree},
    },
};

fn isolate(cpus: &str) -> Box<dyn Tuning> {
    (DEF.new)(toml::Table::from_iter([("cpus".into(), cpus.into())])).unwrap()
}

fn refusal(tree: &Tree, cpus: &str) -> String {
    let before = tree.contents();
    let told = trees::apply(isolate(cpus).as_ref(), &tree.root).unwrap_err().to_string();
    assert_eq!(tree.contents(), before, "a refusal changes nothing");
    told
}

fn words(root: &Root, path: &str) -> Vec<String> {
    root.read(path).unwrap_or_default().split_whitespace().map(String::from).collect()
}

const V1: &str = "/sys/fs/cgroup/cpuset";

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
    // Recorded: bound kernel threads have PF_NO_SETAFFINITY; nothing else is left in the root.
    let left = words(&tree.root, &format!("{V1}/tasks"));
    assert!(left.len() > 10);
    for tid in &left {
        // The programs that recorded the tree ended meanwhile.
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
    // From a journal that was read twice.
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

/// A machine to which CPUs can be added: tasks that chose nothing are allowed those as well.
#[test]
fn cpus_that_are_offline_are_nobodys_choice() {
    let tree = trees::cgroup_v2();
    let everywhere: Vec<i32> =
        super::tasks::all(&tree.root).iter().filter(|thread| thread.affinity.len() == 4).map(|t| t.tid).collect();
    let status = |tid: i32| format!("proc/{tid}/status");
    let say = |tid: i32, cpus: &str| {
        let text = tree.root.read(&status(tid)).unwrap();
        let (begin, _) = text.split_once("Cpus_allowed_list:").unwrap();
        tree.write(&status(tid), &format!("{begin}Cpus_allowed_list:\t{cpus}\n"));
    };
    everywhere.iter().for_each(|tid| say(*tid, "0-7"));
    let before = tree.contents();
    let first = |step: &Step| matches!(step, Step::Set { .. });
    let steps = isolate("3").wanted(&tree.root).unwrap().steps;
    let mut kernels = Vec::new();
    for step in steps.iter().take_while(|step| !first(step)) {
        let Step::Task { tid, affinity: Some((_, new)), .. } = step else { continue };
        assert!(new.without(&"0-2".parse().unwrap()).is_empty(), "no offline CPU is asked for: {step:?}");
        if everywhere.contains(tid) {
            assert!(super::tasks::read(&tree.root, *tid).unwrap().kernel, "it chose nothing: {step:?}");
            kernels.push(*tid);
        }
    }
    assert!(!kernels.is_empty() && kernels.len() < everywhere.len());
    let (done, _) = trees::apply(isolate("3").as_ref(), &tree.root).unwrap();
    // Kernels before 6.2 forget with the partition what was asked for, those before 6.3 the offline CPUs as well.
    let (group, tasks): (Vec<&Step>, Vec<&Step>) = done.iter().partition(|step| !matches!(step, Step::Task { .. }));
    group.iter().rev().for_each(|step| assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back));
    kernels.iter().for_each(|tid| say(*tid, "0-3"));
    tasks.iter().rev().for_each(|step| assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back, "{step:?}"));
    assert_eq!(tree.contents(), before);
    // Now somebody else takes one of them off a CPU that is online.
    let step = tasks.iter().find(|step| matches!(step, Step::Task { tid, .. } if *tid == kernels[0])).unwrap();
    say(kernels[0], "1-3");
    assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by somebody else")));
}

/// The same with cgroup v1, where the set of a container has such a CPU too.
#[test]
fn a_set_with_an_offline_cpu_holds_no_choices() {
    let tree = trees::cgroup_v1();
    let steps = || isolate("1").wanted(&tree.root).unwrap().steps.len();
    let before = steps();
    for set in ["docker", "docker/box"] {
        tree.write(&format!("{V1}/{set}/cpuset.cpus"), "0-2\n");
    }
    assert_eq!(steps(), before, "its tasks chose nothing");
}

/// Kernels before 6.2 allow a thread that enters a set all its CPUs: killed before it was bound again, it has no stranger's.
#[test]
fn a_thread_that_entered_and_was_not_bound_yet_gets_its_choice_back() {
    let tree = trees::cgroup_v1();
    tree.write("sys/devices/system/cpu/online", "0-3\n");
    tree.write(&format!("{V1}/cpuset.cpus"), "0-3\n");
    let list = |cpus: &str| tree.write("proc/1/status", &format!("Name:\tinit\nCpus_allowed_list:\t{cpus}\n"));
    list("0-1");
    let before = tree.contents();
    let Wanted { steps, pursuit, .. } = isolate("1").wanted(&tree.root).unwrap();
    steps.iter().for_each(|step| step.apply(&tree.root).unwrap());
    let moves = pursuit.unwrap().left(&tree.root).unwrap();
    let step = moves.iter().find(|step| matches!(step, Step::Task { tid: 1, .. })).unwrap();
    let undone = |now: &str| {
        step.apply(&tree.root).unwrap();
        list(now);
        step.undo(&tree.root).unwrap()
    };
    // What somebody wanted stays, and is told.
    assert!(matches!(undone("2"), Undone::Left(told) if told.contains("CPUs 2 by somebody else")));
    assert!(tree.root.read("proc/1/status").unwrap().ends_with("\t2"));
    assert_eq!(undone("0,2-3"), Undone::Back);
    trees::undo(&steps, &tree.root);
    assert_eq!(tree.contents(), before);
}

/// The kernel takes a handler where its interrupt goes: that is no stranger's doing, and no reason to take it back.
#[test]
fn a_handler_goes_with_its_interrupt() {
    let tree = trees::cgroup_v2();
    let tid = tree.thread("irq/24-eth0-rx-0");
    let (status, line) = (format!("proc/{tid}/status"), "proc/irq/24/effective_affinity_list");
    let on = || tree.root.read(&status).unwrap().split_once("Cpus_allowed_list:").unwrap().1.trim().to_owned();
    let go = |cpu: &str| tree.write(&status, &format!("Name:\tirq/24-eth0-rx-0\nCpus_allowed_list:\t{cpu}\n"));
    let (done, _) = trees::apply(isolate("2-3").as_ref(), &tree.root).unwrap();
    let ours = |step: &&Step| matches!(step, Step::Task { tid: own, .. } if own.to_string() == tid);
    let step = done.iter().find(ours).unwrap();
    assert_eq!(on(), "0-1", "it left CPU 2");
    step.verify(&tree.root).unwrap();
    // The interrupt comes where it was: the thread goes back to it.
    go("2");
    step.verify(&tree.root).unwrap();
    go("3");
    assert!(step.verify(&tree.root).is_err());
    // The interrupt was moved, and came.
    tree.write(line, "1\n");
    go("1");
    step.verify(&tree.root).unwrap();
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "1", "it stays with its interrupt");
    // It was moved back to another CPU and did not come since then.
    tree.write(line, "0\n");
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "1", "the kernel will take it");
    // It was moved and never came: the thread is where it was bound.
    go("0-1");
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "0", "not on its old CPU");
    // It stays where it was: then it is a thread like any other.
    tree.write(line, "2\n");
    go("3");
    assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by somebody else")));
    go("0-1");
    trees::undo(&done, &tree.root);
    assert_eq!(on(), "2");
    // One that has never run yet is allowed all CPUs, until its interrupt comes.
    go("0-3");
    let (done, _) = trees::apply(isolate("2-3").as_ref(), &tree.root).unwrap();
    let step = done.iter().find(ours).unwrap();
    go("2");
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "2");
    go("0-1");
    trees::undo(&done, &tree.root);
    assert_eq!(on(), "0-3");
}

/// systemd gives a unit CPUs (AllowedCPUs=) while the controller is on: the kernel would forget them with it.
#[test]
fn a_controller_that_a_group_was_set_up_with_stays_on() {
    for (file, text) in [("cpuset.cpus", "0-1\n"), ("cpuset.mems", "0\n"), ("cpuset.cpus.exclusive", "1\n")] {
        let tree = trees::cgroup_v2();
        let (done, _) = trees::apply(isolate("3").as_ref(), &tree.root).unwrap();
        let (control, rest): (Vec<&Step>, Vec<&Step>) =
            done.iter().partition(|step| matches!(step, Step::Controller { .. }));
        for file in ["cpuset.cpus", "cpuset.mems", "cpuset.cpus.exclusive"] {
            tree.write(&format!("sys/fs/cgroup/system.slice/{file}"), "\n");
        }
        tree.write(&format!("sys/fs/cgroup/system.slice/{file}"), text);
        // A group of its own that would not go is tried again, and the controller with it.
        let told = control[0].undo(&tree.root).unwrap_err().to_string();
        assert!(told.contains("as long as /sys/fs/cgroup/latido-isolated/cpuset.cpus is there"), "{told}");
        rest.iter().rev().for_each(|step| assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back));
        let Undone::Left(told) = control[0].undo(&tree.root).unwrap() else { panic!("{file} is lost") };
        assert!(told.contains(&format!("system.slice/{file} was set meanwhile")), "{told}");
        let given = || words(&tree.root, "/sys/fs/cgroup/cgroup.subtree_control");
        assert!(given().contains(&"cpuset".into()));
        tree.write(&format!("sys/fs/cgroup/system.slice/{file}"), "\n");
        assert_eq!(control[0].undo(&tree.root).unwrap(), Undone::Back);
        assert!(!given().contains(&"cpuset".into()), "nobody's files say anything");
    }
}

/// A group that was there before, with threads in it, is nobody's to remove, not even after a crash.
#[test]
fn a_group_of_somebody_else_is_left() {
    for (tree, dir, list) in
        [(trees::cgroup_v1(), V1, "tasks"), (trees::cgroup_v2(), "/sys/fs/cgroup", "cgroup.threads")]
    {
        let steps = isolate("1").wanted(&tree.root).unwrap().steps;
        tree.write(&format!("{dir}/latido-isolated/{list}"), "1\n");
        let before = tree.contents();
        let told = refusal(&tree, "1");
        assert!(told.contains("latido-isolated is there already") && told.contains("rmdir"), "{told}");
        // It was made after the tuning had looked, and before it made its own.
        let step = steps.iter().rfind(|step| matches!(step, Step::Set { .. })).unwrap();
        let told = format!("{:#}", step.apply(&tree.root).unwrap_err());
        assert!(told.contains("cannot make the control group") && told.contains("exists"), "{told}");
        assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by somebody else")));
        let step = Step::Group { path: format!("{dir}/latido-isolated") };
        assert!(step.apply(&tree.root).is_err());
        assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(_)));
        assert_eq!(tree.contents(), before);
    }
}

#[test]
fn a_partition_that_the_kernel_calls_invalid_is_an_error_with_its_reason() {
    let tree = trees::cgroup_v2();
    let Wanted { steps, .. } = isolate("3").wanted(&tree.root).unwrap();
    let step = steps.iter().find(|step| matches!(step, Step::Set { .. })).unwrap();
    step.apply(&tree.root).unwrap();
    step.verify(&tree.root).unwrap();
    // As Linux 6.12 answers where a sibling claims the CPU.
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
    // A child of init that was born before init moved.
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
    assert!(refusal(&tree, "1-2").contains("CPU 2 is not there: online are 0,1"));
    tree.write(&format!("{V1}/docker/box/cpuset.cpus"), "1\n");
    let told = refusal(&tree, "1");
    assert!(told.contains("docker/box has no CPU but 1") && told.contains("echo 0 >"), "{told}");
    tree.write("sys/devices/system/cpu/online", "0\n");
    assert!(refusal(&tree, "0").contains("the only one"));
    tree.write("proc/mounts", "proc /proc proc rw 0 0\n");
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    assert!(refusal(&tree, "1").contains("mount -t cgroup2"));
}

#[test]
fn what_others_did_meanwhile_is_left_and_told() {
    let tree = trees::cgroup_v1();
    let (done, _) = trees::apply(isolate("1").as_ref(), &tree.root).unwrap();
    let moved =
        |tid: i32| done.iter().find(|step| matches!(step, Step::Task { tid: own, to: Some(_), .. } if *own == tid));
    let step = moved(1).unwrap();
    tree.write("proc/1/cgroup", "1:cpuset:/elsewhere\n");
    assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("/elsewhere")));
    // A task of that number that started at another time is another task.
    let Step::Task { tid, from, to, start, comm, affinity } = step.clone() else { panic!() };
    let other = Step::Task { tid, from, to, start: start + 1, comm, affinity };
    assert_eq!(other.undo(&tree.root).unwrap(), Undone::Back);
    assert!(words(&tree.root, &format!("{V1}/latido-system/tasks")).contains(&"1".to_string()), "it was not touched");
}
