//! `task`: the activations of the user's own real-time program, from the kernel's events.

mod distances;
mod filling;
mod program;
mod slots;
mod standing;
mod threads;

use super::looking_on::check;
use crate::measure::{Def, Measurand, Probe, Quantity, Stage, Wanted, with_defaults};
use anyhow::{Result, ensure};
use latido_model::{
    cell::Cell,
    cpus::CpuSet,
    explain::{COMPLETION, MISSED},
    registry::Objection,
    units::Ns,
};
use latido_trace::file::Trace;
use program::Watched;
use serde::{Deserialize, Serialize};

/// The list entry.
pub const DEF: Def<dyn Probe> = Def {
    name: "task",
    about: "your own real-time program: wake-up, time on CPU, preemption, response, missed periods; from events",
    help: "\
Looks on while a program of yours does its work, and takes from the kernel's events what became of each activation of each
of its threads: from being woken until it waits again. Adds no task of its own, and changes nothing of the program.

  latido run task -- ./my-program --its -options     started when the recording is on; ended with the run
  latido run task pid=1234 period=1ms                a program that runs already
  latido run task name=my-program period=1ms deadline=200us --limit 1ms

Options:
  pid       the number of a process
  program   processes of this name, or a program file's; * stands for anything, ? for one character; on the command line
            also name=, which in plans is the probe's own
  argv      list of strings: a program to start, with its arguments; on the command line it stands behind --
  thread    of its threads only those of this name, with * and ?; default all
  period    how often it is to be activated: each period is a slot, which is met, late or missed
  deadline  of a slot; default the period

One of pid, program and argv is needed. Threads and processes that it makes are followed. A program that is started runs on the
CPUs of the cell (-c), as you and not as root behind sudo; its output lies beside the record as program.txt, 1 MiB at most.
When it ends, the cell ends. It is ended (SIGTERM, two seconds later SIGKILL, with its process group and whatever else it started) when the cell's
duration is over.

Quantities (ns), each a sample an activation:
  wakeup      from its waking (sched_waking, in the waker's context) to the switch to it
  running     time on a CPU in the activation, interrupts included
  preempted   time that it waited after having been preempted in the activation
  response    from its waking until it waits again: wakeup + running + preempted
With a period, one sample a slot:
  completion  from the slot's time until the end of the last activation that began in it: a job may wait in between
  missed      of a slot that had no job: from its time until the thread had done another one; only where there are any
A slot is late when its completion is above the deadline, and missed when no job began in it. A job that overruns and catches up
(its clock_nanosleep returns at once) is seen by the call's own events. Where a program waits otherwise, nobody can tell a slot that
passed while an earlier job ran from one that the job served too: it counts as missed, and as unclear. A thread that asks for the time
of each slot (clock_nanosleep, TIMER_ABSTIME) goes on with its job when another wait ends, however late. Of other threads nobody can
tell that from a next job that begins late: where the job would have been late, its slot counts as open. A job of a
SCHED_DEADLINE thread ends where it gives up its budget (sched_yield), and the next begins when the kernel lets it back; there is
no waking, and no wakeup. When slots begin is not
known but estimated: by the median of the wakings, which then is the zero of completion; it follows clocks that drift apart by
at most 1 in 1000. A waking may be late by three quarters of a period and still is its slot's; by more, where another waking follows
for the next slot. The slots begin where six of eight in a row have wakings: what a program does to prepare lies before. The period is that of the
program's real-time and deadline threads, or, where it has none, of all of its threads. Helpers and children have no slots: a helper wakes
in less than a quarter of the slots, and nowhere in six of eight in a row, while another thread does. Where the kernel wakes a thread regularly,
but not once a period, latido says so. --limit judges response and completion; where it is not given, the deadline is the limit:
a slot that is late or missed fails the run. Slots that are unclear or open alone leave it undecided.

Label: task (the thread's name; of the same ones the second, third, ... by their numbers).
Facts: tid (the thread's number), period_seen (ns, the median distance of its wakings), woken_every (the same where three fifths of the distances lie
within a twentieth of it), expected and seen (slots elapsed and slots with an activation), extra (activations beyond the first
of a slot), unfinished (activations that began and did not end in time, or ended with the thread: their slots count as nothing; a job
that a signal stops goes on), unclear (missed slots that an earlier job may have served), open (slots in time whose job may have ended in
the next one), before (wakings before the slots begin), unseen (those of which only
the response is known, as the switch to the thread is not in the trace: some machines keep tasks of their own out of it), lost
and voided (events lost, and what they may have broken), exit_status (of a program that ended by itself, 128 and the signal's
number).

With --explain latido says what made periods missed or late: who kept the CPU, what the program waited for, its own execution beyond its
median, its own timer (docs/trace.md).

Needs tracefs (root) and the events sched_switch and sched_waking; new threads are followed by sched_process_fork. All other
events of the scheduler are recorded too, not the program's alone: what disturbed it would not be in the trace otherwise.
The trace is kept with --trace. Paper: none; the definition is that of docs/trace.md.",
    main_option: Some("program"),
    new: |table| {
        let probe: TaskProbe = with_defaults(table, TaskProbe::default())?;
        probe.sound()?;
        Ok(Box::new(probe))
    },
};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct TaskProbe {
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    argv: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thread: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    period: Option<Ns>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadline: Option<Ns>,
}

/// The quantities of each activation.
const QUANTITIES: [(&str, &str); 4] = [
    ("wakeup", "Task: from waking to running"),
    ("running", "Task: time on CPU"),
    ("preempted", "Task: time preempted"),
    ("response", "Task: response"),
];

/// The shortest period that latido accepts: no kernel handles shorter ones.
const SHORTEST: Ns = Ns(10_000);

impl TaskProbe {
    fn sound(&self) -> Result<()> {
        let named = [self.pid.is_some(), self.program.is_some(), !self.argv.is_empty()];
        match named.into_iter().filter(|named| *named).count() {
            0 => {
                let missing = anyhow::Error::from(Objection::Missing("program".into()));
                return Err(missing.context("name a program to watch: pid=N, name=PATTERN, or -- CMD"));
            }
            1 => {}
            _ => anyhow::bail!("one of `pid`, `program` (name=) and `argv` names the program, not several"),
        }
        ensure!(self.pid.is_none_or(|pid| pid > 0), "`pid` must be 1 or more");
        ensure!(self.program.as_deref() != Some(""), "`program` names none");
        ensure!(self.argv.is_empty() || self.argv.first().is_some_and(|it| !it.is_empty()), "`argv` names no program");
        ensure!(self.period.is_none_or(|period| period >= SHORTEST), "`period` must be {SHORTEST} or more");
        ensure!(
            self.deadline.is_none() || self.period.is_some(),
            "`deadline` needs a `period`: it is that of its slots"
        );
        ensure!(self.deadline.is_none_or(|deadline| deadline.0 > 0), "`deadline` must be above 0");
        Ok(())
    }
}

impl Probe for TaskProbe {
    fn measurand(&self) -> Measurand {
        let quantities = QUANTITIES.map(|(name, title)| {
            let quantity = Quantity::time(name, title).each("activation");
            if name == "response" { quantity } else { quantity.beside() }
        });
        let measurand = Measurand::new("Activations of a program", quantities);
        let Some(period) = self.period else { return measurand };
        let deadline = Some(self.deadline.unwrap_or(period));
        let mut measurand = Measurand { deadline, own_limit: deadline, ..measurand.every(period) };
        let completion = Quantity::time(COMPLETION, "Task: completion of a slot").each("slot").periodic();
        measurand.quantities.push(completion);
        let missed = Quantity::time(MISSED, "Task: a slot without a job").each("missed slot").beside();
        measurand.quantities.push(missed);
        measurand
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        check("task", cell)
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        allowed.clone()
    }

    fn wants(&self) -> Option<Wanted> {
        let also = [
            "sched:sched_wakeup",
            "sched:sched_wakeup_new",
            "sched:sched_process_fork",
            "sched:sched_process_exit",
            "sched:sched_process_free",
            "task:task_rename",
            // Calls that wait but show no waking.
            "syscalls:sys_enter_clock_nanosleep",
            "syscalls:sys_exit_clock_nanosleep",
            "syscalls:sys_enter_sched_yield",
            "syscalls:sys_exit_sched_yield",
        ];
        // The expiry times of its timers, and its page faults.
        let explaining = ["timer:hrtimer_start", "exceptions:page_fault_user"];
        Some(Wanted::events(&["sched:sched_switch", "sched:sched_waking"]).also(&also).explaining(&explaining))
    }

    fn starts(&self) -> Option<&str> {
        self.argv.first().map(String::as_str)
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let mut watched = Watched::find(self, &stage.cpus(), stage.program.as_ref())?;
        let interval = stage.watch(|| Ok(watched.looked_at()))?;
        // latido ends the recording before the program: it must not record how the program is ended.
        let mapped = stage.recorded()?;
        let ended = watched.end()?;
        let trace = Trace::open(&mapped)?;
        let gathered = filling::filled(self, stage, interval, &trace, &ended)?;
        if !ended.output.is_empty() {
            std::io::Write::write_all(&mut stage.attach("program.txt")?, &ended.output)?;
        }
        stage.deliver(gathered)
    }
}
