//! An agent that does not answer: the host heeds Ctrl-C all the same, and the machine is put back by whoever can.

use crate::common;

use common::{World, agent_of};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs,
    io::Read,
    process::{Child, Stdio},
    thread,
    time::{Duration, Instant},
};

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

/// Ends with the test, also one that fails.
struct Stopped(u32);

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_raw(self.0.cast_signed()).unwrap(), Signal::CONT);
    }
}

/// Three times Ctrl-C, each heard before the next: signals of one number merge while they wait. The status, and what was
/// said; `None` where the host goes on waiting.
fn thrice(mut host: Child) -> Option<(i32, String)> {
    for _ in 0..3 {
        signal(host.id(), Signal::INT);
        thread::sleep(Duration::from_millis(300));
    }
    let until = Instant::now() + Duration::from_secs(10);
    while host.try_wait().unwrap().is_none() {
        if Instant::now() >= until {
            let _ = host.kill();
            let _ = host.wait();
            return None;
        }
        thread::sleep(Duration::from_millis(20));
    }
    // The agent has the same stderr and does not close it: what the host said is there, and no end comes.
    let mut said = vec![0; 64 << 10];
    let got = host.stderr.take().unwrap().read(&mut said).unwrap();
    Some((host.wait().unwrap().code().unwrap(), String::from_utf8_lossy(&said[..got]).into_owned()))
}

/// The first two ask the stopped agent; the third gives up at once and says who is left and what to do. The agent, when it
/// goes on, finds its host gone, ends its load and empties its journal.
#[test]
fn the_third_ctrl_c_leaves_a_stopped_agent() {
    let world = World::new();
    let arguments = ["run", "null", "samples=50", "hold=60s", "--load", "spin:cpu=1", "--no-report"];
    let host = world.latido(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let journal = world.state().join("journal.jsonl");
    let until = Instant::now() + Duration::from_secs(20);
    while !journal.exists() {
        assert!(Instant::now() < until, "it never had a load");
        thread::sleep(Duration::from_millis(5));
    }
    let agent = agent_of(host.id());
    signal(agent, Signal::STOP);
    let stopped = Stopped(agent);
    let (status, said) = thrice(host).expect("the host is deaf");
    assert_eq!(status, 130, "{said}");
    for word in [format!("process {agent}"), "latido tune undo".into(), "next latido".into()] {
        assert!(said.contains(&word), "`{word}` is not in: {said}");
    }
    assert!(journal.exists(), "it was stopped with a load at work");
    drop(stopped);
    world.nothing_left("after the agent went on");
    assert!(!journal.exists());
}

/// `tune undo` comes to its end whatever is asked, but does not wait for ever for an agent that never does.
#[test]
fn the_third_ctrl_c_ends_a_tune_that_waits() {
    let world = World::new();
    let host = world.latido(["tune", "undo"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let children = format!("/proc/{0}/task/{0}/children", host.id());
    // Not before it has become the agent: until then the host is held by its start.
    let begun =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.ends_with("\0agent\0"));
    let until = Instant::now() + Duration::from_secs(20);
    let agent = loop {
        let list = fs::read_to_string(&children).unwrap_or_default();
        if let Some(pid) = list.split_whitespace().find_map(|pid| pid.parse().ok().filter(begun)) {
            break pid;
        }
        assert!(Instant::now() < until, "no agent was started");
    };
    signal(agent, Signal::STOP);
    let stopped = Stopped(agent);
    thread::sleep(Duration::from_millis(200));
    let (status, said) = thrice(host).expect("the host is deaf");
    assert!(status == 130 && said.contains(&format!("process {agent}")), "{status}: {said}");
    drop(stopped);
    world.nothing_left("after the agent went on");
}
