//! Makes recorded machines into directories again, from the texts that scripts/capture-tree printed. Unit and integration tests share this
//! file.
#![allow(dead_code, reason = "each test file uses its own part")]

use std::{fs, path::Path};

/// Two CPUs of forty possible ones, cpusets of cgroup v1, the cpuset of a container in use, and no more devices than an emulator gives.
pub const CGROUP_V1: &str = include_str!("cgroup-v1.txt");
/// Four CPUs, cgroup v2 with other controllers in use, PREEMPT_RT, frequencies, idle states, callback threads, an e1000e.
pub const CGROUP_V2: &str = include_str!("cgroup-v2.txt");
/// A board of four Cortex-A53 with frequencies, boost and idle states.
pub const ARM: &str = include_str!("arm-4-cpus.txt");
/// Two sockets with two cores of two threads each, a memory node per socket, interrupt handlers in threads.
pub const SERVER: &str = include_str!("server-2-sockets.txt");

/// A guest with one CPU and the core EVL, ABI 36; only the files that tell a kernel and its core.
pub const EVL: &str = include_str!("evl.txt");
/// A guest with one CPU and the core Cobalt 3.3.1; only the files that tell a kernel and its core.
pub const COBALT: &str = include_str!("cobalt.txt");

/// Makes a directory for a recorded machine, in memory if possible: a machine is a thousand files.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// Makes the files and directories of a recorded machine.
pub fn plant(text: &str, directory: &Path) {
    let mut open: Option<(&str, String)> = None;
    for line in text.lines().chain(["[end]"]) {
        if let Some(text) = line.strip_prefix('|') {
            if let Some((_, body)) = &mut open {
                body.push_str(text);
                body.push('\n');
            }
            continue;
        }
        if let Some((path, body)) = open.take() {
            let path = directory.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, body).unwrap();
        }
        if let Some(path) = line.strip_prefix("[file] ") {
            open = Some((path, String::new()));
        } else if let Some(path) = line.strip_prefix("[dir] ") {
            fs::create_dir_all(directory.join(path)).unwrap();
        }
    }
}
