//! How tests wait: they look until a state is reached, and never wait for a fixed time.

use std::{
    process::{Child, ExitStatus, Output},
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

/// A wait that takes longer hangs. This bound finds a hang; it says nothing about how fast a machine is.
pub const HANGS: Duration = Duration::from_secs(300);

/// The time between two looks.
const EVERY: Duration = Duration::from_millis(20);

/// Looks until there is something, and returns it.
///
/// The test fails with `what` if that never happens.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    settled(what, || look().ok_or_else(|| "nothing of it is there".into()))
}

/// Looks until everything is as it should be. Before that each look returns in words what is wrong.
///
/// The test fails with `what` and the last of these words if that never happens.
pub fn settled<T>(what: &str, mut look: impl FnMut() -> Result<T, String>) -> T {
    let began = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(why) => assert!(began.elapsed() < HANGS, "waited {} s for {what}: {why}", HANGS.as_secs()),
        }
        thread::sleep(EVERY);
    }
}

/// Looks until there is something while a process lives. The test fails if the process ends before.
pub fn meanwhile<T>(child: &mut Child, what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    until(what, || {
        // In this order: whatever a process did, it did before it ended.
        let over = child.try_wait().unwrap();
        let found = look();
        assert!(found.is_some() || over.is_none(), "the process ended ({}) before {what}", over.unwrap());
        found
    })
}

/// Returns what a process has printed by its end. A process that hangs is killed, and the test fails.
pub fn ended(child: Child, what: &str) -> Output {
    let pid = rustix::process::Pid::from_child(&child);
    let (end, output) = mpsc::channel();
    thread::spawn(move || end.send(child.wait_with_output()));
    output.recv_timeout(HANGS).map(Result::unwrap).unwrap_or_else(|_| {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        panic!("{what}: it has not ended within {} s", HANGS.as_secs())
    })
}

/// Returns how a process ended, even if others hold its outputs open for longer. A process that hangs is killed, and the test fails.
pub fn status(child: &mut Child, what: &str) -> ExitStatus {
    let began = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if began.elapsed() > HANGS {
            let _ = child.kill();
            let _ = child.wait();
            panic!("{what}: it has not ended within {} s", HANGS.as_secs());
        }
        thread::sleep(EVERY);
    }
}
