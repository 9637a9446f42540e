//! Real isolation of CPUs: which threads run where while a probe measures, that interrupts stay away, that each cell of a plan finds the
//! machine as it was, and that latido restores everything afterwards, also after SIGKILL.

use crate::common;
use crate::common::placement;

use common::{Background, World, ended, json, meanwhile, processes, stderr};
use placement::{Snapshot, Stage, interrupts, threads_of};
use serde_json::Value;
use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Command, Stdio},
    thread::sleep,
    time::Duration,
};

const BUSY: &str = "while :; do :; done";

/// How often the test checks where the threads are.
const LOOKS: usize = 40;

#[test]
fn the_measured_task_is_alone_on_its_cpu_and_everything_returns() {
    let Some(stage) = Stage::take("isolation of a CPU") else { return };
    let cpu = stage.cpu;
    let world = World::new();
    let _restore = stage.restore(&world);
    let busy = Background::shell(BUSY);
    let pinned = Background::shell(BUSY);
    placement::pin(pinned.pid(), cpu);
    // This task forks while latido moves it.
    let _forking = Background::shell("while :; do /bin/true; sleep 0.01; done");
    let before = Snapshot::take(&stage);

    let (isolate, irqs) = (format!("isolate:cpus={cpu}"), format!("irqs:away={cpu}"));
    let arguments =
        ["run", "wakeup", "-d", "600s", "--tune", &isolate, "--tune", &irqs, "--load", "spin:cpu=2", "--json"];
    let mut run = world.latido(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();

    meanwhile(&mut run, "a thread on the isolated CPU", || (!stage.inside().is_empty()).then_some(()));
    // The child of a task that latido moved, started during the isolation, that still lives after it.
    let child = Background::shell("exec sleep 300");
    sleep(Duration::from_millis(300));
    let counts = interrupts(cpu);
    let mut last = counts.clone();
    // The number of looks is fixed, however long they take; then the run has measured for long enough.
    for look in 0..LOOKS {
        let inside = stage.inside();
        assert!(!inside.is_empty(), "nothing is on the isolated CPU at look {look}");
        for task in [&busy, &pinned, &child] {
            let seen = placement::thread(task.pid()).unwrap();
            assert!(!seen.affinity.contains(&cpu), "{} may run on CPU {cpu}: {seen:?}", task.pid());
        }
        for task in [&busy, &pinned] {
            assert_ne!(placement::thread(task.pid()).unwrap().cpu, cpu, "a busy task runs on the isolated CPU");
        }
        // The other tasks of this world, the load and the supervisor, stay off the isolated CPU.
        for (pid, line) in world.alive() {
            for tid in threads_of(pid).into_iter().filter(|tid| !inside.contains(tid)) {
                let Some(seen) = placement::thread(tid) else { continue };
                assert!(!seen.affinity.contains(&cpu) || stage.inside().contains(&tid), "{line}: {seen:?}");
            }
        }
        let seen: Vec<_> = inside.iter().filter_map(|tid| placement::thread(*tid)).collect();
        let measures = |thread: &placement::Thread| thread.cpu == cpu && thread.comm.starts_with("latido/");
        assert!(!seen.is_empty() && seen.iter().all(measures), "{seen:?}");
        last = interrupts(cpu);
        sleep(Duration::from_millis(50));
    }
    processes::ctrl_c(run.id());
    let document = json(&ended(run, "an isolated run"), 130);

    let record = &document["records"][0];
    assert_eq!(
        record["cell"]["conditions"]["cpus"],
        cpu.to_string(),
        "a cell that names no CPUs measures the isolated ones"
    );
    let tunings = record["tunings"].as_array().unwrap();
    let tuning = |name: &str| tunings.iter().find(|tuning| tuning["item"]["name"] == name).unwrap();
    assert_eq!(tuning("isolate")["in_force"], true);
    let note = tuning("isolate")["note"].as_str().unwrap();
    assert!(note.contains(&format!("bound to CPU {cpu}")) && note.contains(&format!("migration/{cpu}")), "{note}");

    let note = tuning("irqs")["note"].as_str().unwrap_or_default().to_owned();
    let (stuck, pending) = note.split_once("pending").unwrap_or((&note, ""));
    let mut still = 0;
    for (line, count) in &counts {
        let (grew, named) = (last[line] - count, |text: &str| text.contains(&format!("IRQ {line} ")));
        if named(stuck) {
            continue;
        }
        // A pending interrupt occurs once more on its old CPU, and then takes its new affinity.
        assert!(grew <= u64::from(named(pending)), "IRQ {line} came {grew} times on CPU {cpu}: {note}");
        still += 1;
    }
    assert!(still > 0, "no interrupt can be moved here, so nothing was shown: {note}");

    drop(busy);
    before.equals(&Snapshot::take(&stage), "after a run");
    let seen = placement::thread(child.pid()).unwrap();
    let own = placement::thread(std::process::id().cast_signed()).unwrap();
    assert_eq!((&seen.group, &seen.affinity), (&own.group, &own.affinity), "born in isolation, it is out of it");
    assert!(!world.state().join("journal.jsonl").exists());
}

#[test]
fn killed_at_steps_all_over_the_journal_everything_returns() {
    let Some(stage) = Stage::take("isolation after SIGKILL of the supervisor") else { return };
    let cpu = stage.cpu;
    let world = World::new();
    let _restore = stage.restore(&world);
    let pinned = Background::shell(BUSY);
    placement::pin(pinned.pid(), cpu);
    let before = Snapshot::take(&stage);
    let (isolate, irqs) = (format!("isolate:cpus={cpu}"), format!("irqs:away={cpu}"));
    // Every step would take an hour. An odd stride hits entries before, during and after the change, and while latido undoes it.
    for point in (1..).step_by(23) {
        assert!(point < 4000, "no end of points");
        let arguments = ["run", "null", "samples=100", "--tune", &isolate, "--tune", &irqs, "--json", "--no-report"];
        let output = world.latido(arguments).env("LATIDO_FAULT", format!("agent:{point}")).output().unwrap();
        world.nothing_left(&format!("after SIGKILL at agent:{point}"));
        before.equals(&Snapshot::take(&stage), &format!("after SIGKILL at agent:{point}"));
        assert!(!world.state().join("journal.jsonl").exists(), "agent:{point}: the host settles the journal");
        if output.status.code() != Some(1) {
            assert!(point > 100, "only {point} points passed: the test proves nothing");
            return;
        }
    }
}

#[test]
fn host_and_supervisor_killed_together_the_next_latido_puts_everything_back() {
    let Some(stage) = Stage::take("isolation after SIGKILL of everybody") else { return };
    let cpu = stage.cpu;
    let isolate = format!("isolate:cpus={cpu}");
    for entries in [1, 2, 5, 30, usize::MAX] {
        let world = World::new();
        let _restore = stage.restore(&world);
        let before = Snapshot::take(&stage);
        let arguments = ["run", "null", "hold=20s", "--tune", &isolate, "--json", "--no-report"];
        let mut run = world.latido(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let journal = world.state().join("journal.jsonl");
        // The number of entries depends on the machine's tasks: once the probe is inside, all are written.
        let written = || fs::read_to_string(&journal).unwrap_or_default().lines().count();
        let there = || (written() >= entries || !stage.inside().is_empty()).then_some(());
        meanwhile(&mut run, &format!("{entries} entries of the journal"), there);
        // The test kills all processes at one instant: a survivor would start to restore the machine.
        let all = world.alive();
        all.iter().for_each(|(pid, _)| placement::stop(*pid));
        all.iter().for_each(|(pid, _)| placement::kill(*pid));
        assert_eq!(run.wait().unwrap().signal(), Some(9));
        world.nothing_left("after SIGKILL of host and supervisor");
        assert!(journal.exists(), "nobody was left to settle it");
        if entries > 2 {
            assert!(stage.exists(), "the machine is still changed, or the test proves nothing");
        }
        // The same run again: latido does not mistake the leftovers of the first run for an isolation in its way.
        let again = ["run", "null", "samples=100", "--tune", &isolate, "--json", "--no-report"];
        let document = json(&world.run(again), 0);
        assert_eq!(document["records"][0]["cell"]["conditions"]["cpus"], cpu.to_string());
        before.equals(&Snapshot::take(&stage), &format!("by the latido after SIGKILL at {entries} entries"));
        assert!(!journal.exists());
    }
}

#[test]
fn what_cannot_be_isolated_is_refused_and_nothing_is_changed() {
    let Some(stage) = Stage::take("refusals of isolation") else { return };
    let world = World::new();
    let before = Snapshot::take(&stage);
    let all = format!("isolate:cpus={}", placement::online());
    for (tune, words) in [
        (all.as_str(), "all other tasks need a CPU too"),
        ("isolate:cpus=4095", "not online"),
        ("irqs:away=4095", "not online"),
        ("isolate", "the required option `cpus` is missing"),
    ] {
        let output = world.run(["run", "null", "samples=100", "--tune", tune, "--json", "--no-report"]);
        assert!(!output.status.success(), "{tune}");
        assert!(common::stderr(&output).contains(words), "{tune}: {}", common::stderr(&output));
        before.equals(&Snapshot::take(&stage), tune);
    }
    // Without the right to isolate, latido starts nothing.
    if !common::installed("setpriv", "isolation without root") {
        return;
    }
    let open = tempfile::tempdir().unwrap();
    fs::set_permissions(open.path(), std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
    for tune in [format!("isolate:cpus={}", stage.cpu), format!("irqs:away={}", stage.cpu)] {
        // Not every directory above the binary is open to other users.
        let binary = open.path().join("latido");
        fs::copy(env!("CARGO_BIN_EXE_latido"), &binary).unwrap();
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", "65534", "--clear-groups", "--inh-caps=-all"])
            .arg(&binary)
            .args(["tune", "apply", &tune]);
        let output = command.env("LATIDO_STATE", open.path().join("state")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{tune}");
        assert!(common::stderr(&output).contains("only root may"), "{tune}: {}", common::stderr(&output));
        before.equals(&Snapshot::take(&stage), &tune);
    }
}

/// The shipped plan, shortened: every cell measures, each isolated cell finds what the first one found, and the machine ends as it began.
#[test]
fn isolated_or_not_under_each_load() {
    let Some(stage) = Stage::take("the plan `isolation`") else { return };
    if !common::realtime("the plan `isolation`") {
        return;
    }
    let world = World::new();
    let _restore = stage.restore(&world);
    let before = Snapshot::take(&stage);
    // The plan isolates CPU 1, which exists on every machine with two CPUs.
    let output = world.run(["run", "isolation", "--scale", "0.005", "--repeat", "1", "--json", "-o", "report.html"]);
    before.equals(&Snapshot::take(&stage), "after the plan");
    // One short repeat cannot decide the plan's expectation.
    let status = output.status.code().unwrap();
    assert!([2, 3].contains(&status), "{}", stderr(&output));
    let document = json(&output, status);

    let records = document["records"].as_array().unwrap();
    assert_eq!(records.len(), 20, "{}", stderr(&output));
    let level = |record: &&Value| record["cell"]["tuning"]["id"].as_str().unwrap().to_owned();
    let (isolated, shared): (Vec<_>, Vec<_>) = records.iter().partition(|record| level(record) == "isolated");
    assert_eq!((isolated.len(), shared.len()), (10, 10));
    for record in records {
        let id = &record["cell"]["load"]["id"];
        assert_eq!(
            (&record["outcome"]["kind"], &record["cell"]["conditions"]["cpus"]),
            (&"complete".into(), &"1".into()),
            "{id}"
        );
        assert!(record["series"][0]["count"].as_u64().unwrap() > 0, "{id}");
        assert!(record["quality"]["interrupts"].is_array(), "what else ran there was counted");
    }
    // What a cell finds is what the cell before it restored.
    let found: Vec<Vec<(&Value, &Value)>> = isolated.iter().map(|record| changes(record)).collect();
    assert!(!found[0].is_empty(), "{found:?}");
    assert!(found.iter().all(|other| *other == found[0]), "{found:#?}");
    assert!(shared.iter().all(|record| changes(record).is_empty()), "nothing of the kind in the other half");

    let report = fs::read_to_string(world.path("report.html")).unwrap();
    for words in ["Settings changed", "isolate:cpus=1", "What else ran on the measured CPUs", "isolated, messaging"] {
        assert!(report.contains(words), "{words}");
    }
}

/// The knobs and originals of isolation and interrupts, without the files of single interrupts and without tasks: the kernel may make or
/// free an interrupt meanwhile.
fn changes(record: &Value) -> Vec<(&Value, &Value)> {
    let tunings = record["tunings"].as_array().unwrap();
    let ours = tunings.iter().filter(|tuning| tuning["item"]["name"] != "cstates");
    ours.flat_map(|tuning| tuning["changes"].as_array().unwrap())
        .map(|change| (&change["knob"], &change["original"]))
        .filter(|(knob, _)| !knob.as_str().unwrap().contains("/proc/irq/"))
        .collect()
}
