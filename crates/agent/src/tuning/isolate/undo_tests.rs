//! Undoing an isolation on recorded machines, after interventions by the kernel, by other programs and by crashes.

use super::tests::{V1, isolate, refusal, words};
use crate::{
    fixture::trees,
    setting::Wanted,
    step::{Step, Undone},
};

/// CPUs can be added to this machine: tasks that chose no CPUs may run on those as well.
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
        assert!(new.without(&"0-2".parse().unwrap()).is_empty(), "latido requests no offline CPU: {step:?}");
        if everywhere.contains(tid) {
            assert!(super::tasks::read(&tree.root, *tid).unwrap().kernel, "it chose nothing: {step:?}");
            kernels.push(*tid);
        }
    }
    assert!(!kernels.is_empty() && kernels.len() < everywhere.len());
    let (done, _) = trees::apply(isolate("3").as_ref(), &tree.root).unwrap();
    // Kernels before 6.2 forget the requested affinity with the partition, and also its offline CPUs.
    let (group, tasks): (Vec<&Step>, Vec<&Step>) = done.iter().partition(|step| !matches!(step, Step::Task { .. }));
    group.iter().rev().for_each(|step| assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back));
    kernels.iter().for_each(|tid| say(*tid, "0-3"));
    tasks.iter().rev().for_each(|step| assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back, "{step:?}"));
    assert_eq!(tree.contents(), before);
    // Now another program takes one of them off an online CPU.
    let step = tasks.iter().find(|step| matches!(step, Step::Task { tid, .. } if *tid == kernels[0])).unwrap();
    say(kernels[0], "1-3");
    assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by another program")));
}

/// The same with cgroup v1, where a container's set also contains such a CPU.
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

/// Kernels before 6.2 allow a thread that enters a set all CPUs of the set. If latido is killed before it binds the thread again, that is
/// no other program's choice.
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
    // Another program's choice must stay, and be reported.
    assert!(matches!(undone("2"), Undone::Left(told) if told.contains("CPUs 2 by another program")));
    assert!(tree.root.read("proc/1/status").unwrap().ends_with("\t2"));
    assert_eq!(undone("0,2-3"), Undone::Back);
    trees::undo(&steps, &tree.root);
    assert_eq!(tree.contents(), before);
}

/// The kernel moves a handler with its interrupt. That is no other program's choice, and no reason to move it back.
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
    // The interrupt comes where it was: the kernel moves the thread back.
    go("2");
    step.verify(&tree.root).unwrap();
    go("3");
    assert!(step.verify(&tree.root).is_err());
    // The interrupt was moved, and has come.
    tree.write(line, "1\n");
    go("1");
    step.verify(&tree.root).unwrap();
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "1", "it stays with its interrupt");
    // It was moved back to another CPU, and has not come since then.
    tree.write(line, "0\n");
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "1", "the kernel will take it");
    // It was moved and has never come: the thread is where it was bound.
    go("0-1");
    assert_eq!(step.undo(&tree.root).unwrap(), Undone::Back);
    assert_eq!(on(), "0", "not on its old CPU");
    // The interrupt stays where it was: its thread is a thread like any other.
    tree.write(line, "2\n");
    go("3");
    assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by another program")));
    go("0-1");
    trees::undo(&done, &tree.root);
    assert_eq!(on(), "2");
    // A thread that has never run is allowed all CPUs, until its interrupt comes.
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

/// systemd gives a unit CPUs (AllowedCPUs=) while the controller is on: the kernel would forget them if latido turned it off.
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
        // If latido's own group cannot be removed, latido tries again later, and the controller with it.
        let told = control[0].undo(&tree.root).unwrap_err().to_string();
        assert!(told.contains("as long as /sys/fs/cgroup/latido-isolated/cpuset.cpus exists"), "{told}");
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

/// latido must not remove a group that existed before and contains threads, not even after a crash.
#[test]
fn a_group_of_somebody_else_is_left() {
    for (tree, dir, list) in
        [(trees::cgroup_v1(), V1, "tasks"), (trees::cgroup_v2(), "/sys/fs/cgroup", "cgroup.threads")]
    {
        let steps = isolate("1").wanted(&tree.root).unwrap().steps;
        tree.write(&format!("{dir}/latido-isolated/{list}"), "1\n");
        let before = tree.contents();
        let told = refusal(&tree, "1");
        assert!(told.contains("latido-isolated exists already") && told.contains("rmdir"), "{told}");
        // The group was made after the tuning had looked, and before the tuning made its own.
        let step = steps.iter().rfind(|step| matches!(step, Step::Set { .. })).unwrap();
        let told = format!("{:#}", step.apply(&tree.root).unwrap_err());
        assert!(told.contains("cannot make the control group") && told.contains("exists"), "{told}");
        assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(told) if told.contains("by another program")));
        let step = Step::Group { path: format!("{dir}/latido-isolated") };
        assert!(step.apply(&tree.root).is_err());
        assert!(matches!(step.undo(&tree.root).unwrap(), Undone::Left(_)));
        assert_eq!(tree.contents(), before);
    }
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
    // A task with that number that started at another time is a different task.
    let Step::Task { tid, from, to, start, comm, affinity } = step.clone() else { panic!() };
    let other = Step::Task { tid, from, to, start: start + 1, comm, affinity };
    assert_eq!(other.undo(&tree.root).unwrap(), Undone::Back);
    assert!(words(&tree.root, &format!("{V1}/latido-system/tasks")).contains(&"1".to_string()), "it was not touched");
}
