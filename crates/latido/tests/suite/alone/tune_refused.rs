//! Without rights each tuning names the file or right that it lacks, or says that this machine has no such thing, and what to do. latido
//! leaves nothing half-applied.

use crate::common::whole;
use crate::common::{self, Need};

use common::{World, skip, stderr};
use latido::cli::known::CATALOGUE;
use latido_model::catalogue::Kind;
use std::{
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    process::{Command, Output},
};
use whole::Whole;

/// A user without any right.
struct Nobody {
    world: World,
    root: bool,
}

impl Nobody {
    fn new() -> Self {
        let world = World::new();
        // Not every directory above the binary is open to other users.
        fs::copy(env!("CARGO_BIN_EXE_latido"), world.path("latido")).unwrap();
        fs::set_permissions(world.path(""), fs::Permissions::from_mode(0o777)).unwrap();
        Self { world, root: rustix::process::geteuid().is_root() }
    }

    fn run(&self, arguments: &[&str]) -> Option<Output> {
        let mut command = Command::new(self.world.path("latido"));
        command.args(arguments).current_dir(self.world.path("")).env("LATIDO_STATE", self.world.state());
        command.env("LATIDO_STORE", self.world.store()).env("NO_COLOR", "1").env_remove("LATIDO_FAULT");
        if self.root {
            command.uid(65534).gid(65534);
        }
        command.output().ok()
    }
}

/// The options with which each tuning requests another value than the one in force on this machine.
fn words(cpu: u32) -> Vec<(&'static str, String)> {
    let names = |dir: &str| {
        let mut names: Vec<_> = fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        names.sort();
        names.into_iter()
    };
    let says = |path: &str, word: &str| fs::read_to_string(path).is_ok_and(|text| text.contains(word));
    let other = |path: &str, on: &str| if says(path, "1") { "off".to_owned() } else { on.to_owned() };
    let irq = names("/proc").find_map(|path| {
        let comm = fs::read_to_string(path.join("comm")).ok()?;
        comm.strip_prefix("irq/")?.split_once('-').map(|(irq, _)| irq.to_owned())
    });
    let device = names("/sys/class/net").find(|path| path.join("device").exists());
    let device = device.unwrap_or_else(|| "/sys/class/net/lo".into());
    let name = device.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let threaded = other(&format!("/sys/class/net/{name}/threaded"), "on");
    vec![
        ("cstates", String::new()),
        ("isolate", cpu.to_string()),
        ("irqs", cpu.to_string()),
        ("frequency", String::new()),
        ("smt", "all".into()),
        ("throttle", "off".into()),
        ("preempt", if says("/sys/kernel/debug/sched/preempt", "(full)") { "none" } else { "full" }.into()),
        ("irq-priority", format!("{},prio=77", irq.unwrap_or_else(|| "0".into()))),
        ("rcu", if says("/sys/kernel/rcu_normal", "1") { "expedited" } else { "normal" }.into()),
        ("timers", other("/proc/sys/kernel/timer_migration", "on")),
        ("workqueues", cpu.to_string()),
        ("watchdog", other("/proc/sys/kernel/soft_watchdog", "on")),
        ("numa-balancing", other("/proc/sys/kernel/numa_balancing", "on")),
        ("compaction", other("/proc/sys/vm/compact_unevictable_allowed", "on")),
        ("thp", if says("/sys/kernel/mm/transparent_hugepage/enabled", "[never]") { "always" } else { "never" }.into()),
        ("ksm", if says("/sys/kernel/mm/ksm/run", "1") { "stop" } else { "on" }.into()),
        ("vm-stat", "77s".into()),
        ("cache", format!("{cpu},ways=1")),
        ("nic", format!("{name},coalesce=as-is,threaded={threaded}")),
        ("printk", if says("/proc/sys/kernel/printk", "2\t") { "3" } else { "2" }.into()),
        ("resume-latency", "3us".into()),
        ("gravity", "5".into()),
        ("boot", "nohz_full=1,isolcpus=1".into()),
    ]
}

/// Checks that a message names a file, a right or a parameter, says what is wrong with it, and what to do.
fn tells(said: &str) -> Result<(), &'static str> {
    let lacks =
        ["only root may", "there is no ", "no CPU has", "no two CPUs", "was not booted with", "may not be set to"];
    let also = ["lasts only as long as", "cannot hold", "cannot be switched", "is fixed", "does not offer"];
    let remedies =
        ["sudo", "run as root", "leave", "keep", "mount -t", "modprobe", "command line", "with --tune", "boot with"];
    if !lacks.iter().chain(&also).any(|word| said.contains(word)) {
        return Err("does not say what is lacking");
    }
    // Reasons that name no file: a process must keep the setting, or the kernel needs a boot parameter.
    let names = ["/sys/", "/proc/", "/dev/", "CAP_", "process holds it", "was not booted with"];
    if !names.iter().any(|word| said.contains(word)) {
        return Err("names neither a file nor a right");
    }
    if !remedies.iter().any(|word| said.contains(word)) {
        return Err("has no remedy");
    }
    Ok(())
}

#[test]
fn every_tuning_is_refused_with_its_reason_and_nothing_changes() {
    let _machine = common::machine();
    let nobody = Nobody::new();
    if nobody.run(&["--version"]).is_none_or(|output| !output.status.success()) {
        return skip("tunings without rights", Need::AnotherUser, "another user may not start the binary here");
    }
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let cpu = online.trim().parse::<latido_model::cpus::CpuSet>().unwrap().iter().last().unwrap();
    let words = words(cpu);
    let known: Vec<_> = words.iter().map(|(name, _)| *name).collect();
    for entry in CATALOGUE.list(Kind::Tuning).entries() {
        assert!(
            known.contains(&entry.name),
            "the tuning `{}` is not tried without rights: add words for it",
            entry.name
        );
    }
    let before = Whole::take();
    let journal = nobody.world.state().join("journal.jsonl");
    let mut wrong = Vec::new();
    for (name, options) in &words {
        let word = if options.is_empty() { (*name).to_owned() } else { format!("{name}:{options}") };
        let run = ["run", "null", "samples=10", "-d", "10ms", "--json", "--no-report", "--tune", &word];
        let mut idle = false;
        for arguments in [&["tune", "apply", &word][..], &run] {
            let output = nobody.run(arguments).unwrap();
            let said = stderr(&output);
            // The requested value is already in force: then nothing is to be done.
            let text = String::from_utf8_lossy(&output.stdout);
            idle |= arguments != run && output.status.success() && !text.contains(" -> ");
            if idle && arguments == run {
                continue;
            } else if idle {
                skip(&format!("tuning {word} without rights"), Need::Kernel, &text.replace('\n', " "));
            } else if output.status.code() != Some(1) {
                wrong.push(format!("{arguments:?} ended with {}: {said}", output.status));
            } else if let Err(why) = tells(&said) {
                wrong.push(format!("{arguments:?} {why}: {said}"));
            }
            if journal.exists() {
                let text = fs::read_to_string(&journal).unwrap_or_default();
                wrong.push(format!("{arguments:?} left a journal: {text}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    before.holds("after the refusals");
    nobody.world.nothing_left("after the refusals");
}

/// If the first tuning can be applied and the second cannot, latido applies neither.
#[test]
fn what_could_be_had_is_put_back_when_the_next_is_refused() {
    let _machine = common::machine();
    if !common::root("half of what the user requested") {
        return;
    }
    let (name, world) = ("vm-stat:77s", World::new());
    let before = Whole::take();
    for word in ["nic:nowhere0", "irqs:4095"] {
        let output = world.run(["tune", "apply", name, word]);
        assert_eq!(output.status.code(), Some(1), "{word}");
        assert!(stderr(&output).contains("(nothing was changed)"), "{word}: {}", stderr(&output));
        before.holds(word);
        assert!(!world.state().join("journal.jsonl").exists());
        let output = world.run(["run", "null", "samples=10", "--no-report", "--tune", name, "--tune", word]);
        assert_eq!(output.status.code(), Some(1), "{word}");
        assert!(stderr(&output).contains("nothing was started"), "{word}: {}", stderr(&output));
        assert!(world.runs().is_empty());
        before.holds(word);
    }
}
