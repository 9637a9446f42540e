//! Loads that misbehave: one that talks without end, one that hides from the agent, and names that somebody else chose.

use crate::common::{self, Need};

use common::{World, agent_of, stderr};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

/// Ends whatever is left of a world, for a test that fails to leave nothing behind either.
fn end_all(world: &World) {
    for (pid, _) in world.alive() {
        kill(pid, Signal::KILL);
    }
}

fn kill(pid: i32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

/// Its output, or `None` where it does not end in time; then all of its world is ended.
fn within(world: &World, mut child: Child, patience: Duration) -> Option<Output> {
    let until = Instant::now() + patience;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() >= until {
            end_all(world);
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    Some(child.wait_with_output().unwrap())
}

/// What each thread at nice 0 would feel: the longest time by which a sleep of 10 ms was too long, until it is told to end.
fn sleeper(over: &Arc<AtomicBool>) -> thread::JoinHandle<Duration> {
    let over = Arc::clone(over);
    thread::spawn(move || {
        let mut longest = Duration::ZERO;
        while !over.load(Relaxed) {
            let began = Instant::now();
            thread::sleep(Duration::from_millis(10));
            longest = longest.max(began.elapsed());
        }
        longest
    })
}

/// A load that writes to both of its outputs without end is throttled by its full pipes: the run ends, and nobody else on
/// the machine waits for its readers. Demanded are 8 s and 1 s of an idle machine; 20 s and 2 s leave room for a crowd of
/// other tests, and are far from what was seen without the bound (no end; stalls of 5 s and more).
#[test]
fn a_talkative_load_starves_nobody() {
    let _alone = common::alone();
    let world = World::new();
    let script = world.file("talk.sh", "cat /dev/zero & exec cat /dev/zero >&2\n");
    let load = format!("command:sh {}", script.display());
    let mut command = world.latido(["run", "wakeup", "-d", "3s", "--load", &load, "--no-report"]);
    let over = Arc::new(AtomicBool::new(false));
    let sleeping = sleeper(&over);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    let ended = within(&world, child, Duration::from_secs(20));
    let took = began.elapsed();
    over.store(true, Relaxed);
    let stall = sleeping.join().unwrap();
    println!("took {took:?}, longest stall {stall:?}");
    let output = ended.expect("the run does not end");
    assert!(common::records_of(&world) == 1, "{}", stderr(&output));
    assert!(stall < Duration::from_secs(2), "somebody at nice 0 waited {stall:?}");
    world.nothing_left("after a talkative load");
}

/// A load that hides: a session and an environment of its own, twice forked, deaf to SIGTERM. It notes its number.
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

/// The process that a file names, once it does.
fn named_by(file: &Path) -> i32 {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(text) = fs::read_to_string(file) {
            return text.trim().parse().unwrap();
        }
        assert!(Instant::now() < until, "the load never started its daemon");
        thread::sleep(Duration::from_millis(20));
    }
}

fn lives(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

/// Directories of loads in any control group.
fn groups() -> Vec<PathBuf> {
    let output =
        Command::new("find").args(["/sys/fs/cgroup", "-type", "d", "-name", "latido-load-*"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()
}

/// Groups that name the agent that made them.
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

/// The agent alone is killed in the middle of a run: what a load hid from it ends all the same, by the control group, and
/// the group is gone. The measured threads were never in it.
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
    let host = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let daemon = named_by(&noted);
    let agent = agent_of(host.id());
    // Until it measures, so that there are measured threads to look for.
    let children = format!("/proc/{agent}/task/{agent}/children");
    let until = Instant::now() + Duration::from_secs(20);
    while fs::read_to_string(&children).unwrap_or_default().split_whitespace().count() < 2 && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    let found = groups_of(agent);
    if found.is_empty() && !can_be_had() {
        end_all(&world);
        kill(daemon, Signal::KILL);
        let _ = within(&world, host, Duration::ZERO);
        common::skip(
            what,
            Need::ControlGroups,
            "no control group of version 2 without controllers, and no freezer of version 1",
        );
        return;
    }
    let members: String = found.iter().map(|dir| fs::read_to_string(dir.join("cgroup.procs")).unwrap()).collect();
    let members: Vec<i32> = members.lines().map(|line| line.parse().unwrap()).collect();
    for (pid, line) in world.alive() {
        assert!(!line.contains("agent") || !members.contains(&pid), "{line} is in the group of the load");
    }
    kill(agent.cast_signed(), Signal::KILL);
    within(&world, host, Duration::from_secs(40)).expect("the host does not end");
    let outlived = lives(daemon);
    if outlived {
        kill(daemon, Signal::KILL);
    }
    assert!(!outlived, "the daemon outlived the agent");
    assert_eq!(groups_of(agent), Vec::<PathBuf>::new());
    world.nothing_left("after the agent was killed");
}

/// The same load in a run that nobody disturbs: it ends with the run, and no group stays.
#[test]
fn a_hidden_daemon_ends_with_its_run() {
    if !common::root("loads in a control group") {
        return;
    }
    let _alone = common::alone();
    let world = World::new();
    let (load, noted) = hidden(&world);
    let mut command = world.latido(["run", "null", "samples=50", "--load", &load, "--no-report"]);
    let host = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let daemon = named_by(&noted);
    let agent = agent_of(host.id());
    within(&world, host, Duration::from_secs(40)).expect("the run does not end");
    assert!(!lives(daemon), "the daemon outlived its run");
    assert_eq!(groups_of(agent), Vec::<PathBuf>::new());
}

/// A name in the caller's environment makes nobody a load: `latido load` heeds its duration and tells what was done.
#[test]
fn a_mark_of_the_callers_confuses_no_load() {
    let world = World::new();
    let mut command = world.latido(["load", "spin:cpu=1", "-d", "1s"]);
    let child = command.env("LATIDO_LOAD", "1-1").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let output = within(&world, child, Duration::from_secs(20)).expect("it takes itself for a load and never ends");
    assert!(output.status.success() && stderr(&output).contains("processor time"), "{}", stderr(&output));
    world.nothing_left("after a load with a mark of its caller's");
}

/// A run from within what a crashed one left, a shell that bears its mark: the recovery ends neither the host that asks for
/// it nor itself.
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
