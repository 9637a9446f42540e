//! The supervisor: tunings, then loads, then the measuring process; its record completed and passed on; all put back.

pub mod admission;
pub mod assign;
mod borrowed;
pub mod by_hand;
mod child;
mod voice;
mod watch;

use crate::machine;
use crate::machine::door;
use crate::{
    journal::{Journal, lock, pulse::Pulse},
    load::LOADS,
    loading::{Surroundings, orphans, running::Running},
    machine::heat::{Heat, TooHot},
    measure::assignment::{Assignment, stay_on},
    supervise::{assign::assign, borrowed::Borrowed, child::Measuring, voice::Voice, watch::Watch},
};
use anyhow::{Context, Result, bail};
use latido_model::{
    cell::{Cell, Level, Scheduling},
    cpus::CpuSet,
    machine::Machine,
    protocol::{Body, EndStatus, Message},
    record::{Evidence, Outcome, Overheated, Record},
    registry,
};
use latido_sys::{
    clock::Clock,
    sched::{self, Policy},
};
use std::{
    io::{BufRead, BufReader, Stdin, stdin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    },
    thread,
    time::{Duration, Instant},
};

/// The nice value of supervisor and measuring process outside the loops.
const URGENT: i8 = -15;

/// How often the supervisor looks at the loads and at its own signals.
const LOOK: Duration = Duration::from_millis(100);

/// How often while a thread of the probe stands still.
const CLOSE_LOOK: Duration = Duration::from_millis(10);

/// What reaches the supervisor while a cell runs.
enum Event {
    /// The host wants an orderly end, or is gone.
    Stop,
    /// From the measuring process; `None` is the end of its stream.
    Measure(Result<Option<Message>>),
}

/// Runs one cell: reads it from stdin, answers on stdout.
///
/// # Errors
/// The host is gone and cannot be told.
pub fn run() -> Result<u8> {
    // A session of its own: Ctrl-C on the terminal reaches the host only, which decides. It fails where we lead a
    // session already, which serves as well.
    let _ = rustix::process::setsid();
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    // Before the loads in the queue, or an overload would keep us from ending it. Refused without the right; then it is
    // as it is. The loads start without it.
    let _ = sched::set_policy(0, Policy::Other { nice: URGENT }, false);
    let out = Voice::default();
    out.send(Body::Hello { latido: env!("CARGO_PKG_VERSION").into(), pid: std::process::id() })?;
    crate::fault::point("agent");
    let mut input = BufReader::new(stdin());
    let mut line = String::new();
    input.read_line(&mut line)?;
    let result = serde_json::from_str(&line).context("the cell that the host sent").and_then(|cell| {
        let mut supervisor = Supervisor::new(input)?;
        supervisor.cell(cell, &out)
    });
    let status = match result {
        Ok(()) => EndStatus::Done,
        Err(error) => {
            out.send(Body::Error { message: format!("{error:#}") })?;
            EndStatus::Failed
        }
    };
    crate::fault::point("agent");
    out.send(Body::End { status })?;
    crate::fault::point("agent");
    Ok(u8::from(status == EndStatus::Failed))
}

struct Supervisor {
    events: Sender<Event>,
    inbox: Receiver<Event>,
    /// SIGTERM: stop now, still put everything back.
    terminated: Arc<AtomicBool>,
    /// The host wants an orderly end: before anything is measured that is the end as well.
    unwanted: Arc<AtomicBool>,
    stopping: bool,
}

impl Supervisor {
    fn new(host: BufReader<Stdin>) -> Result<Self> {
        let (events, inbox) = channel();
        let terminated = Arc::new(AtomicBool::new(false));
        for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT] {
            signal_hook::flag::register(signal, Arc::clone(&terminated))?;
        }
        let to_self = events.clone();
        let unwanted = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&unwanted);
        thread::spawn(move || {
            // `stop`, junk and the end of input all mean the same: the host wants no more.
            let _ = host.lines().next();
            ends.store(true, Ordering::Relaxed);
            let _ = to_self.send(Event::Stop);
        });
        Ok(Self { events, inbox, terminated, unwanted, stopping: false })
    }

    /// Signs of life while settings are made, and the end of that when the host wants no more.
    fn pulse(&self, out: &Voice) -> Pulse {
        let (terminated, unwanted, out) = (Arc::clone(&self.terminated), Arc::clone(&self.unwanted), out.clone());
        let stop = move || terminated.load(Ordering::Relaxed) || unwanted.load(Ordering::Relaxed);
        Pulse::new(stop, move |phase| out.alive(phase))
    }

    fn cell(&mut self, cell: Cell, out: &Voice) -> Result<()> {
        let lock = lock::take("lock", &format!("cell of `{}`", cell.plan))?;
        let (mut journal, told) = Journal::open(&lock, None, self.pulse(out))?;
        crate::scratch::sweep();
        for message in told {
            out.send(Body::Error { message: format!("after an earlier crash: {message}") })?;
        }
        let named: Level = cell.tuning.clone();
        let assignment = assign(cell)?;
        let mut borrowed = Borrowed::default();
        let result = self.measured(&assignment, &named, &mut borrowed, &mut journal, out);
        // Undone before the record is sent: who has the record may rely on the machine being as it was.
        borrowed.give_back(&mut journal.pulse);
        let told = journal.settle()?;
        for message in told {
            out.send(Body::Error { message })?;
        }
        crate::fault::point("agent");
        let mut record = result?;
        // Some tell what they did at their end.
        record.load = borrowed.loads.iter().map(Running::record).collect();
        out.send(Body::Record(Box::new(record)))?;
        crate::fault::point("agent");
        Ok(())
    }

    fn measured(
        &mut self,
        assignment: &Assignment,
        named: &Level,
        borrowed: &mut Borrowed,
        journal: &mut Journal,
        out: &Voice,
    ) -> Result<Record> {
        let cell = &assignment.cell;
        let heat = Heat::of(crate::fault::thermal_root(), cell);
        cool(&heat)?;
        out.phase("tuning")?;
        leave(&assignment.isolated);
        borrowed.tune(&cell.tuning, named, journal)?;
        // The machine as it is measured; what the tunings found is in their changes.
        let machine = machine::read(&machine::Root::default());
        let entries = door::entries(&machine::Root::default());
        out.phase("loading")?;
        let around = Surroundings { allowed: machine::allowed_cpus(), seed: cell.seed };
        let mut settle = Duration::ZERO;
        let parts = crate::load::parts(&cell.load.items, &around)?;
        borrowed.skipped.extend(parts.skipped);
        for item in &parts.items {
            let load = registry::build("load", LOADS, item)?;
            settle = settle.max(load.settle().as_duration());
            borrowed.loads.push(Running::start(load.as_ref(), &item.name, &around, Some(&mut *journal))?);
        }
        // From here on this process stays off the measured CPUs; the loads were started before and are everywhere.
        stay_on(assignment.housekeeping.as_ref());
        out.phase("settling")?;
        self.settle(settle, &mut borrowed.loads, &mut journal.pulse)?;
        cool(&heat)?;
        let events = self.events.clone();
        let mut measuring = Measuring::spawn(&Assignment { entries, ..assignment.clone() }, move |message| {
            events.send(Event::Measure(message)).is_ok()
        })?;
        crate::fault::point("agent");
        let mut watch = None;
        let mut evidence = None;
        let mut record = None;
        let mut too_hot: Option<(u64, TooHot)> = None;
        let mut watched_from = 0;
        let mut last_look = Instant::now();
        let mut last_glance = Instant::now();
        let mut patience = LOOK;
        loop {
            if self.terminated.load(Ordering::Relaxed) {
                // The loads first: under an overload even dying takes long.
                measuring.kill();
                borrowed.loads.iter_mut().rev().for_each(Running::stop);
                bail!("stopped at once by a signal; nothing of this cell was kept, everything was put back");
            }
            match self.inbox.recv_timeout(patience) {
                Ok(Event::Stop) => {
                    self.stopping = true;
                    measuring.stop();
                }
                Ok(Event::Measure(message)) => match message? {
                    None => break,
                    Some(Message::Line(Body::Progress(progress))) => {
                        if progress.phase == "measuring" && watch.is_none() {
                            borrowed.loads.iter_mut().for_each(Running::measuring_starts);
                            watched_from = Clock::Monotonic.now();
                            watch = Some(Watch::start(
                                &measured_cpus(cell),
                                priority(cell.scheduling),
                                measuring.child.id(),
                            ));
                            last_look = Instant::now();
                        }
                        if progress.phase == "finishing" && evidence.is_none() {
                            borrowed.loads.iter_mut().for_each(Running::measuring_ends);
                            let mut seen = Evidence::default();
                            if let Some(watch) = watch.take() {
                                watch.finish(&mut seen);
                            }
                            evidence = Some(seen);
                        }
                        out.progress(progress)?;
                    }
                    Some(Message::Blob { name, bytes }) => out.blob(&name, &bytes)?,
                    Some(Message::Line(Body::Record(mut inner))) => {
                        let mut seen = evidence.clone().unwrap_or_default();
                        if let Some(watch) = &watch {
                            watch.write(&mut seen);
                        }
                        complete(&mut inner, &machine, borrowed, seen, watched_from);
                        inner.quality.overheated = too_hot.map(|(when, hot)| Overheated {
                            at_ns: when.wrapping_sub(inner.anchors.monotonic_ns).cast_signed(),
                            temperature_mc: hot.temperature,
                            limit_mc: hot.limit,
                        });
                        if inner.outcome == Outcome::Checkpoint {
                            out.send(Body::Record(inner))?;
                        } else {
                            record = Some(*inner);
                        }
                    }
                    Some(Message::Line(Body::Error { message })) => out.send(Body::Error { message })?,
                    Some(Message::Line(Body::End { .. } | Body::Hello { .. } | Body::Blob { .. })) => {}
                },
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if last_glance.elapsed() >= patience {
                last_glance = Instant::now();
                let stands = watch.as_mut().is_some_and(Watch::glance);
                patience = if stands { CLOSE_LOOK } else { LOOK };
            }
            if last_look.elapsed() >= Duration::from_secs(1) {
                last_look = Instant::now();
                orphans::reap();
                borrowed.loads.iter_mut().for_each(|load| {
                    load.alive();
                });
                if let Some(watch) = &mut watch {
                    watch.look();
                }
                if too_hot.is_none() && evidence.is_none() {
                    too_hot = heat.look().map(|hot| (Clock::Monotonic.now(), hot));
                    if let Some((_, hot)) = too_hot {
                        // The loads first: they are what heats. What was measured until now is kept, and marked.
                        borrowed.loads.iter_mut().for_each(|load| load.end_early(&hot.to_string()));
                        measuring.stop();
                    }
                }
            }
        }
        let ended = measuring.wait();
        record.with_context(|| format!("the measuring process gave no record: it {ended}"))
    }

    /// Waits until the loads are at work, and proves that they are.
    fn settle(&mut self, settle: Duration, loads: &mut [Running], pulse: &mut Pulse) -> Result<()> {
        let until = Instant::now() + settle;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            for load in loads.iter_mut() {
                if !load.alive() {
                    bail!("the load died before the measurement: {}", load.died().unwrap_or("no reason known"));
                }
            }
            pulse.beat("settling");
            if pulse.stops() || self.stopping {
                bail!("stopped before the measurement began");
            }
            if left.is_zero() {
                return Ok(());
            }
            if let Ok(Event::Stop) = self.inbox.recv_timeout(left.min(LOOK)) {
                self.stopping = true;
            }
        }
    }
}

/// Adds to the measuring process's record what only the supervisor knows.
/// `watched_from` is the zero of the evidence's times on CLOCK_MONOTONIC; a record's is its first slot.
fn complete(record: &mut Record, machine: &Machine, borrowed: &Borrowed, seen: Evidence, watched_from: u64) {
    let evidence = &mut record.quality;
    evidence.steal_ns = seen.steal_ns;
    evidence.smi = seen.smi;
    evidence.frequency_khz = seen.frequency_khz;
    evidence.temperature_mc = seen.temperature_mc;
    evidence.foreign = seen.foreign;
    evidence.interrupts = seen.interrupts;
    let shift = watched_from.wrapping_sub(record.anchors.monotonic_ns).cast_signed();
    evidence.timeline = seen.timeline;
    evidence.timeline.iter_mut().for_each(|second| second.start_ns = second.start_ns.saturating_add_signed(shift));
    evidence.dma_latency_held = borrowed
        .tunings
        .iter()
        .any(|t| t.record.in_force && t.record.changes.iter().any(|change| change.knob == "/dev/cpu_dma_latency"));
    evidence.autogroup = machine.realtime.autogroup;
    evidence.throttle.rt_runtime_us = machine.realtime.runtime_us;
    evidence.throttle.rt_period_us = machine.realtime.period_us;
    evidence.throttle.fair_server = Some(machine.realtime.fair_server.to_string());
    evidence.clock.source = machine.clock.current.clone();
    record.machine = machine.clone();
    record.load = borrowed.loads.iter().map(Running::record).collect();
    record.tunings = borrowed.tunings.iter().map(|applied| applied.record.clone()).collect();
    record.skipped.extend(borrowed.skipped.iter().cloned());
}

/// Leaves CPUs while they are still everybody's. The weight of a thread that is moved away is taken off a CPU's books when
/// it next looks at them: an isolated one, idle, would keep this process's for good, and its session would get so much
/// less of the other CPUs (update_tg_load_avg, kernel/sched/fair.c).
fn leave(isolated: &CpuSet) {
    if !isolated.is_empty() {
        stay_on(Some(&machine::allowed_cpus().without(isolated)));
    }
}

/// Refuses to begin, or to go on, on a machine that is too hot.
fn cool(heat: &Heat) -> Result<()> {
    match heat.look() {
        Some(hot) => bail!("it is too hot to measure: {hot}; let the machine cool down, or see --max-temp"),
        None => Ok(()),
    }
}

fn measured_cpus(cell: &Cell) -> CpuSet {
    cell.conditions.cpus.clone().unwrap_or_default()
}

/// The priority that a foreign task must reach to delay the probe. Deadline tasks yield only to others of their kind.
fn priority(scheduling: Scheduling) -> Option<u8> {
    match scheduling {
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle => None,
        Scheduling::Fifo { prio } | Scheduling::Rr { prio } => Some(prio),
        Scheduling::Deadline { .. } => Some(100),
    }
}
