//! `syscall`: how long system calls last, and how much of that their threads slept, waited and ran; from events.

use super::looking_on::{check, fits, paired, told_apart};
use crate::measure::{Def, Gathered, Measurand, Place, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::{Result, anyhow, bail, ensure};
use latido_model::cell::Cell;
use latido_trace::{
    calls::{self, Machine},
    events::{Call, Comm, Events},
    file::Trace,
    pairing::{Called, Sink},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "syscall",
    about: "how long system calls take: on the CPU, waiting for it, and asleep; from events",
    help: "\
Observes the machine, and takes from the kernel's events how long each system call took, from its enter to its exit by one
thread, and how much of that its thread was asleep or waited for a CPU. A call that never returns (exec, exit) has no sample.
The probe adds no measuring task: it measures the load and all other programs that run.

  latido run syscall name=read,write,clock_nanosleep -d 10s
  latido run syscall task=my-program                 all calls of its threads

Options:
  calls  their names, separated by commas, or all; default all; on the command line also name=, which in plans names the
         probe
  pid    only calls of this process, from all threads that it has at the start
  task   only calls of threads with this name; * stands for anything, ? for one character
  together  whether the named calls share one series, which does not show which of them was slow; default false
  tasks  number of pairs of thread and call, those with the most time, with their own series in addition to those of all
         threads; default 8

Quantities (ns): call (enter to exit), running (on a CPU in it, interrupts included), blocked (asleep in it), waiting (able to
run, without a CPU); call = running + blocked + waiting. Some machines record no switch back to a thread: such a call has only
a sample of its whole length. --limit judges running and waiting, because a thread that sleeps does so by its own request.
Labels: name, task. Facts: lost and voided (lost events, and samples that they may have broken).

Needs tracefs (root), the events sched_switch and sched_waking, and those of the calls (CONFIG_FTRACE_SYSCALLS) or, on a kernel
without these, raw_syscalls: then the kernel records all calls, and latido selects the requested ones by number. Recording adds
some hundred nanoseconds to each call: name only the calls that matter. --trace keeps the trace. Paper: none.",
    main_option: Some("calls"),
    new: |table| {
        let probe = with_defaults(table, SyscallProbe { calls: ALL.into(), pid: None, task: None, together: false, tasks: 8 })?;
        ensure!(probe.tasks <= 40, "`tasks` must be 0 to 40");
        ensure!(probe.pid.is_none_or(|pid| pid > 0), "`pid` must be 1 or more");
        ensure!(probe.names().all(|name| !name.is_empty()), "`calls` must be names of system calls, separated by commas");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SyscallProbe {
    calls: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
    together: bool,
    tasks: u32,
}

const ALL: &str = "all";

const QUANTITIES: [(&str, &str); 4] = [
    ("call", "System call: from enter to exit"),
    ("running", "System call: time on CPU"),
    ("blocked", "System call: time asleep"),
    ("waiting", "System call: time without a CPU"),
];

/// How many calls get their own series: those with the most time.
const MOST: usize = 24;

impl SyscallProbe {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.calls.split(',').map(str::trim)
    }
}

impl Probe for SyscallProbe {
    fn measurand(&self) -> Measurand {
        let quantities = QUANTITIES.map(|(name, title)| {
            let quantity = Quantity::time(name, title).each("call");
            if matches!(name, "running" | "waiting") { quantity } else { quantity.beside() }
        });
        Measurand::new("System calls", quantities).parts_by("task")
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("syscall", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let mut wanted = Wanted::events(&["sched:sched_switch", "sched:sched_waking"]);
        if self.calls == ALL {
            wanted.events.push("syscalls:*".into());
        }
        let calls = self.names().filter(|name| *name != ALL);
        let events = calls.flat_map(|name| ["enter", "exit"].map(|edge| format!("syscalls:sys_{edge}_{name}")));
        wanted.events.extend(events);
        let wanted = wanted.or("syscalls", &["raw_syscalls:sys_enter", "raw_syscalls:sys_exit"]);
        Some(wanted.also(&["sched:sched_wakeup", "task:task_rename", "sched:sched_process_free"]))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let threads = self.pid.map(threads_of).transpose()?;
        let interval = stage.watch(|| Ok(true))?;
        let mapped = stage.recorded()?;
        let trace = Trace::open(&mapped)?;
        let names = Names::of(&trace);
        let whose = Whose { threads, task: self.task.as_deref(), numbers: self.numbers(&names)? };
        let mut totals = Totals { whose: &whose, all: BTreeMap::new() };
        paired(&trace, &mut totals);
        if totals.all.is_empty() {
            let of = self.task.as_ref().map_or_else(String::new, |task| format!(" by a thread named `{task}`"));
            bail!("no selected call ({}) was made and returned{of} during the run", self.calls);
        }
        let mut calls =
            Calls { whose: &whose, gathered: Gathered::over(interval), all: BTreeMap::new(), own: BTreeMap::new() };
        if self.together {
            let places = calls.places(stage, &[("name", &self.calls)])?;
            calls.all.extend(totals.all.keys().map(|(call, _)| (*call, places)));
        } else {
            calls.open(stage, &names, totals.all, self.tasks as usize)?;
        }
        let met = paired(&trace, &mut calls);
        calls.gathered.met(&met);
        stage.deliver(calls.gathered)
    }
}

impl SyscallProbe {
    /// Returns the numbers of the selected calls, if the trace has only numbers. Returns `None` if all calls are selected or the trace has
    /// names.
    fn numbers(&self, names: &Names) -> Result<Option<BTreeSet<u16>>> {
        if self.calls == ALL || !names.events.calls().is_empty() {
            return Ok(None);
        }
        let number = |name: &str| {
            let found = (0..MOST_NUMBER).find(|number| calls::call(names.machine, *number) == name);
            found
                .ok_or_else(|| anyhow!("no system call of this machine is named `{name}`; `man 2 syscalls` lists them"))
        };
        Ok(Some(self.names().map(number).collect::<Result<_>>()?))
    }
}

/// The numbers of calls are below this on every architecture. Higher numbers belong to the tables of other systems.
const MOST_NUMBER: u16 = 1024;

/// The names of the calls.
struct Names {
    events: Events,
    machine: Machine,
}

impl Names {
    fn of(trace: &Trace<'_>) -> Self {
        let machine = Machine::of(trace.options.uname.as_deref().unwrap_or_default());
        Self { events: Events::of(&trace.formats, trace.endian), machine }
    }

    fn call(&self, call: Call) -> String {
        match call {
            Call::Named(at) => self.events.calls().get(usize::from(at)).cloned().unwrap_or_default(),
            Call::Number(number) => calls::call(self.machine, number),
        }
    }
}

/// Returns the threads of a process.
fn threads_of(pid: i32) -> Result<BTreeSet<i32>> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task"));
    let Ok(entries) = entries else { bail!("there is no process {pid}: `pgrep -a NAME` finds the number of another") };
    Ok(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

/// The threads and calls that the probe measures.
struct Whose<'a> {
    threads: Option<BTreeSet<i32>>,
    task: Option<&'a str>,
    numbers: Option<BTreeSet<u16>>,
}

impl Whose<'_> {
    fn made(&self, called: &Called) -> bool {
        let meant = |numbers: &BTreeSet<u16>| matches!(called.call, Call::Number(number) if numbers.contains(&number));
        self.numbers.as_ref().is_none_or(meant)
            && self.threads.as_ref().is_none_or(|threads| threads.contains(&called.pid))
            && self.task.is_none_or(|pattern| fits(pattern, &called.comm.text()))
    }
}

/// How long each thread was in each call, ns, and its name.
struct Totals<'a> {
    whose: &'a Whose<'a>,
    all: BTreeMap<(Call, i32), (u64, Comm)>,
}

impl Sink for Totals<'_> {
    fn called(&mut self, called: &Called) {
        if self.whose.made(called) {
            let (total, comm) = self.all.entry((called.call, called.pid)).or_default();
            (*total, *comm) = (total.saturating_add(called.ns()), called.comm);
        }
    }
}

/// The series that take the calls.
struct Calls<'a> {
    whose: &'a Whose<'a>,
    gathered: Gathered,
    all: BTreeMap<Call, [Place; QUANTITIES.len()]>,
    own: BTreeMap<(Call, i32), [Place; QUANTITIES.len()]>,
}

impl Calls<'_> {
    fn open(
        &mut self,
        stage: &mut Stage<'_>,
        names_of: &Names,
        totals: BTreeMap<(Call, i32), (u64, Comm)>,
        most: usize,
    ) -> Result<()> {
        let mut by_call = BTreeMap::<Call, u64>::new();
        for ((call, _), (ns, _)) in &totals {
            let total = by_call.entry(*call).or_default();
            *total = total.saturating_add(*ns);
        }
        let mut largest: Vec<(Call, u64)> = by_call.into_iter().collect();
        largest.sort_by_key(|(call, ns)| (std::cmp::Reverse(*ns), *call));
        largest.truncate(MOST);
        for (call, _) in &largest {
            let places = self.places(stage, &[("name", &names_of.call(*call))])?;
            self.all.insert(*call, places);
        }
        let mut longest: Vec<_> = totals.into_iter().filter(|((call, _), _)| self.all.contains_key(call)).collect();
        longest.sort_by_key(|(key, (ns, _))| (std::cmp::Reverse(*ns), *key));
        longest.truncate(most);
        let names = told_apart(longest.iter().map(|((_, pid), (_, comm))| (*pid, *comm)));
        for ((call, pid), _) in longest {
            let Some(task) = names.get(&pid) else { continue };
            let places = self.places(stage, &[("name", &names_of.call(call)), ("task", task)])?;
            self.own.insert((call, pid), places);
        }
        Ok(())
    }

    fn places(&mut self, stage: &Stage<'_>, labels: &[(&str, &str)]) -> Result<[Place; QUANTITIES.len()]> {
        let [call, running, blocked, waiting] =
            QUANTITIES.map(|(quantity, _)| self.gathered.open(stage.series(quantity)?, labels));
        Ok([call?, running?, blocked?, waiting?])
    }
}

impl Sink for Calls<'_> {
    fn called(&mut self, called: &Called) {
        if !self.whose.made(called) {
            return;
        }
        let (blocked, waited) = (called.off.map(|off| off.blocked), called.off.map(|off| off.waited));
        let values = [Some(called.ns()), called.on_cpu(), blocked, waited];
        let own = self.own.get(&(called.call, called.pid));
        for places in self.all.get(&called.call).into_iter().chain(own) {
            // A part of the call that the trace does not show gives no sample.
            for (place, value) in places.iter().zip(values).filter_map(|(place, value)| Some((place, value?))) {
                let value = i64::try_from(value).unwrap_or(i64::MAX);
                self.gathered.sample(*place, value, called.begin, called.end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a trace has only numbers, the probe selects the named calls by their numbers. It refuses a name that no call has.
    #[test]
    fn calls_are_picked_by_number_where_there_are_no_names() {
        let names = Names { events: Events::of(&[], latido_trace::bytes::Endian::Little), machine: Machine::X86_64 };
        let of = |calls: &str| {
            let probe = SyscallProbe { calls: calls.into(), pid: None, task: None, together: false, tasks: 8 };
            probe.numbers(&names)
        };
        // arch/x86/entry/syscalls/syscall_64.tbl
        assert_eq!(of("read, clock_nanosleep").unwrap(), Some(BTreeSet::from([0, 230])));
        assert_eq!(of(ALL).unwrap(), None);
        assert!(of("raed").unwrap_err().to_string().contains("`raed`"));
        assert_eq!(names.call(Call::Number(230)), "clock_nanosleep");
    }
}
