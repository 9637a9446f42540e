use super::*;
use crate::fixture::machine::{self as fixture, FakeMachine};
use latido_model::check::{Fitness, Grade};

fn points_of(tree: &FakeMachine) -> Vec<Point> {
    points(&tree.root, &machine::read(&tree.root), None)
}

fn point(tree: &FakeMachine, name: &str) -> Point {
    points_of(tree).into_iter().find(|point| point.check == name).unwrap()
}

fn severities(tree: &FakeMachine, wanted: Severity) -> Vec<String> {
    points_of(tree).into_iter().filter(|point| point.severity == wanted).map(|point| point.check).collect()
}

/// The report tests its page of a desktop with exactly these points.
#[test]
fn a_desktop_without_permission_is_unfit_and_says_what_grants_it() {
    let points = points_of(&fixture::desktop());
    assert_eq!(Fitness::of(&points), Fitness::Unfit);
    let expected = include_str!("../../../report/src/check/desktop.json");
    assert_eq!(points, serde_json::from_str::<Vec<Point>>(expected).unwrap());
}

#[test]
fn a_tuned_board_is_fit_with_nothing_to_change() {
    let tree = fixture::board();
    assert_eq!(Fitness::of(&points_of(&tree)), Fitness::Fit);
    assert_eq!(severities(&tree, Severity::Ok).len(), QUESTIONS.len());
}

#[test]
fn an_unreadable_machine_is_unknown_in_every_point() {
    let tree = fixture::empty();
    assert_eq!(Fitness::of(&points_of(&tree)), Fitness::Unknown);
    assert_eq!(severities(&tree, Severity::Unknown).len(), QUESTIONS.len());
}

#[test]
fn a_container_without_budget_names_the_control_group_although_root_has_the_capability() {
    let tree = fixture::container();
    tree.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
    let found = point(&tree, "real-time permission");
    assert_eq!(found.severity, Severity::Unfit);
    assert!(found.state.contains("/sys/fs/cgroup"), "{}", found.state);
    assert_eq!(Fitness::of(&points_of(&tree)), Fitness::Unfit);
}

#[test]
fn each_limit_that_blocks_real_time_is_named() {
    let tree = fixture::desktop();
    let state = |tree: &FakeMachine| point(tree, "real-time permission").state;
    let limits = |soft: &str| tree.write("proc/self/limits", &format!("Max realtime priority     {soft}   99\n"));
    assert!(state(&tree).contains("CAP_SYS_NICE is missing and ulimit -r is 0"), "{}", state(&tree));
    limits("50");
    assert_eq!(point(&tree, "real-time permission").severity, Severity::Warning);
    limits("99");
    assert_eq!(point(&tree, "real-time permission").severity, Severity::Ok);
    limits("0");
    tree.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t2\n");
    assert!(state(&tree).contains("seccomp"), "{}", state(&tree));
    tree.write("proc/self/uid_map", "0 100000 65536\n");
    assert!(state(&tree).contains("user namespace"), "{}", state(&tree));
    tree.write("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "0\n");
    tree.write("proc/self/cgroup", "3:cpu:/\n");
    assert!(state(&tree).contains("cpu.rt_runtime_us is 0"), "{}", state(&tree));
}

/// latido warns of a group that has less of each period than all real-time tasks together: the kernel stops its tasks first.
#[test]
fn a_group_with_less_than_all_is_warned_of() {
    let tree = fixture::desktop();
    tree.write("sys/fs/cgroup/cpu/cpu.rt_runtime_us", "950000\n");
    tree.write("proc/self/cgroup", "3:cpu:/jobs\n");
    for (us, severity) in [("5000\n", Severity::Warning), ("950000\n", Severity::Advice)] {
        tree.write("sys/fs/cgroup/cpu/jobs/cpu.rt_runtime_us", us);
        let found = point(&tree, "RT group scheduling");
        assert_eq!(found.severity, severity, "{}", found.state);
    }
}

#[test]
fn in_a_container_root_is_the_remedy_only_where_it_would_help() {
    let tree = fixture::container();
    std::fs::remove_dir_all(tree.root.path("sys/fs/cgroup")).unwrap();
    tree.write("proc/self/limits", "Max realtime priority     0    0\n");
    let first = |tree: &FakeMachine| point(tree, "real-time permission").remedies.remove(0);
    let as_root = Remedy::Do("run latido as root: this container allows it".into());
    tree.write("proc/self/status", "CapEff:\t0000000000000000\nCapBnd:\t000001ffffffffff\n");
    assert_eq!(first(&tree), as_root);
    tree.write("proc/self/status", "CapEff:\t0000000000000000\nCapBnd:\t00000000a80425fb\n");
    assert_ne!(first(&tree), as_root);
}

#[test]
fn permission_asked_alone_is_the_same_point() {
    let tree = fixture::desktop();
    let machine = machine::read(&tree.root);
    assert_eq!(realtime_permission(&tree.root, &machine), point(&tree, "real-time permission"));
}

#[test]
fn lock_debugging_and_coarse_clocks_make_a_machine_unfit() {
    let tree = fixture::board();
    tree.write("boot/config-6.6.31-rt31-v8", "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_PROVE_LOCKING=y\n");
    assert_eq!(severities(&tree, Severity::Unfit), ["kernel debugging"]);
    tree.write("boot/config-6.6.31-rt31-v8", "CONFIG_DEBUG_PREEMPT=y\nCONFIG_FUTEX_PI=y\n");
    assert_eq!(severities(&tree, Severity::Unfit), ["high-resolution timers"]);
    assert_eq!(severities(&tree, Severity::Warning), ["kernel debugging"]);
    let clock = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    for (source, severity) in [("jiffies", Severity::Unfit), ("hpet", Severity::Warning), ("timer1", Severity::Ok)] {
        tree.write(clock, source);
        assert_eq!(point(&tree, "clock source").severity, severity, "{source}");
    }
}

/// latido does not advise what a run refuses: a CPU of a partition that latido is not in.
#[test]
fn isolated_cpus_are_advised_where_a_run_can_measure_them() {
    let tree = fixture::desktop();
    tree.write("sys/devices/system/cpu/isolated", "2-3\n");
    let asked = |usable: Option<&str>| {
        let mut machine = machine::read(&tree.root);
        machine.cpu.usable = usable.map(|list| list.parse().unwrap());
        let points = points(&tree.root, &machine, None);
        points.into_iter().find(|point| point.check == "isolated CPUs").unwrap()
    };
    for usable in [None, Some("0-3")] {
        let found = asked(usable);
        assert_eq!((found.severity, found.state.as_str()), (Severity::Ok, "2,3; measure them with --cpus 2,3"));
    }
    let found = asked(Some("0-2"));
    assert_eq!(found.severity, Severity::Advice);
    assert_eq!(found.state, "2,3; latido's cpuset does not allow 3; measure them with --cpus 2");
    assert_eq!(found.remedies, [Remedy::Do("to measure CPU 3, start latido in the control group that owns it".into())]);
}

/// latido proposes to change the preemption model at run time only where it can read the file: some hosts of virtual machines refuse it
/// even to root.
#[test]
fn the_model_is_to_be_changed_where_its_file_can_be_read() {
    let tree = fixture::desktop();
    let remedies = |tree: &FakeMachine| point(tree, "preemption model").remedies;
    let (boot, tune) = (Remedy::Boot("preempt=full".into()), Remedy::Tune("preempt:full".into()));
    assert!(remedies(&tree).contains(&boot) && !remedies(&tree).contains(&tune), "{:?}", remedies(&tree));
    tree.write("sys/kernel/debug/sched/preempt", "none (voluntary) full\n");
    assert!(remedies(&tree).contains(&boot) && remedies(&tree).contains(&tune), "{:?}", remedies(&tree));
}

/// Fitness depends on the use: a virtual machine without preemption is good for comparisons and soft deadlines, and no more.
#[test]
fn fitness_is_graded_by_use() {
    let tree = fixture::board();
    let grades = |tree: &FakeMachine| {
        let all = Grade::all(&points_of(tree)).into_iter();
        all.map(|grade| (grade.fitness, grade.because.join(", "))).collect::<Vec<_>>()
    };
    let fit = || (Fitness::Fit, String::new());
    assert_eq!(grades(&tree), [fit(), fit(), fit()]);
    tree.write("proc/sys/kernel/version", "#1 SMP Debian\n");
    tree.write("sys/kernel/realtime", "0\n");
    tree.write("boot/config-6.6.31-rt31-v8", "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_NONE=y\nCONFIG_FUTEX_PI=y\n");
    tree.write("proc/device-tree/hypervisor/compatible", "linux,kvm\0");
    let hard = (Fitness::Unfit, "preemption model, hypervisor".to_string());
    assert_eq!(grades(&tree), [fit(), fit(), hard]);
    tree.write("proc/stat", "cpu  9000 10 3000 90000 20 0 50 9000 0 0\n");
    let soft = (Fitness::Unfit, "stolen time".to_string());
    assert_eq!(grades(&tree)[..2], [fit(), soft]);
    assert_eq!(grades(&fixture::empty())[0].0, Fitness::Unknown);
}

#[test]
fn names_and_reasons_fit_their_columns() {
    for question in QUESTIONS {
        assert!(
            !question.why.contains('\n') && question.why.ends_with('.') && question.why.len() < 100,
            "{}",
            question.name
        );
        assert_eq!(QUESTIONS.iter().filter(|other| other.name == question.name).count(), 1);
    }
}

#[test]
fn this_machine_answers_every_question() {
    let root = Root::default();
    let points = points(&root, &machine::read(&root), None);
    assert!(points.iter().map(|point| point.check.as_str()).eq(QUESTIONS.iter().map(|question| question.name)));
    let silent: Vec<&Point> = points.iter().filter(|point| point.state.is_empty()).collect();
    assert!(silent.is_empty(), "{silent:?}");
    let timers = points.iter().find(|point| point.check == "high-resolution timers").unwrap();
    assert_ne!(timers.severity, Severity::Unknown, "the clock itself tells: {timers:?}");
}

/// Each tuning that a remedy names exists, and accepts the options, on every machine of the fixtures.
#[test]
fn every_tuning_that_is_named_exists() {
    use crate::catalogue::Installed;
    use latido_model::catalogue::{Catalogue, Kind};
    let tunings = (&Installed as &dyn Catalogue).list(Kind::Tuning);
    let mut named = std::collections::BTreeSet::new();
    for tree in [fixture::desktop(), fixture::board(), fixture::container()] {
        for cpus in [None, Some("3".parse().unwrap())] {
            let machine = machine::read(&tree.root);
            for remedy in points(&tree.root, &machine, cpus.as_ref()).into_iter().flat_map(|point| point.remedies) {
                let (Remedy::Tune(word) | Remedy::TuneForBusy(word)) = remedy else { continue };
                // Each is `name:value` with one value, for the main option.
                let (name, text) = word.split_once(':').unwrap();
                let option = tunings.entry(name).unwrap().main_option.unwrap();
                let value = tunings.value(name, option, text);
                assert!(!text.contains('=') && tunings.objection(name, option, &value).is_none(), "{word}");
                named.insert(name.to_string());
            }
        }
    }
    assert!(named.len() >= 5, "{named:?}");
}
