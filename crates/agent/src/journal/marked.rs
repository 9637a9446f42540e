//! Processes of a load, known by a variable of their environment, so that none can be lost or mistaken.

use anyhow::{Result, bail};
use std::fs;

/// The environment variable that marks every process of a load.
pub const MARK: &str = "LATIDO_LOAD";

/// Kills every process that carries the mark, until none is left (a load may be forking meanwhile). Returns how many.
///
/// # Errors
/// Some would not go (stuck in the kernel, or another user's): how many.
pub fn end_marked(mark: &str) -> Result<usize> {
    let mut ended = 0;
    // Fork storms outrun one pass; a bound keeps a process stuck in the kernel from holding us for ever.
    for _ in 0..200 {
        let found = marked(mark);
        if found.is_empty() {
            return Ok(ended);
        }
        for pid in &found {
            if let Some(pid) = rustix::process::Pid::from_raw(*pid) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
        ended = ended.max(found.len());
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    bail!("{} processes of a load would not end; look for {MARK}={mark} in /proc/*/environ", marked(mark).len())
}

/// The living processes that carry the mark.
pub fn marked(mark: &str) -> Vec<i32> {
    let wanted = format!("{MARK}={mark}");
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| *pid != own)
        .filter(|pid| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            environ.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}
