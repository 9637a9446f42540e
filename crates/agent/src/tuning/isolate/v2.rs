//! Isolation by partitions of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition).

use super::tasks::{self, MovableThread, Tried};
use crate::{
    machine::{Root, isolated::ISOLATED},
    setting::{Pursuit, Wanted},
    step::{
        Form, Step,
        group::{self, GroupFile},
    },
};
use anyhow::{Context, Result};
use latido_model::{cpus::CpuSet, machine::at_least};

/// Returns the steps for a partition, which takes its CPUs from all other groups without further steps. latido only has to remember the
/// threads that would lose their affinity by that. The group of the partition is threaded, so that threads enter it one by one.
pub fn wanted(root: &Root, dir: &str, isolated: &CpuSet, rest: &CpuSet) -> Result<Wanted> {
    let control = format!("{dir}/cgroup.subtree_control");
    let given = root.try_read(&control).with_context(|| format!("cannot read {control}"))?;
    // These come before the partition, so that latido undoes them after it: only then are the CPUs back.
    let mut steps: Vec<Step> =
        tasks::all(root).into_iter().filter_map(|thread| remembered(root, dir, &thread, isolated, rest)).collect();
    if !given.split_whitespace().any(|name| name == "cpuset") {
        steps.push(Step::Controller { path: control, name: "cpuset".into() });
    }
    let partition = |name: String, cpus: &CpuSet, kind: &str| Step::Set {
        path: format!("{dir}/{name}"),
        settings: vec![
            GroupFile::new("cgroup.type", "threaded", Form::Plain),
            GroupFile::new("cpuset.cpus", cpus, Form::Cpus),
            GroupFile::new("cpuset.cpus.partition", kind, Form::Plain),
        ],
        tasks: "cgroup.threads".into(),
        leave: format!("{dir}/cgroup.threads"),
    };
    // Partitions without load balancing exist since Linux 6.1. A partition of one CPU has nothing to balance.
    match at_least(&root.read("proc/sys/kernel/osrelease").unwrap_or_default(), 6, 1) {
        Some(false) => steps.extend(isolated.iter().map(|cpu| {
            let one = CpuSet::from_iter([cpu]);
            partition(format!("{ISOLATED}-{cpu}"), &one, "root")
        })),
        _ => steps.push(partition(ISOLATED.into(), isolated, "isolated")),
    }
    let pursuit = Rest { isolated: isolated.clone(), rest: rest.clone(), tried: Tried::default() };
    Ok(Wanted { steps, pursuit: Some(Box::new(pursuit)), ..Wanted::default() })
}

/// Returns the step that remembers the affinity of a thread, if needed. A thread may have chosen some of its group's CPUs, which kernels
/// before 6.2 forget when the CPUs of the group change. A kernel thread may run on the isolated CPUs: no group takes it off them.
fn remembered(root: &Root, dir: &str, thread: &MovableThread, isolated: &CpuSet, rest: &CpuSet) -> Option<Step> {
    let group = of_group(root, dir, thread.tid);
    let chose = group.as_ref().is_some_and(|cpus| group::lacks(root, &thread.affinity, cpus));
    if thread.bound || !(chose || thread.kernel && thread.may_run_on(isolated)) {
        return None;
    }
    // The thread would not get more CPUs than its group has.
    let left: CpuSet = group.iter().flat_map(CpuSet::iter).filter(|cpu| rest.contains(*cpu)).collect();
    Some(thread.bind(if left.is_empty() { rest } else { &left }))
}

/// Returns the CPUs of the thread's group.
fn of_group(root: &Root, dir: &str, tid: i32) -> Option<CpuSet> {
    let text = root.read(&format!("proc/{tid}/cgroup")).unwrap_or_default();
    let group = text.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").trim_end_matches('/');
    // A group without the controller has the CPUs of its nearest ancestor with the controller.
    let mut at = group;
    loop {
        if let Some(cpus) = root.value::<CpuSet>(&format!("{dir}{at}/cpuset.cpus.effective")) {
            return Some(cpus);
        }
        at = at.rsplit_once('/')?.0;
    }
}

/// Moves away what may still run on the isolated CPUs.
struct Rest {
    isolated: CpuSet,
    rest: CpuSet,
    tried: Tried,
}

impl Pursuit for Rest {
    fn left(&mut self, root: &Root) -> Result<Vec<Step>> {
        let movable = tasks::all(root).into_iter().filter(|thread| !thread.bound && thread.may_run_on(&self.isolated));
        let again: Vec<_> = movable.filter(|thread| self.tried.again(thread)).collect();
        // On a fake machine no kernel takes the CPUs away.
        Ok(again.into_iter().map(|thread| thread.bind(&self.rest)).collect())
    }

    fn refused(&mut self, root: &Root, step: &Step, error: anyhow::Error) -> Result<()> {
        let Step::Task { tid, start, comm, .. } = step else { return Err(error) };
        let Some(thread) = tasks::read(root, *tid).filter(|thread| thread.start == *start) else { return Ok(()) };
        // It chose a new affinity at the same moment, without the isolated CPUs.
        if !thread.may_run_on(&self.isolated) {
            return Ok(());
        }
        if !thread.kernel {
            return Err(error.context(format!("task {tid} ({comm}) cannot leave the isolated CPUs")));
        }
        self.tried.give_up(*tid, *start);
        Ok(())
    }

    fn told(&self, root: &Root) -> Option<String> {
        tasks::staying(root, &self.isolated)
    }
}
