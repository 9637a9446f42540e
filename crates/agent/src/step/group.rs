//! Control groups and the threads in them: made with their settings, entered, left, removed without losing anybody.

use super::{Form, Undone};
use crate::machine::{Root, isolated::ISOLATED, kernel::MADE_HERE};
use anyhow::{Context, Result, bail, ensure};
use latido_model::cpus::CpuSet;
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    thread,
    time::Duration,
};

/// How often a group that fills again while it is emptied is tried.
const TRIES: u32 = 200;

/// The cpuset of everything that is not measured (cgroup v1).
pub const SYSTEM: &str = "latido-system";

/// What a file of a new control group is to say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupFile {
    /// The file's name.
    pub file: String,
    /// Its value.
    pub value: String,
    /// How the kernel prints it.
    pub form: Form,
}

impl GroupFile {
    /// A setting.
    pub fn new(file: &str, value: impl ToString, form: Form) -> Self {
        Self { file: file.into(), value: value.to_string(), form }
    }
}

/// Makes a group that [`ours`] knows again.
pub fn create(root: &Root, path: &str) -> Result<()> {
    let made = fs::DirBuilder::new().mode(MADE_HERE | 0o755).create(root.path(path));
    made.with_context(|| format!("cannot make the control group {path}"))
}

/// Whether a group was made here; one that somebody else had made before, so that making it failed, stays.
pub fn ours(root: &Root, path: &str) -> bool {
    fs::metadata(root.path(path)).map_or(true, |found| found.mode() & MADE_HERE != 0)
}

/// Makes a group and sets its files in order.
pub fn make(root: &Root, path: &str, settings: &[GroupFile]) -> Result<()> {
    create(root, path)?;
    for GroupFile { file, value, .. } in settings {
        put(root, &format!("{path}/{file}"), value)?;
    }
    Ok(())
}

/// Whether its files say what they were told. A partition that the kernel could not make says why.
pub fn check(root: &Root, path: &str, settings: &[GroupFile]) -> Result<()> {
    for GroupFile { file, value, form } in settings {
        let file = format!("{path}/{file}");
        let text = root.try_read(&file).with_context(|| format!("cannot read back {file}"))?;
        let found = form.value(&text);
        ensure!(found == form.value(value), "{file} was set to `{value}` and says `{found}`");
    }
    Ok(())
}

/// Removes a group; the threads that are in it, born there for the most part, go to `leave`.
pub fn unmake(root: &Root, path: &str, tasks: &str, leave: &str) -> Result<Undone> {
    let dir = root.path(path);
    let list = format!("{path}/{tasks}");
    // A group that goes gives back its CPUs some time later, and old kernels forget then what threads chose: not after
    // they were told again.
    let partition = format!("{path}/cpuset.cpus.partition");
    if root.exists(&partition) {
        put(root, &partition, "member")?;
    }
    for _ in 0..TRIES {
        for tid in root.read(&list).unwrap_or_default().split_whitespace().filter_map(|tid| tid.parse().ok()) {
            // It may end before it is moved; what cannot leave shows in the removal.
            let _ = enter(root, tid, Some(&list), leave);
        }
        match root.kernel()?.remove_group(&dir) {
            Ok(()) => return Ok(Undone::Back),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Back),
            // Some fork faster than we move, and one that ends holds its group for a moment.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(error).with_context(|| format!("cannot remove the control group {path}")),
        }
    }
    let left = root.read(&list).unwrap_or_default().split_whitespace().count();
    bail!("the control group {path} stays busy ({left} threads, or groups that others made in it): end them")
}

/// Gives the children of a group a controller.
pub fn enable(root: &Root, path: &str, name: &str) -> Result<()> {
    put(root, path, &format!("+{name}"))
}

/// Whether the children have it.
pub fn enabled(root: &Root, path: &str, name: &str) -> Result<()> {
    ensure!(has(root, path, name)?, "{path} was given the controller {name} and does not list it");
    Ok(())
}

/// Takes it from them, unless somebody uses it by now.
pub fn disable(root: &Root, path: &str, name: &str) -> Result<Undone> {
    if !has(root, path, name)? {
        return Ok(Undone::Back);
    }
    // The kernel refuses only where a child hands it on; what a child was told itself it would forget.
    let told = told(root, path, name);
    if let Some(file) = told.iter().find(|file| file.contains(ISOLATED)) {
        bail!("{path} keeps the controller {name} as long as {file} is there");
    }
    if let Some(file) = told.first() {
        return Ok(Undone::Left(format!("{path}: {file} was set meanwhile: the controller {name} is left on")));
    }
    let off = put(root, path, &format!("-{name}"));
    match off {
        Err(error) if errno(&error) == Some(rustix::io::Errno::BUSY) => {
            Ok(Undone::Left(format!("{path}: the controller {name} is used by somebody else by now: left on")))
        }
        other => other.map(|()| Undone::Back),
    }
}

/// The files of children that were set: without the controller there was none, and with it they say nothing at first.
fn told(root: &Root, path: &str, name: &str) -> Vec<String> {
    let Some((dir, _)) = path.rsplit_once('/') else { return Vec::new() };
    let files = |child: String| ["cpus", "mems", "cpus.exclusive"].map(|file| format!("{dir}/{child}/{name}.{file}"));
    let set = |file: &String| root.read(file).is_some_and(|text| !text.is_empty());
    root.list(dir).into_iter().flat_map(files).filter(set).collect()
}

fn has(root: &Root, path: &str, name: &str) -> Result<bool> {
    let list = root.try_read(path).with_context(|| format!("cannot read {path}"))?;
    Ok(list.split_whitespace().any(|other| other == name))
}

/// Writes a value as `echo -n` does.
fn put(root: &Root, path: &str, value: &str) -> Result<()> {
    root.kernel()?.put(&root.path(path), value)
}

/// What the kernel answered, where it is in the error.
fn errno(error: &anyhow::Error) -> Option<rustix::io::Errno> {
    error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).and_then(rustix::io::Errno::from_io_error)
}

/// Moves a thread to the group whose list is `to`.
pub fn enter(root: &Root, tid: i32, from: Option<&str>, to: &str) -> Result<()> {
    let from = from.map(|from| root.path(from));
    root.kernel()?.enter(tid, from.as_deref(), &root.path(to))
}

/// Takes a thread back to where it was, unless somebody else has moved or bound it meanwhile. One that handles an
/// interrupt, which goes to the CPUs `line`, belongs there.
pub fn bring_back(
    root: &Root,
    tid: i32,
    from: Option<&str>,
    to: Option<&str>,
    affinity: Option<&(CpuSet, CpuSet)>,
    line: Option<&CpuSet>,
) -> Result<Undone> {
    let bound = self::affinity(root, tid);
    let given = to.and_then(|to| given(root, to));
    if let (Some(from), Some(to)) = (from, to) {
        match cpuset_of(root, tid) {
            // It never went, or is back already.
            Some(group) if to.ends_with(&format!("/{SYSTEM}/tasks")) && group == "/" => {}
            Some(group) if to.ends_with(&format!("/{SYSTEM}/tasks")) && !group.ends_with(&format!("/{SYSTEM}")) => {
                return Ok(Undone::Left(format!("task {tid} was moved to {group} by somebody else: left there")));
            }
            _ => enter(root, tid, Some(to), from)?,
        }
    }
    let Some((before, new)) = affinity else { return Ok(Undone::Back) };
    if let (Some(line), Some(now)) = (line, &bound) {
        let (moved, asked) = (lacks(root, before, line), same(root, now, new));
        if moved && asked {
            // What was asked for here would hold it where the interrupt is no longer.
            return bind(root, tid, line).map(|()| Undone::Back);
        }
        if moved || !asked && same(root, now, line) {
            // The kernel has taken it there, or will when the interrupt comes.
            return Ok(Undone::Back);
        }
    }
    match bound {
        // When the CPUs of a group change, or a thread's group, older kernels forget what threads chose and allow them all
        // of the group's: that is nobody's wish.
        Some(now) if given.is_some_and(|given| same(root, &now, &given)) => {
            bind(root, tid, before).map(|()| Undone::Back)
        }
        Some(now) if !same(root, &now, new) && lacks(root, &now, before) => {
            Ok(Undone::Left(format!("task {tid} was bound to CPUs {now} by somebody else: left so (it was {before})")))
        }
        _ => bind(root, tid, before).map(|()| Undone::Back),
    }
}

/// The CPUs of the group with this list of threads (cgroup v1).
fn given(root: &Root, tasks: &str) -> Option<CpuSet> {
    root.value(&format!("{}/cpuset.cpus", tasks.strip_suffix("/tasks")?))
}

/// The cpuset of a thread, from the root of its hierarchy; `None` where /proc does not tell.
fn cpuset_of(root: &Root, tid: i32) -> Option<String> {
    let text = root.read(&format!("proc/{tid}/cgroup"))?;
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == "cpuset").then(|| group.to_owned())
    })
}

/// The CPUs that a thread is allowed.
pub fn affinity(root: &Root, tid: i32) -> Option<CpuSet> {
    let status = root.read(&format!("proc/{tid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// Whether a thread that is allowed `all` lacks an online CPU of `cpus`. Offline ones do not count: kernels take
/// them out of requests, since 6.2 all but those for threads of the root group.
pub fn lacks(root: &Root, all: &CpuSet, cpus: &CpuSet) -> bool {
    let missing = cpus.without(all);
    if missing.is_empty() {
        return false;
    }
    let online: Option<CpuSet> = root.value("sys/devices/system/cpu/online");
    online.is_none_or(|online| missing.iter().any(|cpu| online.contains(cpu)))
}

/// Whether two affinities are the same among the CPUs that are online.
pub fn same(root: &Root, one: &CpuSet, other: &CpuSet) -> bool {
    !lacks(root, one, other) && !lacks(root, other, one)
}

/// Allows a thread these CPUs. One that is allowed them already is not asked: a request of its own would outlive the
/// tuning in the kernel's memory of what the thread itself wants.
pub fn bind(root: &Root, tid: i32, cpus: &CpuSet) -> Result<()> {
    if affinity(root, tid).as_ref() == Some(cpus) {
        return Ok(());
    }
    match root.kernel()?.set_affinity(tid, cpus) {
        Ok(()) | Err(latido_sys::Errno::ESRCH) => Ok(()),
        Err(error) => bail!("the affinity of task {tid} cannot be set to {cpus}: {error}"),
    }
}
