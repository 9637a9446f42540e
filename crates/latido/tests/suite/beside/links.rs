//! Sessions over real links: attachments of gigabytes, a real sshd, a link that is lost in silence.

use crate::common::ssh;
use crate::common::{self, Need};

use common::{
    World, ended, installed, meanwhile,
    processes::{self, descendants},
    root, settled, skip, stderr,
};
use ssh::Board;
use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The peak resident memory of a process, in KiB (proc_pid_status(5), VmHWM).
fn peak_kib(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches("kB").trim().parse().ok()
}

/// Updates the peak resident memory of a host and its processes, by kind, in KiB.
fn look(host: u32, found: &mut BTreeMap<&str, u64>) {
    let own = [(host, "host".to_string())];
    for (pid, line) in own.into_iter().chain(descendants(host)) {
        let Some(peak) = peak_kib(pid) else { continue };
        let kind = match () {
            () if line.contains("--measure") => "measuring",
            () if line.contains(" agent") => "agent",
            () => "host",
        };
        let most = found.entry(kind).or_default();
        *most = peak.max(*most);
    }
}

/// The same for a run without an attachment, which stays alive while the test looks.
fn without(world: &World) -> BTreeMap<&'static str, u64> {
    let words = ["run", "null", "samples=10", "hold=600s", "-d600s", "--warmup=0ns", "--no-report", "--quiet"];
    let child = world.latido(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let pid = common::measuring_process(world);
    common::until("a measuring thread that sleeps", || (processes::wakeups(pid) > 10).then_some(()));
    let mut found = BTreeMap::new();
    look(child.id(), &mut found);
    processes::ctrl_c(child.id());
    ended(child, "a run without an attachment");
    found
}

/// The same for a run with an attachment, sampled while it runs.
fn with(world: &World, bytes: u64) -> BTreeMap<&'static str, u64> {
    let probe = format!("attach={bytes}");
    let words = ["run", "null", "samples=10", &probe, "--no-report", "--quiet"];
    let mut child = world.latido(words).stdout(Stdio::null()).spawn().unwrap();
    let mut found = BTreeMap::new();
    loop {
        look(child.id(), &mut found);
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return found;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// 2 GiB pass through three processes and arrive whole. Each process takes less than 16 MiB more than without them.
#[test]
fn two_gibibytes_pass_in_little_memory() {
    const BYTES: u64 = 2 << 30;
    let free = |dir: &Path| {
        let said = Command::new("df").args(["--output=avail", "-B1"]).arg(dir).output().unwrap();
        String::from_utf8_lossy(&said.stdout)
            .lines()
            .nth(1)
            .and_then(|line| line.trim().parse::<u64>().ok())
            .unwrap_or(0)
    };
    let world = World::new();
    if free(world.dir.path()) < 3 * BYTES || free(&std::env::temp_dir()) < 3 * BYTES {
        return skip("an attachment of 2 GiB", Need::Disk, "less than 6 GiB free for temporary files");
    }
    let small = without(&world);
    let large = with(&world, BYTES);
    for (kind, before) in &small {
        let most = large.get(kind).copied().unwrap_or_default();
        assert!(most.saturating_sub(*before) < 16 << 10, "{kind}: {before} KiB without, {most} KiB with");
    }
    let kinds = ["agent", "host", "measuring"];
    assert!(kinds.iter().all(|kind| small.contains_key(kind) && large.contains_key(kind)), "{small:?} {large:?}");
    let runs = common::runs_of(&world);
    let size = |run: &PathBuf| fs::metadata(run.join("cells/001/attachment.bin")).map(|file| file.len());
    assert_eq!(runs.iter().filter_map(|run| size(run).ok()).collect::<Vec<_>>(), [BYTES]);
    world.nothing_left("after 2 GiB");
}

/// Makes a directory of agents for $LATIDO_AGENTS that contains the binary under test.
fn agents(world: &World) -> PathBuf {
    let dir = world.path("agents");
    let of_arch = dir.join(std::env::consts::ARCH);
    fs::create_dir_all(&of_arch).unwrap();
    let _ = symlink(env!("CARGO_BIN_EXE_latido"), of_arch.join("latido"));
    dir
}

/// A command that reaches the board with the test's own ssh configuration.
fn over(world: &World, config: &Path, words: &[&str]) -> Command {
    let mut command = world.latido(words.iter().copied());
    command.env("LATIDO_SSH_CONFIG", config).env("LATIDO_AGENTS", agents(world));
    command
}

fn ran(mut command: Command) -> Output {
    command.output().unwrap()
}

fn board(world: &World, what: &str) -> Option<Board> {
    if !installed("sshd", what) && !Path::new("/usr/sbin/sshd").exists() {
        return None;
    }
    let state = world.state();
    Board::start(&[("LATIDO_STATE", state.as_path())]).map_err(|why| skip(what, Need::Ssh, &why)).ok()
}

/// `run`, `check` and `tune` reach a machine over a real sshd; latido copies the agent there once, by its hash.
#[test]
fn a_board_is_measured_inspected_and_tuned_over_ssh() {
    let world = World::new();
    let Some(board) = board(&world, "a board over ssh") else { return };
    let first = ran(over(&world, &board.config(), &["run", "null", "--on", "ssh:board", "--no-report", "--json"]));
    let document = common::json(&first, 0);
    assert_eq!(document["records"][0]["cell"]["target"], "ssh:board");
    let kept = board.home("board").unwrap().join(".cache/latido/agents");
    let copies = || -> Vec<(PathBuf, std::time::SystemTime)> {
        let entries = fs::read_dir(&kept).unwrap().flatten();
        entries.map(|entry| (entry.path(), entry.metadata().unwrap().modified().unwrap())).collect()
    };
    let before = copies();
    assert_eq!(before.len(), 1, "{before:?}");
    let wakeup = ["run", "wakeup", "--on", "ssh:board", "-d", "300ms", "--repeat", "2", "--no-report", "--json"];
    let document = common::json(&ran(over(&world, &board.config(), &wakeup)), 0);
    assert_eq!(document["records"].as_array().unwrap().len(), 2);
    assert_eq!(copies(), before, "the agent is copied once");
    let checked = ran(over(&world, &board.config(), &["check", "--on", "ssh:board", "--json"]));
    let here = ran(over(&world, &board.config(), &["check", "--json"]));
    let names = |output: &Output| -> Vec<String> {
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let points = document["points"].as_array().unwrap();
        points.iter().map(|point| point["check"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&checked), names(&here), "{}", stderr(&checked));
    if root("tuning over ssh") {
        let status = ran(over(&world, &board.config(), &["tune", "status", "--on", "ssh:board"]));
        assert!(String::from_utf8_lossy(&status.stdout).contains("nothing is applied"), "{}", stderr(&status));
    }
    world.nothing_left("after a board");
}

/// latido does not run a copy that was changed on the board: its hash differs.
#[test]
fn an_agent_that_is_not_ours_is_replaced() {
    let world = World::new();
    let Some(board) = board(&world, "an agent that is not ours") else { return };
    let null = ["run", "null", "--on", "ssh:board", "--no-report", "--json"];
    common::json(&ran(over(&world, &board.config(), &null)), 0);
    let kept = board.home("board").unwrap().join(".cache/latido/agents");
    let copy = fs::read_dir(&kept).unwrap().flatten().next().unwrap().path();
    fs::write(&copy, "#!/bin/sh\necho planted; exit 0\n").unwrap();
    common::json(&ran(over(&world, &board.config(), &null)), 0);
    assert!(fs::metadata(&copy).unwrap().len() > 1 << 20, "it was put there anew");
}

/// latido names what is wrong: no such host, no agent for it.
#[test]
fn what_ssh_refuses_is_told() {
    let world = World::new();
    let Some(board) = board(&world, "what ssh refuses") else { return };
    let none = ran(over(&world, &board.config(), &["run", "null", "--on", "ssh:nobody@127.0.0.1", "--no-report"]));
    assert_eq!(none.status.code(), Some(1));
    assert!(stderr(&none).contains("ssh nobody@127.0.0.1"), "{}", stderr(&none));
    let mut command = over(&world, &board.config(), &["run", "null", "--on", "ssh:board", "--no-report"]);
    let without = command.env("LATIDO_AGENTS", world.path("empty")).output().unwrap();
    assert!(stderr(&without).contains("scripts/cross x86_64"), "{}", stderr(&without));
    assert!(common::runs_of(&world).is_empty());
}

/// Passes bytes on to a port until `lost` is set: a link that is lost in silence. Both connections stay open.
fn silent_link(to: u16) -> (u16, Arc<AtomicBool>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let lost = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&lost);
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).unwrap();
            for (mut from, mut into) in [
                (near.try_clone().unwrap(), far.try_clone().unwrap()),
                (far.try_clone().unwrap(), near.try_clone().unwrap()),
            ] {
                let lost = Arc::clone(&seen);
                thread::spawn(move || {
                    let mut buffer = [0; 16 << 10];
                    while let Ok(count @ 1..) = from.read(&mut buffer) {
                        if lost.load(Ordering::Relaxed) {
                            // Nothing more arrives, and neither side notices.
                            thread::sleep(Duration::from_secs(120));
                            return;
                        }
                        if into.write_all(&buffer[..count]).is_err() {
                            return;
                        }
                    }
                    let _ = into.shutdown(std::net::Shutdown::Write);
                });
            }
        }
    });
    (port, lost)
}

/// How long the agent waits for a sign of its host, in ms; 15 s unless a test shortens it.
const PATIENCE_MS: &str = "5000";

/// A half-open connection never ends the agent's input. Without a ping the agent restores everything by itself and ends. The host notices
/// the loss on its side, and reports the cell that it cost.
#[test]
fn a_link_lost_in_silence_leaves_nothing_on_the_board() {
    let world = World::new();
    let Some(board) = board(&world, "a link lost in silence") else { return };
    let (port, lost) = silent_link(board.port());
    let config = fs::read_to_string(board.config()).unwrap();
    let through =
        world.file("lost_ssh_config", &config.replace(&format!("Port {}", board.port()), &format!("Port {port}")));
    assert!(fs::read_to_string(&through).unwrap().contains(&format!("Port {port}")), "{config}");
    let words = ["run", "wakeup", "--on", "ssh:board", "-d", "10m", "--load", "spin", "--no-report", "--quiet"];
    let mut command = over(&world, &through, &words);
    command.env("LATIDO_PATIENCE_MS", PATIENCE_MS).stderr(Stdio::piped()).stdout(Stdio::null());
    let mut run = command.spawn().unwrap();
    // It measures: each wake-up is a sleep that ended.
    let measuring = || world.alive().into_iter().find(|(_, line)| line.contains("--measure")).map(|(pid, _)| pid);
    meanwhile(&mut run, "a hundred wake-ups", || (processes::wakeups(measuring()?) > 100).then_some(()));
    lost.store(true, Ordering::Relaxed);
    // The agent waits for its patience, and then ends loads and loops. The host acts independently.
    settled("the agent's end", || {
        let there = world.alive().into_iter().filter(|(_, line)| line.contains("agents/latido-")).collect::<Vec<_>>();
        there.is_empty().then_some(()).ok_or_else(|| format!("still there: {there:?}"))
    });
    let output = ended(run, "the host of a lost link");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    world.nothing_left("after a lost link");
}

/// An ssh that complains for ever, like a hostile server, to a machine whose home directory takes no file, and that never answers the
/// request to remove what was put elsewhere. `-M` is the connection: it is ready once its complaints have been read.
const COMPLAINING: &str = r#"#!/bin/sh
for word do
  case "$word" in
    ControlPath=*) way=${word#ControlPath=} ;;
    -M) master=1 ;;
    -O) control=1 ;;
  esac
done
[ -z "$control" ] || exec true
if [ -n "$master" ]; then
  head -c 1000000 /dev/zero | tr '\0' 'w' >&2
  : >"$way"
  exec sleep 300
fi
while [ "$1" != -- ]; do shift; done
shift 2
case "$*" in
  *.cache/latido*) cat >/dev/null; echo 'no room' >&2; exit 1 ;;
  'rm -r -f '*) exec sleep 300 ;;
esac
exec sh -c "$*"
"#;

/// A board that floods ssh's stderr, and does not answer at the end, does not block the host.
#[test]
fn a_board_that_complains_and_never_ends_holds_nobody_up() {
    if !root("an agent in /run") {
        return;
    }
    let world = World::new();
    let (stub, agents) = (world.path("stub"), world.path("agents").join(std::env::consts::ARCH));
    fs::create_dir_all(&stub).unwrap();
    fs::create_dir_all(&agents).unwrap();
    fs::write(stub.join("ssh"), COMPLAINING).unwrap();
    fs::set_permissions(stub.join("ssh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    symlink(common::small::latido(), agents.join("latido")).unwrap();
    let path = format!("{}:{}", stub.display(), std::env::var("PATH").unwrap());
    let mut run = world.latido(["run", "null", "samples=10", "--no-report", "--on", "ssh:board"]);
    run.env("PATH", path).env("LATIDO_AGENTS", world.path("agents")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = run.spawn().unwrap();
    let own = format!("-{}-", run.id());
    let output = ended(run, "a run on a board that complains");
    // What the board did not remove has the run's process number in its name.
    let places = ["/run", "/dev/shm", "/var/tmp", "/tmp"].into_iter().filter_map(|place| fs::read_dir(place).ok());
    let all: Vec<PathBuf> = places.flatten().flatten().map(|one| one.path()).collect();
    let left =
        all.iter().filter(|path| path.to_string_lossy().contains("/latido-") && path.to_string_lossy().contains(&own));
    left.for_each(|path| fs::remove_dir_all(path).unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}
