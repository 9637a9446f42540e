//! The virtual laboratory end to end: guests that fail, hosts that end, and the same bytes every time. Boots are expensive, so each serves
//! several checks.

use crate::common::lab as laboratory;
use crate::common::{self, Need};

use common::{Background, World, installed, meanwhile, root, skip, stderr};
use laboratory::{kernel, measured, refused, run};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// latido reports the lists that apt cannot renew together with the package that apt does not know, and still uses the lists that it has: a
/// server may be renewing its own.
#[test]
fn lists_that_cannot_be_had_are_told() {
    if !installed("apt-get", "lists of packages that cannot be had") {
        return;
    }
    let world = World::new();
    let sources = world.file("sources.list", "deb [trusted=yes] http://127.0.0.1:9/debian bookworm main\n");
    let settings = format!("Dir::Etc::sourcelist \"{}\";\nDir::Etc::sourceparts \"-\";\n", sources.display());
    let settings = world.file("apt.conf", &settings);
    let mut command = world.latido(["lab", "fetch", "6.1-rt-armhf"]);
    let output = command.env("APT_CONFIG", settings).env("LATIDO_LAB", world.path("cache")).output().unwrap();
    refused(&output, &["apt knows no package linux-image-6.1.0*-rt-armmp", "could not fetch all lists", "apt-get"]);
    // No file claims that the lists are there.
    assert!(!world.path("cache").join("apt-armhf/known").exists());
}

/// What latido refuses before it boots any guest, each with the reason and the remedy.
#[test]
fn what_the_laboratory_cannot_have_is_told() {
    let world = World::new();
    let without = world.latido(run("6.12-rt", &[])).env("PATH", "/nowhere").output().unwrap();
    refused(&without, &["qemu-system-x86", "apt-get install"]);
    let Some(own) = kernel("6.12-rt", "refusals of the laboratory") else { return };
    let own = own.to_str().unwrap();
    refused(&world.run(run(own, &["-c", "1"])), &["have one CPU", "CPU 1 was requested", "take turns"]);
    refused(&world.run(run("/etc/hostname", &[])), &["/etc/hostname is not a kernel"]);
    let full = world.path("full");
    fs::create_dir(&full).unwrap();
    if root("a full directory for temporary files") {
        let script = format!(
            "mount -t tmpfs -o size=64k,nr_inodes=1 none {0} && exec env TMPDIR={0} {1} {2}",
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
        match stderr(&output).contains("mount: ") {
            true => skip("a full directory for temporary files", Need::Namespaces, "mount is not permitted"),
            false => refused(&output, &["No space left on device"]),
        }
    }
    world.nothing_left("after refusals");
    assert!(world.runs().is_empty(), "nothing was begun");
}

/// If a kernel ends early, has no room, or hangs, latido prints the end of its log, and leaves no emulator behind.
#[test]
fn a_guest_that_fails_is_told_with_the_end_of_its_log() {
    let Some(own) = kernel("6.12-rt", "guests that fail") else { return };
    let world = World::new();
    let of = |parameters: &str| format!("{}:{parameters}", own.display());
    // The kernel's first program does not exist, so that it panics; with `panic=0` it stays that way.
    let (panics, hangs) = (of("rdinit=/nothing"), of("rdinit=/nothing panic=0"));
    // Only a build for tests contains the faults.
    let failing = |kernel: &str| world.faulty(run(kernel, &[]));
    refused(
        &failing(&panics).output().unwrap(),
        &["the guest gave no answer: it sent nothing", "console", "Kernel panic"],
    );
    // The agent in the guest is killed, and the guest is switched off without an answer.
    let early = of("LATIDO_FAULT=agent:1");
    refused(
        &failing(&early).output().unwrap(),
        &["the guest gave no answer", "latido-lab: the agent ended without an answer"],
    );
    let hung = failing(&hangs).env("LATIDO_GUEST_MS", "9000").output().unwrap();
    refused(&hung, &["the guest hangs", "within 9 s of processor time", "its console"]);
    world.nothing_left("after guests that failed");
}

/// Debian's kernel does not know lazy preemption, boots with another mode and reports nothing: latido asks the guest. The tests of
/// `lab/kernel.rs` cover what latido decides from the answer.
#[test]
#[ignore = "a guest: scripts/slow/lab-guests"]
fn a_mode_that_was_not_granted_names_both() {
    if kernel("6.12-lazy", "a mode that is not granted").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-lazy", &[]));
    refused(&output, &["which has `voluntary`"]);
    assert_eq!(common::records_of(&world), 0, "it stands for nothing");
}

/// One sweep, killed in the middle and resumed while the host is crowded, and one replicate of it measured again alone: the same bytes each
/// time, other replicates differ, and nothing of the host is in them.
#[test]
#[ignore = "six guests: scripts/slow/lab-guests"]
fn a_member_is_the_same_bytes_however_it_comes_about() {
    if kernel("6.12-rt", "determinism of the laboratory").is_none() {
        return;
    }
    let world = World::new();
    let mut host = world
        .latido(run("6.12-rt", &["--repeat", "3", "--no-report"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    meanwhile(&mut host, "a record", || (common::records_of(&world) >= 1).then_some(()));
    // The other replicates are being emulated.
    host.kill().unwrap();
    host.wait().unwrap();
    world.nothing_left("after SIGKILL of the host");
    let run = world.runs().remove(0);
    let begun = measured(&run);
    assert!((1..3).contains(&begun.len()), "{:?}", begun.keys());

    let crowd: Vec<Background> = (0..4).map(|_| Background::shell("while :; do :; done")).collect();
    let resumed = world.run(["run", "--resume", "last", "--no-report"]);
    drop(crowd);
    let told = stderr(&resumed);
    assert_eq!(resumed.status.code(), Some(0), "{told}");
    // Without a terminal latido prints a line for each finished cell.
    let done = told.lines().filter(|line| line.starts_with("cell ") && line.ends_with(", measured"));
    assert_eq!(done.count(), 3 - begun.len(), "{told}");
    let all = measured(&run);
    assert_eq!(all.len(), 3);
    begun.iter().for_each(|(cell, files)| assert_eq!(all.get(cell), Some(files), "{cell} stayed as it was"));

    // The first replicate was measured at the same time as another; now it is measured alone.
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

    // After Ctrl-C no half of a guest's cell is stored, and no emulator stays.
    let mut host = world
        .latido(["run", "wakeup", "-d", "1s", "--on", "lab", "--kernel", "6.12-rt"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    meanwhile(&mut host, "a guest", || world.alive().iter().any(|(_, line)| line.contains("-icount")).then_some(()));
    let pid = rustix::process::Pid::from_raw(host.id().cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let status = host.wait().unwrap();
    assert_ne!(status.code(), Some(0));
    world.nothing_left("after Ctrl-C");
    assert!(measured(world.runs().last().unwrap()).len().is_multiple_of(3), "a guest that was stopped left a record");
}

/// Host name, host times, paths and users are not part of what a guest measures.
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
    assert!(
        words.contains(&"shift=0,sleep=off,rr=record,rrfile=/dev/null")
            && words.iter().all(|word| !word.contains("/tmp")),
        "{words:?}"
    );
    for key in ["package_sha256", "kernel_sha256", "latido_sha256", "image_sha256"] {
        assert_eq!(emulated[key].as_str().unwrap().len(), 64);
    }
}

/// The largest wake-up latency of each kernel over the replicates of its sweep, in ns.
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

/// Under the same seeded load the kernels rank by their preemption model: PREEMPT_RT's worst wake-up over the replicates is shorter than
/// that of the kernel without preemption. Each replicate is another draw. `lab bisect` finds, in the list from best to worst, the first
/// kernel whose replicates contradict an expectation.
#[test]
#[ignore = "nine guests: scripts/slow/lab-guests"]
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
    assert_eq!(draws.len(), 9, "each replicate is a separate draw");
    let worst: BTreeMap<String, u64> = world.runs().iter().flat_map(|run| worst(run)).collect();
    assert!(worst["6.12-rt"] < worst["6.12-none"], "{worst:?}");
    let first = KERNELS.iter().find(|name| worst[**name] >= 25_000).unwrap();
    assert_eq!(common::text(&output), format!("the first kernel in which it does not hold: {first}\n"), "{worst:?}");
    world.nothing_left("after a sweep");
}

/// Two CPUs use the host's time: what they measure is not a latency, and the verdict says so.
#[test]
fn a_guest_of_several_cpus_is_for_function_alone() {
    if kernel("6.12-rt", "a guest of two CPUs").is_none() {
        return;
    }
    let world = World::new();
    let output = world.run(run("6.12-rt", &["-c", "1", "--multi-cpu", "--no-report"]));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    // Long lines are wrapped at the width of the terminal.
    let told = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("INCONCLUSIVE") && told.contains("the latencies of such a guest are not real"), "{told}");
    let verify = world.run(["lab", "verify", "wakeup", "-d", "50ms", "--kernel", "6.12-rt", "--multi-cpu"]);
    assert_eq!(verify.status.code(), Some(64), "{}", stderr(&verify));
}

/// The command with which a person checks the laboratory. The sweep above shows the same for PREEMPT_RT, scripts/slow/lab-guests for all
/// kernels.
#[test]
fn verify_says_identical() {
    verified(&["6.12-none"]);
}

#[test]
#[ignore = "six kernels, each twice: scripts/slow/lab-guests"]
fn verify_says_identical_of_every_kind_of_kernel() {
    verified(&["6.12-none", "6.12-voluntary", "6.12-full", "6.12-full-threadirqs", "6.12-rt", "6.1-rt"]);
}

fn verified(names: &[&str]) {
    if names.iter().any(|name| kernel(name, "latido lab verify").is_none()) {
        return;
    }
    let world = World::new();
    let kernels = names.iter().flat_map(|name| ["--kernel", name]);
    let output = world.run(["lab", "verify", "wakeup", "-d", "50ms", "--load", "messaging"].into_iter().chain(kernels));
    let told = common::text(&output);
    assert!(told.starts_with("identical: "), "{told}");
    world.nothing_left("after lab verify");
}
