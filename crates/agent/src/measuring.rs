//! The measuring process: locks its memory, lets the probe measure, and ends. Once its threads are prepared it never
//! forks.

use crate::{
    measure::{
        assignment::{Assignment, stay_on},
        reporter::Reporter,
        stage::Stage,
    },
    probe,
};
use anyhow::{Context, Result};
use latido_model::registry;
use latido_sys::{clock, clock::Clock, memory, sched, signal};
use std::{
    io::{BufRead, BufReader, stdin},
    sync::{
        Arc, Barrier,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Reads one assignment from stdin, runs it, and answers on stdout.
///
/// # Errors
/// The supervisor is gone.
pub fn run() -> Result<u8> {
    memory::keep_heap();
    let mut input = BufReader::new(stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&interrupted);
    // A thread maps its signal stack when it first runs. Without the barrier, on a busy machine, that happened while the loops ran (seen in
    // one run of some hundreds).
    let begun = Arc::new(Barrier::new(2));
    let begins = Arc::clone(&begun);
    let hearing = thread::Builder::new().spawn(move || {
        begins.wait();
        // `stop` and the end of input mean the same.
        let _ = input.lines().next();
        told.store(true, Ordering::Relaxed);
        // If the thread ended, it would unmap its stacks while the loops still run. So it ends with the process.
        loop {
            thread::park();
        }
    });
    hearing.context("cannot start a thread that listens to the supervisor")?;
    begun.wait();
    crate::fault::point("measure");
    let assignment: Assignment = serde_json::from_str(&line).context("the assignment of the supervisor")?;
    let mut reporter = Reporter::new(&assignment.spool);
    let error = measure(assignment, interrupted, &mut reporter).err().map(|error| format!("{error:#}"));
    let failed = error.is_some();
    reporter.end(error)?;
    Ok(u8::from(failed))
}

fn measure(assignment: Assignment, interrupted: Arc<AtomicBool>, reporter: &mut Reporter) -> Result<()> {
    // If this is refused, the threads cannot enter either, and report it.
    if let Some(entry) = assignment.entries.first() {
        let _ = entry.approach();
    }
    stay_on(assignment.housekeeping.as_ref());
    let probe = registry::build("probe", probe::PROBES, &assignment.cell.probe)?;
    let mut stage = Stage::new(assignment, probe.measurand(), interrupted, reporter);
    // The handler does nothing: the signal interrupts a sleep, so that the loop checks its stop flag.
    signal::interrupt_only(signal_hook::consts::SIGUSR1).context("cannot take over SIGUSR1")?;
    // This process keeps its code in memory, unlike the host and the agent. If a page were dropped between dry run and loop, the loop would
    // get a page fault (seen in one run of thirty). A probe that watches passively has no loop, and would lock the whole trace that it
    // reads.
    if !probe.looks_on() {
        stage.evidence.memory_unlocked = memory::lock_on_fault().err().map(|error| error.to_string());
    }
    stage.evidence.timer_slack_ns = sched::timer_slack().ok();
    stage.evidence.cgroup =
        std::fs::read_to_string("/proc/self/cgroup").ok().map(|text| text.trim().replace('\n', "; "));
    let grain = clock::grain(1.0, || Clock::Monotonic.now());
    stage.evidence.clock.name = "monotonic".into();
    stage.evidence.clock.cost_ns = grain.cost_ns;
    stage.evidence.clock.step_ns = grain.step_ns;
    stage.evidence.clock.backwards = grain.backwards;
    probe.measure(&mut stage)
}
