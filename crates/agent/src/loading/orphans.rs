//! Children that this process did not start. A subreaper inherits the orphans of its loads: it must collect those that end, and kill those
//! that stay.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::{
    fs,
    sync::{Mutex, PoisonError},
    thread,
    time::Duration,
};

/// Children for which another part of this process waits.
static EXPECTED: Mutex<Vec<u32>> = Mutex::new(Vec::new());

/// Leaves this child alone: another part of this process waits for it.
pub fn expect(pid: u32) {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner).push(pid);
}

/// Removes a child that was waited for.
pub fn forget(pid: u32) {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| *known != pid);
}

/// Lists the children for which no part of this process waits.
fn strangers() -> Vec<Pid> {
    let expected = EXPECTED.lock().unwrap_or_else(PoisonError::into_inner).clone();
    children().into_iter().filter(|pid| !expected.contains(&pid.cast_unsigned())).filter_map(Pid::from_raw).collect()
}

/// Lists every child of this process, including adopted ones.
fn children() -> Vec<i32> {
    let own = std::process::id();
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    // The files need CONFIG_PROC_CHILDREN. Without them latido reads the parent of every process.
    let lists: Option<Vec<String>> = tasks.map(|task| fs::read_to_string(task.path().join("children")).ok()).collect();
    match lists {
        Some(lists) => {
            lists.iter().flat_map(|list| list.split_whitespace()).filter_map(|pid| pid.parse().ok()).collect()
        }
        None => fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
            .filter(|pid| parent(*pid) == Some(own))
            .collect(),
    }
}

/// Returns the parent: field 4 of proc_pid_stat(5).
fn parent(pid: i32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Collects the orphans that have ended. Without this, a load that leaves orphans behind would fill the machine's process table.
pub fn reap() {
    for pid in strangers() {
        collect(pid);
    }
}

/// Takes the status of a child that has ended, without waiting.
fn collect(pid: Pid) {
    let _ = waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOHANG);
}

/// Kills and collects all orphans, and their children, which this process adopts in turn.
pub fn end() {
    // The bound keeps a process that is stuck in the kernel from blocking latido for ever.
    for _ in 0..400 {
        let strangers = strangers();
        if strangers.is_empty() {
            return;
        }
        for pid in strangers {
            // The child stays this process's until it is collected, so the number cannot mean another process.
            let _ = kill_process(pid, Signal::KILL);
            collect(pid);
        }
        thread::sleep(Duration::from_millis(5));
    }
}
