//! The virtual laboratory end to end: guests that fail, hosts that end, and the same bytes every time. Boots are dear, so
//! each is looked at from several sides.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::unreachable, clippy::indexing_slicing)]

mod common;

use common::{Background, World, installed, root, skip, stderr};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

/// What boots here; nothing where it cannot be had, which is told.
fn kernel(name: &str, what: &str) -> Option<PathBuf> {
    let emulator = if name.ends_with("arm64") { "qemu-system-aarch64" } else { "qemu-system-x86_64" };
    if !installed(emulator, what) {
        return None;
    }
    let world = World::new();
    // Where its package lies already nothing is asked of the network.
    let fetched = world.run(["lab", "fetch", name]);
    if fetched.status.code() != Some(0) {
        skip(what, stderr(&fetched).trim());
        return None;
    }
    let said = String::from_utf8(fetched.stdout).unwrap();
    let words: Vec<&str> = said.split_whitespace().collect();
    let cache = std::env::var_os("LATIDO_LAB").map(PathBuf::from).or_else(|| {
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache"));
        Some(std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home)?.join("latido/lab"))
    });
    let boot = cache.unwrap().join("kernels").join(format!("{}_{}", words[1], words[2])).join("boot");
    let mut files = fs::read_dir(&boot).unwrap().flatten().map(|file| file.path());
    Some(files.find(|path| path.file_name().unwrap().to_string_lossy().starts_with("vmlinuz-")).unwrap())
}

/// A short measurement in the laboratory.
fn run<'a>(kernel: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "wakeup", "-d", "100ms", "--on", "lab", "--kernel", kernel, "--seed", "3"], more].concat()
}

fn refused(output: &Output, words: &[&str]) {
    let said = stderr(output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    words.iter().for_each(|word| assert!(said.contains(word), "no `{word}` in: {said}"));
}

/// What is refused before any guest is booted, each with the reason and what to do.
#[test]
fn what_the_laboratory_cannot_have_is_told() {
    let world = World::new();
    let without = world.latido(run("6.12-rt", &[])).env("PATH", "/nowhere").output().unwrap();
    refused(&without, &["qemu-system-x86", "apt-get install"]);
    let Some(own) = kernel("6.12-rt", "refusals of the laboratory") else { return };
    let own = own.to_str().unwrap();
    refused(&world.run(run(own, &["-c", "1"])), &["have one CPU", "CPU 1 was asked for", "take turns"]);
    refused(&world.run(run("/etc/hostname", &[])), &["/etc/hostname is no kernel"]);
    let full = world.path("full");
    fs::create_dir(&full).unwrap();
    if root("a full directory for temporary files") {
        let script = format!(
            "mount -t tmpfs -o size=64k none {0} && exec env TMPDIR={0} {1} {2}",
            full.display(),
            env!("CARGO_BIN_EXE_latido"),
            run(own, &["--load", "messaging"]).join(" ")
        );
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", &script]).current_dir(world.dir.path());
        let lab = world.path("another-cache");
        let output = command
            .env("LATIDO_STORE", world.store())
            .env("LATIDO_STATE", world.state())
            .env("LATIDO_LAB", lab)
            .output()
            .unwrap();
        match stderr(&output).contains("mount") {
            true => skip("a full directory for temporary files", "mount is not permitted"),
            false => refused(&output, &["No space left on device"]),
        }
    }
    world.nothing_left("after refusals");
    assert!(world.runs().is_empty(), "nothing was begun");
}

/// A kernel that ends early, has no room, or hangs gives the end of its own log, and leaves no emulator behind.
#[test]
fn a_guest_that_fails_is_told_with_the_end_of_its_log() {
    let Some(own) = kernel("6.12-rt", "guests that fail") else { return };
    let world = World::new();
    let of = |parameters: &str| format!("{}:{parameters}", own.display());
    // Its first program is not there, so that it panics; and with `panic=0` it stays as it is.
    let (panics, hangs) = (of("rdinit=/nothing"), of("rdinit=/nothing panic=0"));
    refused(&world.run(run(&panics, &[])), &["the guest gave no answer: nothing came out", "console", "Kernel panic"]);
    // Its agent is killed, and the guest is switched off without an answer.
    let early = of("LATIDO_FAULT=agent:1");
    refused(
        &world.run(run(&early, &[])),
        &["the guest gave no answer", "latido-lab: the agent ended without an answer"],
    );
    let hung = world.latido(run(&hangs, &[])).env("LATIDO_GUEST_MS", "12000").output().unwrap();
    refused(&hung, &["the guest hangs", "within 12 s of processor time", "its console"]);
    world.nothing_left("after guests that failed");
}

/// Debian's kernel does not know lazy preemption, boots with another one and says nothing: the guest is asked.
#[test]
fn a_mode_that_was_not_granted_names_both() {
    if kernel("6.12-lazy", "a mode that is not granted").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-lazy", &[]));
    refused(&output, &["was asked for preemption `lazy` and has `voluntary`"]);
    assert_eq!(common::records_of(&world), 0, "it stands for nothing");
}

/// The guests' files of a run, by cell and name: all but what the host wrote.
fn measured(run: &Path) -> BTreeMap<String, BTreeMap<String, Vec<u8>>> {
    let mut all = BTreeMap::new();
    for cell in fs::read_dir(run.join("cells")).unwrap().flatten().map(|entry| entry.path()) {
        let files = fs::read_dir(&cell).unwrap().flatten().map(|entry| entry.path());
        // A host that was killed may have left a directory in which it was storing.
        let own = files.filter(|path| path.is_file() && !path.ends_with("host.json"));
        let own = own.map(|path| (name(&path), fs::read(&path).unwrap())).collect::<BTreeMap<_, _>>();
        if own.contains_key("record.json") {
            all.insert(name(&cell), own);
        }
    }
    all
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Waits for something of a running host.
fn until(what: &str, mut there: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(900);
    while !there() {
        assert!(Instant::now() < give_up, "{what} did not come");
        sleep(Duration::from_millis(20));
    }
}

/// One sweep, killed in its midst, gone on with while the host is crowded, and one member of it measured again alone: the
/// same bytes each time, other members others, and nothing of the host in them.
#[test]
fn a_member_is_the_same_bytes_however_it_comes_about() {
    if kernel("6.12-rt", "determinism of the laboratory").is_none() {
        return;
    }
    let world = World::new();
    let mut host = world
        .latido(run("6.12-rt", &["--repeat", "4", "--no-report"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a record", || common::records_of(&world) >= 1 || host.try_wait().unwrap().is_some());
    // The others are being emulated.
    host.kill().unwrap();
    host.wait().unwrap();
    world.nothing_left("after SIGKILL of the host");
    let run = world.runs().remove(0);
    let begun = measured(&run);
    assert!((1..4).contains(&begun.len()), "{:?}", begun.keys());

    let crowd: Vec<Background> = (0..4).map(|_| Background::shell("while :; do :; done")).collect();
    let resumed = world.run(["run", "--resume", "last", "--no-report", "-q"]);
    drop(crowd);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let all = measured(&run);
    assert_eq!(all.len(), 4);
    begun.iter().for_each(|(cell, files)| assert_eq!(all.get(cell), Some(files), "{cell} stayed as it was"));

    // The first was measured beside another; now it is alone.
    let (first, files) = all.iter().next().unwrap();
    fs::remove_dir_all(run.join("cells").join(first)).unwrap();
    let alone = world.run(["run", "--resume", "last", "--no-report", "-q"]);
    assert_eq!(alone.status.code(), Some(0), "{}", stderr(&alone));
    let again = measured(&run);
    for (name, bytes) in files {
        assert!(again[first].get(name) == Some(bytes), "{first}/{name} differs when measured alone");
    }
    let blocks: Vec<&Vec<u8>> = all.values().map(|files| &files["blocks-0.csv"]).collect();
    assert!(blocks.iter().any(|one| *one != blocks[0]), "the members of a sweep are draws of their own");
    nothing_of_the_host(&world, &files["record.json"]);

    // A person who stops it gets no half of a guest, and no emulator stays.
    let mut host = world
        .latido(["run", "wakeup", "-d", "1s", "--on", "lab", "--kernel", "6.12-rt"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    until("a guest", || world.alive().iter().any(|(_, line)| line.contains("-icount")));
    let pid = rustix::process::Pid::from_raw(host.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = host.wait().unwrap();
    assert_ne!(status.code(), Some(0));
    world.nothing_left("after Ctrl-C");
    assert!(measured(world.runs().last().unwrap()).len().is_multiple_of(4), "a guest that was stopped left a record");
}

/// Host name, host times, paths and users are no part of what a guest measured.
fn nothing_of_the_host(world: &World, record: &[u8]) {
    let text = String::from_utf8(record.to_vec()).unwrap();
    let hostname = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let own = world.dir.path().display().to_string();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for word in [hostname.trim(), release.trim()] {
        assert!(!text.contains(&format!("\"{word}\"")), "the guest knows {word}");
    }
    for path in [own.as_str(), env!("CARGO_MANIFEST_DIR")] {
        assert!(!text.contains(path), "the guest knows {path}");
    }
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    let emulated = &record["machine"]["emulated"];
    assert_eq!(record["machine"]["hostname"], "lab");
    assert_eq!(emulated["instruction_ns"], 1);
    let words: Vec<&str> = emulated["arguments"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    assert!(words.contains(&"shift=0,sleep=off") && words.iter().all(|word| !word.contains("/tmp")), "{words:?}");
    for key in ["package_sha256", "kernel_sha256", "latido_sha256", "image_sha256"] {
        assert_eq!(emulated[key].as_str().unwrap().len(), 64);
    }
}

/// The largest wake-up latency of each kernel over the members of its sweep, ns.
fn worst(run: &Path) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for files in measured(run).values() {
        let record: serde_json::Value = serde_json::from_slice(&files["record.json"]).unwrap();
        let kernel = record["cell"]["kernel"].as_str().unwrap().to_owned();
        let series = record["series"].as_array().unwrap().iter().filter(|one| one["quantity"] == "latency");
        let max = series.filter_map(|one| one["max"].as_u64()).max().expect("a guest measured something");
        let most = all.entry(kernel).or_insert(0);
        *most = max.max(*most);
    }
    all
}

/// Under the same seeded load the kernels rank as they are made: PREEMPT_RT's worst wake-up over the members is shorter than
/// that of the kernel that is never preempted. Each member is another draw; and of the list from best to worst the first is
/// found in which an expectation does not hold, by the members of each.
#[test]
fn kernels_rank_over_the_members_of_a_sweep() {
    const KERNELS: [&str; 3] = ["6.12-rt", "6.12-full", "6.12-none"];
    if KERNELS.iter().any(|name| kernel(name, "kernels ranked in the laboratory").is_none()) {
        return;
    }
    let world = World::new();
    let kernels = KERNELS.join(",");
    let list = ["--good", "6.12-rt", "--bad", "6.12-none", "--kernels", &kernels, "--expect", "wakeup.max < 25us"];
    let words = "wakeup -d 300ms --load messaging --load disk:size=8 --repeat 3 --seed 3";
    let output = world.run(["lab", "bisect"].into_iter().chain(list).chain(words.split(' ')));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let members: Vec<_> = world.runs().iter().flat_map(|run| measured(run).into_values()).collect();
    assert_eq!(members.len(), 9);
    let draws: BTreeSet<&Vec<u8>> = members.iter().map(|files| &files["blocks-0.csv"]).collect();
    assert_eq!(draws.len(), 9, "each member is a draw of its own");
    let worst: BTreeMap<String, u64> = world.runs().iter().flat_map(|run| worst(run)).collect();
    assert!(worst["6.12-rt"] < worst["6.12-none"], "{worst:?}");
    let first = KERNELS.iter().find(|name| worst[**name] >= 25_000).unwrap();
    assert_eq!(common::text(&output), format!("the first in which it does not hold: {first}\n"), "{worst:?}");
    world.nothing_left("after a sweep");
}

/// Two CPUs have the host's time: what they measure is no latency, and the verdict says so.
#[test]
fn a_guest_of_several_cpus_is_for_function_alone() {
    if kernel("6.12-rt", "a guest of two CPUs").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt", &["-c", "1", "--multi-cpu", "--no-report"]));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // Long lines are wrapped where the terminal ends.
    let told = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("UNDECIDED") && told.contains("no latency of such a guest is one"), "{told}");
    let verify = world.run(["lab", "verify", "wakeup", "-d", "50ms", "--kernel", "6.12-rt", "--multi-cpu"]);
    assert_eq!(verify.status.code(), Some(64), "{}", stderr(&verify));
}

/// A load's own program goes into the guest with its libraries, and is started there.
#[test]
fn a_guest_bears_a_program_of_its_host() {
    const WHAT: &str = "a program of the host in a guest";
    if !installed("stress-ng", WHAT) || kernel("6.12-rt", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt", &["--load", "stress-cpu", "--no-report"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let records = measured(&world.runs()[0]);
    let record: serde_json::Value = serde_json::from_slice(&records.values().next().unwrap()["record.json"]).unwrap();
    assert!(record["load"].to_string().contains("/bin/stress-ng"), "{}", record["load"]);
}

/// The probes of the studies, and those that look on, all measure in a guest; and cells of a guest and of the machine that runs can
/// be one plan's, of which the report makes configurations of their own and compares neither with the other.
#[test]
fn every_probe_measures_in_a_guest_beside_the_machine_that_runs() {
    const PROBES: [&str; 11] = [
        r#"name = "wakeup""#,
        r#"name = "gap""#,
        r#"name = "mutex", form = "calls""#,
        r#"name = "mutex", form = "inversion""#,
        r#"name = "priority""#,
        r#"name = "sleep""#,
        r#"name = "switch""#,
        r#"name = "compute", size = [8], instances = 20"#,
        r#"name = "scheduling""#,
        r#"name = "syscall", calls = "all""#,
        r#"name = "interrupt", task = "init""#,
    ];
    if kernel("6.12-rt", "probes in a guest").is_none() {
        return;
    }
    let world = World::new();
    let probes: Vec<String> = PROBES.iter().map(|probe| format!("{{ {probe} }}")).collect();
    let text = format!(
        "schema = 1\nname = \"mixed\"\nseed = 3\n[[group]]\nprobe = [{}]\ntarget = [\"lab\"]\nkernel = [\"6.12-rt\"]\n\
         scheduling = [{{ policy = \"fifo\", prio = 80 }}]\ncpus = \"0\"\nduration = \"60ms\"\n[[group]]\n\
         probe = [{{ name = \"sleep\" }}]\nscheduling = [{{ policy = \"other\" }}]\ncpus = \"0\"\nduration = \"60ms\"\n\
         [[expect]]\nwhere = {{ target = \"lab\" }}\nmetric = \"sleep.length.max\"\nop = \"<\"\nthan = {{ target = \"local\", kernel = \"running\", scheduling = \"other\" }}\n",
        probes.join(", ")
    );
    let plan = world.file("mixed.toml", &text);
    let output = world.run(["run", plan.to_str().unwrap(), "--no-report"]);
    let run = world.runs().remove(0);
    let mut seen = BTreeSet::new();
    for files in measured(&run).values() {
        let record: serde_json::Value = serde_json::from_slice(&files["record.json"]).unwrap();
        let probe = format!("{} {}", record["cell"]["target"], record["cell"]["probe"]);
        let samples = record["series"].as_array().unwrap().iter().filter_map(|one| one["count"].as_u64()).sum::<u64>();
        assert!(samples > 0, "{probe}: {}", record["series"]);
        seen.insert(probe);
    }
    assert_eq!(seen.len(), PROBES.len() + 1, "{seen:?}, {}", stderr(&output));
    // One real and one emulated kernel are no two sides of a comparison.
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let told = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("an emulated time is not compared with a real one"), "{told}");
}

/// A person's own program goes into the guest and is watched there: its threads are timed by the kernel's events.
#[test]
fn a_program_is_watched_in_a_guest() {
    const WHAT: &str = "a program watched in a guest";
    if !installed("cyclictest", WHAT) || kernel("6.12-rt", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let asked = [
        "run",
        "task",
        "period=1ms",
        "-d",
        "300ms",
        "--on",
        "lab",
        "--kernel",
        "6.12-rt",
        "--seed",
        "3",
        "--no-report",
    ];
    let program = ["--", "/usr/bin/cyclictest", "-q", "-p80", "-i1000", "-l200"];
    let output = world.run([asked.as_slice(), program.as_slice()].concat());
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", stderr(&output));
    let record = measured(&world.runs()[0]).values().next().unwrap()["record.json"].clone();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    let thread = record["series"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["quantity"] == "wakeup" && series["count"].as_u64() > Some(150));
    assert!(thread.is_some(), "{}", record["series"]);
}

/// Two network devices of a guest, on a hub, carry what the studies' load sends: all of it arrives, and both raise interrupts.
#[test]
fn a_guest_has_a_network_of_its_own() {
    if kernel("6.12-rt", "a network in a guest").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt+net", &["--load", "udp-flood:between=eth0,eth1", "--no-report"]));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let records = measured(&world.runs()[0]);
    let record: serde_json::Value = serde_json::from_slice(&records.values().next().unwrap()["record.json"]).unwrap();
    let achieved = &record["load"][0]["achieved"];
    let [sent, received] = ["sent_packets", "received_packets"].map(|key| achieved[key].as_u64().unwrap());
    // Some are on their way when the measurement begins, and others when it ends.
    assert!(sent > 100 && received.abs_diff(sent) < sent / 20, "{achieved}");
    for device in ["eth0", "eth1"] {
        let lines = record["quality"]["interrupts"].as_array().unwrap();
        let line = lines.iter().find(|line| line["action"].as_str().unwrap().ends_with(device));
        assert!(line.is_some_and(|line| line["count"].as_u64() > Some(10)), "{lines:?}");
    }
}

/// A guest of another architecture measures with a latido that was built for it, and gives the same bytes twice.
#[test]
fn a_guest_of_another_architecture_measures() {
    const WHAT: &str = "a guest for 64-bit ARM";
    let agents = std::env::var_os("LATIDO_AGENTS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/agents"), PathBuf::from);
    if !agents.join("aarch64/latido").is_file() {
        return skip(WHAT, "no latido was built for it: scripts/cross aarch64");
    }
    if kernel("6.12-rt-arm64", WHAT).is_none() {
        return;
    }
    let world = World::new();
    let run = || {
        let words = run("6.12-rt-arm64", &["--load", "messaging", "--no-report"]);
        let output = world.latido(words).env("LATIDO_AGENTS", &agents).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    };
    run();
    run();
    let runs: Vec<_> = world.runs().iter().map(|run| measured(run)).collect();
    assert!(runs[0] == runs[1], "the same bytes twice");
    let record: serde_json::Value = serde_json::from_slice(&runs[0].values().next().unwrap()["record.json"]).unwrap();
    assert_eq!(record["machine"]["preemption"]["model"], "rt");
    assert_eq!(record["series"][0]["count"], 100);
    world.nothing_left("after a guest of another architecture");
}

/// The command that a person checks it with.
#[test]
fn verify_says_identical() {
    if ["6.12-none", "6.12-full", "6.12-rt"].iter().any(|name| kernel(name, "latido lab verify").is_none()) {
        return;
    }
    let world = World::new();
    let kernels = ["--kernel", "6.12-none", "--kernel", "6.12-full", "--kernel", "6.12-rt"];
    let output = world.run(["lab", "verify", "wakeup", "-d", "50ms", "--load", "messaging"].into_iter().chain(kernels));
    let told = common::text(&output);
    assert!(told.starts_with("identical: "), "{told}");
    world.nothing_left("after lab verify");
}
