//! Isolation by cpusets of cgroup v1 (Documentation/admin-guide/cgroup-v1/cpusets.rst).

use super::tasks::{self, Tried};
use crate::{
    machine::{
        Root,
        cpusets::{self, Hierarchy},
        isolated::ISOLATED,
    },
    setting::{Pursuit, Wanted},
    step::{
        Form, Step,
        group::{self, GroupFile, SYSTEM},
    },
};
use anyhow::{Context, Result, ensure};
use latido_model::{cpus::CpuSet, units::many};
use std::collections::BTreeSet;

/// Returns the steps for two sets below the root: one for the measured threads, one for everything that was in the root. The scheduler
/// balances over every CPU of a set whose `sched_load_balance` is on. So latido turns it off in the root and in the isolated set. It stays
/// on in the set of the system: otherwise the other CPUs would not be balanced among themselves.
pub fn wanted(root: &Root, dir: &str, isolated: &CpuSet, rest: &CpuSet) -> Result<Wanted> {
    let at = |file: &str| format!("{dir}/{file}");
    let mems = root.read(&at("cpuset.mems")).with_context(|| format!("cannot read {dir}/cpuset.mems"))?;
    ensure!(
        !root.exists(&at(SYSTEM)),
        "{dir}/{SYSTEM} exists already: undo the tuning that made it (`latido tune undo isolate`)"
    );
    let mut steps = bound_elsewhere(root, dir, rest);
    let (narrowed, taken) = narrowed(root, dir, isolated, rest)?;
    steps.extend(narrowed);
    let system = rest.without(&taken);
    ensure!(
        !system.is_empty(),
        "the exclusive cpusets below {dir} hold all the other CPUs ({rest}): none is left for the rest of the system"
    );
    let set = |name: &str, settings: Vec<GroupFile>| {
        let (tasks, leave) = ("tasks".to_owned(), at("tasks"));
        Step::Set { path: at(name), settings, tasks, leave }
    };
    steps.push(set(
        SYSTEM,
        vec![
            GroupFile::new("cpuset.cpus", &system, Form::Cpus),
            GroupFile::new("cpuset.mems", &mems, Form::Cpus),
            GroupFile::new("cpuset.sched_load_balance", 1, Form::Plain),
        ],
    ));
    steps.push(set(
        ISOLATED,
        vec![
            GroupFile::new("cpuset.cpus", isolated, Form::Cpus),
            GroupFile::new("cpuset.mems", &mems, Form::Cpus),
            GroupFile::new("cpuset.cpu_exclusive", 1, Form::Plain),
            GroupFile::new("cpuset.sched_load_balance", 0, Form::Plain),
        ],
    ));
    steps.extend(Step::value(root, &at("cpuset.sched_load_balance"), "0", Form::Plain)?);
    let pursuit = Movers {
        from: at("tasks"),
        to: at(&format!("{SYSTEM}/tasks")),
        isolated: isolated.clone(),
        rest: system,
        tried: Tried::default(),
        stuck: BTreeSet::new(),
        moved: BTreeSet::new(),
    };
    Ok(Wanted { steps, pursuit: Some(Box::new(pursuit)), ..Wanted::default() })
}

/// Returns the steps that take the isolated CPUs from the existing sets, and the CPUs that the exclusive sets keep.
///
/// # Errors
/// A set would be left without a CPU.
fn narrowed(root: &Root, dir: &str, isolated: &CpuSet, rest: &CpuSet) -> Result<(Vec<Step>, CpuSet)> {
    let mut sets = Vec::new();
    descend(root, dir, &mut sets);
    let (mut steps, mut taken) = (Vec::new(), CpuSet::default());
    for set in &sets {
        let file = format!("{set}/cpuset.cpus");
        let Some(original) = root.read(&file) else { continue };
        let Ok(cpus) = original.parse::<CpuSet>() else { continue };
        let left = cpus.without(isolated);
        ensure!(
            !left.is_empty(),
            "the cpuset {set} has no CPU but {cpus}: give it another (echo {rest} > {file}), or isolate another one"
        );
        if left != cpus {
            steps.push(Step::Value { path: file, original, new: left.to_string(), form: Form::Cpus });
        }
        // Only sets at the same level as latido's new ones can exclude them.
        if set.rsplit_once('/').is_some_and(|(above, _)| above == dir)
            && root.flag(&at_of(set, "cpu_exclusive")) == Some(true)
        {
            taken = taken.iter().chain(left.iter()).collect();
        }
    }
    Ok((steps, taken))
}

/// Returns every set below the root of the hierarchy, inner ones first; empty if cgroup v1 does not manage the cpusets.
pub fn sets(root: &Root) -> Vec<String> {
    let mut sets = Vec::new();
    if let Ok(Hierarchy::V1 { dir }) = cpusets::find(root) {
        descend(root, &dir, &mut sets);
    }
    sets
}

/// Collects the sets below a set, inner ones first: a set must have all CPUs of those inside it.
fn descend(root: &Root, dir: &str, sets: &mut Vec<String>) {
    for name in root.list(dir) {
        let below = format!("{dir}/{name}");
        if root.path(&below).is_dir() {
            descend(root, &below, sets);
            sets.push(below);
        }
    }
}

fn at_of(set: &str, file: &str) -> String {
    format!("{set}/cpuset.{file}")
}

/// Returns steps for the threads in other sets that chose some of their set's CPUs: older kernels forget the choice when the set shrinks.
fn bound_elsewhere(root: &Root, dir: &str, rest: &CpuSet) -> Vec<Step> {
    let mut sets = Vec::new();
    descend(root, dir, &mut sets);
    let mut steps = Vec::new();
    for set in sets {
        let Some(cpus) = root.value::<CpuSet>(&format!("{set}/cpuset.cpus")) else { continue };
        let threads = listed(root, &format!("{set}/tasks"));
        let chosen = threads.into_iter().filter(|thread| !thread.bound && group::lacks(root, &thread.affinity, &cpus));
        let left: CpuSet = cpus.iter().filter(|cpu| rest.contains(*cpu)).collect();
        steps.extend(chosen.map(|thread| thread.bind(if left.is_empty() { rest } else { &left })));
    }
    steps
}

fn listed(root: &Root, file: &str) -> Vec<tasks::MovableThread> {
    let list = root.read(file).unwrap_or_default();
    list.split_whitespace().filter_map(|tid| tasks::read(root, tid.parse().ok()?)).collect()
}

/// Moves the tasks of the root set to the set of the system.
struct Movers {
    from: String,
    to: String,
    isolated: CpuSet,
    rest: CpuSet,
    tried: Tried,
    /// Kernel threads that may not change their group, but may perhaps change their CPUs (kthreadd is one).
    stuck: BTreeSet<(i32, u64)>,
    moved: BTreeSet<(i32, u64)>,
}

impl Pursuit for Movers {
    fn left(&mut self, root: &Root) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let mut threads = listed(root, &self.from);
        // Each move waits for RCU, and all tasks crowd on the remaining CPUs. RCU's threads and this process stay out of the crowd until
        // the end, and since undoing goes backwards, they leave it first again. On a busy machine that is the difference between a second
        // and a minute.
        let own = root.asked(|kernel| kernel.own_process());
        let of_own = |thread: &tasks::MovableThread| {
            own.is_some_and(|own| root.exists(&format!("proc/{own}/task/{}", thread.tid)))
        };
        threads.sort_by_key(|thread| (of_own(thread), thread.comm.starts_with("rcu"), thread.kernel));
        for thread in threads {
            if thread.bound {
                continue;
            }
            let id = (thread.tid, thread.start);
            if self.stuck.contains(&id) {
                if thread.may_run_on(&self.isolated) && self.tried.again(&thread) {
                    steps.push(thread.bind(&self.rest));
                }
            } else if self.tried.again(&thread) {
                self.moved.insert(id);
                steps.push(thread.shift(&self.from, &self.to, &self.rest));
            }
        }
        Ok(steps)
    }

    fn refused(&mut self, root: &Root, step: &Step, error: anyhow::Error) -> Result<()> {
        let Step::Task { tid, start, comm, to, .. } = step else { return Err(error) };
        // A thread that ended, or was bound to its CPU meanwhile, is no error.
        let Some(thread) = tasks::read(root, *tid).filter(|thread| thread.start == *start) else { return Ok(()) };
        if !thread.kernel {
            return Err(error.context(format!("task {tid} ({comm}) cannot leave the isolated CPUs")));
        }
        self.moved.remove(&(*tid, *start));
        match to {
            Some(_) => drop(self.stuck.insert((*tid, *start))),
            None => self.tried.give_up(*tid, *start),
        }
        Ok(())
    }

    fn told(&self, root: &Root) -> Option<String> {
        let moved = format!("{} moved to CPU {}", many(self.moved.len(), "thread"), self.rest);
        Some(std::iter::once(moved).chain(tasks::staying(root, &self.isolated)).collect::<Vec<_>>().join("; "))
    }
}
