//! SIGKILL of host, supervisor and measuring process at every step of a cell: nothing stays behind, finished cells stay unchanged, and the
//! run resumes where it was. latido syncs what it needs after a power cut.

use crate::common;

use common::{
    World,
    processes::{FILES, Moment, described, moments, renamed, synced, traced, written},
    stderr, trees,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    os::unix::process::ExitStatusExt,
    path::Path,
};

/// Two cells, each with a load of latido and a load of several processes, quick to run: the probe needs no permission, and the loads take
/// almost no processor time.
const PLAN: &str = r#"
schema = 1
name = "crash"
order = "as-written"
seed = 7
[[group]]
probe = [{ name = "null", samples = 100, hold = "150ms" }, { name = "null", samples = 200, hold = "150ms" }]
load = [{ id = "still", use = [
    { name = "interrupts", rate = 10, timers = 1 },
    { name = "command", argv = ["sh", "-c", "sleep 100 & sleep 100 & wait"] },
] }]
scheduling = [{ policy = "other" }]
duration = "150ms"
warmup = "0ns"
"#;

/// Kills `role` at its points 1, 2, 3, ... until a run passes all of them unharmed.
fn kill_at_every_point(role: &str) {
    let mut point = 0;
    loop {
        point += 1;
        assert!(point < 300, "{role} has no end of points");
        let world = World::new();
        let plan = world.file("crash.toml", PLAN);
        let plan = plan.to_str().unwrap();
        let fault = format!("{role}:{point}");
        let output = world.latido(["run", plan, "--json"]).env("LATIDO_FAULT", &fault).output().unwrap();
        let unharmed = output.status.code() == Some(0);
        world.nothing_left(&format!("after SIGKILL at {fault}"));
        if unharmed {
            assert!(point > 3, "{role} passed only {point} points: the test proves nothing");
            return;
        }
        if role == "host" {
            assert_eq!(output.status.signal(), Some(9), "{fault}: {}", common::stderr(&output));
        } else {
            assert_eq!(output.status.code(), Some(1), "{fault}: {}", common::stderr(&output));
        }
        // A journal may stay behind only if the host itself was killed; the next run settles it.
        let runs = common::runs_of(&world);
        if runs.is_empty() {
            // Before the first cell nothing is started, and nothing is stored.
            assert_eq!(role, "agent", "{fault}");
            assert!(!world.state().join("journal.jsonl").exists(), "{fault}");
            continue;
        }
        assert_eq!(runs.len(), 1, "{fault}");
        let finished = common::records(&runs[0]);
        let resumed = world.run(["run", "--resume", "last", "--json"]);
        let document = common::json(&resumed, 0);
        assert_eq!(document["records"].as_array().unwrap().len(), 2, "{fault}");
        for (path, bytes) in finished {
            assert_eq!(fs::read(&path).unwrap(), bytes, "{fault} changed {}", path.display());
        }
        world.nothing_left(&format!("after the run that followed {fault}"));
        assert!(!world.state().join("journal.jsonl").exists(), "{fault}: journal not settled");
    }
}

#[test]
fn host_killed_at_every_step() {
    kill_at_every_point("host");
}

#[test]
fn supervisor_killed_at_every_step() {
    kill_at_every_point("agent");
}

#[test]
fn measuring_process_killed_at_every_step() {
    kill_at_every_point("measure");
}

/// A finished run stays unchanged when it is resumed.
#[test]
fn a_finished_run_keeps_its_verdict() {
    let world = World::new();
    let output = world.run(["run", "null", "--policy", "other", "--duration", "10ms", "--json"]);
    common::json(&output, 0);
    let meta = world.runs()[0].join("run.json");
    let before = fs::read(&meta).unwrap();
    let again = world.run(["run", "--resume", "last", "--json"]);
    assert!(stderr(&again).contains("is finished"), "{}", stderr(&again));
    let document = common::json(&again, 0);
    assert_eq!(document["records"][0]["outcome"]["kind"], "complete", "it is shown as it is");
    assert_eq!(fs::read(&meta).unwrap(), before, "run.json was rewritten");
}

/// What a trace shows about the files below a directory.
#[derive(Default)]
struct Disk {
    /// Each file that was written, and whether all of it is on the disk.
    files: BTreeMap<String, bool>,
    /// The directories with a new name that is not on the disk yet, and the thread that gave it.
    owing: BTreeSet<(String, String)>,
    /// The new names, in order.
    named: Vec<String>,
    /// What was not on the disk when it had to be.
    faults: Vec<String>,
}

impl Disk {
    fn of(trace: &str, top: &Path) -> Self {
        let (mut disk, top) = (Self::default(), format!("{}/", top.display()));
        for (thread, moment, call) in moments(trace) {
            disk.see(thread, moment, &call, &top);
        }
        disk.faults.extend(disk.owing.iter().map(|(_, directory)| format!("{directory} is not synced at the end")));
        disk
    }

    fn see(&mut self, thread: &str, moment: Moment, call: &str, top: &str) {
        let begins = moment == Moment::Begins;
        if let Some(file) = written(call).filter(|file| begins && file.starts_with(top)) {
            self.files.insert(file.into(), false);
        }
        if let Some(file) = synced(call).filter(|_| !begins) {
            // Some file systems cannot sync a directory; there latido's request is enough.
            self.owing.retain(|(_, directory)| directory != file);
            // One thread writes a file and syncs it: no write occurs between the beginning and the end of the sync.
            self.files.entry(file.into()).and_modify(|on_disk| *on_disk |= call.ends_with(" = 0"));
        }
        let Some((from, to)) = renamed(call).filter(|(_, to)| begins && to.starts_with(top)) else { return };
        let parent = to.rsplit_once('/').unwrap().0.to_owned();
        let late = |(other, directory): &&(String, String)| other == thread && *directory != parent;
        self.faults.extend(self.owing.iter().find(late).map(|(_, late)| format!("{late} is not synced before {call}")));
        self.owing.insert((thread.into(), parent));
        // A renamed directory takes its files with it.
        let within = |file: &str| file.strip_prefix(from).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let (moved, kept): (BTreeMap<_, _>, _) =
            mem::take(&mut self.files).into_iter().partition(|(file, _)| within(file));
        self.files = kept;
        if moved.is_empty() || moved.values().any(|on_disk| !on_disk) {
            self.faults.push(format!("not synced before {call}"));
        }
        self.files.extend(moved.into_iter().map(|(file, on_disk)| (file.replacen(from, to, 1), on_disk)));
        self.named.push(to.into());
    }
}

/// The check finds each call that comes before its sync, whatever other threads do meanwhile.
#[test]
fn the_reading_of_a_trace_finds_what_is_not_on_the_disk() {
    let whole = [
        r#"7 openat(AT_FDCWD</x>, "/x/s/.new", O_WRONLY|O_CREAT|O_EXCL, 0644) = 5</x/s/.new>"#,
        r#"7 write(5</x/s/.new>, "{}", 2) = 2"#,
        "7 fsync(5</x/s/.new> <unfinished ...>",
        r#"8 write(6</x/other>, "{}", 2) = 2"#,
        "7 <... fsync resumed>) = 0",
        r#"7 rename("/x/s/.new", "/x/s/run.json" <unfinished ...>"#,
        "7 <... rename resumed>) = 0",
        "7 fsync(5</x/s>) = 0",
    ];
    let faults = |lines: Vec<&str>| {
        let disk = Disk::of(&lines.join("\n"), Path::new("/x/s"));
        assert_eq!(disk.named, ["/x/s/run.json"]);
        disk.faults.len()
    };
    let without = |left_out: &[usize]| {
        let lines = whole.iter().enumerate().filter(|(index, _)| !left_out.contains(index));
        faults(lines.map(|(_, line)| *line).collect())
    };
    assert_eq!(without(&[]), 0);
    assert_eq!(without(&[2, 4]), 1, "the file is not synced");
    assert_eq!(without(&[4]), 1, "the sync has not ended");
    assert_eq!(without(&[7]), 1, "the directory is not synced");
    let mut late = whole.to_vec();
    let write = late.remove(1);
    late.insert(4, write);
    assert_eq!(faults(late), 1, "it was written after the sync");
}

/// latido syncs each file of a run before it renames it into place, and syncs the directory after it.
#[test]
fn each_file_of_a_run_is_on_the_disk_before_it_gets_its_name() {
    let world = World::new();
    let run = world.latido(["run", "null", "samples=500", "-d1s", "--policy", "other", "--no-report", "-q"]);
    let what = "that each file of a run is on the disk before it gets its name";
    let Some((trace, output)) = traced(&world, &run, FILES, what) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let disk = Disk::of(&trace, &world.store());
    for name in ["plan.toml", "run.json", "histogram-0.hdr", "host.json", "record.json"] {
        let named = disk.named.iter().any(|path| Path::new(path).ends_with(name));
        assert!(named, "{name} was not renamed into place: {:#?}", disk.named);
    }
    assert!(disk.faults.is_empty(), "{:#?}", disk.faults);
}

/// latido syncs each line of its journal before it opens or writes the next file of a setting.
#[test]
fn each_line_of_the_journal_is_on_the_disk_before_the_setting_changes() {
    let (world, root) = (World::new(), trees::directory());
    trees::plant(trees::CGROUP_V2, root.path());
    let mut apply = world.latido(["tune", "--sysroot"]);
    apply.arg(root.path()).args(["apply", "timers", "vm-stat:60s", "preempt:full", "workqueues:2", "rcu:cpus=0"]);
    let what = "that the journal is on the disk before a setting changes";
    let Some((trace, output)) = traced(&world, &apply, FILES, what) else { return };
    assert!(output.status.success(), "{}", stderr(&output));
    let journal = world.state().join("journal.jsonl").display().to_string();
    let settings = format!("{}/", root.path().display());
    // Whether a line is written and not synced yet, the number of lines so far, and that number at each change of a setting.
    let (mut unsynced, mut lines, mut changes) = (false, 0, BTreeMap::new());
    for (_, moment, call) in moments(&trace) {
        let begins = moment == Moment::Begins;
        if begins && call.starts_with("write(") && described(&call) == Some(&journal) {
            (unsynced, lines) = (true, lines + 1);
        } else if !begins && synced(&call) == Some(&journal) && call.ends_with(" = 0") {
            unsynced = false;
        }
        if let Some(file) = written(&call).filter(|file| begins && file.starts_with(&settings)) {
            assert!(!unsynced, "the journal is not synced before {call}");
            changes.entry(file.to_owned()).or_insert(lines);
        }
    }
    assert!(changes.len() > 4, "{changes:#?}");
    assert!(changes.values().all(|lines| *lines > 0), "{changes:#?}");
}
