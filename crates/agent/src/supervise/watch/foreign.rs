//! Tasks other than the probe's, at or above its priority, that may run on the measured CPUs.
//!
//! latido finds the tasks that run by a task sampling: it reads how long each task of the machine has run, and examines those whose time
//! grew. It does so at the start, at the end, and in between as often as a budget allows: [`ORDINARY`] of a CPU, and [`ALARMED`] while the
//! probe's own threads wait. It reads the tasks that outrank the probe at every look.

use super::{
    stat::{self, Stat},
    told::{Reading, Told},
};
use latido_model::{
    cpus::CpuSet,
    record::{Foreign, Second, TaskOwner},
};
use latido_sys::clock::{self, Clock};
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// How many ended tasks a record names at most.
const MOST_ENDED: usize = 100;

/// The task sampling takes this fraction of a CPU: one in 5000, 0.02 %.
pub const ORDINARY: u64 = 5000;

/// The fraction while the probe's threads wait: one in 100, 1 %.
pub const ALARMED: u64 = 100;

/// What belongs to the measurement itself.
#[derive(Clone, Debug)]
pub struct Own {
    /// The priority that a task must reach to delay the probe; `None` for a time-sharing probe.
    pub priority: Option<u8>,
    /// The measuring process.
    pub measuring: u32,
    /// The variable that marks the program that measures, if there is one.
    pub program: Option<String>,
    /// The variables of the environment that mark the cell's loads: `LATIDO_LOAD=...`.
    pub marks: Vec<String>,
}

/// The tasks watched, by thread id.
#[derive(Debug)]
pub struct Watched {
    own: Own,
    /// Tasks that started after this, in ticks since boot, have run only during the watch.
    since_tick: u64,
    /// The stretches since the last request.
    stretches: Vec<Stretch>,
    /// The tasks that ran and have ended.
    ended: Vec<Foreign>,
    tasks: BTreeMap<u32, Task>,
    /// How long every other task had run at the last task sampling, in ns.
    others: BTreeMap<u32, u64>,
    /// The time of the last task sampling, on CLOCK_MONOTONIC, and the CPU time that it took, both in ns.
    census_at: u64,
    census_cost: u64,
}

/// How long a task ran on a CPU between two looks at it, in ns of CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug)]
pub struct Stretch {
    /// The task's number.
    pub tid: u32,
    /// The CPU.
    pub cpu: u32,
    /// The time of the previous look.
    pub from: u64,
    /// The time of this look.
    pub to: u64,
    /// How long the task ran.
    pub ran_ns: u64,
    /// How often it began to keep the probe from the CPU for that; 0 if it only went on.
    pub starts: u64,
    /// The owner of the task.
    pub owner: TaskOwner,
}

impl Stretch {
    /// Returns its time by owner. A load was requested and explains no failure: its time counts against the time of other programs.
    /// `burst_ns` is by how much a program's longest burst grew.
    pub fn time(&self, burst_ns: u64) -> Second {
        let ran_ns = self.ran_ns;
        match self.owner {
            TaskOwner::Load => Second { load_ns: ran_ns, ..Second::default() },
            TaskOwner::Kernel => Second { foreign_ns: ran_ns, kernel_ns: ran_ns, ..Second::default() },
            TaskOwner::Program | TaskOwner::Latido => {
                Second { foreign_ns: ran_ns, foreign_burst_ns: Some(burst_ns), ..Second::default() }
            }
        }
    }
}

#[derive(Debug)]
struct Task {
    dir: PathBuf,
    foreign: Foreign,
    start_tick: u64,
    /// The CPU on which it was at the last look.
    cpu_last: u32,
    ran_last: u64,
    times_last: u64,
    /// How often it had been preempted; `None` if its preemptions did not matter at the last look.
    preempted_last: Option<u64>,
    /// Whether it slept at the last look that saw it run.
    slept_last: bool,
    told: Told,
}

impl Task {
    /// Returns how often it began to keep the probe from the CPU since the last look, if the kernel has given it a CPU `times` times. A
    /// more urgent task that preempts it keeps the probe from the CPU too, so the stretch goes on.
    fn starts(&mut self, stat: &Stat, times: u64, priority: Option<u8>) -> u64 {
        let times = times.saturating_sub(std::mem::replace(&mut self.times_last, times));
        let now = preemptions(self.foreign.owner, stat, priority, || stat::status(&self.dir));
        let before = std::mem::replace(&mut self.preempted_last, now);
        let preempted = now.zip(before).map_or(0, |(now, before)| now.saturating_sub(before));
        // A task that slept has begun, also if another one preempts it at this look.
        let least = u64::from(std::mem::replace(&mut self.slept_last, !stat.is_runnable));
        times.saturating_sub(preempted).max(least)
    }
}

/// Returns how often a task was preempted so far, if that matters: for programs above the probe. Nothing reads the bursts of other tasks.
fn preemptions(
    owner: Option<TaskOwner>,
    stat: &Stat,
    priority: Option<u8>,
    status: impl FnOnce() -> String,
) -> Option<u64> {
    let matters = matches!(owner, Some(TaskOwner::Program | TaskOwner::Latido)) && stat.is_above(priority);
    if matters { stat::preempted(&status()) } else { None }
}

impl Watched {
    /// Finds the tasks to watch.
    pub fn start(cpus: &CpuSet, own: Own) -> Self {
        let mut watched = Self::nobody(own);
        watched.census(cpus);
        watched
    }

    /// Starts with no tasks.
    fn nobody(own: Own) -> Self {
        Self {
            own,
            since_tick: stat::now_in_ticks(),
            stretches: Vec::new(),
            ended: Vec::new(),
            tasks: BTreeMap::new(),
            others: BTreeMap::new(),
            census_at: Clock::Monotonic.now(),
            census_cost: 0,
        }
    }

    /// Returns what the tasks ran on the measured CPUs since the last request.
    pub fn look(&mut self, cpus: &CpuSet) -> Vec<Stretch> {
        self.update(cpus);
        std::mem::take(&mut self.stretches)
    }

    /// Reads how long each task has run. latido calls this often when a task may end before the next look.
    pub fn update(&mut self, cpus: &CpuSet) {
        let (mut gone, mut demoted) = (Vec::new(), Vec::new());
        let priority = self.own.priority;
        for (tid, task) in &mut self.tasks {
            let before = Clock::Monotonic.now();
            let on_cpu = stat::on_cpu(&task.dir);
            let now = Clock::Monotonic.now();
            let reading = Reading { before, after: now };
            if on_cpu.is_some_and(|(ran, _)| ran == task.ran_last) {
                task.told.lately(0, reading);
                continue;
            }
            // If another task has taken over the number, the task is gone.
            let stat = Stat::read(&task.dir).filter(|stat| stat.start_tick == task.start_tick);
            let Some(((ran, times), stat)) = on_cpu.zip(stat) else {
                gone.push(*tid);
                continue;
            };
            if !stat.outranks(priority) {
                // From here on it no longer counts, whatever it runs.
                gone.push(*tid);
                demoted.push((*tid, ran));
                continue;
            }
            let read_at = task.told.read_at();
            let ran_ns = task.told.lately(ran.saturating_sub(task.ran_last), reading);
            let from = read_at.min(now.saturating_sub(ran_ns));
            task.ran_last = ran;
            let starts = task.starts(&stat, times, priority);
            // If the task changed its CPU, latido does not know where it ran in between: all of its time may have been on either CPU.
            let places = [stat.cpu, std::mem::replace(&mut task.cpu_last, stat.cpu)];
            let places = if places[0] == places[1] { &places[..1] } else { &places[..] };
            let owner = task.foreign.owner.unwrap_or(TaskOwner::Program);
            let measured = places.iter().filter(|cpu| cpus.contains(**cpu));
            let stretch = |cpu: &u32| Stretch { tid: *tid, cpu: *cpu, from, to: now, ran_ns, starts, owner };
            let stretches: Vec<Stretch> = measured.map(stretch).collect();
            if let Some(first) = stretches.first() {
                task.foreign.cpu = first.cpu;
                task.foreign.ran_ns += ran_ns;
            }
            self.stretches.extend(stretches);
        }
        let ended = gone.into_iter().filter_map(|tid| self.tasks.remove(&tid)).map(|task| task.foreign);
        let room = MOST_ENDED.saturating_sub(self.ended.len());
        self.ended.extend(ended.filter(|foreign| foreign.ran_ns > 0).take(room));
        self.others.extend(demoted);
    }

    /// Returns the tasks that ran on the measured CPUs, the longest first.
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

    /// Does a task sampling, if another one may take that part of a CPU.
    pub fn census_within(&mut self, cpus: &CpuSet, part: u64) {
        if Clock::Monotonic.now().saturating_sub(self.census_at) >= self.census_cost.saturating_mul(part) {
            self.census(cpus);
        }
    }

    /// Examines all tasks that ran since the last task sampling, and adds those that outrank the probe.
    pub fn census(&mut self, cpus: &CpuSet) {
        let begun = clock::thread_cpu_ns();
        let before = std::mem::take(&mut self.others);
        let last_at = std::mem::replace(&mut self.census_at, Clock::Monotonic.now());
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = number(&process) else { continue };
            for thread in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
                let Some(tid) = number(&thread).filter(|tid| !self.tasks.contains_key(tid)) else { continue };
                let dir = thread.path();
                let Some((ran, all)) = stat::on_cpu(&dir) else { continue };
                self.others.insert(tid, ran);
                let known = before.get(&tid).copied();
                if known == Some(ran) {
                    continue;
                }
                let Some(stat) = Stat::read(&dir).filter(|stat| stat.outranks(self.own.priority)) else { continue };
                let Some(owner) = self.owner(pid, tid, &stat, &process.path()) else { continue };
                let owner = Some(owner);
                let status = stat::status(&dir);
                if !stat::may_run(&status, cpus) {
                    continue;
                }
                let preempted = preemptions(owner, &stat, self.own.priority, || status);
                self.others.remove(&tid);
                let Stat { start_tick, cpu, is_runnable, .. } = stat;
                let policy = stat.policy_name();
                let foreign = Foreign { policy, comm: stat.comm, tid, cpu, ran_ns: 0, owner };
                // What a task ran before the last task sampling does not count. A task that started since then began at zero.
                let born = if start_tick > self.since_tick { 0 } else { ran };
                let ran_last = known.unwrap_or(born).min(ran);
                // How often it was given a CPU by then is unknown for a new task. latido assumes the same rate as over its whole life.
                let part = |count: u64| (count as f64 * (ran_last as f64 / ran.max(1) as f64)) as u64;
                let (times_last, preempted_last) = (part(all), preempted.map(part));
                self.tasks.insert(
                    tid,
                    Task {
                        dir,
                        foreign,
                        start_tick,
                        cpu_last: cpu,
                        ran_last,
                        times_last,
                        preempted_last,
                        slept_last: !is_runnable,
                        told: Told::at(last_at),
                    },
                );
            }
        }
        self.census_cost = clock::thread_cpu_ns().saturating_sub(begun);
    }

    /// Returns the owner of a task; `None` for a task that measures.
    fn owner(&self, pid: u32, tid: u32, stat: &Stat, process: &Path) -> Option<TaskOwner> {
        if stat.is_kernel {
            return Some(TaskOwner::Kernel);
        }
        // The main thread of the measuring process only watches. Its children measure for it.
        if (pid == self.own.measuring && tid != pid) || stat.parent == self.own.measuring {
            return None;
        }
        if pid == self.own.measuring || pid == std::process::id() {
            return Some(TaskOwner::Latido);
        }
        let environ = fs::read(process.join("environ")).unwrap_or_default();
        let has = |mark: &String| environ.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
        if self.own.program.as_ref().is_some_and(has) {
            return None;
        }
        // An orphan of a load that has ended no longer has an environment. It is a child of this process until this process collects it.
        let orphan = environ.is_empty() && stat.parent == std::process::id() && !self.own.marks.is_empty();
        Some(if orphan || self.own.marks.iter().any(has) { TaskOwner::Load } else { TaskOwner::Program })
    }
}

fn number(entry: &fs::DirEntry) -> Option<u32> {
    entry.file_name().to_str()?.parse().ok()
}

#[cfg(test)]
mod tests;
