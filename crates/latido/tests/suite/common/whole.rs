//! Everything on this machine that a tuning may change, and every task, read without latido's own code.

use crate::common::settled;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The files that tunings write. A `*` stands for any part of a name.
const KNOBS: &[&str] = &[
    "/proc/sys/kernel/timer_migration",
    "/proc/sys/kernel/sched_rt_*_us",
    "/proc/sys/kernel/*watchdog*",
    "/proc/sys/kernel/numa_balancing",
    "/proc/sys/kernel/printk",
    "/proc/sys/vm/stat_interval",
    "/proc/irq/default_smp_affinity",
    "/proc/irq/*/smp_affinity",
    "/sys/kernel/rcu_*",
    "/sys/kernel/mm/transparent_hugepage/*",
    "/sys/kernel/mm/ksm/run",
    "/sys/kernel/debug/sched/preempt",
    "/sys/kernel/debug/sched/fair_server/*/runtime",
    "/sys/devices/virtual/workqueue/cpumask",
    "/sys/devices/virtual/workqueue/*/cpumask",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/smt/control",
    "/sys/devices/system/cpu/cpufreq/boost",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_*",
    "/sys/devices/system/cpu/intel_pstate/no_turbo",
    "/sys/devices/system/cpu/cpu*/power/pm_qos_resume_latency_us",
    "/sys/devices/system/cpu/cpu*/cpuidle/state*/disable",
    "/sys/class/net/*/threaded",
    "/sys/fs/resctrl/schemata",
];

/// The files here that a pattern matches.
fn expand(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        found = match part.contains('*') {
            true => found.iter().flat_map(|dir| entries(dir)).filter(|path| matches(part, path)).collect(),
            false => found.into_iter().map(|dir| dir.join(part)).collect(),
        };
    }
    // Without files that only report: the frequency and counters of the moment.
    found.retain(|path| path.is_file() && !path.ends_with("scaling_cur_freq"));
    found
}

fn matches(pattern: &str, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    for part in parts {
        match rest.find(part) {
            Some(_) if part.is_empty() => rest = "",
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// Every control group of every hierarchy.
fn groups() -> Vec<PathBuf> {
    fn below(dir: PathBuf, found: &mut Vec<PathBuf>) {
        for path in entries(&dir) {
            if path.symlink_metadata().is_ok_and(|entry| entry.is_dir()) {
                below(path, found);
            }
        }
        found.push(dir);
    }
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mut found = Vec::new();
    for line in mounts.lines() {
        let fields: Vec<&str> = line.split_whitespace().collect();
        if fields[2].starts_with("cgroup") {
            below(fields[1].into(), &mut found);
        }
    }
    found
}

/// The placement of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    comm: String,
    parent: i32,
    /// Its group in each hierarchy.
    groups: String,
    affinity: String,
    /// Nice value, real-time priority and policy: fields 19, 40 and 41 of its stat.
    policy: [String; 3],
}

fn task(tid: i32) -> Option<((i32, u64), Task)> {
    let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    let (begin, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let affinity = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().to_owned();
    (!matches!(fields[0], "Z" | "X")).then_some(())?;
    let task = Task {
        comm: begin.split_once('(')?.1.to_owned(),
        parent: fields[1].parse().ok()?,
        groups: fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?,
        affinity,
        policy: [16, 37, 38].map(|at: usize| fields[at].to_owned()),
    };
    Some(((tid, fields[19].parse().ok()?), task))
}

/// The state of the machine at a moment.
pub struct Whole {
    knobs: BTreeMap<PathBuf, String>,
    groups: BTreeSet<PathBuf>,
    /// By number and start time.
    tasks: BTreeMap<(i32, u64), Task>,
}

impl Whole {
    pub fn take() -> Self {
        let groups: BTreeSet<PathBuf> = groups().into_iter().collect();
        let cpuset = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let told = name.contains("pressure") || name.contains("effective");
            name == "cgroup.subtree_control" || name.starts_with("cpuset.") && !told
        };
        let of_groups = groups.iter().flat_map(|dir| entries(dir)).filter(cpuset);
        let knobs = KNOBS.iter().flat_map(|pattern| expand(pattern)).chain(of_groups);
        let numbers = |dir: &str| -> Vec<i32> {
            let names = entries(Path::new(dir)).into_iter();
            names.filter_map(|path| path.file_name()?.to_str()?.parse().ok()).collect()
        };
        let tids = numbers("/proc").into_iter().flat_map(|pid| numbers(&format!("/proc/{pid}/task")));
        Self {
            knobs: knobs.filter_map(|path| fs::read_to_string(&path).ok().map(|text| (path, text))).collect(),
            tasks: tids.filter_map(task).collect(),
            groups,
        }
    }

    /// How the machine differs from this earlier state, in words.
    pub fn differences(&self, now: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, text) in &self.knobs {
            if now.knobs.get(path) != Some(text) {
                found.push(format!("{}: {text:?} -> {:?}", path.display(), now.knobs.get(path)));
            }
        }
        // A group that existed before belongs to another latido: one with another state directory may have been killed.
        let made = now.groups.difference(&self.groups).filter(|group| group.display().to_string().contains("/latido"));
        found.extend(made.map(|group| format!("left behind: {}", group.display())));
        for (id, before) in &self.tasks {
            let Some(after) = now.tasks.get(id) else { continue };
            // The thread of an interrupt follows it to its next CPU, and another latido binds itself.
            let follows = before.comm.starts_with("irq/") || before.comm.starts_with("latido");
            let same = |a: &Task, b: &Task| (&a.groups, &a.policy) == (&b.groups, &b.policy);
            if !same(before, after) || before.affinity != after.affinity && !follows {
                found.push(format!("task {id:?}: {before:?} -> {after:?}"));
            }
        }
        found
    }

    /// Checks that every knob is equal byte for byte, that every surviving task is placed as before, and that no group of latido is left.
    /// Effects that the kernel applies after its answer may take a moment.
    pub fn holds(&self, when: &str) {
        let now = settled(&format!("a machine that is as before ({when})"), || {
            let now = Self::take();
            match self.differences(&now) {
                same if same.is_empty() => Ok(now),
                differences => Err(format!("not as before:\n  {}", differences.join("\n  "))),
            }
        });
        let own = std::process::id().cast_signed();
        assert!(now.tasks.keys().any(|(tid, _)| *tid == own), "{when}: not even this process was found");
        assert!(self.knobs.len() > 10, "{when}: only {} settings were read", self.knobs.len());
    }

    /// The number of children of a process that are placed as it is; the error names one that is not.
    pub fn like_their_parent(pid: i32) -> Result<usize, String> {
        let now = Self::take();
        let all = &now.tasks;
        let Some(own) = all.iter().find(|((tid, _), _)| *tid == pid).map(|(_, task)| task.clone()) else {
            return Err(format!("process {pid} is gone"));
        };
        let children: Vec<_> = all.iter().filter(|(_, task)| task.parent == pid).collect();
        match children.iter().find(|(_, child)| (&child.groups, &child.affinity) != (&own.groups, &own.affinity)) {
            Some((id, child)) => Err(format!("task {id:?}, born meanwhile, is {child:?}; its parent {own:?}")),
            None => Ok(children.len()),
        }
    }
}

/// Restores the knobs even if a test fails half-way, so that one failure does not cause others.
impl Drop for Whole {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            return;
        }
        for (path, before) in &self.knobs {
            if fs::read_to_string(path).ok().as_ref() != Some(before) {
                let chosen = before.split_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
                let _ = fs::write(path, chosen.unwrap_or(before));
            }
        }
    }
}
