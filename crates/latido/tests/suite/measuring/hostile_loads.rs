//! Loads that misbehave: one that writes without end, one that hides from the agent, and marks that another program chose.

use crate::common::{self, Need};

use common::{World, agent_of, ended, meanwhile, processes::ctrl_c, stderr, until};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

/// Ends all processes of a world, so that a failing test leaves nothing behind either.
fn end_all(world: &World) {
    for (pid, _) in world.alive() {
        kill(pid, Signal::KILL);
    }
}

fn kill(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// The number of bytes that a process has written so far (proc_pid_io(5)).
fn written(pid: i32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("wchar: ")?.parse().ok())
}

/// latido reads at most 64 KiB of an output in each 100 ms (`loading/listening.rs`, whose tests show that its readers have no raised
/// priority). A load that writes to both of its outputs without end is throttled by its full pipes, and the run ends. Without that bound a
/// load wrote gigabytes, and the readers used the whole machine for as long as it wrote.
#[test]
fn a_talkative_load_is_throttled_by_its_pipes() {
    const WINDOW_BYTES: u64 = 64 << 10;
    // Two full pipes of 64 KiB contain what latido has not read.
    const PIPE: u64 = 64 << 10;
    let _alone = common::alone();
    let world = World::new();
    let script = world.file("talk.sh", "dd if=/dev/zero bs=4k & exec dd if=/dev/zero bs=4k >&2\n");
    let load = format!("command:sh {}", script.display());
    let mut command = world.latido(["run", "wakeup", "-d", "3s", "--load", &load, "--no-report"]);
    let began = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut most = 0;
    until("the end of the run", || {
        for (pid, _) in world.alive().into_iter().filter(|(_, line)| line.starts_with("dd ")) {
            let bytes = written(pid).unwrap_or(0);
            // Taken after the reading: on a slow machine the bound only becomes wider.
            let windows = began.elapsed().as_millis() as u64 / 100 + 2;
            assert!(bytes <= windows * WINDOW_BYTES + PIPE, "{bytes} bytes in {windows} windows");
            most = bytes.max(most);
        }
        child.try_wait().unwrap()
    });
    let output = ended(child, "a run with a talkative load");
    assert_eq!(common::records_of(&world), 1, "{}", stderr(&output));
    assert!(most > 2 * PIPE, "it wrote {most} bytes, which fit into a pipe: the test proves nothing");
    world.nothing_left("after a talkative load");
}

/// A load that hides: with its own session and environment, forked twice, and ignoring SIGTERM. It writes its pid to a file.
fn hidden(world: &World) -> (String, PathBuf) {
    let noted = world.path("daemon.pid");
    let daemon =
        world.file("daemon.sh", "trap '' TERM HUP INT\necho $$ >$1.new && mv $1.new $1\nwhile :; do sleep 1; done\n");
    let text = format!(
        "(setsid env -i PATH=/usr/bin:/bin sh {} {} </dev/null >/dev/null 2>&1 &)\nexec sleep 60\n",
        daemon.display(),
        noted.display()
    );
    (format!("command:sh {}", world.file("hide.sh", &text).display()), noted)
}

/// The process that a file names, once the file does.
fn named_by(file: &Path) -> i32 {
    until("the daemon of the load", || Some(fs::read_to_string(file).ok()?.trim().parse().unwrap()))
}

fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// The directories of loads in any control group.
fn groups() -> Vec<PathBuf> {
    let output =
        Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", "latido-load-*"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()
}

/// The groups with the agent that made them in their name.
fn groups_of(agent: u32) -> Vec<PathBuf> {
    let prefix = format!("latido-load-{agent}-");
    groups().into_iter().filter(|dir| dir.file_name().unwrap().to_string_lossy().starts_with(&prefix)).collect()
}

/// Whether a load may have a group here: a freezer of version 1, or a group of version 2 that distributes no controllers.
fn can_be_had() -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap();
    let freezer = mounts.lines().find(|line| line.contains(" cgroup rw") && line.contains("freezer"));
    let unified = mounts.lines().find(|line| line.contains(" cgroup2 rw")).and_then(|line| line.split(' ').nth(1));
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let distributed = unified.zip(own).map(|(top, own)| Path::new(top).join(own).join("cgroup.subtree_control"));
    freezer.is_some()
        || distributed.is_some_and(|file| fs::read_to_string(file).is_ok_and(|text| text.trim().is_empty()))
}

/// The agent alone is killed in the middle of a run: the control group also ends what a load hid from the agent, and the group is gone. The
/// measured threads were never in it.
#[test]
fn a_hidden_daemon_does_not_outlive_the_agent() {
    let what = "loads in a control group";
    if !common::root(what) {
        return;
    }
    let _alone = common::alone();
    let world = World::new();
    let (load, noted) = hidden(&world);
    let mut command = world.latido(["run", "null", "samples=50", "hold=60s", "--load", &load, "--no-report"]);
    let mut host = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let daemon = named_by(&noted);
    let agent = agent_of(host.id());
    // Waits until the run measures, so that there are measured threads to look for.
    let children = format!("/proc/{agent}/task/{agent}/children");
    let two = || (fs::read_to_string(&children).unwrap_or_default().split_whitespace().count() >= 2).then_some(());
    meanwhile(&mut host, "the load and the measuring process", two);
    let found = groups_of(agent);
    if found.is_empty() && !can_be_had() {
        end_all(&world);
        kill(daemon, Signal::KILL);
        ended(host, "a run whose processes were killed");
        common::skip(
            what,
            Need::ControlGroups,
            "no control group of version 2 without controllers, and no freezer of version 1",
        );
        return;
    }
    let members: String = found.iter().map(|dir| fs::read_to_string(dir.join("cgroup.procs")).unwrap()).collect();
    let members: Vec<i32> = members.lines().map(|line| line.parse().unwrap()).collect();
    assert!(members.contains(&daemon), "the hidden daemon {daemon} is not in the group of the load: {members:?}");
    for (pid, line) in world.alive() {
        assert!(!line.contains("agent") || !members.contains(&pid), "{line} is in the group of the load");
    }
    kill(agent.cast_signed(), Signal::KILL);
    ended(host, "the host of a killed agent");
    let outlived = lives(daemon);
    if outlived {
        kill(daemon, Signal::KILL);
    }
    assert!(!outlived, "the daemon outlived the agent");
    assert_eq!(groups_of(agent), Vec::<PathBuf>::new());
    world.nothing_left("after the agent was killed");
}

/// The same load in an undisturbed run: it ends with the run, and no group stays.
#[test]
fn a_hidden_daemon_ends_with_its_run() {
    if !common::root("loads in a control group") {
        return;
    }
    let _alone = common::alone();
    let world = World::new();
    let (load, noted) = hidden(&world);
    let mut command =
        world.latido(["run", "null", "samples=50", "hold=600s", "-d600s", "--load", &load, "--no-report"]);
    let host = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let daemon = named_by(&noted);
    let agent = agent_of(host.id());
    ctrl_c(host.id());
    ended(host, "a run with a hidden daemon");
    assert!(!lives(daemon), "the daemon outlived its run");
    assert_eq!(groups_of(agent), Vec::<PathBuf>::new());
}

/// A mark in the caller's environment makes no process a load: `latido load` keeps its duration and reports what it did.
#[test]
fn a_mark_of_the_callers_confuses_no_load() {
    let world = World::new();
    let mut command = world.latido(["load", "spin:cpu=1", "-d", "1s"]);
    let child = command.env("LATIDO_LOAD", "1-1").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let output = ended(child, "a load with a mark of its caller's");
    assert!(output.status.success() && stderr(&output).contains("processor time"), "{}", stderr(&output));
    world.nothing_left("after a load with a mark of its caller's");
}

/// A run started by a leftover of a crashed run, a shell with its mark: the recovery ends neither the host that requests it nor itself.
#[test]
fn a_recovery_does_not_end_its_own_caller() {
    let world = World::new();
    fs::create_dir_all(world.state()).unwrap();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let entry = r#","owner":"run","what":{"kind":"load","mark":"4-44","argv":["sh"]}}"#;
    fs::write(world.state().join("journal.jsonl"), format!("{{\"boot\":\"{}\"{entry}\n", boot.trim())).unwrap();
    let mut stranger = Command::new("sleep").arg("60").env("LATIDO_LOAD", "4-44").spawn().unwrap();
    let output =
        world.latido(["run", "null", "samples=10", "--no-report"]).env("LATIDO_LOAD", "4-44").output().unwrap();
    let ended = stranger.try_wait().unwrap().is_some();
    let _ = stranger.kill();
    let _ = stranger.wait();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(ended, "what else bears the mark is ended");
    assert!(!world.state().join("journal.jsonl").exists());
}
