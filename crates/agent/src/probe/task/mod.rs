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
Observes your program while it works, and takes from the kernel's events the course of each activation of each of its
threads, from its waking until it waits again. The probe adds no measuring task, and does not change the program.

  latido run task -- ./my-program --its -options     latido starts it when the recording is on, and ends it with the run
  latido run task pid=1234 period=1ms                a program that already runs
  latido run task name=my-program period=1ms deadline=200us --limit 1ms

Options:
  pid       the number of a process
  program   processes of this name, or of a program file's name; * stands for anything, ? for one character; on the command line
            also name=, which in plans names the probe
  argv      list of strings: a program to start, with its arguments; on the command line after --
  thread    only its threads of this name, with * and ?; default all
  period    the period of its activations: each period is a slot, which is met, late or missed
  deadline  of a slot; default the period

Give one of pid, program and argv. latido follows threads and processes that the program makes. A program that latido starts runs
on the CPUs of the cell (-c), under sudo as you, not as root; latido stores its output with the record as program.txt, 1 MiB at
most. When the program ends, the cell ends. When the cell's duration is over, latido ends the program, its process group and all
other processes that it started (SIGTERM, two seconds later SIGKILL).

Quantities (ns), one sample per activation:
  wakeup      from its waking (sched_waking, in the waker's context) to the switch to it
  running     time on a CPU in the activation, interrupts included
  preempted   time that it waited for a CPU after preemptions in the activation
  response    from its waking until it waits again: wakeup + running + preempted
With a period, one sample per slot:
  completion  from the slot's time until the end of the last activation that began in it: a job may wait in between
  missed      of a slot without a job: from its time until the thread has done another job; only if slots were missed
A slot is late when its completion is above the deadline, and missed when no job began in it. If a job overruns and catches up,
latido sees this by the events of its clock_nanosleep, which returns at once. Where a program waits otherwise, the trace does not
show whether a job that ran into the next slot also served it: that slot counts as missed, and as unclear. A thread that requests
the time of each slot (clock_nanosleep, TIMER_ABSTIME) continues its job when another wait ends, however late. For other threads
the trace does not distinguish that from a next job that begins late: if the job would have been late, its slot counts as open.
A job of a SCHED_DEADLINE thread ends where it yields its budget (sched_yield), and the next begins when the kernel lets the
thread run again; there is no waking, and no wakeup.

latido estimates when the slots begin: the median of the wakings is the zero of completion. The estimate follows clocks that
drift apart by at most 1 in 1000. A waking may be late by three quarters of a period and still belongs to its slot; it may be
later if another waking follows for the next slot. The first slot is where six of eight slots in a row have wakings, so that the
program's preparations lie before it. The period applies to the program's real-time and deadline threads, or, if it has none,
to all of its threads. Helpers and children have no slots: a helper wakes in less than a quarter of the slots, and nowhere in six
of eight in a row, while another thread does. latido reports a thread that the kernel wakes regularly, but not once per period.
--limit judges response and completion; without it the deadline is the limit: a late or missed slot fails the run. If there are
only unclear or open slots, the run is undecided.

Label: task (the thread's name; in the order of their numbers, further threads of the same name are NAME (2), NAME (3), ...).
Facts: tid (the thread's number), period_seen (ns, the median distance of its wakings), woken_every (the same, if three fifths
of the distances are within a twentieth of it), expected and seen (slots elapsed and slots with an activation), extra (activations
after the first of a slot), unfinished (activations that did not end before the recording or the thread did: latido does not count
their slots; a job that a signal stops continues), unclear (missed slots that an earlier job may have served), open (slots in time
whose job may have ended in the next slot), before (wakings before the first slot), unseen (activations of which only the response
is known, as the trace lacks the switch to the thread: some machines do not record it), lost and voided (lost events, and
activations that they may have broken), exit_status (of a program that ended by itself; 128 + the signal's number after a signal).

With --explain latido reports why periods were missed or late: which task kept the CPU, what the program waited for, its own
execution beyond its median, its own timer (docs/trace.md).

Needs tracefs (root) and the events sched_switch and sched_waking; latido follows new threads by sched_process_fork. The trace
has the scheduler's events of all tasks, not only of the program, because it must show what disturbed the program.
--trace keeps the trace. Paper: none; the definition is that of docs/trace.md.",
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
            _ => anyhow::bail!("give only one of `pid`, `program` (name=) and `argv`"),
        }
        ensure!(self.pid.is_none_or(|pid| pid > 0), "`pid` must be 1 or more");
        ensure!(self.program.as_deref() != Some(""), "`program` must not be empty");
        ensure!(self.argv.is_empty() || self.argv.first().is_some_and(|it| !it.is_empty()), "`argv` names no program");
        ensure!(self.period.is_none_or(|period| period >= SHORTEST), "`period` must be {SHORTEST} or more");
        ensure!(
            self.deadline.is_none() || self.period.is_some(),
            "`deadline` needs a `period`: it applies to the slots of the period"
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
