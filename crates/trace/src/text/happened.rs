//! Turns lines of events into what happened, as for their binary records, with times in microseconds.

use super::{
    event::{Body, Event, SystemCall, Time},
    gaps::{Gap, Gaps},
    line::Line,
    reader::Reader,
    scan::{first, last, number, rest},
};
use crate::{
    accounts::Source,
    events::{Above, Call, Class, Comm, Happened, Off, Priority, SOFT, State, Switched, Woken, state_of},
    merge::Lost,
    page::Missed,
    pairing::{Met, Pairing, Sink},
};
use std::collections::BTreeMap;

/// The most names of vectors and of devices that latido keeps.
const MOST: usize = 255;

/// The most names of system calls that latido keeps: no kernel has more.
const MOST_CALLS: usize = 1024;

/// latido ignores CPUs from this number on.
const CPUS: usize = 1 << 16;

/// The names that lines use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// The processor's vectors, by the index of [`Above::Vector`].
    pub vectors: Vec<String>,
    /// Devices, by the number of their line.
    pub devices: BTreeMap<u32, String>,
    /// System calls, by the index of [`Call::Named`].
    pub calls: Vec<String>,
    /// Switches and wake-ups with fields that latido cannot read: their tasks are unknown.
    pub misread: u64,
    /// The first of these: its line number, and its text for a report.
    pub first_misread: Option<(u64, String)>,
}

/// The lines of one input of a text, with what is known to be missing.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The whole text.
    pub text: &'a [u8],
    /// The input: an index into [`Reader::sources`].
    pub source: u32,
    /// Where its events are missing.
    pub gaps: &'a Gaps,
}

/// Pairs the events of a text. Only times of a clock in seconds can be paired. Sinks receive each such line as text for a report, in place
/// of its record.
pub fn pair(input: Input<'_>, pairing: &mut Pairing, sink: &mut impl Sink) -> (Met, Names) {
    let (mut reader, mut names) = (Reader::default(), Names::default());
    let mut walk = Walk { met: Met { first: u64::MAX, ..Met::default() }, now: 0, gaps: input.gaps.places() };
    let unplaced = input.gaps.accounts().unplaced();
    unplaced.into_iter().for_each(|cpu| pairing.doubt(cpu));
    reader.push(input.text, |header, line| {
        if let Line::Event(event) = line
            && header.source == input.source
        {
            walk.event(&event, header.line, &mut names, pairing, sink);
        }
    });
    walk.lost(u64::MAX, pairing, sink);
    let mut met = walk.met;
    met.said.join(input.gaps.accounts());
    met.first = met.first.min(met.last);
    met.unpaired = pairing.end(met.last, sink);
    met.devices.clone_from(&names.devices);
    (met, names)
}

/// A walk through the events of an input.
struct Walk<'a> {
    met: Met,
    now: u64,
    /// The gaps that are still to come.
    gaps: &'a [Gap],
}

impl Walk<'_> {
    fn event(&mut self, event: &Event<'_>, line: u64, names: &mut Names, pairing: &mut Pairing, sink: &mut impl Sink) {
        let (Time::Clock(time) | Time::SinceFirst(time)) = event.time else { return };
        self.lost(self.met.events, pairing, sink);
        self.met.events += 1;
        if event.cpu as usize >= CPUS {
            return;
        }
        if time < self.now {
            // An event at this very last time is in doubt too.
            let until = Some(self.met.last.saturating_add(1));
            let lost = Lost { cpu: event.cpu, since: time, until, missed: Missed::Some };
            self.met.backwards += 1;
            self.met.miss(Source::Order, &lost);
            pairing.lost(&lost, sink);
        }
        (self.met.first, self.met.last, self.now) = (self.met.first.min(time), self.met.last.max(time), time);
        let happened = happened(event, names);
        if happened.is_none() && is_scheduling(event) {
            names.misread += 1;
            names.first_misread.get_or_insert_with(|| (line, event.shown().chars().take(120).collect()));
        }
        sink.event(event.cpu, time, event.shown().as_bytes(), happened.as_ref());
        if let Some(happened) = happened {
            pairing.take(event.cpu, time, &happened, sink);
        }
    }

    /// Handles the losses up to this point. The gaps already contain which source reports how much.
    fn lost(&mut self, events: u64, pairing: &mut Pairing, sink: &mut impl Sink) {
        while let Some((gap, rest)) = self.gaps.split_first().filter(|(gap, _)| gap.after <= events) {
            self.gaps = rest;
            if (gap.lost.cpu as usize) < CPUS {
                self.met.gap(&gap.lost);
                pairing.lost(&gap.lost, sink);
            }
        }
    }
}

/// Returns whether waits are made from this event.
fn is_scheduling(event: &Event<'_>) -> bool {
    matches!(
        event.body,
        Body::Named { name: "sched_switch" | "sched_waking" | "sched_wakeup" | "sched_wakeup_new", .. }
    )
}

/// Returns what an event means; `None` if it is of another kind or lacks a field.
fn happened(event: &Event<'_>, names: &mut Names) -> Option<Happened> {
    if let Some(call) = event.body.system_call() {
        return called(event.pid?, call, names);
    }
    let Body::Named { name, fields } = event.body else { return None };
    let fields = fields.trim_start();
    Some(match name {
        "sched_switch" => switch(fields)?,
        "sched_waking" => Happened::Waking(woken(fields)?),
        "sched_wakeup" => Happened::Wakeup(woken(fields)?),
        "sched_wakeup_new" => Happened::New(woken(fields)?),
        "softirq_entry" => Happened::Enter(Above::Soft(soft(fields)?)),
        "softirq_exit" => Happened::Exit(Above::Soft(soft(fields)?)),
        "softirq_raise" => Happened::Raise(soft(fields)?),
        "irq_handler_entry" => {
            let line = number(first(fields, "irq=")?)?;
            if names.devices.len() < MOST {
                names.devices.entry(line).or_insert_with(|| rest(fields, "name=").unwrap_or_default().to_owned());
            }
            Happened::Enter(Above::Line(line))
        }
        "irq_handler_exit" => Happened::Exit(Above::Line(number(first(fields, "irq=")?)?)),
        "nmi_handler" => Happened::Nmi(number(first(fields, "delta_ns: ")?)?),
        "irq_disable" => Happened::Off(Off::Interrupts),
        "irq_enable" => Happened::On(Off::Interrupts),
        "preempt_disable" => Happened::Off(Off::Preemption),
        "preempt_enable" => Happened::On(Off::Preemption),
        "hrtimer_expire_entry" => Happened::Expired { timer: 0, now: 0 },
        "sched_migrate_task" => Happened::Migrated {
            pid: number(last(fields, "pid=")?)?,
            from: number(last(fields, "orig_cpu=")?)?,
            to: number(last(fields, "dest_cpu=")?)?,
        },
        "sys_enter" => {
            let call = Call::Number(number(first(fields, "NR ")?)?);
            Happened::Call { pid: i32::try_from(event.pid?).ok()?, call }
        }
        // The return from a signal has the number -1.
        "sys_exit" => {
            let call = number(first(fields, "NR ")?).map(Call::Number);
            Happened::Return { pid: i32::try_from(event.pid?).ok()?, call }
        }
        // Vectors of the processor, and Arm's interrupts between processors.
        _ if fields.starts_with("vector=") || matches!(name, "ipi_entry" | "ipi_exit") => {
            let (stem, enters) = match name.strip_suffix("_entry") {
                Some(stem) => (stem, true),
                None => (name.strip_suffix("_exit")?, false),
            };
            let at = names.vectors.iter().position(|one| one == stem).or_else(|| {
                (names.vectors.len() < MOST).then(|| names.vectors.push(stem.to_owned()))?;
                Some(names.vectors.len() - 1)
            })?;
            let above = Above::Vector(u8::try_from(at).ok()?);
            if enters { Happened::Enter(above) } else { Happened::Exit(above) }
        }
        _ => return None,
    })
}

/// Handles that a thread starts or ends a system call of this name.
fn called(pid: u32, SystemCall { name, begins }: SystemCall<'_>, names: &mut Names) -> Option<Happened> {
    let known = names.calls.iter().position(|one| one == name);
    let at = known.or_else(|| {
        (names.calls.len() < MOST_CALLS).then(|| names.calls.push(name.to_owned()))?;
        Some(names.calls.len() - 1)
    })?;
    let (pid, call) = (i32::try_from(pid).ok()?, Call::Named(u16::try_from(at).ok()?));
    Some(if begins { Happened::Call { pid, call } } else { Happened::Return { pid, call: Some(call) } })
}

/// Parses a switch in each form: `prev_comm=sh … prev_state=S ==> next_comm=…` of the kernel, `sh:187 [120] S ==> …` of `trace-cmd report`,
/// and its `-R`, which prints the state as a number and no arrow.
fn switch(fields: &str) -> Option<Happened> {
    let Some((from, to)) = fields.split_once(" ==> ") else {
        let (from, _) = fields.split_once(" next_comm=")?;
        let to = fields.get(from.len() + 1..)?;
        let text = last(from, "prev_state=")?;
        let hexadecimal = text.strip_prefix("0x").map(|digits| i32::from_str_radix(digits, 16).ok());
        let state = hexadecimal.unwrap_or_else(|| number(text))?;
        return Some(Happened::Switch {
            from: switched(from, "prev")?,
            state: state_of(state),
            to: switched(to, "next")?,
        });
    };
    Some(match shortened(from) {
        Some((from, letter)) => Happened::Switch { from, state: state(letter)?, to: shortened(to.trim_start())?.0 },
        None => Happened::Switch {
            from: switched(from, "prev")?,
            state: state(last(from, "prev_state=")?)?,
            to: switched(to, "next")?,
        },
    })
}

/// Parses `prev_comm=sh prev_pid=187 prev_prio=120 …`. A name may contain any part of the fields, so the search starts at the end.
fn switched(side: &str, which: &str) -> Option<Switched> {
    let name = rest(side, &format!("{which}_comm="))?;
    let (name, _) = name.rsplit_once(&format!(" {which}_pid="))?;
    Some(Switched {
        pid: number(last(side, &format!("{which}_pid="))?)?,
        priority: priority(last(side, &format!("{which}_prio="))?)?,
        comm: Comm::of(name),
    })
}

/// Parses `sh:187 [120] S`, a task as trace-cmd prints it. Returns it and the text after it.
fn shortened(side: &str) -> Option<(Switched, &str)> {
    let (task, rest) = side.rsplit_once(" [")?;
    let (level, rest) = rest.split_once(']')?;
    let (name, pid) = task.rsplit_once(':')?;
    Some((Switched { pid: number(pid)?, priority: priority(level)?, comm: Comm::of(name) }, rest.trim_start()))
}

fn woken(fields: &str) -> Option<Woken> {
    if let Some((Switched { pid, priority, comm }, _)) = shortened(fields) {
        return Some(Woken { pid, priority, comm });
    }
    let (name, _) = rest(fields, "comm=")?.rsplit_once(" pid=")?;
    let pid = number(last(fields, " pid=")?)?;
    Some(Woken { pid, priority: priority(last(fields, " prio=")?)?, comm: Comm::of(name) })
}

fn priority(text: &str) -> Option<Priority> {
    text.parse().ok().map(Priority).filter(|priority| priority.class() != Class::Deadline || text.starts_with('-'))
}

/// Parses the letters of `prev_state` (include/trace/events/sched.h): `R` and `R+` could continue.
fn state(letters: &str) -> Option<State> {
    Some(match letters.chars().next()? {
        'R' => State::Runnable,
        'T' | 't' => State::Stopped,
        'X' | 'Z' => State::Dead,
        _ => State::Sleeping,
    })
}

/// Parses `vec=1 [action=TIMER]`.
fn soft(fields: &str) -> Option<u8> {
    number(first(fields, "vec=")?).filter(|vec| usize::from(*vec) < SOFT.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pairing::{Called, Definition, Wait};

    #[derive(Default)]
    struct Waits(Vec<(i32, u64)>, u64, Vec<(Call, u64)>);

    fn paired(text: &str, pairing: &mut Pairing, waits: &mut Waits) -> (Met, Names) {
        let (mut reader, mut gaps) = (Reader::default(), Gaps::default());
        reader.push(text.as_bytes(), |header, line| gaps.take(header, &line));
        gaps.finish();
        pair(Input { text: text.as_bytes(), source: 0, gaps: &gaps }, pairing, waits)
    }

    impl Sink for Waits {
        fn waited(&mut self, wait: &Wait) {
            self.0.push((wait.pid, wait.ns()));
        }

        fn called(&mut self, called: &Called) {
            self.2.push((called.call, called.end - called.begin));
        }

        fn event(&mut self, _: u32, _: u64, _: &[u8], _: Option<&Happened>) {
            self.1 += 1;
        }
    }

    /// A wait that started before time went backwards must have no length, even if it started at the last moment before.
    #[test]
    fn a_wait_over_a_step_back_is_void() {
        let text = "\
            sh-1   [000] d.h2.  1.000030: sched_waking: comm=a pid=12 prio=98 target_cpu=001\n\
            sh-1   [001] d.h2.  1.000010: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a next_pid=12 next_prio=98\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (met, _) = paired(text, &mut pairing, &mut waits);
        assert_eq!((waits.0, met.backwards, met.unpaired.voided), (vec![], 1, 1));
    }

    /// A line that a mailer broke after its time must be joined, too.
    #[test]
    fn a_line_that_is_broken_behind_its_time_is_joined() {
        let text = "\
            sh-1   [000] d.h2.  1.000010:\n\
            sched_waking: comm=a pid=12 prio=98 target_cpu=001\n\
            sh-1   [001] d.h2.  1.000030: \n\
            sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120\n\
            prev_state=R ==> next_comm=a next_pid=12 next_prio=98\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (met, _) = paired(text, &mut pairing, &mut waits);
        assert_eq!((waits.0, met.events), (vec![(12, 20_000)], 2));
    }

    /// System calls must have their times in each of the three forms. The return from a signal ends no call by name.
    #[test]
    fn system_calls_are_paired() {
        let text = "\
            sh-1   [000] .....  1.000010: sys_enter_read: fd: 0x00000003, buf: 0x7ffc, count: 0x10\n\
            sh-1   [000] .....  1.000030: sys_exit_read: 0x10\n\
            sh-1   [000] .....  1.000040: sys_enter: NR 35 (3, 7ffc, 0, 0, 0, 0)\n\
            sh-1   [000] .....  1.000070: sys_exit: NR 35 = 16\n\
            sh-1   [000] .....  1.000080: sys_read(fd: 3, buf: 7ffc, count: 10)\n\
            sh-1   [000] .....  1.000120: sys_read -> 0x10\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (_, names) = paired(text, &mut pairing, &mut waits);
        assert_eq!(names.calls, ["read"]);
        assert_eq!(waits.2, [(Call::Named(0), 20_000), (Call::Number(35), 30_000), (Call::Named(0), 40_000)]);
    }

    /// What `trace-cmd report` prints must mean the same. The name of a task may contain what follows names.
    #[test]
    fn what_trace_cmd_prints_is_paired_too() {
        let text = "\
            cpus=2\n\
            sh-1   [000] 1.000010: sched_wakeup:         a:b [1] c:12 [98] CPU:001\n\
            <idle>-0     [001] 1.000030: sched_switch:         swapper/1:0 [120] R ==> a:b [1] c:12 [98]\n\
            a:b [1] c-12 [001] 1.000050: sched_switch:         a:b [1] c:12 [98] R+ ==> sh:1 [120]\n\
            sh-1   [001] 1.000070: sched_switch:         sh:1 [120] S ==> a:b [1] c:12 [98]\n\
            sh-1   [001] 1.000080: sched_switch:         in another form\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (met, names) = paired(text, &mut pairing, &mut waits);
        assert_eq!((waits.0, met.events, names.misread), (vec![(12, 20_000), (12, 20_000)], 5, 1));
        assert_eq!(pairing.task(12).unwrap().0.text(), "a:b [1] c");
    }

    /// What `trace-cmd report -R` prints must mean the same: it has numbers for states, and no arrow.
    #[test]
    fn raw_fields_are_paired_too() {
        let text = "\
            sh-1   [000] 1.000010: sched_waking:          comm=a pid=12 prio=98 target_cpu=1\n\
            <idle>-0     [001] 1.000030: sched_switch:          prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=0 next_comm=a next_pid=12 next_prio=98\n\
            a-12   [001] 1.000050: sched_switch:          prev_comm=a prev_pid=12 prev_prio=98 prev_state=256 next_comm=b next_pid=13 next_prio=97\n\
            b-13   [001] 1.000080: sched_switch:          prev_comm=b prev_pid=13 prev_prio=97 prev_state=0x1 next_comm=a next_pid=12 next_prio=98\n\
            a-12   [001] 1.000090: sched_switch:          prev_comm=a prev_pid=12 prev_prio=98 prev_state=many next_comm=b next_pid=13 next_prio=97\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (met, names) = paired(text, &mut pairing, &mut waits);
        assert_eq!((waits.0, met.events, names.misread), (vec![(12, 20_000), (12, 30_000)], 5, 1));
    }

    /// Names that contain parts of fields must be read correctly; a wake-up must be paired with its switch; lost lines must make it void.
    #[test]
    fn lines_are_paired_as_records_are() {
        let text = "\
            sh-1   [000] d.h2.  1.000010: sched_waking: comm=a pid=7 b pid=12 prio=98 target_cpu=001\n\
            sh-1   [001] d.h2.  1.000030: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=a pid=7 b next_pid=12 next_prio=98\n\
            a-12   [001] d.h2.  1.000050: sched_switch: prev_comm=a pid=7 b prev_pid=12 prev_prio=98 prev_state=S ==> next_comm=swapper/1 next_pid=0 next_prio=120\n\
            sh-1   [000] d.h2.  1.000060: sched_waking: comm=c pid=13 prio=120 target_cpu=001\n\
            CPU:1 [LOST 5 EVENTS]\n\
            sh-1   [001] d.h2.  1.000080: sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=c next_pid=13 next_prio=120\n\
            sh-1   [001] d.h2.  1.000090: irq_handler_entry: irq=24 name=virtio0-input.0\n\
            sh-1   [001] d.h2.  1.000095: local_timer_entry: vector=236\n";
        let (mut pairing, mut waits) = (Pairing::of(Definition::Waking), Waits::default());
        let (met, names) = paired(text, &mut pairing, &mut waits);
        assert_eq!(waits.0, [(12, 20_000)]);
        assert_eq!((met.events, waits.1, met.said.gaps(), met.said.events()), (7, 7, 1, 5));
        assert_eq!((met.first, met.last, met.unpaired.voided), (1_000_010_000, 1_000_095_000, 1));
        assert_eq!(names.vectors, ["local_timer"]);
        assert_eq!(names.devices[&24], "virtio0-input.0");
        assert_eq!(pairing.task(12).unwrap().0.text(), "a pid=7 b");
    }
}
