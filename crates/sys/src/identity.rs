//! Which identity the kernel checks when a thread accesses files. A process can access files as another user and do everything else as
//! root.
//!
//! For each thread, the kernel keeps a user and a group with which it checks paths (setfsuid(2), credentials(7)). The process takes on an
//! identity once, before it has a second thread, and every later thread inherits it; effective ids and all other rights stay. With the
//! identity, Linux removes the capabilities that override the permissions of files (CAP_DAC_OVERRIDE and the like), and restores them
//! afterwards.

use crate::Errno;
use std::{marker::PhantomData, os::unix::process::CommandExt, process::Command, sync::OnceLock};

#[cfg(not(target_arch = "arm"))]
use libc::{
    SYS_getgroups as SYS_GETGROUPS, SYS_setgroups as SYS_SETGROUPS, SYS_setresgid as SYS_SETRESGID,
    SYS_setresuid as SYS_SETRESUID,
};
#[cfg(target_arch = "arm")]
use libc::{
    SYS_getgroups32 as SYS_GETGROUPS, SYS_setgroups32 as SYS_SETGROUPS, SYS_setresgid32 as SYS_SETRESGID,
    SYS_setresuid32 as SYS_SETRESUID,
};

/// The user and groups that the kernel checks when a thread accesses files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id; new files get it, too.
    pub gid: u32,
    /// Supplementary group ids.
    pub groups: Vec<u32>,
}

/// The identity of the process before it took on another one, and that other one.
static CHANGED: OnceLock<(Identity, Identity)> = OnceLock::new();

/// Takes on another identity. Call this while the process has one thread: other threads would keep the old identity.
///
/// # Errors
/// `EPERM` without CAP_SETUID and CAP_SETGID, or where a user namespace does not know the ids; `EBUSY` the second time.
pub fn take_on(whose: Identity) -> Result<(), Errno> {
    let own = present()?;
    if CHANGED.set((own, whose)).is_err() {
        return Err(Errno::EBUSY);
    }
    let Some((own, whose)) = CHANGED.get() else { return Err(Errno::EBUSY) };
    assume(whose).inspect_err(|_| _ = assume(own))
}

/// Returns whether the process has taken on another identity.
pub fn is_taken_on() -> bool {
    CHANGED.get().is_some()
}

/// Makes a command start with the original identity of this process, whether it took on another one or not. On exec the kernel restores the
/// user id and its rights, but neither the groups nor the right to read the program itself.
pub fn give_back(command: &mut Command) -> &mut Command {
    if !is_taken_on() {
        return command;
    }
    // SAFETY: between fork and exec the closure only makes system calls: no allocation, no lock.
    unsafe { command.pre_exec(|| Ok(restore()?)) }
}

/// Makes a command start as the user whose identity the process took on, completely and permanently: ids, groups, and no more rights than
/// that user has. If it took on none, the command starts with the identity of this process.
pub fn hand_over(command: &mut Command) -> &mut Command {
    if !is_taken_on() {
        return command;
    }
    // SAFETY: between fork and exec the closure only makes system calls: no allocation, no lock.
    unsafe { command.pre_exec(|| Ok(become_them()?)) }
}

/// Makes a command start with this identity, completely and permanently, whatever this process is. Call it before
/// [`crate::process::prepare`]: when a child changes its identity, it loses its death signal.
pub fn start_as(command: &mut Command, whose: Identity) -> &mut Command {
    // SAFETY: between fork and exec the closure only makes system calls: no allocation, no lock.
    unsafe { command.pre_exec(move || Ok(become_one(&whose)?)) }
}

/// Changes the identity of a child between fork and exec; async-signal-safe. The raw calls change only this thread, which is the only one.
pub(crate) fn become_them() -> Result<(), Errno> {
    CHANGED.get().map_or(Ok(()), |(_, whose)| become_one(whose))
}

/// Does the same as [`become_them`] for any identity.
fn become_one(whose: &Identity) -> Result<(), Errno> {
    assume(whose)?;
    let (uid, gid) = (whose.uid, whose.gid);
    // SAFETY: takes numbers only. Change the group first: without root's user id the kernel would refuse it.
    Errno::check_long(unsafe { libc::syscall(SYS_SETRESGID, gid, gid, gid) })?;
    // SAFETY: takes numbers only.
    Errno::check_long(unsafe { libc::syscall(SYS_SETRESUID, uid, uid, uid) })?;
    Ok(())
}

/// Restores the original identity of this process, in a child between fork and exec; async-signal-safe.
pub(crate) fn restore() -> Result<(), Errno> {
    CHANGED.get().map_or(Ok(()), |(own, _)| assume(own))
}

/// While this value lives, the calling thread accesses files with the original identity of the process.
pub struct Own(PhantomData<*const ()>);

/// Makes the calling thread access files with the original identity of the process, for files that the user must not reach, such as a
/// socket's directory.
///
/// # Errors
/// None with a correct kernel.
pub fn own() -> Result<Own, Errno> {
    if let Some((own, _)) = CHANGED.get() {
        set_ids(own)?;
    }
    Ok(Own(PhantomData))
}

impl Drop for Own {
    fn drop(&mut self) {
        let back = CHANGED.get().map_or(Ok(()), |(_, whose)| set_ids(whose));
        if back.is_err() {
            // Ending the process is better than continuing with rights that it should not have.
            std::process::abort();
        }
    }
}

fn present() -> Result<Identity, Errno> {
    // SAFETY: takes numbers only; without room the call returns how many groups there are.
    let count = Errno::check_long(unsafe { libc::syscall(SYS_GETGROUPS, 0, std::ptr::null_mut::<u32>()) })?;
    let mut groups = vec![0u32; usize::try_from(count).unwrap_or(0)];
    // SAFETY: there is room for `count` numbers, and this thread, the only one, does not change the groups meanwhile.
    let got = Errno::check_long(unsafe { libc::syscall(SYS_GETGROUPS, count, groups.as_mut_ptr()) })?;
    groups.truncate(usize::try_from(got).unwrap_or(0));
    let (uid, gid) = ids();
    Ok(Identity { uid, gid, groups })
}

/// Returns the user and group for file access: the kernel refuses an impossible id, and returns the current one.
fn ids() -> (u32, u32) {
    // SAFETY: takes numbers only.
    let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
    (uid.cast_unsigned(), gid.cast_unsigned())
}

fn assume(whose: &Identity) -> Result<(), Errno> {
    // SAFETY: the numbers live as long as the call. The raw call changes only this thread: the C library's function would involve all
    // threads, which a child between fork and exec must not do.
    Errno::check_long(unsafe { libc::syscall(SYS_SETGROUPS, whose.groups.len(), whose.groups.as_ptr()) })?;
    set_ids(whose)
}

fn set_ids(whose: &Identity) -> Result<(), Errno> {
    // SAFETY: takes numbers only. Neither call reports whether the kernel refused it.
    unsafe {
        libc::setfsgid(whose.gid);
        libc::setfsuid(whose.uid);
    }
    if ids() == (whose.uid, whose.gid) { Ok(()) } else { Err(Errno::EPERM) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{fs, os::unix::fs::MetadataExt, process::Stdio};

    /// The kernel creates and refuses files as for the other user, a child gets the original identity, and `own` lasts only while its value
    /// lives. The test runs in a separate process: other tests in this one have threads that share the record of the change.
    #[test]
    fn files_are_reached_as_somebody_else_and_children_are_not() {
        const INSIDE: &str = "LATIDO_TEST_IDENTITY";
        // SAFETY: takes no arguments.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: only root may take on another's identity");
            return;
        }
        if std::env::var_os(INSIDE).is_none() {
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "identity::tests::files_are_reached_as_somebody_else_and_children_are_not"]);
            let said = again.env(INSIDE, "1").output().unwrap();
            let text = String::from_utf8_lossy(&said.stdout);
            assert!(said.status.success() && text.contains("1 passed"), "{text}");
            return;
        }
        let place = std::env::temp_dir().join(format!("latido-identity-{}", std::process::id()));
        fs::create_dir(&place).unwrap();
        std::os::unix::fs::chown(&place, Some(61_234), None).unwrap();
        let whose = Identity { uid: 61_234, gid: 61_235, groups: vec![61_235, 61_236] };
        take_on(whose.clone()).unwrap();
        assert_eq!(present().unwrap(), whose);
        assert_eq!(take_on(whose), Err(Errno::EBUSY));
        fs::write(place.join("file"), "x").unwrap();
        let made = fs::metadata(place.join("file")).unwrap();
        assert_eq!((made.uid(), made.gid()), (61_234, 61_235));
        assert!(fs::read("/etc/shadow").is_err() && fs::write("/etc/latido-planted", "x").is_err());
        assert_eq!(std::thread::spawn(ids).join().unwrap(), (61_234, 61_235));
        {
            let _own = own().unwrap();
            assert!(fs::read_dir("/root").is_ok());
        }
        assert_eq!(ids(), (61_234, 61_235));
        let mut status = Command::new("cat");
        status.args(["/proc/self/status", "/etc/shadow"]).stdout(Stdio::piped());
        let said = give_back(&mut status).output().unwrap();
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let mut theirs = Command::new("sh");
        theirs.args(["-c", "cat /proc/self/status; cat /etc/shadow"]).stdout(Stdio::piped());
        let handed = String::from_utf8_lossy(&hand_over(&mut theirs).output().unwrap().stdout).into_owned();
        for line in [
            "Uid:\t61234\t61234\t61234\t61234",
            "Gid:\t61235\t61235\t61235\t61235",
            "Groups:\t61235 61236",
            "CapEff:\t0000000000000000",
        ] {
            assert!(handed.contains(line), "{handed}");
        }
        assert!(!handed.contains("root:"), "{handed}");
        fs::remove_dir_all(&place).unwrap();
        for line in ["Uid:\t0\t0\t0\t0", "Gid:\t0\t0\t0\t0"] {
            assert!(said.contains(line), "{said}");
        }
        assert!(!said.contains("61236") && said.contains("root:"), "{said}");
    }
}
