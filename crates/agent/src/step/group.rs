//! Control groups and the threads in them: makes groups with their settings, moves threads in and out, and removes groups without losing a
//! thread.

use super::{Form, Undone};
use crate::machine::{Root, isolated::ISOLATED, kernel::MADE_HERE};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{cpus::CpuSet, units::many};
use serde::{Deserialize, Serialize};
use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    thread,
    time::Duration,
};

/// How often latido tries to remove a group that fills again while latido empties it.
const TRIES: u32 = 200;

/// The cpuset for everything that latido does not measure (cgroup v1).
pub const SYSTEM: &str = "latido-system";

/// The wanted content of a file in a new control group.
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

/// Makes a group that [`ours`] recognizes.
pub fn create(root: &Root, path: &str) -> Result<()> {
    let made = fs::DirBuilder::new().mode(MADE_HERE | 0o755).create(root.path(path));
    made.with_context(|| format!("cannot make the control group {path}"))
}

/// Tells whether latido made a group. A group that another program had made before, so that latido could not make it, stays.
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

/// Checks that the files have the values that latido wrote. A partition that the kernel could not make gives the reason.
pub fn check(root: &Root, path: &str, settings: &[GroupFile]) -> Result<()> {
    for GroupFile { file, value, form } in settings {
        let file = format!("{path}/{file}");
        let text = root.try_read(&file).with_context(|| format!("cannot read back {file}"))?;
        let found = form.value(&text);
        ensure!(found == form.value(value), "{file} was set to `{value}` but contains `{found}`");
    }
    Ok(())
}

/// Removes a group. The threads in it, most of which were created there, go to `leave`.
pub fn unmake(root: &Root, path: &str, tasks: &str, leave: &str) -> Result<Undone> {
    let dir = root.path(path);
    let list = format!("{path}/{tasks}");
    // A removed partition returns its CPUs some time later, and old kernels then forget the affinities of threads. This makes it happen
    // before latido sets those again.
    let partition = format!("{path}/cpuset.cpus.partition");
    if root.exists(&partition) {
        put(root, &partition, "member")?;
    }
    for _ in 0..TRIES {
        for tid in root.read(&list).unwrap_or_default().split_whitespace().filter_map(|tid| tid.parse().ok()) {
            // The thread may end before the move. If it cannot leave, the removal below shows that.
            let _ = enter(root, tid, Some(&list), leave);
        }
        match root.kernel()?.remove_group(&dir) {
            Ok(()) => return Ok(Undone::Back),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Undone::Back),
            // Some programs fork faster than latido moves threads, and an ending thread keeps its group busy for a moment.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(error).with_context(|| format!("cannot remove the control group {path}")),
        }
    }
    let left = root.read(&list).unwrap_or_default().split_whitespace().count();
    let left = many(left, "thread");
    bail!("the control group {path} stays busy ({left}, or groups that other programs made in it): end them")
}

/// Gives a controller to the children of a group.
pub fn enable(root: &Root, path: &str, name: &str) -> Result<()> {
    put(root, path, &format!("+{name}"))
}

/// Checks that the children have it.
pub fn enabled(root: &Root, path: &str, name: &str) -> Result<()> {
    ensure!(has(root, path, name)?, "{path} was given the controller {name} but does not list it");
    Ok(())
}

/// Takes it from the children, unless another program uses it by now.
pub fn disable(root: &Root, path: &str, name: &str) -> Result<Undone> {
    if !has(root, path, name)? {
        return Ok(Undone::Back);
    }
    // The kernel refuses only if a child passes it on to its own children. It would forget what another program set in a child.
    let told = told(root, path, name);
    if let Some(file) = told.iter().find(|file| file.contains(ISOLATED)) {
        bail!("{path} keeps the controller {name} as long as {file} exists");
    }
    if let Some(file) = told.first() {
        return Ok(Undone::Left(format!("{path}: {file} was set meanwhile: the controller {name} is left on")));
    }
    let off = put(root, path, &format!("-{name}"));
    match off {
        Err(error) if errno(&error) == Some(rustix::io::Errno::BUSY) => {
            Ok(Undone::Left(format!("{path}: the controller {name} is now used by another program: left on")))
        }
        other => other.map(|()| Undone::Back),
    }
}

/// Returns the files of the children that were set. Without the controller they did not exist, and with it they are empty at first.
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

/// Returns the kernel's answer, if the error contains one.
fn errno(error: &anyhow::Error) -> Option<rustix::io::Errno> {
    error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).and_then(rustix::io::Errno::from_io_error)
}

/// Moves a thread to the group whose list is `to`.
pub fn enter(root: &Root, tid: i32, from: Option<&str>, to: &str) -> Result<()> {
    let from = from.map(|from| root.path(from));
    root.kernel()?.enter(tid, from.as_deref(), &root.path(to))
}

/// Moves a thread back to its earlier group and affinity, unless another program has moved or bound it meanwhile. If the thread handles an
/// interrupt, `line` gives the interrupt's present CPUs, where the thread belongs.
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
            // It never went there, or is back already.
            Some(group) if to.ends_with(&format!("/{SYSTEM}/tasks")) && group == "/" => {}
            Some(group) if to.ends_with(&format!("/{SYSTEM}/tasks")) && !group.ends_with(&format!("/{SYSTEM}")) => {
                return Ok(Undone::Left(format!("task {tid} was moved to {group} by another program: left there")));
            }
            _ => enter(root, tid, Some(to), from)?,
        }
    }
    let Some((before, new)) = affinity else { return Ok(Undone::Back) };
    if let (Some(line), Some(now)) = (line, &bound) {
        let (moved, asked) = (lacks(root, before, line), same(root, now, new));
        if moved && asked {
            // The requested affinity would keep the thread where its interrupt no longer is.
            return bind(root, tid, line).map(|()| Undone::Back);
        }
        if moved || !asked && same(root, now, line) {
            // The kernel has moved it there, or will do so when the interrupt comes.
            return Ok(Undone::Back);
        }
    }
    match bound {
        // When the CPUs of a group change, or a thread's group, older kernels forget the affinities of threads and allow them all CPUs of
        // the group. No program requested that.
        Some(now) if given.is_some_and(|given| same(root, &now, &given)) => {
            bind(root, tid, before).map(|()| Undone::Back)
        }
        Some(now) if !same(root, &now, new) && lacks(root, &now, before) => Ok(Undone::Left(format!(
            "task {tid} was bound to CPUs {now} by another program: left unchanged (it was {before})"
        ))),
        _ => bind(root, tid, before).map(|()| Undone::Back),
    }
}

/// Returns the CPUs of the group that has this list of threads (cgroup v1).
fn given(root: &Root, tasks: &str) -> Option<CpuSet> {
    root.value(&format!("{}/cpuset.cpus", tasks.strip_suffix("/tasks")?))
}

/// Returns the cpuset of a thread, from the root of its hierarchy; `None` if /proc does not show it.
fn cpuset_of(root: &Root, tid: i32) -> Option<String> {
    let text = root.read(&format!("proc/{tid}/cgroup"))?;
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, group) = (fields.next()?, fields.next()?);
        controllers.split(',').any(|name| name == "cpuset").then(|| group.to_owned())
    })
}

/// Returns the CPUs on which a thread may run.
pub fn affinity(root: &Root, tid: i32) -> Option<CpuSet> {
    let status = root.read(&format!("proc/{tid}/status"))?;
    status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?.trim().parse().ok()
}

/// Tells whether a thread that may run on `all` lacks an online CPU of `cpus`. Offline CPUs do not count: kernels remove them from
/// requests. Since 6.2 kernels do not do so for threads of the root group.
pub fn lacks(root: &Root, all: &CpuSet, cpus: &CpuSet) -> bool {
    let missing = cpus.without(all);
    if missing.is_empty() {
        return false;
    }
    let online: Option<CpuSet> = root.value("sys/devices/system/cpu/online");
    online.is_none_or(|online| missing.iter().any(|cpu| online.contains(cpu)))
}

/// Tells whether two affinities are the same among the online CPUs.
pub fn same(root: &Root, one: &CpuSet, other: &CpuSet) -> bool {
    !lacks(root, one, other) && !lacks(root, other, one)
}

/// Allows a thread these CPUs. If the thread is allowed them already, latido makes no request: the kernel would remember it as the thread's
/// own wish, beyond the end of the tuning.
pub fn bind(root: &Root, tid: i32, cpus: &CpuSet) -> Result<()> {
    if affinity(root, tid).as_ref() == Some(cpus) {
        return Ok(());
    }
    match root.kernel()?.set_affinity(tid, cpus) {
        Ok(()) | Err(latido_sys::Errno::ESRCH) => Ok(()),
        Err(error) => bail!("the affinity of task {tid} cannot be set to {cpus}: {error}"),
    }
}
