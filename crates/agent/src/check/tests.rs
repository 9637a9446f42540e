use super::*;
use crate::fixture::machine::{self, Tree};

const PLAIN: Style = Style { width: 80, color: false };

fn points_of(tree: &Tree) -> Vec<Point> {
    points(&tree.root, &machine::read(&tree.root), None)
}

fn point(tree: &Tree, name: &str) -> Point {
    points_of(tree).into_iter().find(|point| point.check == name).unwrap()
}

fn severities(tree: &Tree, wanted: Severity) -> Vec<&'static str> {
    points_of(tree).into_iter().filter(|point| point.severity == wanted).map(|point| point.check).collect()
}

#[test]
fn a_desktop_without_permission_is_unfit_and_says_what_grants_it() {
    let tree = fixture::desktop();
    let (text, exit) = run(&tree.root, None, false, PLAIN);
    assert_eq!(exit, 2);
    insta::assert_snapshot!(text, @r#"
    desk, Linux 6.12.9-amd64, x86_64, 4 CPUs
    NOT fit for real-time measurement
    1 UNFIT, 3 warnings, 1 unknown, 10 pieces of advice, 15 ok

    UNFIT   real-time permission    refused: CAP_SYS_NICE is missing and ulimit -r
                                    is 0
            Without SCHED_FIFO the measurement competes with everything else and
            says little.
            $ printf '%s - rtprio 99\n%s - memlock unlimited\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/90-latido.conf
            - log out and in again after granting it; or run latido with sudo

    warning preemption model        voluntary, says CONFIG_PREEMPT_VOLUNTARY in
                                    /boot/config-6.12.9-amd64
            It bounds how long kernel work for other tasks delays a real-time task.
            boot with preempt=full
            $ sudo apt-get install linux-image-rt-amd64

    warning memory locking          only 8192 KiB (ulimit -l), and CAP_IPC_LOCK is
                                    missing
            A page that must be fetched in the loop costs microseconds to
            milliseconds.
            $ printf '%s - rtprio 99\n%s - memlock unlimited\n' "$USER" "$USER" | sudo tee /etc/security/limits.d/90-latido.conf
            - log out and in again after granting it; or run latido with sudo

    warning frequency scaling       powersave, 400-4700 MHz (intel_pstate)
            A CPU that was slowed down while idle runs its first instructions
            slowly.
            $ sudo latido tune apply frequency:performance

    unknown management interrupts   there is no /dev/cpu/0/msr
            The firmware takes the CPU for 10 us to ms, and the kernel neither sees
            nor prevents it.
            $ sudo modprobe msr

    advice  interrupt threads       only those of drivers that ask for it
            A handler that is a thread has a priority: one outside threads comes
            before every task.
            boot with threadirqs

    advice  turbo                   on
            Frequencies above the nominal one come and go with temperature and with
            other cores.
            $ sudo latido tune apply frequency:performance

    advice  fair server             50ms of 1s on CPUs 0-3; touches busy loops, not
                                    periodic tasks
            Since Linux 6.12 it takes its budget from busy real-time tasks when
            others starve.
            $ sudo latido tune apply throttle:off

    advice  isolated CPUs           none
            On a CPU of its own a real-time task meets no other task and few
            interrupts.
            $ sudo latido tune apply isolate:3
            boot with isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3

    advice  full tickless           no CPU; periodic tasks hardly notice
            Elsewhere the tick interrupts a busy task 100 to 1000 times a second.
            boot with nohz_full=3

    advice  RCU callbacks           on every CPU
            They run in soft interrupts of the CPU that queued them, unless they are
            offloaded.
            boot with rcu_nocbs=3

    advice  interrupt placement     1 on all CPUs: none is kept free
            Each interrupt that a measured CPU serves delays whatever runs there.
            - name the CPUs to be measured and ask again: latido check --cpus 3

    advice  SMT                     on
            A sibling thread shares the core's caches and execution units with the
            measured one.
            $ sudo latido tune apply smt:all
            boot with nosmt

    advice  swap                    1024 MiB
            Locked memory stays, but a machine that swaps delays whoever waits for
            its disk.
            $ sudo swapoff -a

    advice  transparent huge pages  always
            The kernel moves memory around to make them, and stops its users
            meanwhile.
            $ sudo latido tune apply thp:madvise

    ok      high-resolution timers  on, says /boot/config-6.12.9-amd64
    ok      clock source            tsc
    ok      kernel debugging        no costly option, says /boot/config-6.12.9-amd64
    ok      preemptible RCU         yes
    ok      priority inheritance    mutexes of programs can have it
                                    (PTHREAD_PRIO_INHERIT)
    ok      idle states             C10 takes 230 us to leave; a run holds it off
                                    unless told --tune cstates:as-is
    ok      real-time throttle      950 ms of 1000 ms, which this kernel (6.12 or
                                    newer) no longer enforces
    ok      RT group scheduling     off
    ok      timer slack             50 us, for time-sharing threads alone
    ok      load now                0.40 tasks on 4 CPUs in the last minute; 0 now
    ok      hypervisor              none
    ok      stolen time             none since the start
    ok      container               none
    ok      group limits            none on processor time or CPUs
    ok      temperature             48 degrees, critical at 105

    all tunings together, until `latido tune undo` or a reboot (for one run: --tune each):
            $ sudo latido tune apply frequency:performance throttle:off isolate:3 smt:all thp:madvise

    all boot parameters together:
            preempt=full threadirqs isolcpus=domain,managed_irq,3 nohz_full=3 rcu_nocbs=3 nosmt
    "#);
}

#[test]
fn a_tuned_board_is_fit_with_nothing_to_change() {
    let tree = fixture::board();
    assert_eq!(run(&tree.root, None, false, PLAIN).1, 0);
    assert_eq!(severities(&tree, Severity::Ok).len(), CHECKS.len());
}

#[test]
fn an_unreadable_machine_is_unknown_in_every_point() {
    let tree = fixture::empty();
    assert_eq!(run(&tree.root, None, false, PLAIN).1, 3);
    assert_eq!(severities(&tree, Severity::Unknown).len(), CHECKS.len());
}

#[test]
fn a_container_without_budget_names_the_control_group_although_root_has_the_capability() {
    let tree = fixture::container();
    tree.write("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n");
    let found = point(&tree, "real-time permission");
    assert_eq!(found.severity, Severity::Unfit);
    assert!(found.state.contains("/sys/fs/cgroup"), "{}", found.state);
    assert_eq!(run(&tree.root, None, false, PLAIN).1, 2);
}

#[test]
fn each_limit_that_blocks_real_time_is_named() {
    let tree = fixture::desktop();
    let state = |tree: &Tree| point(tree, "real-time permission").state;
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

#[test]
fn in_a_container_root_is_the_remedy_only_where_it_would_help() {
    let tree = fixture::container();
    std::fs::remove_dir_all(tree.root.path("sys/fs/cgroup")).unwrap();
    tree.write("proc/self/limits", "Max realtime priority     0    0\n");
    let first = |tree: &Tree| point(tree, "real-time permission").remedies.remove(0);
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

#[test]
fn json_is_one_document_with_the_points_and_the_verdict() {
    let (text, exit) = run(&fixture::desktop().root, None, true, Style { color: true, ..PLAIN });
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(document["verdict"], "unfit");
    assert_eq!(document["exit"], exit);
    assert_eq!(document["points"].as_array().unwrap().len(), CHECKS.len());
    assert_eq!(document["machine"]["kernel"], "6.12.9-amd64");
    let smt = &document["points"].as_array().unwrap().iter().find(|p| p["check"] == "SMT").unwrap()["remedies"][0];
    assert_eq!(smt["tune"], "smt:all");
}

#[test]
fn colour_adds_only_escape_sequences() {
    let tree = fixture::desktop();
    let (plain, coloured) =
        (run(&tree.root, None, false, PLAIN).0, run(&tree.root, None, false, Style { color: true, ..PLAIN }).0);
    assert!(coloured.contains("\x1b["));
    let mut stripped = String::new();
    for (index, piece) in coloured.split("\x1b[").enumerate() {
        stripped.push_str(if index == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    assert_eq!(stripped, plain);
}

#[test]
fn names_and_reasons_fit_their_columns() {
    for check in CHECKS {
        assert!(!check.why.contains('\n') && check.why.ends_with('.') && check.why.len() < 100, "{}", check.name);
        assert_eq!(CHECKS.iter().filter(|other| other.name == check.name).count(), 1);
    }
}

#[test]
fn this_machine_answers_every_check() {
    let root = Root::default();
    let (text, exit) = run(&root, None, false, PLAIN);
    assert!([0, 2, 3].contains(&exit));
    assert!(CHECKS.iter().all(|check| text.contains(check.name)));
}

/// What a remedy calls a tuning is one, with options that it takes, on every machine that the fixtures know.
#[test]
fn every_tuning_that_is_named_exists() {
    use latido::cli::words;
    use latido_model::catalogue::Kind;
    let mut named = std::collections::BTreeSet::new();
    for tree in [fixture::desktop(), fixture::board(), fixture::container()] {
        for cpus in [None, Some("3".parse().unwrap())] {
            let machine = machine::read(&tree.root);
            for remedy in points(&tree.root, &machine, cpus.as_ref()).into_iter().flat_map(|point| point.remedies) {
                let Remedy::Tune(word) = remedy else { continue };
                let word = words::split(&word, |name| Kind::Tuning.entry(name)?.main_option).unwrap();
                assert!(Kind::Tuning.entry(&word.name).is_some(), "{word:?}");
                for (key, text) in &word.options {
                    let value = Kind::Tuning.value(&word.name, key, text);
                    assert!(Kind::Tuning.objection(&word.name, key, &value).is_none(), "{word:?}");
                }
                named.insert(word.name);
            }
        }
    }
    assert!(named.len() >= 5, "{named:?}");
}
