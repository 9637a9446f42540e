//! Finds the holder of a lock file through the kernel: the text in the file may be from a former holder.

use crate::machine::task;
use latido_model::clean;
use rustix::fs::{major, minor};
use std::{
    fs::{self, File},
    os::{
        fd::{AsFd, AsRawFd},
        unix::fs::{FileExt, MetadataExt},
    },
};

/// The holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its description: what it wrote into the file, else its process, user and command line.
    pub words: String,
    /// Whether it wrote its name, or its program is called latido: a latido without the right to write locks root's file too.
    pub is_latido: bool,
    /// Its user, where it has not ended.
    pub uid: Option<u32>,
}

/// A process that holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Locker {
    /// Its number in this process's PID namespace.
    pub pid: u32,
    /// Whether its lock is exclusive.
    pub alone: bool,
}

/// Lists the processes that hold the lock. Processes that are not visible here are missing.
pub fn lockers(file: &File) -> Vec<Locker> {
    let Ok(found) = file.metadata() else { return Vec::new() };
    let (major, minor) = device(file).unwrap_or_else(|| (major(found.dev()), minor(found.dev())));
    let locks = fs::read_to_string("/proc/locks").unwrap_or_default();
    among(&locks, major, minor, found.ino())
}

/// Finds them in the lines of /proc/locks (proc_locks(5)): the device in hexadecimal, the inode in decimal digits.
fn among(locks: &str, major: u32, minor: u32, inode: u64) -> Vec<Locker> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    // 1: FLOCK  ADVISORY  WRITE 4711 00:19:1234 0 EOF; a process that only waits has an arrow in the second field.
    let holder = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let matches = fields.get(1) == Some(&"FLOCK") && fields.get(5) == Some(&file.as_str());
        let pid = fields.get(4).filter(|_| matches)?.parse().ok().filter(|pid| *pid != 0)?;
        Some(Locker { pid, alone: fields.get(3) == Some(&"WRITE") })
    };
    locks.lines().filter_map(holder).collect()
}

/// Whether a process is an ancestor of this one.
pub fn is_ancestor(pid: u32) -> bool {
    let parent = |of: u32| -> Option<u32> {
        let stat = fs::read_to_string(format!("/proc/{of}/stat")).ok()?;
        // 4711 (name) S 1234 ...: the name may contain anything.
        stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
    };
    let mut of = std::process::id();
    while let Some(next) = parent(of).filter(|next| *next > 1) {
        if next == pid {
            return true;
        }
        of = next;
    }
    false
}

/// Returns the file system's device as in /proc/locks: stat(2) gives another one on btrfs and overlayfs.
fn device(file: &File) -> Option<(u32, u32)> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", file.as_fd().as_raw_fd())).ok()?;
    let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim().to_string();
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let mut lines = mounts.lines().map(|line| line.split(' '));
    let (major, minor) = lines
        .find_map(|mut fields| (fields.next() == Some(mount.as_str())).then(|| fields.nth(1))?)?
        .split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Returns what a holder wrote about itself into the file.
pub fn signature(file: &File, pid: u32) -> Option<String> {
    let mut text = [0; 4096];
    let length = file.read_at(&mut text, 0).unwrap_or(0);
    let text = String::from_utf8_lossy(text.get(..length).unwrap_or_default()).into_owned();
    text.lines().find(|line| line.starts_with(&format!("pid {pid},"))).map(|line| plain(line.trim()))
}

/// Cleans a text from another user for the terminal.
fn plain(text: &str) -> String {
    clean::line(text).chars().take(100).collect()
}

/// Describes the process that holds the lock.
pub fn of(file: &File, pid: u32) -> Holder {
    // The real user counts: a program that runs with root's rights for any user may inherit the locked file.
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let uid = task::users(&status).map(|users| users.real);
    if let Some(mut words) = signature(file, pid) {
        // The holder chose these words, but the kernel knows its user.
        if let Some(other) = uid.filter(|uid| *uid != rustix::process::getuid().as_raw()) {
            words.push_str(&format!(" (of user {other})"));
        }
        return Holder { words, is_latido: true, uid };
    }
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    let program = words.next().map(|word| word.rsplit(|byte| *byte == b'/').next().unwrap_or(word));
    let Some(program) = program else {
        return Holder {
            words: format!("pid {pid}, which has ended and left the lock to a child process"),
            is_latido: false,
            uid,
        };
    };
    let line: Vec<_> = [program].into_iter().chain(words).map(String::from_utf8_lossy).collect();
    let line = plain(&line.join(" "));
    let user = uid.map(|uid| format!(" of user {uid}"));
    Holder { words: format!("pid {pid}{}, `{line}`", user.unwrap_or_default()), is_latido: program == b"latido", uid }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inode numbers repeat in each file system.
    #[test]
    fn the_same_inode_of_another_file_system_is_another_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 00:19:1234 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 fe:00:1234 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 13 00:19:12345 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE 14 00:19:51234 0 EOF\n";
        let alone = |pid| Locker { pid, alone: true };
        assert_eq!(among(locks, 0, 0x19, 1234), []);
        assert_eq!(among(locks, 0xfe, 0, 1234), [alone(12)]);
        let waited = "1: FLOCK  ADVISORY  WRITE 12 fe:00:7 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 13 fe:00:7 0 EOF\n";
        assert_eq!(among(waited, 0xfe, 0, 7), [alone(12)]);
        let shared = "1: FLOCK  ADVISORY  READ  12 fe:00:7 0 EOF\n2: FLOCK  ADVISORY  READ  13 fe:00:7 0 EOF\n";
        assert_eq!(among(shared, 0xfe, 0, 7), [12, 13].map(|pid| Locker { pid, alone: false }));
    }

    /// latido finds the kernel's name of the device on whatever file system the tests run.
    #[test]
    fn the_lock_of_this_process_is_found_and_a_former_name_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        fs::write(&path, "pid 1, tune apply").unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(lockers(&file), []);
        let held = File::open(&path).unwrap();
        rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
        let own = std::process::id();
        assert_eq!(lockers(&file), [Locker { pid: own, alone: true }]);
        let Holder { words, is_latido, uid } = of(&file, own);
        assert!(words.starts_with(&format!("pid {own} of user ")) && !words.contains("tune apply"), "{words}");
        assert!(!is_latido, "the program of these tests is called otherwise");
        fs::write(&path, format!("pid {own}, tune apply")).unwrap();
        let named = Holder { words: format!("pid {own}, tune apply"), is_latido: true, uid };
        assert_eq!(of(&file, own), named);
    }
}
