//! `source=hpet` and similar: latido takes three stamps per event. t1 is its instant, t2 the entry of its handler, t3 its task's reading of
//! the clock.

mod asked;
mod joined;

use super::sources::{Handler, Opened, RaisedBy, Source};
use crate::{
    machine::Root,
    measure::{Enough, HandlerAt, Interval, Measurand, Probe, Quantity, Stage, Wanted, with_defaults},
    probe::looking_on,
};
use anyhow::{Result, anyhow, ensure};
use asked::{Asked, Trace};
use latido_model::{
    cell::{Cell, Scheduling},
    cpus::CpuSet,
    record::ORDERED_MAX,
    registry::{Objection, Options},
    units::Ns,
};
use latido_rt::{
    Config,
    stamped::{self, Log, Raised, Watch},
};
use latido_sys::Errno;
use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// How many events the task answers before anything else. The thread of an interrupt sets its own priority when it first runs.
const FIRST: u32 = 2;

/// How long the task waits for one of them while something else arrives instead.
const FIRST_WITHIN: Duration = Duration::from_secs(20);

/// Creates the probe from its options.
///
/// # Errors
/// An option that the source does not have, or an impossible value.
pub fn new(source: &'static Source, table: toml::Table) -> Result<Box<dyn Probe>> {
    let asked = with_defaults(table, Asked::of(source))?;
    asked.possible(source).map_err(|error| anyhow::Error::from(Objection::Value(format!("{error:#}"))))?;
    Ok(Box::new(StampedProbe { source, asked }))
}

struct StampedProbe {
    source: &'static Source,
    asked: Asked,
}

impl Options for StampedProbe {
    fn options(&self) -> toml::Table {
        latido_model::registry::resolved(&self.asked)
    }
}

impl Probe for StampedProbe {
    fn measurand(&self) -> Measurand {
        let time = |name, title| Quantity::time(name, title).each("event");
        let response = time("response", "Event to task: response");
        let quantities = match self.asked.trace {
            Trace::Off => vec![response],
            Trace::On => {
                let interrupt = time("interrupt", "Event to task: interrupt latency");
                let activation = time("activation", "Event to task: activation latency");
                let entry = time("entry", "Event to task: hard interrupt").beside();
                let thread = time("thread", "Event to task: interrupt thread").beside();
                let mut all = vec![interrupt, activation, response];
                all.extend((!matches!(self.source.handler, Handler::Carried(_))).then_some(entry));
                all.extend(self.source.line.map(|_| thread));
                all
            }
        };
        let Asked { events, rate, .. } = self.asked;
        Measurand::new("Interrupt and activation latency", quantities)
            .counted_by("events", events)
            .expected(Ns(events.saturating_mul(1_000_000_000 / rate.max(1))))
    }

    fn check(&self, cell: &Cell) -> Result<()> {
        ensure!(
            !matches!(cell.scheduling, Scheduling::Deadline { .. }),
            "latido pins the task that waits for events, which the deadline policy forbids: use fifo, rr or other"
        );
        let cpus = cell.conditions.cpus.as_ref().map_or(1, CpuSet::len);
        ensure!(
            cpus == 1,
            "one task waits for the events, on one CPU: name one with -c, or omit -c to use the last allowed CPU"
        );
        looking_on::check("interrupt", cell)
    }

    fn default_cpus(&self, allowed: &CpuSet) -> CpuSet {
        // Other interrupts visit the last CPU least.
        allowed.iter().last().into_iter().collect()
    }

    fn lacks(&self, root: &Root) -> Result<()> {
        (self.source.lacks)(root, &self.asked.setup(Duration::ZERO))
    }

    fn changes(&self) -> bool {
        self.asked.irq_prio.is_some()
    }

    fn wants(&self) -> Option<Wanted> {
        let of_kernel = !matches!(self.source.handler, Handler::Carried(_));
        (of_kernel && self.asked.trace == Trace::On).then(|| wanted(self.source, &self.asked))
    }

    fn measure(&self, stage: &mut Stage<'_>) -> Result<()> {
        let conditions = &stage.cell.conditions;
        let setup = self.asked.setup(Duration::from_nanos(conditions.duration.0.saturating_add(conditions.warmup.0)));
        let Opened { mut source, resolution_ns, beware, mut trigger, held } = (self.source.open)(&setup)?;
        for _ in 0..FIRST {
            first(&mut source)?;
        }
        let line = self.source.line.map(|line| line(&setup));
        if let (Some(line), Some(prio)) = (&line, self.asked.irq_prio) {
            stage.raise(line, prio)?;
        }
        // latido reads the threads here: closing a device removes them.
        let irq_threads = line.as_deref().map(joined::irq_threads).unwrap_or_default();
        let (watch, room) = self.watch(&stage.cell);
        let (mut response, series) = stage.series_with("response", |config| Config { ordered: room, ..config })?;
        let mut log = Log::new(room);
        let kept = Arc::new(Mutex::new(None));
        let (stop, over) = (stage.stop(), Arc::clone(&kept));
        let cpu = stage.cpus().into_iter().next();
        let mut asynchronous = self.source.raised == RaisedBy::Itself;
        let mut raised = None;
        if let stamped::Source::Line(events) = &source {
            raised = Some(events.raised());
            let prio = self.asked.trigger_prio.unwrap_or(TRIGGER_PRIO);
            let from = elsewhere(stage).or(cpu);
            asynchronous = from != cpu;
            trigger = Some(self.trigger(stage, events.raised(), from, prio));
        }
        stage.thread(cpu, [series.label("source", self.source.name)], move || {
            stamped::rehearse(&mut source, &stop, &mut response, &mut log);
            if let stamped::Source::Line(events) = &mut source {
                events.together();
            }
            move || {
                let watched = stamped::run(&mut source, &watch, &stop, &mut response, &mut log);
                if let Some(raised) = &raised {
                    raised.end();
                }
                log.strangers = source.strangers();
                *over.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::mem::take(&mut log));
                match watched.end.failure() {
                    Some(refusal) => Err(anyhow!("{refusal}")),
                    None => Ok(Interval { first_slot_ns: watched.first_ns, ended_ns: watched.ended_ns }),
                }
            }
        });
        let beware = self.source.beware.map(str::to_owned).into_iter().chain(beware).collect::<Vec<_>>();
        let beware = (!beware.is_empty()).then(|| beware.join("; "));
        let said =
            joined::Said { traced: setup.traced, asynchronous, beware, resolution_ns, line, irq_threads, trigger };
        stage.run_then(|stage, interval| {
            drop(held);
            let log = kept.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
            joined::joined(self.source, said, stage, interval, &log).map(Some)
        })
    }
}

impl StampedProbe {
    /// Returns how long the loop of a cell lasts, and how many events it keeps.
    fn watch(&self, cell: &Cell) -> (Watch, usize) {
        let Asked { rate, events, .. } = self.asked;
        let duration = cell.conditions.duration.0;
        // A few more than expected: a clock may run fast.
        let most = if events > 0 { events } else { rate.saturating_mul(duration / 1_000_000 + 1_000) / 1_000 + 8 };
        let watch = Watch {
            events: if events > 0 { events } else { u64::MAX },
            duration_ns: if events > 0 { u64::MAX } else { duration },
            warmup_ns: cell.conditions.warmup.0,
        };
        (watch, usize::try_from(most).unwrap_or(ORDERED_MAX).min(ORDERED_MAX))
    }

    /// Adds the thread that raises events. Returns the description of that thread for the record.
    fn trigger(&self, stage: &mut Stage<'_>, raised: Arc<Raised>, cpu: Option<u32>, prio: u8) -> String {
        let (stop, period) = (stage.stop(), self.asked.setup(Duration::ZERO).period_ns());
        let scheduling = Scheduling::Fifo { prio };
        stage.thread_under(Some(scheduling), cpu, [], move || {
            move || match stamped::raise(&raised, period, &stop).failure() {
                Some(refusal) => Err(anyhow!("{refusal}")),
                None => Ok(Interval::default()),
            }
        });
        match cpu {
            Some(cpu) => format!("{scheduling} on CPU {cpu}"),
            None => scheduling.to_string(),
        }
    }
}

/// The default priority of a thread that raises events. It is above everything that an interrupt's thread may wait for: otherwise the
/// raising thread would run only when there is nothing to wait for.
const TRIGGER_PRIO: u8 = 95;

/// Returns a CPU that latido does not measure, if the machine has one. An event raised there can hit anything that the measured CPU does.
fn elsewhere(stage: &Stage<'_>) -> Option<u32> {
    let measured = stage.cpus();
    stage.evidence.housekeeping.iter().flat_map(CpuSet::iter).find(|cpu| !measured.contains(cpu))
}

/// Returns what latido records of a source's interrupts.
fn wanted(source: &Source, asked: &Asked) -> Wanted {
    let mut wanted = Wanted { beside: true, ..Wanted::default() };
    let at = |field, symbol| Enough::At { field, symbol };
    match (source.handler, &asked.handler) {
        (Handler::Event(system, name), _) => {
            // The setting of a timer shows when it is due, its expiry shows which timer it was.
            for event in [format!("{system}:{name}"), "timer:hrtimer_start".into()] {
                wanted.enough.push((event.clone(), at("function", "hrtimer_wakeup")));
                wanted.events.push(event);
            }
            wanted.handler = Some(HandlerAt::Event(system, name));
            wanted = wanted.also(&["irq_vectors:local_timer_entry"]);
        }
        (Handler::Carried(_), _) => {}
        (Handler::Function(_), Some(named)) => wanted.handler = Some(HandlerAt::Function(vec![named.clone()])),
        (Handler::Function(names), None) => {
            wanted.handler = Some(HandlerAt::Function(names.iter().map(|name| (*name).to_owned()).collect()));
        }
    }
    if let Some(line) = source.line.map(|line| line(&asked.setup(Duration::ZERO))) {
        wanted = wanted.also(&["irq:irq_handler_entry", "sched:sched_switch"]);
        // The kernel truncates the names of threads.
        let short: String = line.chars().take(7).collect();
        let filters = [
            ("irq:irq_handler_entry", format!("name~\"{line}*\"")),
            ("sched:sched_switch", format!("next_comm~\"irq/*-{short}*\"")),
        ];
        wanted.enough.extend(filters.map(|(event, text)| (event.to_owned(), Enough::Filter(text))));
    }
    wanted
}
/// Answers a first event. Ignores other things, such as a stranger's packet, until [`FIRST_WITHIN`] has passed.
fn first(source: &mut stamped::Source) -> Result<()> {
    let until = Instant::now() + FIRST_WITHIN;
    loop {
        match source.once() {
            Ok(_) => return Ok(()),
            Err(refusal) if refusal.error == Errno::EINTR && Instant::now() < until => {}
            Err(refusal) => return Err(anyhow!("{refusal}")),
        }
    }
}
