//! `scheduling`: how long tasks wait for a CPU, from the kernel's events.

use super::looking_on::{check, fits, paired, paired_by, told_apart};
use crate::measure::{Def, Gathered, Measurand, Place, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::{Result, bail, ensure};
use latido_model::{cell::Cell, suggest::nearest, units::many};
use latido_trace::{
    events::{Class, Comm},
    file::Trace,
    pairing::{Definition, Sink, Wait},
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "scheduling",
    about: "how long the tasks of this machine wait for a CPU, after wake-up and after preemption; from events",
    help: "\
Observes the machine, and takes from the kernel's events how long each task waited for a CPU: from its wake-up
(sched_waking, in the waker's context; sched_wakeup where a kernel lacks it) to the switch to it, and from its preemption to
the switch back, which is not a wake-up. The probe adds no measuring task: it measures the load. The tasks include latido's own
processes: on an idle machine there may be no others.

Options:
  tasks   number of tasks, those that waited longest, with their own series in addition to those of their class; default 8
  task    only the tasks with this name, also in the series of classes; * stands for anything, ? for one character

Quantities (ns):
  wakeup     from its wake-up to the switch to it
  preempted  from its preemption to the switch back
  report_w   the wake-ups of all tasks together, paired as `trace-cmd report -w` pairs them: from the last sched_wakeup or
             sched_wakeup_new of a number to the next switch to it. Limits do not apply to it
Labels: class (deadline, real-time, fair: by the effective priority when the task ran; all, of report_w), task (its name; in
the order of their numbers, further tasks of the same name are NAME (2), NAME (3), ...). Lost events may break waits: latido
voids and counts these (`voided`). --trace keeps the trace.

Needs tracefs (root) and the events sched_switch and sched_waking. Paper: none; the definition is that of docs/trace.md.",
    main_option: None,
    new: |table| {
        let probe = with_defaults(table, SchedulingProbe { tasks: 8, task: None })?;
        ensure!(probe.tasks <= 100, "`tasks` must be 0 to 100");
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SchedulingProbe {
    tasks: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<String>,
}

/// The quantities, in the order of [`latido_trace::pairing::Why`].
const QUANTITIES: [(&str, &str); 2] =
    [("wakeup", "Scheduling latency: after the wake-up"), ("preempted", "Scheduling latency: after preemption")];

/// The quantity for wake-ups as another program pairs them, in addition.
const REPORT_W: &str = "report_w";
/// The class of their series.
const TOGETHER: &str = "all";

impl Probe for SchedulingProbe {
    fn measurand(&self) -> Measurand {
        let own = QUANTITIES.map(|(name, title)| Quantity::time(name, title).each("wait"));
        let theirs = Quantity::time(REPORT_W, "Scheduling latency: as trace-cmd report -w").each("wake-up").beside();
        let quantities: Vec<Quantity> = own.into_iter().chain([theirs]).collect();
        let classes = Class::ALL.map(Class::name).into_iter().chain([TOGETHER]);
        Measurand::new("Scheduling latency", quantities).labelled("class", classes).parts_by("task")
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("scheduling", cell)
    }

    fn wants(&self) -> Option<Wanted> {
        let also = ["sched:sched_wakeup", "sched:sched_wakeup_new", "task:task_rename", "sched:sched_process_free"];
        Some(Wanted::events(&["sched:sched_switch", "sched:sched_waking"]).also(&also))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let interval = stage.watch(|| Ok(true))?;
        let mapped = stage.recorded()?;
        let trace = Trace::open(&mapped)?;
        let longest = self.longest(&trace)?;
        let mut waits =
            Waits { of: self, gathered: Gathered::over(interval), classes: Vec::new(), tasks: BTreeMap::new() };
        for (quantity, _) in QUANTITIES {
            for class in Class::ALL {
                waits.classes.push(waits.gathered.open(stage.series(quantity)?, &[("class", class.name())])?);
            }
        }
        for (pid, class, name) in longest {
            let labels = [("class", class.name()), ("task", name.as_str())];
            let [woken, preempted] = QUANTITIES.map(|(quantity, _)| stage.series(quantity));
            let places = [waits.gathered.open(woken?, &labels)?, waits.gathered.open(preempted?, &labels)?];
            waits.tasks.insert(pid, places);
        }
        let met = paired(&trace, &mut waits);
        waits.gathered.met(&met);
        let place = waits.gathered.open(stage.series(REPORT_W)?, &[("class", TOGETHER)])?;
        paired_by(&trace, Definition::TraceCmd, &mut AsReported { of: self, gathered: &mut waits.gathered, place });
        stage.deliver(waits.gathered)
    }
}

impl SchedulingProbe {
    /// Tells whether the probe measures the waits of a task with this name.
    fn means(&self, comm: &Comm) -> bool {
        self.task.as_ref().is_none_or(|pattern| fits(pattern, &comm.text()))
    }

    /// Returns the tasks that waited longest, with the class of that wait and a distinct name.
    fn longest(&self, trace: &Trace<'_>) -> Result<Vec<(i32, Class, String)>> {
        let mut longest = Longest::default();
        paired(trace, &mut longest);
        let mut all: Vec<_> = longest.0.into_iter().filter(|(pid, _)| *pid != 0).collect();
        if let Some(task) = &self.task
            && !all.iter().any(|(_, (.., comm))| self.means(comm))
        {
            let names: BTreeSet<String> = all.iter().map(|(_, (.., comm))| comm.text().into_owned()).collect();
            let near = nearest(task, names.iter().map(String::as_str));
            let others = many(names.len(), "other");
            bail!("no task named `{task}` waited for a CPU during the run{near}; {others} did");
        }
        all.retain(|(_, (.., comm))| self.means(comm));
        all.sort_by_key(|(pid, (ns, ..))| (std::cmp::Reverse(*ns), *pid));
        all.truncate(self.tasks as usize);
        let names = told_apart(all.iter().map(|(pid, (.., comm))| (*pid, *comm)));
        let mut named: Vec<_> =
            all.into_iter().filter_map(|(pid, (_, class, _))| Some((pid, class, names.get(&pid)?.clone()))).collect();
        named.sort_by(|a, b| a.2.cmp(&b.2));
        Ok(named)
    }
}

/// The longest wait of each task, with the task's class and name at that time.
#[derive(Default)]
struct Longest(BTreeMap<i32, (u64, Class, Comm)>);

impl Sink for Longest {
    fn waited(&mut self, wait: &Wait) {
        let this = (wait.ns(), wait.priority.class(), wait.comm);
        let longest = self.0.entry(wait.pid).or_insert(this);
        if this.0 > longest.0 {
            *longest = this;
        }
    }
}

/// The series that take the waits.
struct Waits<'a> {
    of: &'a SchedulingProbe,
    gathered: Gathered,
    /// By quantity and class.
    classes: Vec<Place>,
    tasks: BTreeMap<i32, [Place; 2]>,
}

impl Sink for Waits<'_> {
    fn waited(&mut self, wait: &Wait) {
        if !self.of.means(&wait.comm) {
            return;
        }
        let (quantity, class) = (wait.why as usize, wait.priority.class() as usize);
        let class = self.classes.get(quantity * Class::ALL.len() + class);
        let task = self.tasks.get(&wait.pid).and_then(|places| places.get(quantity));
        for place in class.into_iter().chain(task) {
            self.gathered.lasted(*place, wait.begin, wait.end);
        }
    }
}

/// The series for wake-ups as `trace-cmd report -w` pairs them.
struct AsReported<'a> {
    of: &'a SchedulingProbe,
    gathered: &'a mut Gathered,
    place: Place,
}

impl Sink for AsReported<'_> {
    fn waited(&mut self, wait: &Wait) {
        if self.of.means(&wait.comm) {
            self.gathered.lasted(self.place, wait.begin, wait.end);
        }
    }
}
