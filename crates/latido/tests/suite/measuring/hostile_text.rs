//! Hostile names of tasks, runs, plans and words of the command line: they control no terminal and no page.

use crate::common::{self, Need};

use common::{World, json, skip};
use latido_model::clean;
use serde_json::Value;
use std::{
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStringExt, fs::symlink, process::CommandExt},
    path::Path,
    process::{Child, Command, Output, Stdio},
};

/// Text that sets a title, erases, colours, rings, reverses text, hides, and ends a line.
const HOSTILE: &str = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u{9b}5m\u{202e}\u{2066}\u{61c}\u{200b}\u{2028}\r\x7fx";

/// The invisible characters of [`HOSTILE`] that are no control characters: the check does not rely on latido's own list alone.
const INVISIBLE: &str = "\u{202e}\u{2066}\u{61c}\u{200b}\u{2028}";

/// The lines that contain hostile control characters; line ends alone do no harm.
fn hidden(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let acts = |c: char| c.is_control() || INVISIBLE.contains(c) || clean::is_hidden(c);
    let lines = text.lines().filter(|line| line.chars().any(|c| acts(c) && c != '\t'));
    lines.map(|line| line.escape_unicode().take(400).collect()).collect()
}

fn harmless(what: &str, output: &Output) {
    assert_eq!(hidden(&output.stdout), Vec::<String>::new(), "{what}: stdout");
    assert_eq!(hidden(&output.stderr), Vec::<String>::new(), "{what}: stderr");
}

/// Makes a small run of made-up samples and returns its directory.
fn made_up(world: &World) -> std::path::PathBuf {
    let output = world.run(["run", "null", "-d", "50ms", "--warmup=1ms", "--no-report", "--json"]);
    json(&output, 0);
    world.runs().remove(0)
}

/// Appends the hostile text to every text that only people read.
fn poison(value: &mut Value, key: &str) {
    // Programs read these: without their correct values a run is not valid.
    const READ: &[&str] = &[
        "schema",
        "outcome",
        "verdict",
        "policy",
        "scheduling",
        "probe",
        "quantities",
        "order",
        "duration",
        "warmup",
        "limit",
        "cpus",
        "files",
        "period",
        "isolated",
        "online",
        "grade",
        "seed",
    ];
    match value {
        Value::String(text) if !READ.contains(&key) => text.push_str(HOSTILE),
        Value::Array(all) => all.iter_mut().for_each(|one| poison(one, key)),
        Value::Object(map) => {
            map.iter_mut().filter(|(key, _)| !READ.contains(&key.as_str())).for_each(|(key, one)| poison(one, key));
        }
        _ => {}
    }
}

fn poisoned(path: &Path, change: impl Fn(&mut Value)) {
    let mut value: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut value);
    fs::write(path, serde_json::to_vec(&value).unwrap()).unwrap();
}

/// A record and a run of a stranger, given to all commands that read them. The texts of the machine, the loads, the skipped and found
/// things, labels, units, the plan and the run itself are hostile; so is a file that is not JSON.
#[test]
fn a_run_of_a_stranger_is_shown_without_its_controls() {
    let world = World::new();
    let run = made_up(&world);
    poisoned(&run.join("run.json"), |value| poison(&mut value["meta"], ""));
    poisoned(&run.join("cells/001/record.json"), |value| {
        for key in ["machine", "quality", "load", "tunings", "skipped"] {
            // If an enumeration of a part does not parse any more, the part stays sound: another test covers that.
            let sound = value[key].clone();
            poison(&mut value[key], key);
            if serde_json::from_value::<latido_model::record::Record>(value.clone()).is_err() {
                value[key] = sound;
            }
        }
        value["machine"]["hostname"] = HOSTILE.into();
        value["machine"]["kernel"] = format!("7{HOSTILE}").into();
        value["skipped"] = serde_json::json!([{ "what": HOSTILE, "why": HOSTILE }]);
        value["series"][0]["labels"] = serde_json::json!({ HOSTILE: HOSTILE });
        value["series"][0]["unit"] = HOSTILE.into();
        value["series"][0]["facts"] = serde_json::json!({ HOSTILE: 1 });
        value["quality"]["foreign"] = serde_json::json!([
            { "policy": HOSTILE, "comm": HOSTILE, "tid": 1, "cpu": 0, "ran_ns": 5_000_000, "owner": "program" }
        ]);
        value[HOSTILE] = 1.into();
        serde_json::from_value::<latido_model::record::Record>(value.clone()).unwrap();
    });
    fs::write(run.join("plan.toml"), format!("# {HOSTILE}\n")).unwrap();
    let dir = run.to_str().unwrap();

    let shown = world.run(["show", "--full", dir]);
    harmless("show", &shown);
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(text.contains("\\u001b]0;owned\\u0007") && text.contains("\\u202e"), "it is written out: {text}");
    let shown = world.run(["show", dir, "--json"]);
    harmless("show --json", &shown);
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(document["records"][0]["machine"]["hostname"], HOSTILE, "the value is what it was");
    assert_eq!(document["records"][0]["quality"]["foreign"][0]["comm"], HOSTILE);
    harmless("list", &world.run(["list", "runs"]));
    harmless("list --json", &world.run(["list", "runs", "--json"]));
    harmless("resume", &world.run(["run", "--resume", dir]));
    for format in ["html", "text", "latex", "markdown", "csv", "json"] {
        let file = world.path(&format!("report.{format}"));
        let output = world.run(["report", dir, "--format", format, "-o", file.to_str().unwrap()]);
        harmless(format, &output);
        assert_eq!(output.status.code(), Some(0), "{format}: {}", common::stderr(&output));
        assert_eq!(hidden(&fs::read(&file).unwrap()), Vec::<String>::new(), "{format}");
    }
    let figures = world.path("figures");
    harmless("figures", &world.run(["report", dir, "--figures", figures.to_str().unwrap()]));
    let files: Vec<_> = fs::read_dir(&figures).unwrap().flatten().map(|file| file.path()).collect();
    assert!(!files.is_empty());
    for file in files {
        assert_eq!(hidden(&fs::read(&file).unwrap()), Vec::<String>::new(), "{file:?}");
    }

    for (name, text) in
        [("infra.json", format!("{{\"schema\":2,\"reason\":{HOSTILE:?}}}")), ("record.json", HOSTILE.into())]
    {
        fs::write(run.join("cells/001").join(name), text).unwrap();
        harmless(name, &world.run(["show", "--full", dir]));
        harmless(name, &world.run(["show", dir, "--json"]));
    }
    fs::create_dir(run.join("cells").join(HOSTILE)).unwrap();
    harmless("a directory", &world.run(["show", "--full", dir]));
    fs::write(run.join("run.json"), HOSTILE).unwrap();
    harmless("no run.json", &world.run(["list", "runs"]));
    harmless("no run.json", &world.run(["show", "--full", dir]));
}

/// Errors repeat typed words, texts of a plan and names of targets without their control characters.
#[test]
fn errors_repeat_no_control() {
    let world = World::new();
    let plan = world.file("plan.toml", &format!("[[group]]\nprobe = {{ use = \"null{HOSTILE}\" }}\n{HOSTILE}"));
    let plan = plan.to_str().unwrap();
    let named = format!("name-{HOSTILE}");
    let flag = format!("--{HOSTILE}");
    for words in [
        vec!["show", "--full", HOSTILE],
        vec!["show", "--full", &flag],
        vec![HOSTILE],
        vec!["run", &named],
        vec!["run", "null", "--load", HOSTILE],
        vec!["run", "null", "-d", HOSTILE],
        vec!["run", plan],
        vec!["report", "--format", HOSTILE, "x"],
        vec!["load", HOSTILE],
        vec!["tune", "apply", HOSTILE],
        vec!["help", HOSTILE],
        vec!["check", "--sysroot", HOSTILE],
    ] {
        let output = world.run(words.iter().copied());
        assert!(!output.status.success() && !output.stderr.is_empty(), "{words:?}");
        harmless(&format!("{words:?}"), &output);
    }
}

/// A FIFO task with this name, which ends with the test.
struct Task(Child);

impl Task {
    /// Starts a shell under this name that sleeps and wakes, in a separate process group.
    fn start(world: &World, name: &[u8]) -> Self {
        let path = world.dir.path().join(OsString::from_vec(name.to_vec()));
        symlink("/bin/sh", &path).unwrap();
        let mut command = Command::new("chrt");
        command.args(["-f", "90"]).arg(&path).args(["-c", "while :; do sleep 0.01; done"]).process_group(0);
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let group = rustix::process::Pid::from_child(&self.0);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = self.0.wait();
    }
}

/// A task with a hostile name, seen while it runs: in the run's output, the record, the page, and by `check`. latido also finds a task
/// whose name is not UTF-8.
#[test]
fn a_task_of_a_hostile_name_is_named_without_its_controls() {
    if !common::realtime("a foreign task with control characters in its name") {
        return;
    }
    let _turn = common::alone();
    let world = World::new();
    let _tasks = [Task::start(&world, b"\x1b]0;owned\x07"), Task::start(&world, b"\xff\x9b31m")];
    let output = world.run(["run", "wakeup", "-d", "1s", "--warmup=50ms", "-o", "report.html"]);
    harmless("run", &output);
    let page = fs::read(world.path("report.html")).unwrap();
    assert_eq!(hidden(&page), Vec::<String>::new(), "the page");
    let shown = world.run(["show", "--full", "last"]);
    harmless("show", &shown);
    let shown = world.run(["show", "last", "--json"]);
    harmless("show --json", &shown);
    let document: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let foreign = document["records"][0]["quality"]["foreign"].as_array().unwrap();
    let names: Vec<&str> = foreign.iter().map(|task| task["comm"].as_str().unwrap()).collect();
    assert!(names.contains(&"\\u001b]0;owned\\u0007"), "cleaned where it is read: {names:?}");
    assert!(names.iter().any(|name| name.ends_with("31m")), "seen at all: {names:?}");
    let pid = _tasks[0].0.id().to_string();
    harmless("check --pid", &world.run(["check", "--pid", &pid]));
    harmless("check --pid --json", &world.run(["check", "--pid", &pid, "--json"]));
}

/// A terminal shows latido's own colours, but none from data.
#[test]
fn a_terminal_has_our_colours_and_no_others() {
    if Command::new("script").arg("--version").output().is_err() {
        return skip("colours on a terminal", Need::Program, "script is not installed");
    }
    let world = World::new();
    let run = made_up(&world);
    poisoned(&run.join("run.json"), |value| poison(&mut value["meta"], ""));
    let line = format!("{} show {}", env!("CARGO_BIN_EXE_latido"), run.display());
    let mut command = Command::new("script");
    command.args(["-qec", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR").stdin(Stdio::null());
    let output = command.env("LATIDO_STATE", world.state()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\x1b[1m"), "{text:?}");
    let mut bare = text.replace("\r\n", "\n");
    for own in ["\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"] {
        bare = bare.replace(own, "");
    }
    assert_eq!(hidden(bare.as_bytes()), Vec::<String>::new());
    assert!(bare.contains("\\u001b[31m"), "{bare}");
}
