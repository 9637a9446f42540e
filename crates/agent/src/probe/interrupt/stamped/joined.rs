//! Joins the events of a loop with the trace recorded meanwhile: into series, the stages of each event, and notes in the record.

use super::super::sources::{Handler, Source};
use crate::{
    machine::Root,
    measure::{Gathered, Interval, Stage, Stamped},
    probe::looking_on::paired,
    step::thread,
};
use anyhow::{Result, ensure};
use latido_model::record::{HandlerStamp, IrqThread, Skip, StampsRecord};
use latido_rt::{Config, stamped::Log};
use latido_sys::memory;
use latido_trace::{
    file::Trace,
    pairing::Met,
    stamps::{Answered, Chain, Joined, Names, Stamps, collect, join, of_line},
};
use std::io::{BufWriter, Write};

/// The name of the file with the stages of each event, next to the record.
const STAGES: &str = "stages.csv";

/// What the record states about the events in addition to their times.
pub struct Said {
    /// Whether stamps were wanted.
    pub traced: bool,
    /// Whether they come regardless of what the measured CPU does.
    pub asynchronous: bool,
    /// What the measurement leaves out, or includes in addition.
    pub beware: Option<String>,
    /// The step of t1, ns.
    pub resolution_ns: u64,
    /// The beginning of the interrupt line's name.
    pub line: Option<String>,
    /// The interrupt threads of the line.
    pub irq_threads: Vec<IrqThread>,
    /// What raises the events.
    pub trigger: Option<String>,
}

/// Joins the events with the trace, and hands the results to the stage.
pub fn joined(source: &Source, said: Said, stage: &mut Stage<'_>, interval: Interval, log: &Log) -> Result<Gathered> {
    let event = |&latido_rt::stamped::Stamped { number, t1, t2, t3, error }: &_| Answered { number, t1, t2, t3, error };
    let events: Vec<Answered> = log.events().iter().map(event).collect();
    let mut lost = None;
    let off = || "trace=off: measured without the kernel's events".to_owned();
    let (handler, recorded) = match (source.handler, stage.stamped()) {
        (Handler::Carried(what), _) if said.traced => {
            (HandlerStamp::Carried { what: what.into() }, Some(Stamps::default()))
        }
        (_, None) => (HandlerStamp::None { why: off() }, None),
        (_, Some(Err(why))) => (HandlerStamp::None { why }, None),
        (_, Some(Ok(stamped))) => {
            let (stamps, met) = stamps(said.line.as_deref(), &stamped, stage)?;
            // The kernel records only the switches to one thread, so the number of pairs that this breaks means nothing.
            lost = Some(met.lost.saturating_add(met.uncounted));
            (told(&stamped), Some(stamps))
        }
    };
    let mut gathered = Gathered::over(interval);
    let stamped = recorded.is_some();
    let joined = join(&events, recorded.unwrap_or_default());
    match &handler {
        HandlerStamp::None { why } => {
            let what = "interrupt latency, activation latency".into();
            stage.skipped.push(Skip { what, why: why.clone() });
        }
        _ => fill(source, stage, &mut gathered, &joined, lost)?,
    }
    write(stage, interval, &joined.chains)?;
    let of_stamps = |count| if stamped { count } else { 0 };
    stage.evidence.stamps = Some(StampsRecord {
        source: source.name.into(),
        t1: source.t1.into(),
        asynchronous: said.asynchronous,
        beware: said.beware,
        resolution_ns: said.resolution_ns,
        error_ns: events.iter().map(|event| event.error).max(),
        handler,
        irq_threads: said.irq_threads,
        trigger: said.trigger,
        events: events.len() as u64,
        lost: of_stamps(joined.lost),
        doubled: of_stamps(joined.doubled),
        passed: joined.passed,
        dropped: log.dropped,
        strangers: log.strangers,
    });
    Ok(gathered)
}

fn told(stamped: &Stamped) -> HandlerStamp {
    match &stamped.symbol {
        Some(symbol) => HandlerStamp::Function { symbol: symbol.clone(), by: stamped.by.clone() },
        None => HandlerStamp::Event { name: format!("{}:{}", stamped.system, stamped.event) },
    }
}

/// Reads the stamps that the kernel recorded.
fn stamps(line: Option<&str>, stamped: &Stamped, stage: &mut Stage<'_>) -> Result<(Stamps, Met)> {
    // The loops are over, and latido now reads a whole trace: it need not stay locked in memory.
    memory::unlock();
    let mapped = stage.recorded()?;
    let trace = Trace::open(&mapped)?;
    let names = Names { handler: (&stamped.system, &stamped.event), line };
    let mut all = collect(&trace, names);
    ensure!(
        all.knows_handler(),
        "the trace does not describe {}:{}, which was recorded",
        stamped.system,
        stamped.event
    );
    let met = paired(&trace, &mut all);
    Ok((all.stamps(), met))
}

/// Fills the series. Sample k of each series belongs to event k if every event has all stamps.
fn fill(source: &Source, stage: &Stage<'_>, gathered: &mut Gathered, joined: &Joined, lost: Option<u64>) -> Result<()> {
    let ordered = joined.chains.len();
    let value = |from: u64, to: u64| to.wrapping_sub(from).cast_signed();
    type Of = fn(&Chain) -> Option<(u64, u64)>;
    let quantities: [(&str, Of); 4] = [
        ("interrupt", |chain| Some((chain.event.t1, chain.t2()?))),
        ("activation", |chain| Some((chain.t2()?, chain.event.t3))),
        ("entry", |chain| Some((chain.event.t1, chain.entry?))),
        ("thread", |chain| Some((chain.event.t1, chain.thread?))),
    ];
    for (name, of) in quantities {
        let mut spans = joined.chains.iter().filter_map(|chain| Some((chain, of(chain)?))).peekable();
        if spans.peek().is_none() {
            continue;
        }
        let ends = stage.series_with(name, |config| Config { ordered, ..config })?;
        let place = gathered.open_on(ends, stage.cpus().first().copied(), &[("source", source.name)])?;
        for (Chain { event, .. }, (from, to)) in spans {
            gathered.sample(place, value(from, to), event.t1, event.t3);
        }
        if let Some(lost) = lost {
            gathered.fact(place, "lost", lost);
        }
        let has = joined.chains.iter().filter(|chain| of(chain).is_some()).count();
        gathered.fact(place, "without", joined.chains.len().saturating_sub(has) as u64);
    }
    Ok(())
}

/// Writes the stages of each event, as times after its t1. The field of a missing stamp is empty.
fn write(stage: &mut Stage<'_>, interval: Interval, chains: &[Chain]) -> Result<()> {
    let mut out = BufWriter::new(stage.attach(STAGES)?);
    writeln!(out, "event,at_ns,entry_ns,thread_ns,handler_ns,task_ns")?;
    for chain in chains {
        let t1 = chain.event.t1;
        let after = |at: Option<u64>| at.map_or_else(String::new, |at| at.wrapping_sub(t1).cast_signed().to_string());
        let at = t1.saturating_sub(interval.first_slot_ns);
        let stamps = [chain.entry, chain.thread, chain.t2(), Some(chain.event.t3)].map(after);
        writeln!(out, "{},{at},{}", chain.event.number, stamps.join(","))?;
    }
    out.flush()?;
    Ok(())
}

/// Returns the threads of an interrupt line, with their policies.
pub fn irq_threads(line: &str) -> Vec<IrqThread> {
    let root = Root::default();
    let all = thread::named(&root, |comm| of_line(comm, line)).into_iter();
    let policy = |thread: &thread::KernelThread| {
        thread.policy(&root).map_or_else(|error| format!("{error:#}"), |one| one.to_string())
    };
    all.map(|thread| IrqThread { policy: policy(&thread), comm: thread.comm }).collect()
}
