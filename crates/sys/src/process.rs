//! Sets up a child between fork and exec, so that it leaves nothing behind.

use crate::{Errno, identity, sched};
use std::{
    fs::File,
    io::Write,
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::Command,
};

/// The setup of a child between fork and exec.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// Whether to put the child in a new process group, whose id is its process id.
    pub own_group: bool,
    /// The signal that the child gets when the *thread* that started it ends (see PR_SET_PDEATHSIG). Keep that thread alive.
    pub death_signal: Option<i32>,
    /// Whether to reset the child to SCHED_OTHER with nice 0, in case the parent is real-time.
    pub reset_scheduling: bool,
    /// The nice value to start the child with after that, as nice(1) does. If the kernel refuses, the value stays as it was: a caller that
    /// needs to know reads it back.
    pub nice: Option<i8>,
}

/// Makes the command's child prepare itself as requested before it becomes the program. The child gets the identity that this process had
/// before it took on another user's file-system identity.
pub fn prepare(command: &mut Command, child: Child) -> &mut Command {
    prepare_as(command, child, identity::restore)
}

/// As [`prepare`], but the child completely and permanently becomes the user whose file-system identity this process took on, as with
/// [`identity::hand_over`].
pub fn prepare_theirs(command: &mut Command, child: Child) -> &mut Command {
    prepare_as(command, child, identity::become_them)
}

fn prepare_as(command: &mut Command, child: Child, become_one: fn() -> Result<(), Errno>) -> &mut Command {
    let parent = std::process::id();
    let setup = move || -> std::io::Result<()> {
        // This comes first: a change of identity clears the death signal.
        become_one()?;
        if child.own_group {
            // SAFETY: takes numbers only.
            Errno::check(unsafe { libc::setpgid(0, 0) })?;
        }
        if child.reset_scheduling {
            // If latido runs under `nice` and has no permission to go back, the child keeps the nice value it started with.
            match sched::set_policy(0, sched::Policy::Other { nice: 0 }, false) {
                Err(Errno::EPERM) if matches!(sched::policy(0), Ok(sched::Policy::Other { .. })) => {}
                result => result?,
            }
        }
        if let Some(nice) = child.nice {
            let _ = sched::set_nice(nice);
        }
        if let Some(signal) = child.death_signal {
            set_death_signal(signal)?;
            // The parent may have died before this request: then the signal would never come.
            if parent_id() != parent {
                return Err(Errno::ESRCH.into());
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no lock. (Errno becomes an
    // io::Error by its number, without allocation.)
    unsafe { command.pre_exec(setup) }
}

/// Makes the command's child a member of a control group before it becomes the program. `procs` is the group's `cgroup.procs`, open for
/// writing. If the kernel refuses, the child stays where it was: a caller that needs to know reads the file.
pub fn join(command: &mut Command, procs: File) -> &mut Command {
    // cgroups(7): 0 means the writing process.
    let join = move || {
        let _ = (&procs).write(b"0");
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call: no allocation, no lock.
    unsafe { command.pre_exec(join) }
}

/// Limits the size of each file that the command's child writes, in bytes. A child that writes more gets SIGXFSZ (setrlimit(2)). The child
/// sets the limit itself, because another process would need a permission for it.
pub fn limit_files(command: &mut Command, most: u64) -> &mut Command {
    let limit = libc::rlimit64 { rlim_cur: most, rlim_max: most };
    let bound = move || -> std::io::Result<()> {
        // SAFETY: the limit is complete, and lives through the call.
        Errno::check(unsafe { libc::setrlimit64(libc::RLIMIT_FSIZE, &raw const limit) })?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call: no allocation, no lock.
    unsafe { command.pre_exec(bound) }
}

/// Makes the command's child keep this descriptor, under the same number, when it becomes the program. The caller keeps it open until the
/// child has started.
pub fn keep_open<'a>(command: &'a mut Command, file: &File) -> &'a mut Command {
    let number = file.as_raw_fd();
    let keep = move || -> std::io::Result<()> {
        // SAFETY: takes numbers only; FD_CLOEXEC is the only flag that a descriptor has (fcntl(2)).
        Errno::check(unsafe { libc::fcntl(number, libc::F_SETFD, 0) })?;
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes one system call: no allocation, no lock.
    unsafe { command.pre_exec(keep) }
}

fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// Sets the signal that the calling process gets when its parent thread ends.
fn set_death_signal(signal: i32) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    const KILLED: Child =
        Child { own_group: true, death_signal: Some(libc::SIGKILL), reset_scheduling: true, nice: None };

    #[test]
    fn a_child_leads_a_group_of_its_own() {
        let mut command = Command::new("cat");
        command.arg("/proc/self/stat").stdout(std::process::Stdio::piped());
        let child = prepare(&mut command, KILLED).spawn().unwrap();
        let pid = child.id().to_string();
        let told = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
        let group = told.split_whitespace().nth(4).unwrap();
        assert_eq!(group, pid);
    }

    /// The kernel ends a child that writes without end at the first byte above its limit.
    #[test]
    fn a_child_fills_no_file_beyond_its_bound() {
        let file = std::env::temp_dir().join(format!("latido-limit-{}", std::process::id()));
        let mut command = Command::new("cat");
        command.arg("/dev/zero").stdout(File::create(&file).unwrap());
        let status = limit_files(&mut command, 1 << 16).status().unwrap();
        let length = std::fs::metadata(&file).unwrap().len();
        std::fs::remove_file(&file).unwrap();
        assert_eq!((status.signal(), length), (Some(libc::SIGXFSZ), 1 << 16));
    }

    /// A child can open a descriptor that it keeps again by its number; all other descriptors are closed for it.
    #[test]
    fn a_child_keeps_a_descriptor_that_it_is_to_keep() {
        let file = File::open("/proc/self/status").unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let opened = |keep: bool| {
            let mut command = Command::new("cat");
            command.arg(&path).stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
            if keep {
                keep_open(&mut command, &file);
            }
            command.status().unwrap().success()
        };
        assert!(opened(true) && !opened(false));
    }

    #[test]
    fn a_child_dies_with_the_thread_that_started_it() {
        let start = || prepare(Command::new("sleep").arg("60"), KILLED).spawn().unwrap();
        let mut child = std::thread::spawn(start).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
