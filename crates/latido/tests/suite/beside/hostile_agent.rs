//! An agent that does not answer: the host obeys Ctrl-C all the same, and the process that can restores the machine.

use crate::common;

use common::{World, agent_of, meanwhile, processes, status, until};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::Read,
    path::PathBuf,
    process::{Child, Stdio},
};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Lets a stopped process go on at the end of the test, also if the test fails.
struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_raw(self.0.cast_signed()).unwrap(), Signal::CONT);
    }
}

/// Sends Ctrl-C three times and waits each time until the host has received it: pending signals of one number merge. Returns the exit
/// status and the output.
fn thrice(mut host: Child) -> (i32, String) {
    for _ in 0..2 {
        processes::ctrl_c(host.id());
        assert!(host.try_wait().unwrap().is_none(), "it gave the agent up too early");
    }
    signal(host.id(), Signal::INT);
    let status = status(&mut host, "a host that was interrupted three times");
    // The agent shares stderr and does not close it, so the test reads what the host wrote and does not wait for the end.
    let mut said = vec![0; 64 << 10];
    let got = host.stderr.take().unwrap().read(&mut said).unwrap();
    (status.code().unwrap(), String::from_utf8_lossy(&said[..got]).into_owned())
}

/// The first two Ctrl-C ask the stopped agent. On the third the host gives up at once, and says which process is left and what to do. When
/// the agent goes on, it finds its host dead, ends its load and empties its journal.
#[test]
fn the_third_ctrl_c_leaves_a_stopped_agent() {
    let world = World::new();
    let arguments = ["run", "null", "samples=50", "hold=60s", "--load", "spin:cpu=1", "--no-report"];
    let mut host = world.latido(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = world.state().join("journal.jsonl");
    meanwhile(&mut host, "a load in the journal", || journal.exists().then_some(()));
    let agent = agent_of(host.id());
    signal(agent, Signal::STOP);
    let stopped = Stopped(agent);
    let (status, said) = thrice(host);
    assert_eq!(status, 130, "{said}");
    for word in [format!("process {agent}"), "latido tune undo".into(), "next latido".into()] {
        assert!(said.contains(&word), "`{word}` is not in: {said}");
    }
    assert!(journal.exists(), "it was stopped with a load at work");
    drop(stopped);
    world.nothing_left("after the agent went on");
    assert!(!journal.exists());
}

/// The agent of a host, once it has become the agent: until then the start of the process blocks the host.
fn begun_agent(host: u32) -> Option<u32> {
    let list = fs::read_to_string(format!("/proc/{host}/task/{host}/children")).unwrap_or_default();
    let begun =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with("\0agent\0"));
    list.split_whitespace().find_map(|pid| pid.parse().ok().filter(begun))
}

/// Stops a process and waits until the kernel has stopped it. Returns whether the process existed.
fn stands_still(pid: u32) -> bool {
    let path = PathBuf::from(format!("/proc/{pid}"));
    let _ = kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), Signal::STOP);
    until("a stopped agent, or one that has ended", || match processes::state_of(&path) {
        Some('T') => Some(true),
        None | Some('Z' | 'X') => Some(false),
        Some(_) => None,
    })
}

/// `tune undo` finishes whatever the user requests, but does not wait for ever for an agent that never finishes.
#[test]
fn the_third_ctrl_c_ends_a_tune_that_waits() {
    let world = World::new();
    let tune = || world.latido(["tune", "undo"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    // With nothing to undo the agent lives for a few ms. If it ended before the test saw it, the test starts another one.
    let (host, agent) = until("an agent that stands still", || {
        let mut host = tune();
        while host.try_wait().unwrap().is_none() {
            if let Some(agent) = begun_agent(host.id()).filter(|agent| stands_still(*agent)) {
                return Some((host, agent));
            }
        }
        None
    });
    let stopped = Stopped(agent);
    let (status, said) = thrice(host);
    assert!(status == 130 && said.contains(&format!("process {agent}")), "{status}: {said}");
    drop(stopped);
    world.nothing_left("after the agent went on");
}
