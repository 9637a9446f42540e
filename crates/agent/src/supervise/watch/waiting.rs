//! The probe's own threads: whether they run when they want to, or wait for their CPU while another task runs.

use super::stat::Stat;
use latido_model::record::{ThreadEvidence, Wait};
use latido_sys::clock::Clock;
use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::PathBuf,
};

/// How many threads one glance reads at most. The next glances read the others.
const AT_ONCE: usize = 8;

/// A wait of more than this part of the time (one in 20) has another task as its cause.
const MUCH: u64 = 20;

/// The measuring threads, each with the times that it had run and waited at the last read.
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
    before: Counted,
    /// The stretch in which it waited longest; its start is a time of CLOCK_MONOTONIC.
    longest: Option<Wait>,
}

/// The three numbers of schedstat.
#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    ran_ns: u64,
    waited_ns: u64,
    runs: u64,
}

/// How well a measuring thread gets its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fare {
    /// It runs when it wants to, or does not want to run.
    GetsOn,
    /// It waited for much of the time since the last look.
    Waits,
    /// It wants to run and has not run at all.
    Stands,
}

impl Threads {
    /// Finds the threads of a process.
    pub fn of(pid: u32) -> Self {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        let thread = |dir: PathBuf| {
            let file = File::open(dir.join("schedstat")).ok()?;
            let before = read(&file)?;
            Some(Thread { dir, file, at: Clock::Monotonic.now(), before, longest: None })
        };
        Self { all: tasks.filter_map(|entry| thread(entry.path())).collect(), next: 0 }
    }

    /// Glances at the next few threads. Returns the worst result.
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

    /// Takes a last look at all of them.
    pub fn look_at_all(&mut self) {
        for _ in 0..self.all.len().div_ceil(AT_ONCE) {
            self.fare();
        }
    }

    /// Returns each thread's number and longest wait, as times since `started_ns` of CLOCK_MONOTONIC.
    pub fn seen(&self, started_ns: u64) -> Vec<ThreadEvidence> {
        let of = |thread: &Thread| {
            let tid = thread.dir.file_name().and_then(|name| name.to_str()?.parse().ok());
            let since = |wait: Wait| Wait { start_ns: wait.start_ns.saturating_sub(started_ns), ..wait };
            ThreadEvidence { tid, longest_wait: thread.longest.map(since), ..ThreadEvidence::default() }
        };
        self.all.iter().map(of).collect()
    }
}

impl Thread {
    fn fare(&mut self) -> Fare {
        let Some(counted) = read(&self.file) else { return Fare::GetsOn };
        let now = Clock::Monotonic.now();
        let (span, waited) = (now.saturating_sub(self.at), counted.waited_ns.saturating_sub(self.before.waited_ns));
        let stood = counted.ran_ns == self.before.ran_ns;
        let runs = counted.runs.saturating_sub(self.before.runs);
        // The kernel counts a wait when it is over, so it may have begun before the last look.
        let start_ns = self.at.min(now.saturating_sub(waited));
        let wait = Wait { start_ns, length_ns: now.saturating_sub(start_ns), waited_ns: waited, runs };
        self.longest = self.longest.into_iter().chain([wait]).max_by_key(Wait::beyond_waking_ns);
        (self.at, self.before) = (now, counted);
        // The kernel counts a wait when it is over. A thread that has not run may sleep or still wait.
        if stood && Stat::read(&self.dir).is_some_and(|stat| stat.is_runnable) {
            return Fare::Stands;
        }
        if waited.saturating_mul(MUCH) >= span.max(1) { Fare::Waits } else { Fare::GetsOn }
    }
}

/// Reads the time run and the time waited, in ns, and how often the thread was given a CPU (Documentation/scheduler/sched-stats.rst,
/// "/proc/<pid>/schedstat").
fn read(file: &File) -> Option<Counted> {
    let mut text = [0; 96];
    let length = file.read_at(&mut text, 0).ok()?;
    let text = std::str::from_utf8(text.get(..length)?).ok()?;
    let mut numbers = text.split_whitespace().map_while(|number| number.parse().ok());
    Some(Counted { ran_ns: numbers.next()?, waited_ns: numbers.next()?, runs: numbers.next()? })
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
        let before = Counted { ran_ns: 1000, waited_ns: 500, runs: 3 };
        let thread = Thread { dir: dir.path().into(), file, at, before, longest: None };
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
        assert!(threads.all.iter().all(|thread| thread.before.ran_ns == 2000));
    }

    /// Of several looks the worst must be kept, with the number of the thread's runs in it.
    #[test]
    fn the_longest_wait_is_kept() {
        let (dir, mut thread) = thread("1500 1000500 6\n", "S");
        thread.fare();
        // The second look comes a second after the first, and is the worst of three.
        thread.at -= 1_000_000_000;
        let started = thread.at - 5;
        for schedstat in ["2000 46000500 106\n", "3000 47000500 206\n"] {
            fs::write(dir.path().join("schedstat"), schedstat).unwrap();
            thread.fare();
        }
        let wait = thread.longest.unwrap();
        assert_eq!((wait.waited_ns, wait.runs, wait.start_ns), (45_000_000, 100, started + 5));
        assert!(wait.length_ns >= 1_000_000_000);
        thread.dir = PathBuf::from("/proc/1/task/77");
        let threads = Threads { all: vec![thread], next: 0 };
        let seen = &threads.seen(started)[0];
        assert_eq!((seen.tid, seen.longest_wait.unwrap().start_ns), (Some(77), 5));
    }
}
