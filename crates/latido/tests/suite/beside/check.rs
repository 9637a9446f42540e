//! `latido check` as a command: every point has a state and a remedy; a fake machine, a running program, and that `check` changes nothing.

use crate::common::{self, Need};

use common::{World, installed, processes, realtime, skip, stderr};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

/// Returns the document of `latido check --json`, whose exit status must be the one that it states.
fn check<'a>(world: &World, arguments: impl IntoIterator<Item = &'a str>) -> Value {
    let output = world.run(["check", "--json"].into_iter().chain(arguments));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)));
    assert_eq!(document["exit"].as_i64(), output.status.code().map(i64::from));
    document
}

fn point<'a>(document: &'a Value, name: &str) -> &'a Value {
    document["points"].as_array().unwrap().iter().find(|point| point["check"] == name).unwrap_or_else(|| {
        panic!("no point `{name}` in {document}");
    })
}

/// Every point of this machine has a state and a reason. A point that is not in order has a remedy.
#[test]
fn this_machine_is_told_point_by_point() {
    let world = World::new();
    let document = check(&world, []);
    assert!(["fit", "unfit", "unknown"].contains(&document["verdict"].as_str().unwrap()));
    for name in [
        "preemption model",
        "high-resolution timers",
        "clock source",
        "kernel debugging",
        "preemptible RCU",
        "priority inheritance",
        "interrupt threads",
        "real-time permission",
        "memory locking",
        "frequency scaling",
        "turbo",
        "idle states",
        "real-time throttle",
        "fair server",
        "RT group scheduling",
        "timer slack",
        "isolated CPUs",
        "full tickless",
        "RCU callbacks",
        "interrupt placement",
        "load now",
        "hypervisor",
        "stolen time",
        "container",
        "group limits",
        "SMT",
        "swap",
        "transparent huge pages",
        "management interrupts",
        "temperature",
    ] {
        let point = point(&document, name);
        assert!(!point["state"].as_str().unwrap().is_empty() && !point["why"].as_str().unwrap().is_empty(), "{point}");
        let settled = ["ok", "unknown"].contains(&point["severity"].as_str().unwrap());
        assert!(settled || !point["remedies"].as_array().unwrap().is_empty(), "{point}");
    }
    // `check` measures the clock and does not only name it.
    let clock = point(&document, "clock source")["state"].as_str().unwrap();
    assert!(clock.contains("ns per reading, step"), "{clock}");
}

/// `--cpus` names the CPUs to be measured; `check` then looks for interrupts on those.
#[test]
fn the_cpus_to_be_measured_can_be_named() {
    let world = World::new();
    let document = check(&world, ["--cpus=0"]);
    let placement = point(&document, "interrupt placement");
    let state = placement["state"].as_str().unwrap();
    // Without the option the state names all CPUs, or the isolated ones.
    let named = state.ends_with("on CPUs 0") || state.starts_with("CPUs 0 serve ");
    assert!(named || placement["severity"] == "unknown", "{placement}");
    let output = world.run(["check", "--cpus=first"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
}

/// Makes a directory tree of the files that the checks read. Every other file is absent, and so its point is unknown.
fn tree(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let path = dir.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const FIT: &[(&str, &str)] = &[
    ("proc/sys/kernel/osrelease", "6.1.0-rt\n"),
    ("proc/sys/kernel/version", "#1 SMP PREEMPT_RT\n"),
    ("proc/self/uid_map", "0 0 4294967295\n"),
    ("proc/self/status", "CapEff:\t000001ffffffffff\nSeccomp:\t0\n"),
    ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n"),
    ("boot/config-6.1.0-rt", "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_PREEMPT_RT=y\n"),
];

/// The three verdicts, from trees that differ in one file.
#[test]
fn a_fake_machine_decides_the_status() {
    let world = World::new();
    let root = world.path("machine");
    tree(&root, FIT);
    let sysroot = format!("--sysroot={}", root.display());
    let verdict = || {
        let document = check(&world, [sysroot.as_str()]);
        (document["verdict"].as_str().unwrap().to_string(), document["exit"].as_i64().unwrap())
    };
    assert_eq!(verdict(), ("fit".into(), 0));
    tree(&root, &[("boot/config-6.1.0-rt", "CONFIG_HIGH_RES_TIMERS=y\nCONFIG_LOCKDEP=y\n")]);
    assert_eq!(verdict(), ("unfit".into(), 2));
    fs::remove_file(root.join("boot/config-6.1.0-rt")).unwrap();
    assert_eq!(verdict(), ("unknown".into(), 3));
    let output = world.run(["check", "--sysroot=/nowhere/at/all"]);
    assert_eq!(output.status.code(), Some(64), "{}", stderr(&output));
}

/// `check` refuses a CPU that does not exist.
#[test]
fn cpus_that_are_not_there_are_refused() {
    let world = World::new();
    let output = world.run(["check", "--cpus", "0,4000"]);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("CPU 4000 is not online; the online CPUs are 0"), "{}", stderr(&output));
}

/// A child process that ends with the test.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sleeper(command: &mut Command) -> Guarded {
    Guarded(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
}

#[test]
fn a_program_without_policy_is_unfit() {
    let world = World::new();
    let child = sleeper(Command::new("sleep").arg("600"));
    let document = check(&world, ["--pid", &child.0.id().to_string()]);
    assert_eq!(document["verdict"], "unfit");
    assert_eq!(document["process"]["name"], "sleep");
    let thread = &document["process"]["threads"][0];
    // The suite itself may run with a nice value.
    assert!(thread["policy"].as_str().unwrap().starts_with("other"), "{thread}");
    assert_eq!(thread["realtime"], false);
    for key in ["cpus", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches", "cgroup"] {
        assert!(!thread[key].is_null(), "{key}: {thread}");
    }
    let remedy = point(&document, "policy")["remedies"][0]["run"].as_str().unwrap();
    assert!(remedy.starts_with("sudo chrt -f -p 80 "), "{remedy}");
}

/// The command that `check` names makes the program fit, and `check` reports what the kernel does.
#[test]
fn a_real_time_program_is_seen_as_it_is() {
    if !realtime("check --pid of a real-time program") || !installed("taskset", "check --pid of a pinned program") {
        return;
    }
    let world = World::new();
    // A name that no other process has.
    let program = world.path("latido-motor");
    fs::copy("/bin/sleep", &program).unwrap();
    let child = sleeper(Command::new("taskset").args(["-c", "0", "chrt", "-f", "42"]).arg(&program).arg("600"));
    // taskset and chrt replace themselves with the program.
    let name = format!("/proc/{}/comm", child.0.id());
    while fs::read_to_string(&name).unwrap().trim() != "latido-motor" {
        std::thread::yield_now();
    }
    let document = check(&world, ["--pid=latido-motor"]);
    assert_eq!(document["verdict"], "fit");
    let thread = &document["process"]["threads"][0];
    assert_eq!((&thread["policy"], &thread["priority"]), (&"fifo 42".into(), &42.into()));
    assert_eq!(thread["cpus"], "0");
    assert_eq!(point(&document, "memory locking")["severity"], "warning", "sleep locks nothing");
    let text = String::from_utf8(world.run(["check", "--pid=latido-motor"]).stdout).unwrap();
    assert!(text.contains("fifo 42") && text.contains("mlockall"), "{text}");
}

/// A program of several threads, as used for measuring, with its memory locked and without.
#[test]
fn a_threaded_program_is_told_thread_by_thread() {
    if !realtime("check --pid of cyclictest") || !installed("cyclictest", "check --pid of a threaded program") {
        return;
    }
    let world = World::new();
    for lock in [true, false] {
        let mut command = Command::new("cyclictest");
        command.args(["-t2", "-p80", "-q", "-D600"]).args(lock.then_some("-m"));
        let child = sleeper(&mut command);
        let pid = child.0.id().to_string();
        // The program is ready when its last thread has its policy.
        let realtime = |document: &Value| {
            let threads = document["process"]["threads"].as_array().unwrap();
            threads.iter().filter(|thread| thread["policy"] == "fifo 80").count()
        };
        let document = loop {
            let document = check(&world, ["--pid", &pid]);
            if realtime(&document) == 2 {
                break document;
            }
        };
        assert_eq!(document["verdict"], "fit");
        assert_eq!(document["process"]["threads"].as_array().unwrap().len(), 3);
        assert_eq!(point(&document, "memory locking")["severity"] == "ok", lock, "{document}");
        let text = String::from_utf8(world.run(["check", "--pid", &pid]).stdout).unwrap();
        assert!(text.contains("control group: ") && text.lines().all(|line| line.chars().count() <= 100), "{text}");
        // Another user without any right reads the same, except what only the owner may read.
        if world_of_nobody() {
            let document = as_nobody(&pid);
            assert_eq!(realtime(&document), 2);
            assert_eq!(point(&document, "timer slack")["severity"], "unknown");
        }
        drop(child);
        let output = world.run(["check", "--pid", &pid]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(&format!("there is no process {pid}")), "{}", stderr(&output));
    }
}

fn world_of_nobody() -> bool {
    common::root("check --pid without rights") && installed("setpriv", "check --pid without rights")
}

/// Runs `check --json --pid` as a user to whom the process does not belong.
fn as_nobody(pid: &str) -> Value {
    // A place that every user may read: the build directory may be root's alone.
    let place = tempfile::Builder::new().prefix("latido-nobody-").tempdir_in("/var/tmp").unwrap();
    let program = place.path().join("latido");
    fs::copy(env!("CARGO_BIN_EXE_latido"), &program).unwrap();
    fs::set_permissions(place.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all"])
        .arg(&program)
        .args(["check", "--json", "--pid", pid])
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// Several processes of one name are an error that lists them. `check` reads a kernel thread like any other.
#[test]
fn names_and_kernel_threads() {
    let world = World::new();
    let program = world.path("latido-twin");
    fs::copy("/bin/sleep", &program).unwrap();
    let twins = [sleeper(Command::new(&program).arg("600")), sleeper(Command::new(&program).arg("600"))];
    let ids: Vec<String> = twins.iter().map(|twin| twin.0.id().to_string()).collect();
    for id in &ids {
        while fs::read_to_string(format!("/proc/{id}/comm")).unwrap().trim() != "latido-twin" {
            std::thread::yield_now();
        }
    }
    let output = world.run(["check", "--pid=latido-twin"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("2 processes are named") && ids.iter().all(|id| said.contains(id)), "{said}");
    // Process 2 is a kernel thread if kernel threads are visible here.
    if fs::read_to_string("/proc/2/comm").is_ok_and(|name| name.trim() == "kthreadd") {
        let document = check(&world, ["--pid=2"]);
        assert_eq!((&document["process"]["kernel"], &document["process"]["command"]), (&true.into(), &Value::Null));
        assert_eq!(point(&document, "memory locking")["severity"], "ok");
    } else {
        skip("check --pid of a kernel thread", Need::Kernel, "the kernel's threads are not to be seen here");
    }
}

#[test]
fn a_program_that_is_not_there_is_an_error_that_says_so() {
    let world = World::new();
    for (word, said) in [("4999999", "no process 4999999"), ("no-such-program", "no process named `no-such-program`")] {
        let output = world.run(["check", "--pid", word]);
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
}

/// `check` makes no system call that could change the machine: it opens nothing for writing, creates nothing, and sets no attribute of
/// scheduling, memory or another process. It may raise its own threads above a crowd by their nice value, and one of them may request every
/// CPU, to learn which ones the kernel grants.
#[test]
fn it_changes_nothing() {
    for line in ["7 openat(AT_FDCWD, \"/sys/x\", O_WRONLY|O_CLOEXEC) = 3", "7 sched_setaffinity(9, 1024, [1]) = 0"] {
        assert!(changes(line), "{line}");
    }
    assert!(!changes("7 openat(AT_FDCWD, \"/sys/x\", O_RDONLY|O_CLOEXEC) = 3"));
    assert!(!changes("7 sched_setattr(0, {size=48, sched_policy=SCHED_OTHER, sched_flags=0, sched_nice=-15}, 0) = 0"));
    assert!(!changes("7 sched_setaffinity(0, 1024, [0 1 ...]) = 0"));
    assert!(changes("7 sched_setattr(0, {size=48, sched_policy=SCHED_FIFO, sched_flags=0, sched_nice=0}, 0) = 0"));
    assert!(changes("7 sched_setattr(9, {size=48, sched_policy=SCHED_OTHER, sched_flags=0, sched_nice=0}, 0) = 0"));
    let world = World::new();
    let child = sleeper(Command::new("sleep").arg("600"));
    let pid = format!("--pid={}", child.0.id());
    for arguments in [vec!["check"], vec!["check", "--json", "--cpus=0"], vec!["check", &pid]] {
        let check = world.latido(arguments.iter().copied());
        let Some((text, _)) = processes::traced(&world, &check, &[], "that check changes nothing") else { return };
        let wrong: Vec<&str> = text.lines().filter(|line| changes(line)).collect();
        assert!(wrong.is_empty(), "{arguments:?}: {wrong:#?}");
        assert!(!world.state().exists());
    }
}

/// Whether a line of strace is a system call that changes something outside the process.
fn changes(line: &str) -> bool {
    const NEVER: &[&str] = &[
        "mkdir",
        "rmdir",
        "unlink",
        "rename",
        "link(",
        "linkat",
        "symlink",
        "chmod",
        "chown",
        "truncate",
        "fallocate",
        "mount",
        "umount",
        "swapo",
        "sethostname",
        "settimeofday",
        "clock_settime",
        "adjtimex",
        "sched_set",
        "setpriority",
        "ioprio_set",
        "setrlimit",
        "kill(",
        "tgkill",
        "tkill",
        "ptrace",
        "init_module",
        "finit_module",
        "delete_module",
        "sysfs",
        "utimensat",
        "setxattr",
        "bpf(",
        "perf_event_open",
        "connect(",
        "bind(",
        "sendto(",
    ];
    let call = line.split_once(' ').map_or(line, |(_, call)| call.trim_start());
    let written =
        call.starts_with("open") && ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TMPFILE"].iter().any(|f| call.contains(f));
    // The runtime's own check for closed standard streams opens nothing if all three are open.
    let harmless = call.contains("\"/dev/null\"") || call.contains("\"/dev/tty\"");
    // The nice value or CPUs of the calling thread itself: they end with the thread.
    let own = call.starts_with("sched_setattr(0, ") && call.contains("sched_policy=SCHED_OTHER, ")
        || call.starts_with("sched_setaffinity(0, ");
    (NEVER.iter().any(|name| call.starts_with(name)) && !own) || (written && !harmless)
}
