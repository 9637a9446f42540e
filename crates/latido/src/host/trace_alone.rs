//! `latido trace record`: a trace by itself, while a program runs or for a given time.
//!
//! Tracing needs root. Behind sudo, the file and the program belong to the user who called it.

use super::traced_program::{Over, Program, over};
use crate::{
    durable,
    output::{tell, write_out},
    stop::StopRequests,
};
use anyhow::{Context, Result, bail};
use latido_agent::{
    capture::{Capture, Spec, Stopped},
    journal::{Journal, lock, pulse::Pulse},
    machine::{Root, tracefs::Tracefs},
};
use latido_model::{exit::Exit, record::TraceRecord, units::Ns};
use latido_report::words::{count, many};
use latido_sys::{identity, sched};
use std::{
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

/// How often latido checks whether the recording is over.
const LOOK: Duration = Duration::from_millis(20);

/// The default file of a trace, the same as trace-cmd's.
const USUAL: &str = "trace.dat";

/// The first bytes of every trace file.
const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// What to record, for how long and where to.
#[derive(Clone, Debug)]
pub struct Order {
    /// Events, CPUs, rings.
    pub spec: Spec,
    /// The longest recording.
    pub span: Option<Ns>,
    /// The file.
    pub output: Option<PathBuf>,
    /// How long to wait for another latido; `None` for no wait.
    pub wait: Option<Ns>,
    /// The program; empty for no program.
    pub command: Vec<String>,
}

/// Prints the events of this kernel.
///
/// # Errors
/// latido cannot read them; the remedy.
pub fn list() -> Result<u8> {
    let text = {
        let _own = identity::own()?;
        let tracefs = Tracefs::find(&Root::default())?;
        let path = tracefs.dir().join("available_events");
        std::fs::read_to_string(&path).with_context(|| format!("{}", path.display()))?
    };
    write_out(&text)
}

/// Records a trace. Returns the exit status.
///
/// # Errors
/// What is missing and how to get it. latido has then removed the instance and written no file.
pub fn run(order: &Order) -> Result<u8> {
    let path = order.output.clone().unwrap_or_else(|| USUAL.into());
    let cannot = || format!("cannot write the trace {}", path.display());
    durable::replaceable(&path).with_context(cannot)?;
    let ours = |begins: &[u8]| begins == MAGIC;
    let what = durable::What { name: "trace", within: MAGIC.len() as u64, ours, instead: durable::OTHER };
    durable::unless_foreign(&path, what)?;
    let stops = StopRequests::watch()?;
    let Some((stopped, exit)) = recorded(order, &stops)? else { return Ok(Exit::Interrupted.code()) };
    let record = durable::replace_by(&path, |file| {
        // The file belongs to the user and is already open. Only root can read the recorded data.
        let _own = identity::own()?;
        stopped.write(file)
    });
    let record = record.with_context(cannot)?;
    tell(&told(&record, &path));
    Ok(exit)
}

/// Records; returns `None` where the user requested the end before the start.
fn recorded(order: &Order, stops: &StopRequests) -> Result<Option<(Stopped, u8)>> {
    let stop = || stops.count() > 0;
    let mut waits = |holder: &lock::Holder| tell(&format!("waiting for another latido ({})", holder.words));
    let limit = order.wait.map_or(Duration::ZERO, Ns::as_duration);
    let mut patience = lock::Patience::of(limit, &stop, Some(&mut waits));
    let (turns, mut journal) = {
        let _own = identity::own()?;
        let purpose = "recording a trace";
        let turns = || -> Result<_> {
            let run = lock::take_patiently("run", purpose, &mut patience)?;
            let held = lock::take_patiently("lock", purpose, &mut patience)?;
            // No other latido changes settings during the recording, which shows their effect.
            let machine = lock::machine(lock::Use::Measure, purpose, &mut patience)?;
            Ok((run, held, machine))
        }();
        let turns = match turns {
            Err(_) if stop() => return Ok(None),
            turns => turns?,
        };
        let journal = Journal::open(&turns.1, None, Pulse::none())?;
        (turns, journal)
    };
    let guard = Guard::stand()?;
    let result = captured(order, stops, &mut journal);
    let settled = {
        let _own = identity::own()?;
        let settled = journal.settle();
        journal.news().iter().for_each(|news| tell(news));
        settled
    };
    drop(turns);
    drop(guard);
    let (stopped, exit) = match (result, settled) {
        (Ok(done), Ok(left)) => {
            left.iter().for_each(|told| tell(told));
            done
        }
        (Ok(_), Err(error)) => return Err(error),
        (Err(error), Ok(_)) => return Err(error),
        (Err(error), Err(left)) => bail!("{error:#}; {left:#}"),
    };
    Ok(Some((stopped, exit)))
}

/// A process that restores what the journal lists if this process is killed: it waits for the end of a pipe that only this process holds
/// open. Without it, the kernel would go on recording until the next start of latido.
struct Guard(Child);

impl Guard {
    fn stand() -> Result<Self> {
        let own = std::env::current_exe().context("cannot find latido's own file to guard the recording")?;
        // Runs as latido does: the guard restores settings that only root can write, and it runs latido's own executable.
        let mut guard = Command::new(own);
        guard.args(["agent", "--guard"]).env_remove(latido_agent::journal::MARK);
        // A separate process group: only this process handles Ctrl-C and a closed terminal.
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        // The tests' crash points are for the process that it guards.
        guard.env_remove("LATIDO_FAULT");
        identity::give_back(&mut guard);
        Ok(Self(guard.spawn().context("cannot start the guard of the recording")?))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Nothing is left to restore.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn captured(order: &Order, stops: &StopRequests, journal: &mut Journal) -> Result<(Stopped, u8)> {
    let capture = {
        let _own = identity::own()?;
        Capture::start(&order.spec, journal)?
    };
    for missing in &capture.chosen().missing {
        tell(&format!("note: without {}: {}", missing.event, missing.why));
    }
    let program = order.command.split_first().map(|(program, arguments)| {
        // Runs as the person: `hand_over` changes its identity.
        let mut command = Command::new(program);
        identity::hand_over(command.args(arguments));
        command.spawn().with_context(|| format!("cannot start `{program}`"))
    });
    let mut program = program.transpose()?.map(Program::of);
    // The program may run on any CPU. The waiting latido stays off the CPUs that must stay quiet.
    if let Some(cpus) = capture.read_on().filter(|_| !order.spec.quiet.is_empty()) {
        // If the kernel refuses, latido's events there count as caused by latido.
        let _ = sched::set_affinity(0, cpus.iter());
    }
    let until = order.span.map(|span| Instant::now() + span.as_duration());
    let over = loop {
        let ended = program.as_mut().is_some_and(|program| program.ended().is_some());
        let time_is_up = until.is_some_and(|until| Instant::now() >= until) || capture.cut().is_some();
        match over(ended, time_is_up, stops.count() > 0) {
            Some(over) => break over,
            None => thread::sleep(LOOK),
        }
    };
    let stopped = {
        let _own = identity::own()?;
        capture.stop()
    };
    // Whatever happened to the trace, latido leaves no program running.
    let exit = match (program, over) {
        (Some(program), over) => program.wait(over == Over::Interrupt, stops),
        (None, Over::Interrupt) if order.span.is_some() => Exit::Interrupted.code(),
        (None, _) => Exit::Done.code(),
    };
    Ok((stopped?, exit))
}

/// Words what the user should know about a trace.
fn told(record: &TraceRecord, path: &Path) -> String {
    let mib = |bytes: u64| match bytes {
        ..1_048_576 => format!("{} KiB", bytes.div_ceil(1024)),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    };
    let seconds = record.recorded_ns as f64 / 1e9;
    let file = path.display();
    let mut lines = vec![format!("{file}: {} in {seconds:.1} s, {}", many(record.count(), "event"), mib(record.bytes))];
    for cpu in &record.cpus {
        let lost = if cpu.lost > 0 { format!(", {} lost", count(cpu.lost)) } else { String::new() };
        lines.push(format!("  CPU {}: {}{lost}", cpu.cpu, many(cpu.events, "event")));
    }
    let read = match &record.read_on {
        Some(cpus) => format!("read on CPU {cpus} while they were written"),
        None => "read afterwards, because no CPU was free for latido's own work".into(),
    };
    lines.push(format!("  rings of {} each, {read}", mib(record.ring_bytes)));
    if let Some(caused) = &record.caused {
        let irq_work = caused.irq_work.map_or_else(String::new, |n| format!(", {}", many(n, "irq-work interrupt")));
        let own = many(caused.own_events, "event");
        lines.push(format!("  of latido itself on CPU {}: {own}{irq_work}", caused.cpus));
    }
    if record.lost() > 0 {
        let more = (record.ring_bytes.saturating_mul(4) >> 20).max(1);
        lines.push(format!(
            "warning: {} were lost, since the rings were full: take larger ones (--size {more}M), fewer events (-e) or a \
             shorter time (--for)",
            many(record.lost(), "event")
        ));
    }
    lines.extend(record.cut.iter().map(|why| format!("warning: the recording ended early: {why}")));
    lines.push(format!("next: latido trace analyze {file}; trace-cmd and KernelShark open it too"));
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use latido_model::{record::TracedCpu, sample};

    #[test]
    fn what_was_lost_is_told_with_a_remedy() {
        let record = TraceRecord { read_on: None, ..sample::trace() };
        let text = told(&record, Path::new("a.dat"));
        for said in [
            "a.dat: 8 events in 1.5 s, 3.0 MiB",
            "  CPU 0: 7 events\n",
            "  CPU 1: 1 event, 3 lost",
            "read afterwards",
            "of latido itself on CPU 1: 0 events, 1 irq-work interrupt",
            "3 events were lost",
            "--size 4M",
            "next: ",
        ] {
            assert!(text.contains(said), "{said}: {text}");
        }
        let fine =
            TraceRecord { cpus: vec![TracedCpu { cpu: 0, events: 7, lost: 0 }], caused: None, cut: None, ..record };
        assert!(!told(&fine, Path::new("a.dat")).contains("warning"));
    }
}
