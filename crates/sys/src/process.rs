//! Process groups, descendants and locks: what a supervisor needs so that nothing is left behind.

use crate::{Errno, sched};
use std::{
    fs::File,
    os::{fd::AsRawFd, unix::process::CommandExt},
    process::Command,
};

/// What a child sets up between fork and exec.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// Put it in a process group of its own, whose id is its process id.
    pub own_group: bool,
    /// The signal it gets when the *thread* that started it ends, see PR_SET_PDEATHSIG; keep that thread.
    pub death_signal: Option<i32>,
    /// Back to SCHED_OTHER with nice 0, in case the parent is real-time.
    pub reset_scheduling: bool,
    /// Then start it this nice, as nice(1) does. Refused, it stays as it was: who wants to know reads it back.
    pub nice: Option<i8>,
}

/// Makes the command's child prepare itself as asked before it becomes the program.
pub fn prepare(command: &mut Command, child: Child) -> &mut Command {
    let parent = std::process::id();
    let setup = move || -> std::io::Result<()> {
        if child.own_group {
            // SAFETY: takes numbers only.
            Errno::check(unsafe { libc::setpgid(0, 0) })?;
        }
        if child.reset_scheduling {
            // Under `nice` without the right to go back: it stays as nice as it was started.
            match sched::set_policy(0, sched::Policy::Other { nice: 0 }, false) {
                Err(Errno::EPERM) if matches!(sched::policy(0), Ok(sched::Policy::Other { .. })) => {}
                result => result?,
            }
        }
        if let Some(nice) = child.nice {
            let _ = sched::set_nice(nice);
        }
        if let Some(signal) = child.death_signal {
            set_death_signal(Some(signal))?;
            // The parent may have died before the request: then no signal would ever come.
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

fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

/// The signal that the calling process gets when its parent thread ends; `None` for none.
///
/// # Errors
/// `EINVAL` for a number that is no signal.
pub fn set_death_signal(signal: Option<i32>) -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, signal.unwrap_or(0) as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// Makes this process the parent of its orphaned descendants.
///
/// # Errors
/// None that a kernel since 3.4 gives.
pub fn become_subreaper() -> Result<(), Errno> {
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1 as libc::c_ulong, 0, 0, 0) })?;
    Ok(())
}

/// Starts a session of its own for this process.
///
/// # Errors
/// `EPERM` when it leads a process group already.
pub fn new_session() -> Result<(), Errno> {
    // SAFETY: takes nothing.
    Errno::check(unsafe { libc::setsid() })?;
    Ok(())
}

/// Sends a signal to a process; signal 0 only asks whether it exists.
///
/// # Errors
/// `ESRCH` when there is none, `EPERM` when it is not ours, `EINVAL` for an id that would mean many processes.
pub fn signal_process(pid: i32, signal: i32) -> Result<(), Errno> {
    signal_checked(pid, pid, signal)
}

/// Sends a signal to every process of a group.
///
/// # Errors
/// As [`signal_process`].
pub fn signal_group(group: i32, signal: i32) -> Result<(), Errno> {
    signal_checked(group, group.wrapping_neg(), signal)
}

fn signal_checked(id: i32, target: i32, signal: i32) -> Result<(), Errno> {
    // 0, 1, -1 and negative numbers would reach our own group, init or everybody.
    if id <= 1 {
        return Err(Errno::EINVAL);
    }
    // SAFETY: takes numbers only.
    Errno::check(unsafe { libc::kill(target, signal) })?;
    Ok(())
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It exited with this status.
    Exited(i32),
    /// This signal killed it.
    Killed(i32),
}

/// Which children to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Children {
    /// Every one, adopted ones too.
    Any,
    /// This one.
    Process(i32),
    /// Those of this process group.
    Group(i32),
}

/// Takes the status of one child that has ended, without waiting; `None` when none has.
///
/// With [`Children::Any`] it also takes a child that a `std::process::Child` stands for.
///
/// # Errors
/// `ECHILD` when there are no such children at all.
pub fn reap(children: Children) -> Result<Option<(i32, Ended)>, Errno> {
    wait(children, libc::WNOHANG)
}

/// Whether a child has ended, without taking its status; `None` when none has.
///
/// # Errors
/// `ECHILD` when there are no such children at all.
pub fn peek(children: Children) -> Result<Option<(i32, Ended)>, Errno> {
    wait(children, libc::WNOHANG | libc::WNOWAIT)
}

fn wait(children: Children, options: i32) -> Result<Option<(i32, Ended)>, Errno> {
    let (kind, id) = match children {
        Children::Any => (libc::P_ALL, 0),
        Children::Process(pid) => (libc::P_PID, pid),
        Children::Group(group) => (libc::P_PGID, group),
    };
    // SAFETY: all-zero is a valid siginfo.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: the pointer is writable.
        let result = unsafe { libc::waitid(kind, id as libc::id_t, &mut info, options | libc::WEXITED) };
        match Errno::check(result) {
            Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    // SAFETY: waitid filled the SIGCHLD fields, or left the structure zero when no child has ended.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return Ok(None);
    }
    let ended = if info.si_code == libc::CLD_EXITED { Ended::Exited(status) } else { Ended::Killed(status) };
    Ok(Some((pid, ended)))
}

/// Takes the exclusive lock of a file, without waiting; it is held until the file is closed or the process ends.
///
/// # Errors
/// `EAGAIN` when another holds it.
pub fn lock_file(file: &File) -> Result<(), Errno> {
    // SAFETY: the descriptor is open as long as the borrow.
    Errno::check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) })?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const QUIET: Child =
        Child { own_group: true, death_signal: Some(libc::SIGKILL), reset_scheduling: true, nice: None };

    fn until_some<T>(mut look: impl FnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(started.elapsed() < Duration::from_secs(20), "nothing happened");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_group_dies_as_one() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & sleep 60"]);
        let mut child = prepare(&mut command, QUIET).spawn().unwrap();
        let pid = child.id() as i32;
        assert_eq!(peek(Children::Process(pid)), Ok(None));
        signal_group(pid, libc::SIGKILL).unwrap();
        let ended = until_some(|| peek(Children::Process(pid)).unwrap());
        assert_eq!(ended, (pid, Ended::Killed(libc::SIGKILL)));
        assert_eq!(reap(Children::Group(pid)), Ok(Some(ended)));
        assert_eq!(reap(Children::Process(pid)), Err(Errno::ECHILD));
        let _ = child.try_wait();
    }

    #[test]
    fn a_status_is_told_apart_from_a_signal() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 7"]);
        let pid = prepare(&mut command, QUIET).spawn().unwrap().id() as i32;
        assert_eq!(until_some(|| reap(Children::Process(pid)).unwrap()), (pid, Ended::Exited(7)));
    }

    #[test]
    fn ids_that_mean_many_processes_are_refused() {
        for id in [1, 0, -1, -77] {
            assert_eq!(signal_process(id, 0), Err(Errno::EINVAL));
            assert_eq!(signal_group(id, 0), Err(Errno::EINVAL));
        }
    }

    #[test]
    fn a_lock_is_exclusive_and_ends_with_the_file() {
        let path = std::env::temp_dir().join(format!("latido-lock-{}", std::process::id()));
        let first = File::create(&path).unwrap();
        lock_file(&first).unwrap();
        let second = File::open(&path).unwrap();
        assert_eq!(lock_file(&second), Err(Errno::EAGAIN));
        drop(first);
        assert_eq!(lock_file(&second), Ok(()));
        std::fs::remove_file(&path).unwrap();
    }
}
