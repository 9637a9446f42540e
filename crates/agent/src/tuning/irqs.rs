//! `irqs`: moves interrupts away from the measured CPUs.

pub mod daemons;
#[cfg(test)]
mod tests;

use crate::{
    machine::Root,
    setting::{Pursuit, Tuning, Wanted},
    step::{Form, Step, refusal},
};
use anyhow::{Context, Result, ensure};
use latido_model::{
    cpus::CpuSet,
    record::TuningRecord,
    registry::{self, Def},
};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    fs,
    io::{self, Write},
    time::{Duration, Instant},
};

/// The list entry.
pub const DEF: Def<dyn Tuning> = Def {
    name: "irqs",
    about: "move interrupts, and the default for new ones, away from CPUs",
    help: "\
Takes the named CPUs out of smp_affinity_list of every interrupt that can be moved and out of default_smp_affinity. The
effective affinity shows whether an interrupt has moved. Many controllers move an interrupt only when it arrives the
next time, still on the old CPU: until then the record lists it as pending. The record also lists those that cannot be
moved: per-CPU ones, and managed ones, which the kernel places for their driver. Timer and inter-processor interrupts
are of another kind and stay. Configure a running irqbalance to keep off those CPUs, and stop tuned: otherwise latido
changes nothing.

Options:
  away   the CPUs to free of interrupts, for example 1 or 2-3; at least one CPU must be left

Kernel document: Documentation/core-api/irq/irq-affinity.rst",
    main_option: Some("away"),
    new: |table| Ok(Box::new(registry::options::<Irqs>(table)?)),
};

/// How long a moved line may take to show its new place before it counts as pending.
const PATIENCE: Duration = Duration::from_millis(200);

const DEFAULT: &str = "/proc/irq/default_smp_affinity";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Irqs {
    away: CpuSet,
}

impl Tuning for Irqs {
    fn options(&self) -> toml::Table {
        registry::resolved(self)
    }

    fn wanted(&self, root: &Root) -> Result<Wanted> {
        let online: CpuSet = root
            .value("sys/devices/system/cpu/online")
            .context("cannot read /sys/devices/system/cpu/online, so the online CPUs are unknown")?;
        let missing = self.away.without(&online);
        ensure!(missing.is_empty(), "CPU {missing} is not online: the online CPUs are {online}");
        let rest = online.without(&self.away);
        ensure!(!rest.is_empty(), "interrupts need another CPU, and this machine has only CPUs {online}");
        daemons::absent(root, &self.away)?;
        ensure!(root.exists("proc/irq"), "this kernel has no /proc/irq: it cannot move interrupts (CONFIG_SMP)");
        if let Some(refused) = refusal::beforehand(root, DEFAULT) {
            return Err(refused);
        }
        let mut steps = Vec::new();
        if let Some(mask) = root.read(DEFAULT) {
            let now = from_mask(&mask).with_context(|| format!("{DEFAULT} contains `{mask}`, which is not a mask"))?;
            steps.extend(Step::value(root, DEFAULT, &to_mask(&elsewhere(&now, &self.away, &rest)), Form::Mask)?);
        }
        let pursuit = Lines { away: self.away.clone(), rest, stuck: BTreeMap::new() };
        Ok(Wanted { steps, pursuit: Some(Box::new(pursuit)), ..Wanted::default() })
    }

    fn confirm(&self, root: &Root, record: &mut TuningRecord) {
        let until = Instant::now() + PATIENCE;
        let moved = |knob: &str| -> Option<u32> { knob.strip_prefix("/proc/irq/")?.split('/').next()?.parse().ok() };
        let lines: Vec<u32> = record.changes.iter().filter_map(|change| moved(&change.knob)).collect();
        let pending = loop {
            let pending: Vec<u32> = lines
                .iter()
                .copied()
                .filter(|line| effective(root, *line).is_some_and(|on| meet(&on, &self.away)))
                .collect();
            let passed = || root.asked(|kernel| kernel.pass(Duration::from_millis(10)).then_some(()));
            if pending.is_empty() || Instant::now() >= until || passed().is_none() {
                break pending;
            }
        };
        let silent = lines.iter().filter(|line| effective(root, **line).is_none()).count();
        let mut told: Vec<String> = record.note.take().into_iter().collect();
        if !pending.is_empty() {
            let names: Vec<String> = pending.iter().map(|line| title(root, *line)).collect();
            told.push(format!("pending, move after one more interrupt on CPU {}: {}", self.away, names.join(", ")));
        }
        if silent > 0 {
            told.push(format!("this kernel does not show where {silent} of them go (no effective_affinity_list)"));
        }
        record.note = Some(told.join("; ")).filter(|note| !note.is_empty());
    }
}

/// The interrupt lines that still include CPUs to be freed.
struct Lines {
    away: CpuSet,
    rest: CpuSet,
    /// The lines that cannot be moved, and why.
    stuck: BTreeMap<u32, String>,
}

impl Pursuit for Lines {
    fn left(&mut self, root: &Root) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        let lines = root.list("proc/irq").into_iter().filter_map(|name| name.parse::<u32>().ok());
        for line in lines.filter(|line| !self.stuck.contains_key(line)) {
            let file = format!("/proc/irq/{line}/smp_affinity_list");
            // A line may disappear meanwhile. A line that lists no CPU has no CPU to free.
            let Some(original) = root.read(&file) else { continue };
            let Some(now) = original.parse().ok().filter(|now| meet(now, &self.away)) else { continue };
            let new = elsewhere(&now, &self.away, &self.rest).to_string();
            steps.push(Step::Value { path: file, original, new, form: Form::Cpus });
        }
        Ok(steps)
    }

    fn refused(&mut self, root: &Root, step: &Step, error: anyhow::Error) -> Result<()> {
        let Step::Value { path, .. } = step else { return Err(error) };
        let line = path.strip_prefix("/proc/irq/").and_then(|rest| rest.split('/').next()?.parse().ok());
        let Some(line) = line.filter(|_| path != DEFAULT) else { return Err(error) };
        // A second write, of the present value, gives the same answer as an error number.
        let again = || fs::OpenOptions::new().write(true).open(root.path(path))?.write_all(now(root, line)?.as_bytes());
        let why = match again().map_err(|error| Errno::from_io_error(&error)) {
            // The line went away with its device.
            Err(Some(Errno::NOENT)) => return Ok(()),
            _ if managed(root, line) => "managed for its driver".to_owned(),
            // The kernel does not let users move these lines (kernel/irq/proc.c; EIO in older kernels).
            Err(Some(Errno::IO | Errno::PERM)) => "managed for its driver, or bound to its CPU".to_owned(),
            _ => format!("{error:#}"),
        };
        self.stuck.insert(line, why);
        Ok(())
    }

    fn told(&self, root: &Root) -> Option<String> {
        let used = self.stuck.iter().filter(|(line, _)| !names(root, **line).is_empty());
        let list: Vec<String> = used.map(|(line, why)| format!("{} ({why})", title(root, *line))).collect();
        (!list.is_empty()).then(|| format!("cannot be moved: {}", list.join(", ")))
    }
}

fn now(root: &Root, line: u32) -> io::Result<String> {
    root.try_read(&format!("proc/irq/{line}/smp_affinity_list"))
}

/// Returns the CPUs that remain; all others if no CPU remains.
fn elsewhere(now: &CpuSet, away: &CpuSet, rest: &CpuSet) -> CpuSet {
    let left: CpuSet = now.iter().filter(|cpu| rest.contains(*cpu) && !away.contains(*cpu)).collect();
    if left.is_empty() { rest.clone() } else { left }
}

fn meet(a: &CpuSet, b: &CpuSet) -> bool {
    a.iter().any(|cpu| b.contains(cpu))
}

/// Returns where a line really goes (since Linux 4.15, if the interrupt controller reports it).
fn effective(root: &Root, line: u32) -> Option<CpuSet> {
    root.value(&format!("proc/irq/{line}/effective_affinity_list"))
}

/// Tells whether the kernel places the line for its driver, if debugfs shows that (Documentation/core-api/irq/irq-domain.rst).
fn managed(root: &Root, line: u32) -> bool {
    let text = root.read(&format!("sys/kernel/debug/irq/irqs/{line}")).unwrap_or_default();
    text.contains("IRQD_AFFINITY_MANAGED")
}

/// Returns the title of a line: `IRQ 36 virtio1-req.0`.
fn title(root: &Root, line: u32) -> String {
    match names(root, line).as_str() {
        "" => format!("IRQ {line}"),
        names => format!("IRQ {line} {names}"),
    }
}

/// Returns the handlers of a line. Each has a directory in it, unless its name cannot be a file name; then /proc/interrupts lists it.
fn names(root: &Root, line: u32) -> String {
    let dir = format!("proc/irq/{line}");
    let handlers: Vec<String> =
        root.list(&dir).into_iter().filter(|name| root.path(&format!("{dir}/{name}")).is_dir()).collect();
    if !handlers.is_empty() {
        return handlers.join(" ");
    }
    let table = root.read("proc/interrupts").unwrap_or_default();
    let row = table.lines().find_map(|row| row.trim_start().strip_prefix(&format!("{line}:")));
    let last = row.and_then(|row| row.split("  ").last()).map(str::trim).unwrap_or_default();
    last.to_owned()
}

/// Parses a mask as the kernel prints it: words of 32 bits in hexadecimal, the highest first.
fn from_mask(text: &str) -> Option<CpuSet> {
    let mut cpus = Vec::new();
    for (word, digits) in (0u32..).zip(text.trim().rsplit(',')) {
        let bits = u32::from_str_radix(digits, 16).ok()?;
        cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| word * 32 + bit));
    }
    Some(cpus.into_iter().collect())
}

fn to_mask(cpus: &CpuSet) -> String {
    let words = cpus.iter().max().unwrap_or(0) / 32 + 1;
    let word =
        |index: u32| (0..32).filter(|bit| cpus.contains(index * 32 + bit)).fold(0u32, |bits, bit| bits | 1 << bit);
    (0..words).rev().map(|index| format!("{:08x}", word(index))).collect::<Vec<_>>().join(",")
}
