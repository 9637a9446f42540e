//! What the end-to-end tests share: the binary in a separate world, and the list of skipped tests.

pub mod behind;
pub mod family;
pub mod far;
pub mod guest;
pub mod lab;
pub mod loads;
pub mod placement;
pub mod processes;
pub mod recording;
#[path = "../../../../import/tests/suite/samples.rs"]
pub mod samples;
pub mod scripted;
pub mod small;
pub mod ssh;
pub mod stamps;
pub mod stand_in;
#[path = "../../../../agent/tests/trees/plant.rs"]
pub mod trees;
mod turn;
mod waiting;
pub mod whole;

pub use latido_model::needs::{Need, skip};
pub use planted::Planted;
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
};
use tempfile::TempDir;
pub use turn::{Alone, Turn};
pub use waiting::{ended, meanwhile, settled, status, until};

/// The store, state directory and working directory of one test. Every process started from here, and every descendant, has the state
/// directory in its environment: this is how the test finds leftovers.
pub struct World {
    pub dir: TempDir,
    _turn: Turn,
}

impl World {
    pub fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), _turn: Turn::among_others() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn store(&self) -> PathBuf {
        self.path("store")
    }

    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// The binary with arguments, not yet started.
    pub fn latido<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        self.of(small::latido(), arguments)
    }

    /// The same with the binary that contains the faults that tests plant.
    pub fn faulty<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        self.of(&small::built(), arguments)
    }

    fn of<'a>(&self, latido: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let arguments: Vec<&str> = arguments.into_iter().collect();
        let mut command = Command::new(latido);
        // `--stop-on` switches the kernel's trace off for the user to read. A test must leave that of the machine on.
        if arguments.iter().any(|one| one.starts_with("--stop-on")) {
            command.env("LATIDO_TRACING", self.path("no-tracing"));
        }
        command
            .args(arguments)
            .current_dir(self.dir.path())
            .env("LATIDO_STORE", self.store())
            .env("LATIDO_STATE", self.state())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("NO_COLOR", "1")
            .env_remove("LATIDO_FAULT")
            // A suite behind sudo still acts as root itself.
            .env_remove("SUDO_UID")
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary to its end.
    pub fn run<'a>(&self, arguments: impl IntoIterator<Item = &'a str>) -> Output {
        self.latido(arguments).output().unwrap()
    }

    /// Writes a file in the working directory.
    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The processes of this world that are still alive, with their command lines.
    pub fn alive(&self) -> Vec<(i32, String)> {
        let wanted = format!("LATIDO_STATE={}", self.state().display());
        let pids = fs::read_dir("/proc").unwrap().flatten().filter_map(|e| e.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| *pid != std::process::id().cast_signed())
            .filter(|pid| {
                let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
                environ.split(|b| *b == 0).any(|variable| variable == wanted.as_bytes())
            })
            .map(|pid| {
                let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
                (pid, String::from_utf8_lossy(&line).replace('\0', " "))
            })
            .collect()
    }

    /// Waits until no process of this world is left; panics with the command lines of those that stay.
    pub fn nothing_left(&self, after: &str) {
        settled(&format!("the end of all processes {after}"), || match self.alive() {
            alive if alive.is_empty() => Ok(()),
            alive => Err(format!("left behind: {alive:?}")),
        });
    }

    /// The directories of the runs, oldest first.
    pub fn runs(&self) -> Vec<PathBuf> {
        let runs = fs::read_dir(self.store().join("runs")).into_iter().flatten().flatten();
        let mut runs: Vec<PathBuf> = runs.map(|e| e.path()).filter(|p| p.is_dir() && !p.is_symlink()).collect();
        // The names of runs of the same second have no order; latido writes a plan once, at the start of its run.
        runs.sort_by_cached_key(|run| {
            (run.join("plan.toml").metadata().and_then(|plan| plan.modified()).ok(), run.clone())
        });
        runs
    }
}

/// A background process that ends with the test.
pub struct Background(Child);

impl Background {
    pub fn shell(script: &str) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    pub fn pid(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// All `record.json` files of a run, for comparison.
pub fn records(run: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let cells = fs::read_dir(run.join("cells")).into_iter().flatten().flatten();
    let mut found: Vec<_> = cells
        .map(|cell| cell.path().join("record.json"))
        .filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes)))
        .collect();
    found.sort();
    found
}

/// The `--json` document of a run that must end with this status.
pub fn json(output: &Output, status: i32) -> serde_json::Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    let headline = || {
        let document: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
        document.map(|document| document["judgement"]["headline"].to_string())
    };
    assert_eq!(output.status.code(), Some(status), "{stderr}{:?}", headline());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&output.stdout)))
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// The output of a command that must succeed.
pub fn text(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A Python with these modules: that of `scripts/readers`, or the machine's; `None` if neither has them, which the test notes as skipped.
pub fn reader(modules: &str, what: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/readers/python/bin/python3");
    let has = |python: &PathBuf| {
        let import = format!("import {modules}");
        let status = Command::new(python).args(["-c", &import]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let found = [own, "python3".into()].into_iter().find(has);
    if found.is_none() {
        skip(what, Need::Readers, &format!("python3 has no module {modules}: scripts/readers installs them"));
    }
    found
}

/// Whether this process may become FIFO here; if not, the test is noted as skipped.
pub fn realtime(what: &str) -> bool {
    let allowed = Command::new("chrt").args(["-f", "10", "true"]).output().is_ok_and(|o| o.status.success());
    if !allowed {
        skip(what, Need::Realtime, "no permission for SCHED_FIFO here (or no chrt)");
    }
    allowed
}

/// Whether a program is installed; if not, the test is noted as skipped.
pub fn installed(program: &str, what: &str) -> bool {
    let there = Command::new(program).arg("--version").output().is_ok();
    if !there {
        skip(what, Need::Program, &format!("{program} is not installed"));
    }
    there
}

/// Whether the tests run as root; if not, the test is noted as skipped.
pub fn root(what: &str) -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        skip(what, Need::Root, "needs root");
    }
    root
}

/// Waits until no other test measures: real-time measurements on one CPU would disturb each other.
pub fn alone() -> Alone {
    Alone::of("measuring")
}

/// The measuring process of a world, as soon as it exists.
pub fn measuring_process(world: &World) -> i32 {
    until("a measuring process", || {
        world.alive().into_iter().find(|(_, line)| line.contains("--measure")).map(|(pid, _)| pid)
    })
}

/// Keeps all others away while a test changes and compares this machine's settings: the tests of this file, those of other working copies,
/// and a person's `latido run`. A test must take this before a [`World`].
pub fn machine() -> Turn {
    Turn::alone()
}

/// The runs of a world; empty if it has no store.
pub fn runs_of(world: &World) -> Vec<PathBuf> {
    let dirs = fs::read_dir(world.store().join("runs")).into_iter().flatten().flatten();
    dirs.map(|entry| entry.path()).collect()
}

/// The number of cells with a record in a world's runs.
pub fn records_of(world: &World) -> usize {
    let cells =
        runs_of(world).into_iter().flat_map(|run| fs::read_dir(run.join("cells")).into_iter().flatten().flatten());
    cells.filter(|cell| cell.path().join("record.json").exists()).count()
}

/// The agent of a host: its only child.
pub fn agent_of(host: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).unwrap();
    children.split_whitespace().next().expect("a host has an agent").parse().unwrap()
}

/// An unprivileged attacker: a shell script that setpriv(1) runs as a user who owns nothing.
pub mod attacker {
    use std::process::{Command, Stdio};

    /// The attacker's user and group id. The person behind sudo has the same ids in tests where the attacker is that person.
    pub const UID: u32 = 61_234;

    /// Why this machine allows no attacker; `None` if it does.
    pub fn missing() -> Option<String> {
        if !rustix::process::geteuid().is_root() {
            return Some("only root can act as another user".into());
        }
        let there =
            Command::new("setpriv").arg("--version").stdout(Stdio::null()).status().is_ok_and(|how| how.success());
        (!there).then(|| "setpriv is missing (util-linux)".into())
    }

    /// A shell script as the attacker, not yet started.
    pub fn script(text: &str) -> Command {
        let id = UID.to_string();
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &id, "--regid", &id, "--clear-groups", "--no-new-privs", "sh", "-c", text]);
        command.stdin(Stdio::null());
        command
    }

    /// Makes a latido command one behind sudo: root works for the attacker's account.
    pub fn behind_sudo(command: &mut Command) -> &mut Command {
        let id = UID.to_string();
        command.env("SUDO_UID", &id).env("SUDO_GID", &id).env("SUDO_USER", "mallory")
    }
}

/// Page faults of the measuring threads.
///
/// latido makes its loops' code and memory resident before they start. The tests prove that no page is missing where nothing else moves or
/// maps pages: in guests of the laboratory ([`none`]), by the counted costs of each loop (`crates/rt/tests/quiet`), and on the static file
/// by `scripts/check-faults`, which repeats a measurement that met a fault. On a machine with other work a thread now and then meets a
/// minor fault that no repetition shows again. A page that has to be read from a disk would be latido's own fault there too.
pub mod faults {
    use serde_json::Value;

    /// The minor and major page faults of all threads of a record.
    fn met(record: &Value) -> (u64, u64) {
        let threads = record["quality"]["threads"].as_array().unwrap();
        assert!(!threads.is_empty(), "{}", record["quality"]);
        let sum = |key: &str| threads.iter().map(|thread| thread[key].as_u64().unwrap()).sum();
        (sum("minor_faults"), sum("major_faults"))
    }

    /// Checks that no thread met a page fault, in a guest of the laboratory.
    pub fn none(record: &Value) {
        assert_eq!(met(record), (0, 0), "{}", record["quality"]);
    }

    /// Checks that no thread waited for a page from a disk, on any machine.
    pub fn none_from_a_disk(record: &Value) {
        assert_eq!(met(record).1, 0, "{}", record["quality"]);
    }
}

/// A cause of late samples on CPU 0, planted by the program that the slow campaign also uses.
mod planted {
    use std::{
        io::{BufRead, BufReader},
        process::{Child, Command, Stdio},
    };

    /// A planted cause, which ends on drop.
    pub struct Planted(Child);

    impl Planted {
        /// Plants a cause, and waits until the program reports that it is there.
        pub fn on_cpu_0(cause: &str) -> Self {
            let plant = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/plant");
            let mut command = Command::new("python3");
            // Longer than any test: dropping this value ends it.
            command.args([plant, cause, "0", "3600"]).stdin(Stdio::null()).stdout(Stdio::piped());
            let mut planted = Self(command.spawn().unwrap());
            let mut said = String::new();
            BufReader::new(planted.0.stdout.take().unwrap()).read_line(&mut said).unwrap();
            assert_eq!(said, "planted\n", "{cause}");
            planted
        }
    }

    impl Drop for Planted {
        fn drop(&mut self) {
            let _ =
                rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), rustix::process::Signal::TERM);
            let _ = self.0.wait();
        }
    }
}
