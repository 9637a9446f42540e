//! One cell: tunings, then loads, then the measuring process; all put back; then its record, completed, on its way.

use super::{
    Serving,
    assign::assign,
    by_hand,
    child::Measuring,
    client::{Client, Wish, urgently},
    in_force::InForce,
    outgoing::Parcel,
    traced::Recording,
    watch::{Hardware, Own, Watch},
};
use crate::{
    journal::{Journal, Marked, lock, pulse::Pulse},
    load::LOADS,
    loading::{Surroundings, orphans, running::Running},
    machine::{
        self,
        heat::{Heat, TooHot},
        isolated, tracing,
    },
    measure::{
        assignment::{Assignment, stay_on},
        reporter::{Told, answer},
    },
    probe::PROBES,
    scratch::{self, Scratch},
};
use anyhow::{Context, Result, bail, ensure};
use latido_model::{
    cell::{Cell, Level, Scheduling},
    cpus::CpuSet,
    machine::Machine,
    protocol::{Phase, Progress},
    record::{Evidence, Outcome, Overheated, Record},
    registry,
};
use latido_sys::{clock::Clock, memory};
use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

/// How often the supervisor looks at the loads and at its own signals.
const LOOK: Duration = Duration::from_millis(100);

/// How often while a thread of the probe stands still.
const CLOSE_LOOK: Duration = Duration::from_millis(10);

impl Serving {
    /// Signs of life while settings are made, and the end of that when the host wants no more.
    pub(super) fn pulse(&self) -> Pulse {
        let (client, voice) = (self.client.clone(), self.voice.clone());
        // No crash point: how often it is said depends on the machine.
        Pulse::new(move || client.wish() > Wish::GoOn, move |phase| voice.progress(Progress::of(phase)))
    }

    /// Measures a cell; whatever was borrowed for it is back before its record is sent.
    pub(super) fn measure(&mut self, cell: Cell) -> Result<()> {
        ensure!(self.run.is_some(), "a cell came before the machine was prepared for it");
        // Before the loads in the queue, or an overload would keep us from ending it. Refused without the right; then it
        // is as it is. The loads start without it.
        urgently();
        let allowed = machine::own_cpus();
        let lock = lock::take("lock", &format!("cell of `{}`", cell.plan))?;
        let mut journal = Journal::open(&lock, None, self.pulse())?;
        scratch::sweep();
        journal.news().into_iter().for_each(|message| self.voice.note(message));
        let named: Level = cell.tuning.clone();
        let assignment = assign(cell)?;
        let spool = Scratch::new(0).context("there is no place for what the measurement writes")?;
        let mut borrowed = InForce::default();
        let result = self.measured(&assignment, &named, &spool, &mut borrowed, &mut journal);
        // Undone before the record is sent: who has the record may rely on the machine being as it was.
        borrowed.give_back(&mut journal.pulse);
        let settled = journal.settle();
        let news = journal.news();
        // Not before: an isolation that is undone gives CPUs back.
        stay_on(Some(&allowed));
        crate::fault::point("agent");
        let mut parcel = match result {
            Ok(parcel) => parcel,
            // There is no record to tell it behind, and what does not go back leaves the journal with this.
            Err(error) => match settled {
                Ok(left) => {
                    news.into_iter().chain(left).for_each(|message| self.voice.note(message));
                    return Err(error);
                }
                Err(left) => {
                    news.into_iter().for_each(|message| self.voice.note(message));
                    bail!("{error:#}; {left:#}");
                }
            },
        };
        // Some tell what they did at their end.
        let origin = parcel.record.anchors.monotonic_ns;
        parcel.record.load = borrowed.loads.iter().map(|load| load.record(origin)).collect();
        self.voice.phase(Phase::Sending);
        self.voice.send(parcel);
        // The spool goes with this function: what is in it must be gone out, or be nobody's any more.
        while !self.voice.drained(LOOK) {
            if self.client.is_gone() || self.client.wish() == Wish::EndNow {
                break;
            }
        }
        crate::fault::point("agent");
        // What would not go back is told behind the record, not instead of it.
        news.into_iter().for_each(|message| self.voice.note(message));
        settled?.into_iter().for_each(|message| self.voice.note(message));
        Ok(())
    }

    fn measured(
        &self,
        assignment: &Assignment,
        named: &Level,
        spool: &Scratch,
        borrowed: &mut InForce,
        journal: &mut Journal,
    ) -> Result<Parcel> {
        let cell = &assignment.cell;
        let heat = Heat::of(crate::fault::thermal_root(), cell);
        cool(&heat)?;
        self.voice.phase(Phase::Tuning);
        leave(&assignment.isolated);
        borrowed.tune(&cell.tuning, named, journal)?;
        // The machine as it is measured; what the tunings found is in their changes.
        let machine = machine::read(&machine::Root::default());
        let by_hand = by_hand::applied(&machine::Root::default())?;
        let entries = isolated::entries(&machine::Root::default());
        self.voice.phase(Phase::Loading);
        let counted = assignment.counted.clone();
        let around = Surroundings { allowed: machine::own_cpus(), counted, seed: cell.seed };
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
        self.voice.phase(Phase::Settling);
        self.settle(settle, &mut borrowed.loads, &mut journal.pulse)?;
        cool(&heat)?;
        let probe = registry::build("probe", PROBES, &cell.probe)?;
        let wanted = probe.wants();
        let program = probe.starts().map(|program| Marked::planned(program, journal)).transpose()?;
        let (mut recording, stamped) = Recording::begin_beside(assignment, wanted, journal)?;
        let tracing = tracing::seen(&crate::fault::tracing_root());
        let (events, inbox) = channel();
        let instance = recording.as_ref().map(|recording| recording.instance().clone());
        let orders = Assignment {
            entries,
            instance,
            stamped,
            program: program.clone(),
            spool: spool.path().into(),
            ..assignment.clone()
        };
        let mut hardware = Some(hardware(assignment));
        let mut measuring = Measuring::spawn(&orders, move |told| events.send(told).is_ok())?;
        crate::fault::point("agent");
        let (mut watch, mut armed) = (None, false);
        let mut evidence = None;
        let mut record = None;
        let mut failure = None;
        let mut too_hot: Option<(u64, TooHot)> = None;
        let mut watched_from = 0;
        let mut rank = priority(cell.scheduling);
        let mut last_look = Instant::now();
        let mut last_glance = Instant::now();
        let mut patience = LOOK;
        let mut ending = None;
        loop {
            match self.client.wish() {
                Wish::GoOn => {}
                Wish::End if !overdue(&mut ending, &self.client) => measuring.stop(),
                Wish::End | Wish::EndNow => {
                    // The loads first: under an overload even dying takes long.
                    measuring.kill();
                    borrowed.loads.iter_mut().rev().for_each(Running::stop);
                    bail!("stopped at once; nothing of this cell was kept");
                }
            }
            match inbox.recv_timeout(patience) {
                Ok(told) => match told? {
                    None => break,
                    Some(Told::Progress(progress)) => {
                        if progress.armed_at_ns > 0 && !armed {
                            // From here on it looks on: what it took to come here lies idle.
                            memory::let_go_of_code();
                            armed = true;
                        }
                        if progress.phase == Phase::Measuring && watch.is_none() {
                            borrowed.loads.iter_mut().for_each(Running::measuring_starts);
                            watched_from = Clock::Monotonic.now();
                            let own = Own {
                                priority: rank,
                                measuring: measuring.child.id(),
                                program: program.as_ref().map(Marked::variable),
                                marks: borrowed.loads.iter().filter_map(Running::mark).collect(),
                            };
                            watch = hardware.take().map(|before| Watch::start(&measured_cpus(cell), own, before));
                            last_look = Instant::now();
                        }
                        if progress.phase == Phase::Finishing && evidence.is_none() {
                            borrowed.loads.iter_mut().for_each(Running::measuring_ends);
                            let mut seen = Evidence::default();
                            if let Some(watch) = watch.take() {
                                watch.finish(&mut seen);
                            }
                            evidence = Some(seen);
                        }
                        self.voice.progress(progress);
                        crate::fault::point("agent");
                    }
                    Some(Told::Record { record: mut inner, files, place }) => {
                        let mut seen = evidence.clone().unwrap_or_default();
                        if let Some(watch) = &watch {
                            watch.write(&mut seen);
                        }
                        // Somebody may have begun to trace meanwhile; a trace that `stop_on` froze is off now. While the
                        // loops run it is not looked at.
                        seen.tracing = Some(match inner.outcome {
                            Outcome::Checkpoint => tracing.clone(),
                            _ => tracing.clone().and(tracing::seen(&crate::fault::tracing_root())),
                        });
                        seen.by_hand.clone_from(&by_hand);
                        complete(&mut inner, &machine, borrowed, seen, watched_from);
                        inner.quality.overheated = too_hot.map(|(when, hot)| Overheated {
                            at_ns: when.wrapping_sub(inner.anchors.monotonic_ns).cast_signed(),
                            temperature_mc: hot.temperature,
                            limit_mc: hot.limit,
                        });
                        let parcel = Parcel { record: inner, files, dir: spool.path().join(place) };
                        if parcel.record.outcome == Outcome::Checkpoint {
                            if let Some(recording) = &mut recording {
                                recording.checkpoint(&parcel)?;
                            }
                            self.voice.send(parcel);
                        } else {
                            record = Some(parcel);
                        }
                    }
                    Some(Told::Ranks { priority }) => rank = priority,
                    Some(Told::Watched) => {
                        recording = recording.take().map(|one| one.hand_over(spool.path())).transpose()?;
                    }
                    Some(Told::IrqPriority { line, prio }) => {
                        let raised = borrowed.raise(&line, prio, journal);
                        answer(spool.path(), &raised.map_err(|error| format!("{error:#}")))?;
                    }
                    Some(Told::Error { message }) => failure = Some(message),
                    Some(Told::End) => {}
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
        if let (Some(parcel), Some(recording)) = (&mut record, recording.take()) {
            recording.enclose(spool.path(), parcel)?;
        }
        match (record, failure) {
            (Some(parcel), _) => Ok(parcel),
            (None, Some(why)) => bail!(why),
            (None, None) => bail!("the measuring process gave no record: it {ended}"),
        }
    }

    /// Waits until the loads are at work, and proves that they are.
    fn settle(&self, settle: Duration, loads: &mut [Running], pulse: &mut Pulse) -> Result<()> {
        let until = Instant::now() + settle;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            for load in loads.iter_mut() {
                if !load.alive() {
                    bail!("the load died before the measurement: {}", load.died().unwrap_or("no reason known"));
                }
            }
            pulse.beat(Phase::Settling);
            if pulse.stops() {
                bail!("stopped before the measurement began");
            }
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

/// How long loops may take to end when nobody is there any more to hear of them.
const OVERDUE: Duration = Duration::from_secs(10);

/// Whether an end that was asked for has to be made: the host is gone, and the measuring process does not end by itself.
fn overdue(since: &mut Option<Instant>, client: &Client) -> bool {
    since.get_or_insert_with(Instant::now).elapsed() > OVERDUE && client.is_gone()
}

/// Adds to the measuring process's record what only the supervisor knows.
/// `watched_from` is the zero of the evidence's times on CLOCK_MONOTONIC; a record's is its first slot.
fn complete(record: &mut Record, machine: &Machine, borrowed: &InForce, seen: Evidence, watched_from: u64) {
    let evidence = &mut record.quality;
    evidence.steal_ns = seen.steal_ns;
    evidence.smi = seen.smi;
    evidence.moved_pages = seen.moved_pages;
    evidence.frequency_khz = seen.frequency_khz;
    evidence.temperature_mc = seen.temperature_mc;
    evidence.foreign = seen.foreign;
    evidence.interrupts = seen.interrupts;
    evidence.siblings = seen.siblings;
    evidence.tracing = seen.tracing;
    evidence.by_hand = seen.by_hand;
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
    let origin = record.anchors.monotonic_ns;
    record.load = borrowed.loads.iter().map(|load| load.record(origin)).collect();
    record.tunings = borrowed.tunings.iter().map(|applied| applied.record.clone()).collect();
    record.skipped.extend(borrowed.skipped.iter().cloned());
}

/// Leaves CPUs while they are still everybody's. The weight of a thread that is moved away is taken off a CPU's books when
/// it next looks at them: an isolated one, idle, would keep this process's for good, and its session would get so much
/// less of the other CPUs (update_tg_load_avg, kernel/sched/fair.c).
fn leave(isolated: &CpuSet) {
    if !isolated.is_empty() {
        stay_on(Some(&machine::own_cpus().without(isolated)));
    }
}

/// Refuses to begin, or to go on, on a machine that is too hot.
fn cool(heat: &Heat) -> Result<()> {
    match heat.look() {
        Some(hot) => bail!("it is too hot to measure: {hot}; let the machine cool down, or see --max-temp"),
        None => Ok(()),
    }
}

/// The hardware before the loops.
fn hardware(assignment: &Assignment) -> Hardware {
    let (root, thermal) = (machine::Root::default(), crate::fault::thermal_root());
    Hardware::before(root, thermal, &measured_cpus(&assignment.cell), assignment.housekeeping.as_ref())
}

fn measured_cpus(cell: &Cell) -> CpuSet {
    cell.conditions.cpus.clone().unwrap_or_default()
}

/// The priority that a foreign task must reach to delay the probe. Deadline tasks yield only to others of their kind.
fn priority(scheduling: Scheduling) -> Option<u8> {
    match scheduling {
        Scheduling::Other { .. } | Scheduling::Batch { .. } | Scheduling::Idle | Scheduling::Unknown => None,
        Scheduling::Fifo { prio } | Scheduling::Rr { prio } => Some(prio),
        Scheduling::Deadline { .. } => Some(100),
    }
}
