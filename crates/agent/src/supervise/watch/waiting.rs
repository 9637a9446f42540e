//! The probe's own threads: whether they get on, or wait for their CPU while somebody else is at work.

use super::stat::Stat;
use latido_sys::clock::Clock;
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
};

/// At most so many are read at one glance; the others have their turn at the next ones.
const AT_ONCE: usize = 8;

/// Above this part of the time a wait is somebody's doing: one in so many.
const MUCH: u64 = 20;

/// The measuring threads, each with what it had run and waited when last read.
#[derive(Debug)]
pub struct Threads {
    all: Vec<Thread>,
    next: usize,
}

#[derive(Debug)]
struct Thread {
    dir: PathBuf,
    /// Its schedstat, open.
    file: File,
    at: u64,
    ran_ns: u64,
    waited_ns: u64,
}

/// How a measuring thread fares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fare {
    /// It runs when it wants to, or wants nothing.
    GetsOn,
    /// It waited for much of the time since it was last looked at.
    Waits,
    /// It wants to run and has not run at all.
    Stands,
}

impl Threads {
    /// Those of a process.
    pub fn of(pid: u32) -> Self {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let thread = |dir: PathBuf| {
            let file = File::open(dir.join("schedstat")).ok()?;
            let (ran_ns, waited_ns) = read(&file)?;
            Some(Thread { dir, file, at: Clock::Monotonic.now(), ran_ns, waited_ns })
        };
        Self { all: tasks.filter_map(|entry| thread(entry.path())).collect(), next: 0 }
    }

    /// A glance at the next few of them: the worst that is found.
    pub fn fare(&mut self) -> Fare {
        let count = self.all.len();
        let mut worst = Fare::GetsOn;
        for _ in 0..count.min(AT_ONCE) {
            self.next = (self.next + 1) % count.max(1);
            if let Some(thread) = self.all.get_mut(self.next) {
                worst = worst.max(thread.fare());
            }
        }
        worst
    }
}

impl Thread {
    fn fare(&mut self) -> Fare {
        let Some((ran_ns, waited_ns)) = read(&self.file) else { return Fare::GetsOn };
        let now = Clock::Monotonic.now();
        let (span, waited) = (now.saturating_sub(self.at), waited_ns.saturating_sub(self.waited_ns));
        let stood = ran_ns == self.ran_ns;
        (self.at, self.ran_ns, self.waited_ns) = (now, ran_ns, waited_ns);
        // A wait is counted when it is over: who has not run may sleep, or still be waiting.
        if stood && Stat::read(&self.dir).is_some_and(|stat| stat.is_runnable) {
            return Fare::Stands;
        }
        if waited.saturating_mul(MUCH) >= span.max(1) { Fare::Waits } else { Fare::GetsOn }
    }
}

/// The first two numbers of schedstat: time run and time waited, in ns.
fn read(file: &File) -> Option<(u64, u64)> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let mut numbers = text.split_whitespace().map_while(|number| number.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thread(text: &str, state: &str) -> (tempfile::TempDir, Thread) {
        let dir = tempfile::tempdir().unwrap();
        let numbers: Vec<String> = (4..=41).map(|n| n.to_string()).collect();
        fs::write(dir.path().join("stat"), format!("7 (x) {state} {}", numbers.join(" "))).unwrap();
        fs::write(dir.path().join("schedstat"), text).unwrap();
        let file = File::open(dir.path().join("schedstat")).unwrap();
        let at = Clock::Monotonic.now() - 1_000_000_000;
        let thread = Thread { dir: dir.path().into(), file, at, ran_ns: 1000, waited_ns: 500 };
        (dir, thread)
    }

    #[test]
    fn who_stands_waits_and_gets_on_is_told_apart() {
        for (schedstat, state, fare) in [
            ("1000 500 3\n", "R", Fare::Stands),
            ("1000 500 3\n", "S", Fare::GetsOn),
            ("2000 500 3\n", "R", Fare::GetsOn),
            ("2000 40000500 3\n", "R", Fare::GetsOn),
            ("2000 600000500 3\n", "R", Fare::Waits),
            ("junk", "R", Fare::GetsOn),
        ] {
            let (_dir, mut thread) = thread(schedstat, state);
            assert_eq!(thread.fare(), fare, "{schedstat:?} {state}");
        }
    }

    #[test]
    fn each_thread_has_its_turn() {
        let mut dirs = Vec::new();
        let mut all = Vec::new();
        for _ in 0..20 {
            let (dir, thread) = thread("2000 500 3\n", "S");
            dirs.push(dir);
            all.push(thread);
        }
        let mut threads = Threads { all, next: 0 };
        for _ in 0..3 {
            threads.fare();
        }
        assert!(threads.all.iter().all(|thread| thread.ran_ns == 2000));
    }
}
