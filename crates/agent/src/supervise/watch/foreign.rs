//! Tasks other than the probe's, at or above its priority, that may run on the measured CPUs.
//!
//! Looking through all tasks costs milliseconds, reading the known ones microseconds. So all are looked through at the
//! start, every ten seconds, and whenever a thread of the probe is found standing still.

use latido_model::{cpus::CpuSet, record::Foreign};
use latido_sys::clock::Clock;
use std::{collections::BTreeMap, fs, path::PathBuf};

/// Most tasks that a record names.
const MOST_ENDED: usize = 100;

/// The tasks watched, by thread id.
#[derive(Debug)]
pub struct Watched {
    priority: Option<u8>,
    session: i32,
    /// Tasks that started after this (in ticks since boot) have run only while we watched.
    since_tick: u64,
    unreported: BTreeMap<u32, u64>,
    /// Those that ran and are no more.
    ended: Vec<Foreign>,
    tasks: BTreeMap<u32, Task>,
}

#[derive(Debug)]
struct Task {
    dir: PathBuf,
    foreign: Foreign,
    start_tick: u64,
    ran_last: u64,
}

impl Watched {
    /// Finds the tasks to watch.
    pub fn start(cpus: &CpuSet, priority: Option<u8>) -> Self {
        let session = rustix::process::getsid(None).map_or(0, |pid| pid.as_raw_nonzero().get());
        let mut watched = Self {
            priority,
            session,
            since_tick: now_in_ticks(),
            unreported: BTreeMap::new(),
            ended: Vec::new(),
            tasks: BTreeMap::new(),
        };
        watched.find(cpus);
        watched
    }

    /// How long they ran on each measured CPU since it was last asked, in ns; `search` looks for new ones first.
    pub fn look(&mut self, cpus: &CpuSet, search: bool) -> BTreeMap<u32, u64> {
        if search {
            self.find(cpus);
        }
        self.update(cpus);
        std::mem::take(&mut self.unreported)
    }

    /// Reads how long each has run: often, where one may end before the next look.
    pub fn update(&mut self, cpus: &CpuSet) {
        let mut gone = Vec::new();
        for (tid, task) in &mut self.tasks {
            // A number that another task has taken over is a task that is gone.
            let stat = fs::read_to_string(task.dir.join("stat")).ok().and_then(|text| parse(&text));
            let Some(stat) = stat.filter(|stat| stat.start_tick == task.start_tick) else {
                gone.push(*tid);
                continue;
            };
            let Some(ran) = running_time(&task.dir) else { continue };
            let since = ran.saturating_sub(task.ran_last);
            task.ran_last = ran;
            // Where it ran in between is known only if it is where it was.
            let stayed = std::mem::replace(&mut task.foreign.cpu, stat.cpu) == stat.cpu;
            if stayed && cpus.contains(stat.cpu) {
                *self.unreported.entry(stat.cpu).or_insert(0) += since;
                task.foreign.ran_ns += since;
            }
        }
        let ended = gone.into_iter().filter_map(|tid| self.tasks.remove(&tid)).map(|task| task.foreign);
        let room = MOST_ENDED.saturating_sub(self.ended.len());
        self.ended.extend(ended.filter(|foreign| foreign.ran_ns > 0).take(room));
    }

    /// Those that ran on the measured CPUs, the longest first.
    pub fn seen(&self) -> Vec<Foreign> {
        let mut seen: Vec<Foreign> = self
            .tasks
            .values()
            .map(|task| &task.foreign)
            .chain(&self.ended)
            .filter(|f| f.ran_ns > 0)
            .cloned()
            .collect();
        seen.sort_by(|a, b| b.ran_ns.cmp(&a.ran_ns).then(a.tid.cmp(&b.tid)));
        seen.truncate(MOST_ENDED);
        seen
    }

    /// Looks through all tasks for new ones that outrank the probe.
    pub fn find(&mut self, cpus: &CpuSet) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            if process.file_name().to_str().is_none_or(|name| name.parse::<u32>().is_err()) {
                continue;
            }
            for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
                let Some(tid) = thread.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
                if self.tasks.contains_key(&tid) {
                    continue;
                }
                let dir = thread.path();
                let Some(stat) = fs::read_to_string(dir.join("stat")).ok().and_then(|text| parse(&text)) else {
                    continue;
                };
                if stat.session == self.session || !stat.outranks(self.priority) || !may_run(&dir, cpus) {
                    continue;
                }
                let Some(ran) = running_time(&dir) else { continue };
                let foreign = Foreign { policy: stat.policy_name(), comm: stat.comm, tid, cpu: stat.cpu, ran_ns: 0 };
                let ran_last = if stat.start_tick > self.since_tick { 0 } else { ran };
                self.tasks.insert(tid, Task { dir, foreign, start_tick: stat.start_tick, ran_last });
            }
        }
    }
}

/// What proc_pid_stat(5) says of a task.
#[derive(Debug, PartialEq)]
struct Stat {
    comm: String,
    session: i32,
    start_tick: u64,
    cpu: u32,
    priority: u32,
    policy: u32,
}

fn parse(text: &str) -> Option<Stat> {
    let (head, rest) = text.rsplit_once(')')?;
    let (_, comm) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3);
    Some(Stat {
        comm: comm.to_string(),
        session: field(6)?.parse().ok()?,
        start_tick: field(22)?.parse().ok()?,
        cpu: field(39)?.parse().ok()?,
        priority: field(40)?.parse().ok()?,
        policy: field(41)?.parse().ok()?,
    })
}

impl Stat {
    /// FIFO (1) and RR (2) at or above the priority, deadline (6) always.
    fn outranks(&self, priority: Option<u8>) -> bool {
        match self.policy {
            1 | 2 => self.priority >= u32::from(priority.unwrap_or(1)),
            6 => true,
            _ => false,
        }
    }

    fn policy_name(&self) -> String {
        match self.policy {
            1 => format!("fifo {}", self.priority),
            2 => format!("rr {}", self.priority),
            6 => "deadline".into(),
            other => format!("policy {other}"),
        }
    }
}

/// A second in ns.
const SECOND: u64 = 1_000_000_000;

/// The time since boot in the unit of a task's start time.
fn now_in_ticks() -> u64 {
    let (now, per_second) = (Clock::Boottime.now(), rustix::param::clock_ticks_per_second());
    now / SECOND * per_second + now % SECOND * per_second / SECOND
}

/// The first number of schedstat: time on a CPU in ns (Documentation/scheduler/sched-stats.rst).
fn running_time(dir: &std::path::Path) -> Option<u64> {
    fs::read_to_string(dir.join("schedstat")).ok()?.split_whitespace().next()?.parse().ok()
}

fn may_run(dir: &std::path::Path, cpus: &CpuSet) -> bool {
    let status = fs::read_to_string(dir.join("status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    match list.and_then(|list| list.parse::<CpuSet>().ok()) {
        Some(allowed) => cpus.iter().any(|cpu| allowed.contains(cpu)),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_read() {
        let mut fields = vec!["S"; 1];
        let numbers: Vec<String> = (4..=41).map(|n| n.to_string()).collect();
        fields.extend(numbers.iter().map(String::as_str));
        let text = format!("12 (a b) c) {}", fields.join(" "));
        let stat = parse(&text).unwrap();
        assert_eq!(stat, Stat { comm: "a b) c".into(), session: 6, start_tick: 22, cpu: 39, priority: 40, policy: 41 });
    }

    #[test]
    fn only_equal_or_higher_priority_counts() {
        let stat = |policy, priority| Stat { comm: String::new(), session: 0, start_tick: 0, cpu: 0, priority, policy };
        assert!(stat(1, 80).outranks(Some(80)));
        assert!(!stat(1, 79).outranks(Some(80)));
        assert!(stat(6, 0).outranks(Some(99)));
        assert!(!stat(0, 0).outranks(None));
        assert!(stat(2, 1).outranks(None));
    }
}
