//! The threads of the machine: which can move, which are bound, and the steps that move them.

use crate::{
    machine::Root,
    step::{Step, group, thread},
};
use latido_model::cpus::CpuSet;
use std::collections::BTreeMap;

/// A thread, with the facts from /proc.
#[derive(Clone, Debug)]
pub struct MovableThread {
    /// Its number.
    pub tid: i32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Its name.
    pub comm: String,
    /// The CPUs on which it may run.
    pub affinity: CpuSet,
    /// Whether it is a kernel thread.
    pub kernel: bool,
    /// Whether the kernel refuses to move it.
    pub bound: bool,
}

/// Reads one thread; `None` if it has ended or is ending.
pub fn read(root: &Root, tid: i32) -> Option<MovableThread> {
    let thread::TaskStat { comm, start, kernel, bound, .. } = thread::stat(root, tid).filter(|stat| !stat.ending)?;
    Some(MovableThread { tid, start, comm, affinity: group::affinity(root, tid)?, kernel, bound })
}

/// Returns every thread of the machine.
pub fn all(root: &Root) -> Vec<MovableThread> {
    let numbers = |dir: &str| root.list(dir).into_iter().filter_map(|name| name.parse::<i32>().ok());
    let tids = numbers("proc").flat_map(|pid| numbers(&format!("proc/{pid}/task")).collect::<Vec<_>>());
    tids.filter_map(|tid| read(root, tid)).collect()
}

impl MovableThread {
    /// Tells whether it may run on one of these CPUs.
    pub fn may_run_on(&self, cpus: &CpuSet) -> bool {
        self.affinity.iter().any(|cpu| cpus.contains(cpu))
    }

    /// Returns the part of its affinity on these CPUs; all of them if that part is empty. Only the journal keeps its offline CPUs: kernels
    /// differ in how they handle a request for these.
    fn kept(&self, rest: &CpuSet) -> CpuSet {
        let kept: CpuSet = self.affinity.iter().filter(|cpu| rest.contains(*cpu)).collect();
        if kept.is_empty() { rest.clone() } else { kept }
    }

    /// Returns the step that binds it to these CPUs.
    pub fn bind(&self, rest: &CpuSet) -> Step {
        self.step(None, None, self.kept(rest))
    }

    /// Returns the step that moves it to another group, where it keeps what it can of its affinity.
    pub fn shift(&self, from: &str, to: &str, rest: &CpuSet) -> Step {
        self.step(Some(from.into()), Some(to.into()), self.kept(rest))
    }

    fn step(&self, from: Option<String>, to: Option<String>, new: CpuSet) -> Step {
        Step::Task {
            tid: self.tid,
            start: self.start,
            comm: self.comm.clone(),
            from,
            to,
            affinity: Some((self.affinity.clone(), new)),
        }
    }
}

/// How often latido has tried each thread, by number and start.
#[derive(Debug, Default)]
pub struct Tried(BTreeMap<(i32, u64), u32>);

impl Tried {
    /// Counts a try. Returns false after the third. An ending thread stays listed for a while and accepts every order.
    pub fn again(&mut self, thread: &MovableThread) -> bool {
        let tries = self.0.entry((thread.tid, thread.start)).or_default();
        *tries += 1;
        *tries <= 3
    }

    /// Notes that the thread cannot be moved, so that latido does not try it again.
    pub fn give_up(&mut self, tid: i32, start: u64) {
        self.0.insert((tid, start), u32::MAX - 1);
    }
}

/// Names the kernel threads that stay and may still run on the isolated CPUs.
pub fn staying(root: &Root, isolated: &CpuSet) -> Option<String> {
    let here: Vec<MovableThread> =
        all(root).into_iter().filter(|thread| thread.kernel && thread.may_run_on(isolated)).collect();
    let names = |threads: &[&MovableThread]| threads.iter().map(|t| t.comm.as_str()).collect::<Vec<_>>().join(" ");
    let (of_them, wide): (Vec<&MovableThread>, Vec<&MovableThread>) =
        here.iter().partition(|thread| thread.affinity.without(isolated).is_empty());
    let mut told = Vec::new();
    if !of_them.is_empty() {
        told.push(format!("{} kernel threads are bound to CPU {isolated}: {}", of_them.len(), names(&of_them)));
    }
    if !wide.is_empty() {
        told.push(format!("{} kernel threads cannot be moved and may run there: {}", wide.len(), names(&wide)));
    }
    Some(told.join("; ")).filter(|told| !told.is_empty())
}
