//! `latido tune` on a recorded machine: it applies, checks and undoes settings byte for byte; after SIGKILL at every step, after a reboot,
//! and without permission.

use crate::common::{self, Need};

use common::{World, stderr, text, trees};
use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
};

/// Added by hand to the recorded machine: no emulated processor divides its cache.
const CACHE: (&str, &str) = ("sys/fs/resctrl/schemata", "    MB:0=100\n    L3:0=fffff\n");

/// Tunings that change every kind of thing there, except control groups, whose hundred threads would need a step each.
const WORDS: &[&str] = &[
    "timers",
    "throttle:off,server=as-is",
    "vm-stat:60s",
    "preempt:full",
    "workqueues:2",
    "cache:1,ways=2",
    "nic:eth0,threaded=on",
    "rcu:cpus=0",
    "irq-priority:24,prio=80",
];

/// The number of changes that these tunings make.
const CHANGES: usize = 18;

/// A recorded machine with four CPUs: PREEMPT_RT, cgroup v2, callback threads, a network device.
struct Fake {
    world: World,
    root: tempfile::TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Fake {
    fn new() -> Self {
        let root = trees::directory();
        trees::plant(trees::CGROUP_V2, root.path());
        fs::create_dir_all(root.path().join("sys/fs/resctrl")).unwrap();
        fs::write(root.path().join(CACHE.0), CACHE.1).unwrap();
        let before = files(root.path());
        Self { world: World::new(), root, before }
    }

    fn tune(&self, words: &[&str], fault: Option<usize>) -> std::process::Output {
        let root = self.root.path().display().to_string();
        let mut command = self.world.latido(["tune", "--sysroot", &root]);
        command.args(words);
        if let Some(point) = fault {
            command.env("LATIDO_FAULT", format!("agent:{point}"));
        }
        command.output().unwrap()
    }

    fn apply(&self, fault: Option<usize>) -> std::process::Output {
        self.tune(&[&["apply"], WORDS].concat(), fault)
    }

    fn status(&self) -> serde_json::Value {
        common::json(&self.tune(&["status", "--json"], None), 0)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.root.path().join(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.root.path().join(path), text).unwrap();
    }

    fn is_as_before(&self, when: &str) {
        assert!(files(self.root.path()) == self.before, "{when}: not as before");
        assert!(!self.journal().exists(), "{when}: {}", fs::read_to_string(self.journal()).unwrap_or_default());
    }

    fn journal(&self) -> PathBuf {
        self.world.state().join("journal.jsonl")
    }
}

fn files(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.insert(path.clone(), fs::read(&path).unwrap_or_default());
    }
    found
}

#[test]
fn applied_shown_and_undone() {
    let fake = Fake::new();
    let said = text(&fake.apply(None));
    for line in [
        "timers: in force",
        "  /proc/sys/kernel/timer_migration: 1 -> 0",
        "  /sys/kernel/debug/sched/preempt: lazy -> full",
        "  eth0 rx-usecs: 3 -> 0",
    ] {
        assert!(said.lines().any(|other| other == line), "{line}\n{said}");
    }
    for line in [" (rcuop/3): CPUs 0-2 -> CPUs 0", " (irq/24-eth0-rx-0): fifo 50 -> fifo 80"] {
        assert!(said.lines().any(|other| other.starts_with("  task ") && other.ends_with(line)), "{line}\n{said}");
    }
    assert_eq!(fake.read("sys/fs/resctrl/schemata"), "    MB:0=100\n    L3:0=3ffff\n");
    let status = fake.status();
    let applied = status["applied"].as_array().unwrap();
    assert_eq!(applied.len(), CHANGES);
    assert!(applied.iter().all(|line| line["in_force"] == true), "{status:#}");
    assert_eq!((&status["unsettled"], &status["void"]), (&serde_json::json!([]), &serde_json::json!([])));
    // First one tuning by its name, then all others, the last one first.
    assert_eq!(
        text(&fake.tune(&["undo", "preempt"], None)),
        "preempt: /sys/kernel/debug/sched/preempt: back to lazy\n"
    );
    assert_eq!(fake.status()["applied"].as_array().unwrap().len(), CHANGES - 1);
    let said = text(&fake.tune(&["undo"], None));
    assert!(said.starts_with("irq-priority: ") && said.trim_end().ends_with("timer_migration: back to 1"), "{said}");
    fake.is_as_before("undone");
    assert_eq!(text(&fake.tune(&["undo"], None)), "nothing is applied by hand\n");
    assert_eq!(text(&fake.tune(&["status"], None)), "nothing is applied by hand\n");
}

/// After a tuning that was applied twice, undo restores the first value.
#[test]
fn one_knob_applied_twice_goes_back_to_the_beginning() {
    let fake = Fake::new();
    text(&fake.tune(&["apply", "vm-stat:60s"], None));
    text(&fake.tune(&["apply", "vm-stat:10s"], None));
    assert_eq!(fake.read("proc/sys/vm/stat_interval"), "10\n");
    text(&fake.tune(&["undo"], None));
    fake.is_as_before("undone");
}

#[test]
fn all_or_none_are_applied() {
    let fake = Fake::new();
    let output = fake.tune(&["apply", "timers", "vm-stat:60s", "thp"], None);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("the kernel was built without CONFIG_TRANSPARENT_HUGEPAGE"),
        "{}",
        stderr(&output)
    );
    fake.is_as_before("after the refusal");
}

/// When the agent is killed, its host starts another one that restores what it left, at once: either all changes are applied by hand, or
/// none is, byte for byte.
fn killed_at_every_point(prepare: impl Fn(&Fake), act: impl Fn(&Fake, Option<usize>) -> std::process::Output) {
    for point in 1.. {
        assert!(point < 200, "no end of points");
        let fake = Fake::new();
        prepare(&fake);
        let output = act(&fake, Some(point));
        if output.status.code() == Some(0) {
            assert!(point > CHANGES, "only {point} points: the test proves nothing");
            return;
        }
        let when = format!("killed at point {point}");
        assert_eq!(output.status.code(), Some(1), "{when}: {}", stderr(&output));
        assert!(stderr(&output).contains("the agent ended without a final message"), "{when}: {}", stderr(&output));
        let status = fake.status();
        assert_eq!(status["unsettled"].as_array().unwrap().len(), 0, "{when}: {status:#}");
        // The changes belong to the person or not yet, but never half of them.
        let by_hand = status["applied"].as_array().unwrap().len();
        assert!(by_hand == 0 || by_hand == CHANGES, "{when}: {status:#}");
        if by_hand > 0 {
            text(&fake.tune(&["undo"], None));
        }
        fake.is_as_before(&when);
    }
}

#[test]
fn apply_killed_at_every_step() {
    killed_at_every_point(|_| {}, |fake, fault| fake.apply(fault));
}

#[test]
fn undo_killed_at_every_step() {
    killed_at_every_point(|fake| drop(text(&fake.apply(None))), |fake, fault| fake.tune(&["undo"], fault));
}

#[test]
fn what_others_changed_is_left_and_told() {
    let fake = Fake::new();
    text(&fake.apply(None));
    fake.write("proc/sys/vm/stat_interval", "7\n");
    let output = fake.tune(&["status"], None);
    assert_eq!(output.status.code(), Some(2), "so that a script can ask");
    let status = String::from_utf8_lossy(&output.stdout);
    assert!(status.contains("vm-stat: /proc/sys/vm/stat_interval: 1 -> 60, NOT in force: now 7"), "{status}");
    let output = fake.tune(&["undo"], None);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("was set to `7` by another program: left unchanged (it was `1`)"),
        "{}",
        stderr(&output)
    );
    fake.write("proc/sys/vm/stat_interval", "1\n");
    fake.is_as_before("all else");
}

/// After a reboot the kernel has its own values: latido must not overwrite them with those of the journal.
#[test]
fn a_journal_from_before_a_reboot_is_void() {
    let fake = Fake::new();
    text(&fake.tune(&["apply", "vm-stat:60s"], None));
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let kept = fake.world.path("state-kept/applied.jsonl");
    for path in [&fake.journal(), &kept] {
        let text = fs::read_to_string(path).unwrap();
        assert!(text.contains(boot.trim()));
        fs::write(path, text.replace(boot.trim(), "00000000-0000-0000-0000-000000000000")).unwrap();
    }
    let status = text(&fake.tune(&["status"], None));
    assert!(status.starts_with("from before the last boot, no longer in force"), "{status}");
    let output = fake.tune(&["undo"], None);
    assert!(stderr(&output).contains("from before the last boot and void"), "{}", stderr(&output));
    assert_eq!(fake.read("proc/sys/vm/stat_interval"), "60\n");
    assert!(!fake.journal().exists() && !kept.exists());
}

#[test]
fn wrong_words_are_usage_errors() {
    let fake = Fake::new();
    for (words, said) in [
        (&["apply", "timer"][..], "there is no tuning `timer` (did you mean `timers`?)"),
        (&["apply", "thp:allways"], "did you mean `always`?"),
        (&["apply", "workqueues"], "the required option `away` is missing"),
        (&["undo", "timer"], "did you mean `timers`?"),
        (&["undo", "thp:never"], "a name alone, without options"),
    ] {
        let output = fake.tune(words, None);
        assert_eq!(output.status.code(), Some(64), "{words:?}");
        assert!(stderr(&output).contains(said), "{words:?}: {}", stderr(&output));
    }
    fake.is_as_before("after wrong words");
}

/// Two latidos at once would undo each other's values.
#[test]
fn another_latido_at_work_is_named() {
    let fake = Fake::new();
    let mut run = fake.world.latido(["run", "null", "hold=60s", "-d", "60s", "--json"]);
    let mut run = run.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
    common::meanwhile(&mut run, "a run that has the machine", || (!fake.status()["at_work"].is_null()).then_some(()));
    for words in [&["apply", "timers"][..], &["undo"]] {
        let output = fake.tune(words, None);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains("another latido is using"), "{}", stderr(&output));
    }
    run.kill().unwrap();
    run.wait().unwrap();
    fake.world.nothing_left("after the run");
    text(&fake.tune(&["apply", "timers"], None));
    text(&fake.tune(&["undo"], None));
    fake.is_as_before("at last");
}

/// latido tells a user without rights what is missing, and leaves nothing half-applied.
#[test]
fn without_permission_nothing_changes() {
    let fake = Fake::new();
    for path in [fake.world.path(""), fake.root.path().into()] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let state = tempfile::tempdir().unwrap();
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let root = fake.root.path().display().to_string();
    for words in [&["--sysroot", &root, "apply", "timers", "vm-stat:60s"][..], &["apply", "timers"]] {
        let mut command = fake.world.latido(["tune"]);
        command.args(words).env("LATIDO_STATE", state.path().join("state"));
        if rustix::process::geteuid().is_root() {
            command.uid(65534).gid(65534);
        } else {
            fs::set_permissions(
                fake.root.path().join("proc/sys/kernel/timer_migration"),
                fs::Permissions::from_mode(0o444),
            )
            .unwrap();
        }
        let Ok(output) = command.output() else {
            return common::skip(
                "tunings without permission",
                Need::AnotherUser,
                "another user may not start the binary here",
            );
        };
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        let file = "/proc/sys/kernel/timer_migration";
        assert!(said.contains(file) && (said.contains("with sudo") || said.contains("there is no")), "{said}");
    }
    fake.is_as_before("without permission");
}

/// latido refuses boot parameters, which only a reboot changes, before it starts anything, and prints them.
#[test]
fn boot_parameters_are_required_and_never_applied() {
    let world = World::new();
    let output = world.run(["run", "null", "--tune", "boot:rcutree.kthread_prio=97,threadirqs"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("\n  rcutree.kthread_prio=97 threadirqs\n") || said.contains("kthread_prio=97\n"), "{said}");
    assert!(said.contains("nothing was started"), "{said}");
    assert_eq!(world.runs(), Vec::<PathBuf>::new());
}
