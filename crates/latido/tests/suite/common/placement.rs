//! Where threads are and what isolation changes, read without latido's own code.

use crate::common::{Need, Turn, World, machine, root, skip};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The machine as a place for isolation.
pub struct Stage {
    /// The CPU to isolate.
    pub cpu: u32,
    dir: PathBuf,
    threads: &'static str,
    _one: Turn,
}

impl Stage {
    /// Returns the machine if root may change its cpusets and it has two CPUs; if not, the test is noted as skipped.
    pub fn take(what: &str) -> Option<Self> {
        if !root(what) {
            return None;
        }
        let cpus = list(&online());
        let Some((dir, threads)) = hierarchy() else {
            skip(what, Need::ControlGroups, "no cpuset controller is mounted");
            return None;
        };
        if cpus.len() < 2 {
            skip(what, Need::TwoCpus, "needs two CPUs");
            return None;
        }
        let one = machine();
        // If the control groups are read-only, as in containers, the test can prove nothing.
        let probe = dir.join("latido-test");
        if fs::create_dir(&probe).and_then(|()| fs::remove_dir(&probe)).is_err() {
            skip(what, Need::ControlGroups, "control groups cannot be made here");
            return None;
        }
        Some(Self { cpu: *cpus.last()?, dir, threads, _one: one })
    }

    /// Restores the machine on drop, even if a test fails half-way.
    pub fn restore<'a>(&'a self, world: &'a World) -> Restore<'a> {
        Restore { stage: self, world }
    }

    /// Whether a control group of latido exists.
    pub fn exists(&self) -> bool {
        !self.groups().is_empty()
    }

    fn groups(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.dir).into_iter().flatten().flatten();
        entries.map(|e| e.path()).filter(|path| path.display().to_string().contains("/latido-")).collect()
    }

    /// The threads on the isolated CPUs.
    pub fn inside(&self) -> Vec<i32> {
        let groups = self.groups().into_iter().filter(|path| path.display().to_string().contains("isolated"));
        let lists = groups.map(|group| fs::read_to_string(group.join(self.threads)).unwrap_or_default());
        lists.flat_map(|list| list.split_whitespace().filter_map(|tid| tid.parse().ok()).collect::<Vec<_>>()).collect()
    }
}

/// See [`Stage::restore`].
pub struct Restore<'a> {
    stage: &'a Stage,
    world: &'a World,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        if self.stage.exists() {
            for (pid, _) in self.world.alive() {
                kill(pid);
            }
            let _ = self.world.run(["run", "null", "samples=100", "--no-report"]);
        }
    }
}

/// The directory of the cpusets, and the name of the file that lists a group's threads.
fn hierarchy() -> Option<(PathBuf, &'static str)> {
    let mounts = fs::read_to_string("/proc/mounts").ok()?;
    mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let dir = Path::new(fields[1]);
        let controllers = fs::read_to_string(dir.join("cgroup.controllers")).unwrap_or_default();
        match fields[2] {
            "cgroup" if fields[3].split(',').any(|o| o == "cpuset") => Some((dir.to_path_buf(), "tasks")),
            "cgroup2" if controllers.contains("cpuset") => Some((dir.to_path_buf(), "cgroup.threads")),
            _ => None,
        }
    })
}

/// The online CPUs, as the kernel lists them.
pub fn online() -> String {
    fs::read_to_string("/sys/devices/system/cpu/online").unwrap().trim().to_string()
}

fn list(text: &str) -> BTreeSet<u32> {
    text.parse::<latido_model::cpus::CpuSet>().map(|set| set.iter().collect()).unwrap_or_default()
}

/// The placement of a thread.
#[derive(Debug, PartialEq, Eq)]
pub struct Thread {
    pub comm: String,
    /// The CPU on which it runs or last ran: field 39 of its stat.
    pub cpu: u32,
    pub affinity: BTreeSet<u32>,
    /// Its cpuset, or its group in the unified hierarchy.
    pub group: String,
    start: u64,
}

pub fn thread(tid: i32) -> Option<Thread> {
    let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
    let (begin, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let groups = fs::read_to_string(format!("/proc/{tid}/cgroup")).ok()?;
    let group = groups.lines().find(|line| line.contains(":cpuset:")).or(groups.lines().find(|l| l.starts_with("0::")));
    (fields[0] != "Z" && fields[0] != "X").then_some(())?;
    Some(Thread {
        comm: begin.split_once('(')?.1.to_string(),
        cpu: fields[36].parse().ok()?,
        affinity: list(allowed.trim()),
        group: group.unwrap_or_default().to_string(),
        start: fields[19].parse().ok()?,
    })
}

/// The threads of a process.
pub fn threads_of(pid: i32) -> Vec<i32> {
    let entries = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Binds a task to one CPU.
pub fn pin(pid: i32, cpu: u32) {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu as usize);
    rustix::thread::sched_setaffinity(rustix::process::Pid::from_raw(pid), &set).unwrap();
}

pub fn kill(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
    }
}

/// Stops a process.
pub fn stop(pid: i32) {
    if let Some(pid) = rustix::process::Pid::from_raw(pid) {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::STOP);
    }
}

/// How often each numbered interrupt occurred on a CPU.
pub fn interrupts(cpu: u32) -> BTreeMap<u32, u64> {
    let table = fs::read_to_string("/proc/interrupts").unwrap();
    let column = table.lines().next().unwrap().split_whitespace().position(|word| word == format!("CPU{cpu}")).unwrap();
    let rows = table.lines().filter_map(|row| {
        let (line, counts) = row.split_once(':')?;
        let line = line.trim().parse().ok()?;
        Some((line, counts.split_whitespace().nth(column)?.parse().ok()?))
    });
    rows.collect()
}

/// What isolation and interrupts change, by knob and by thread.
pub struct Snapshot {
    knobs: BTreeMap<String, String>,
    threads: BTreeMap<(i32, u64), Thread>,
}

impl Snapshot {
    pub fn take(stage: &Stage) -> Self {
        let mut knobs = BTreeMap::new();
        let mut note = |path: PathBuf| {
            if let Ok(text) = fs::read_to_string(&path) {
                knobs.insert(path.display().to_string(), text);
            }
        };
        let files = |dir: &Path| -> Vec<PathBuf> {
            fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
        };
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for path in files(&stage.dir) {
            if path.is_dir() {
                note(path.join("cpuset.cpus"));
            } else if name(&path).starts_with("cpuset.") && !name(&path).contains("pressure") {
                note(path);
            }
        }
        note(stage.dir.join("cgroup.subtree_control"));
        note("/proc/irq/default_smp_affinity".into());
        for irq in files(Path::new("/proc/irq")) {
            note(irq.join("smp_affinity_list"));
        }
        let pids = files(Path::new("/proc")).into_iter().filter_map(|path| name(&path).parse::<i32>().ok());
        let tids = pids.flat_map(threads_of);
        let threads = tids.filter_map(|tid| thread(tid).map(|thread| ((tid, thread.start), thread))).collect();
        Self { knobs, threads }
    }

    /// Checks that every knob is equal byte for byte, and that every surviving thread is in its group with its affinity.
    pub fn equals(&self, after: &Self, when: &str) {
        assert_eq!(self.knobs, after.knobs, "{when}");
        let mut survivors = 0;
        for (id, before) in &self.threads {
            let Some(now) = after.threads.get(id) else { continue };
            survivors += 1;
            assert_eq!(before.group, now.group, "{when}: {id:?} {before:?}");
            // The thread of an interrupt follows it to its next CPU, and another latido binds itself.
            if !before.comm.starts_with("irq/") && !before.comm.starts_with("latido") {
                assert_eq!(before.affinity, now.affinity, "{when}: {id:?} {before:?}");
            }
        }
        assert!(survivors > 10, "{when}: only {survivors} threads lived on: nothing was shown");
    }
}
