//! As whom files are reached: the file-system identity of a process that may do everything else as root.
//!
//! The kernel keeps, for each thread, a user and a group by which it judges paths (setfsuid(2), credentials(7)). It is taken
//! on once, before there is a second thread, and every later thread has it; effective ids and all other rights stay. Linux
//! takes the rights that pass over the rights of files (CAP_DAC_OVERRIDE and the like) away with it, and gives them back.

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

/// Whom the kernel takes a thread for where it reaches files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// User id.
    pub uid: u32,
    /// Group id: that of new files, too.
    pub gid: u32,
    /// Supplementary group ids.
    pub groups: Vec<u32>,
}

/// What the process was before it took on another's, and whose that is.
static CHANGED: OnceLock<(Identity, Identity)> = OnceLock::new();

/// Takes on somebody's identity. To be called while the process has one thread: another one would keep its own.
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

/// Whether the process works with somebody else's identity.
pub fn is_taken_on() -> bool {
    CHANGED.get().is_some()
}

/// Makes a command start as what this process was, whose identity it took on or not: on exec the kernel gives back the user
/// id and its rights, but neither groups nor the right to read the program itself.
pub fn give_back(command: &mut Command) -> &mut Command {
    if !is_taken_on() {
        return command;
    }
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no lock.
    unsafe { command.pre_exec(|| Ok(restore()?)) }
}

/// Makes a command start as the person whose identity was taken on, wholly and for good: ids, groups, no more rights than
/// theirs. Where none was taken on it starts as what this process is.
pub fn hand_over(command: &mut Command) -> &mut Command {
    if !is_taken_on() {
        return command;
    }
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no lock.
    unsafe { command.pre_exec(|| Ok(become_them()?)) }
}

/// Makes a command start as somebody, wholly and for good, whatever this process is. To be said before
/// [`crate::process::prepare`]: to change who it is makes a child forget its death signal.
pub fn start_as(command: &mut Command, whose: Identity) -> &mut Command {
    // SAFETY: between fork and exec the closure makes system calls only: no allocation, no lock.
    unsafe { command.pre_exec(move || Ok(become_one(&whose)?)) }
}

/// In a child between fork and exec; async-signal-safe. The raw calls change this thread, which is all that there is.
pub(crate) fn become_them() -> Result<(), Errno> {
    CHANGED.get().map_or(Ok(()), |(_, whose)| become_one(whose))
}

/// As [`become_them`].
fn become_one(whose: &Identity) -> Result<(), Errno> {
    assume(whose)?;
    let (uid, gid) = (whose.uid, whose.gid);
    // SAFETY: takes numbers only. The group first: without root's user id it could not be changed.
    Errno::check_long(unsafe { libc::syscall(SYS_SETRESGID, gid, gid, gid) })?;
    // SAFETY: takes numbers only.
    Errno::check_long(unsafe { libc::syscall(SYS_SETRESUID, uid, uid, uid) })?;
    Ok(())
}

/// What this process was, in a child between fork and exec; async-signal-safe.
pub(crate) fn restore() -> Result<(), Errno> {
    CHANGED.get().map_or(Ok(()), |(own, _)| assume(own))
}

/// While it lives, the calling thread reaches files as what the process was.
pub struct Own(PhantomData<*const ()>);

/// Reaches files as what the process was: for what must be out of reach of the person, such as a socket's directory.
///
/// # Errors
/// None that a correct kernel gives.
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
            // To go on with rights that nobody meant would be worse than to end.
            std::process::abort();
        }
    }
}

fn present() -> Result<Identity, Errno> {
    // SAFETY: takes numbers only; without room it tells how many there are.
    let count = Errno::check_long(unsafe { libc::syscall(SYS_GETGROUPS, 0, std::ptr::null_mut::<u32>()) })?;
    let mut groups = vec![0u32; usize::try_from(count).unwrap_or(0)];
    // SAFETY: there is room for `count` numbers, and this one thread changes none meanwhile.
    let got = Errno::check_long(unsafe { libc::syscall(SYS_GETGROUPS, count, groups.as_mut_ptr()) })?;
    groups.truncate(usize::try_from(got).unwrap_or(0));
    let (uid, gid) = ids();
    Ok(Identity { uid, gid, groups })
}

/// User and group by which files are judged: an id that cannot be is refused, and the present one is told.
fn ids() -> (u32, u32) {
    // SAFETY: takes numbers only.
    let (uid, gid) = unsafe { (libc::setfsuid(u32::MAX), libc::setfsgid(u32::MAX)) };
    (uid.cast_unsigned(), gid.cast_unsigned())
}

fn assume(whose: &Identity) -> Result<(), Errno> {
    // SAFETY: the numbers are there as long as the call lasts. The raw call changes this thread alone: the C library would
    // tell all threads, which a child between fork and exec must not do.
    Errno::check_long(unsafe { libc::syscall(SYS_SETGROUPS, whose.groups.len(), whose.groups.as_ptr()) })?;
    set_ids(whose)
}

fn set_ids(whose: &Identity) -> Result<(), Errno> {
    // SAFETY: takes numbers only. Neither call tells whether it was refused.
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

    /// Files are made and refused as for the person, a child is what we were, and a moment of one's own is over in time.
    /// In a process of its own: other tests of this one have threads that share the note of what was changed.
    #[test]
    fn files_are_reached_as_somebody_else_and_children_are_not() {
        const INSIDE: &str = "LATIDO_TEST_IDENTITY";
        // SAFETY: takes nothing.
        if unsafe { libc::geteuid() } != 0 {
            eprintln!("skipped: only root may take on another's identity");
            return;
        }
        if std::env::var_os(INSIDE).is_none() {
            let mut again = Command::new(std::env::current_exe().unwrap());
            again.args(["--exact", "identity::tests::files_are_reached_as_somebody_else_and_children_are_not"]);
            let said = again.env(INSIDE, "1").output().unwrap();
            assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
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
