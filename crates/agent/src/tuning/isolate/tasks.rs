//! The threads of the machine: which can move, which are bound, and the steps that move them.

use crate::{
    machine::Root,
    step::{Step, group, thread},
};
use latido_model::cpus::CpuSet;
use std::collections::BTreeMap;

/// A thread, as /proc shows it.
#[derive(Clone, Debug)]
pub struct MovableThread {
    /// Its number.
    pub tid: i32,
    /// When it started, in clock ticks since boot.
    pub start: u64,
    /// Its name.
    pub comm: String,
    /// The CPUs it is allowed.
    pub affinity: CpuSet,
    /// Of the kernel.
    pub kernel: bool,
    /// Nobody may move it.
    pub bound: bool,
}

/// One thread; `None` for one that has ended, or ends.
pub fn read(root: &Root, tid: i32) -> Option<MovableThread> {
    let thread::TaskStat { comm, start, kernel, bound, .. } = thread::stat(root, tid).filter(|stat| !stat.ending)?;
    Some(MovableThread { tid, start, comm, affinity: group::affinity(root, tid)?, kernel, bound })
}

/// Every thread of the machine.
pub fn all(root: &Root) -> Vec<MovableThread> {
    let numbers = |dir: &str| root.list(dir).into_iter().filter_map(|name| name.parse::<i32>().ok());
    let tids = numbers("proc").flat_map(|pid| numbers(&format!("proc/{pid}/task")).collect::<Vec<_>>());
    tids.filter_map(|tid| read(root, tid)).collect()
}

impl MovableThread {
    /// Whether it may run on one of these CPUs.
    pub fn may_run_on(&self, cpus: &CpuSet) -> bool {
        self.affinity.iter().any(|cpu| cpus.contains(cpu))
    }

    /// What it keeps of its affinity on these CPUs; all of them where that is nothing. CPUs that are offline it keeps in
    /// the journal only: a request for them is not the same to all kernels.
    fn kept(&self, rest: &CpuSet) -> CpuSet {
        let kept: CpuSet = self.affinity.iter().filter(|cpu| rest.contains(*cpu)).collect();
        if kept.is_empty() { rest.clone() } else { kept }
    }

    /// The step that binds it to these CPUs.
    pub fn bind(&self, rest: &CpuSet) -> Step {
        self.step(None, None, self.kept(rest))
    }

    /// The step that moves it to another group, where it keeps what it can of its affinity.
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

/// Threads that were tried, by number and start.
#[derive(Debug, Default)]
pub struct Tried(BTreeMap<(i32, u64), u32>);

impl Tried {
    /// Counts a try; false after the third. A thread that ends stays listed for a while and takes every order.
    pub fn again(&mut self, thread: &MovableThread) -> bool {
        let tries = self.0.entry((thread.tid, thread.start)).or_default();
        *tries += 1;
        *tries <= 3
    }

    /// It will not go: do not ask it again.
    pub fn give_up(&mut self, tid: i32, start: u64) {
        self.0.insert((tid, start), u32::MAX - 1);
    }
}

/// The kernel threads that stay and may still run on the isolated CPUs, in words.
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
