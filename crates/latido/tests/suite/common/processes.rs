//! What the kernel reports about a process: how often it slept, how long it ran, whether it received a signal, and by which calls it
//! changed files.

use crate::common::{Need, World, installed, skip, stderr, until};
use latido_sys::sched::{self, Policy};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// Sends a signal to a process that exists.
pub fn signal(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// The descendants of a process, with their command lines.
pub fn descendants(pid: u32) -> Vec<(u32, String)> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let mut all = Vec::new();
    for child in children.split_whitespace().filter_map(|word| word.parse().ok()) {
        let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        all.push((child, String::from_utf8_lossy(&line).replace('\0', " ")));
        all.extend(descendants(child));
    }
    all
}

/// A field of a `status` file (proc_pid_status(5)).
fn status(task: &Path, field: &str) -> Option<String> {
    let text = fs::read_to_string(task.join("status")).ok()?;
    text.lines().find_map(|line| Some(line.strip_prefix(field)?.strip_prefix(':')?.trim().to_owned()))
}

/// The threads of a process, as their directories.
pub fn threads(pid: i32) -> Vec<PathBuf> {
    fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The number of times that a thread gave up its CPU to sleep.
pub fn slept_of(task: &Path) -> Option<u64> {
    status(task, "voluntary_ctxt_switches")?.parse().ok()
}

/// The same for the first thread of a process.
pub fn slept(pid: i32) -> Option<u64> {
    slept_of(Path::new(&format!("/proc/{pid}")))
}

/// The threads of a measuring process that measure: their names start with latido and contain their CPU or number.
pub fn measuring_threads(pid: i32) -> Vec<PathBuf> {
    let name = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap_or_default();
    let measures = |task: &PathBuf| ["latido/", "latido-"].iter().any(|begin| name(task).starts_with(begin));
    threads(pid).into_iter().filter(measures).collect()
}

/// The memory that a process has locked, in KiB.
pub fn locked_kib(pid: i32) -> Option<u64> {
    status(Path::new(&format!("/proc/{pid}")), "VmLck")?.split_whitespace().next()?.parse().ok()
}

/// The number of times that the measuring threads slept: each wake-up is a sleep that ended.
pub fn wakeups(pid: i32) -> u64 {
    measuring_threads(pid).iter().filter_map(|task| slept_of(task)).sum()
}

/// Whether a thread sleeps for a time and not for an event, by the kernel function in which it waits.
pub fn sleeps_for_a_time(task: &Path) -> bool {
    fs::read_to_string(task.join("wchan")).is_ok_and(|place| place.contains("nanosleep"))
}

/// The time that a thread has run so far, in ns (the first number of its `schedstat`).
pub fn ran_ns_of(task: &Path) -> Option<u64> {
    fs::read_to_string(task.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

/// The time that all threads of a process have run so far, in ns.
pub fn ran_ns(pid: i32) -> u64 {
    threads(pid).iter().filter_map(|task| ran_ns_of(task)).sum()
}

/// The letter of a task's state: whether it sleeps, is stopped, ...
pub fn state_of(task: &Path) -> Option<char> {
    status(task, "State")?.chars().next()
}

/// Sends Ctrl-C, and returns once the host has received it.
pub fn ctrl_c(host: u32) {
    heard(host, Signal::INT);
}

/// Sends a signal, and waits until latido's signal thread has taken it: pending signals of one number merge. A host that has ended
/// meanwhile has taken it too.
pub fn heard(host: u32, sent: Signal) {
    let own = |task: &PathBuf| fs::read_to_string(task.join("comm")).is_ok_and(|comm| comm.trim() == "latido-signals");
    let hears = until("the thread that hears signals", || threads(host.cast_signed()).into_iter().find(own));
    let asleep = || slept_of(&hears).filter(|_| state_of(&hears) == Some('S'));
    let before = until("a thread that waits for signals", asleep);
    signal(host.cast_signed(), sent);
    until("a signal that is heard", || (!hears.exists() || asleep().is_some_and(|now| now > before)).then_some(()));
}

/// The number of bytes that a process has read so far (proc_pid_io(5)).
pub fn read_bytes(pid: u32) -> Option<u64> {
    let io = fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    io.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok())
}

/// Sends a signal to a host whose agent waits at a pipe, and returns when the agent has read the request that the host then sent.
///
/// A ping may arrive meanwhile: a number of bytes that is not a multiple of its length is something else.
pub fn heard_by_agent(host: u32, sent: Signal) {
    let agent = crate::common::agent_of(host);
    let before = read_bytes(agent).unwrap();
    let ping = serde_json::to_string(&latido_model::protocol::Request::Ping).unwrap().len() as u64 + 1;
    heard(host, sent);
    until("an agent that has read of it", || {
        let read = read_bytes(agent)? - before;
        let asleep = threads(agent.cast_signed()).iter().all(|task| state_of(task) == Some('S'));
        (asleep && !read.is_multiple_of(ping)).then_some(())
    });
}

/// Lets the calling thread run before all time-sharing ones until this is dropped: a crowd does not delay what it does between two looks at
/// another process. A system call starts and ends it: a helper program for this would itself run before the probe, and for too short a time
/// for latido to see it.
pub struct Urgent(Vec<u32>);

impl Urgent {
    pub fn new() -> Self {
        sched::set_policy(0, Policy::Fifo { prio: 75 }, true).unwrap();
        Self(sched::affinity(0).unwrap())
    }

    /// The same on this CPU alone: the thread preempts whatever runs there, at each of its looks.
    pub fn on(cpu: u32) -> Self {
        let this = Self::new();
        sched::set_affinity(0, [cpu]).unwrap();
        this
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        sched::set_policy(0, Policy::Other { nice: 0 }, false).unwrap();
        sched::set_affinity(0, std::mem::take(&mut self.0)).unwrap();
    }
}

/// The options with which strace prints the calls that write a file, rename one, or sync one to the disk, with the files' names.
pub const FILES: &[&str] = &[
    "-y",
    "-s16",
    "-e",
    "trace=execve,openat,write,writev,pwrite64,ftruncate,fsync,fdatasync,rename,renameat,renameat2",
];

/// Runs latido to its end under strace with these options, and returns what strace wrote. If strace cannot trace, the test is noted as
/// skipped.
pub fn traced(world: &World, latido: &Command, options: &[&str], what: &str) -> Option<(String, Output)> {
    if !installed("strace", what) {
        return None;
    }
    let trace = world.path("trace");
    let mut command = Command::new("strace");
    command.args(["-f", "--seccomp-bpf", "-qq"]).args(options).arg("-o").arg(&trace);
    command.arg(latido.get_program()).args(latido.get_args()).current_dir(world.path(""));
    for (name, value) in latido.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let text = fs::read_to_string(&trace).unwrap_or_default();
    if !text.contains("execve(") {
        skip(what, Need::Ptrace, &format!("strace cannot trace here: {}", stderr(&output)));
        return None;
    }
    Some((text, output))
}

/// A moment of a system call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    Begins,
    Ends,
}

/// The moments at which the calls of a trace begin and end, in order, with their threads: calls of other threads may lie between. An ended
/// call has its result.
pub fn moments(trace: &str) -> Vec<(&str, Moment, String)> {
    let (mut all, mut begun) = (Vec::new(), BTreeMap::new());
    for line in trace.lines() {
        let Some((thread, call)) = line.trim_start().split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some(call) = call.strip_suffix(" <unfinished ...>") {
            begun.insert(thread, call);
            all.push((thread, Moment::Begins, call.to_owned()));
        } else if let Some((_, end)) = call.strip_prefix("<... ").and_then(|call| call.split_once(" resumed>")) {
            all.push((thread, Moment::Ends, format!("{}{end}", begun.remove(thread).unwrap_or_default())));
        } else {
            all.extend([Moment::Begins, Moment::Ends].map(|moment| (thread, moment, call.to_owned())));
        }
    }
    all
}

/// The file of a call's first argument, a descriptor.
pub fn described(call: &str) -> Option<&str> {
    Some(call.split_once('<')?.1.split_once('>')?.0)
}

/// The file that a call changes: the call opens it for writing, or writes to it.
pub fn written(call: &str) -> Option<&str> {
    match call.split_once('(')?.0 {
        "openat" => call.split('"').nth(1).filter(|_| call.contains("O_WRONLY") || call.contains("O_RDWR")),
        "write" | "writev" | "pwrite64" | "ftruncate" => described(call),
        _ => None,
    }
}

/// The file that a call syncs to the disk.
pub fn synced(call: &str) -> Option<&str> {
    matches!(call.split_once('(')?.0, "fsync" | "fdatasync").then(|| described(call))?
}

/// The old and the new name of a rename.
pub fn renamed(call: &str) -> Option<(&str, &str)> {
    let mut strings = call.split('"');
    call.starts_with("rename").then(|| Some((strings.nth(1)?, strings.nth(1)?)))?
}
